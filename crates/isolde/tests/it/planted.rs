//! Faults that are planted in traces of real servers: by client intervals each is found, by the mechanism that should have
//! prevented it, and nothing else is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_check::Options;
use isolde_history::{Format, History, Input, Source};
use isolde_spec::{Answer, Profile};
use isolde_stream::intervals::decide;
use serde_json::{Value, json};

use crate::common::{Folder, has_mariadb, has_postgres};

/// The lines of a trace.
#[derive(Clone)]
struct Tape(Vec<Value>);

/// A version of a row: which line wrote it, and when.
#[derive(Clone, Debug)]
struct Wrote {
    line: usize,
    value: i64,
    answered: i64,
    end_sent: i64,
    ended: i64,
}

/// A read of a row that the transaction had not written: where it stands, and when it was sent.
#[derive(Clone, Debug)]
struct Saw {
    line: usize,
    /// Its place in the line.
    at: String,
    key: Value,
    value: i64,
    /// Whether its row was locked: then what it sees is no matter of a snapshot.
    locks: bool,
    sent: i64,
    began: i64,
    ended: i64,
}

fn time(value: &Value) -> i64 {
    value.as_i64().unwrap_or(i64::MAX)
}

impl Tape {
    fn record(server: &str, isolation: &str) -> Tape {
        let folder = Folder::new("planted");
        let args =
            ["record", server, "tape.jsonl", "--isolation", isolation, "--workload", "register"];
        let more = ["--txns", "600", "--keys", "12", "--sessions", "6", "--seed", "11"];
        let ran = folder.isolde(&[&args[..], &more].concat());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let text = std::fs::read_to_string(folder.file("tape.jsonl")).unwrap();
        Tape(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    /// The transactions that committed, by line.
    fn committed(&self) -> impl Iterator<Item = (usize, &Value)> {
        let lines = self.0.iter().enumerate();
        lines.filter(|(_, line)| line.get("stmts").is_some() && line.get("outcome").is_none())
    }

    /// The versions of a row that were committed, in the order in which they were written.
    fn versions(&self, key: &Value) -> Vec<Wrote> {
        let of = |(at, line): (usize, &Value)| {
            let stmts = line["stmts"].as_array()?;
            let writes = stmts.iter().flat_map(|stmt| {
                let ops = stmt["ops"].as_array().into_iter().flatten();
                ops.map(move |op| (op, time(&stmt["interval"][1])))
            });
            let mut own = writes.filter(|(op, _)| op[0] == "w" && op[1] == *key);
            let (op, answered) = own.next_back()?;
            let (end_sent, ended) = (time(&line["end-sent"]), time(&line["interval"][1]));
            Some(Wrote { line: at, value: op[2].as_i64()?, answered, end_sent, ended })
        };
        let mut all: Vec<Wrote> = self.committed().filter_map(of).collect();
        all.sort_by_key(|wrote| wrote.answered);
        all
    }

    /// All reads of what others wrote.
    fn reads(&self) -> Vec<Saw> {
        let mut all = Vec::new();
        for (line, txn) in self.committed() {
            let mut own: Vec<&Value> = Vec::new();
            for (number, stmt) in txn["stmts"].as_array().unwrap().iter().enumerate() {
                for (place, op) in stmt["ops"].as_array().unwrap().iter().enumerate() {
                    if op[0] == "w" {
                        own.push(&op[1]);
                    }
                    let Some(value) = op[2].as_i64().filter(|_| op[0] == "r") else { continue };
                    if own.contains(&&op[1]) {
                        continue;
                    }
                    let at = format!("/stmts/{number}/ops/{place}/2");
                    let [began, ended] = [0, 1].map(|side| time(&txn["interval"][side]));
                    let (sent, locks) = (time(&stmt["interval"][0]), stmt.get("lock").is_some());
                    let key = op[1].clone();
                    all.push(Saw { line, at, key, value, locks, sent, began, ended });
                }
            }
        }
        all
    }

    fn keys(&self) -> Vec<Value> {
        (0..12).map(Value::from).collect()
    }

    fn history(&self) -> History {
        let text: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        let source = Source::File(Input::new("tape.jsonl", text));
        Format::recognise(&source).unwrap().load(&source).unwrap().finish()
    }

    /// What is found, with how often.
    fn found(&self, profile: &str) -> Vec<String> {
        let verdict =
            decide(&self.history(), Profile::named(profile).unwrap(), &Options::default(), 0.0);
        let mechanism = |anomaly| {
            let mut witnesses = verdict.witnesses().iter();
            let witness = witnesses.find(|witness| witness.anomaly == anomaly).unwrap();
            witness.mirrored.as_ref().unwrap().mechanism.name()
        };
        let each = verdict.counts.iter();
        let mut found: Vec<String> = each
            .map(|c| format!("{}: {} {}", mechanism(c.anomaly), c.count, c.anomaly.name()))
            .collect();
        found.sort();
        let none = matches!(verdict.answer, Answer::NoViolation { enough: true, .. });
        assert_eq!(none, found.is_empty(), "{:?}", verdict.answer);
        found
    }

    /// A read returns what had been overwritten before its transaction began.
    fn stale_read(mut self) -> Tape {
        let place = self.reads().into_iter().filter(|read| !read.locks).find_map(|read| {
            let versions = self.versions(&read.key);
            let at = versions.iter().position(|wrote| wrote.value == read.value)?;
            let is_old = at > 0 && versions[at].ended < read.began;
            is_old.then(|| (read.line, read.at, versions[at - 1].value))
        });
        let (line, at, old) = place.unwrap();
        *self.0[line].pointer_mut(&at).unwrap() = json!(old);
        self
    }

    /// A read returns what was committed only after its transaction had ended.
    fn future_read(mut self) -> Tape {
        let place = self.reads().into_iter().filter(|read| !read.locks).find_map(|read| {
            let versions = self.versions(&read.key);
            let later = versions.iter().find(|wrote| wrote.end_sent > read.ended)?;
            Some((read.line, read.at, later.value))
        });
        let (line, at, future) = place.unwrap();
        *self.0[line].pointer_mut(&at).unwrap() = json!(future);
        self
    }

    /// Pairs of versions of a row of which one follows the other, by different transactions.
    fn pairs(&self) -> Vec<[Wrote; 2]> {
        let pairs = |key: &Value| -> Vec<[Wrote; 2]> {
            let versions = self.versions(key);
            versions.windows(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect()
        };
        self.keys().iter().flat_map(pairs).collect()
    }

    /// A writer commits only after the next one has written, which must have waited for it. Nobody has read what it wrote by
    /// then.
    fn lost_lock(mut self) -> Tape {
        let reads = self.reads();
        let pair = self.pairs().into_iter().find(|[first, second]| {
            let until = second.answered + 2;
            let mine = self.keys().into_iter().filter_map(|key| {
                let own = self.versions(&key).into_iter().find(|wrote| wrote.line == first.line);
                own.map(|wrote| (key, wrote.value))
            });
            let seen = mine.into_iter().any(|(key, value)| {
                reads.iter().any(|r| r.key == key && r.value == value && r.sent <= until)
            });
            !seen && second.end_sent > second.answered + 1
        });
        let [first, second] = pair.unwrap();
        let line = &mut self.0[first.line];
        line["end-sent"] = json!(second.answered + 1);
        line["interval"][1] = json!(second.answered + 2);
        line["session"] = json!("planted");
        self
    }

    /// A writer that read nothing had its snapshot before the writer of the version that it replaces committed.
    fn lost_update(mut self) -> Tape {
        let reads = self.reads();
        let blind = |line: usize| !reads.iter().any(|read| read.line == line);
        let pair = self.pairs().into_iter().find(|[first, second]| {
            blind(second.line) && first.end_sent > time(&self.0[first.line]["interval"][0]) + 10
        });
        let [first, second] = pair.unwrap();
        let at = first.end_sent;
        let line = &mut self.0[second.line];
        let read = json!({"ops": [["r", "planted", 0]], "interval": [at - 2, at - 1]});
        line["stmts"].as_array_mut().unwrap().insert(0, read);
        line["interval"][0] = json!(at - 3);
        line["session"] = json!("planted");
        self
    }

    /// Two transactions each overwrite what the other has read.
    fn write_skew(mut self) -> Tape {
        let middle = self.0.len() / 2;
        let t = time(&self.0[middle]["interval"][0]);
        let doctor = |name: &str, row: &str, (sent, ended): (i64, i64)| {
            json!({
                "session": name, "interval": [t, t + ended], "end-sent": t + sent,
                "stmts": [
                    {"ops": [["r", "p", 0], ["r", "q", 0]], "interval": [t + 10, t + 20]},
                    {"ops": [["w", row, 1]], "interval": [t + 30, t + 40]},
                ],
            })
        };
        self.0.insert(middle, doctor("planted-1", "p", (50, 60)));
        self.0.insert(middle, doctor("planted-2", "q", (70, 80)));
        self
    }
}

const STALE: &str = "consistent read: 1 StaleRead";
/// The first, if it had not even been sent when the read was answered.
const FUTURE: [&str; 2] =
    ["consistent read: 1 ThinAirRead", "consistent read: 1 UncommittedVersionRead"];

/// Reads that are planted are found at every level that has snapshots, and nothing is in the trace as it was.
#[track_caller]
fn reads_are_found(tape: &Tape, profile: &str) {
    assert_eq!(tape.found(profile), [""; 0], "{profile}");
    assert_eq!(tape.clone().stale_read().found(profile), [STALE], "{profile}");
    let future = tape.clone().future_read().found(profile);
    assert!(future.len() == 1 && FUTURE.contains(&&*future[0]), "{profile}: {future:?}");
}

#[track_caller]
fn found_are(tape: &Tape, profile: &str, anomaly: &str) {
    let found = tape.found(profile);
    let alone = found.len() == 1 && found[0].ends_with(anomaly);
    assert!(alone, "{profile}: {found:?}");
}

#[test]
fn faults_planted_in_traces_of_postgres() {
    if !has_postgres() {
        return;
    }
    let rc = Tape::record("postgres", "read-committed");
    reads_are_found(&rc, "postgresql/read-committed");
    let lock = rc.lost_lock();
    found_are(&lock, "postgresql/read-committed", "BrokenLock");
    let rr = Tape::record("postgres", "repeatable-read");
    reads_are_found(&rr, "postgresql/repeatable-read");
    found_are(&rr.lost_update(), "postgresql/repeatable-read", "ConcurrentWrites");
    let ser = Tape::record("postgres", "serializable");
    reads_are_found(&ser, "postgresql/serializable");
    let skew = ser.write_skew();
    assert_eq!(skew.found("postgresql/repeatable-read"), [""; 0]);
    let certifier = ["DangerousStructure", "WriteSkew"];
    let certifier = certifier.map(|name| format!("serialization certifier: 1 {name}"));
    assert_eq!(skew.found("postgresql/serializable"), certifier);
}

#[test]
fn faults_planted_in_traces_of_mariadb() {
    if !has_mariadb() {
        return;
    }
    let rc = Tape::record("mariadb", "read-committed");
    reads_are_found(&rc, "mariadb/read-committed");
    found_are(&rc.lost_lock(), "mariadb/read-committed", "BrokenLock");
    let rr = Tape::record("mariadb", "repeatable-read");
    reads_are_found(&rr, "mariadb/repeatable-read");
    let snapshot = Tape::record("mariadb", "repeatable-read-snapshot");
    reads_are_found(&snapshot, "mariadb/repeatable-read-snapshot");
    found_are(&snapshot.lost_update(), "mariadb/repeatable-read-snapshot", "ConcurrentWrites");
}
