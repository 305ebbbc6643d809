//! `isolde driver check`, and the example for Redis against a real server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, has};

fn example() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drivers/redis_driver.py");
    path.canonicalize().unwrap()
}

/// The command of the example, if Python and Redis are here.
fn redis() -> Option<String> {
    let here = has("python3", &[]) && has("redis-server", &["/usr/bin", "/usr/local/bin"]);
    here.then(|| format!("python3 {}", example().display()))
}

/// A driver that answers everything and keeps nothing, and leaves the numbers of its processes.
fn forgetful(folder: &Folder) -> String {
    let path = folder.file("driver.sh");
    let text = r#"echo $$ >>pids; n=0
        say() { n=$((n+1)); printf '{"id":%d,"ok":%s}\n' $n "$1"; }
        while read -r line; do case $line in
        *'"do":"hello"'*) say '{"protocol":1,"name":"Forgetful","version":"0","kinds":["read","write"],"levels":[{"name":"none","promises":"ser"}]}' ;;
        *'"do":"read"'*) say null ;;
        *'"do":"commit"'*) say '"committed"' ;;
        *'"do":"close"'*) exit 0 ;;
        *) say true ;;
        esac; done"#;
    fs::write(&path, text).unwrap();
    format!("sh {path}")
}

#[test]
fn the_example_is_short() {
    let lines = fs::read_to_string(example()).unwrap().lines().count();
    assert!(lines < 150, "{lines} lines");
}

#[test]
fn the_example_keeps_to_the_protocol() {
    let Some(command) = redis() else { return };
    let folder = Folder::new("keeps");
    let ran = folder.isolde(&["driver", "check", &command]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("the driver keeps to the protocol") && !ran.out.contains("--  "));
}

#[test]
fn redis_is_strictly_serializable() {
    let Some(command) = redis() else { return };
    let folder = Folder::new("redis");
    let target = format!("driver:{command}");
    for (workload, level) in
        [("mini", "ser"), ("mini", "sser"), ("append", "sser"), ("cas", "sser")]
    {
        let args = ["test", &target, "--workload", workload, "--level", level];
        let ran = folder.isolde(&[args.as_slice(), &["--commits", "800", "--seed", "3"]].concat());
        assert_eq!(ran.code, Some(0), "{workload} at {level}: {ran:#?}");
        assert_eq!(ran.err, "", "{workload}");
    }
}

#[test]
fn without_watch_redis_loses_updates() {
    let Some(command) = redis() else { return };
    let folder = Folder::new("no-watch");
    let target = format!("driver:REDIS_DRIVER_NO_WATCH=1 {command}");
    let args = ["test", &target, "--level", "ser", "--favour", "LostUpdate", "--commits", "2k"];
    let ran = folder.isolde(&[args.as_slice(), &["--repeat", "10", "--seed", "1"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("LostUpdate"), "{}", ran.out);
    // What can be typed again is quoted.
    assert!(
        ran.out.contains("isolde test 'driver:REDIS_DRIVER_NO_WATCH=1 python3 "),
        "{}",
        ran.out
    );
}

#[test]
fn what_is_wrong_is_listed() {
    let folder = Folder::new("wrong");
    let command = forgetful(&folder);
    let ran = folder.isolde(&["driver", "check", &command, "--timeout", "1s"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("ok      hello"), "{}", ran.out);
    assert!(ran.out.contains("FAILED  fresh rows         expected: rows of a filled table hold 0"));
    assert!(ran.out.contains("found: row 0: [] instead of [0]"), "{}", ran.out);
    let json = folder.isolde(&["driver", "check", &command, "--timeout", "1s", "--json"]);
    assert_eq!(json.code, Some(1));
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["ok"], false);
    let results: Vec<&Value> = json["checks"].as_array().unwrap().iter().collect();
    assert!(results.iter().any(|c| c["name"] == "cas" && c["result"] == "skipped"));
    assert!(results.iter().any(|c| c["name"] == "commit" && c["result"] == "failed"));
}

#[test]
fn a_workload_that_the_driver_cannot_do_is_refused() {
    let folder = Folder::new("cannot");
    let target = format!("driver:{}", forgetful(&folder));
    let ran = folder.isolde(&["test", &target, "--workload", "cas"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("Forgetful cannot do 'cas'"), "{}", ran.err);
}

/// However we end, drivers see the end of their input.
#[test]
fn drivers_go_when_we_are_killed() {
    let folder = Folder::new("killed");
    let target = format!("driver:{}", forgetful(&folder));
    let mut command = folder.command(&["record", &target, "x.isolde", "--duration", "60s"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pids = || fs::read_to_string(folder.file("pids")).unwrap_or_default();
    let deadline = Instant::now() + Duration::from_secs(120);
    while pids().lines().count() < 9 {
        assert!(Instant::now() < deadline, "the drivers did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in pids().lines() {
        while Path::new(&format!("/proc/{pid}/exe")).exists() {
            assert!(Instant::now() < deadline, "{pid} is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
