#!/usr/bin/env bash
# Agents that mean harm, of every kind, for longer than the tests play them: peak memory of the gabfest process and time.
# Usage: bench/hostile.sh [REPEATS]   (trials of each agent, 100 unless said; a debug build)
set -euo pipefail
cd "$(dirname "$0")/.."
GABFEST_HOSTILE_REPEATS="${1:-100}" cargo test --quiet -p gabfest --test it hostile -- --nocapture --test-threads 1 | grep 'peak\|test result'
