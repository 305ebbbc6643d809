//! `isolde fuzz`: what it says, how it ends, and findings that are replayed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, Ran, has_mariadb, has_postgres};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"))
}

#[test]
fn sqlite_gives_what_the_serial_case_gives() {
    let folder = Folder::new("fuzz-sqlite");
    for level in ["deferred", "immediate"] {
        let args =
            ["fuzz", "sqlite", "--isolation", level, "--cases", "150", "--seed", "7", "--json"];
        let ran = folder.isolde(&args);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let told = json(&ran);
        let tally = &told["tally"];
        assert_eq!((&tally["cases"], &tally["findings"]), (&150.into(), &0.into()), "{told:#}");
        assert!(tally["share_reached"].as_f64().unwrap() >= 0.5, "{told:#}");
        assert!(tally["share_without_error"].as_f64().unwrap() >= 0.7, "{told:#}");
        assert!(tally["compared"].as_u64().unwrap() > 150, "{told:#}");
        // One worker at a time gives the same.
        let one = folder.isolde(&[&args[..], &["--parallel", "1"]].concat());
        for count in ["own_statements", "compared", "cut", "serial_cases", "reached_serial_oracle"]
        {
            assert_eq!(json(&one)["tally"][count], tally[count], "{count}");
        }
    }
    // Nothing was found, so there is nothing to keep.
    assert!(!folder.path().join("isolde-fuzz").exists());
}

#[test]
fn postgres_gives_what_the_serial_case_gives() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("fuzz-postgres");
    for level in ["read-committed", "repeatable-read", "serializable"] {
        let ran = folder.isolde(&[
            "fuzz",
            "postgres",
            "--isolation",
            level,
            "--cases",
            "60",
            "--seed",
            "3",
        ]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(ran.out.contains("findings      none") && ran.out.contains("60 in"), "{}", ran.out);
    }
}

#[test]
fn a_finding_is_replayed_and_said_to_show_or_not() {
    if !has_mariadb() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let finding = root.join("examples/fuzz/mariadb-count-distinct").display().to_string();
    let folder = Folder::new("fuzz-replay");
    let ran = folder.isolde(&["fuzz", "mariadb", "--replay", &finding]);
    // A later version of the server may have mended it; 10.11.19 has not.
    let says = match ran.code {
        Some(1) => "it still shows: predicate select",
        Some(0) => "it does not show: predicate select",
        _ => panic!("{ran:#?}"),
    };
    assert!(ran.out.starts_with(says), "{}", ran.out);
    if json(&folder.isolde(&["targets", "mariadb", "--json"]))["version"]
        .as_str()
        .is_some_and(|version| version.starts_with("10.11.19"))
    {
        assert_eq!(ran.code, Some(1), "{ran:#?}");
    }
}

#[test]
fn a_folder_that_is_not_whole_is_refused_by_the_name_of_what_is_missing() {
    let folder = Folder::new("fuzz-folder");
    let refused = |args: &[&str], words: &[&str]| {
        let ran = folder.isolde(args);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        assert!(words.iter().all(|word| ran.err.contains(word)), "{words:?}: {}", ran.err);
    };
    refused(&["fuzz", "sqlite", "--replay", "nowhere"], &["nowhere", "no folder", "hint"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    refused(&["fuzz", "sqlite", "--replay", "empty"], &["has no file case.json"]);
    for file in ["case.json", "case.sql", "seen.txt"] {
        std::fs::write(folder.path().join("empty").join(file), "{}").unwrap();
    }
    refused(&["fuzz", "sqlite", "--replay", "empty"], &["case.json", "isolde-sql-case"]);
    std::fs::write(
        folder.path().join("empty/case.json"),
        "{\"isolde-sql-case\":1,\"case\":{\"tables\":7}}",
    )
    .unwrap();
    refused(&["fuzz", "sqlite", "--replay", "empty"], &["case.tables", "expected an array"]);
    refused(&["fuzz", "sqlite", "--out", "empty", "--cases", "1"], &["empty exists", "hint"]);
    refused(&["fuzz", "fjall", "--cases", "1"], &["fjall", "SQL", "hint"]);
    refused(
        &["fuzz", "sqlite", "--isolation", "chaos", "--cases", "1"],
        &["no level 'chaos'", "deferred"],
    );
}

#[test]
fn nothing_said_is_unknown_and_a_signal_keeps_what_there_is() {
    let folder = Folder::new("fuzz-ends");
    let ran = folder.isolde(&["fuzz", "sqlite", "--cases", "0"]);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    assert!(ran.out.contains("nothing can be said"), "{}", ran.out);
    let mut command = folder.command(&["fuzz", "sqlite", "--budget", "10m", "--out", "kept"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:#?}");
    assert!(ran.out.contains("reached the serial oracle"), "{}", ran.out);
}

/// The children of a process, whichever of its threads made them.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_thread = |thread: std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    let all: Vec<String> = threads.flatten().map(of_thread).collect();
    all.iter().flat_map(|text| text.split_whitespace()).map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn a_server_that_dies_is_a_finding_and_is_started_again() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("fuzz-crash");
    let args = ["fuzz", "postgres", "--budget", "14s", "--seed", "5", "--out", "kept", "--json"];
    let mut command = folder.command(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command, the script that looks after the server, the server.
    let server = || {
        children(child.id()).into_iter().flat_map(children).find(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "postgres"
        })
    };
    let mut died = None;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        died = server();
        if died.is_some() {
            break;
        }
    }
    std::thread::sleep(Duration::from_secs(4));
    let pid = died.unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let told = json(&ran);
    assert!(told["trouble"].is_null(), "{told:#}");
    let findings = told["findings"].as_array().unwrap();
    let lost =
        findings.iter().filter(|f| f["signature"].as_str().unwrap().starts_with("words Lost"));
    assert!(lost.count() >= 1 && told["tally"]["given_up"]["connection lost"].as_u64() >= Some(1));
    // It went on, on the server that was started again.
    let last = findings.iter().map(|f| f["case"].as_u64().unwrap()).max().unwrap();
    assert!(told["tally"]["cases"].as_u64().unwrap() > last + 10, "{told:#}");
    let kept: Vec<_> = std::fs::read_dir(folder.path().join("kept")).unwrap().flatten().collect();
    assert_eq!(kept.len(), findings.len());
    let log = std::fs::read_to_string(kept[0].path().join("server.log")).unwrap();
    assert!(log.contains("FATAL"), "{log}");
}
