#!/usr/bin/env bash
# Everything that must be true before a change lands. Installs what it needs, skips nothing in CI.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

# libFuzzer is C++; everything else needs Rust and a C compiler only.
if ! command -v c++ >/dev/null; then
  step "install a C++ compiler"
  apt-get update -qq
  apt-get install -y -qq g++
fi
for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

step "format"
cargo fmt --all -- --check

step "lints"
cargo clippy --quiet --workspace --all-targets -- -D warnings

step "the history crate without files and compression, as a browser would have it"
cargo clippy --quiet -p isolde-history --no-default-features -- -D warnings

step "tests"
cargo test --quiet --workspace

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps

step "fuzz, briefly"
fuzz/run.sh "${FUZZ_SECONDS:-5}"
