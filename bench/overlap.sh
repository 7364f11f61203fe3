#!/usr/bin/env bash
# Measures the cost of overlapping conversations: N at once, each reply after 2 s, against a server in another process.
# Prints the wall time, the time from the end of the last conversation to the end of the command, CPU, and peak memory.
# Usage: bench/overlap.sh [CONVERSATIONS TURNS REPLY_BYTES]…   (10000 4 60, then 1000 20 4000)
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 10000 4 60 1000 20 4000
cargo build --release --quiet
ulimit -n "$(ulimit -Hn)"
place=$(mktemp -d)
mock=
trap '[ -z "$mock" ] || kill "$mock" 2>/dev/null || true; rm -rf "$place"' EXIT
while [ $# -ge 3 ]; do
  conversations=$1 turns=$2 bytes=$3
  shift 3
  {
    printf 'name: overlap\ndescription: a scripted conversation\nrun:\n'
    for turn in $(seq "$turns"); do
      printf '  - input: This is message %s about order 1234.\n    evaluations:\n      - { type: regex_match, pattern: "[a-z]" }\n' "$turn"
    done
    printf 'judgment: { strategy: all_pass }\n'
  } > "$place/overlap.scenario.yaml"
  # A separate server, because the built-in mock's replies have no fixed length.
  python3 bench/slow_server.py 2 "$bytes" > "$place/address" &
  mock=$!
  for _ in $(seq 100); do [ -s "$place/address" ] && break; sleep 0.05; done
  python3 - "$conversations" "$turns" "$bytes" "$(cat "$place/address")" "$place" <<'P'
import json, os, resource, subprocess, sys, time, urllib.request
n, turns, size, url, place = sys.argv[1:]
out = f"{place}/{n}"
began = time.time()
run = ["target/release/gabfest", "run", f"{place}/overlap.scenario.yaml", "--agent", url, "--repeats", n, "--slots", n]
subprocess.run([*run, "--quiet", "--out", out], check=True)
ended = time.time()
last = json.load(urllib.request.urlopen(url.removesuffix("/v1") + "/stats"))["last_reply"]
used = resource.getrusage(resource.RUSAGE_CHILDREN)
passed = json.load(open(f"{out}/report.json"))["summary"]["trials"]["pass"]
print(f"{n} conversations at once, {turns} turns, replies of {size} bytes: {passed} passed; {ended - began:.1f} s, of which "
      f"{ended - last:.1f} s after the last reply; {used.ru_utime + used.ru_stime:.1f} s of CPU; {used.ru_maxrss / 1024:.0f} MiB at the peak")
P
  kill "$mock"
  wait "$mock" 2>/dev/null || true
done
