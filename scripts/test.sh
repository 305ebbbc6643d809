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
# Servers to test on, and what reads reports. Without root and apt the tests that need one say so and
# pass, but not in CI.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  packages=()
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || packages+=(postgresql)
  [ -x /usr/sbin/mariadbd ] || packages+=(mariadb-server)
  compgen -G '/usr/lib/mysql/plugin/ha_rocksdb.so' >/dev/null || packages+=(mariadb-plugin-rocksdb)
  # Clusters: Galera copies whole folders with rsync; nodes get networks of their own.
  compgen -G '/usr/lib/galera*/libgalera_smm.so' >/dev/null || packages+=(galera-4)
  command -v rsync >/dev/null || packages+=(rsync)
  command -v ip >/dev/null || packages+=(iproute2)
  [ -x /usr/bin/etcd ] || packages+=(etcd-server)
  # The example of a driver is one for Redis, in Python.
  [ -x /usr/bin/redis-server ] || packages+=(redis-server)
  command -v python3 >/dev/null || packages+=(python3)
  # Reports are looked at in a browser, and graphs by Graphviz.
  [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || packages+=(chromium)
  command -v dot >/dev/null || packages+=(graphviz)
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
  if [ ${#packages[@]} -gt 0 ]; then
    step "install ${packages[*]}"
    # Programs only: no service is started on this machine.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod +x "$policy"
      policy_made=yes
      trap 'rm -f "$policy"' EXIT
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
  fi
fi
for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

# What is compiled once need not be prepared for being compiled again.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0; fi

step "format"
cargo fmt --all -- --check

# A faulty and a mended engine: the tests see lost updates in the one and none in the other. And one that has snapshots
# only.
features=isolde-target/surrealmx,isolde-target/surrealmx-0-22,isolde/surrealkv

# All steps ask for the same features, so that what one has compiled the next one need not. browser/run.sh does, too.
export ISOLDE_FEATURES=$features

step "lints"
cargo clippy --quiet --workspace --all-targets --features "$features" -- -D warnings

# A checker alone: the command and the libraries below it bring no database that was not asked for.
cargo clippy --quiet -p isolde --no-default-features -- -D warnings

# The checker has to run in a browser, without threads, files, clocks and C.
wasm=wasm32-unknown-unknown
browser=(-p isolde-history -p isolde-spec -p isolde-graph -p isolde-check -p isolde-report)
if ! command -v rustup >/dev/null; then
  has_wasm=no
elif rustup target list --installed | grep -qx "$wasm" || rustup target add "$wasm"; then
  has_wasm=yes
else
  has_wasm=no
fi
if [ "$has_wasm" = yes ]; then
  step "lints of what runs in a browser"
  cargo clippy --quiet --target "$wasm" "${browser[@]}" --no-default-features -- -D warnings
fi

step "tests"
# Many of them wait for servers, and not for a core.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((3 * $(nproc)))}
cargo test --quiet --workspace --features "$features"

# What is left waits for a browser, or for one core: all of it at once. Each tells what it has to say when it is through.
logs=$(mktemp -d)
finish() {
  # What still runs when something has failed ends with us.
  jobs -p | xargs -r kill 2>/dev/null || true
  rm -rf "$logs"
  [ -z "${policy_made:-}" ] || rm -f "$policy"
}
trap finish EXIT
names=()
pids=()
beside() {
  local name=$1
  shift
  "$@" >"$logs/${#names[@]}" 2>&1 &
  names+=("$name")
  pids+=($!)
}

wasm() {
  if [ "$has_wasm" = yes ] && command -v node >/dev/null; then
    ISOLDE=target/debug/isolde browser/wasm/run.sh
  else
    echo "*** SKIPPED: $wasm (rustup target add $wasm) and node are needed to check histories in WebAssembly ***"
  fi
}
browser() {
  if [ "${CI:-}" = true ] || { [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && command -v npm >/dev/null; }; then
    browser/run.sh
  else
    echo "SKIPPED: chromium, node and npm are needed for the tests in browser/"
  fi
}
documentation() {
  RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --features "$features"
}

beside "reports in a browser" browser
beside "fuzz, briefly" fuzz/run.sh "${FUZZ_SECONDS:-3}"
beside "the checker as a browser would have it" wasm
beside "documentation" documentation
failed=
for at in "${!names[@]}"; do
  code=0
  wait "${pids[$at]}" || code=$?
  step "${names[$at]}"
  cat "$logs/$at"
  [ "$code" = 0 ] || failed="$failed ${names[$at]} (exit code $code);"
done
if [ -n "$failed" ]; then
  echo "FAILED:$failed" >&2
  exit 1
fi
