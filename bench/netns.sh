#!/usr/bin/env bash
# A worker in another network namespace joins a coordinator with a token over mTLS and plays a run; one with another CA, one
# without an identity and a token that was used are refused. Needs root and iproute2.
#
#   bench/netns.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."
gabfest=$(realpath "${1:-target/debug/gabfest}")
scenarios=$(realpath scenarios/eliza)
place=$(mktemp -d)
a=gabfest-a-$$ b=gabfest-b-$$ # name spaces: the coordinator's and the worker's
pids=()
tidy() {
  # Only what this script has started.
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  ip netns delete "$a" 2>/dev/null || true
  ip netns delete "$b" 2>/dev/null || true
  rm -rf "$place"
}
trap tidy EXIT
cd "$place"

ip netns add "$a"
ip netns add "$b"
ip -n "$a" link add end type veth peer name end netns "$b"
ip -n "$a" address add 10.77.0.1/24 dev end
ip -n "$b" address add 10.77.0.2/24 dev end
for space in "$a" "$b"; do
  ip -n "$space" link set lo up
  ip -n "$space" link set end up
done
at() { ip netns exec "$@"; }
holds() { # what, command…
  local what=$1
  shift
  if "$@" >"$place/said" 2>&1; then
    printf '| %s | yes |\n' "$what"
  else
    printf '| %s | NO |\n' "$what"
    cat "$place/said" "$place/worker.log" "$place/log" >&2
    exit 1
  fi
}
refuses() { # what, text of the client, text of the coordinator's log, command…
  local what=$1 client=$2 coordinator=$3
  shift 3
  if "$@" >"$place/said" 2>&1; then
    echo "| $what | NOT REFUSED |"
    exit 1
  fi
  grep -qF "$client" "$place/said" || { cat "$place/said" >&2; exit 1; }
  if [ -n "$coordinator" ]; then
    for _ in $(seq 40); do grep -qF "$coordinator" "$place/log" && break; sleep 0.1; done
    grep -qF "$coordinator" "$place/log" || { cat "$place/log" >&2; exit 1; }
  fi
  # What follows "error: ", without what follows a line of its own.
  printf '| %s | client: *%s*; coordinator: *%s* |\n' "$what" "$client" "${coordinator:-is not asked}"
}

"$gabfest" pki init 10.77.0.1 >/dev/null 2>&1
"$gabfest" pki init --pki other/pki 10.77.0.1 >/dev/null 2>&1
# Without a function: the process that is ended is the program itself.
ip netns exec "$a" "$gabfest" coordinator -v --listen 10.77.0.1:7400 >"$place/out" 2>"$place/log" &
pids+=($!)
for _ in $(seq 100); do grep -q https:// "$place/out" && break; sleep 0.1; done
address=https://10.77.0.1:7400
at "$a" "$gabfest" pki token --coordinator "$address" --role worker >token.worker
at "$a" "$gabfest" pki token --coordinator "$address" --role view >token.view
"$gabfest" pki issue --pki other/pki --role worker --out foreign >/dev/null
"$gabfest" pki issue --role submit --lifetime 1 --out expired >/dev/null

echo "# A worker in another network namespace"
echo
echo "$(date -u +%Y-%m-%d), $("$gabfest" --version), $(uname -sr). The coordinator listens on 10.77.0.1, the worker has 10.77.0.2, a veth pair is between"
echo "them. \`bench/netns.sh\` prints this page."
echo
echo "| what | holds |"
echo "|---|---|"
ip netns exec "$b" "$gabfest" worker -v --slots 4 --coordinator "$address" --identity worker --join-token-file token.worker 2>"$place/worker.log" &
pids+=($!)
for _ in $(seq 100); do grep -q "worker joined" "$place/log" && break; sleep 0.1; done
holds "the worker joins with a token over mTLS" grep "worker joined" "$place/log"
holds "its private key was made there and is readable by its owner only" test "$(stat -c %a worker/identity.pem)" = 600
holds "a run of scenarios/eliza that is submitted from 10.77.0.2 finishes there" bash -c \
  "ip netns exec '$b' '$gabfest' submit '$scenarios' --run far --coordinator '$address' --identity gabfest-data/pki/admin --watch --quiet; code=\$?; [ \$code = 0 ] || [ \$code = 1 ]"
holds "every trial of it ended" python3 -c \
  "import json; t = json.load(open('gabfest-runs/far/report.json'))['summary']['trials']; assert t['not_started'] == 0 and t['planned'] > 0, t"
refuses "the token a second time" "was used already" "was used already" \
  at "$b" "$gabfest" pki join --coordinator "$address" --identity again --join-token-file token.worker
refuses "a worker of another CA" "from another CA" "does not trust the certificate of this coordinator" \
  at "$b" "$gabfest" worker --coordinator "$address" --identity foreign
cp gabfest-data/pki/ca.pem foreign/ca.pem
refuses "the same, after it learned this CA" "refuses the certificate of this identity: it is from another CA" \
  "its certificate is from another CA" at "$b" "$gabfest" worker --coordinator "$address" --identity foreign
sleep 1.5
refuses "an expired certificate" "it has expired" "its certificate has expired" \
  at "$b" "$gabfest" runs --coordinator "$address" --identity expired
at "$b" "$gabfest" pki join --coordinator "$address" --identity viewer --join-token-file token.view >/dev/null
refuses "a viewer who submits" "the role view may not call Submit" "the role view may not call Submit" \
  at "$b" "$gabfest" submit "$scenarios" --coordinator "$address" --identity viewer
refuses "no identity" "there is no identity" "" \
  at "$b" "$gabfest" runs --coordinator "$address" --identity nowhere
refuses "plaintext" "needs TLS" "it does not speak TLS" at "$b" "$gabfest" runs --coordinator http://10.77.0.1:7400
