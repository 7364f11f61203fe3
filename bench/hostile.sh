#!/usr/bin/env bash
# Hostile agents of every kind, for longer than in the tests: peak memory of the gabfest process, and time.
# Usage: bench/hostile.sh [REPEATS]   (trials of each agent, default 100; a debug build)
set -euo pipefail
cd "$(dirname "$0")/.."
GABFEST_HOSTILE_REPEATS="${1:-100}" cargo test --quiet -p gabfest --test it hostile -- --nocapture --test-threads 1 | grep 'peak\|test result'
