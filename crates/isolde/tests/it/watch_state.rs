//! `isolde watch --state`: what is killed goes on, and no verdict is lost or comes twice.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::common::{Folder, Ran};
use crate::watch::{A, B, FRESH, HEADER, STALE, Watching, eventually, json};

/// How often a watch is killed.
fn kills() -> u64 {
    std::env::var("ISOLDE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

/// Moments that are different every time; the first is told if the test fails.
struct Moments(u64);

impl Moments {
    fn new() -> Moments {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        eprintln!("moments from {}", now.as_nanos() as u64);
        Moments(now.as_nanos() as u64)
    }

    /// Less than this.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// A folder with a stream of transactions that has violations: its lines, each with a number in its session.
fn made(name: &str, txns: &str) -> (Folder, Vec<String>) {
    let folder = Folder::new(name);
    let generate = ["generate", "h.isolde", "--txns", txns, "--level", "si", "--timestamps"];
    let plant = ["--plant", "LostUpdate:40", "--plant", "AbortedRead:20"];
    let ran = folder.isolde(&[&generate[..], &plant].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let delay = ["replay", "h.isolde", "--promises", "--delay", "normal:20ms,10ms"];
    let ran = folder.isolde(&delay);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = numbered(&ran.out);
    (folder, lines)
}

/// The same of transactions that tell their snapshots, and no timestamps.
fn made_by_snapshots(name: &str, txns: &str) -> (Folder, Vec<String>) {
    let folder = Folder::new(name);
    let test = ["test", "faulty", "--evidence", "snapshots", "--txns", txns, "--seed", "3"];
    let faults = ["--fault", "StaleSnapshot", "--fault", "LostUpdate"];
    let kept = ["--keep-history", "--out", "kept"];
    let ran = folder.isolde(&[&test[..], &faults, &kept].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = folder.isolde(&["replay", "kept/faulty-on-purpose-serializable-3/history.isolde"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let untimed = ran.out.lines().map(|line| {
        let mut line = json(line);
        line.as_object_mut().unwrap().remove("ts");
        format!("{line}\n")
    });
    let lines = numbered(&untimed.collect::<String>());
    (folder, lines)
}

/// Lines with the number of each transaction in its session.
pub(crate) fn numbered(lines: &str) -> Vec<String> {
    let mut numbers = std::collections::BTreeMap::<String, u64>::new();
    let mut numbered = |line: &str| {
        let mut txn = json(line);
        if txn.get("session").is_none() || txn.get("watermark").or(txn.get("end")).is_some() {
            return format!("{line}\n");
        }
        let number = numbers.entry(txn["session"].to_string()).or_default();
        *number += 1;
        txn["seq"] = (*number).into();
        format!("{txn}\n")
    };
    lines.lines().map(&mut numbered).collect()
}

/// The verdicts in a file of events that stand at its end: rule, transaction, key and anomaly. Each is told once.
fn verdicts(folder: &Folder, file: &str) -> BTreeSet<[String; 4]> {
    let text = fs::read_to_string(folder.file(file)).unwrap();
    let lines: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(lines[0]["isolde-events"], 1);
    let mut standing = BTreeSet::new();
    for (number, line) in lines.iter().enumerate().skip(1) {
        assert_eq!(line["number"], number, "{line}");
        let verdict = ["axiom", "transaction", "key", "anomaly"].map(|part| line[part].to_string());
        match (line["kind"].as_str().unwrap(), line["adds"].as_bool()) {
            ("violation", _) | ("correction", Some(true)) => {
                assert!(standing.insert(verdict), "twice: {line}");
            }
            ("correction", _) => assert!(standing.remove(&verdict), "not there: {line}"),
            ("renamed", _) => {
                standing.retain(|other| other[..3] != verdict[..3]);
                standing.insert(verdict);
            }
            _ => {}
        }
    }
    standing
}

/// Says only what differs.
#[track_caller]
fn assert_same(found: &BTreeSet<[String; 4]>, expected: &BTreeSet<[String; 4]>) {
    let lost: Vec<_> = expected.difference(found).collect();
    let more: Vec<_> = found.difference(expected).collect();
    assert!(lost.is_empty() && more.is_empty(), "lost {lost:?}\nmore {more:?}");
}

/// What an undisturbed watch finds.
fn undisturbed(folder: &Folder, lines: &[String]) -> BTreeSet<[String; 4]> {
    fs::write(folder.file("whole.jsonl"), lines.concat()).unwrap();
    let args = ["watch", "whole.jsonl", "--until-end", "--events", "whole-events.jsonl", "--json"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let verdicts = verdicts(folder, "whole-events.jsonl");
    // How many faults a run of threads has is a matter of luck.
    assert!(verdicts.len() >= 5, "{}", verdicts.len());
    verdicts
}

#[test]
fn a_file_is_read_on_after_kills() {
    is_read_on_after_kills(&made("state-file", "6000"), "snapshot-isolation by timestamps");
}

/// By snapshots all that came is taken from the log again.
#[test]
fn a_file_with_snapshots_is_read_on_after_kills() {
    let made = made_by_snapshots("state-snapshots", "6000");
    is_read_on_after_kills(&made, "snapshot-isolation by snapshots");
}

#[track_caller]
fn is_read_on_after_kills((folder, lines): &(Folder, Vec<String>), promise: &str) {
    let expected = undisturbed(folder, lines);
    let args = ["grows.jsonl", "--state", "state", "--events", "events.jsonl", "--json"];
    let mut file = File::create(folder.file("grows.jsonl")).unwrap();
    let done = AtomicBool::new(false);
    let mut moments = Moments::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let pieces = kills() * 8;
            let text = lines.concat();
            // Lines are torn, too.
            for piece in text.as_bytes().chunks(text.len() / pieces as usize + 1) {
                file.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(40));
            }
            done.store(true, Ordering::SeqCst);
        });
        for _ in 0..kills() {
            let mut watching = Watching::start(folder, &args);
            watching.until("watching ");
            thread::sleep(Duration::from_millis(moments.below(300)));
            watching.kill();
        }
    });
    assert!(done.load(Ordering::SeqCst));
    let ran = folder.isolde(&[&["watch"], &args[..], &["--until-end"]].concat());
    let summary = json(&ran.out);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(
        (&summary["transactions"], &summary["repeated"], &summary["complete"]),
        (&6000.into(), &0.into(), &true.into()),
        "{ran:#?}"
    );
    assert_eq!(summary["promise"], promise);
    assert_same(&verdicts(folder, "events.jsonl"), &expected);
}

/// Posts a body; whether it was taken.
fn post(at: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(at).ok()?;
    let len = body.len();
    let head =
        format!("POST /check HTTP/1.1\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

#[test]
fn requests_that_were_not_answered_are_sent_again() {
    let (folder, lines) = made("state-http", "4000");
    let expected = undisturbed(&folder, &lines);
    // A port that is free, and stays ours by luck.
    let at = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let source = format!("http:{at}");
    let args = [&source[..], "--state", "state", "--events", "events.jsonl", "--json"];
    let mut moments = Moments::new();
    let mut watching = Some(Watching::start(&folder, &args));
    let per_body = lines.len() / (kills() as usize * 4) + 1;
    let mut bodies = lines.chunks(per_body).map(<[String]>::concat);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // The last line of a file ends the history; the header comes with the first body only.
            for body in &mut bodies {
                eventually(|| post(&at, &body) == Some(200));
                thread::sleep(Duration::from_millis(50));
            }
            done.store(true, Ordering::SeqCst);
        });
        for _ in 0..kills() {
            let mut now = watching.take().unwrap();
            now.until("watching ");
            thread::sleep(Duration::from_millis(moments.below(300)));
            now.kill();
            watching = Some(Watching::start(&folder, &args));
        }
        eventually(|| done.load(Ordering::SeqCst));
    });
    let mut watching = watching.unwrap();
    watching.until("watching ");
    let ran = watching.interrupt();
    let summary = json(&ran.out);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(
        (&summary["transactions"], &summary["bad_lines"], &summary["complete"]),
        (&4000.into(), &0.into(), &true.into()),
        "{ran:#?}"
    );
    assert_same(&verdicts(&folder, "events.jsonl"), &expected);
}

#[test]
fn connections_are_told_which_lines_are_safe() {
    let folder = Folder::new("state-acks");
    let args = ["unix:s.sock", "--state", "state", "--json"];
    let mut watching = Watching::start(&folder, &args);
    watching.address();
    let text = [HEADER, A, "nonsense\n", B].concat();
    let mut stream = UnixStream::connect(folder.path().join("s.sock")).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut acks = BufReader::new(stream.try_clone().unwrap()).lines();
    let last = acks.find(|ack| ack.as_ref().unwrap() == "ack 4").unwrap();
    assert_eq!(last.unwrap(), "ack 4");
    watching.kill();
    let mut watching = Watching::start(&folder, &args);
    watching.until("going on after 2 transactions");
    let mut stream = UnixStream::connect(folder.path().join("s.sock")).unwrap();
    stream.write_all([HEADER, FRESH].concat().as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.ends_with("ack 2\n"), "{all}");
    let summary = json(&watching.interrupt().out);
    assert_eq!((&summary["transactions"], &summary["bad_lines"]), (&3.into(), &1.into()));
    assert_eq!(summary["complete"], false);
}

#[test]
fn without_state_connections_are_told_nothing() {
    let folder = Folder::new("state-silent");
    let mut watching = Watching::start(&folder, &["tcp:127.0.0.1:0", "--json"]);
    let mut stream = TcpStream::connect(watching.address()).unwrap();
    stream.write_all([HEADER, A].concat().as_bytes()).unwrap();
    watching.until("held to");
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "");
    assert_eq!(watching.interrupt().code, Some(0));
}

#[test]
fn bad_lines_are_counted_once_and_told_with_their_numbers() {
    let folder = Folder::new("state-garbage");
    let path = folder.file("h.jsonl");
    let args = ["h.jsonl", "--state", "state", "--json"];
    fs::write(&path, [HEADER, "nonsense\n", A].concat()).unwrap();
    let mut watching = Watching::start(&folder, &args);
    watching.until("held to");
    // The batch is in the state when its promise is told, or shortly after.
    thread::sleep(Duration::from_millis(300));
    watching.kill();
    let append = |text: &str| {
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append("more nonsense\n");
    let mut watching = Watching::start(&folder, &args);
    let said = watching.until("expected a JSON object");
    assert!(said.contains("h.jsonl:4:1:"), "{said}");
    watching.kill();
    append(B);
    let ran = folder.isolde(&[&["watch"], &args[..], &["--until-end"]].concat());
    let summary = json(&ran.out);
    assert_eq!(
        (&summary["transactions"], &summary["bad_lines"], &summary["complete"]),
        (&2.into(), &2.into(), &false.into()),
        "{ran:#?}"
    );
}

#[test]
fn verdicts_that_are_open_stay_open() {
    let folder = Folder::new("state-open");
    let path = folder.file("h.jsonl");
    fs::write(&path, [HEADER, A, STALE].concat()).unwrap();
    let args = ["h.jsonl", "--state", "state", "--events", "e.jsonl"];
    let mut watching = Watching::start(&folder, &args);
    watching.until("held to");
    thread::sleep(Duration::from_millis(300));
    let ran = watching.interrupt();
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    assert!(ran.out.contains("open          2 transactions have no final verdict yet"), "{ran:#?}");
    // What should have been read comes now.
    OpenOptions::new().append(true).open(&path).unwrap().write_all(B.as_bytes()).unwrap();
    let ran = folder.isolde(&[&["watch"], &args[..], &["--until-end"]].concat());
    assert!(ran.code == Some(1) && ran.out.contains("StaleRead: 1"), "{ran:#?}");
    assert!(!ran.out.contains("corrections"), "{ran:#?}");
    assert_eq!(verdicts(&folder, "e.jsonl").len(), 1);
    // And once more: nothing is new.
    let ran = folder.isolde(&[&["watch"], &args[..], &["--until-end"]].concat());
    assert!(ran.code == Some(1) && ran.out.contains("transactions  3"), "{ran:#?}");
    assert_eq!(verdicts(&folder, "e.jsonl").len(), 1);
}

#[test]
fn a_native_file_is_read_on_by_blocks() {
    let folder = Folder::new("state-native");
    let generate = ["generate", "h.isolde", "--txns", "40000", "--level", "si", "--timestamps"];
    assert_eq!(folder.isolde(&generate).code, Some(0));
    let whole = fs::read(folder.file("h.isolde")).unwrap();
    let (first, rest) = whole.split_at(whole.len() / 2);
    fs::write(folder.file("grows.isolde"), first).unwrap();
    let args = ["grows.isolde", "--state", "state", "--json"];
    let mut watching = Watching::start(&folder, &args);
    watching.until("held to");
    thread::sleep(Duration::from_millis(300));
    watching.kill();
    let mut file = OpenOptions::new().append(true).open(folder.file("grows.isolde")).unwrap();
    file.write_all(rest).unwrap();
    let mut watching = Watching::start(&folder, &args);
    watching.until("going on after ");
    let ran = watching.end();
    let summary = json(&ran.out);
    assert_eq!(
        (&summary["transactions"], &summary["violations"], &summary["repeated"]),
        (&40000.into(), &0.into(), &0.into()),
        "{ran:#?}"
    );
}

/// A watch that is refused, with these words.
#[track_caller]
fn refused(folder: &Folder, args: &[&str], words: &str) {
    let ran: Ran = folder.isolde(&[&["watch"], args].concat());
    assert!(ran.code == Some(2) && ran.err.contains(words), "{words}: {ran:#?}");
    assert!(!ran.err.contains("panicked"), "{ran:#?}");
}

#[test]
fn a_state_is_of_one_watch() {
    let folder = Folder::new("state-refused");
    let path = folder.file("h.jsonl");
    fs::write(&path, [HEADER, A, B].concat()).unwrap();
    fs::write(folder.file("other.jsonl"), [HEADER, A, B].concat()).unwrap();
    let args = ["h.jsonl", "--state", "state"];
    refused(&folder, &["-", "--state", "state"], "standard input cannot be read again");
    let mut watching = Watching::start(&folder, &args);
    watching.until("held to");
    refused(&folder, &args, "state is in use: another watch keeps its state there");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(watching.interrupt().code, Some(3));
    refused(&folder, &["other.jsonl", "--state", "state"], "has the state of another source");
    refused(&folder, &["http:127.0.0.1:0", "--state", "state"], "not HTTP requests");
    let serial = ["--level", "ser", "--fact", "commit-order=serial"];
    refused(&folder, &[&args[..], &serial].concat(), "another --initial or --fact");
    refused(
        &folder,
        &[&args[..], &["--level", "ser"]].concat(),
        "of snapshot-isolation by timestamps, not of serializable by timestamps",
    );
    refused(&folder, &["h.jsonl", "--state", "."], "has other files in it, and no state");
    refused(&folder, &["h.jsonl", "--state", "h.jsonl"], "cannot keep the state in h.jsonl");
    // The file is shorter than it was, or another one.
    fs::write(&path, HEADER).unwrap();
    refused(&folder, &args, "h.jsonl has shrunk");
    fs::write(&path, [HEADER, B, A, FRESH].concat()).unwrap();
    refused(&folder, &args, "h.jsonl was replaced");
    fs::write(folder.file("new.jsonl"), [HEADER, A, B].concat()).unwrap();
    fs::rename(folder.file("new.jsonl"), &path).unwrap();
    refused(&folder, &args, "h.jsonl was replaced");
    fs::write(folder.file("state/watch.json"), "{\"isolde-watch\":99}").unwrap();
    refused(&folder, &args, "another version of Isolde wrote it");
}

#[test]
fn a_file_of_events_is_of_one_state() {
    let folder = Folder::new("state-events");
    fs::write(folder.file("h.jsonl"), [HEADER, A, B, STALE].concat()).unwrap();
    let args = ["h.jsonl", "--until-end", "--state", "state", "--events", "e.jsonl"];
    fs::write(folder.file("e.jsonl"), "mine\n").unwrap();
    refused(&folder, &args, "e.jsonl exists");
    fs::remove_file(folder.file("e.jsonl")).unwrap();
    assert_eq!(folder.isolde(&[&["watch"], &args[..]].concat()).code, Some(1));
    let events = fs::read_to_string(folder.file("e.jsonl")).unwrap();
    // What was written after the state was saved comes again, and is cut off.
    fs::write(folder.file("e.jsonl"), format!("{events}{{\"number\":2,")).unwrap();
    assert_eq!(folder.isolde(&[&["watch"], &args[..]].concat()).code, Some(1));
    assert_eq!(fs::read_to_string(folder.file("e.jsonl")).unwrap(), events);
    fs::write(folder.file("e.jsonl"), &events[..events.len() - 5]).unwrap();
    refused(&folder, &args, "e.jsonl has lost events");
    fs::write(folder.file("e.jsonl"), events.replacen("events\":1", "events\":2", 1)).unwrap();
    refused(&folder, &args, "e.jsonl was written by another version of Isolde");
    // Events of another state are not ours to cut.
    let other = ["h.jsonl", "--until-end", "--state", "other", "--events", "e.jsonl"];
    fs::write(folder.file("e.jsonl"), &events).unwrap();
    refused(&folder, &other, "e.jsonl has the events of another state");
    // Another file gets what is found from now on.
    let next = ["h.jsonl", "--until-end", "--state", "state", "--events", "next.jsonl"];
    assert_eq!(folder.isolde(&[&["watch"], &next[..]].concat()).code, Some(1));
    assert_eq!(verdicts(&folder, "next.jsonl").len(), 0);
}
