#!/usr/bin/env bash
# Tests the HTML report in a real browser: makes reports of every kind, then clicks through them.
# Needs node 20 or newer with npm, and chromium (or CHROMIUM=/path/to/it).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
browser=${CHROMIUM:-/usr/bin/chromium}
missing=0
need() {
    if ! command -v "$1" > /dev/null; then
        echo "browser tests: $1 is missing: $2" >&2
        missing=1
    fi
}
need node "install node 20 or newer"
need npm "it comes with node"
need "$browser" "install chromium, or set CHROMIUM to a browser that is one"
need cargo "install Rust"
[ "$missing" = 0 ] || exit 1
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
cd "$here/.."
# Not -p isolde-report: with the features of the whole workspace it is what the tests have compiled already.
cargo run --quiet ${ISOLDE_FEATURES:+--features "$ISOLDE_FEATURES"} --example reports -- "$reports"
cd "$here"
npm ci --silent --no-audit --no-fund
REPORTS="$reports" CHROMIUM="$browser" node --test report.test.mjs
