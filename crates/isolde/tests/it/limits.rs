//! Limits of a check as a user meets them: the option that is named, the exit code, Ctrl-C.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::Folder;

fn isolde(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
    command.args(args);
    command
}

#[track_caller]
fn exits(out: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let complained = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{said}{complained}");
    said
}

/// A register that many write and read at the same time, so that a search for an order of its calls has
/// years to do.
fn endless(folder: &Folder) -> String {
    let mut text = "s: w(x,0) @[0,1]\n".to_owned();
    for i in 0..400 {
        let _ = writeln!(
            text,
            "a{i}: w(x,{}) @[2,90]\nb{i}: cas!(x,{},{}) @[2,90]",
            i % 50,
            i % 7,
            i % 11
        );
        let _ = writeln!(text, "c{i}: cas(x,{},{}) @[2,90]", i % 13, 100 + i % 17);
    }
    text += "z: r(x,99) @[95,96]\n";
    let path: PathBuf = folder.path().join("endless.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn what_is_not_decided_in_time_is_unknown_and_says_so() {
    let folder = Folder::new("limits-time");
    let file = endless(&folder);
    let more = ["--order-steps", "1000000000000", "--timeout", "200ms"];
    let args = [&["check", "-l", "lin", &file][..], &more].concat();
    let text = exits(&isolde(&args).output().unwrap(), 3);
    assert!(text.contains("linearizable: unknown") && text.contains("--timeout"), "{text}");
}

#[test]
fn what_needs_more_memory_is_unknown_and_says_so() {
    let folder = Folder::new("limits-memory");
    let file = endless(&folder);
    let args = ["check", "-l", "ser", "--memory", "10K", &file];
    let text = exits(&isolde(&args).output().unwrap(), 3);
    assert!(text.contains("--memory allows more"), "{text}");
    let json =
        isolde(&["check", "-l", "ser", "--memory", "64M", "--json", &file]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["options"]["memory"], 64 << 20);
    exits(&isolde(&["check", "--memory", "lots", &file]).output().unwrap(), 2);
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let folder = Folder::new("limits-violated");
    let path = folder.path().join("aborted.txt");
    std::fs::write(&path, "a: w(x,1) abort\nb: r(x,1)\n").unwrap();
    let file = path.display().to_string();
    let text =
        exits(&isolde(&["check", "-l", "ser", "--timeout", "1h", &file]).output().unwrap(), 1);
    assert!(text.contains("AbortedRead"), "{text}");
}

/// Sends what Ctrl-C sends, as soon as that no longer ends the process by itself.
fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Where the system does not tell, the time that has passed has to do.
        caught.is_none_or(|mask| mask & 2 != 0)
    };
    while !listens() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

#[test]
fn ctrl_c_ends_a_check_and_says_what_is_known() {
    let folder = Folder::new("limits-interrupt");
    let file = endless(&folder);
    let child = isolde(&["check", "-l", "lin", "--order-steps", "1000000000000", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&child);
    let out = child.wait_with_output().unwrap();
    let text = exits(&out, 130);
    let all = text + &String::from_utf8_lossy(&out.stderr);
    assert!(all.contains("linearizable: unknown") && all.contains("stopped"), "{all}");
}
