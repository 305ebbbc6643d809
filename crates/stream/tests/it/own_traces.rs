//! The project's own traces, each with something wrong in it: what they show by which profile, as
//! `histories/traces/expected.tsv` and the guideline say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use isolde_check::{Options, check};
use isolde_history::{Format, History, Source};
use isolde_spec::{Anomaly, Answer, Level, Mechanism, Profile, Promise};

use crate::asked::asked_of;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories/traces")
}

fn load(name: &str) -> History {
    let source = Source::open(&folder().join(name)).unwrap_or_else(|e| panic!("{e}"));
    let format = Format::recognise(&source).unwrap_or_else(|e| panic!("{e}"));
    format.load(&source).unwrap_or_else(|e| panic!("{e}")).finish()
}

/// A profile that is built in, or one of a file beside the traces.
fn profile(name: &str) -> Profile {
    if !name.ends_with(".toml") {
        return Profile::named(name).unwrap_or_else(|e| panic!("{name}: {e:?}")).clone();
    }
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    Profile::parse(&text).unwrap_or_else(|e| panic!("{name}: {e:?}")).remove(0)
}

/// The rows of the table: the trace, the profile, and the violations.
fn rows() -> Vec<[String; 3]> {
    let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let row = |row: &str| row.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into();
    table.lines().skip(1).map(|line| row(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[test]
fn every_trace_shows_what_the_table_says() {
    let mut seen = BTreeSet::new();
    for [name, server, expected] in rows() {
        let asked = asked_of(&load(&name), &profile(&server));
        let found = if asked.lines.is_empty() { "-".to_owned() } else { asked.lines.join(" | ") };
        assert_eq!(found, expected, "{name} by {server}: {:?}", asked.verdict);
        let none = matches!(asked.verdict.answer, Answer::NoViolation { .. });
        assert_eq!(none, expected == "-", "{name} by {server}: {:?}", asked.verdict);
        seen.insert(name);
    }
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let is_trace = !name.ends_with(".tsv") && !name.ends_with(".toml");
        assert!(!is_trace || seen.contains(&name), "{name} is not in the table");
    }
}

#[test]
fn there_is_a_trace_for_each_mechanism_and_pattern() {
    let all: Vec<String> = rows().into_iter().map(|[.., expected]| expected).collect();
    let shown = |text: &str| all.iter().any(|expected| expected.contains(text));
    for mechanism in Mechanism::ALL {
        assert!(shown(mechanism.name()), "{mechanism:?}");
    }
    for anomaly in [
        Anomaly::StaleRead,
        Anomaly::UncommittedVersionRead,
        Anomaly::AbortedRead,
        Anomaly::NotMyOwnWrite,
        Anomaly::TornSnapshot,
        Anomaly::BrokenLock,
        Anomaly::ConcurrentWrites,
        Anomaly::WriteSkew,
        Anomaly::DangerousStructure,
        Anomaly::SkippedValidation,
    ] {
        assert!(shown(anomaly.name()), "{anomaly:?}");
    }
}

#[test]
fn the_guideline_lists_them_all() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let page = std::fs::read_to_string(page).unwrap();
    for [name, server, expected] in rows() {
        let is_row = |line: &&str| {
            line.starts_with(&format!("| `{name}`")) && line.contains(&format!("`{server}`"))
        };
        let row = page.lines().find(is_row);
        let row = row.unwrap_or_else(|| panic!("{name} by {server} is not in docs/traces.md"));
        for found in expected.split(" | ").filter(|found| *found != "-") {
            let anomaly = found.split_whitespace().nth(2 + usize::from(found.starts_with("first")));
            let anomaly = anomaly.unwrap();
            assert!(row.contains(anomaly), "{name} by {server}: {anomaly} is not in {row}");
        }
    }
}

/// The trace of the paper by values: no reader, and so no level by values, can tell that the snapshot was too old.
#[test]
fn the_snapshot_that_was_too_old_is_lawful_by_values() {
    let history = load("xdb.jsonl");
    for level in [Level::SnapshotIsolation, Level::Serializable] {
        let verdict = check(&history, Promise::of(level), &Options::default());
        assert_eq!(verdict.holds(), Some(true), "{verdict:?}");
    }
}
