#!/usr/bin/env bash
# CPU of gabfest per turn, whole path: coordinator, SQLite, verdicts and report, against `gabfest mock` at zero
# latency in another process, 50 trials at a time, scripted conversations of 4 turns with a check each. Beside it
# the floor, a bare loop over the same HTTP client, in the same minute. Usage: bench/cpu_per_turn.sh [TRIALS]
set -euo pipefail
cd "$(dirname "$0")/.."
trials=${1:-10000}
source bench/four_turns.sh
cargo build --release --quiet --package gabfest-bench
cpu() { # seconds of user and system time of a command
  local TIMEFORMAT='%U %S'
  { time "$@" > "$place/out" 2>&1; } 2>&1 | awk '{print $1 + $2}'
}
turns=$((trials * 4))
floor=$(cpu target/release/floor "$url/chat/completions" "$turns" 50)
ours=$(cpu target/release/gabfest run "$place/four.scenario.yaml" --agent "$url" --repeats "$trials" --slots 50 --quiet --out "$place/out.d")
pass=$(grep -o '"pass": [0-9]*' "$place/out.d/report.json" | head -n 1)
awk -v f="$floor" -v o="$ours" -v n="$turns" -v p="$pass" 'BEGIN {
  printf "turns %d (%s)\nfloor    %.1f us of CPU a turn\ngabfest  %.1f us of CPU a turn\nratio    %.2f\n", n, p, f * 1e6 / n, o * 1e6 / n, o / f }'
