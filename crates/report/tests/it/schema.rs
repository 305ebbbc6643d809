//! The JSON report is what `docs/report.schema.json` says, with no field more.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use isolde_check::{Checker, Options};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::{Case, Decided, REPORT_VERSION, case_to_json, fault_to_json, handbook};
use isolde_spec::{Anomaly, CATALOGUE, Level, Promise};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::shown::{ask_page, ask_profile, decided};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Value {
    let text = fs::read_to_string(root().join("docs/report.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The schema lets readers meet fields that they do not know; this test does not.
fn strict() -> Validator {
    let mut schema = schema();
    let mut todo = vec![&mut schema];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(object) => {
                if object.get("properties").is_some_and(Value::is_object) {
                    object.entry("additionalProperties").or_insert(json!(false));
                }
                todo.extend(object.values_mut());
            }
            Value::Array(array) => todo.extend(array.iter_mut()),
            _ => {}
        }
    }
    jsonschema::validator_for(&schema).unwrap()
}

fn report(name: &str, history: &History, every_level: bool) -> Value {
    let checker = Checker::new(history, Options::default());
    let timed = [Level::SnapshotIsolation, Level::Serializable].map(Promise::by_timestamps);
    let promises = Level::ALL.map(Promise::of).into_iter().chain(timed);
    let asked: Vec<Decided> = promises.map(|promise| decided(checker.check(promise))).collect();
    report_of(name, history, &asked, every_level)
}

fn report_of(name: &str, history: &History, asked: &[Decided], every_level: bool) -> Value {
    case_to_json(&Case {
        history,
        name: name.to_owned(),
        format: "notation".to_owned(),
        decided: asked,
        about: vec![("size".to_owned(), "small".to_owned())],
        warnings: vec!["a line was torn".to_owned()],
        warning_count: 1,
        every_level,
        options: json!({"session_order": true, "timeout": null}),
        explain: None,
        again: vec![("check it again".to_owned(), "isolde check x".to_owned())],
        seconds: 0.5,
    })
}

#[track_caller]
fn complaints(validator: &Validator, report: &Value) -> Vec<String> {
    validator.iter_errors(report).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn reports_are_as_the_schema_says() {
    let validator = strict();
    let folder = root().join("histories/notation");
    let mut reports = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let history = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.display().to_string();
        reports.push(report(&name, &history, reports.len() % 2 == 0));
    }
    let single = "clock events\na: w(x,1) @[0,1]\nb: w(x,2) @[2,3]\nc: r(x,1) @[4,5]\n";
    reports.push(report("single", &parse(single).unwrap(), true));
    let faults = "event kill @[5,7] n1\nevent heal\na: w(x,1) @[0,9]\n";
    reports.push(report("faults", &parse(faults).unwrap(), true));
    let told = &reports.last().unwrap()["events"];
    let (at, none) = ("5 ns to 7 ns", json!(null));
    let kill = json!({"name": "kill", "detail": "n1", "begin": 5, "end": 7, "told": at});
    let heal = json!({"name": "heal", "detail": none, "begin": none, "end": none, "told": none});
    assert_eq!(told, &json!([kill, heal]));
    let stamped = "initial 0\nmeta commit-order serial\na: w(x,1) ts(1,2.1)\nb: w(x,2) ts(2,5)\nc: r(x,1) ts(6,6)\n\
        d: w(u,1) unknown ts(1,_)\ne: r(u,1) ts(4,4)\nf: r(u,0) ts(7,7)\ng: append(l,1) ts(1,3)\nh: list(l,[]) ts(4,4)\n";
    reports.push(report("timestamps", &parse(stamped).unwrap(), true));
    let timed = &reports.last().unwrap()["verdicts"][14]["witnesses"];
    assert_eq!(timed[0]["transactions"][0]["commit_ts"], json!([2, 1]));
    assert!(timed.as_array().unwrap().iter().any(|w| w["timed"]["assumed"][0].is_object()));
    for page in CATALOGUE.iter().map(|entry| handbook::anomaly(entry.anomaly)) {
        if let Some(profile) = page.profile() {
            let history = parse(page.history).unwrap();
            let alone = parse("given x 0\na: r(x,0)@[1,2] @[1,5]\n").unwrap();
            reports.push(report_of("page", &history, &[ask_page(&history, page)], true));
            reports.push(report_of("alone", &alone, &[ask_profile(&alone, profile)], true));
        }
    }
    let mirrored = &reports[reports.len() - 2]["verdicts"][0]["witnesses"][0]["mirrored"];
    assert_eq!(mirrored["mechanism"], "serialization certifier");
    assert_eq!(reports.last().unwrap()["summary"]["by_intervals"][0]["answer"], "no-violation");
    assert!(reports.len() > 10);
    for report in &reports {
        assert_eq!(complaints(&validator, report), Vec::<String>::new(), "{}", report["history"]);
    }
    reports.push(fault_to_json("no such file", "it cannot be read"));
    let all = json!({"isolde_report": REPORT_VERSION, "histories": reports});
    assert_eq!(complaints(&validator, &all), Vec::<String>::new());
}

#[test]
fn the_schema_knows_every_level_and_anomaly() {
    let schema = schema();
    let named = |what: &str| schema["$defs"][what]["enum"].as_array().unwrap().clone();
    let levels: Vec<Value> = Level::ALL.iter().map(|l| json!(l.name())).collect();
    assert_eq!(named("level"), levels);
    let anomalies: Vec<Anomaly> = CATALOGUE.iter().map(|e| e.anomaly).collect();
    let anomalies: Vec<Value> = anomalies.iter().map(|a| json!(a.name())).collect();
    assert_eq!(named("anomaly"), anomalies);
    assert_eq!(schema["$defs"]["report"]["properties"]["isolde_report"]["const"], REPORT_VERSION);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = strict();
    let history = parse("initial 0\na: r(x,0) w(x,1)\nb: r(x,0) w(x,2)\n").unwrap();
    let good = report("lost", &history, true);
    assert_eq!(complaints(&validator, &good), Vec::<String>::new());
    let wrong: [(&str, Value); 4] = [
        ("/verdicts/0/answer", json!("perhaps")),
        ("/verdicts/8/witnesses/0/story", json!(null)),
        ("/verdicts/8/witnesses/0/cycle/0/kind", json!("xx")),
        ("/isolde_report", json!(2)),
    ];
    for (place, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        assert!(!complaints(&validator, &bad).is_empty(), "{place}");
    }
}
