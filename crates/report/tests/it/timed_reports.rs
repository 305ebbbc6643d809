//! Whole reports of a history that was asked by values and by the server's timestamps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use expect_test::expect;
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::{Case, Decided, HtmlReport, Junit, Telling, case_to_json, summary_to_text};
use isolde_spec::{Level, Promise};
use serde_json::{Value, json};

use crate::shown::{ask_both_ways, ask_promise};

const SI: Promise = Promise::by_timestamps(Level::SnapshotIsolation);

/// Figure 11 of the paper on Chronos: fine by values, a stale read by timestamps.
const FIGURE_11: &str = "initial 0\n\
    a 1: w(x,1) ts(1,2)\n\
    b 2: w(x,2) ts(3,5)\n\
    c 3: r(x,1) ts(6,6)\n";

fn case<'a>(history: &'a History, decided: &'a [Decided]) -> Case<'a> {
    Case {
        history,
        name: "history.txt".to_owned(),
        format: "notation".to_owned(),
        decided,
        about: Vec::new(),
        warnings: Vec::new(),
        warning_count: 0,
        every_level: true,
        options: json!({"session_order": true}),
        explain: Some("isolde explain history.txt".to_owned()),
        again: Vec::new(),
        seconds: 0.5,
    }
}

fn page_data(case: &Case<'_>) -> Value {
    let mut report = HtmlReport::new("timed");
    report.add(case);
    let page = report.finish();
    let (_, rest) = page.split_once(r#"id="data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn figure_11_both_ways() {
    let history = parse(FIGURE_11).unwrap();
    let text = summary_to_text(&history, &ask_both_ways(&history), &Telling::default());
    expect![[r#"
        by the server's timestamps:
          snapshot-isolation  violated: 1 StaleRead
          serializable        unknown: nothing says that commit order is the serial order (the fact
                              commit-order=serial of the history would, or --fact commit-order=serial)
          By values, snapshot-isolation holds: some order of the transactions explains what was read. By
          timestamps it is violated: the server did not do what its own timestamps say that it did.
        strongest level that holds: serializable
          method     dependency graph with inferred edges (a serial execution in order of the history
                     explains every read)
          evidence   values; version order: not known (1 key); session order
          figures    3 transactions, 3 operations, 1 key, 3 nodes, 1 edge
        violated or undecided:
          strong-snapshot-isolation  unknown: not every transaction has an interval, so real time cannot be
                                     checked
          strict-serializable        unknown, for the same reason
        why snapshot-isolation by timestamps is violated:
          StaleRead: a transaction read a version that, by the server's own word, was already overwritten
            T3 started at 6 and read x = 1 of T1, which committed at 2; but T2 had overwritten it at 5, so
            T3 should have read x = 2.

            by the server's timestamps:
            ts  a                b                c
             1  + T1 w(x,1)
             2  + committed
             3                   + T2 w(x,2)
             5                   + committed
             6                                    + T3 r(x,1)
             6                                    + committed

            rule     EXT: a transaction reads the newest version that committed at or before its start
            expected x = 2, written by T2 (start 3, commit 5)
            read     x = 1, written by T1 (start 1, commit 2)
            promise  snapshot-isolation by timestamps: a transaction sees exactly what committed before it
                     started, and of two transactions that overlap only one writes a key
            broken   because a newer version had committed at the reader's place, and the reader missed it
            visible  in the first 3 of 3 transactions
          method     the server's timestamps (timestamps say which versions each transaction sees)
          evidence   start and commit timestamps
          figures    3 transactions, 3 operations, 1 key
    "#]].assert_eq(&text);
}

#[test]
fn figure_11_for_machines() {
    let history = parse(FIGURE_11).unwrap();
    let decided = ask_both_ways(&history);
    let report = case_to_json(&case(&history, &decided));
    let (timed, valued) = (&report["verdicts"][0], &report["verdicts"][10]);
    assert_eq!((&timed["by"], &timed["answer"]), (&json!("timestamps"), &json!("violated")));
    assert_eq!((&valued["by"], &valued["answer"]), (&json!("values"), &json!("holds")));
    assert_eq!(
        (&timed["level"], &valued["level"]),
        (&json!("snapshot-isolation"), &json!("snapshot-isolation"))
    );
    let witness = &timed["witnesses"][0];
    assert_eq!(witness["id"], "snapshot-isolation-by-timestamps-1");
    assert_eq!(witness["timeline"]["times"], "timestamps");
    assert_eq!(witness["transactions"][1]["start_ts"], 3);
    expect![[r#"
        {
          "assumed": [],
          "axiom": "EXT",
          "expected": [
            {
              "initial": false,
              "list": null,
              "value": "2",
              "write": {
                "commit_ts": 5,
                "operation": "w(x,2)",
                "start_ts": 3,
                "transaction": "T2"
              }
            }
          ],
          "opponent": null,
          "place": 6,
          "read": {
            "initial": false,
            "list": null,
            "value": "1",
            "write": {
              "commit_ts": 2,
              "operation": "w(x,1)",
              "start_ts": 1,
              "transaction": "T1"
            }
          },
          "rule": "EXT: a transaction reads the newest version that committed at or before its start",
          "transaction": "T3"
        }
    "#]].assert_eq(&format!("{:#}\n", witness["timed"]));
    expect![[r#"
        {
          "by_intervals": [],
          "by_snapshots": [],
          "by_timestamps": [
            {
              "answer": "violated",
              "holds_without_session_order": false,
              "level": "snapshot-isolation",
              "reason": null,
              "session_order": true,
              "violated_by": [
                "StaleRead"
              ]
            },
            {
              "answer": "unknown",
              "holds_without_session_order": false,
              "level": "serializable",
              "reason": "nothing says that commit order is the serial order (the fact commit-order=serial of the history would, or --fact commit-order=serial)",
              "session_order": true,
              "violated_by": []
            }
          ],
          "compared": "By values, snapshot-isolation holds: some order of the transactions explains what was read. By timestamps it is violated: the server did not do what its own timestamps say that it did.",
          "not_shown_to_hold": [
            {
              "answer": "unknown",
              "holds_without_session_order": false,
              "level": "strong-snapshot-isolation",
              "reason": "not every transaction has an interval, so real time cannot be checked",
              "violated_as": null,
              "violated_by": []
            },
            {
              "answer": "unknown",
              "holds_without_session_order": false,
              "level": "strict-serializable",
              "reason": "not every transaction has an interval, so real time cannot be checked",
              "violated_as": null,
              "violated_by": []
            }
          ],
          "plainest_violation_of": null,
          "strongest": [
            "serializable"
          ]
        }
    "#]].assert_eq(&format!("{:#}\n", report["summary"]));
}

#[test]
fn figure_11_on_a_page() {
    let history = parse(FIGURE_11).unwrap();
    let decided = ask_both_ways(&history);
    let data = page_data(&case(&history, &decided));
    let of = &data["cases"][0];
    assert_eq!(of["headline"], "snapshot-isolation by timestamps is violated");
    assert_eq!(of["plainest"], 0);
    assert_eq!(of["verdicts"][0]["word"], "snapshot-isolation-by-timestamps");
    assert_eq!(
        (&of["verdicts"][0]["by"], &of["verdicts"][10]["by"]),
        (&json!("timestamps"), &json!("values"))
    );
    assert_eq!((&of["verdicts"][0]["state"], &of["verdicts"][10]["state"]), (&json!(1), &json!(0)));
    assert!(of["compared"].as_str().unwrap().starts_with("By values, snapshot-isolation holds"));
    assert!(of["strongest"].as_str().unwrap().contains("serializable"));
    let picture = data["pictures"][0].as_str().unwrap();
    assert!(picture.contains("by the server's timestamps"), "{picture}");
    assert_eq!(data["bodies"][0][13].as_array().unwrap().len(), 3, "rule, expected, read");
}

#[test]
fn what_holds_by_timestamps_alone_is_said() {
    let history = parse("a 1: w(x,1) ts(1,2)\nb 2: r(x,1) ts(2,2)\n").unwrap();
    let decided = [ask_promise(&history, SI)];
    let data = page_data(&case(&history, &decided));
    assert_eq!(data["cases"][0]["headline"], "snapshot-isolation by timestamps holds");
    assert_eq!(data["cases"][0]["strongest"], "");
    let text = summary_to_text(&history, &decided, &Telling::default());
    expect![[r#"
        by the server's timestamps:
          snapshot-isolation  holds
          method     the server's timestamps (timestamps say which versions each transaction sees)
          evidence   start and commit timestamps
          figures    2 transactions, 2 operations, 1 key
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_test_case_of_its_own() {
    let history = parse(FIGURE_11).unwrap();
    let decided =
        [ask_promise(&history, SI), ask_promise(&history, Promise::of(Level::SnapshotIsolation))];
    let mut junit = Junit::default();
    junit.add(&case(&history, &decided));
    let text = junit.finish();
    assert!(text.contains(r#"<testcase name="snapshot-isolation by timestamps""#), "{text}");
    assert!(text.contains(r#"<testcase name="snapshot-isolation""#), "{text}");
    assert!(text.contains(r#"type="StaleRead""#), "{text}");
}
