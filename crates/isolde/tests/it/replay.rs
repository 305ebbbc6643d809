//! `isolde replay`: a recorded history as a stream.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

use super::common::{Folder, Ran};

/// A folder with a history of 2,500 transactions that have timestamps, one of which lost an update.
fn made(name: &str) -> Folder {
    let folder = Folder::new(name);
    let generate = ["generate", "h.isolde", "--txns", "2500", "--level", "si", "--timestamps"];
    let ran = folder.isolde(&[&generate[..], &["--plant", "LostUpdate:1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    folder
}

fn replay(folder: &Folder, args: &[&str]) -> Ran {
    let ran = folder.isolde(&[&["replay", "h.isolde"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.err, "");
    ran
}

fn lines(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The transactions of each session, in the order of their lines.
fn sessions(lines: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.get("ops").is_some()) {
        sessions.entry(line["session"].to_string()).or_default().push(line.to_string());
    }
    sessions
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = made("replay-seed");
    let delayed = ["--delay", "normal:100ms,10ms", "--promises"];
    for args in [&delayed[..], &["--shuffle", "--batch", "7"]] {
        let with = |seed| replay(&folder, &[args, &["--seed", seed]].concat()).out;
        assert_eq!(with("3"), with("3"));
        assert_ne!(with("3"), with("4"));
    }
}

#[test]
fn what_is_replayed_is_the_same_history() {
    let folder = made("replay-same");
    let recorded = sessions(&lines(&replay(&folder, &[])));
    assert_eq!(recorded.values().map(Vec::len).sum::<usize>(), 2500);
    let delay = ["--delay", "normal:50ms,20ms"];
    for args in [&["--shuffle"][..], &["--shuffle", "--promises"], &delay] {
        let ran = replay(&folder, args);
        assert_eq!(sessions(&lines(&ran)), recorded, "{args:?}");
        std::fs::write(folder.file("again.jsonl"), &ran.out).unwrap();
        for (level, code) in [("si", 1), ("rc", 0)] {
            let checked = folder.isolde(&["check", "--level", level, "again.jsonl"]);
            assert_eq!(checked.code, Some(code), "{args:?} {checked:?}");
            assert_eq!(checked.out.contains("LostUpdate"), code == 1, "{args:?} {checked:?}");
        }
    }
}

#[test]
fn promises_are_kept() {
    let folder = made("replay-promises");
    for args in [&["--promises"][..], &["--promises", "--shuffle"]] {
        let lines = lines(&replay(&folder, args));
        let (mut promises, mut ends) = (0, 0);
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.get("ops").is_none()) {
            let rest = lines[at..].iter().filter(|line| line.get("ops").is_some());
            let speaks_of = |txn: &&Value| line.get("session").is_none_or(|s| *s == txn["session"]);
            let mut rest = rest.filter(speaks_of);
            if line.get("end") == Some(&Value::Bool(true)) {
                assert_eq!(rest.next(), None, "{line}");
                ends += 1;
            } else if let Some(least) = line.get("watermark").and_then(Value::as_i64) {
                promises += 1;
                let kept = |txn: &Value| {
                    let stamp = txn["ts"][1].as_i64().or(txn["ts"][0].as_i64());
                    stamp.is_none_or(|stamp| stamp >= least)
                };
                assert!(rest.all(kept), "{line}");
            }
        }
        // Of every session and of all, at least at the beginning.
        let sessions = sessions(&lines).len();
        assert!(promises > sessions, "{promises} of {sessions}");
        assert_eq!(ends, sessions + 1);
    }
}

#[test]
fn a_rate_takes_its_time_and_a_socket_gets_the_same_lines() {
    let folder = Folder::new("replay-socket");
    let text = "a: w(x,1)\nb: w(x,2)\na: w(x,3)\n";
    std::fs::write(folder.file("h.isolde"), text).unwrap();
    let here = replay(&folder, &["--format", "notation"]).out;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let began = std::time::Instant::now();
    let reader = std::thread::spawn(move || {
        let mut received = String::new();
        listener.accept().unwrap().0.read_to_string(&mut received).unwrap();
        received
    });
    let args = ["--format", "notation", "--rate", "10", "--batch", "1", "--to", &address];
    assert_eq!(replay(&folder, &args).out, "");
    assert_eq!(reader.join().unwrap(), here);
    assert!(began.elapsed().as_millis() >= 200);
    let nobody = folder.isolde(&["replay", "h.isolde", "--to", "unix:nobody-listens"]);
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
    assert!(nobody.err.contains("cannot connect to nobody-listens"), "{nobody:?}");
}
