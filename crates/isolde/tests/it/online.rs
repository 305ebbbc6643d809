//! `isolde test --online`: what is planted is found while the run goes on, and nothing else is; the check of the record agrees.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use isolde_spec::Anomaly;
use isolde_target::{OpenOptions, Show, open};
use isolde_workload::favoured;
use serde_json::Value;

use crate::common::{Folder, Ran, has_etcd, has_postgres};

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Runs online, and gives the report of a run of which the record says the same.
#[track_caller]
pub(crate) fn online(folder: &Folder, code: i32, args: &[&str]) -> Value {
    let ran = folder.isolde(&[&["test"], args, &["--online", "--json", "--seed", "1"]].concat());
    assert_eq!(ran.code, Some(code), "{args:?}: {ran:#?}");
    let report = report(&ran);
    let said = &report["online"];
    assert_eq!(said["agrees"], true, "{args:?}: {said:#}");
    for none in ["late", "corrections", "unstamped"] {
        assert_eq!(said[none], 0, "{args:?}: {said:#}");
    }
    report
}

/// What the record has by timestamps, by anomaly.
fn by_timestamps(report: &Value) -> Value {
    let verdicts = report["verdicts"].as_array().unwrap().iter();
    let timed = verdicts.clone().find(|verdict| verdict["by"] == "timestamps").unwrap();
    let counts = timed["counts"].as_array().unwrap().iter();
    counts.map(|c| (c["anomaly"].as_str().unwrap().to_owned(), c["count"].clone())).collect()
}

fn plant(anomaly: Anomaly) {
    let folder = Folder::new(&format!("online-{anomaly}"));
    let report = online(&folder, 1, &["faulty", "--fault", anomaly.name(), "--txns", "10k"]);
    let said = &report["online"];
    assert_eq!(said["holds"], false, "{anomaly}: {said:#}");
    assert_eq!(said["promise"], "serializable by timestamps");
    assert_eq!(said["by_anomaly"], by_timestamps(&report), "{anomaly}");
    // What did not fit into memory is gone.
    let kept = folder.path().join(report["folder"].as_str().unwrap());
    assert!(!kept.join("online").exists() && kept.join("history.isolde").exists());
}

#[test]
fn each_of_the_fourteen_is_found_while_the_run_goes_on() {
    for pair in favoured().collect::<Vec<Anomaly>>().chunks(2) {
        std::thread::scope(|scope| {
            pair.iter().for_each(|anomaly| {
                scope.spawn(move || plant(*anomaly));
            });
        });
    }
}

#[test]
fn where_nothing_is_planted_nothing_is_found() {
    let folder = Folder::new("online-correct");
    for (isolation, promise) in
        [("snapshot", "snapshot-isolation"), ("serializable", "serializable")]
    {
        for workload in ["mini", "append", "general"] {
            let more = ["--isolation", isolation, "--workload", workload, "--level", promise];
            let args = [&["faulty", "--txns", "20k"], &more[..]].concat();
            let ran = folder.isolde(&[&["test"], &args[..], &["--online", "--json"]].concat());
            let said = &report(&ran)["online"];
            assert_eq!(said["promise"], format!("{promise} by timestamps"));
            assert_eq!((&said["holds"], &said["agrees"]), (&true.into(), &true.into()), "{said:#}");
            let delays = &said["delay_ms"];
            let of = |name: &str| delays[name].as_f64().unwrap();
            assert!(of("count") > 1_000.0, "{said:#}");
            assert!(of("median") <= of("p99") && of("p99") <= of("max"), "{said:#}");
            assert!(said["transactions_per_second"].as_f64().unwrap() > 0.0);
        }
    }
    assert!(!folder.path().join("isolde-runs").exists(), "nothing is kept");
}

#[test]
fn the_first_violation_ends_a_run_that_stops() {
    let folder = Folder::new("online-stop");
    let began = Instant::now();
    let args = ["faulty", "--fault", "lost-update", "--duration", "60s", "--stop"];
    let report = online(&folder, 1, &args);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(report["online"]["stopped"], true);
    assert_eq!(report["run"]["interrupted"], true);
    let ran = folder.isolde(&["test", "faulty", "--stop"]);
    assert!(ran.code == Some(2) && ran.err.contains("--online"), "{ran:#?}");
}

#[test]
fn every_trial_of_many_is_stopped_for_itself() {
    let folder = Folder::new("online-trials");
    let args = ["test", "faulty", "--fault", "lost-update", "--duration", "60s", "--trials", "3"];
    let ran = folder.isolde(&[&args[..], &["--online", "--stop", "--json"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let lines: Vec<Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3]["violated"], 3);
}

#[test]
fn violations_are_told_before_the_run_is_over_in_the_words_of_a_report() {
    let folder = Folder::new("online-told");
    let args = ["test", "faulty", "--fault", "lost-update", "--txns", "20k", "--seed", "1"];
    let ran = folder.isolde(&[&args[..], &["--online", "--events", "events.jsonl"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(ran.err, "");
    let story = ran.out.find("  StaleRead: a transaction read a version that").unwrap();
    let more = ran.out.find("more violations are StaleRead").unwrap();
    assert!(story < more && more < ran.out.find("database   faulty").unwrap(), "{}", ran.out);
    for words in
        ["online     serializable by timestamps: violated (", "final verdicts after", "of a core"]
    {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(ran.out.contains("           the check of the record agrees\n"), "{}", ran.out);
    let events = std::fs::read_to_string(folder.file("events.jsonl")).unwrap();
    let events: Vec<Value> = events.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let named = |name: &str| events.iter().filter(|e| e["event"] == name).collect::<Vec<_>>();
    let over = named("ran")[0]["at"].as_f64().unwrap();
    let (found, tested) = (named("found"), named("tested")[0]);
    assert_eq!(tested["online"]["violations"], found.len());
    for event in found {
        assert!(event["at"].as_f64().unwrap() <= over, "{event:#}");
        assert_eq!((&event["kind"], &event["axiom"]), (&"violation".into(), &"EXT".into()));
        assert!(event["text"].as_str().unwrap().contains("should have read"), "{event:#}");
        assert!(event["history"].as_str().unwrap().contains("ts("), "{event:#}");
    }
}

#[test]
fn what_cannot_be_judged_while_it_runs_is_refused_in_a_sentence() {
    let folder = Folder::new("online-refused");
    let no_timestamps = "tells no timestamps, so nothing can be judged while it runs";
    for (args, sentence) in [
        (&["sqlite"][..], no_timestamps),
        (&["fjall"], no_timestamps),
        (&["faulty", "--isolation", "read-committed"], "read-committed cannot be judged while"),
        (&["faulty", "--isolation", "serializable", "--level", "si"], "writers may overlap"),
        (&["faulty", "--isolation", "snapshot", "--level", "ser"], "does not say that the order"),
    ] {
        let ran = folder.isolde(&[&["test"], args, &["--online"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {ran:#?}");
        assert!(ran.err.contains(sentence), "{args:?}: {ran:#?}");
        assert!(!folder.path().join("isolde-runs").exists(), "nothing is run");
    }
}

#[test]
fn postgres_is_right_by_its_snapshots_while_it_runs() {
    if !has_postgres() {
        return;
    }
    let show = Some(Show::Snapshots);
    let server = open("postgres", &OpenOptions { show, ..OpenOptions::default() }).unwrap();
    let url = server.throwaway().unwrap().url;
    let folder = Folder::new("online-snapshots");
    for (isolation, workload) in [
        ("repeatable-read", "mini"),
        ("repeatable-read", "general"),
        ("repeatable-read", "append"),
        ("serializable", "register"),
    ] {
        let args = [&url, "--evidence", "snapshots", "--isolation", isolation];
        let more = ["--workload", workload, "--txns", "3k", "--sessions", "6"];
        let report = online(&folder, 0, &[&args[..], &more].concat());
        let said = &report["online"];
        assert_eq!(said["promise"], "snapshot-isolation by snapshots");
        assert_eq!((&said["holds"], &said["violations"]), (&true.into(), &0.into()), "{said:#}");
        assert!(said["delay_ms"]["count"].as_u64().unwrap() > 1_000, "{said:#}");
        let by: Vec<&Value> =
            report["verdicts"].as_array().unwrap().iter().map(|v| &v["by"]).collect();
        assert!(by.contains(&&"snapshots".into()), "{by:?}");
    }
    for (args, sentence) in [
        (&["--isolation", "repeatable-read"][..], "with --evidence snapshots it can be judged"),
        (
            &["--evidence", "snapshots", "--isolation", "read-committed"],
            "read-committed cannot be judged while",
        ),
    ] {
        let ran = folder.isolde(&[&["test", &url, "--online"], args].concat());
        assert!(ran.code == Some(2) && ran.err.contains(sentence), "{args:?}: {ran:#?}");
    }
}

/// A driver that forgets everything, and tells when each transaction happened if it is told to.
fn forgetful(folder: &Folder, ts: &str) -> String {
    let path = folder.file("driver.sh");
    let text = r#"n=0
        say() { n=$((n+1)); printf '{"id":%d,"ok":%s}\n' $n "$1"; }
        while read -r line; do case $line in
        *'"do":"hello"'*) say '{"protocol":1,"name":"Forgetful","version":"0","kinds":["read","write"],"levels":[{"name":"none","promises":"si"}]}' ;;
        *'"do":"begin"'*) at=$(date +%s%N); say true ;;
        *'"do":"read"'*) say null ;;
        *'"do":"commit"'*) say "\"committed\"TS" ;;
        *'"do":"close"'*) exit 0 ;;
        *) say true ;;
        esac; done"#;
    std::fs::write(&path, text.replace("TS", ts)).unwrap();
    format!("driver:sh {path}")
}

#[test]
fn a_driver_that_tells_timestamps_is_checked_while_it_runs() {
    let folder = Folder::new("online-driver");
    let target = forgetful(&folder, r#",\"ts\":[$at,$(date +%s%N)]"#);
    let report = online(&folder, 1, &[&target, "--txns", "300", "--sessions", "2"]);
    assert_eq!(report["online"]["by_anomaly"], by_timestamps(&report));
    let silent = forgetful(&folder, "");
    let ran = folder.isolde(&["test", &silent, "--online", "--duration", "60s", "--sessions", "2"]);
    assert!(ran.code == Some(2) && ran.err.contains("told no timestamps"), "{ran:#?}");
}

#[test]
fn etcd_is_right_while_it_runs() {
    if !has_etcd() {
        return;
    }
    let folder = Folder::new("online-etcd");
    let args = ["etcd:1", "--isolation", "strict-serializable", "--commits", "300"];
    let report = online(&folder, 0, &args);
    assert_eq!(report["online"]["holds"], true, "{report:#}");
}
