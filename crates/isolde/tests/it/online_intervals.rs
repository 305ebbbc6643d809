//! `isolde test --online --evidence intervals`: a run is held to the mechanisms of its server while it goes on, and the
//! check of the record agrees.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use isolde_target::{OpenOptions, open};
use serde_json::Value;

use crate::common::{Folder, has_postgres};
use crate::online::online;
use crate::reports::is_as_the_schema_says;

/// Runs online by intervals, and gives the report of a run of which the record says the same.
#[track_caller]
fn by_intervals(folder: &Folder, code: i32, args: &[&str]) -> Value {
    online(folder, code, &[args, &["--evidence", "intervals", "--sessions", "8"]].concat())
}

/// What the record has by intervals, by anomaly.
fn of_the_record(report: &Value) -> Value {
    let verdict = &report["verdicts"][0];
    assert_eq!(verdict["by"], "intervals");
    let counts = verdict["counts"].as_array().unwrap().iter();
    counts.map(|c| (c["anomaly"].as_str().unwrap().to_owned(), c["count"].clone())).collect()
}

#[test]
fn sqlite_by_its_own_profile_and_by_one_that_forbids_more() {
    let folder = Folder::new("online-intervals-sqlite");
    let run = ["sqlite", "--isolation", "immediate", "--commits", "1k"];
    let report = by_intervals(&folder, 0, &run);
    let said = &report["online"];
    assert_eq!(
        (&report["outcome"], &said["answer"]),
        (&"no-violation".into(), &"no-violation".into())
    );
    assert_eq!((&said["holds"], &said["enough"]), (&Value::Null, &true.into()), "{said:#}");
    let answer = &report["verdicts"][0];
    assert_eq!((&said["decided"], &said["of"]), (&answer["decided"], &answer["of"]), "{said:#}");
    assert!(said["decided"].as_u64().unwrap() > 500, "{said:#}");
    // Each commit has its verdict before the run is over, or at its end.
    assert_eq!(said["delay_ms"]["count"], report["run"]["committed"], "{said:#}");
    let run = ["sqlite", "--isolation", "deferred", "--profile", "sqlite/immediate"];
    let report = by_intervals(&folder, 1, &[&run[..], &["--commits", "300"]].concat());
    let said = &report["online"];
    assert!(said["by_anomaly"]["BrokenLock"].as_u64() > Some(0), "{said:#}");
    assert_eq!(said["by_anomaly"], of_the_record(&report));
}

#[test]
fn postgres_by_the_profiles_of_its_levels_and_by_a_stronger_one() {
    if !has_postgres() {
        return;
    }
    let server = open("postgres", &OpenOptions::default()).unwrap();
    let url = server.throwaway().unwrap().url;
    let folder = Folder::new("online-intervals-postgres");
    for (isolation, promise) in [
        ("read-committed", "read-committed by intervals"),
        ("repeatable-read", "snapshot-isolation by intervals"),
        ("serializable", "serializable by intervals"),
    ] {
        let report = by_intervals(&folder, 0, &[&url, "--isolation", isolation, "--commits", "1k"]);
        let said = &report["online"];
        assert_eq!(said["promise"], promise);
        assert_eq!((&said["answer"], &said["violations"]), (&"no-violation".into(), &0.into()));
    }
    // Violations end the run, and are told before it is over.
    let began = Instant::now();
    let weaker = [&url, "--isolation", "read-committed", "--profile", "postgresql/repeatable-read"];
    let stops = ["--keys", "6", "--duration", "60s", "--stop", "--report", "stopped.json"];
    let report = by_intervals(&folder, 1, &[&weaker[..], &stops].concat());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let said = &report["online"];
    assert_eq!((&said["stopped"], &said["holds"]), (&true.into(), &false.into()), "{said:#}");
    assert_eq!(said["by_anomaly"], of_the_record(&report));
    is_as_the_schema_says(&std::fs::read_to_string(folder.file("stopped.json")).unwrap());
}

/// Sessions that lose their connections go on as others, which have to be waited for.
#[test]
fn lost_connections_hold_up_nothing_and_make_nothing_late() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("online-intervals-lost");
    let run = ["postgres", "--isolation", "repeatable-read", "--fault", "drop:every=200ms"];
    let report = by_intervals(&folder, 0, &[&run[..], &["--duration", "2s"]].concat());
    let said = &report["online"];
    assert_eq!(said["answer"], "no-violation", "{said:#}");
    assert_eq!(said["delay_ms"]["count"], report["run"]["committed"], "{said:#}");
}

/// Nothing depends on anything: that nothing was found says nothing, whatever share was asked for.
#[test]
fn a_run_in_which_nothing_could_be_decided_is_unknown() {
    let folder = Folder::new("online-intervals-share");
    let run = ["sqlite", "--isolation", "immediate", "--txns", "1", "--decided", "0"];
    let report = by_intervals(&folder, 3, &run);
    let said = &report["online"];
    assert_eq!((&said["of"], &said["enough"]), (&0.into(), &false.into()), "{said:#}");
    assert_eq!((&report["outcome"], &said["answer"]), (&"unknown".into(), &"no-violation".into()));
}

#[test]
fn a_server_of_which_nothing_is_known_is_refused_before_it_runs() {
    let folder = Folder::new("online-intervals-refused");
    let args = ["test", "fjall", "--online", "--evidence", "intervals"];
    let ran = folder.isolde(&args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:#?}");
    assert!(
        ran.err.contains("no level of fjall is known") && ran.err.contains("--profile"),
        "{ran:#?}"
    );
    assert!(!folder.path().join("isolde-runs").exists(), "nothing is run");
}
