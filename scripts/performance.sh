#!/usr/bin/env bash
# All figures of docs/performance.md, as JSON lines in a folder: scripts/performance.sh FOLDER. About ten minutes on two
# cores, after building; half a gigabyte in ${TMPDIR:-/tmp} for a while. Run it on a machine that does nothing else. Figures 13 and 14 need MariaDB.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:?a folder for the results}
mkdir -p "$to"
cargo build --quiet --release -p isolde -p isolde-bench
target=$(realpath "${CARGO_TARGET_DIR:-target}")
bench=$target/release/isolde-bench
isolde=$target/release/isolde

measure() {
  local name=$1
  shift
  echo "== $name: $*" >&2
  "$@" >"$to/$name.jsonl"
}

measure read "$bench" read
measure check "$bench" check
measure violations "$bench" violations
measure report "$bench" report --violations 1,10000
# Figures 7 and 8: distribution, objects, sessions, transactions.
measure sweep "$bench" sweep --max-txns 2000000
# Figure 9.
measure cas "$bench" cas --concurrency 10,25,50,75,100
measure weak "$bench" weak
# Figures 5 to 8 of the paper on Chronos and its table I: whole commands up to ten million transactions, stages, parameters,
# collection, memory over time, applications, faults.
measure timestamps "$bench" timestamps --large --folder "${TMPDIR:-/tmp}"
measure recording "$bench" recording

# Figures 13 and 14: how many trials find a lost update on a server that loses some, and how long a trial takes, by the
# longest transaction. Mini-transactions have up to four operations, whatever is asked.
: >"$to/trials.jsonl"
if [ -x /usr/sbin/mariadbd ]; then
  trials() {
    echo "== trials: $*" >&2
    # The last line is about all trials; exit code 1 says that some found something.
    (cd "$to" && "$isolde" test mariadb --isolation repeatable-read --level si --trials 20 --commits 1k --seed 1 \
      --keys 50 --json "$@" 2>/dev/null | tail -n 1 || true) |
      sed "s/^{/{\"options\":\"$*\",/" >>"$to/trials.jsonl"
  }
  trials --workload mini
  for length in 2 4 8 12; do
    trials --workload append --max-txn-len "$length"
    trials --workload general --max-txn-len "$length"
  done
  rm -rf "$to/isolde-runs"
else
  echo "*** SKIPPED: there is no MariaDB for figures 13 and 14 ***" >&2
fi
