//! `isolde generate` as a user meets it: what it makes is what was asked for, as `isolde check` sees it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

use isolde_spec::{Anomaly, Level};
use isolde_workload::Kind;
use isolde_workload::simulate::plantable;

use crate::common::Folder;

fn isolde(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// Generates, and returns what it says.
#[track_caller]
fn generate(to: &str, args: &[&str]) -> String {
    let output = isolde(&[&["generate", to, "--force"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// What `isolde check` says: 0 holds, 1 violated, 3 unknown.
fn check(file: &str, level: Level) -> i32 {
    isolde(&["check", "--level", level.name(), file]).status.code().unwrap()
}

#[test]
fn what_is_generated_holds_its_level() {
    let folder = Folder::new("holds");
    let file = folder.file("h.isolde");
    for workload in ["mini", "append", "cas"] {
        for level in [Level::StrictSerializable, Level::StrongSnapshotIsolation] {
            let read_out: &[&str] = if workload == "append" { &["--read-out"] } else { &[] };
            let args = ["--workload", workload, "--level", level.name(), "--txns", "3k"];
            generate(&file, &[&args, read_out].concat());
            assert_eq!(check(&file, level), 0, "{workload} {level}");
        }
    }
    for workload in ["general", "register", "mix", "twitter", "rubis", "tpcc"] {
        generate(&file, &["--workload", workload, "--txns", "200"]);
        assert_ne!(check(&file, Level::StrictSerializable), 1, "{workload}");
    }
}

#[test]
fn a_weaker_level_breaks_stronger_ones() {
    let folder = Folder::new("weak");
    let file = folder.file("h.isolde");
    for (level, broken) in [
        ("si", Level::Serializable),
        ("prefix", Level::SnapshotIsolation),
        ("rc", Level::SnapshotIsolation),
    ] {
        generate(&file, &["--level", level, "--txns", "3k", "--keys", "20"]);
        assert_eq!(check(&file, broken), 1, "{level}");
        assert_ne!(check(&file, Level::named(level).unwrap()), 1, "{level}");
    }
}

/// Everything that can be planted, found where the catalogue forbids it and nowhere else.
#[test]
fn what_is_planted_is_found_where_it_is_forbidden() {
    let folder = Folder::new("planted");
    let file = folder.file("h.isolde");
    for kind in [Kind::Mini, Kind::Append, Kind::Cas] {
        for anomaly in plantable(kind) {
            let plant = format!("{anomaly}:2");
            let args = ["--workload", kind.name(), "--txns", "300", "--plant", &plant];
            let read_out: &[&str] = if kind == Kind::Append { &["--read-out"] } else { &[] };
            let said = generate(&file, &[&args, read_out].concat());
            assert!(said.contains("2 planted"), "{said}");
            for level in Level::ALL.into_iter().filter(|l| !l.of_operations() && !l.is_adya()) {
                let code = check(&file, level);
                // The cycle of three that is planted under this name is a long fork with one more
                // transaction, which prefixes forbid already.
                let fork = anomaly == Anomaly::GNonadjacent && level == Level::Prefix;
                let forbidden = level.implies(anomaly.entry().forbidden_from) || fork;
                let right = code == i32::from(forbidden);
                assert!(right, "{} {anomaly} {level}: exit code {code}", kind.name());
            }
            let text = isolde(&["check", "--level", "sser", &file]).stdout;
            assert!(String::from_utf8(text).unwrap().contains(anomaly.name()), "{anomaly}");
        }
    }
    assert_eq!(plantable(Kind::Mini).take(14).count(), 14);
    assert!(plantable(Kind::Mini).any(|anomaly| anomaly == Anomaly::WriteSkew));
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let folder = Folder::new("seed");
    let [a, b, c] = ["a.isolde", "b.isolde", "c.isolde"].map(|name| folder.file(name));
    let bytes = |file: &str| std::fs::read(file).unwrap();
    for workload in Kind::ALL.map(Kind::name) {
        let args = ["--workload", workload, "--txns", "1k", "--plant", "10", "--aborted", "0.5"];
        let stamps = ["--timestamps", "--plant-timestamps", "5", "--clock-drift", "2"];
        let args = |seed| [&args[..], &stamps, &["--rollbacks", "0.1", "--seed", seed]].concat();
        generate(&a, &args("7"));
        generate(&b, &args("7"));
        generate(&c, &args("8"));
        assert!(bytes(&a) == bytes(&b), "{workload}");
        assert!(bytes(&a) != bytes(&c), "{workload}");
    }
}

#[test]
fn the_ending_says_the_format_and_the_history_says_how_it_was_made() {
    let folder = Folder::new("formats");
    for name in ["h.isolde", "h.jsonl", "h.edn", "h.bincode"] {
        let file = folder.file(name);
        // Not every format has intervals, or values before the first write.
        let what = if name == "h.edn" { "--workload=append" } else { "--no-intervals" };
        let said = generate(&file, &["--txns", "200", what]);
        assert!(said.contains("200 transactions (0 rolled back)"), "{said}");
        assert_eq!(check(&file, Level::Serializable), 0, "{name}");
    }
    let by_session = folder.file("s.jsonl");
    generate(&by_session, &["--txns", "200", "--order", "session", "--seed", "9"]);
    assert_eq!(check(&by_session, Level::StrictSerializable), 0);
    let text = std::fs::read_to_string(&by_session).unwrap();
    for fact in ["\"seed\"", "\"mini\"", "\"uniform\"", "\"strict-serializable\""] {
        assert!(text.contains(fact), "{fact}: {}", text.lines().next().unwrap());
    }
    let output = isolde(&["generate", "-", "--to", "jsonl", "--txns", "20"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().lines().count() > 20);
}

#[test]
fn nonsense_is_refused_and_leaves_no_file() {
    let folder = Folder::new("refused");
    let file = folder.file("h.isolde");
    for (args, words) in [
        (&["--keys", "1"][..], "keys"),
        (&["--sessions", "0"], "sessions"),
        (&["--txns", "many"], "expected a number"),
        (&["--workload", "tpch"], "workloads are mini"),
        (&["--level", "acid"], "levels are"),
        (&["--level", "lin"], "single operations"),
        (&["--distribution", "hotspot:0/80"], "hotspot:0/80"),
        (&["--concurrency", "0"], "percentage"),
        (&["--favour", "G0"], "G0 is none that mini-transactions can favour"),
        (&["--favour", "LostUpdate", "--workload", "append"], "not the workload append"),
        (&["--plant", "DirtyUpdate"], "DirtyUpdate cannot be planted into the workload mini"),
        (&["--plant", "LongFork", "--sessions", "3"], "4 sessions at a time"),
        (&["--plant", "LostUpdate:5000"], "one in eight"),
        (&["--max-txn-len", "9"], "their own length"),
        (&["--max-txn-len", "9", "--workload", "tpcc"], "their own length"),
        (&["--distribution", "zipf", "--workload", "tpcc"], "as its standard says"),
        (&["--reads", "0.9"], "its own share of reads"),
        (&["--reads", "9", "--workload", "mix"], "between 0 and 1"),
        (&["--timestamps", "wall"], "timestamps are plain or hybrid"),
        (&["--clock-drift", "5"], "--timestamps"),
        (&["--plant-timestamps", "swapped"], "--timestamps"),
        (&["--timestamps", "--plant-timestamps", "late"], "start-early, start-late"),
        (&["--timestamps", "--plant-timestamps", "stale-read", "-s", "2"], "several sessions"),
        (&["--to", "timekiller"], "timekiller is about timestamps"),
        (&["--to", "timekiller", "--timestamps", "--workload", "cas"], "timekiller cannot hold"),
        (&["--read-out"], "--workload append"),
        (&["--to", "cobra"], "is read but not written"),
    ] {
        let output = isolde(&[&["generate", &file], args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "{args:?}");
    }
    generate(&file, &["--txns", "20"]);
    let output = isolde(&["generate", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--force overwrites it"));
}

/// What `isolde stat` says.
#[track_caller]
fn stat(file: &str) -> String {
    let output = isolde(&["stat", file]);
    assert_eq!(output.status.code(), Some(0), "{file}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn timestamps_are_in_every_format_that_has_a_place_for_them() {
    let folder = Folder::new("stamps");
    for name in ["h.isolde", "h.jsonl"] {
        let file = folder.file(name);
        generate(&file, &["--txns", "300", "--level", "si", "--timestamps"]);
        assert!(stat(&file).contains("64-bit start and commit timestamps of"), "{name}");
        generate(&file, &["--txns", "300", "--level", "ser", "--timestamps", "hybrid"]);
        let said = stat(&file);
        assert!(said.contains("hybrid start and commit timestamps of"), "{said}");
        assert!(said.contains("timestamps:hybrid"), "{said}");
        generate(&file, &["--txns", "300"]);
        assert!(!stat(&file).contains("timestamp"), "{name}");
    }
    let file = folder.file("drift.isolde");
    let args = ["--txns", "300", "--timestamps", "--clock-drift", "9", "--plant-timestamps"];
    let said = generate(&file, &[&args[..], &["stale-read:2,3"]].concat());
    assert!(said.contains("5 planted"), "{said}");
    let said = stat(&file);
    assert!(said.contains("clock-drift:9") && said.contains("stale-read:2,various:3"), "{said}");
}

/// What TimeKiller cannot hold is left out, said, and not missed.
#[test]
fn histories_for_timekiller_come_back() {
    let folder = Folder::new("timekiller");
    let file = folder.file("h.json");
    let args = ["--to", "timekiller", "--level", "si", "--timestamps", "--txns", "300"];
    for workload in ["mini", "general", "append", "register", "mix", "twitter", "rubis", "tpcc"] {
        let said = generate(&file, &[&args[..], &["-w", workload, "--rollbacks", "0.1"]].concat());
        assert!(said.contains("intervals (of transactions); meta (server, seed"), "{said}");
        assert!(said.contains("rolled back transactions"), "{said}");
        let written = stat(&file);
        assert!(written.contains("timekiller"), "{written}");
        let absent = workload == "append";
        let initial = if absent { "every key: absent" } else { "every key: 0" };
        assert!(written.contains(initial), "{workload}: {written}");
        assert_ne!(check(&file, Level::SnapshotIsolation), 1, "{workload}");
    }
    // Nothing is read that was not written: every key might as well be absent at first.
    generate(&file, &[&args[..], &["-w", "mix", "--reads", "0"]].concat());
    assert!(stat(&file).contains("every key: absent"));
    let session = ["--order", "session", "--no-intervals"];
    let said = generate(&file, &[&args[..], &session].concat());
    assert!(!said.contains("intervals"), "{said}");
}
