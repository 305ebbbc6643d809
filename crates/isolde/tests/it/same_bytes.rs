//! The same history is told in the same words, byte for byte, by every run: witnesses and their order
//! come from the history, never from the order of a hash table or from who was faster.
//!
//! Two runs are two processes, since tables are seeded anew in each. What the JSON says of seconds is
//! left out; nothing else of it depends on the run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use isolde_history::Format;
use isolde_spec::Level;
use isolde_workload::strain::{Hot, Ring, Strain};

use crate::common::{Folder, Ran};

/// How often generated histories are checked: a coin that falls the same way once is no proof.
const RUNS: usize = 3;

/// Every level there is.
fn all_levels() -> String {
    let all: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
    all.join(",")
}

/// What is asked of every history: no level in words, these levels as data, no level as data.
fn questions(levels: &str) -> [Vec<String>; 3] {
    let question = |options: &[&str]| options.iter().map(|&option| option.to_owned()).collect();
    [question(&[]), question(&["--json", "--level", levels]), question(&["--json"])]
}

/// What a command says, without seconds. The JSON has one field on each line.
fn said(folder: &Folder, options: &[String], path: &str) -> String {
    let options = options.iter().map(String::as_str);
    let args: Vec<&str> = ["check"].into_iter().chain(options).chain([path]).collect();
    let Ran { code, out, err } = folder.isolde(&args);
    let lines = out.lines().filter(|line| !line.trim_start().starts_with("\"seconds\":"));
    let lines: Vec<&str> = lines.collect();
    format!("exit {code:?}\n{}\n{err}", lines.join("\n"))
}

/// Complains if one of several runs says something else.
fn differences(folder: &Folder, path: &str, asked: &[Vec<String>], runs: usize) -> Vec<String> {
    let mut complaints = Vec::new();
    for options in asked {
        let first = said(folder, options, path);
        let other = (1..runs).map(|_| said(folder, options, path)).find(|other| *other != first);
        if let Some(other) = other {
            let mut lines = first.lines().zip(other.lines());
            let differ = lines.find(|(a, b)| a != b);
            complaints.push(format!("{path} {}: {differ:?}", options.join(" ")));
        }
    }
    complaints
}

/// Does the same to every history, on all cores.
#[track_caller]
fn all_same(folder: &Folder, paths: &[String], asked: &[Vec<String>], runs: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let complaints: Vec<String> = std::thread::scope(|scope| {
        let part = |core: usize| {
            let mine = paths.iter().skip(core).step_by(cores);
            scope.spawn(move || {
                mine.flat_map(|p| differences(folder, p, asked, runs)).collect::<Vec<_>>()
            })
        };
        let parts: Vec<_> = (0..cores).map(part).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(complaints.is_empty(), "two runs say different things:\n{}", complaints.join("\n"));
}

#[test]
fn every_own_history_is_told_in_the_same_words() {
    let histories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories");
    let histories: PathBuf = histories.canonicalize().unwrap();
    let table = std::fs::read_to_string(histories.join("expected.tsv")).unwrap();
    let paths = table.lines().skip(1).filter_map(|row| row.split('\t').next());
    let paths: Vec<String> = paths.map(|p| histories.join(p).display().to_string()).collect();
    assert!(paths.len() > 30, "{} histories", paths.len());
    all_same(&Folder::new("own"), &paths, &questions(&all_levels()), 2);
}

#[track_caller]
fn text_is_the_same(name: &str, levels: &str, text: &str) {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("history.txt"), text).unwrap();
    all_same(&folder, &["history.txt".to_owned()], &questions(levels)[..2], RUNS);
}

/// Every value that was read long after it had been overwritten is a reason of its own.
#[test]
fn of_many_stale_reads_the_same_is_shown() {
    let mut text = String::from("initial 0\n");
    for round in 0..12 {
        let (time, value) = (1000 * round, 10 * round + 1);
        let _ = writeln!(text, "a: w(x,{value}) @[{time},{}]", time + 1);
        for i in 1..4 {
            let (begin, end) = (time + 10 * i, time + 10 * i + 1);
            let _ = writeln!(text, "b: w(x,{}) @[{begin},{end}]", value + i);
        }
        let _ = writeln!(text, "c: r(x,{value}) @[{},{}]", time + 500, time + 501);
    }
    text_is_the_same("stale", &all_levels(), &text);
}

/// More reads show which rows belong to the predicate than a witness takes.
#[test]
fn of_many_rows_the_same_are_the_evidence() {
    let mut text = String::new();
    let mut rows = String::new();
    for i in 0..72 {
        let _ = write!(rows, ",k{i}=1");
        let _ = write!(text, "w{i}: insert(k{i},1)\nr{i}: pred(p{rows})\n");
    }
    let _ = writeln!(text, "a: pred(p{rows}) pred(p{})", rows.replace(",k50=1", ""));
    text_is_the_same("rows", "read-atomic,serializable", &text);
}

/// Readers that see answers without their questions, each several of many.
#[test]
fn of_many_causal_violations_the_same_are_shown() {
    let mut text = String::from("initial 0\n");
    for i in 0..12 {
        let _ = write!(text, "q{i}: w(q{i},1)\na{i}: r(q{i},1) w(a{i},1)\n");
        let _ = writeln!(text, "b{i}: r(a{i},1) w(b{i},1)");
    }
    for i in 0..12 {
        let some = || (0..3).map(|n| (7 * i + 5 * n) % 12);
        let answers: String = some().map(|n| format!(" r(b{n},1)")).collect();
        let questions: String = some().map(|n| format!(" r(q{n},0)")).collect();
        let _ = writeln!(text, "z{i}:{answers}{questions}");
    }
    text_is_the_same("causal", "causal,prefix,serializable", &text);
}

/// Lost updates and write skews all over, and a read of a repeated value.
#[test]
fn of_many_anomalies_the_same_are_shown() {
    let mut text = String::from("initial 0\n");
    for i in 0..6 {
        let next = (i + 1) % 6;
        for session in ["a", "b"] {
            let value = if session == "a" { 1 } else { 2 };
            let _ = writeln!(
                text,
                "{session}{i}: r(x{i},0) w(x{i},{value}) r(y{next},0) w(y{i},{value})"
            );
        }
        let _ = writeln!(text, "c{i}: w(z{i},1)\ne{i}: r(z{i},1) r(x{next},1) r(z{next},0)");
    }
    text.push_str("d: w(z0,1)\n");
    text_is_the_same("anomalies", &all_levels(), &text);
}

#[test]
fn hard_histories_are_told_in_the_same_words() {
    let folder = Folder::new("hard");
    let write = Format::named("jsonl").unwrap().write.unwrap();
    let ring = |by| Strain::Ring { txns: 8, by };
    let mut paths = Vec::new();
    for strain in [
        Strain::NestedGuesses { width: 3, depth: 2 },
        Strain::FewValues { ops: 40, values: 5 },
        Strain::HotKey { writers: 12, how: Hot::Concurrent },
        Strain::HotKey { writers: 12, how: Hot::Violating },
        Strain::OwnEqualElements { appends: 40 },
        Strain::Sessions { sessions: 40, violating: true },
        ring(Ring::Antidependencies),
        ring(Ring::Reads),
        ring(Ring::Updates),
        ring(Ring::Mixed),
        Strain::SameValue { writers: 5 },
        Strain::BlindWrites { txns: 30, seed: 1 },
    ] {
        let name = format!("{}.jsonl", strain.name());
        let mut file = Vec::new();
        write(&strain.history().unwrap(), &mut file).unwrap();
        std::fs::write(folder.path().join(&name), file).unwrap();
        paths.push(name);
    }
    all_same(&folder, &paths, &questions(&all_levels())[..2], 2);
}
