//! More rows than there is memory for, by client intervals.

use std::fmt::Write as _;

use isolde_history::notation::parse;
use isolde_spec::{By, Profile, Promise};
use isolde_stream::{Settings, Status, Stream};

const ROWS: usize = 40_000;

/// Each transaction inserts a row of its own and reads the row before. The last one may read that as it was not.
fn stream(memory: usize, is_wrong: bool) -> Status {
    let profile = Profile::named("postgresql/read-committed").unwrap().clone();
    let promise = Promise { by: By::Intervals, ..Promise::of(profile.promises) };
    let mut settings = Settings::new(promise);
    (settings.memory, settings.profile) = (memory, Some(profile));
    let mut stream = Stream::new(settings).unwrap();
    for batch in 0..ROWS / 500 {
        let mut text = "initial 0\n".to_owned();
        for number in batch * 500..(batch + 1) * 500 {
            let at = 100 * number as i64;
            let before = number.saturating_sub(1);
            let is_last = is_wrong && number + 1 == ROWS;
            let seen = if number == 0 || is_last { 0 } else { before as i64 + 1 };
            let row = number + 1;
            let _ = writeln!(
                text,
                "s: r(k{before},{seen})@[{at},{}] w(k{number},{row})@[{},{}] @[{at},{}] {{end-sent={}}}",
                at + 10,
                at + 20,
                at + 30,
                at + 50,
                at + 40
            );
        }
        let _ = writeln!(text, "event heartbeat @[{},_] {{session:s}}", 100 * (batch + 1) * 500);
        stream.push(parse(&text).unwrap(), batch as i64).unwrap();
    }
    stream.finish(1_000_000).unwrap();
    stream.status()
}

#[test]
fn rows_that_were_written_long_ago_are_given_up() {
    let all = stream(256 << 20, false);
    assert_eq!((all.violations, all.doubts, all.keys), (0, 0, ROWS));
    let few = stream(2 << 20, false);
    assert!(few.keys < ROWS * 3 / 4, "{few:?}");
    // What was given up may hide something: that is not nothing.
    assert_eq!((few.violations, few.doubts), (0, 1));
}

#[test]
fn what_is_wrong_with_rows_that_are_kept_is_found() {
    let wrong = stream(2 << 20, true);
    assert_eq!(wrong.by_anomaly, [("StaleRead", 1)]);
}
