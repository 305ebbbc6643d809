//! Asking and showing, for the tests of this crate.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::Expect;
use isolde_check::{Checker, Options, check};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::handbook::AnomalyPage;
use isolde_report::{Decided, Telling, summary_to_text, to_text};
use isolde_spec::{Level, Profile, Promise, Verdict};
use isolde_stream::intervals::decide;

pub fn decided(verdict: Verdict) -> Decided {
    Decided { verdict, holds_without_session_order: false, seconds: 0.5 }
}

pub fn ask(history: &History, level: Level) -> Decided {
    ask_promise(history, Promise::of(level))
}

pub fn ask_promise(history: &History, promise: Promise) -> Decided {
    decided(check(history, promise, &Options::default()))
}

/// Holds a history against the mechanisms of a server.
pub fn ask_profile(history: &History, profile: &Profile) -> Decided {
    decided(decide(history, profile, &Options::default(), 0.9))
}

/// What a page of the handbook asks of a history: its promise, by intervals of its server.
pub fn ask_page(history: &History, page: &AnomalyPage) -> Decided {
    match page.profile() {
        Some(profile) => ask_profile(history, profile),
        None => ask_promise(history, page.promise()),
    }
}

/// Snapshot isolation and, if commit order is serial, serializability by timestamps; then all levels by values.
pub fn ask_both_ways(history: &History) -> Vec<Decided> {
    let timed = [Level::SnapshotIsolation, Level::Serializable].map(Promise::by_timestamps);
    let mut all: Vec<Decided> = timed.iter().map(|asked| ask_promise(history, *asked)).collect();
    all.extend(ask_all(history));
    all
}

#[track_caller]
pub fn shows(text: &str, level: Level, expected: Expect) {
    let history = parse(text).unwrap();
    let text = to_text(&history, &ask(&history, level), &Telling::default());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expected.assert_eq(&text);
}

pub fn ask_all(history: &History) -> Vec<Decided> {
    let checker = Checker::new(history, Options::default());
    let levels = Level::ALL.into_iter().filter(|level| !level.of_operations());
    levels.map(|level| decided(checker.check(Promise::of(level)))).collect()
}

#[track_caller]
pub fn sums_up(text: &str, expected: Expect) {
    let history = parse(text).unwrap();
    let text = summary_to_text(&history, &ask_all(&history), &Telling::default());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expected.assert_eq(&text);
}
