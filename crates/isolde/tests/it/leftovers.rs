//! What a run that is killed leaves behind is found and removed.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran, has_mariadb, has_postgres};
use crate::throwaway::{Kept, kill};

/// Waits until something is so.
#[track_caller]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn start(folder: &Folder, target: &str) -> Child {
    let args = ["record", target, "x.isolde", "--duration", "60s", "--force"];
    let mut command = folder.command(&args);
    command.env("TMPDIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn end(mut child: Child) {
    kill(child.id());
    child.wait().unwrap();
}

/// A run on a database is killed; its tables are listed, and removed when that is asked for.
#[track_caller]
fn tables_are_found_and_removed(url: &str) {
    let folder = Folder::new("clean");
    let clean = |more: &[&str]| folder.isolde(&[&["clean", url], more].concat());
    assert_eq!(clean(&[]).out, "nothing was left behind\n");
    let child = start(&folder, url);
    until("a table is there", || clean(&[]).out.contains("table isolde_"));
    end(child);
    // Its sessions end a moment later.
    until("the run is gone", || clean(&[]).out.contains("left behind\n"));
    let removed: Ran = clean(&["--force"]);
    assert_eq!(removed.code, Some(0), "{removed:#?}");
    assert!(removed.out.contains(": removed"), "{removed:#?}");
    assert_eq!(clean(&["--yes"]).out, "nothing was left behind\n");
}

#[test]
fn tables_of_killed_runs_are_found_and_removed_on_postgres() {
    if has_postgres() {
        tables_are_found_and_removed(&Kept::start("postgres").url);
    }
}

#[test]
fn tables_of_killed_runs_are_found_and_removed_on_mariadb() {
    if has_mariadb() {
        tables_are_found_and_removed(&Kept::start("mariadb").url);
    }
}

#[test]
fn tables_of_killed_runs_are_found_and_removed_in_sqlite() {
    let folder = Folder::new("clean-sqlite");
    let file = folder.file("own.db");
    std::fs::write(&file, "").unwrap();
    tables_are_found_and_removed(&format!("sqlite:{file}"));
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let folder = Folder::new("notdb");
    std::fs::write(
        folder.file("notdb"),
        "no database, but long enough to be read as one".repeat(40),
    )
    .unwrap();
    let ran = folder.isolde(&["test", "sqlite:notdb"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("notdb: file is not a database"), "{ran:#?}");
}

fn engines(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("isolde-fjall-")).count()
}

#[test]
fn the_folder_of_a_killed_engine_is_removed_by_the_next_run() {
    let folder = Folder::new("engine");
    let child = start(&folder, "fjall");
    until("its folder is there", || engines(folder.path()) == 1);
    std::thread::sleep(Duration::from_millis(300));
    end(child);
    assert_eq!(engines(folder.path()), 1);
    let mut next = folder.command(&["test", "fjall", "--txns", "100"]);
    let ran = Ran::of(&next.env("TMPDIR", folder.path()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(engines(folder.path()), 0);
}
