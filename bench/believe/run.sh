#!/usr/bin/env bash
# Measures the simulated user and the judge with a real small model: five domains, and the labels of judge_labels.jsonl.
# Optional: downloads 1.2 GB once and takes about an hour on two cores. CONTRIBUTING.md lists it with the long suites.
# Usage: bench/believe/run.sh OUT [REPEATS]    (GABFEST=program to use another build)
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:?usage: bench/believe/run.sh OUT [REPEATS]}
repeats=${2:-4}
mkdir -p "$out"
if [ -z "${GABFEST:-}" ]; then
  cargo build --release --quiet
  GABFEST=target/release/gabfest
fi
. bench/small_model.sh
trap stop_model EXIT
start_model "$out/server.log"
sed "s|http://127.0.0.1:PORT/v1|$model_url|" bench/believe/gabfest.yaml > "$out/gabfest.yaml"
for file in bench/believe/scenarios/*.scenario.yaml; do
  domain=$(basename "$file" .scenario.yaml)
  "$GABFEST" run "$file" --config "$out/gabfest.yaml" --agent "$domain" --repeats "$repeats" --seed 7 --slots 2 \
    --no-preflight --quiet --out "$out/$domain" || echo "$domain: exit code $?" >&2
done
python3 bench/believe/lines.py "$out"
"$GABFEST" judge bench/believe/judge_labels.jsonl --config "$out/gabfest.yaml" | tee "$out/judge.txt"
