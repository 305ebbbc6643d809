#!/usr/bin/env bash
# Compiles the checker for a browser and asks it about the project's own histories, in node.
# Needs node 20 or newer and `rustup target add wasm32-unknown-unknown`. ISOLDE names the command to compare with.
set -euo pipefail
isolde=${ISOLDE:+$(realpath "$ISOLDE")}
cd "$(dirname "$0")"
cargo build --quiet --target wasm32-unknown-unknown
ISOLDE=$isolde node check.mjs target/wasm32-unknown-unknown/debug/isolde_wasm.wasm
