#!/usr/bin/env bash
# A real small language model (1.5 billion parameters, on the CPU) plays agent, user and judge in one conversation.
# Optional: downloads 1.2 GB once into a cache, needs python3 with pip, and takes some minutes on two cores.
# Usage: bench/real_model.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/small_model.sh
place=$(mktemp -d)
trap stop_model EXIT
start_model "$place/server.log"
cat > "$place/gabfest.yaml" <<Y
endpoints:
  small: { url: '$model_url', model: small, stream: true, timeout_ms: 300000 }
agents:
  shop:
    endpoint: small
    max_tokens: 120
    system: >-
      You are the support agent of a small shop. You see that order 1234 was charged twice, 49 dollars each on 3 May, and you can
      refund a charge at once. Answer in one or two sentences.
roles: { agent: shop, user_sim: small, judge: small }
Y
cat > "$place/refund.scenario.yaml" <<'Y'
name: Refund with a real model
description: A customer was charged twice and wants one charge back.
run:
  - input: Hello, I was charged twice for my order 1234.
    conversation:
      max_turns: 4
      timeout_per_turn_ms: 300000
      total_timeout_ms: 1800000
      user_simulator:
        persona: polite customer who noticed a double charge; the name is Kim Lee, the card ends in 4242
        objective: get one of the two charges for order 1234 refunded to the card
        constraints: [both charges are from 3 May and of 49 dollars each; say so when asked]
        max_tokens: 60
      turn_evaluations:
        - { type: llm_judge, prompt: Does the reply of the agent address the customer's request?, expected: 'yes' }
      final_evaluations:
        - { type: llm_judge, prompt: Did the agent offer to refund one of the charges?, expected: 'yes' }
judgment: { strategy: any_pass }
Y
cargo build --release --quiet
code=0
target/release/gabfest run "$place/refund.scenario.yaml" --config "$place/gabfest.yaml" --slots 1 --out "$place/out" || code=$?
python3 - "$place/out" <<'P'
import json, sys
for line in open(sys.argv[1] + "/transcripts.jsonl"):
    for turn in json.loads(line)["turns"]:
        print(f"\nUser:  {turn['user']}\nAgent: {turn['agent']}")
report = json.load(open(sys.argv[1] + "/report.json"))
print("\ntokens by role, from the server:", json.dumps(report["summary"]["tokens"]))
P
exit $code
