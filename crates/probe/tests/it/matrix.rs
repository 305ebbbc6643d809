//! The built-in cases on real servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use isolde_probe::Outcome;
use isolde_probe::case::{self, built_in};
use isolde_probe::matrix::{Matrix, probe};

use crate::common;

/// What each level makes of each case: ok, b (blocked), e (an error), A (seen).
const POSTGRES: &[(&str, &str)] = &[
    ("G0", "b e e"),
    ("G1a", "ok ok ok"),
    ("G1b", "ok ok ok"),
    ("G1c", "ok ok e"),
    ("OTV", "ok e e"),
    ("PMP", "A ok ok"),
    ("PMP-write", "A e e"),
    ("P4", "A e e"),
    ("G-single", "A ok ok"),
    ("G-single-pred", "A ok ok"),
    ("G-single-wpred", "A e e"),
    ("G2-item", "A A e"),
    ("G2", "A A e"),
    ("G2-two-edges", "A A e"),
];
/// Read uncommitted, repeatable read, read committed, repeatable read of snapshots, serializable.
const MARIADB: &[(&str, &str)] = &[
    ("G0", "b b b b b"),
    ("G1a", "A ok ok ok b"),
    ("G1b", "A ok ok ok b"),
    ("G1c", "A ok ok ok e"),
    ("OTV", "A ok ok ok b"),
    ("PMP", "A ok A ok b"),
    ("PMP-write", "A A A e b"),
    ("P4", "A A A e e"),
    ("G-single", "A ok A ok b"),
    ("G-single-pred", "A ok A ok b"),
    ("G-single-wpred", "A A A e e"),
    ("G2-item", "A A A A e"),
    ("G2", "A A A A e"),
    ("G2-two-edges", "A A A A e"),
];

fn run(kind: &str, cases: Vec<case::Case>) -> Option<Matrix> {
    let target = common::server(kind)?;
    let consoles = target.consoles().unwrap();
    let cases: Vec<_> = cases.into_iter().filter(|c| c.suits(target.name())).collect();
    let stop = AtomicBool::new(false);
    let offers = target.offers().to_vec();
    Some(probe(&*target, consoles, cases, offers, (&stop, &|_| ())).unwrap())
}

fn short(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Prevented => "ok",
        Outcome::Blocked => "b",
        Outcome::Aborted(_) => "e",
        Outcome::Allowed => "A",
        Outcome::Unknown(_) => "?",
        Outcome::NotForIt(_) => "-",
    }
}

fn matches(kind: &str, expected: &[(&str, &str)]) {
    let Some(matrix) = run(kind, built_in().unwrap()) else { return };
    let mut wrong = Vec::new();
    for (case, row) in matrix.cases.iter().zip(&matrix.cells) {
        let got: Vec<&str> = row.iter().map(|cell| short(&cell.outcome)).collect();
        let got = got.join(" ");
        eprintln!("{:26} {got}", case.name);
        let unknown = row.iter().find(|cell| short(&cell.outcome) == "?");
        wrong.extend(unknown.map(|cell| format!("{}: {}", case.name, cell.outcome)));
        if let Some((_, want)) = expected.iter().find(|(name, _)| *name == case.name)
            && *want != got
        {
            wrong.push(format!("{}: {got}, expected {want}", case.name));
        }
        for (offer, cell) in matrix.offers.iter().zip(row).filter(|(_, cell)| cell.finding) {
            wrong.push(format!(
                "{} at {} is a finding: {:?}",
                case.name, offer.name, cell.played.events
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(matrix.cells.len(), matrix.cases.len());
    let page = isolde_probe::html::to_html(&matrix);
    assert!(page.contains("G2-two-edges") && !page.contains("<script"));
}

#[test]
fn postgresql_is_as_it_is_known() {
    matches("postgres", POSTGRES);
}

#[test]
fn mariadb_is_as_it_is_known() {
    matches("mariadb", MARIADB);
}

#[test]
fn a_case_of_ones_own_can_be_a_finding() {
    let text = "case mine: a write is seen\n  forbidden from read-committed\n\
                setup create table t (a int)\n  T1 insert into t values (1)\n\
                T2 a: select * from t\n  seen when a = 1\n";
    let cases = case::read("mine.case", text).unwrap();
    let Some(matrix) = run("postgres", cases) else { return };
    assert!(matrix.has_findings());
    let text = isolde_probe::text::to_text(&matrix, isolde_report::Style::default());
    assert!(text.contains("ALLOWED!") && text.contains("not kept"), "{text}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let cases = [
        ("T1 begin", "line 1, column 1: expected 'case"),
        ("case a b: c", "'a b' is no name"),
        ("case a: b\n  anomaly Nothing", "line 2, column 11: expected one of"),
        ("case a: b\n  forbidden from acid", "line 2, column 13"),
        ("case a: b\n  T1 begin", "does not say 'seen when"),
        ("case a: b\n  seen when T1 commits", "has no steps"),
        ("case a: b\n  T1 begin\n  seen when x = 1", "no step is labelled 'x'"),
        ("case a: b\n  T1 begin\n  seen when T2 commits", "there is no session 'T2'"),
        ("case a: b\n  T1 x: select 1\n  seen when x has 1", "line 3, column 19: expected a row"),
        ("case a: b\n  T1 x: select 1\n  seen when x = (1", "expected ',' or ')'"),
        ("case a: b\n  T1 x: select 1\n  seen when x = 'ä", "expected"),
        ("case a: b\n  T1", "expected a statement"),
        ("case a: b\n  whatever", "'whatever' means nothing here"),
    ];
    for (text, expected) in cases {
        let error = case::read("x.case", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let deep = format!("case a: b\n  T1 x: select 1\n  seen when {}x = 1", "(".repeat(100_000));
    assert!(case::read("x.case", &deep).unwrap_err().to_string().contains("inside each other"));
    let many = format!("case a: b\n{}  seen when T1 commits", "  T1 select 1\n".repeat(1000));
    assert!(case::read("x.case", &many).unwrap_err().to_string().contains("too long"));
}
