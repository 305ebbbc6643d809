//! The built-in cases on databases that are not asked in SQL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use isolde_probe::case::{Case, built_in};
use isolde_probe::matrix::{Matrix, probe};
use isolde_probe::{Outcome, Portable, html, json, text};
use isolde_target::KINDS;

use crate::common;

fn run(kind: &str, level: &str, chosen: impl Fn(&Case) -> bool) -> Matrix {
    let target = common::server(kind).unwrap();
    let portable = Portable::new(&*target);
    let mut cases = built_in().unwrap();
    cases.retain(|case| case.suits(target.name()) && chosen(case));
    let offers = target.offers().iter().filter(|o| o.name == level).copied().collect();
    let stop = AtomicBool::new(false);
    let matrix = probe(&*target, &portable, cases, offers, (&stop, &|_| ())).unwrap();
    for (case, row) in matrix.cases.iter().zip(&matrix.cells) {
        eprintln!("{kind} {:26} {}", case.name, row[0].outcome);
    }
    assert!(!matrix.has_findings() && !matrix.has_unknown() && matrix.keeps_promise(0));
    matrix
}

fn outcome<'m>(matrix: &'m Matrix, name: &str) -> &'m Outcome {
    let at = matrix.cases.iter().position(|case| case.name == name).unwrap();
    &matrix.cells[at][0].outcome
}

/// Whether nobody saw it, and somebody was told so.
fn aborted(matrix: &Matrix, name: &str) -> bool {
    matches!(outcome(matrix, name), Outcome::Aborted(_))
}

#[test]
fn fjall_is_serializable() {
    let matrix = run("fjall", "serializable", |_| true);
    assert!(aborted(&matrix, "LostUpdate") && aborted(&matrix, "WriteSkew"));
    assert_eq!(*outcome(&matrix, "NonRepeatableReads"), Outcome::Prevented);
    let allowed = |cell: &isolde_probe::matrix::Cell| cell.outcome == Outcome::Allowed;
    assert!(!matrix.cells.iter().flatten().any(allowed));
    let ran = matrix.cells.iter().flatten();
    let ran = ran.filter(|cell| !matches!(cell.outcome, Outcome::NotForIt(_))).count();
    assert!(ran >= 20, "{ran} cases ran");
}

#[test]
fn snapshots_of_the_engine_in_the_box() {
    is_snapshot_isolation("faulty");
}

/// Only where it was built with: scripts/test.sh does that.
#[test]
fn surrealkv_is_snapshot_isolation() {
    if KINDS.iter().any(|kind| kind.name == "surrealkv") {
        is_snapshot_isolation("surrealkv");
    } else {
        eprintln!("\n*** SKIPPED: built without surrealkv ***\n");
    }
}

fn is_snapshot_isolation(kind: &str) {
    let matrix = run(kind, "snapshot", |case| case.group != "more");
    assert_eq!(*outcome(&matrix, "WriteSkew"), Outcome::Allowed);
    assert_eq!(*outcome(&matrix, "G2-item"), Outcome::Allowed);
    assert!(aborted(&matrix, "LostUpdate") && aborted(&matrix, "P4"));
    // What it cannot be asked for is said, and not kept as a run.
    assert!(
        matches!(outcome(&matrix, "PMP"), Outcome::NotForIt(why) if why.contains("value = 30"))
    );
    assert!(!matrix.record().iter().any(|run| run.case == "PMP"));
    let told = text::to_text(&matrix, isolde_report::Style::default());
    let line = told.lines().find(|line| line.starts_with("PMP ")).unwrap();
    assert!(line.ends_with(" -"), "{line}");
    let told = json::to_json(&matrix);
    let cases = told["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == "PMP").unwrap();
    assert_eq!(case["levels"][0]["outcome"], "not-for-it");
    assert!(html::to_html(&matrix).contains("not-for-it"));
}

#[test]
fn sqlite_lets_writers_wait_or_fail() {
    let few = ["LostUpdate", "WriteSkew", "G0", "G1a", "NonRepeatableReads"];
    let matrix = run("sqlite", "deferred", |case| few.contains(&case.name.as_str()));
    assert!(aborted(&matrix, "LostUpdate"));
    assert_eq!(*outcome(&matrix, "G0"), Outcome::Blocked);
    assert_eq!(*outcome(&matrix, "G1a"), Outcome::Prevented);
    let few = ["LostUpdate", "NotMyOwnWrite"];
    let matrix = run("sqlite", "immediate", |case| few.contains(&case.name.as_str()));
    assert_eq!(*outcome(&matrix, "LostUpdate"), Outcome::Blocked);
}
