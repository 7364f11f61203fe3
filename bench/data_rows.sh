#!/usr/bin/env bash
# data_rows.sh [ROWS [BINARY]]: time and peak memory of reading a data set of 1,000,000 rows. Needs python3 and /usr/bin/time.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000}
binary=$(realpath "${2:-target/debug/gabfest}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 - "$rows" <<'PY'
import json, sys
with open("rows.csv", "w") as table, open("rows.jsonl", "w") as lines:
    table.write("case,order,amount,mood,plan\n")
    for number in range(int(sys.argv[1])):
        row = {
            "case": f"c{number}", "order": f"W-{number}", "amount": number % 900,
            "mood": ["angry", "calm", "sad"][number % 3], "plan": ["free", "pro", "trial", "team"][number % 4],
        }
        table.write(",".join(map(str, row.values())) + "\n")
        lines.write(json.dumps(row) + "\n")
PY

# scenario FILE KEYS: plays a row of the file once
scenario() {
  cat > refund.scenario.yaml <<YAML
name: Refund
description: A customer wants money back.
gabfest:
  data: { file: $1, id: case$2 }
run:
  - input: "I want \${row.amount} EUR back for order \${row.order}."
    evaluations: [{ type: string_contains, value: order }]
judgment: { strategy: all_pass }
YAML
}

# measure NAME COMMAND…: one line
measure() {
  local name=$1 code=0
  shift
  /usr/bin/time -f '%e %M' -o spent "$@" > said 2>&1 || code=$?
  read -r seconds kib < <(tail -n 1 spent)
  printf '%-42s %8s s %6d MiB  exit %d\n' "$name" "$seconds" $((kib / 1024)) "$code"
}

for file in rows.csv rows.jsonl; do
  scenario "$file" ', where: { plan: [pro] }, sample: 200'
  measure "$file, where and sample 200, --dry-run" "$binary" run --dry-run refund.scenario.yaml
  measure "$file, where and sample 200, check" "$binary" check refund.scenario.yaml
done
scenario rows.csv ', sample: 100000'
measure "rows.csv, sample 100,000, --dry-run" "$binary" run --dry-run refund.scenario.yaml
scenario rows.csv ''
measure "rows.csv, all rows (too many cases)" "$binary" run --dry-run refund.scenario.yaml
measure "rows.csv, --where row=c77, --dry-run" "$binary" run --dry-run refund.scenario.yaml --where row=c77
