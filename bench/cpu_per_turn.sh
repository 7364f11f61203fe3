#!/usr/bin/env bash
# Measures gabfest's CPU per turn over the whole path (coordinator, SQLite, verdicts, report). The agent is `gabfest mock` at
# zero latency in another process; 50 trials run at a time, each a scripted conversation of 4 turns with one check per turn.
# For comparison it measures a bare loop over the same HTTP client (the floor). Usage: bench/cpu_per_turn.sh [TRIALS]
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
