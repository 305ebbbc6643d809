//! The twin of promises by snapshots on cases of which the answer is known: which rule it finds broken.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::notation::parse;
use isolde_spec::{Level, Promise};

use crate::snapshot_twin::{self, Broken};

fn snap(text: &str) -> String {
    let parts: Vec<&str> = text.split(',').collect();
    format!("snapshot={{xmin:{},xmax:{},xip:[{}]}}", parts[0], parts[1], parts[2].replace(' ', ","))
}

/// Transactions as `session|operations|xid|snapshot|more`, each with a snapshot of its own; by statements, of all
/// its statements.
#[track_caller]
fn twin(level: Level, lines: &[&str], holds: Option<bool>, broken: &[Broken]) {
    let mut text = "initial 0\n".to_owned();
    for line in lines {
        let parts: Vec<&str> = line.split('|').collect();
        let [session, ops, xid, snapshot, more] = parts[..] else { panic!("{line}") };
        let xid = if xid.is_empty() { String::new() } else { format!("xid={xid},") };
        let snapshot = snap(snapshot);
        text.push_str(&match level {
            Level::SnapshotIsolation => format!("{session}: {ops} {{{xid}{more}{snapshot}}}\n"),
            _ => {
                let stmts: Vec<String> =
                    ops.split(' ').map(|op| format!("[{op}]{{{snapshot}}}")).collect();
                format!("{session}: {} {{{xid}{more}z=1}}\n", stmts.join(" "))
            }
        });
    }
    let history = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let twin = snapshot_twin::decide(&history, Promise::by_snapshots(level), 0);
    assert_eq!(twin.holds, holds, "{twin:?}\n{text}");
    let found: Vec<Broken> = twin.broken.into_iter().collect();
    assert_eq!(found, broken, "\n{text}");
}

#[track_caller]
fn si(lines: &[&str], broken: &[Broken]) {
    twin(Level::SnapshotIsolation, lines, Some(broken.is_empty()), broken);
}

#[track_caller]
fn rc(lines: &[&str], broken: &[Broken]) {
    twin(Level::ReadCommitted, lines, Some(broken.is_empty()), broken);
}

#[test]
fn reads() {
    let writers = ["a|w(x,1)|10|10,10,|", "b|w(x,2)|11|11,11,|"];
    let with = |reader| [writers[0], writers[1], reader];
    si(&with("c|r(x,2)||12,12,|"), &[]);
    si(&with("c|r(x,1)||12,12,|"), &[Broken::Read(2)]);
    si(&with("c|r(x,0)||12,12,|"), &[Broken::Read(2)]);
    si(&with("c|r(x,1)||11,12,11|"), &[]);
    si(&with("c|r(x,2)||11,12,11|"), &[Broken::Read(2)]);
    rc(&with("c|r(x,2)||12,12,|"), &[]);
    rc(&with("c|r(x,1)||12,12,|"), &[Broken::Read(2)]);
    rc(&with("c|r(x,absent)||12,12,|"), &[Broken::Read(2)]);
    rc(&with("c|r(x,2)||11,12,11|"), &[Broken::Read(2)]);
}

#[test]
fn conflicts() {
    si(&["a|w(x,1)|10|10,10,|", "b|w(x,2)|11|10,11,10|"], &[Broken::Conflict(0, 1, 0)]);
    si(&["a|delete(x)|10|10,10,|", "b|insert(x,2)|11|10,11,10|"], &[]);
    si(&["a|delete(x)|10|10,10,|", "b|r(x,0) insert(x,2)|11|10,11,10|"], &[]);
    // Of the two, no snapshot says which came first: either may be read.
    let both = |seen| format!("c|r(x,{seen})||12,12,|");
    for seen in ["2", "absent"] {
        let reader = both(seen);
        si(&["a|delete(x)|10|10,10,|", "b|insert(x,2)|11|10,11,10|", &reader], &[]);
    }
    let reader = both("0");
    let lines = ["a|delete(x)|10|10,10,|", "b|insert(x,2)|11|10,11,10|", reader.as_str()];
    si(&lines, &[Broken::Read(2)]);
    // A writer that waited in read committed replaces what its snapshot does not show.
    rc(&["a|w(x,1)|10|10,10,|", "b|cas(x,1,2)|11|10,11,10|", "c|r(x,2)||12,12,|"], &[]);
}

#[test]
fn sessions_and_time() {
    si(&["a|w(x,1)|10|10,10,|", "a|r(x,0)||10,11,10|"], &[Broken::Session(1)]);
    let smaller = ["a|w(x,1)|10|10,10,|", "b|r(x,1)||11,11,|", "b|r(x,0)||10,11,10|"];
    si(&smaller, &[Broken::Session(2)]);
    let late = |begin| format!("b|[r(x,0)]@[8,9] @[{begin},9]||10,11,10|");
    si(&["a|w(x,1) @[1,5]|10|10,10,|", &late(5)], &[]);
    si(&["a|w(x,1) @[1,5]|10|10,10,|", &late(6)], &[Broken::Fresh(1)]);
}

#[test]
fn snapshots() {
    si(&["a|w(x,1)|10|11,11,|"], &[Broken::Own(0)]);
    rc(&["a|w(x,1)|10|11,11,|"], &[]);
    let writers = ["a|w(x,1)|10|10,10,|", "b|w(y,1)|11|10,10,|"];
    let apart = [writers[0], writers[1], "c|r(x,7)||10,12,11|", "d|r(x,8)||10,12,10|"];
    si(&apart, &[Broken::Apart]);
    rc(&apart, &[Broken::Apart]);
}

#[test]
fn restarts_and_evidence() {
    let reused = |seen| format!("c|r(x,{seen})||10,11,10|restart=1,");
    let (old, new) = (reused("1"), reused("2"));
    let writers = ["a|w(x,1)|10|10,10,|", "b|w(x,2)|10|10,10,|restart=1,"];
    si(&[writers[0], writers[1], &old], &[]);
    si(&[writers[0], writers[1], &new], &[Broken::Read(2)]);
    twin(Level::SnapshotIsolation, &["a|w(x,1)||10,10,|"], None, &[]);
}
