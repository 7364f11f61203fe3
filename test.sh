#!/usr/bin/env bash
# Everything that must pass: format, lints, tests, documentation. The long suites are tasks of `cargo xtask`.
set -euo pipefail
cd "$(dirname "$0")"
export RUSTDOCFLAGS="-D warnings"
step() { echo "== $*"; "$@"; }
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --quiet -- -D warnings
step cargo build --workspace --quiet
step cargo nextest run --workspace --no-fail-fast
step cargo doc --workspace --no-deps --quiet
step crates/report/tests/browser/run.sh target/debug/gabfest
