//! Servers that show more than their answers: runs with blind writes are decided, snapshots that lie are found, and
//! so are commits that were lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_target::{OpenOptions, Show, open};
use serde_json::{Value, json};

use crate::common::{Folder, Ran, has_etcd, has_mariadb, has_postgres};

/// The answers of a report: `level by evidence` and the answer.
fn answers(ran: &Ran) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    let verdicts = report["verdicts"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let named = |v: &Value| format!("{} by {}", text(&v["level"]), text(&v["by"]));
    verdicts.iter().map(|v| (named(v), text(&v["answer"]))).collect()
}

/// What was counted, under its name, over all verdicts by one kind of evidence.
fn counted(ran: &Ran, by: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let verdicts = report["verdicts"].as_array().unwrap().clone();
    let of = verdicts.iter().filter(|verdict| verdict["by"] == by);
    let counts = of.flat_map(|verdict| verdict["counts"].as_array().unwrap().clone());
    counts.map(|count| count["anomaly"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn all_hold(ran: &Ran, expected: &[&str]) {
    let answers = answers(ran);
    let names: Vec<&str> = answers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected, "{ran:#?}");
    assert!(answers.iter().all(|(_, answer)| answer == "holds"), "{answers:?}");
    assert_eq!(ran.code, Some(0));
}

/// Blind writes: without the evidence these are unknown.
#[test]
fn postgres_is_decided_by_its_snapshots() {
    if !has_postgres() {
        return;
    }
    let show = Some(Show::Snapshots);
    let server = open("postgres", &OpenOptions { show, ..OpenOptions::default() }).unwrap();
    let url = server.throwaway().unwrap().url;
    let folder = Folder::new("shown-postgres");
    for (isolation, expected) in [
        ("read-committed", ["read-committed by snapshots", "read-committed by values"]),
        ("repeatable-read", ["snapshot-isolation by snapshots", "snapshot-isolation by values"]),
        ("serializable", ["snapshot-isolation by snapshots", "serializable by values"]),
    ] {
        for workload in ["register", "general", "append", "mini"] {
            let args = ["test", &url, "--isolation", isolation, "--workload", workload, "--json"];
            let more = ["--evidence", "snapshots", "--txns", "800", "--keys", "30", "--seed", "3"];
            all_hold(&folder.isolde(&[args.as_slice(), &more].concat()), &expected);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn mariadb_is_decided_by_its_versions() {
    if !has_mariadb() {
        return;
    }
    let show = Some(Show::Versions);
    let server = open("mariadb", &OpenOptions { show, ..OpenOptions::default() }).unwrap();
    let url = server.throwaway().unwrap().url;
    let folder = Folder::new("shown-mariadb");
    for (isolation, level) in [
        ("read-uncommitted", "read-uncommitted by values"),
        ("repeatable-read", "pl-2 by values"),
        ("read-committed", "read-committed by values"),
        ("repeatable-read-snapshot", "snapshot-isolation by values"),
        ("serializable", "serializable by values"),
    ] {
        for workload in ["register", "append"] {
            let args = ["test", &url, "--isolation", isolation, "--workload", workload, "--json"];
            let more = ["--evidence", "versions", "--txns", "600", "--keys", "30", "--seed", "3"];
            all_hold(&folder.isolde(&[args.as_slice(), &more].concat()), &[level]);
        }
    }
}

#[test]
fn etcd_is_decided_by_its_versions() {
    if !has_etcd() {
        return;
    }
    let folder = Folder::new("shown-etcd");
    let args = ["test", "etcd:1", "--evidence", "versions", "--workload", "register", "--json"];
    let ran =
        folder.isolde(&[&args[..], &["--txns", "600", "--keys", "30", "--seed", "3"]].concat());
    all_hold(&ran, &["serializable by timestamps", "strict-serializable by values"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(report["run"]["versions"]["ordered_keys"].as_u64().unwrap() > 20, "{report}");
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_reason() {
    let folder = Folder::new("shown-refused");
    for (target, evidence, why) in [
        ("fjall", "snapshots", "does not show snapshots"),
        ("sqlite", "versions", "does not show versions"),
        ("faulty", "versions", "keeps no versions"),
    ] {
        let ran = folder.isolde(&["test", target, "--evidence", evidence]);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        assert!(ran.err.contains(why), "{ran:#?}");
    }
    let check = folder.file("plain.txt");
    std::fs::write(&check, "a: w(x,1)\n").unwrap();
    let ran = folder.isolde(&["check", "--evidence", "snapshots", "--level", "si", &check]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("no transaction of the history has a snapshot"), "{ran:#?}");
}

/// The lines of a record, as JSON.
fn lines(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Puts the snapshots of two transactions, or of two statements, in each other's place.
fn swap(lines: &mut [Value], a: (usize, &str), b: (usize, &str)) {
    let at = |lines: &[Value], (line, pointer): (usize, &str)| {
        lines[line]
            .pointer(pointer)
            .cloned()
            .unwrap_or_else(|| panic!("{pointer}: {}", lines[line]))
    };
    let (first, second) = (at(lines, a), at(lines, b));
    *lines[a.0].pointer_mut(a.1).unwrap() = second;
    *lines[b.0].pointer_mut(b.1).unwrap() = first;
}

/// Two snapshots of a tape are swapped: by snapshots that is wrong, by values nothing has changed.
#[test]
fn a_tape_in_which_two_snapshots_are_swapped() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("shown-swapped");
    let file = folder.file("tape.jsonl");
    let args =
        ["record", "postgres", &file, "--isolation", "serializable", "--workload", "register"];
    let ran = folder.isolde(&[&args[..], &["--evidence", "snapshots", "--txns", "500"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let asked = ["check", "--level", "ser", "--json"];
    let expected = ["snapshot-isolation by snapshots", "serializable by values"];
    all_hold(&folder.isolde(&[&asked[..], &[&file]].concat()), &expected);
    let mut tape = lines(&file);
    let shown = |line: &Value| line.get("snapshot").is_some() && line.get("outcome").is_none();
    let those: Vec<usize> = (0..tape.len()).filter(|at| shown(&tape[*at])).collect();
    let (a, b) = (those[20], those[those.len() - 20]);
    swap(&mut tape, (a, "/snapshot"), (b, "/snapshot"));
    let text: Vec<String> = tape.iter().map(Value::to_string).collect();
    let swapped = folder.file("swapped.jsonl");
    std::fs::write(&swapped, text.join("\n") + "\n").unwrap();
    let ran = folder.isolde(&[&asked[..], &[&swapped]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let answers = answers(&ran);
    assert_eq!(answers[0], (expected[0].to_owned(), "violated".to_owned()));
    assert_eq!(answers[1], (expected[1].to_owned(), "holds".to_owned()));
    // The one that is said to be old misses commits that had been confirmed, and both are said to show other
    // versions than they read.
    let found = counted(&ran, "snapshots");
    assert!(found.contains(&"StaleSnapshot".to_owned()), "{found:?}");
}

/// The faulty engine tells an old snapshot now and then: nothing else is wrong.
#[test]
fn a_snapshot_that_lies_is_found_by_snapshots_alone() {
    let folder = Folder::new("shown-lies");
    let args =
        ["test", "faulty", "--evidence", "snapshots", "--txns", "4k", "--seed", "7", "--json"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(answers(&ran).iter().any(|(name, _)| name == "snapshot-isolation by snapshots"));
    let ran = folder.isolde(&[&args[..], &["--fault", "StaleSnapshot"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    for (name, answer) in answers(&ran) {
        let lied = name.ends_with("by snapshots");
        assert_eq!(answer, if lied { "violated" } else { "holds" }, "{name}");
    }
    let found = counted(&ran, "snapshots");
    assert!(found.contains(&"StaleSnapshot".to_owned()), "{found:?}");
    // A snapshot that does not lie is no help against what snapshot isolation allows.
    let ran = folder.isolde(&[&args[..], &["--fault", "WriteSkew", "--level", "ser"]].concat());
    let answer = |wanted: &str| {
        let all = answers(&ran);
        all.into_iter().find(|(name, _)| name == wanted).map(|(_, answer)| answer)
    };
    assert_eq!(answer("snapshot-isolation by snapshots").as_deref(), Some("holds"), "{ran:#?}");
    assert_eq!(answer("serializable by values").as_deref(), Some("violated"));
    let ran = folder.isolde(&["test", "faulty", "--fault", "StaleSnapshot"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
}

/// Commits that are not flushed are gone after a kill: every level is violated.
#[test]
fn lost_commits_violate_every_level() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("shown-lost");
    let args = ["test", "postgres", "--evidence", "snapshots", "--isolation", "read-committed"];
    let harm = ["--fault", "kill:at=1s", "--setting", "synchronous_commit=off", "--duration", "3s"];
    let more = ["--setting", "wal_writer_delay=10s", "--level", "ru,rc", "--json", "--seed", "5"];
    let ran = folder.isolde(&[&args[..], &harm, &more].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    for verdict in report["verdicts"].as_array().unwrap() {
        assert_eq!(verdict["answer"], "violated", "{verdict}");
        assert_eq!(verdict["witnesses"][0]["anomaly"], json!("LostCommit"));
        assert_eq!(verdict["counts"][0]["anomaly"], json!("LostCommit"));
    }
    // A piece of it shows the same.
    let runs = folder.path().join("isolde-runs");
    let kept = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let mut excerpts: Vec<_> =
        std::fs::read_dir(kept.join("excerpts")).unwrap().map(|e| e.unwrap().path()).collect();
    excerpts.sort();
    let lost = excerpts.iter().find(|path| path.to_str().unwrap().contains("LostCommit"));
    let lost = lost.unwrap_or_else(|| panic!("{excerpts:?}"));
    let again = folder.isolde(&["check", "--level", "ru", lost.to_str().unwrap()]);
    assert_eq!(again.code, Some(1), "{again:#?}");
    assert!(again.out.contains("LostCommit"), "{again:#?}");
}
