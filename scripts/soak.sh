#!/usr/bin/env bash
# What takes too long for every change: scripts/soak.sh [hours], one hour unless it is said. Half of the time the checker is
# compared with its brute-force twins on more histories than in scripts/test.sh (`against_twin` on new ones each time, the
# other tests on the same 20,000), a quarter every reader is fuzzed, and a quarter the databases of the build run at every
# level. It takes as long as was said, and a few minutes for building and for the last round of twins.
#
# scripts/soak.sh timestamps, for about a quarter of an hour: histories of correct databases, simulated and etcd's, are asked by
# their timestamps. Every answer has to be "holds"; the history of any other one stays in the folder that is named at the end.
#
# scripts/soak.sh shown [postgres|mariadb|etcd], for about an hour: PostgreSQL with its snapshots, MariaDB and etcd with their versions,
# 100,000 commits at each level over all workloads, without faults and while the server is killed again and again. A line of
# JSON for each run; what does not hold stays in the folder that is named at the end.
#
# scripts/soak.sh stream, for about a quarter of an hour: streams against whole histories. The twins of crates/stream on ISOLDE_STREAM histories
# (50,000) that nobody has tried yet, and a watch of a file and one of HTTP that are killed ISOLDE_KILLS times (50).
#
# scripts/soak.sh intervals [postgres|mariadb|mariadb-rocksdb|sqlite], for about an hour: servers held to their mechanisms by client intervals, 112,000
# commits at each level over all workloads, half of them on four rows, without faults and as many while the server is killed. Every answer has to be
# "no violation"; what is not stays in the folder that is named at the end, with its tape. ISOLDE_SOAK_SEED=N makes other transactions.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = stream ]; then
  export ISOLDE_STREAM=${ISOLDE_STREAM:-50000} ISOLDE_FROM=${ISOLDE_FROM:-$((RANDOM * 1000000))} ISOLDE_KILLS=${ISOLDE_KILLS:-50}
  echo "histories from $ISOLDE_FROM on: ISOLDE_FROM=$ISOLDE_FROM tries the same again"
  cargo test --release -p isolde-stream --test it -- --nocapture any_ what_is_not_kept
  cargo test --release -p isolde --test it -- --nocapture watch_state
  exit
fi

# One line of JSON for each check: what it was, its exit code, how long it took, what it says. Beside NAME.json, which has the
# report, NAME.stat may have what `isolde stat` says.
told() {
  local name=$1 code=$2 folder=$3
  python3 - "$name" "$code" "$folder/$name" <<'PYTHON'
import json, sys
name, code, path = sys.argv[1:]
def read(ending):
    try:
        return json.load(open(path + ending))
    except (OSError, ValueError):
        return {}
report = read(".json")
verdicts = report.get("verdicts", [])
line = {"soak": name, "exit": int(code), "transactions": report.get("transactions")}
line["answers"] = [v["answer"] for v in verdicts]
line["seconds"] = [round(v["seconds"], 3) for v in verdicts]
line["counts"] = [{c["anomaly"]: c["count"] for c in v["counts"]} for v in verdicts]
line["reasons"] = [v["reason"] for v in verdicts if v["reason"]]
line["notes"] = sum(len(v["notes"]) for v in verdicts)
line["outcomes"] = read(".stat").get("outcomes")
print(json.dumps(line))
PYTHON
}

# A million transactions of every workload, as the simulated database of the level makes them.
simulated() {
  local isolde=$1 folder=$2 txns=${ISOLDE_SOAK_TXNS:-1m} failed=0
  for workload in mini general append cas register mix twitter rubis tpcc; do
    for level in si ser; do
      for style in plain hybrid; do
        local name=$workload-$level-$style code=0
        "$isolde" generate "$folder/$name.isolde" --force --workload "$workload" --level "$level" --timestamps "$style" \
          --txns "$txns" --sessions 50 --seed 11 2>"$folder/generate.log"
        "$isolde" check --evidence timestamps --level "$level" --json "$folder/$name.isolde" >"$folder/$name.json" || code=$?
        told "$name" "$code" "$folder"
        if [ "$code" = 0 ]; then rm "$folder/$name.isolde" "$folder/$name.json"; else failed=1; fi
      done
    done
  done
  return "$failed"
}

# etcd's revisions while its nodes are killed or cut off: transactions of unknown outcome have none. Exit code 2 of the run: a
# server did not come back in time, and nothing is kept.
etcd_under_faults() {
  local isolde=$1 folder=$2 commits=${ISOLDE_SOAK_COMMITS:-20k} failed=0
  for offer in serializable-reads strict-serializable; do
    # A node is cut off sooner than usual: else the run may be over before.
    for fault in kill isolate:about=3s:for=2s; do
      local name=etcd-$offer-${fault%%:*} code=0
      TMPDIR=/dev/shm "$isolde" test etcd --isolation "$offer" --level ser --commits "$commits" --fault "$fault" --seed 11 \
        --keep-history --out "$folder/$name" >"$folder/$name.txt" 2>&1 || code=$?
      # By values and by timestamps, while it ran.
      echo "{\"soak\":\"$name, the run\",\"exit\":$code}"
      local history=$folder/$name/etcd-$offer-11/history.isolde
      "$isolde" stat --json "$history" >"$folder/$name.stat" || true
      code=0
      "$isolde" check --evidence timestamps --level ser --json "$history" >"$folder/$name.json" || code=$?
      told "$name" "$code" "$folder"
      [ "$code" = 0 ] || failed=1
    done
  done
  return "$failed"
}

# One run of a server that shows more than its answers. What comes after the commits goes to the command as it is.
shown_run() {
  local isolde=$1 folder=$2 target=$3 evidence=$4 offer=$5 workload=$6 fault=$7 commits=$8
  shift 8
  local name=$target-$offer-$workload${fault:+-${fault%%:*}}${1:+-few} code=0
  "$isolde" test "$target" --evidence "$evidence" --isolation "$offer" --workload "$workload" --commits "$commits" \
    --seed "${ISOLDE_SOAK_SEED:-11}" ${fault:+--fault "$fault"} "$@" --out "$folder/$name" --json \
    >"$folder/$name.json" 2>"$folder/$name.err" || code=$?
  python3 - "$name" "$code" "$folder/$name.json" <<'PYTHON'
import json, sys
name, code, path = sys.argv[1:]
try:
    report = json.load(open(path))
except (OSError, ValueError):
    report = {}
run = report.get("run", report)
line = {"soak": name, "exit": int(code)}
for field in ("committed", "aborted", "unknown", "resolved", "lost_connections"):
    line[field] = run.get(field)
verdicts = report.get("verdicts", [])
line["answers"] = [f'{v["level"]} by {v["by"]}: {v["answer"]}' for v in verdicts]
line["decided"] = [[v["decided"], v["of"]] for v in verdicts if "decided" in v]
line["counts"] = {c["anomaly"]: c["count"] for v in verdicts for c in v["counts"]}
line["reasons"] = [v["reason"] for v in verdicts if v["reason"]]
print(json.dumps(line))
PYTHON
  [ "$code" = 0 ] && rm -rf "$folder/$name" "$folder/$name.json" "$folder/$name.err"
}

# Every level of a server over all workloads, with and without kills.
shown() {
  local isolde=$1 folder=$2 target=$3 evidence=$4 failed=0
  shift 4
  for offer in "$@"; do
    for workload in mini general register append twitter rubis tpcc; do
      for fault in "" kill:about=2s; do
        shown_run "$isolde" "$folder" "$target" "$evidence" "$offer" "$workload" "$fault" "${ISOLDE_SOAK_COMMITS:-15k}" || failed=1
      done
    done
  done
  return "$failed"
}

# Levels as TARGET/OFFER, by the mechanisms that their profiles say; on many rows, and by more sessions on few.
intervals() {
  local isolde=$1 folder=$2 failed=0 commits=${ISOLDE_SOAK_COMMITS:-7k}
  shift 2
  for level in "$@"; do
    local target=${level%%/*} offer=${level#*/}
    # A run takes a few seconds. An embedded database has no server to kill.
    local faults=("" kill:about=700ms)
    [ "$target" = sqlite ] && faults=("")
    for workload in mini general register append cas twitter rubis tpcc; do
      for fault in "${faults[@]}"; do
        shown_run "$isolde" "$folder" "$target" intervals "$offer" "$workload" "$fault" "$commits" || failed=1
        shown_run "$isolde" "$folder" "$target" intervals "$offer" "$workload" "$fault" "$commits" \
          --keys 4 --sessions 12 --rollbacks 0.1 || failed=1
      done
    done
  done
  return "$failed"
}

if [ "${1:-}" = intervals ]; then
  cargo build --quiet --release -p isolde
  isolde=$(realpath "${CARGO_TARGET_DIR:-target}")/release/isolde
  folder=$(mktemp -d "${TMPDIR:-/tmp}/isolde-soak.XXXXXX")
  all=(postgres/read-committed postgres/repeatable-read postgres/serializable mariadb/read-uncommitted mariadb/read-committed
    mariadb/repeatable-read mariadb/repeatable-read-snapshot mariadb/serializable mariadb-rocksdb/read-committed mariadb-rocksdb/repeatable-read
    sqlite/deferred sqlite/immediate)
  wanted=()
  for level in "${all[@]}"; do
    [[ $level == "${2:+$2/}"* ]] && wanted+=("$level")
  done
  failed=0
  intervals "$isolde" "$folder" "${wanted[@]}" || failed=1
  echo "what did not hold stays in $folder"
  exit "$failed"
fi

if [ "${1:-}" = shown ]; then
  cargo build --quiet --release -p isolde
  isolde=$(realpath "${CARGO_TARGET_DIR:-target}")/release/isolde
  folder=$(mktemp -d "${TMPDIR:-/tmp}/isolde-soak.XXXXXX")
  failed=0
  if [ "${2:-postgres}" = postgres ]; then
    shown "$isolde" "$folder" postgres snapshots read-committed repeatable-read serializable || failed=1
  fi
  if [ "${2:-mariadb}" = mariadb ]; then
    shown "$isolde" "$folder" mariadb versions read-uncommitted read-committed repeatable-read repeatable-read-snapshot \
      serializable || failed=1
  fi
  if [ "${2:-etcd}" = etcd ]; then
    shown "$isolde" "$folder" etcd versions serializable-reads strict-serializable || failed=1
  fi
  [ "$failed" = 1 ] && echo "what did not hold is in $folder" >&2 || rm -r "$folder"
  exit "$failed"
fi

if [ "${1:-}" = timestamps ]; then
  cargo build --quiet --release -p isolde
  isolde=$(realpath "${CARGO_TARGET_DIR:-target}")/release/isolde
  folder=$(mktemp -d "${TMPDIR:-/tmp}/isolde-soak.XXXXXX")
  failed=0
  simulated "$isolde" "$folder" || failed=1
  if command -v etcd >/dev/null; then
    etcd_under_faults "$isolde" "$folder" || failed=1
  else
    echo "*** SKIPPED: there is no etcd ***" >&2
  fi
  if [ "${2:-etcd}" = etcd ]; then
    shown "$isolde" "$folder" etcd versions serializable-reads strict-serializable || failed=1
  fi
  [ "$failed" = 1 ] && echo "what did not hold is in $folder" >&2 || rm -r "$folder"
  exit "$failed"
fi

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
