//! `isolde watch --evidence intervals`: a trace is held to the mechanisms of its server while it is written.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, Ran};
use crate::reports::is_as_the_schema_says;
use crate::watch::{Watching, json, piped};

/// Two rows of columns, of which the first is overwritten.
const HEADER: &str = concat!(
    r#"{"isolde":1,"server":"postgres","level":"repeatable read","rows":"by-column","#,
    r#""initial":{"default":null,"keys":[[[0,0],{"owner":"x","v":10}],[[0,1],{"owner":"y","v":20}]]}}"#,
    "\n"
);
const WRITE: &str = concat!(
    r#"{"session":"ann","txn":1,"interval":[100,400],"end-sent":310,"stmts":["#,
    r#"{"ops":[["r",[0,0],{"v":10}]],"interval":[110,200]},"#,
    r#"{"ops":[["w",[0,0],{"v":11}]],"interval":[210,300],"lock":"exclusive"}]}"#,
    "\n"
);
/// Sees what ann had overwritten, in one column.
const STALE: &str = concat!(
    r#"{"session":"bob","txn":2,"interval":[500,700],"end-sent":610,"stmts":["#,
    r#"{"ops":[["r",[0,0],{"owner":"x","v":10}]],"interval":[510,600]}]}"#,
    "\n"
);
const FRESH: &str = concat!(
    r#"{"session":"bob","txn":2,"interval":[500,700],"end-sent":610,"stmts":["#,
    r#"{"ops":[["r",[0,0],{"owner":"x","v":11}]],"interval":[510,600]}]}"#,
    "\n"
);
const BY_INTERVALS: [&str; 2] = ["--evidence", "intervals"];

fn watched(folder: &Folder, args: &[&str], text: &str) -> Ran {
    piped(folder, &[&BY_INTERVALS, args].concat(), text)
}

#[test]
fn that_nothing_was_found_is_no_promise_and_says_among_how_much() {
    let folder = Folder::new("intervals-nothing");
    let trace = [HEADER, WRITE, FRESH].concat();
    let ran = watched(&folder, &[], &trace);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let promise = "snapshot-isolation by intervals: no violation among 1 of 1 decided\n";
    assert!(ran.out.starts_with(promise), "{ran:#?}");
    assert!(ran.err.contains("PostgreSQL repeatable-read"), "{ran:#?}");
    let ran = watched(&folder, &["--json", "--report", "w.json", "--report", "w.html"], &trace);
    let summary = json(&ran.out);
    let parts = ["answer", "holds", "decided", "of", "enough"].map(|part| summary[part].clone());
    let expected = ["no-violation".into(), Value::Null, 1.into(), 1.into(), true.into()];
    assert_eq!(parts, expected, "{ran:#?}");
    is_as_the_schema_says(&fs::read_to_string(folder.file("w.json")).unwrap());
    let page = fs::read_to_string(folder.file("w.html")).unwrap();
    assert!(page.contains("no violation among 1 of 1 decided"));
}

/// A read of which it stays open what it saw: two commits overlap with its snapshot, and both wrote the same.
#[test]
fn too_small_a_share_is_unknown() {
    let folder = Folder::new("intervals-share");
    let header = "{\"isolde\":1,\"server\":\"postgres\",\"level\":\"read committed\",\"initial\":{\"default\":0}}\n";
    let of = |session: &str, ops: &str, [began, sent, ended]: [i64; 3]| {
        format!(
            "{{\"session\":\"{session}\",\"interval\":[{began},{ended}],\"end-sent\":{sent},\"stmts\":[{{\"ops\":[{ops}],\
             \"interval\":[{began},{}]}}]}}\n",
            began + 1
        )
    };
    let a = of("a", r#"["w","x",7]"#, [10, 20, 60]);
    let b = of("b", r#"["w","y",7],["r","x",0]"#, [30, 40, 50]);
    let c = of("c", r#"["w","x",0]"#, [62, 65, 90]);
    let d = of("d", r#"["r","x",0]"#, [70, 92, 95]);
    let trace = [header, &a, &b, &c, &d].concat();
    let ran = watched(&folder, &["--json", "--decided", "1"], &trace);
    let summary = json(&ran.out);
    let (decided, of) = (summary["decided"].as_u64().unwrap(), summary["of"].as_u64().unwrap());
    assert_eq!((ran.code, &summary["enough"]), (Some(0), &true.into()), "{ran:#?}");
    // The read may have seen what was there at first, or what c wrote.
    let e = FIRST_OR_LAST;
    let ran = watched(&folder, &["--json", "--decided", "1"], &[&trace[..], e].concat());
    let summary = json(&ran.out);
    assert_eq!((ran.code, &summary["enough"]), (Some(3), &false.into()), "{ran:#?}");
    assert_eq!(summary["answer"], "no-violation");
    assert!(
        summary["of"].as_u64().unwrap() > of && summary["decided"].as_u64().unwrap() >= decided
    );
    let ran = watched(&folder, &["--decided", "50%"], &[&trace[..], e].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

/// While it reads, z is written twice with the same value.
const FIRST_OR_LAST: &str = concat!(
    r#"{"session":"e","interval":[100,130],"end-sent":120,"stmts":[{"ops":[["w","z",5]],"interval":[101,102]}]}"#,
    "\n",
    r#"{"session":"e","interval":[131,160],"end-sent":140,"stmts":[{"ops":[["w","z",5]],"interval":[132,133]}]}"#,
    "\n",
    r#"{"session":"f","interval":[135,170],"end-sent":165,"stmts":[{"ops":[["r","z",5]],"interval":[136,159]}]}"#,
    "\n",
);

#[test]
fn a_violation_is_told_in_the_words_of_a_report_with_its_small_history() {
    let folder = Folder::new("intervals-violation");
    let trace = [HEADER, WRITE, STALE].concat();
    let ran = watched(&folder, &["--events", "e.jsonl", "--report", "w.html"], &trace);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.out.contains("StaleRead by intervals"), "{ran:#?}");
    assert!(ran.out.contains("snapshot-isolation by intervals: violated"), "{ran:#?}");
    let events = fs::read_to_string(folder.file("e.jsonl")).unwrap();
    let found = json(events.lines().nth(1).unwrap());
    let parts = ["kind", "anomaly", "axiom", "transaction"].map(|part| found[part].clone());
    assert_eq!(parts[..2], ["violation".into(), Value::from("StaleRead")]);
    assert_eq!(parts[2..], [Value::Null, "#2 of session bob".into()]);
    fs::write(folder.file("small.txt"), found["history"].as_str().unwrap()).unwrap();
    let check = ["check", "small.txt", "--format", "notation"];
    let ran = folder.isolde(&[&check[..], &BY_INTERVALS].concat());
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead"), "{ran:#?}");
}

#[test]
fn rows_by_column_are_judged_by_intervals_only() {
    let folder = Folder::new("intervals-only");
    let ran = piped(&folder, &[], &[HEADER, WRITE].concat());
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let why = "values are rows by column, which only client intervals can judge";
    assert!(ran.err.contains(why) && ran.err.contains("hint: --evidence intervals"), "{ran:#?}");
}

#[test]
fn how_the_server_works_has_to_be_known() {
    let folder = Folder::new("intervals-profile");
    let header = "{\"isolde\":1,\"initial\":{\"default\":0}}\n";
    let ran = watched(&folder, &[], &[header, WRITE].concat());
    assert!(ran.code == Some(2) && ran.err.contains("hint: --profile says"), "{ran:#?}");
    let ran = watched(&folder, &["--profile", "postgresql/no-such"], header);
    assert!(ran.code == Some(2) && !ran.err.contains("watching"), "{ran:#?}");
    let ran = piped(&folder, &["--profile", "sqlite/immediate"], header);
    assert!(ran.code == Some(2) && ran.err.contains("with --evidence intervals only"), "{ran:#?}");
}

#[test]
fn what_comes_too_late_is_told_and_leaves_the_end_unknown() {
    let folder = Folder::new("intervals-late");
    let args = ["unix:s.sock", "--timeout", "50ms", "--json", "--events", "e.jsonl"];
    let mut watching = Watching::start(&folder, &[&args[..], &BY_INTERVALS].concat());
    watching.address();
    let mut stream = UnixStream::connect(folder.path().join("s.sock")).unwrap();
    stream.write_all([HEADER, STALE].concat().as_bytes()).unwrap();
    crate::watch::eventually(|| {
        thread::sleep(Duration::from_millis(200));
        true
    });
    // It began before bob had ended.
    stream.write_all(WRITE.replace("\"ann\"", "\"eve\"").as_bytes()).unwrap();
    drop(stream);
    watching.until("came too late");
    let ran = watching.interrupt();
    let summary = json(&ran.out);
    assert_eq!((ran.code, &summary["answer"]), (Some(3), &"unknown".into()), "{ran:#?}");
    assert_eq!((&summary["late"], &summary["violations"]), (&1.into(), &0.into()), "{ran:#?}");
    assert!(summary["hint"].as_str().unwrap().contains("--timeout 1s"), "{ran:#?}");
}

/// A folder with the lines of a trace that has violations, each with a number in its session.
fn made(name: &str) -> (Folder, Vec<String>) {
    let folder = Folder::new(name);
    let test = ["test", "faulty", "--txns", "5000", "--seed", "3", "--fault", "LostUpdate"];
    let more = ["--keep-history", "--out", "kept"];
    let ran = folder.isolde(&[&test[..], &more].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = folder.isolde(&["replay", "kept/faulty-on-purpose-serializable-3/history.isolde"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (first, rest) = ran.out.split_once('\n').unwrap();
    // As they come from a server: in the order in which they ended.
    let mut txns: Vec<&str> = rest.lines().filter(|line| line.contains("\"interval\"")).collect();
    txns.sort_by_key(|line| json(line)["interval"][1].as_i64().unwrap());
    let last = rest.lines().last().unwrap();
    let lines = [&[first], &txns[..], &[last]].concat();
    (folder, crate::watch_state::numbered(&lines.join("\n")))
}

/// The violations in a file of events, each numbered in its turn.
fn violations(folder: &Folder, file: &str) -> Vec<[String; 4]> {
    let text = fs::read_to_string(folder.file(file)).unwrap();
    let lines: Vec<Value> = text.lines().map(json).collect();
    for (number, line) in lines.iter().enumerate().skip(1) {
        assert_eq!((&line["number"], &line["kind"]), (&number.into(), &"violation".into()));
    }
    let parts = ["anomaly", "transaction", "key", "text"];
    let found = lines[1..].iter().map(|line| parts.map(|part| line[part].to_string()));
    let mut found: Vec<_> = found.collect();
    found.sort();
    found
}

#[test]
fn a_trace_is_read_on_after_kills() {
    let (folder, lines) = made("intervals-state");
    let profile = ["--profile", "postgresql/serializable", "--timeout", "1s", "--json"];
    let by = [&BY_INTERVALS[..], &profile].concat();
    fs::write(folder.file("whole.jsonl"), lines.concat()).unwrap();
    let whole = ["whole.jsonl", "--until-end", "--events", "whole-events.jsonl"];
    let ran = folder.isolde(&[&["watch"], &whole[..], &by].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let expected = violations(&folder, "whole-events.jsonl");
    assert!(expected.len() >= 5, "{}", expected.len());
    let grows = ["grows.jsonl", "--state", "state", "--events", "events.jsonl"];
    let args = [&grows[..], &by].concat();
    let mut file = File::create(folder.file("grows.jsonl")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let text = lines.concat();
            // Lines are torn, too.
            for piece in text.as_bytes().chunks(text.len() / 40 + 1) {
                file.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(40));
            }
        });
        for kill in 0..5 {
            let mut watching = Watching::start(&folder, &args);
            watching.until("watching ");
            thread::sleep(Duration::from_millis(100 + 60 * kill));
            watching.kill();
        }
    });
    let ran = folder.isolde(&[&["watch"], &args[..], &["--until-end"]].concat());
    let summary = json(&ran.out);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let counts = ["transactions", "repeated", "late"].map(|part| summary[part].clone());
    assert_eq!(counts, [5000, 0, 0].map(Value::from), "{ran:#?}");
    assert_eq!(violations(&folder, "events.jsonl"), expected);
    // Another profile is another promise.
    let other = ["--evidence", "intervals", "--profile", "postgresql/read-committed"];
    let ran = folder.isolde(&[&["watch"], &grows[..], &other].concat());
    assert!(ran.code == Some(2) && ran.err.contains("another folder begins anew"), "{ran:#?}");
}
