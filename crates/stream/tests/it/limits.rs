//! Streams that are hard on memory: the limit holds, and the answer is right.

use std::fmt::Write as _;

use isolde_history::notation;
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Status, Stream};

use crate::ends::promised;
use crate::folder::Folder;

const MEMORY: usize = 8 << 20;

/// Feeds lines of the notation in batches, with next to no memory, and says the most that was held.
fn watch(lines: impl Iterator<Item = String>, batch: usize, timeout: i64) -> (Status, usize) {
    held_to(Promise::by_timestamps(Level::SnapshotIsolation), lines, batch, timeout)
}

fn held_to(
    promise: Promise,
    lines: impl Iterator<Item = String>,
    batch: usize,
    timeout: i64,
) -> (Status, usize) {
    let folder = Folder::new();
    let settings =
        Settings { memory: MEMORY, timeout, folder: Some(folder.path()), ..Settings::new(promise) };
    let mut stream = Stream::new(settings).unwrap();
    let (mut text, mut count, mut now, mut most) = (String::new(), 0, 0, 0);
    let mut push = |text: &mut String, stream: &mut Stream| {
        let history = notation::parse(&format!("initial 0\n{text}")).unwrap();
        stream.push(history, now).unwrap();
        (now, most) = (now + 1, most.max(stream.status().memory));
        text.clear();
    };
    for line in lines {
        let _ = writeln!(text, "{line}");
        count += 1;
        if count % batch == 0 {
            push(&mut text, &mut stream);
        }
    }
    push(&mut text, &mut stream);
    stream.finish(i64::MAX / 2).unwrap();
    (stream.status(), most)
}

/// What a stream may hold beside its limit: one batch, and tables that grow by doubling.
fn assert_within(most: usize) {
    assert!(most < MEMORY * 5 / 4, "{most} bytes were held of {MEMORY}");
}

#[test]
fn keys_that_are_never_used_again_leave_memory() {
    let lines = (0..60_000_i64).map(|i| {
        let old = i - 30_000;
        let again = match old > 0 && i % 1_000 == 0 {
            true => format!("r(k{old},{old}) "),
            false => String::new(),
        };
        format!("s{}: {again}w(k{i},{i}) ts({},{})", i % 8, 10 * i, 10 * i + 5)
    });
    let (status, most) = watch(lines, 100, 5);
    assert_eq!((status.holds(), status.txns), (Some(true), 60_000));
    assert!(status.keys < 40_000 && status.reloads > 0, "{status:?}");
    assert_within(most);
}

#[test]
fn a_stream_of_one_key_stays_small() {
    let lines = (0..60_000_i64)
        .map(|i| format!("s{}: r(x,{i}) w(x,{}) ts({},{})", i % 8, i + 1, 10 * i, 10 * i + 5));
    let (status, most) = watch(lines, 100, 5);
    assert_eq!((status.holds(), status.txns), (Some(true), 60_000));
    assert_within(most);
}

#[test]
fn a_session_for_every_transaction_is_forgotten_in_time() {
    let lines = (0..60_000_i64)
        .map(|i| format!("s{i}: r(x,{i}) w(x,{}) ts({},{})", i + 1, 10 * i, 10 * i + 5));
    let (status, most) = watch(lines, 100, 5);
    assert_eq!((status.holds(), status.txns), (Some(true), 60_000));
    assert_within(most);
}

#[test]
fn a_session_with_numbers_for_every_transaction_is_forgotten_in_time() {
    let lines = (0..60_000_i64)
        .map(|i| format!("s{i}: w(x,{}) ts({},{}) {{seq=1}}", i + 1, 10 * i, 10 * i + 5));
    let (status, most) = watch(lines, 100, 5);
    assert_eq!((status.holds(), status.txns), (Some(true), 60_000));
    assert_within(most);
}

#[test]
fn a_transaction_that_is_too_late_counts_once() {
    let folder = Folder::new();
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let settings = Settings {
        memory: 1,
        keep: 1,
        timeout: 0,
        folder: Some(folder.path()),
        ..Settings::new(promise)
    };
    let mut stream = Stream::new(settings).unwrap();
    for i in 1..2_000_i64 {
        let keys = (0..4).map(|key| format!("w({key},{i}) ")).collect::<String>();
        let text = format!("initial 0\ns{}: {keys}ts({},{})", i % 8, 10 * i, 10 * i + 5);
        stream.push(notation::parse(&text).unwrap(), i).unwrap();
    }
    let late = (0..4).map(|key| format!("r({key},1) w({key},a{key}) ")).collect::<String>();
    let text = format!("initial 0\nlate: {late}ts(22,23)");
    stream.push(notation::parse(&text).unwrap(), 5_000).unwrap();
    stream.finish(10_000).unwrap();
    assert_eq!((stream.status().too_late, stream.status().holds()), (1, None));
}

#[test]
fn promises_that_come_and_go_do_not_multiply_what_is_open() {
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let mut stream = Stream::new(Settings::new(promise)).unwrap();
    // Nothing wrote what they read, and all may still come.
    let mut text = "initial 0\n".to_owned();
    (0..1_000).for_each(|i| _ = writeln!(text, "a: list(l{i},[7]) ts({i},_)"));
    stream.push(promised(&text, &[("a", Some(0))]), 0).unwrap();
    let before = stream.status().memory;
    for flip in 0..40 {
        // A session is there that has promised nothing yet.
        let silent = format!("initial 0\nb{flip}: r(y,0) ts(5000,5001)");
        stream.push(notation::parse(&silent).unwrap(), 0).unwrap();
        assert!(!stream.status().promised);
        let name = format!("b{flip}");
        stream.push(promised("initial 0", &[(&name, None)]), 0).unwrap();
        assert!(stream.status().promised);
    }
    let after = stream.status().memory;
    assert!(after < before + (1 << 20), "{before} bytes, and after 40 flips {after}");
    assert_eq!(stream.status().open, 1_040);
    stream.finish(0).unwrap();
    assert_eq!(stream.status().violations, 1_000);
}

#[test]
fn timestamps_that_run_backwards_are_judged_all_the_same() {
    // The last comes first: every read is wrong until what it read comes.
    let lines = (0..6_000_i64)
        .rev()
        .map(|i| format!("s{i}: r(x,{i}) w(x,{}) ts({},{})", i + 1, 10 * i, 10 * i + 5));
    let (status, most) = watch(lines, 50, 1 << 40);
    assert_eq!((status.holds(), status.txns), (Some(true), 6_000), "{status:?}");
    assert_within(most);
}

#[test]
fn a_stream_by_snapshots_leaves_memory_too() {
    // Every thousandth reads what was written long ago, and has a snapshot of then that came in time.
    let lines = (0..60_000_i64).map(|i| {
        let (old, number) = (i - 30_000, 10 + i);
        let again = match old > 0 && i % 1_000 == 0 {
            true => format!("r(k{old},{old}) "),
            false => String::new(),
        };
        let snapshot = format!("snapshot={{xmin:{number},xmax:{number},xip:[]}}");
        format!(
            "s{}: r(x,{i}) w(x,{}) {again}w(k{i},{i}) {{xid={number},{snapshot}}}",
            i % 8,
            i + 1
        )
    });
    let promise = Promise::by_snapshots(Level::SnapshotIsolation);
    let (status, most) = held_to(promise, lines, 100, 5);
    assert_eq!((status.holds(), status.txns, status.too_late), (Some(true), 60_000, 0));
    assert!(status.keys < 40_000 && status.reloads > 0, "{status:?}");
    assert_within(most);
}

#[test]
fn a_wrong_read_of_a_list_does_not_make_later_appends_cost_the_list() {
    let lines = (0..20_000_i64).map(|i| {
        let wrong = if i == 100 { "list(l,[5]) " } else { "" };
        format!("s{}: {wrong}append(l,{i}) ts({},{})", i % 8, 10 * i, 10 * i + 5)
    });
    let (status, _) = watch(lines, 100, 5);
    assert_eq!(status.by_anomaly, [("StaleRead", 1)]);
    // The whole list is read again for the wrong read, and never for an append.
    assert!(status.reloads < 500, "{status:?}");
}

#[test]
fn wrong_reads_of_many_versions_with_one_timestamp_ask_for_few_of_them() {
    let writers = (0..5_000_i64).map(|i| format!("s{}: w(x,{i}) ts(1,5)", i % 8));
    let readers = (0..2_000_i64).map(|i| format!("s{}: r(x,-7) ts({},_)", i % 8, 10 + i));
    let (status, _) = watch(writers.chain(readers), 1_000, 5);
    assert!(status.by_anomaly.contains(&("ThinAirRead", 2_000)), "{:?}", status.by_anomaly);
}

#[test]
fn wrong_reads_of_two_values_that_are_written_all_the_time_ask_for_few_writers() {
    let lines = (0..30_000_i64).map(|i| {
        let seen = if i % 10 == 9 { i % 2 } else { 1 - i % 2 };
        format!("s{}: r(x,{seen}) w(x,{}) ts({},{})", i % 8, i % 2, 10 * i, 10 * i + 5)
    });
    let (status, most) = watch(lines, 500, 5);
    let wrong: u64 = status.by_anomaly.iter().map(|(_, count)| count).sum();
    assert_eq!(wrong, 3_001, "{:?}", status.by_anomaly);
    // Once for all of them and for each batch that leaves memory, not for each of them.
    assert!(status.reloads < 3_000, "{status:?}");
    assert_within(most);
}

#[test]
fn a_line_that_is_missing_after_many_wrong_reads_is_asked_about_once_a_key() {
    let folder = Folder::new();
    let promise = Promise::by_timestamps(Level::SnapshotIsolation);
    let settings = Settings {
        memory: MEMORY,
        timeout: 5,
        folder: Some(folder.path()),
        ..Settings::new(promise)
    };
    let mut stream = Stream::new(settings).unwrap();
    let (mut most, mut reloads) = (0, 0);
    for batch in 0..300_i64 {
        let mut text = "initial 0\n".to_owned();
        for i in batch * 100..(batch + 1) * 100 {
            let (key, before) = (i % 20, i - 20);
            let seen = if i % 100 == 99 { before - 20 } else { before };
            let read = if before > 20 { format!("r(k{key},{seen}) ") } else { String::new() };
            let (start, commit) = (10 * i, 10 * i + 5);
            let _ = writeln!(text, "s{}: {read}w(k{key},{i}) ts({start},{commit})", i % 8);
        }
        stream.push(notation::parse(&text).unwrap(), batch).unwrap();
        most = most.max(stream.status().memory);
        if batch == 250 {
            let before = stream.status().reloads;
            assert!(stream.status().violations > 200);
            stream.incomplete("a line is missing", batch).unwrap();
            reloads = stream.status().reloads - before;
            most = most.max(stream.status().memory);
        }
    }
    stream.finish(1_000).unwrap();
    let status = stream.status();
    // No value was written twice, so that every wrong read stays.
    assert_eq!((status.by_anomaly, status.corrections), (vec![("StaleRead", 300)], 0));
    assert!(reloads < 251 * 20, "{reloads}");
    assert_within(most);
}

#[test]
fn many_keys_whose_timestamps_run_backwards_are_read_again_together() {
    let lines = (0..6_000_i64).rev().map(|i| {
        let (key, seen) = (i % 50, i - 50);
        let seen = if seen < 0 { 0 } else { seen };
        format!("s{i}: r(x{key},{seen}) w(x{key},{i}) ts({},{})", 10 * i, 10 * i + 5)
    });
    let (status, most) = watch(lines, 50, 1 << 40);
    assert_eq!((status.holds(), status.txns), (Some(true), 6_000), "{status:?}");
    assert!(status.reloads < 2_000, "{status:?}");
    assert_within(most);
}

#[test]
fn a_clock_that_gives_start_and_commit_one_time_does_not_keep_versions_in_memory() {
    let lines = (0..60_000_i64).map(|i| format!("s{}: r(x,{i}) w(x,{}) ts({i},{i})", i % 8, i + 1));
    let (status, most) = watch(lines, 100, 5);
    assert_eq!(status.txns, 60_000);
    assert_within(most);
}

#[test]
fn one_clock_far_in_the_future_does_not_make_everything_late() {
    let far = 9_000_000_000_000_000_000_i64;
    let lines = (0..120_000_i64).map(|i| match i {
        3_000 => format!("far: w(y,1) ts({far},{})", far + 1),
        // It writes what many others do, and overlaps none of them.
        3_001 => format!("far: w(k7,-1) ts({},{})", far + 2, far + 3),
        119_999 => format!("far: r(k7,-1) r(y,0) ts({},_)", far + 4),
        // It read long ago, and most of what came since then has left memory.
        _ if i > 90_000 && i % 500 == 0 => {
            let old = i - 50_000;
            format!("old{i}: r(k{},{}) ts({},_)", old % 50, old - 50, 10 * old)
        }
        _ => format!("s{}: w(k{},{i}) ts({},{})", i % 8, i % 50, 10 * i, 10 * i + 5),
    });
    let (status, most) = watch(lines, 100, 5);
    assert_eq!(status.by_anomaly, [("StaleRead", 1)], "{status:?}");
    // Of all batches, those are read again that came since then.
    assert!(status.reloads < 300, "{status:?}");
    assert_within(most);
}
