//! Real databases under real workloads: correct ones give no alarm, weak ones are found out. A small
//! slice of `isolde-bench soak`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_target::{OpenOptions, open};

use crate::common::{Folder, has, has_mariadb, has_postgres};

const WORKLOADS: [&str; 5] = ["mini", "general", "append", "cas", "register"];

/// Every workload, at the level that the database's own one promises: it holds, or nobody knows.
#[track_caller]
fn keeps_its_promise(target: &str, isolation: &str, commits: &str) {
    let folder = Folder::new(&format!("{}-{isolation}", target.split(':').next().unwrap()));
    for workload in WORKLOADS {
        let args = ["test", target, "--isolation", isolation, "--workload", workload];
        let more = ["--commits", commits, "--keys", "30", "--seed", "3", "--retries", "1"];
        let ran = folder.isolde(&[args.as_slice(), &more].concat());
        assert!(matches!(ran.code, Some(0 | 3)), "{target} {isolation} {workload}: {ran:#?}");
        assert!(!ran.out.contains("violated"), "{ran:#?}");
        assert_eq!(ran.err, "", "{target} {isolation} {workload}");
    }
    // Nothing was found, so nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The same at several levels on one throwaway server, which takes longer to start than to be tested.
#[track_caller]
fn server_keeps_its_promises(kind: &str, isolations: &[&str], commits: &str) {
    let server = open(kind, &OpenOptions::default()).unwrap();
    let url = server.throwaway().unwrap().url;
    for isolation in isolations {
        keeps_its_promise(&url, isolation, commits);
    }
}

/// The level is violated, and this anomaly is among what was found.
#[track_caller]
fn is_found_out(args: &[&str], anomaly: &str) {
    let folder = Folder::new(&format!("found-{}", args.join("-").replace(['/', ':'], "-")));
    let budget = ["--repeat", "30", "--budget", "60s", "--seed", "5", "--commits", "3k"];
    let ran = folder.isolde(&[&["test"], args, &budget].concat());
    assert_eq!(ran.code, Some(1), "{args:?}: {ran:#?}");
    assert!(ran.out.contains("violated"), "{ran:#?}");
    // Everything for a bug report is there, and the excerpt alone shows the same.
    let runs = folder.path().join("isolde-runs");
    let kept = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(kept.join("report.txt")).unwrap();
    assert!(report.contains(anomaly), "no {anomaly} in\n{report}");
    assert!(report.contains("again      isolde test "), "{report}");
    let excerpt = std::fs::read_dir(kept.join("excerpts")).unwrap().next().unwrap().unwrap();
    let level = args[args.iter().position(|a| *a == "--level").unwrap() + 1];
    let again = folder.isolde(&["check", "--level", level, excerpt.path().to_str().unwrap()]);
    assert_eq!(again.code, Some(1), "{again:#?}");
}

#[test]
fn fjall_is_serializable() {
    keeps_its_promise("fjall", "serializable", "2k");
}

#[cfg(feature = "surrealkv")]
#[test]
fn surrealkv_has_snapshots() {
    keeps_its_promise("surrealkv", "snapshot", "2k");
}

#[test]
fn sqlite_is_serializable() {
    keeps_its_promise("sqlite", "deferred", "1k");
    keeps_its_promise("sqlite", "immediate", "1k");
}

/// With as many rows as they have if nothing is said.
#[test]
fn applications_run_on_a_real_database() {
    let folder = Folder::new("applications");
    for workload in ["mix", "twitter", "rubis", "tpcc"] {
        let args = ["test", "sqlite", "--workload", workload, "--commits", "300", "--seed", "3"];
        let ran = folder.isolde(&args);
        assert!(matches!(ran.code, Some(0 | 3)), "{workload}: {ran:#?}");
        assert!(ran.out.contains(&format!("workload   {workload}, sessions 8")), "{ran:#?}");
        assert_eq!(ran.err, "", "{workload}");
    }
}

/// A list is a text with commas, made and lengthened by `INSERT ... ON CONFLICT DO UPDATE`.
#[test]
fn lists_are_appended_to_by_upserts() {
    let folder = Folder::new("upserts");
    let file = folder.file("h.jsonl");
    let args = ["record", "sqlite", &file, "--workload", "append"];
    let more = ["--path", "upsert,primary-key", "--commits", "200"];
    let ran = folder.isolde(&[&args[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"upsert\""), "{text}");
    assert!(!text.contains("\"update-else-insert\""), "{text}");
}

#[cfg(feature = "surrealkv")]
#[test]
fn snapshots_of_surrealkv_allow_write_skew() {
    let args = ["surrealkv", "--isolation", "snapshot", "--level", "ser"];
    is_found_out(&[args.as_slice(), &["--favour", "write-skew"]].concat(), "WriteSkew");
}

#[test]
fn postgres_keeps_its_promises() {
    if has_postgres() {
        let levels = ["read-committed", "repeatable-read", "serializable"];
        server_keeps_its_promises("postgres", &levels, "1k");
    }
}

#[test]
fn repeatable_read_of_postgres_is_not_serializable() {
    if has_postgres() {
        let args = ["postgres", "--isolation", "repeatable-read", "--level", "ser"];
        is_found_out(&[args.as_slice(), &["--favour", "WriteSkew"]].concat(), "WriteSkew");
    }
}

#[test]
fn mariadb_keeps_its_promises() {
    if has_mariadb() {
        let levels =
            ["read-committed", "repeatable-read", "repeatable-read-snapshot", "serializable"];
        server_keeps_its_promises("mariadb", &levels, "1k");
    }
}

#[test]
fn repeatable_read_of_mariadb_loses_updates() {
    if has_mariadb() {
        let args = ["mariadb", "--isolation", "repeatable-read", "--level", "si"];
        is_found_out(&[args.as_slice(), &["--favour", "LostUpdate"]].concat(), "LostUpdate");
    }
}

#[test]
fn etcd_is_strictly_serializable() {
    if !has("etcd", &["/usr/bin", "/usr/local/bin"]) {
        return;
    }
    let folder = Folder::new("etcd");
    for (target, workload, level) in
        [("etcd", "mini", "sser"), ("etcd", "append", "sser"), ("etcd:1", "cas", "lin")]
    {
        let args = ["test", target, "--isolation", "strict-serializable", "--level", level];
        let more = ["--workload", workload, "--commits", "300", "--seed", "3"];
        let ran = folder.isolde(&[args.as_slice(), &more].concat());
        assert_eq!(ran.code, Some(0), "{target} {workload} at {level}: {ran:#?}");
        assert_eq!(ran.err, "", "{target} {workload}");
    }
    let args = ["test", "etcd", "--isolation", "serializable-reads", "--commits", "300"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

/// Whether this build knows an engine that is behind a feature. In CI it has to.
fn knows(engine: &str) -> bool {
    let folder = Folder::new(&format!("knows-{engine}"));
    let known =
        folder.isolde(&["targets"]).out.lines().any(|l| l.starts_with(&format!("{engine} ")));
    if !known {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{engine} is not in this build");
        eprintln!("SKIPPED: build with the feature {engine} (scripts/test.sh does it)");
    }
    known
}

/// A bug of a release, and the release that mended it: surrealdb#7473.
#[test]
fn surrealmx_lost_updates_until_it_was_mended() {
    if knows("surrealmx-0-22") && knows("surrealmx") {
        let args = ["surrealmx-0-22", "--level", "si", "--favour", "LostUpdate"];
        is_found_out(&args, "LostUpdate");
        for isolation in ["snapshot", "serializable"] {
            keeps_its_promise("surrealmx", isolation, "2k");
        }
    }
}

#[test]
fn myrocks_has_snapshots() {
    if has_mariadb() {
        let levels = ["read-committed", "repeatable-read"];
        server_keeps_its_promises("mariadb-rocksdb", &levels, "500");
    }
}

/// Read skew at MariaDB's repeatable read, by its other name in the catalogue.
#[test]
fn repeatable_read_of_mariadb_shows_half_a_transaction() {
    if has_mariadb() {
        let args = ["mariadb", "--isolation", "repeatable-read", "--level", "si"];
        let more = ["--favour", "FracturedRead", "--path", "primary-key,for-update"];
        is_found_out(&[args.as_slice(), &more].concat(), "FracturedRead");
    }
}

/// The seed that a violation prints finds one again, and many trials are counted.
#[test]
fn trials_are_counted() {
    let folder = Folder::new("trials");
    let args = ["test", "faulty", "--isolation", "snapshot", "--level", "ser", "--json"];
    let more = ["--favour", "WriteSkew", "--trials", "3", "--commits", "2k", "--seed", "9"];
    let ran = folder.isolde(&[args.as_slice(), &more].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("\"trials\":3"), "{}", ran.out);
    assert!(ran.out.contains("\"mean_seconds_to_a_violation\""), "{}", ran.out);
    let object = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let seeds: Vec<u64> = ran.out.lines().filter_map(|l| object(l)["seed"].as_u64()).collect();
    assert_eq!(seeds, [9, 10, 11], "one object a line");
}
