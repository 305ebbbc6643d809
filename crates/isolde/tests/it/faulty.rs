//! The engine that is faulty on purpose: each planted anomaly is found, under its name, at the levels that
//! forbid it and at no other; and where nothing is planted nothing is found.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_spec::{Anomaly, Level};
use isolde_workload::favoured;
use serde_json::Value;

use crate::common::Folder;

/// The levels of transactions; the others are of single operations.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|l| !matches!(l, Level::Sequential | Level::Linearizable))
}

/// How many seeds to try: one, or what `ISOLDE_CASES` says.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let cases = std::env::var("ISOLDE_CASES").ok().and_then(|cases| cases.parse().ok());
    1..=cases.unwrap_or(1)
}

/// Runs with an anomaly planted, and looks at every level.
fn plant(anomaly: Anomaly, seed: u64) {
    let folder = Folder::new(&format!("faulty-{anomaly}-{seed}"));
    let all: Vec<&str> = levels().map(Level::name).collect();
    let (name, seed) = (anomaly.name(), seed.to_string());
    let args = ["test", "faulty", "--fault", name, "--txns", "10k", "--seed", &seed, "--json"];
    let ran = folder.isolde(&[args.as_slice(), &["--level", &all.join(",")]].concat());
    assert_eq!(ran.code, Some(1), "{anomaly}, seed {seed}: {ran:#?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let verdicts = report["verdicts"].as_array().unwrap();
    // By timestamps it is asked as well: `timestamps.rs` looks at that.
    let verdicts = verdicts.iter().filter(|verdict| verdict["by"] == "values");
    assert_eq!(verdicts.clone().count(), all.len());
    for (level, verdict) in levels().zip(verdicts) {
        let forbidden = anomaly.forbidden_at(level);
        let found = verdict["counts"].as_array().unwrap();
        let found: Vec<&str> = found.iter().map(|c| c["anomaly"].as_str().unwrap()).collect();
        let expected = if forbidden { "violated" } else { "holds" };
        let answer = verdict["answer"].as_str().unwrap();
        assert_eq!(answer, expected, "{anomaly}, seed {seed}, {level}: {found:?}");
        if forbidden {
            // The most basic comes first. Three are also something else: who reads what it is going to
            // write reads something else later; of reads that differ, one misses what the other saw;
            // and who misses what its session did also misses it in real time.
            let more = match anomaly {
                Anomaly::FutureRead => "NonRepeatableReads",
                Anomaly::NonRepeatableReads => "FracturedRead",
                Anomaly::SessionGuaranteeViolation => "G-single",
                _ => name,
            };
            assert_eq!(found[0], name, "seed {seed}, {level}: {found:?}");
            assert!(found[1..].iter().all(|f| *f == more), "seed {seed}, {level}: {found:?}");
            assert_eq!(verdict["witnesses"][0]["anomaly"], name, "seed {seed}, {level}");
        }
    }
}

#[test]
fn each_of_the_fourteen_is_found_where_it_is_forbidden() {
    for seed in seeds() {
        // Two at a time: each has eight sessions of its own.
        let all: Vec<Anomaly> = favoured().collect();
        for pair in all.chunks(2) {
            std::thread::scope(|scope| {
                pair.iter().for_each(|anomaly| {
                    scope.spawn(move || plant(*anomaly, seed));
                });
            });
        }
    }
}

#[test]
fn without_a_fault_every_mode_keeps_its_promise() {
    for isolation in ["read-committed", "snapshot", "serializable"] {
        let folder = Folder::new(&format!("faulty-{isolation}"));
        let ran = folder.isolde(&[
            "test",
            "faulty",
            "--isolation",
            isolation,
            "--txns",
            "100k",
            "--seed",
            "1",
        ]);
        assert_eq!(ran.code, Some(0), "{isolation}: {ran:#?}");
    }
}

#[test]
fn weak_modes_are_weak() {
    for (isolation, level, anomaly) in
        [("read-committed", "si", "LostUpdate"), ("snapshot", "ser", "WriteSkew")]
    {
        let folder = Folder::new(&format!("faulty-weak-{isolation}"));
        let ran = folder.isolde(&[
            "test",
            "faulty",
            "--isolation",
            isolation,
            "--level",
            level,
            "--favour",
            anomaly,
            "--repeat",
            "5",
            "--seed",
            "1",
        ]);
        assert_eq!(ran.code, Some(1), "{isolation}: {ran:#?}");
        assert!(ran.out.contains(anomaly), "{isolation}: {ran:#?}");
    }
}

#[test]
fn what_cannot_be_planted_is_refused() {
    let folder = Folder::new("faulty-refused");
    for (args, problem, hint) in [
        (
            &["fjall", "--fault", "lost-update"][..],
            "LostUpdate cannot be planted in 'fjall'",
            "faulty",
        ),
        (&["faulty", "--fault", "G0"], "G0 cannot be planted", "ThinAirRead, AbortedRead"),
        (
            &["faulty", "--fault", "write-skew", "--workload", "append"],
            "anomalies are planted among mini-transactions",
            "--workload",
        ),
        (
            &["faulty", "--fault", "write-skew", "--isolation", "snapshot"],
            "has no level 'snapshot'",
            "serializable",
        ),
    ] {
        let ran = folder.isolde(&[&["test"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        assert!(ran.err.contains(problem) && ran.err.contains(hint), "{args:?}: {ran:#?}");
    }
}
