#!/usr/bin/env bash
# Measures the resident memory of a run with 1,000 and 10,000 conversations of 4 turns against the zero-latency mock.
# Usage: bench/memory.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cat > "$place/four.scenario.yaml" <<'Y'
name: four turns
description: a simulated conversation of four turns
run:
  - input: Hello, my order 1234 has not arrived yet.
    conversation:
      max_turns: 4
      user_simulator: { persona: a patient customer, objective: find out where order 1234 is }
      turn_evaluations: [{ type: regex_match, pattern: '[a-z]' }]
judgment: { strategy: all_pass }
Y
peak() { # peak resident kB of a run of N trials
  /usr/bin/env python3 - "$1" "$place" <<'P'
import resource, subprocess, sys
n, place = sys.argv[1:]
subprocess.run(["target/release/gabfest", "run", f"{place}/four.scenario.yaml", "--repeats", n, "--slots", "50", "--quiet", "--out", f"{place}/{n}"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
P
}
small=$(peak 1000)
large=$(peak 10000)
awk -v s="$small" -v l="$large" 'BEGIN { printf "peak resident at 1,000 conversations   %.1f MB\npeak resident at 10,000 conversations  %.1f MB\nratio %.2f\n", s / 1024, l / 1024, l / s }'
