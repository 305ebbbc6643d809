//! JUnit XML: what continuous integration reads.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::notation::parse;
use isolde_report::{Case, Decided, Junit};
use isolde_spec::Level;
use roxmltree::{Document, Node};
use serde_json::json;

use crate::shown::ask;

fn junit(histories: &[(&str, &str)], levels: &[Level]) -> String {
    let mut report = Junit::default();
    for (name, text) in histories {
        let history = parse(text).unwrap();
        let decided: Vec<Decided> = levels.iter().map(|level| ask(&history, *level)).collect();
        report.add(&Case {
            history: &history,
            name: (*name).to_owned(),
            format: "notation".to_owned(),
            decided: &decided,
            about: Vec::new(),
            warnings: Vec::new(),
            warning_count: 0,
            every_level: false,
            options: json!({}),
            explain: None,
            again: Vec::new(),
            seconds: 0.25,
        });
    }
    report.finish()
}

fn elements<'a>(document: &'a Document<'a>, name: &'a str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|n| n.has_tag_name(name)).collect()
}

const SKEW: &str = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)\n";

#[test]
fn a_history_is_a_suite_and_a_level_a_test() {
    let levels = [Level::SnapshotIsolation, Level::Serializable, Level::StrongSnapshotIsolation];
    let text = junit(&[("skew.txt", SKEW), ("fine.txt", "a: w(x,1) @[0,1]")], &levels);
    let document = Document::parse(&text).unwrap();
    let top = document.root_element();
    let count = |name: &str| top.attribute(name).unwrap();
    assert_eq!((count("tests"), count("failures"), count("errors")), ("6", "1", "1"));
    assert_eq!(elements(&document, "testsuite").len(), 2);
    assert_eq!(elements(&document, "testcase").len(), 6);
    let failure = elements(&document, "failure")[0];
    assert_eq!(failure.parent().unwrap().attribute("name"), Some("serializable"));
    assert_eq!(failure.attribute("type"), Some("WriteSkew"));
    assert!(failure.attribute("message").unwrap().starts_with("T1 read y = 0"), "{text}");
    assert!(
        failure.text().unwrap().contains("T2 overwrote the version of y that T1 read"),
        "{text}"
    );
    let error = elements(&document, "error")[0];
    assert_eq!(error.parent().unwrap().attribute("name"), Some("strong-snapshot-isolation"));
}

#[test]
fn hostile_names_stay_text() {
    let odd = "initial 0\na: r(\"]]>\",0) w(\"]]>\",\"<b>&\\u0000\")\nb: r(\"]]>\",0) w(\"]]>\",\"'\\\"\")\n";
    let text = junit(&[("<&\"\u{1}>.txt", odd)], &[Level::SnapshotIsolation]);
    let document = Document::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let suite = elements(&document, "testsuite")[0];
    assert_eq!(suite.attribute("name"), Some("<&\"\u{fffd}>.txt"));
    assert_eq!(elements(&document, "failure").len(), 1, "{text}");
}
