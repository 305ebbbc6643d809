//! Snapshot isolation and serializability by the server's timestamps, as a user meets them: what is planted is
//! found, under the names that the rules give it, and nothing else is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use isolde_spec::{Anomaly, Level};
use isolde_workload::simulate::{TimestampFault, plantable};
use isolde_workload::{Kind, favoured};
use serde_json::Value;

use crate::common::{Folder, Ran};

const SI: &str = "snapshot-isolation";
const SER: &str = "serializable";

/// Generates a history of 2,000 transactions with timestamps.
#[track_caller]
fn generate(folder: &Folder, file: &str, args: &[&str]) {
    let common =
        ["generate", file, "--force", "--txns", "2000", "--sessions", "10", "--timestamps"];
    let ran = folder.isolde(&[&common[..], args].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:#?}");
}

/// One answer of a report.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    by: String,
    level: String,
    answer: String,
    counts: BTreeMap<String, u64>,
}

/// Which evidence an answer is about. In reports without that field, the answer by timestamps comes first.
fn by(verdict: &Value, position: usize) -> String {
    let usual = if position == 0 { "timestamps" } else { "values" };
    verdict["by"].as_str().unwrap_or(usual).to_owned()
}

fn told(ran: &Ran) -> Vec<Told> {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:#?}"));
    let verdicts = report["verdicts"].as_array().unwrap().iter().enumerate();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let counts = |verdict: &Value| {
        let counts = verdict["counts"].as_array().unwrap().iter();
        counts.map(|c| (text(&c["anomaly"]), c["count"].as_u64().unwrap())).collect()
    };
    let one = |(at, verdict): (usize, &Value)| Told {
        by: by(verdict, at),
        level: text(&verdict["level"]),
        answer: text(&verdict["answer"]),
        counts: counts(verdict),
    };
    verdicts.map(one).collect()
}

/// The answer by timestamps about one level, which the exit code has to agree with.
#[track_caller]
fn by_timestamps(folder: &Folder, file: &str, level: &str) -> Told {
    let ran =
        folder.isolde(&["check", "--evidence", "timestamps", "--level", level, "--json", file]);
    let mut all = told(&ran);
    assert_eq!(all.len(), 1, "{all:?}");
    let told = all.remove(0);
    assert_eq!((told.by.as_str(), told.level.as_str()), ("timestamps", level));
    let code = match told.answer.as_str() {
        "holds" => 0,
        "violated" => 1,
        _ => 3,
    };
    assert_eq!(ran.code, Some(code), "{ran:#?}");
    told
}

/// What the rules of snapshot isolation say of a fault. Each name is found once for each fault that was planted.
fn at_si(fault: TimestampFault) -> &'static [Anomaly] {
    use Anomaly::{
        BadTimestamps, ConcurrentWrites, SessionGuaranteeViolation, StaleRead, TimestampTie,
        UncommittedVersionRead,
    };
    match fault {
        // The version that was read is not yet committed when its reader starts.
        TimestampFault::StartEarly | TimestampFault::EarlyRead => &[UncommittedVersionRead],
        // There is a newer version at the start of the reader.
        TimestampFault::StartLate | TimestampFault::CommitEarly | TimestampFault::StaleRead => {
            &[StaleRead]
        }
        // Two updates in a row. The second one read what the first commits only after it, so they overlap; no
        // update is lost, since the second one knew of the first.
        TimestampFault::CommitLate => &[UncommittedVersionRead, ConcurrentWrites],
        // A writer that commits before its start overlaps nothing. But its version is there when another
        // transaction starts, which did not see it. Its own read is right: nobody sees an own version before.
        TimestampFault::Swapped => &[BadTimestamps, StaleRead],
        // As commit-late, with both commits at one time.
        TimestampFault::Duplicated => &[UncommittedVersionRead, ConcurrentWrites, TimestampTie],
        // Both wrote blindly: nothing that was read is wrong.
        TimestampFault::OverlappingWriters => &[ConcurrentWrites],
        TimestampFault::SessionOverlap => &[SessionGuaranteeViolation],
    }
}

/// What commit order says of a fault; `None` if it cannot say.
fn at_ser(fault: TimestampFault) -> Option<&'static [Anomaly]> {
    match fault {
        // The second update commits first, and has read what came later; the first one, now at the end, has
        // read what the second one had replaced.
        TimestampFault::CommitLate => Some(&[Anomaly::UncommittedVersionRead, Anomaly::StaleRead]),
        // Starts of writers do not matter: one reader comes after a commit that it did not see.
        TimestampFault::Swapped => Some(&[Anomaly::StaleRead]),
        // Of two updates with one timestamp either may come first, and one of the two orders is right.
        TimestampFault::Duplicated => None,
        // Writers have one place each. Which of them comes first is all the same to them.
        TimestampFault::OverlappingWriters => Some(&[]),
        _ => Some(at_si(fault)),
    }
}

const PLANTED: u64 = 5;

fn expected(level: &str, names: Option<&[Anomaly]>) -> Told {
    let counts = names.unwrap_or_default().iter().map(|a| (a.name().to_owned(), PLANTED));
    let answer = match names {
        None => "unknown",
        Some([]) => "holds",
        Some(_) => "violated",
    };
    let (by, answer) = ("timestamps".to_owned(), answer.to_owned());
    Told { by, level: level.to_owned(), answer, counts: counts.collect() }
}

/// Every fault in a workload, as plain and as hybrid timestamps: as many as were planted, and nothing else.
fn faults_are_found(kind: Kind) {
    let folder = Folder::new(&format!("faults-of-timestamps-{}", kind.name()));
    let workload = ["--workload", kind.name()];
    for style in ["plain", "hybrid"] {
        for level in [SI, SER] {
            let args = [&[style, "--level", level], &workload[..]].concat();
            generate(&folder, "h.isolde", &args);
            let clean = by_timestamps(&folder, "h.isolde", level);
            assert_eq!(clean, expected(level, Some(&[])), "{style} {level} {}", kind.name());
            for fault in TimestampFault::ALL {
                let plant = format!("{}:{PLANTED}", fault.name());
                generate(
                    &folder,
                    "h.isolde",
                    &[&args[..], &["--plant-timestamps", &plant]].concat(),
                );
                let names = if level == SI { Some(at_si(fault)) } else { at_ser(fault) };
                let found = by_timestamps(&folder, "h.isolde", level);
                let what = format!("{} {style} {level} {}", kind.name(), fault.name());
                assert_eq!(found, expected(level, names), "{what}");
                let broken = names.is_none_or(|names| !names.is_empty());
                assert_eq!(level == SI || fault.breaks_serial_order(), broken, "{what}");
            }
        }
    }
}

#[test]
fn faults_are_found_in_mini_transactions() {
    faults_are_found(Kind::Mini);
}

#[test]
fn faults_are_found_in_lists() {
    faults_are_found(Kind::Append);
}

#[test]
fn faults_are_found_in_registers() {
    faults_are_found(Kind::Register);
}

#[test]
fn faults_are_found_in_a_mix() {
    faults_are_found(Kind::Mix);
}

/// What values show, timestamps show too, though under another name where they know more: whoever misses a
/// commit reads something stale, and whoever sees two states at once reads what was not there yet.
#[test]
fn what_values_show_timestamps_show_too() {
    let folder = Folder::new("planted-values");
    for kind in [Kind::Mini, Kind::Append, Kind::Register] {
        for anomaly in plantable(kind) {
            let plant = format!("{anomaly}:{PLANTED}");
            let read_out: &[&str] = if kind == Kind::Append { &["--read-out"] } else { &[] };
            for level in [Level::SnapshotIsolation, Level::Serializable] {
                let args = ["--workload", kind.name(), "--level", level.name(), "--plant", &plant];
                generate(&folder, "h.isolde", &[&args[..], read_out].concat());
                let found = by_timestamps(&folder, "h.isolde", level.name());
                let forbidden = level.implies(anomaly.entry().forbidden_from);
                let answer = if forbidden { "violated" } else { "holds" };
                let what = format!("{} {anomaly} {level}: {found:?}", kind.name());
                assert_eq!(found.answer, answer, "{what}");
                let most = found.counts.values().copied().max().unwrap_or(PLANTED);
                assert!(most >= PLANTED, "{what}");
            }
        }
    }
}

/// TimeKiller's format has both timestamps of every transaction, and loses nothing that is judged.
#[test]
fn timekillers_format_gets_the_same_answers() {
    let folder = Folder::new("timekiller-answers");
    let faults: [&[&str]; 4] = [
        &[],
        &["--plant-timestamps", "swapped:5"],
        &["--plant-timestamps", "stale-read:5,session-overlap:3"],
        &["--plant-timestamps", "20"],
    ];
    for workload in ["mini", "append", "mix", "twitter"] {
        for fault in faults {
            for style in ["plain", "hybrid"] {
                let args =
                    [&[style, "--level", "si", "-w", workload, "--seed", "3"], fault].concat();
                generate(&folder, "h.isolde", &args);
                generate(&folder, "h.json", &[&args[..], &["--to", "timekiller"]].concat());
                let [own, other] = ["h.isolde", "h.json"].map(|f| by_timestamps(&folder, f, SI));
                assert_eq!(own, other, "{workload} {style} {fault:?}");
                assert_eq!(own.answer == "holds", fault.is_empty(), "{workload} {fault:?}");
            }
        }
    }
}

/// Writes a history of a few lines.
fn lines(folder: &Folder, file: &str, header: &str, txns: &[&str]) {
    let text = format!("{{\"isolde\":1{header}}}\n{}\n", txns.join("\n"));
    std::fs::write(folder.path().join(file), text).unwrap();
}

const FIRST: &str = r#"{"session":"a","ts":[1,2],"ops":[["w","x",1]]}"#;
const SECOND: &str = r#"{"session":"b","ts":[3,4],"ops":[["w","x",2]]}"#;
const BARE: &str = r#"{"session":"b","ops":[["w","x",2]]}"#;
const STALE: &str = r#"{"session":"c","ts":[5,6],"ops":[["r","x",1]]}"#;

#[test]
fn evidence_that_is_missing_is_refused_with_a_sentence() {
    let folder = Folder::new("evidence-refused");
    lines(&folder, "none.jsonl", "", &[BARE]);
    lines(&folder, "partial.jsonl", "", &[FIRST, BARE, STALE]);
    lines(&folder, "whole.jsonl", "", &[FIRST, SECOND]);
    for (file, level, words) in [
        ("none.jsonl", SI, "no transaction of the history has timestamps"),
        ("partial.jsonl", SI, "1 of 3 committed transactions lack"),
        ("whole.jsonl", SER, "nothing says that commit order is the serial order"),
        ("whole.jsonl", "causal", "has no rules by timestamps"),
    ] {
        for evidence in ["timestamps", "values,timestamps"] {
            let ran = folder.isolde(&["check", "--evidence", evidence, "--level", level, file]);
            assert_eq!(ran.code, Some(2), "{file} {level}: {ran:#?}");
            assert!(ran.err.contains(words), "{file} {level}: {ran:#?}");
        }
    }
}

/// Nothing is asked for: timestamps are used where they are whole, and else it is said that they are not.
#[test]
fn without_a_wish_what_is_there_is_used() {
    let folder = Folder::new("evidence-chosen");
    lines(&folder, "none.jsonl", "", &[BARE]);
    lines(&folder, "partial.jsonl", "", &[FIRST, BARE]);
    lines(&folder, "whole.jsonl", "", &[FIRST, SECOND]);
    lines(&folder, "serial.jsonl", r#","commit-order":"serial""#, &[FIRST, SECOND]);
    for (file, level, answers) in [
        ("none.jsonl", SI, 1),
        ("partial.jsonl", SI, 1),
        ("whole.jsonl", SI, 2),
        ("whole.jsonl", SER, 1),
        ("serial.jsonl", SER, 2),
    ] {
        let ran = folder.isolde(&["check", "--level", level, "--json", file]);
        assert_eq!(ran.code, Some(0), "{file}: {ran:#?}");
        assert_eq!(told(&ran).len(), answers, "{file} {level}: {ran:#?}");
        let not_used = ran.out.contains("timestamps are not used");
        // They are there, and cannot be used.
        let expected = answers == 1 && file != "none.jsonl";
        assert_eq!(not_used, expected, "{file} {level}: {ran:#?}");
    }
}

/// Figure 11 of the paper: values can be explained by an order that timestamps forbid.
#[test]
fn figure_11_has_two_answers() {
    let folder = Folder::new("figure-11");
    lines(&folder, "h.jsonl", r#","initial":{"default":0}"#, &[FIRST, SECOND, STALE]);
    for evidence in [&[][..], &["--evidence", "values,timestamps"]] {
        let args = [&["check", "--level", SI, "--json", "h.jsonl"][..], evidence].concat();
        let ran = folder.isolde(&args);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        let mut answers: Vec<(String, String)> =
            told(&ran).into_iter().map(|t| (t.by, t.answer)).collect();
        answers.sort();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(answers, [pair("timestamps", "violated"), pair("values", "holds")]);
    }
    let by_values = folder.isolde(&["check", "--level", SI, "--evidence", "values", "h.jsonl"]);
    assert_eq!(by_values.code, Some(0), "{by_values:#?}");
}

/// What the timestamps of the faulty engine, which are true, say of an anomaly that it has on purpose: at
/// snapshot isolation, and in commit order.
fn of_the_engine(anomaly: Anomaly) -> [&'static [Anomaly]; 2] {
    use Anomaly::{LostUpdate, NonRepeatableReads, StaleRead};
    match anomaly {
        // Two snapshots, of which one at least is older than the start says.
        Anomaly::NonMonotonicRead
        | Anomaly::FracturedRead
        | Anomaly::CausalityViolation
        | Anomaly::LongFork => [&[StaleRead]; 2],
        // In commit order the later of two updates has read what the earlier one had replaced.
        LostUpdate => [&[LostUpdate], &[StaleRead]],
        // Each read its snapshot, and wrote another key.
        Anomaly::WriteSkew => [&[], &[StaleRead]],
        // The first of two reads that differ is the old one.
        NonRepeatableReads => [&[NonRepeatableReads, StaleRead]; 2],
        // Who reads what it is going to write reads something else, too.
        Anomaly::FutureRead => [&[Anomaly::FutureRead, NonRepeatableReads]; 2],
        // These are wrong whatever the time is, and keep their names. An old snapshot that a session was given has
        // an old start.
        Anomaly::ThinAirRead => [&[Anomaly::ThinAirRead]; 2],
        Anomaly::AbortedRead => [&[Anomaly::AbortedRead]; 2],
        Anomaly::NotMyLastWrite => [&[Anomaly::NotMyLastWrite]; 2],
        Anomaly::NotMyOwnWrite => [&[Anomaly::NotMyOwnWrite]; 2],
        Anomaly::IntermediateRead => [&[Anomaly::IntermediateRead]; 2],
        Anomaly::SessionGuaranteeViolation => [&[Anomaly::SessionGuaranteeViolation]; 2],
        other => panic!("the faulty engine has no {other}"),
    }
}

#[test]
fn each_of_the_fourteen_is_found_by_timestamps() {
    let all: Vec<Anomaly> = favoured().collect();
    // Two at a time: each has eight sessions of its own.
    for pair in all.chunks(2) {
        std::thread::scope(|scope| {
            pair.iter().for_each(|anomaly| {
                scope.spawn(move || the_engine_is_caught(*anomaly));
            });
        });
    }
}

fn the_engine_is_caught(anomaly: Anomaly) {
    let folder = Folder::new(&format!("engine-{anomaly}"));
    let args = ["test", "faulty", "--fault", anomaly.name(), "--txns", "10k", "--seed", "1"];
    let ran = folder.isolde(&[&args[..], &["--out", "runs", "--keep-history"]].concat());
    assert_eq!(ran.code, Some(1), "{anomaly}: {ran:#?}");
    let run = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap();
    let history = run.path().join("history.isolde").display().to_string();
    for (level, names) in [SI, SER].into_iter().zip(of_the_engine(anomaly)) {
        let found = by_timestamps(&folder, &history, level);
        let expected: BTreeSet<&str> = names.iter().map(|name| name.name()).collect();
        let names: BTreeSet<&str> = found.counts.keys().map(String::as_str).collect();
        // What a fault entails depends on what else runs just then; where nothing is expected, nothing is.
        assert_eq!(names.is_empty(), expected.is_empty(), "{anomaly} {level}: {found:?}");
        assert!(expected.is_subset(&names), "{anomaly} {level}: {found:?}");
    }
}

#[test]
fn a_fact_with_a_wrong_word_is_refused() {
    let folder = Folder::new("facts-with-wrong-words");
    generate(&folder, "h.isolde", &["plain", "--level", SER]);
    for fact in ["commit-order=weird", "Commit-Order=serial", "reads-at=never"] {
        let ran = folder.isolde(&["check", "--fact", fact, "h.isolde"]);
        assert_eq!(ran.code, Some(2), "{fact}: {ran:#?}");
        assert!(ran.err.contains("commit-order=serial") || ran.err.contains("reads-at=commit"));
    }
}
