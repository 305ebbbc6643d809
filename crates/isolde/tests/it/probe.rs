//! `isolde probe`: exit codes, and what it writes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::common::{Folder, has_postgres};

/// A case of a user that every database shows, though none should.
const MINE: &str = "case mine: a write is seen\n  forbidden from read-committed\n\
                    setup create table t (a int)\n  T1 insert into t values (1)\n\
                    T2 a: select * from t\n  seen when a = 1\n";

#[test]
fn an_engine_without_sql_keeps_its_promise() {
    let folder = Folder::new("engine");
    let ran = folder.isolde(&["probe", "faulty", "--record", "runs.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("G2-item") && ran.out.contains("ALLOWED"), "{}", ran.out);
    let ran = folder.isolde(&["probe", "faulty", "--replay", "runs.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    // A case that needs more than it can be asked for is not called good.
    let ran = folder.isolde(&["probe", "faulty", "--only", "PMP"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("value = 30") && ran.err.contains("hint"), "{}", ran.err);
}

#[test]
fn what_is_seen_is_told_in_every_form() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("forms");
    let args = ["probe", "postgres", "--json", "--report", "x.html", "--record", "x.jsonl"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let levels: Vec<&Value> =
        told["levels"].as_array().unwrap().iter().map(|l| &l["name"]).collect();
    assert_eq!(levels, ["read-committed", "repeatable-read", "serializable"]);
    let cases = told["cases"].as_array().unwrap();
    let hermitage = cases.iter().filter(|case| case["group"] == "hermitage").count();
    assert_eq!(hermitage, 14);
    assert!(cases.iter().all(|case| case["levels"].as_array().unwrap().len() == levels.len()));
    let page = std::fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(cases.iter().all(|case| page.contains(case["name"].as_str().unwrap())));
    let ran = folder.isolde(&["probe", "postgres", "--replay", "x.jsonl", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["same"], cases.len() * levels.len());
    assert_eq!(told["same"], told["recorded"]);
}

#[test]
fn a_finding_is_an_exit_code() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("finding");
    std::fs::write(folder.path().join("mine.case"), MINE).unwrap();
    let ran = folder.isolde(&["probe", "postgres", "--cases", "mine.case", "--only", "mine"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("ALLOWED!"), "{}", ran.out);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = Folder::new("wrong");
    std::fs::write(folder.path().join("bad.case"), "case a: b\n  T1 begin\n  whatever\n").unwrap();
    let ran = folder.isolde(&["probe", "postgres", "--cases", "bad.case"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("bad.case, line 3"), "{}", ran.err);
    std::fs::write(folder.path().join("bad.jsonl"), "\n{\"case\": 1}\n").unwrap();
    let ran = folder.isolde(&["probe", "postgres", "--replay", "bad.jsonl"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("bad.jsonl, line 2"), "{}", ran.err);
}

/// Cases on a table that every database can be asked for; the second one says nothing of a level.
const TWO: &str = "case lost: two readers of a row both write it\n  anomaly LostUpdate\n\
                   setup create table test (id int primary key, value int)\n\
                   setup insert into test (id, value) values (1, 10)\n\
                   T1 begin\n  T2 begin\n  T1 a: select value from test where id = 1\n\
                   T2 b: select value from test where id = 1\n\
                   T1 update test set value = 11 where id = 1\n  T1 commit\n\
                   T2 update test set value = 12 where id = 1\n  T2 commit\n\
                   seen when a = 10 and b = 10 and T1 and T2 commit\n\
                   case looked-at: a row is read\n\
                   setup create table test (id int primary key, value int)\n\
                   setup insert into test (id, value) values (1, 10)\n\
                   T1 begin\n  T1 a: select value from test where id = 1\n  T1 commit\n  seen when a = 10\n";

#[test]
fn a_case_without_an_anomaly_says_nothing_of_a_level() {
    let folder = Folder::new("no-anomaly");
    std::fs::write(folder.path().join("two.case"), TWO).unwrap();
    let args = ["probe", "faulty", "--cases", "two.case", "--only", "looked-at"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("ALLOWED"), "{}", ran.out);
    assert!(ran.out.contains("no case that ran says anything of a level"), "{}", ran.out);
    let ran = folder.isolde(&[args.as_slice(), &["--json"]].concat());
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let levels = told["levels"].as_array().unwrap();
    assert!(
        levels.iter().all(|l| l["cases"] == 0 && l["not_contradicted"] == Value::from([""; 0]))
    );
}

#[test]
fn few_cases_name_no_level() {
    let folder = Folder::new("few");
    std::fs::write(folder.path().join("two.case"), TWO).unwrap();
    let ran =
        folder.isolde(&["probe", "faulty", "--cases", "two.case", "--only", "lost,looked-at"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told =
        "read-committed 1 case run, too few to name a level; weaker than cursor-stability (lost)";
    assert!(ran.out.contains(told), "{}", ran.out);
    assert!(
        ran.out.contains("serializable 1 case run, too few to name a level (promised"),
        "{}",
        ran.out
    );
    // With all of them, the words are the same in the terminal and on the page.
    let ran = folder.isolde(&["probe", "faulty", "--report", "x.html"]);
    assert!(ran.out.contains("consistent with serializable on the "), "{}", ran.out);
    let page = std::fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(page.contains(">ALLOWED</a>") && !page.contains(">allowed</a>"), "{page}");
}

/// No more is read of a device than a file of cases may have.
#[test]
fn cases_from_a_device_come_to_an_end() {
    let folder = Folder::new("device");
    let ran = folder.isolde(&["probe", "faulty", "--cases", "/dev/zero"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("is longer than"), "{}", ran.err);
}
