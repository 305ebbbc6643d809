#!/usr/bin/env bash
# What takes too long for every change: scripts/soak.sh [hours], one hour unless it is said. Half of the time the checker is
# compared with its brute-force twins on more histories than in scripts/test.sh (`against_twin` on new ones each time, the
# other tests on the same 20,000), a quarter every reader is fuzzed, and a quarter the databases of the build run at every
# level. It takes as long as was said, and a few minutes for building and for the last round of twins.
set -euo pipefail
cd "$(dirname "$0")/.."
hours=${1:-1}
end=$(($(date +%s) + $(awk -v h="$hours" 'BEGIN { printf "%d", h * 1800 }')))

from=${ISOLDE_FROM:-1000000}
echo "== twins, until $(date -d "@$end" +%H:%M), from seed $from"
while [ "$(date +%s)" -lt "$end" ]; do
  # The tables of open answers are about the seeds of scripts/test.sh, and are not asked here.
  ISOLDE_FROM=$from ISOLDE_TWIN=20000 cargo test --quiet --release -p isolde-check --test it
  from=$((from + 20000))
done

formats=18
seconds=$(awk -v h="$hours" -v f="$formats" -v c="$(nproc)" 'BEGIN { printf "%d", h * 900 * c / f + 1 }')
echo "== fuzz, $seconds s for each format"
fuzz/run.sh "$seconds"

echo "== every database at every level"
cargo build --quiet --release -p isolde-bench
code=0
timeout "$(awk -v h="$hours" 'BEGIN { printf "%d", h * 900 + 1 }')" target/release/isolde-bench soak || code=$?
# 124: the time was over, and no alarm was given until then.
[ "$code" = 0 ] || [ "$code" = 124 ]
