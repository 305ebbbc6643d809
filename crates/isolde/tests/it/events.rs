//! `--events`: what happens while it happens, one JSON object a line.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::common::Folder;

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["event"].as_str().unwrap());
    names.filter(|name| *name != "progress").collect()
}

#[test]
fn a_test_tells_its_events_in_a_file() {
    let folder = Folder::new("events");
    let args = ["test", "fjall", "--txns", "2k", "--seed", "1", "--events", "events.jsonl"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = events(&std::fs::read_to_string(folder.file("events.jsonl")).unwrap());
    let expected = ["opening", "opened", "began", "ran", "checking", "decided", "tested", "over"];
    assert_eq!(names(&told), expected);
    assert_eq!(told[1]["command"], "isolde test fjall --txns 2k --seed 1 --events events.jsonl");
    let times: Vec<f64> = told.iter().map(|event| event["at"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_recorder_tells_its_events_on_standard_output() {
    let folder = Folder::new("record-events");
    let args = ["record", "fjall", "h.isolde", "--txns", "1k", "--seed", "1", "--events", "-"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let json: String =
        ran.out.lines().filter(|l| l.starts_with('{')).map(|l| format!("{l}\n")).collect();
    assert_eq!(names(&events(&json)), ["opening", "opened", "began", "ran"]);
    assert!(ran.out.contains("history    h.isolde"), "{}", ran.out);
}

#[test]
fn a_full_disk_of_events_does_not_change_what_is_found() {
    let folder = Folder::new("full-events");
    let ran = folder.isolde(&["test", "fjall", "--txns", "1k", "--events", "/dev/full"]);
    assert!(ran.out.contains("1,000 transactions") && ran.out.contains("serializable: holds"));
    assert!(!ran.out.contains("Ctrl-C"), "{ran:#?}");
    assert!(ran.code == Some(2) && ran.err.contains("the events cannot be written"), "{ran:#?}");
}

#[test]
fn events_that_cannot_be_written_are_a_fault_before_anything_runs() {
    let folder = Folder::new("no-events");
    let ran = folder.isolde(&["test", "fjall", "--events", "/no/such/folder/events"]);
    assert!(ran.code == Some(2) && ran.err.contains("cannot write /no/such"), "{ran:#?}");
    assert!(!folder.path().join("isolde-runs").exists());
}
