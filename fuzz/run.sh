#!/usr/bin/env bash
# Runs every target on RUNS inputs (default one million): readers, the wire, and what keeps pages, paths and keys safe.
# fuzz/run.sh [RUNS [TARGET…]]. `SECONDS_EACH=60` stops a target after that time. Needs cargo-fuzz and a C++ compiler, not nightly Rust. Findings stay in fuzz/work, which is not committed.
# fuzz/corpus is committed, an archive for each of most targets: it grew from the examples of this repository only.
# fuzz/seeds has a folder for each target that reads no files. Tests read the archives of readers of files, and all seeds.
set -euo pipefail
cd "$(dirname "$0")"
runs=${1:-1000000}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(eliza skunit qna line battery matrix persona objective rows dialects a2a ag_ui reply judge draft session segment redactor paths escapes)
# Coverage counters without a sanitizer: this repository has no unsafe code.
export RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
# Files of targets are in memory.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
cd ..

# Additional seeds: the shipped scenarios, and the real ones of GABFEST_CASES. They are not committed.
seed() { # target, find's tests…
  local target=$1 file
  shift
  mkdir -p "fuzz/work/$target/seeds" "fuzz/work/$target/corpus"
  while IFS= read -r -d '' file; do
    cp "$file" "fuzz/work/$target/seeds/$(sha256sum "$file" | cut -c 1-16)"
  done < <(find scenarios crates/*/tests ${GABFEST_CASES:+"$GABFEST_CASES"} -type f -size -64k \( "$@" \) -print0)
}

for target in "${targets[@]}"; do
  case $target in
    eliza) seed eliza -name '*.scenario.y*ml' -o -path '*/eliza/*.y*ml' ;;
    skunit) seed skunit -name '*.skunit.md' -o -path '*/skunit/*.md' ;;
    qna) seed qna -name '*.qna' -o -name '*.qna.*' -o -name '*.lu' -o -name '*.tsv' -o -path '*/qna/*.json' ;;
    line) seed line -name '*.conversation.*' ;;
    battery) seed battery -name '*.battery.y*ml' ;;
    matrix) seed matrix -name '*.matrix.y*ml' ;;
    persona) seed persona -path '*/personas/*.y*ml' -o -name '*.persona.y*ml' ;;
    *) mkdir -p "fuzz/work/$target/seeds" "fuzz/work/$target/corpus" && cp "fuzz/seeds/$target"/* "fuzz/work/$target/seeds/" ;;
  esac
  rm -rf "fuzz/work/$target/committed" && mkdir -p "fuzz/work/$target/committed"
  [ ! -e "fuzz/corpus/$target.zip" ] || python3 -m zipfile -e "fuzz/corpus/$target.zip" "fuzz/work/$target/committed"
  # Half of the time of this target went into libFuzzer's choice of the next input.
  schedule=1
  [ "$target" != session ] || schedule=0
  started=$SECONDS
  cargo fuzz run --sanitizer none "$target" \
    "fuzz/work/$target/corpus" "fuzz/work/$target/committed" "fuzz/work/$target/seeds" \
    -- -runs="$runs" -entropic="$schedule" -max_len=65536 -max_total_time="${SECONDS_EACH:-0}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 2>&1 |
    tee "fuzz/work/$target/log" | grep -E '^(stat::|SUMMARY|==)|DONE|panicked|Test unit written' || true
  # The pipe hides the fuzzer's exit status, so the log shows whether all runs finished.
  grep -q 'DONE' "fuzz/work/$target/log" || { echo "$target: stopped; see fuzz/work/$target/log" >&2; exit 1; }
  echo "$target: $((SECONDS - started)) s"
done
