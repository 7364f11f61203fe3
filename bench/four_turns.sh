# Sourced by benchmarks: a scripted conversation of four turns with a check each in $place, and `gabfest mock` at zero latency at $url.
cargo build --release --quiet
place=$(mktemp -d)
trap 'kill "$mock" 2>/dev/null || true; rm -rf "$place"' EXIT
{
  printf 'name: four turns\ndescription: a scripted conversation\nrun:\n'
  for turn in 1 2 3 4; do
    printf '  - input: Please say hello to me, this is message %s about order 1234.\n' "$turn"
    printf '    evaluations:\n      - { type: regex_match, pattern: "[a-z]" }\n'
  done
  printf 'judgment: { strategy: all_pass }\n'
} > "$place/four.scenario.yaml"
target/release/gabfest mock --listen 127.0.0.1:0 > "$place/mock" 2>/dev/null &
mock=$!
for _ in $(seq 100); do [ -s "$place/mock" ] && break; sleep 0.05; done
url=$(grep -o 'http://[^, ]*' "$place/mock" | head -n 1)
