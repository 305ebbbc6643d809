//! Real servers held to their mechanisms by client intervals: none at its own profile gives an alarm, and each is found out
//! by the profile of a stronger level. A small slice of `scripts/soak.sh intervals`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_target::{OpenOptions, Target, open};
use serde_json::Value;

use crate::common::{Folder, has_mariadb, has_postgres};

const WORKLOADS: [&str; 5] = ["mini", "general", "register", "append", "cas"];

/// A throwaway server, which takes longer to start than to be tested, and its address.
fn started(kind: &str) -> (Box<dyn Target>, String) {
    let server = open(kind, &OpenOptions::default()).unwrap();
    let url = server.throwaway().unwrap().url;
    (server, url)
}

/// What a level of a server leaves undone, by the profile of a stronger one.
struct Weakness {
    level: &'static str,
    profile: &'static str,
    /// Each of these is found.
    found: &'static [&'static str],
}

const fn weakness(
    level: &'static str,
    profile: &'static str,
    found: &'static [&'static str],
) -> Weakness {
    Weakness { level, profile, found }
}

/// A record of a few rows that many sessions want at once.
fn record(folder: &Folder, target: &str, level: &str, workload: &str) -> String {
    let tape = folder.file(&format!("{level}-{workload}.isolde"));
    let args = ["record", target, &tape, "--isolation", level, "--workload", workload];
    let more = ["--keys", "6", "--sessions", "10", "--commits", "400", "--rollbacks", "0.1"];
    let ran = folder.isolde(&[&args[..], &more, &["--seed", "5"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    tape
}

/// The answer by intervals, and what was counted.
#[track_caller]
fn judged(folder: &Folder, tape: &str, profile: &[&str]) -> (String, Vec<(String, u64)>) {
    let args = ["check", "--evidence", "intervals", "--json", tape];
    let ran = folder.isolde(&[&args[..], profile].concat());
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    let verdict = &report["verdicts"][0];
    let counts = verdict["counts"].as_array().unwrap().iter();
    let counts = counts.map(|count| {
        (count["anomaly"].as_str().unwrap().to_owned(), count["count"].as_u64().unwrap())
    });
    let answer = verdict["answer"].as_str().unwrap().to_owned();
    assert_eq!(ran.code, Some(if answer == "violated" { 1 } else { 0 }), "{ran:#?}");
    (answer, counts.collect())
}

/// Every workload at every level: nothing by its own profile, and what is expected by stronger ones.
#[track_caller]
fn is_mirrored(target: &str, name: &str, levels: &[&str], weaknesses: &[Weakness]) {
    let folder = Folder::new(&format!("mirrored-{name}"));
    for level in levels {
        let mut tapes = Vec::new();
        for workload in WORKLOADS {
            let tape = record(&folder, target, level, workload);
            let (answer, counts) = judged(&folder, &tape, &[]);
            assert_eq!(answer, "no-violation", "{target} {level} {workload}: {counts:?}");
            tapes.push(tape);
        }
        for weakness in weaknesses.iter().filter(|weakness| weakness.level == *level) {
            let profile = ["--profile", weakness.profile];
            let all = tapes.iter().flat_map(|tape| judged(&folder, tape, &profile).1);
            let all: Vec<(String, u64)> = all.collect();
            for anomaly in weakness.found {
                let found = all.iter().any(|(name, count)| name == anomaly && *count > 0);
                assert!(found, "no {anomaly} of {level} by {}: {all:?}", weakness.profile);
            }
        }
    }
}

#[test]
fn postgres_does_what_its_profiles_say_and_no_more() {
    if !has_postgres() {
        return;
    }
    let (_server, url) = started("postgres");
    let (weaker, stronger) = ("postgresql/repeatable-read", "postgresql/serializable");
    is_mirrored(
        &url,
        "postgres",
        &["read-committed", "repeatable-read", "serializable"],
        &[
            weakness("read-committed", weaker, &["UncommittedVersionRead", "ConcurrentWrites"]),
            weakness("read-committed", stronger, &["LostUpdate", "DangerousStructure"]),
            weakness("repeatable-read", stronger, &["G2-item", "DangerousStructure"]),
        ],
    );
}

#[test]
fn mariadb_does_what_its_profiles_say_and_no_more() {
    if !has_mariadb() {
        return;
    }
    let (_server, url) = started("mariadb");
    let (weaker, stronger) = ("mariadb/repeatable-read-snapshot", "mariadb/serializable");
    is_mirrored(
        &url,
        "mariadb",
        &[
            "read-uncommitted",
            "read-committed",
            "repeatable-read",
            "repeatable-read-snapshot",
            "serializable",
        ],
        &[
            weakness("read-committed", weaker, &["UncommittedVersionRead", "ConcurrentWrites"]),
            // Updates that get lost.
            weakness("repeatable-read", weaker, &["ConcurrentWrites"]),
            weakness("repeatable-read", stronger, &["BrokenLock", "StaleRead", "LostUpdate"]),
            weakness("repeatable-read-snapshot", stronger, &["BrokenLock", "StaleRead"]),
        ],
    );
}

#[test]
fn myrocks_does_what_its_profiles_say_and_no_more() {
    if !has_mariadb() {
        return;
    }
    let (_server, url) = started("mariadb-rocksdb");
    let stronger = "mariadb-myrocks/repeatable-read";
    let found = &["UncommittedVersionRead", "ConcurrentWrites"];
    is_mirrored(
        &url,
        "myrocks",
        &["read-committed", "repeatable-read"],
        &[weakness("read-committed", stronger, found)],
    );
}

/// There is nothing weaker than what it does; readers of the one overlap, those of the other do not.
#[test]
fn sqlite_does_what_its_profiles_say_and_no_more() {
    let found = &["BrokenLock"];
    is_mirrored(
        "sqlite",
        "sqlite",
        &["deferred", "immediate"],
        &[weakness("deferred", "sqlite/immediate", found)],
    );
}

/// The same in one command, which tells the answer and how much it rests on.
#[test]
fn a_run_is_held_to_the_profile_of_its_level() {
    let folder = Folder::new("mirrored-run");
    let args = ["test", "sqlite", "--isolation", "immediate", "--evidence", "intervals"];
    let more = ["--commits", "500", "--seed", "3"];
    let ran = folder.isolde(&[&args[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("no violation among"), "{ran:#?}");
    assert!(ran.out.contains("profile SQLite immediate"), "{ran:#?}");
    // It does more than another profile knows of, and what that one forbids is found.
    let args = ["test", "sqlite", "--isolation", "deferred", "--evidence", "intervals"];
    let more = ["--profile", "sqlite/immediate", "--commits", "500", "--seed", "3"];
    let ran = folder.isolde(&[&args[..], &more].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("BrokenLock"), "{ran:#?}");
}
