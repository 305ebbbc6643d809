//! `isolde watch`: every source, with the real command.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, Ran};
use crate::reports::is_as_the_schema_says;
use crate::trouble::signal;

pub(crate) const HEADER: &str =
    "{\"isolde\":1,\"level\":\"snapshot-isolation\",\"initial\":{\"default\":0}}\n";
pub(crate) const A: &str = "{\"session\":\"a\",\"ops\":[[\"w\",\"x\",1]],\"ts\":[1,2]}\n";
pub(crate) const B: &str = "{\"session\":\"b\",\"ops\":[[\"w\",\"x\",2]],\"ts\":[3,4]}\n";
/// Reads what B had overwritten.
pub(crate) const STALE: &str = "{\"session\":\"c\",\"ops\":[[\"r\",\"x\",1]],\"ts\":[5,6]}\n";
pub(crate) const FRESH: &str = "{\"session\":\"c\",\"ops\":[[\"r\",\"x\",2]],\"ts\":[5,6]}\n";

/// A watch that is going on.
pub(crate) struct Watching {
    child: Child,
    err: BufReader<ChildStderr>,
    said: String,
}

impl Watching {
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Watching {
        let mut command = folder.command(&["watch"]);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Watching { child, err, said: String::new() }
    }

    /// Waits until standard error says something; the whole line.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "not said: {words}\n{}", self.said);
            self.said += &line;
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Where it listens.
    pub(crate) fn address(&mut self) -> String {
        let line = self.until("watching ");
        let at = line.split("watching ").nth(1).unwrap().split(';').next().unwrap();
        at.split_once(':').unwrap().1.to_owned()
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Ends it as nobody should.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as a user does.
    pub(crate) fn interrupt(self) -> Ran {
        signal("-INT", self.child.id());
        self.end()
    }

    pub(crate) fn end(mut self) -> Ran {
        drop(self.child.stdin.take());
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let mut ran = Ran::of(&output);
        ran.err = self.said + &err;
        ran
    }
}

/// Runs a watch over a text on standard input.
pub(crate) fn piped(folder: &Folder, args: &[&str], text: &str) -> Ran {
    let mut watching = Watching::start(folder, &[&["-"], args].concat());
    watching.send(text);
    watching.end()
}

/// Asks again until it is so.
#[track_caller]
pub(crate) fn eventually(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never was");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_stale_read_on_standard_input_is_shown_with_its_small_history() {
    let folder = Folder::new("watch-stdin");
    let ran = piped(&folder, &[], &[HEADER, A, B, STALE].concat());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    for words in ["StaleRead", "c: r(x,1) ts(5,6)", "by timestamps: violated", "transactions  3"] {
        assert!(ran.out.contains(words), "{words}: {ran:#?}");
    }
    let ran = piped(&folder, &[], &[HEADER, A, B, FRESH].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("nothing was found"), "{ran:#?}");
    // Nothing came, so nothing is known.
    assert_eq!(piped(&folder, &[], HEADER).code, Some(3));
}

#[test]
fn the_level_is_typed_or_said_by_the_header() {
    let folder = Folder::new("watch-level");
    let text = [HEADER, A, B, FRESH].concat();
    let ran = piped(&folder, &["--level", "ser"], &text);
    assert!(ran.code == Some(2) && ran.err.contains("--fact commit-order=serial"), "{ran:#?}");
    let ran = piped(&folder, &["--level", "ser", "--fact", "commit-order=serial"], &text);
    assert!(ran.code == Some(0) && ran.out.contains("serializable by timestamps"), "{ran:#?}");
    let ran = piped(&folder, &["--level", "rc"], &text);
    assert!(ran.code == Some(2) && ran.err.contains("has no rules by timestamps"), "{ran:#?}");
    let ran = piped(&folder, &["--json"], &text);
    assert_eq!(json(&ran.out)["promise"], "snapshot-isolation by timestamps");
}

#[test]
fn snapshots_without_timestamps_are_what_a_stream_is_held_to() {
    let folder = Folder::new("watch-snapshots");
    let txn = |session: &str, op: &str, number: &str, at: i64| {
        let snapshot = format!(r#""snapshot":{{"xmin":{at},"xmax":{at},"xip":[]}}"#);
        format!("{{\"session\":\"{session}\",\"ops\":[{op}],{number}{snapshot}}}\n")
    };
    let writer = txn("a", r#"["w","x",1]"#, r#""xid":10,"#, 10);
    let right = [HEADER, &writer, &txn("b", r#"["r","x",1]"#, "", 11)].concat();
    let wrong = [HEADER, &writer, &txn("b", r#"["r","x",0]"#, "", 11)].concat();
    let ran = piped(&folder, &[], &right);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let ran = piped(&folder, &["--evidence", "snapshots", "--json"], &wrong);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(json(&ran.out)["promise"], "snapshot-isolation by snapshots");
    // Asked for timestamps, it has none.
    assert_eq!(piped(&folder, &["--evidence", "timestamps"], &right).code, Some(3));
    let ran = piped(&folder, &["--level", "ser"], &right);
    assert!(ran.code == Some(2) && ran.err.contains("has no rules by snapshots"), "{ran:#?}");
    fs::write(folder.file("s.jsonl"), &right).unwrap();
    let args = ["watch", "s.jsonl", "--until-end", "--state", "state"];
    assert_eq!(folder.isolde(&args).code, Some(0));
    let ran = folder.isolde(&[&args[..], &["--evidence", "timestamps"]].concat());
    assert!(ran.code == Some(2) && ran.err.contains("by snapshots, not of"), "{ran:#?}");
    // By snapshots all that came stays in the state, which may be too much.
    fs::write(folder.file("s.jsonl"), right.clone() + &writer.replace("10", "12").repeat(4))
        .unwrap();
    let ran = folder.isolde(&[&args[..], &["--keep", "100"]].concat());
    assert!(ran.code == Some(2) && ran.err.contains("more than 100 bytes (--keep)"), "{ran:#?}");
}

#[test]
fn garbage_is_counted_and_survived_unless_that_is_not_wanted() {
    let folder = Folder::new("watch-garbage");
    let text = [HEADER, A, "nonsense\n", B, "{\"session\":\n", FRESH].concat();
    let ran = piped(&folder, &["--json"], &text);
    let summary = json(&ran.out);
    assert_eq!((&summary["bad_lines"], &summary["transactions"]), (&2.into(), &3.into()));
    assert_eq!(summary["complete"], false);
    assert!(ran.err.contains("<stdin>:3:1: expected a JSON object, found 'nonsense'"), "{ran:#?}");
    let ran = piped(&folder, &["--strict"], &text);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("error: <stdin>:3:1: expected a JSON object"), "{ran:#?}");
}

#[test]
fn a_file_is_read_on_as_it_grows() {
    let folder = Folder::new("watch-file");
    let path = folder.file("h.jsonl");
    fs::write(&path, [HEADER, A].concat()).unwrap();
    let mut watching = Watching::start(&folder, &["h.jsonl", "--events", "found.jsonl", "--stop"]);
    watching.until("held to");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    // A line in two pieces.
    let (first, second) = STALE.split_at(20);
    file.write_all(format!("{B}{first}").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    file.write_all(second.as_bytes()).unwrap();
    // --stop ends it.
    let ran = watching.end();
    assert!(ran.code == Some(1) && !ran.err.contains("warning"), "{ran:#?}");
    let ran = folder.isolde(&["watch", "h.jsonl", "--until-end"]);
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead: 1"), "{ran:#?}");
}

#[test]
fn a_native_file_is_followed_by_blocks() {
    let folder = Folder::new("watch-native");
    fs::write(folder.file("h.jsonl"), [HEADER, A, B, STALE].concat()).unwrap();
    assert_eq!(folder.isolde(&["convert", "h.jsonl", "h.isolde"]).code, Some(0));
    let ran = folder.isolde(&["watch", "h.isolde"]);
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead: 1"), "{ran:#?}");
}

#[test]
fn a_file_that_shrinks_or_is_replaced_ends_the_watch() {
    let folder = Folder::new("watch-shrinks");
    let path = folder.file("h.jsonl");
    for (change, words) in [("shrink", "has shrunk"), ("replace", "was replaced")] {
        fs::write(&path, [HEADER, A, B].concat()).unwrap();
        let mut watching = Watching::start(&folder, &["h.jsonl"]);
        watching.until("held to");
        if change == "shrink" {
            fs::write(&path, HEADER).unwrap();
        } else {
            fs::write(folder.file("other"), [HEADER, A, B, FRESH].concat()).unwrap();
            fs::rename(folder.file("other"), &path).unwrap();
        }
        let ran = watching.end();
        assert!(ran.code == Some(2) && ran.err.contains(words), "{ran:#?}");
        assert!(ran.out.contains("transactions  2"), "{ran:#?}");
    }
    let ran = folder.isolde(&["watch", "none.jsonl"]);
    assert!(ran.code == Some(2) && ran.err.contains("none.jsonl: "), "{ran:#?}");
}

#[test]
fn connections_send_lines_several_at_a_time() {
    let folder = Folder::new("watch-tcp");
    let mut watching = Watching::start(&folder, &["tcp:127.0.0.1:0", "--json"]);
    let at = watching.address();
    let mut one = TcpStream::connect(&at).unwrap();
    let mut other = TcpStream::connect(&at).unwrap();
    one.write_all([HEADER, A].concat().as_bytes()).unwrap();
    watching.until("held to");
    other.write_all([HEADER, "nonsense\n", B, FRESH].concat().as_bytes()).unwrap();
    let bad = watching.until("expected a JSON object");
    assert!(bad.contains("connection 2:2:1"), "{bad}");
    drop((one, other));
    // Another client comes when the first ones have gone, and is cut off.
    let mut torn = TcpStream::connect(&at).unwrap();
    torn.write_all(b"{\"session\":\"d\"").unwrap();
    drop(torn);
    watching.until("connection 3:1");
    let ran = watching.interrupt();
    let summary = json(&ran.out);
    assert_eq!(
        (&summary["transactions"], &summary["bad_lines"]),
        (&3.into(), &2.into()),
        "{ran:#?}"
    );
    assert_eq!(summary["violations"], 0, "{ran:#?}");
}

#[test]
fn a_socket_in_the_file_system_goes_away_with_the_watch() {
    let folder = Folder::new("watch-unix");
    let (path, source) = (folder.path().join("s.sock"), "unix:s.sock");
    let mut watching = Watching::start(&folder, &[source]);
    watching.address();
    let ran = folder.isolde(&["watch", source]);
    assert!(ran.code == Some(2) && ran.err.contains("s.sock is taken"), "{ran:#?}");
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all([HEADER, A, B, STALE].concat().as_bytes()).unwrap();
    watching.until("held to");
    let ran = watching.interrupt();
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead"), "{ran:#?}");
    eventually(|| !path.exists());
}

/// Sends a request by hand; the status and the body of the answer.
fn ask(at: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

pub(crate) fn post(at: &str, path: &str, body: &str) -> (u16, String) {
    let len = body.len();
    ask(
        at,
        &format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n{body}"
        ),
    )
}

#[test]
fn requests_bring_lines_or_an_array_and_metrics_are_shown() {
    let folder = Folder::new("watch-http");
    let args = ["http:127.0.0.1:0", "--metrics", "127.0.0.1:0", "--initial", "0"];
    let mut watching = Watching::start(&folder, &args);
    let at = watching.address();
    let metrics = watching.until("metrics at http://");
    let metrics = metrics.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert_eq!(post(&at, "/check", &[A, B].concat()), (200, "{\"accepted\":2}\n".to_owned()));
    let array = r#"[{"tid":9,"sid":"c","sts":{"p":5,"l":0},"cts":{"p":6,"l":0},"ops":[{"t":"r","k":"x","v":1}]}]"#;
    let (first, second) = array.split_at(30);
    let (f, s) = (first.len(), second.len());
    let chunked = format!(
        "POST /check HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         {f:x}\r\n{first}\r\n{s:x}\r\n{second}\r\n0\r\n\r\n"
    );
    assert_eq!(ask(&at, &chunked), (200, "{\"accepted\":1}\n".to_owned()));
    assert_eq!(post(&at, "/elsewhere", "").0, 404);
    let (status, why) = post(&at, "/check", "nonsense");
    assert!(status == 400 && why.contains("expected a JSON object"), "{why}");
    let large = "POST /check HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n";
    assert_eq!(ask(&at, large).0, 413);
    let page = "POST /check HTTP/1.1\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(ask(&at, page).0, 403);
    let shows = "GET /metrics HTTP/1.1\r\n\r\n";
    eventually(|| {
        let (status, text) = ask(&metrics, shows);
        status == 200
            && text.contains("\nisolde_transactions_total 3\n")
            && text.contains("\nisolde_violations{anomaly=\"StaleRead\"} 1\n")
            && text.contains("\nisolde_bad_lines_total 2\n")
    });
    let ran = watching.interrupt();
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead: 1"), "{ran:#?}");
}

#[test]
fn listening_is_for_this_machine_and_on_a_free_port() {
    let folder = Folder::new("watch-listen");
    for source in ["tcp:0.0.0.0:0", "http:0.0.0.0:0"] {
        let ran = folder.isolde(&["watch", source]);
        assert!(ran.code == Some(2) && ran.err.contains("--listen-anywhere"), "{ran:#?}");
    }
    let mut watching = Watching::start(&folder, &["tcp:0.0.0.0:0", "--listen-anywhere"]);
    watching.address();
    assert_eq!(watching.interrupt().code, Some(3));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    for source in [format!("tcp:{at}"), format!("http:{at}")] {
        let ran = folder.isolde(&["watch", &source]);
        assert!(ran.code == Some(2) && ran.err.contains(&format!("{at} is taken")), "{ran:#?}");
    }
    let ran = folder.isolde(&["watch", "tcp:9000"]);
    assert!(ran.code == Some(2) && ran.err.contains("expected HOST:PORT"), "{ran:#?}");
}

#[test]
fn events_are_lines_of_json_and_overwrite_nothing() {
    let folder = Folder::new("watch-events");
    let text = [HEADER, A, B, STALE].concat();
    let ran = piped(&folder, &["--events", "e.jsonl"], &text);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let events = fs::read_to_string(folder.file("e.jsonl")).unwrap();
    let lines: Vec<Value> = events.lines().map(json).collect();
    assert_eq!(lines[0]["isolde-events"], 1);
    let found = &lines[1];
    assert_eq!((&found["number"], &found["kind"]), (&1.into(), &"violation".into()));
    assert_eq!((&found["anomaly"], &found["axiom"]), (&"StaleRead".into(), &"EXT".into()));
    assert_eq!(found["key"], "x");
    assert!(found["transaction"].is_string() && found["at"].is_number(), "{found}");
    assert!(found["text"].as_str().unwrap().contains("should have read x = 2"), "{found}");
    // The small history shows the same alone.
    fs::write(folder.file("small.txt"), found["history"].as_str().unwrap()).unwrap();
    let check = folder.isolde(&["check", "--level", "si", "small.txt"]);
    assert!(check.code == Some(1) && check.out.contains("StaleRead"), "{check:#?}");
    let ran = piped(&folder, &["--events", "e.jsonl"], "");
    assert!(ran.code == Some(2) && ran.err.contains("--force"), "{ran:#?}");
    let ran = piped(&folder, &["--events", "e.jsonl", "--force"], &text);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    // On standard output there is nothing else.
    let ran = piped(&folder, &["--events", "-", "--json"], &text);
    let lines: Vec<Value> = ran.out.lines().map(json).collect();
    assert_eq!(lines.last().unwrap()["summary"]["violations"], 1, "{ran:#?}");
}

#[test]
fn nothing_is_left_in_the_folder_for_what_does_not_fit() {
    let folder = Folder::new("watch-spill");
    fs::create_dir(folder.file("spill")).unwrap();
    let mut watching = Watching::start(&folder, &["-", "--spill", "spill"]);
    watching.send(&[HEADER, A].concat());
    watching.until("held to");
    let inside = || fs::read_dir(folder.file("spill")).unwrap().count();
    assert_eq!(inside(), 1);
    assert_eq!(watching.interrupt().code, Some(0));
    assert_eq!(inside(), 0);
    let ran = piped(&folder, &["--spill", "no/such"], "");
    assert!(ran.code == Some(2) && ran.err.contains("cannot write to no/such"), "{ran:#?}");
}

#[test]
fn a_report_has_figures_over_time_and_the_violations() {
    let folder = Folder::new("watch-report");
    let files =
        ["watch.html", "watch.json", "watch.txt", "watch.svg"].map(|name| folder.file(name));
    let mut args = Vec::new();
    files.iter().for_each(|file| args.extend(["--report", file.as_str()]));
    let text = [HEADER, A, B, STALE].concat();
    let ran = piped(&folder, &args, &text);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let [html, report, text_report, svg] =
        files.each_ref().map(|file| fs::read_to_string(file).unwrap());
    assert!(
        html.contains("snapshot-isolation by timestamps: violated")
            && html.contains("StaleRead by ")
    );
    assert!(svg.starts_with("<svg"));
    assert!(text_report.contains("violations    1") && text_report.contains("StaleRead: "));
    is_as_the_schema_says(&report);
    let report = json(&report);
    let watch = &report["watch"];
    assert_eq!((&watch["violations"], &watch["transactions"]), (&1.into(), &3.into()));
    let samples = watch["series"]["seconds"].as_array().unwrap().len();
    assert!(
        watch["series"]
            .as_object()
            .unwrap()
            .values()
            .all(|of| of.as_array().unwrap().len() == samples)
    );
    assert_eq!(watch["series"]["violations"][samples - 1], 1.0);
    assert_eq!(report["histories"].as_array().unwrap().len(), 1);
    // What is there is not overwritten, and nothing is read in vain.
    let ran = piped(&folder, &args, "");
    assert!(ran.code == Some(2) && ran.err.contains("--force"), "{ran:#?}");
    let ran = piped(&folder, &["--report", "x.xml"], "");
    assert!(ran.code == Some(2) && ran.err.contains("JUnit"), "{ran:#?}");
}

#[test]
fn a_violation_that_is_withdrawn_is_not_in_the_report() {
    let folder = Folder::new("watch-report-withdrawn");
    let file = folder.file("watch.json");
    // The reader comes before the version that it read, and is final at once.
    let read = "{\"session\":\"c\",\"ops\":[[\"r\",\"x\",2]],\"ts\":[5,6]}\n";
    let mut watching = Watching::start(&folder, &["-", "--timeout", "1ms", "--report", &file]);
    watching.send(&[HEADER, A, read].concat());
    std::thread::sleep(Duration::from_millis(400));
    watching.send(B);
    let ran = watching.end();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains("corrections   1"), "{ran:#?}");
    let report = json(&fs::read_to_string(&file).unwrap());
    assert_eq!(report["histories"].as_array().unwrap().len(), 0);
}
