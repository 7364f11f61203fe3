#!/usr/bin/env bash
# Measures the CPU of a turn with telemetry off, with default telemetry (traces, metrics and logs), and with all traces, in
# alternating rounds. The conversations are those of cpu_per_turn.sh. Usage: bench/telemetry_cost.sh COLLECTOR
# [TRIALS [ROUNDS]]. COLLECTOR is the OTLP address (gRPC) of a collector for all three, such as http://127.0.0.1:4317.
set -euo pipefail
cd "$(dirname "$0")/.."
collector=$1
trials=${2:-5000}
rounds=${3:-5}
source bench/four_turns.sh
play() { # variables… : microseconds of CPU a turn
  local TIMEFORMAT='%U %S'
  rm -rf "$place/out.d"
  { time env "$@" target/release/gabfest run "$place/four.scenario.yaml" --agent "$url" --repeats "$trials" --slots 50 --quiet \
      --out "$place/out.d" > "$place/out" 2>&1; } 2>&1 | awk -v n="$((trials * 4))" '{ printf "%.1f", ($1 + $2) * 1e6 / n }'
}
variables=(OTEL_EXPORTER_OTLP_ENDPOINT="$collector" OTEL_EXPORTER_OTLP_PROTOCOL=grpc)
play OTEL_SDK_DISABLED=true > /dev/null # the first run warms the disk cache
echo "| off, µs a turn | on | all traces | on / off | all / off |"
echo "|---|---|---|---|---|"
for _ in $(seq "$rounds"); do
  off=$(play OTEL_SDK_DISABLED=true)
  on=$(play "${variables[@]}")
  all=$(play "${variables[@]}" OTEL_TRACES_SAMPLER=always_on)
  echo "$off $on $all"
done | awk '
  { printf "| %s | %s | %s | %.2f | %.2f |\n", $1, $2, $3, $2 / $1, $3 / $1; for (i = 1; i <= 3; i++) sum[i] += $i }
  END { printf "| **%.1f** | **%.1f** | **%.1f** | **%.2f** | **%.2f** |\n", sum[1] / NR, sum[2] / NR, sum[3] / NR, sum[2] / sum[1], sum[3] / sum[1] }'
