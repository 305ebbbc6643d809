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
  mapfile -t formats < <(cargo run --quiet --manifest-path ../Cargo.toml -p isolde -- formats --json |
    sed -n 's/^ *"name": "\(.*\)",*$/\1/p')
fi
failed=0
for format in "${formats[@]}"; do
  mkdir -p "corpus/$format" "seeds/$format" artifacts
  # Folders of logs are flattened: one seed a file.
  find "../histories/$format" -type f -size -64k | while read -r file; do
    cp "$file" "seeds/$format/$(tr / _ <<<"${file#../histories/}")"
  done
  log=$(mktemp)
  if ISOLDE_FUZZ_FORMAT=$format "$reader" "corpus/$format" "seeds/$format" -max_total_time="$seconds" \
    -max_len=4096 -timeout=10 -rss_limit_mb=4096 -artifact_prefix="artifacts/$format-" >"$log" 2>&1; then
    echo "fuzz $format: ${seconds} s, $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") runs, nothing found"
  else
    grep -v '^#\|^ \+[0-9]\+:\|^ \+at ' "$log" | tail -20
    echo "fuzz $format: FAILED, see fuzz/artifacts"
    failed=$((failed + 1))
  fi
  rm -f "$log"
done
echo "fuzz: $((${#formats[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
