#!/usr/bin/env bash
# Checks dashboards and rules: promtool tests the rules, Grafana's published schema and a layout check test the dashboards, and
# every query runs against a real Prometheus during a real run. Needs promtool and prometheus (Debian: prometheus), node and
# npm. Usage: grafana/check.sh [GABFEST]
set -euo pipefail
cd "$(dirname "$0")/.."
gabfest=$(realpath "${1:-target/debug/gabfest}")
for tool in promtool prometheus node npm; do
  command -v "$tool" >/dev/null && continue
  echo "grafana/check.sh: $tool is missing, so DASHBOARDS AND ALERTS WERE NOT CHECKED" >&2
  [ -z "${CI:-}" ] || exit 1
  exit 0
done
tools=target/grafana-check
mkdir -p "$tools"
if [ ! -e "$tools/node_modules/@grafana/schema" ] || [ ! -e "$tools/node_modules/typescript" ]; then
  if ! npm install --prefix "$tools" --no-save --silent --ignore-scripts --no-audit --no-fund @grafana/schema@13.2.3 typescript@5.9.3; then
    echo "grafana/check.sh: Grafana's schema could not be downloaded, so DASHBOARDS WERE NOT CHECKED" >&2
    [ -z "${CI:-}" ] || exit 1
    exit 0
  fi
fi
promtool check rules grafana/rules/*.yml
promtool test rules grafana/rules/tests/*.yml
node grafana/check/layout.mjs
node grafana/check/schema.mjs "$tools"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# timeout runs its command in a new process group and ends the whole group.
timeout --kill-after=10 110 node grafana/check/live.mjs "$gabfest" "$place"
