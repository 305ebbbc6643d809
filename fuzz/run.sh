#!/usr/bin/env bash
# Fuzzes every reader for some seconds each: fuzz/run.sh [seconds] [format ...]
# Works on the stable toolchain: libFuzzer with LLVM's coverage counters, and no sanitizer.
# What it finds stays in fuzz/artifacts; make it a test named after what it guards.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-10}
shift || true

flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags="$flags -Ccodegen-units=1"
# An explicit target keeps the instrumentation out of build scripts, which could not link it.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$flags" cargo build --quiet --release --target "$host" --bin reader
reader=target/$host/release/reader

formats=("$@")
if [ ${#formats[@]} -eq 0 ]; then
  # Asked without one, the reader names them all.
  mapfile -t formats < <("$reader" 2>/dev/null)
  [ ${#formats[@]} -gt 10 ] || { echo "fuzz: the reader names ${#formats[@]} formats only"; exit 1; }
fi
mkdir -p artifacts
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# What came of it is said in a file, and that it failed by another one.
fuzz() {
  local format=$1 log=$results/$1.log
  mkdir -p "corpus/$format" "seeds/$format"
  # Folders of logs are flattened: one seed a file.
  find "../histories/$format" -type f -size -64k | while read -r file; do
    cp "$file" "seeds/$format/$(tr / _ <<<"${file#../histories/}")"
  done
  # The time limit of one input is for a machine that has other things to do as well.
  if ISOLDE_FUZZ_FORMAT=$format "$reader" "corpus/$format" "seeds/$format" -max_total_time="$seconds" \
    -max_len=4096 -timeout=60 -rss_limit_mb=4096 -artifact_prefix="artifacts/$format-" >"$log" 2>&1; then
    echo "fuzz $format: ${seconds} s, $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") runs, nothing found"
  else
    touch "$results/$format.failed"
    grep -v '^#\|^ \+[0-9]\+:\|^ \+at ' "$log" | tail -20
    echo "fuzz $format: FAILED, see fuzz/artifacts"
  fi >"$results/$format.said"
  cat "$results/$format.said"
}

# As many at a time as there are cores.
jobs=$(nproc 2>/dev/null || echo 1)
for format in "${formats[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  fuzz "$format" &
done
wait
failed=$(find "$results" -name '*.failed' | wc -l)
echo "fuzz: $((${#formats[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
