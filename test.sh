#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation, a browser on a report, dashboards and alerts,
# what deploy/ says. CONTRIBUTING.md lists the long suites.
set -euo pipefail
cd "$(dirname "$0")"
export RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links"
step() { echo "== $*"; "$@"; }
# Tests that skip say so, but what a passing test prints is not shown.
without() {
  [ -n "${GABFEST_CASES:-}" ] || echo "!! GABFEST_CASES IS NOT SET: the tests that need it are SKIPPED (CONTRIBUTING.md says what it names)" >&2
  [ -e "${GABFEST_MODELS:-}/all-MiniLM-L6-v2/model.safetensors" ] ||
    echo "!! GABFEST_MODELS HAS NO all-MiniLM-L6-v2: the tests with a real model are SKIPPED (gabfest models fetch)" >&2
}
without
trap without EXIT
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --quiet -- -D warnings
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

# Dashboards and alerts.
step grafana/check.sh

# Image, compose, manifests, workflow: validated, and started as processes.
step deploy/check.sh
