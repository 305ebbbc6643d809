//! Runs in which servers are harmed on purpose: correct ones give no alarm, and what happened is in the
//! record.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::common::{Folder, Ran, has, has_mariadb, has_postgres};

/// Runs with a fault and keeps the history; the report as JSON.
#[track_caller]
fn harmed(args: &[&str]) -> (Folder, Value, Ran) {
    let folder = Folder::new(&args.join("-").replace(['/', ':', ',', '='], "-"));
    let ran =
        folder.isolde(&[&["test"], args, &["--json", "--keep-history", "--out", "runs"]].concat());
    let report = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:#?}"));
    (folder, report, ran)
}

fn counts(report: &Value, name: &str) -> usize {
    let faults = report["run"]["faults"].as_array().unwrap();
    faults.iter().filter(|fault| fault["name"] == name).count()
}

/// Kills the server every second.
#[track_caller]
fn killed_postgres_loses_nothing(setting: &str) {
    if !has_postgres() {
        return;
    }
    let (folder, report, ran) = harmed(&[
        "postgres",
        "--fault",
        "kill:every=1s",
        "-d",
        "8s",
        "--seed",
        "1",
        "--setting",
        setting,
    ]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(counts(&report, "kill") >= 2, "{ran:#?}");
    assert_eq!(report["target"]["facts"]["fsync"], setting[6..]);
    assert!(report["run"]["lost_connections"].as_u64().unwrap() > 0, "{ran:#?}");
    assert!(report["run"]["committed"].as_u64().unwrap() > 100, "{ran:#?}");
    let history = format!("{}/history.isolde", report["folder"].as_str().unwrap());
    let text = folder.isolde(&["convert", &history, "-", "--to", "jsonl"]).out;
    let events = text.lines().filter(|line| line.contains(r#""event":"kill""#)).count();
    assert_eq!(events, counts(&report, "kill"), "each is in the record");
}

#[test]
fn a_killed_postgres_loses_nothing_that_it_acknowledged() {
    killed_postgres_loses_nothing("fsync=on");
}

/// What was written survives the server, if not the machine.
#[test]
fn a_killed_postgres_without_fsync_loses_nothing_either() {
    killed_postgres_loses_nothing("fsync=off");
}

#[test]
fn broken_and_slow_connections_are_no_anomaly() {
    if !has_mariadb() {
        return;
    }
    let fault = "drop:every=50ms,latency:by=2ms,pause:at=1s:for=500ms";
    let (_, report, ran) = harmed(&["mariadb", "--fault", fault, "-d", "4s", "--seed", "2"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(counts(&report, "drop") > 10 && counts(&report, "latency") == 1, "{ran:#?}");
    assert_eq!(counts(&report, "pause"), 1, "{ran:#?}");
}

#[track_caller]
fn galera_shows(anomaly: &str, isolation: &str, level: &str) {
    if !has("libgalera_smm.so", &["/usr/lib/galera"]) || !has("rsync", &["/usr/bin"]) {
        return;
    }
    let folder = Folder::new(&format!("galera-{isolation}"));
    let what = ["--isolation", isolation, "--level", level, "--favour", anomaly];
    let size = ["--commits", "1k", "--repeat", "5", "--seed", "1"];
    let ran = folder.isolde(&[&["test", "galera"][..], &what, &size].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains(anomaly), "{ran:#?}");
}

#[test]
fn galera_loses_updates_at_repeatable_read() {
    galera_shows("LostUpdate", "repeatable-read", "si");
}

#[test]
fn galera_skews_writes_at_serializable() {
    galera_shows("WriteSkew", "serializable", "ser");
}

#[test]
fn faults_that_cannot_happen_are_refused() {
    let folder = Folder::new("refused");
    let refused = |args: &[&str], why: &str| {
        let ran = folder.isolde(&[&["test"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        assert!(ran.err.contains(why), "{args:?}: {ran:#?}");
    };
    refused(&["fjall", "--fault", "kill"], "can only happen to a throwaway server");
    refused(&["fjall", "--fault", "drop"], "needs connections");
    refused(&["fjall", "--fault", "lost-update"], "only 'faulty' is faulty on purpose");
    refused(&["fjall", "--setting", "a=b"], "are for throwaway servers");
    refused(&["postgres", "--fault", "explode"], "there is no fault 'explode'");
    refused(&["postgres", "--fault", "kill:every=0s"], "at least 1ms");
    if has_postgres() {
        refused(&["postgres", "--fault", "isolate"], "no network of its own");
        refused(
            &["postgres", "--fault", "kill:node=n9"],
            "there is no node 'n9'; there are primary",
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
