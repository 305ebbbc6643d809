//! `isolde watch`: what a source says of itself as a whole counts, and nothing that it says is lost.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;

use crate::common::{Folder, Ran};
use crate::watch::{A, B, FRESH, HEADER, STALE, Watching, json, post};

const OPEN: &str = "{\"isolde\":1,\"complete\":false,\"initial\":{\"default\":0}}\n";
/// Reads what nobody wrote.
const THIN_AIR: &str = "{\"session\":\"d\",\"ops\":[[\"r\",\"x\",7]],\"ts\":[7,8]}\n";

fn watched(folder: &Folder, text: &str) -> Ran {
    fs::write(folder.file("h.jsonl"), text).unwrap();
    folder.isolde(&["watch", "h.jsonl", "--until-end", "--json"])
}

#[test]
fn a_source_that_says_that_it_is_incomplete_shows_nothing_by_what_is_missing() {
    let folder = Folder::new("whole-incomplete");
    let denied = "{\"meta\":{\"complete\":false}}\n";
    for text in [[OPEN, A, THIN_AIR].concat(), [HEADER, A, THIN_AIR, denied].concat()] {
        let ran = watched(&folder, &text);
        assert_eq!(ran.code, Some(3), "{ran:#?}");
        let summary = json(&ran.out);
        assert!(summary["complete"] == false && summary["doubts"] == 1, "{summary}");
        let why = summary["first_doubt"].as_str().unwrap();
        assert!(why.contains("the history is incomplete"), "{why}");
        assert!(ran.err.contains("1 read or conflict stays unknown: "), "{ran:#?}");
    }
    let said = "{\"meta\":{\"complete\":true}}\n";
    assert_eq!(watched(&folder, &[OPEN, A, THIN_AIR, said].concat()).code, Some(1));
    // A native file that was cut.
    fs::write(folder.file("h.jsonl"), [HEADER, A, THIN_AIR].concat()).unwrap();
    assert_eq!(folder.isolde(&["convert", "h.jsonl", "h.isolde"]).code, Some(0));
    assert_eq!(folder.isolde(&["watch", "h.isolde"]).code, Some(1));
    let whole = fs::read(folder.file("h.isolde")).unwrap();
    fs::write(folder.file("cut.isolde"), &whole[..whole.len() - 1]).unwrap();
    let ran = folder.isolde(&["watch", "cut.isolde", "--until-end"]);
    assert!(ran.code == Some(3) && ran.err.contains("the stream is incomplete"), "{ran:#?}");
}

#[test]
fn a_connection_that_ends_before_it_says_that_it_is_complete_is_not() {
    let folder = Folder::new("whole-connection");
    let mut watching = Watching::start(&folder, &["unix:s.sock"]);
    watching.address();
    let mut stream = UnixStream::connect(folder.path().join("s.sock")).unwrap();
    stream.write_all([OPEN, A, THIN_AIR].concat().as_bytes()).unwrap();
    drop(stream);
    watching.until("the stream is incomplete");
    assert_eq!(watching.interrupt().code, Some(3));
}

#[test]
fn commits_that_were_lost_are_found() {
    let folder = Folder::new("whole-lost");
    let event = "{\"event\":\"lost-commit\",\"begin\":9,\"detail\":{\"session\":\"a\",\"key\":\"x\",\"value\":1}}\n";
    let ran = watched(&folder, &[HEADER, A, B, FRESH, event].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(json(&ran.out)["by_anomaly"]["LostCommit"], 1);
    let check = folder.isolde(&["check", "h.jsonl", "--level", "si"]);
    assert!(check.code == Some(1) && check.out.contains("LostCommit"), "{check:#?}");
}

#[test]
fn arrays_are_held_to_no_initial_state_that_nobody_said() {
    let folder = Folder::new("whole-arrays");
    let array = |tid: u32, op: &str| {
        let (start, end) = (2 * tid, 2 * tid + 1);
        format!(
            "[{{\"tid\":{tid},\"sid\":{tid},\"sts\":{{\"p\":0,\"l\":{start}}},\"cts\":{{\"p\":0,\"l\":{end}}},\"ops\":[{op}]}}]"
        )
    };
    let write = array(1, r#"{"t":"w","k":1,"v":6}"#);
    let read = array(2, r#"{"t":"r","k":2,"v":0}"#);
    for (args, code) in [(&[][..], 3), (&["--initial", "0"], 0), (&["--initial", "absent"], 1)] {
        let args = [&["http:127.0.0.1:0"], args].concat();
        let mut watching = Watching::start(&folder, &args);
        let at = watching.address();
        for body in [&write, &read] {
            assert_eq!(post(&at, "/check", body).0, 200);
        }
        let ran = watching.interrupt();
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        assert_eq!(ran.err.contains("--initial 0 or --initial absent"), code == 3, "{ran:#?}");
    }
}

#[test]
fn another_initial_state_is_refused() {
    let folder = Folder::new("whole-initial");
    let mut watching = Watching::start(&folder, &["http:127.0.0.1:0"]);
    let at = watching.address();
    let other = "{\"isolde\":1,\"initial\":{\"default\":5}}\n";
    assert_eq!(post(&at, "/check", &[HEADER, A].concat()).0, 200);
    let (status, why) = post(&at, "/check", &[other, B].concat());
    assert!(status == 400 && why.contains("another initial state"), "{why}");
    assert_eq!(post(&at, "/check", &["{\"isolde\":1}\n", B].concat()).0, 200);
    assert_eq!(json(&watched(&folder, &[HEADER, A, B, FRESH].concat()).out)["complete"], true);
    let ran = watching.interrupt();
    assert!(ran.err.contains("warning: the stream is incomplete"), "{ran:#?}");
}

#[test]
fn a_line_that_was_cut_and_sent_again_leaves_nothing_missing() {
    let folder = Folder::new("whole-again");
    let args = ["unix:s.sock", "--state", "state", "--json", "--timeout", "50ms"];
    let mut watching = Watching::start(&folder, &args);
    watching.address();
    let first = "{\"session\":\"a\",\"seq\":0,\"ts\":[1,2],\"ops\":[[\"w\",\"x\",1]]}\n";
    let second = "{\"session\":\"a\",\"seq\":1,\"ts\":[3,4],\"ops\":[[\"r\",\"x\",1]]}\n";
    let send = |text: &str| {
        let mut stream = UnixStream::connect(folder.path().join("s.sock")).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
    };
    send(&[HEADER, first, &second[..20]].concat());
    watching.until("connection 1 has ended within line 3, which was not acknowledged");
    send(&[HEADER, first, second].concat());
    crate::watch::eventually(|| folder.path().join("s.sock").exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    let summary = json(&watching.interrupt().out);
    assert_eq!((&summary["bad_lines"], &summary["complete"]), (&0.into(), &true.into()));
    assert_eq!((&summary["repeated"], &summary["transactions"]), (&1.into(), &2.into()));
}

#[test]
fn a_file_of_events_is_taken_up_again_after_a_watch_without_it() {
    let folder = Folder::new("whole-events");
    fs::write(folder.file("h.jsonl"), [HEADER, A, B, STALE].concat()).unwrap();
    let plain = ["watch", "h.jsonl", "--until-end", "--state", "state"];
    let with = [&plain[..], &["--events", "e.jsonl"]].concat();
    assert_eq!(folder.isolde(&with).code, Some(1));
    let events = fs::read_to_string(folder.file("e.jsonl")).unwrap();
    assert_eq!(events.lines().count(), 2);
    assert_eq!(folder.isolde(&plain).code, Some(1));
    let ran = folder.isolde(&with);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(fs::read_to_string(folder.file("e.jsonl")).unwrap(), events);
    // It has lost something since.
    assert_eq!(folder.isolde(&plain).code, Some(1));
    fs::write(folder.file("e.jsonl"), &events[..events.len() - 5]).unwrap();
    let ran = folder.isolde(&with);
    assert!(ran.code == Some(2) && ran.err.contains("e.jsonl has lost events"), "{ran:#?}");
}
