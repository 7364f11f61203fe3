#!/usr/bin/env bash
# Feeds every reader RUNS inputs (a million unless said): fuzz/run.sh [RUNS [TARGET…]]. Needs cargo-fuzz and a C++ compiler, not
# nightly Rust. What a run finds stays in fuzz/work, which is not committed. fuzz/corpus is: it grew from our own examples alone,
# and a test reads it.
set -euo pipefail
cd "$(dirname "$0")"
runs=${1:-1000000}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(eliza skunit qna line battery matrix persona)
# Coverage counters without a sanitizer: there is no unsafe code here for one to find.
export RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
cd ..

# Beside the corpus: shipped scenarios, and the real ones where GABFEST_CASES names them, under names of their own. Nothing of it is committed.
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
  esac
  started=$SECONDS
  cargo fuzz run --sanitizer none "$target" \
    "fuzz/work/$target/corpus" "fuzz/corpus/$target" "fuzz/work/$target/seeds" \
    -- -runs="$runs" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 2>&1 |
    tee "fuzz/work/$target/log" | grep -E '^(stat::|SUMMARY|==)|DONE|panicked|Test unit written' || true
  # The pipe hides the fuzzer's own exit status, and a million runs that ended early are no million.
  grep -q 'DONE' "fuzz/work/$target/log" || { echo "$target: stopped; see fuzz/work/$target/log" >&2; exit 1; }
  echo "$target: $((SECONDS - started)) s"
done
