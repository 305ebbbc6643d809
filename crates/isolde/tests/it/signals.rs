//! Signals: what was recorded is checked, the exit code says that the run was not through, and a signal that
//! comes twice at once is one.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Folder, Ran, has_postgres};
use crate::trouble::{disturbed, disturbed_after, free_port, is_gone, signal};

#[test]
fn a_run_that_a_signal_ended_is_checked_and_does_not_pass() {
    for (kind, name, code) in
        [("-INT", "Ctrl-C", 130), ("-TERM", "SIGTERM", 143), ("-HUP", "SIGHUP", 129)]
    {
        let folder = Folder::new("signal");
        let args = ["test", "fjall", "--duration", "10m", "--seed", "1"];
        let ran = disturbed(&folder, &args, |pid| signal(kind, pid));
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        assert!(ran.out.contains(&format!("ended by {name}")), "{ran:#?}");
        assert!(ran.out.contains("serializable: holds"), "{ran:#?}");
        assert!(ran.out.contains("this is the answer so far"), "{ran:#?}");
    }
}

#[test]
fn a_run_that_a_signal_ended_and_that_found_something_is_violated() {
    let folder = Folder::new("signal-violated");
    let args = ["test", "faulty", "--fault", "lost-update", "--duration", "10m", "--json"];
    // The first update is lost after some hundred commits.
    let ran = disturbed_after(40_000, &folder, &args, |pid| signal("-TERM", pid));
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains(r#""ended_by": "SIGTERM""#), "{}", ran.out);
    assert!(ran.out.contains(r#""exit_code": 1"#), "{}", ran.out);
}

/// `timeout` signals the process and then its group.
#[test]
fn a_signal_that_comes_twice_at_once_is_one() {
    let folder = Folder::new("signal-twice");
    let args = ["test", "fjall", "--duration", "10m", "--seed", "1"];
    let ran = disturbed(&folder, &args, |pid| {
        signal("-TERM", pid);
        std::thread::sleep(Duration::from_millis(20));
        let _ = Command::new("kill").args(["-TERM", &pid.to_string()]).status();
    });
    assert_eq!(ran.code, Some(143), "{ran:#?}");
    assert!(ran.out.contains("serializable: holds"), "{ran:#?}");
    assert_eq!(ran.err.matches("once more to stop at once").count(), 1, "{ran:#?}");
}

/// `nohup` starts a program with SIGHUP ignored, so that it goes on without its terminal.
#[test]
fn a_run_that_was_told_to_ignore_the_end_of_its_terminal_does() {
    let folder = Folder::new("nohup");
    let script = "trap '' HUP; exec \"$0\" test fjall --duration 2s --seed 1";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_isolde")]).current_dir(folder.path());
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(800));
    signal("-HUP", child.id());
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!ran.out.contains("ended by"), "{ran:#?}");
}

#[test]
fn a_second_ctrl_c_stops_at_once() {
    if !has_postgres() {
        return;
    }
    let folder = Folder::new("ctrl-c-twice");
    let port = free_port();
    let args = ["test", "postgres", "--duration", "10m", "--port", &port];
    let ran = disturbed(&folder, &args, |pid| {
        signal("-INT", pid);
        std::thread::sleep(Duration::from_millis(600));
        // The first one may have been enough by now.
        let quiet =
            Command::new("kill").args(["-INT", &pid.to_string()]).stderr(Stdio::null()).status();
        let _ = quiet;
    });
    assert_eq!(ran.code, Some(130), "{ran:#?}");
    assert!(is_gone(&port), "the server is still there");
}

#[test]
fn nothing_run_is_not_a_pass() {
    let folder = Folder::new("nothing");
    for args in [["--trials", "0"], ["--repeat", "0"], ["--budget", "0s"]] {
        let args = [["test", "faulty"], args].concat();
        let ran = folder.isolde(&args);
        assert_eq!(ran.code, Some(3), "{args:?}: {ran:#?}");
        let said = "serializable: unknown (nothing was run, so nothing was tested)";
        assert!(ran.out.contains(said), "{args:?}: {ran:#?}");
        let json: Ran = folder.isolde(&[args.as_slice(), &["--json"]].concat());
        assert_eq!(json.code, Some(3), "{json:#?}");
        assert!(json.out.contains(r#""outcome":"unknown""#), "{json:#?}");
    }
}

#[test]
fn each_of_several_runs_is_told_when_it_is_over() {
    let folder = Folder::new("lines");
    let args = ["test", "fjall", "--repeat", "3", "--txns", "200", "--seed", "7"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    for line in ["run 1  seed 7: holds", "run 2  seed 8: holds", "run 3  seed 9: holds"] {
        assert!(ran.out.contains(line), "{ran:#?}");
    }
}
