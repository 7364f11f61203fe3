#!/usr/bin/env bash
# CPU of a turn with telemetry off, with metrics and 5 % of the traces, and with all traces, in turns and in the same
# minutes; the conversations are those of cpu_per_turn.sh. Usage: bench/telemetry_cost.sh COLLECTOR [TRIALS [ROUNDS]],
# where COLLECTOR is the OTLP address (gRPC) of something that takes traces, metrics and logs, such as http://127.0.0.1:4317.
set -euo pipefail
cd "$(dirname "$0")/.."
collector=$1
trials=${2:-5000}
rounds=${3:-3}
source bench/four_turns.sh
play() { # variables… : microseconds of CPU a turn
  local TIMEFORMAT='%U %S'
  rm -rf "$place/out.d"
  { time env "$@" target/release/gabfest run "$place/four.scenario.yaml" --agent "$url" --repeats "$trials" --slots 50 --quiet \
      --out "$place/out.d" > "$place/out" 2>&1; } 2>&1 | awk -v n="$((trials * 4))" '{ printf "%.1f", ($1 + $2) * 1e6 / n }'
}
on=(OTEL_EXPORTER_OTLP_ENDPOINT="$collector" OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_TRACES_SAMPLER=parentbased_traceidratio)
play OTEL_SDK_DISABLED=true > /dev/null # the first run warms the disk
echo "| off, µs a turn | 5 % of traces | all traces | ratio at 5 % | ratio of all |"
echo "|---|---|---|---|---|"
for _ in $(seq "$rounds"); do
  off=$(play OTEL_SDK_DISABLED=true)
  some=$(play "${on[@]}" OTEL_TRACES_SAMPLER_ARG=0.05)
  all=$(play "${on[@]}" OTEL_TRACES_SAMPLER_ARG=1)
  awk -v o="$off" -v s="$some" -v a="$all" 'BEGIN { printf "| %s | %s | %s | %.2f | %.2f |\n", o, s, a, s / o, a / o }'
done
