//! Throwaway servers go away, whatever happens.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use isolde_target::{Mishap, OpenOptions, open};

use crate::common::{eventually, installed, is_alive, options, registers, server, signal};

const KINDS: [&str; 3] = ["postgres", "mariadb", "mariadb-rocksdb"];

/// Set for the process that a test starts in order to kill it.
const VICTIM: &str = "ISOLDE_TEST_VICTIM";

#[track_caller]
fn assert_gone(pid: u32, folder: &Path) {
    eventually("the server is gone", || !is_alive(pid));
    eventually("its folder is gone", || !folder.exists());
}

#[test]
fn a_dropped_server_is_gone() {
    for kind in KINDS {
        let Some(target) = server(kind) else { continue };
        let at = target.throwaway().unwrap();
        let pid = at.pid.unwrap();
        assert!(is_alive(pid) && at.folder.is_dir() && !at.kept, "{kind}");
        assert_eq!(target.last_words(), None, "{kind}");
        drop(target);
        assert!(!is_alive(pid) && !at.folder.exists(), "{kind}: still there after drop");
    }
}

#[test]
fn a_panic_stops_the_server_too() {
    let Some(target) = server("postgres") else { return };
    let at = target.throwaway().unwrap();
    let caught = catch_unwind(AssertUnwindSafe(move || {
        let _target = target;
        panic!("on purpose");
    }));
    assert!(caught.is_err() && !is_alive(at.pid.unwrap()) && !at.folder.exists());
}

/// Not a test of its own: the process that others start, and kill.
#[test]
fn victim() {
    let Ok(order) = std::env::var(VICTIM) else { return };
    let (kind, how) = order.split_once(' ').unwrap();
    let target = open(kind, &options()).unwrap();
    let at = target.throwaway().unwrap();
    if how == "pause" {
        target.nodes()[0].harm(Mishap::Pause).unwrap();
    }
    println!("\nvictim {} {}", at.pid.unwrap(), at.folder.display());
    match how {
        "exit" => std::process::exit(3),
        _ => std::thread::sleep(Duration::from_secs(60)),
    }
}

fn start_victim(order: &str) -> (std::process::Child, u32, PathBuf) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["servers::victim", "--exact", "--nocapture"])
        .env(VICTIM, order)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|l| l.starts_with("victim ")).unwrap();
    let mut words = line.split(' ').skip(1);
    (child, words.next().unwrap().parse().unwrap(), PathBuf::from(words.next().unwrap()))
}

#[test]
fn a_killed_process_leaves_no_server() {
    for kind in KINDS {
        if !installed(kind) {
            continue;
        }
        let (mut child, pid, folder) = start_victim(&format!("{kind} kill"));
        assert!(is_alive(pid) && folder.is_dir());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(pid, &folder);
    }
}

/// The system hangs up on a group of processes of which some are stopped when nobody is left who could
/// start them again: the shell that stops the server must not go with it.
#[test]
fn a_process_that_is_killed_while_its_server_is_paused_leaves_none() {
    for kind in ["postgres", "mariadb"] {
        if !installed(kind) {
            continue;
        }
        let (mut child, pid, folder) = start_victim(&format!("{kind} pause"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(pid, &folder);
    }
}

#[test]
fn a_process_that_exits_leaves_no_server() {
    if !installed("postgres") {
        return;
    }
    let (mut child, pid, folder) = start_victim("postgres exit");
    child.wait().unwrap();
    assert_gone(pid, &folder);
}

#[test]
fn a_kept_server_stays() {
    let kept = OpenOptions { keep: true, ..options() };
    if !installed("postgres") {
        return;
    }
    let target = open("postgres", &kept).unwrap();
    let at = target.throwaway().unwrap();
    drop(target);
    let pid = at.pid.unwrap();
    assert!(at.kept && is_alive(pid) && at.folder.is_dir());
    // It can be reached by its URL, and what is made there is removed.
    let again = open(&at.url, &options()).unwrap();
    again.create(&registers(0, 10)).unwrap();
    again.clean().unwrap();
    drop(again);
    signal("INT", pid);
    eventually("the server is gone", || !is_alive(pid));
    assert!(at.folder.is_dir());
    // Whoever watched over it may still be writing there that it is gone.
    eventually("its folder can be removed", || fs::remove_dir_all(&at.folder).is_ok());
}

#[test]
fn a_server_that_died_left_its_log() {
    for kind in ["postgres", "mariadb"] {
        let Some(target) = server(kind) else { continue };
        let at = target.throwaway().unwrap();
        signal("KILL", at.pid.unwrap());
        eventually("its last words", || target.last_words().is_some());
        let words = target.last_words().unwrap();
        drop(target);
        assert_gone(at.pid.unwrap(), &at.folder);
        let path = words.split(';').next().unwrap().strip_prefix("the log is ").unwrap();
        assert!(!fs::read_to_string(path).unwrap().is_empty(), "{kind}: {words}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_taken_port_is_refused() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    for kind in KINDS {
        if !installed(kind) {
            continue;
        }
        let taken = OpenOptions { port: Some(port), ..options() };
        let error = open(kind, &taken).err().unwrap().to_string();
        assert!(error.contains(&format!("port {port} on 127.0.0.1")), "{kind}: {error}");
    }
}

#[test]
fn a_wrong_folder_of_programs_is_refused() {
    for kind in KINDS {
        let wrong = OpenOptions { server_bin: Some(PathBuf::from("/nowhere/bin")), ..options() };
        let error = open(kind, &wrong).err().unwrap().to_string();
        assert!(error.contains("/nowhere/bin") && error.contains("hint:"), "{kind}: {error}");
    }
}

#[test]
fn programs_are_found_around_the_given_folder() {
    let Some(target) = server("mariadb") else { return };
    let pid = target.throwaway().unwrap().pid.unwrap();
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    drop(target);
    let folder = program.parent().map(Path::to_owned);
    drop(open("mariadb", &OpenOptions { server_bin: folder, ..options() }).unwrap());
}

#[test]
fn a_server_that_does_not_start_shows_its_log() {
    let name = format!("isolde-test-bin-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    for (name, text) in [("initdb", "exit 0"), ("postgres", "echo out of luck; exit 1")] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let broken = OpenOptions { server_bin: Some(folder.clone()), ..options() };
    let error = open("postgres", &broken).err().unwrap().to_string();
    fs::remove_dir_all(folder).unwrap();
    assert!(error.contains("out of luck"), "{error}");
}

#[test]
fn what_is_no_target_is_refused() {
    let error = open("oracle", &options()).err().unwrap().to_string();
    assert!(error.contains("'oracle'") && error.contains("postgres"), "{error}");
}
