//! Lost updates keep their name, however many there are and however few are kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_spec::{Anomaly, Level, Promise};

/// So many keys, each overwritten by so many who read the same version.
fn history(keys: usize, rivals: usize) -> String {
    let mut text = "initial 0\n".to_owned();
    for key in 0..keys {
        for rival in 1..=rivals {
            let session = (key * rivals + rival) % 7;
            writeln!(text, "s{session}: r(k{key},0) w(k{key},{rival})").unwrap();
        }
    }
    text
}

#[test]
fn those_beyond_what_is_kept_do_not_come_back_under_another_name() {
    for (keys, rivals) in [(30, 2), (30, 4), (3, 9)] {
        let history = parse(&history(keys, rivals)).unwrap();
        let pairs = (keys * rivals * (rivals - 1) / 2) as u64;
        for level in [Level::CursorStability, Level::SnapshotIsolation, Level::Serializable] {
            for witnesses in [1, 10, 10_000] {
                let options = Options { witnesses, ..Options::default() };
                let verdict = check(&history, Promise::of(level), &options);
                let found: Vec<(Anomaly, u64)> =
                    verdict.counts.iter().map(|c| (c.anomaly, c.count)).collect();
                assert_eq!(found, [(Anomaly::LostUpdate, pairs)], "{level}, {witnesses} kept");
                let kept = verdict.witnesses();
                assert!(kept.len() <= witnesses && !kept.is_empty());
                assert!(kept.iter().all(|w| w.anomaly == Anomaly::LostUpdate));
            }
        }
    }
}

#[test]
fn every_lost_update_has_its_place_in_the_run() {
    let history = parse(&history(30, 2)).unwrap();
    let promise = Promise::of(Level::SnapshotIsolation);
    let verdict = check(&history, promise, &Options { witnesses: 1, ..Options::default() });
    let expected: Vec<u32> = (1..=30).map(|key| key * 2).collect();
    assert_eq!(verdict.counts[0].positions, expected);
}

/// The names and the keys of the anti-dependencies of what was kept.
fn told(text: &str, level: Level) -> Vec<(Anomaly, Vec<String>)> {
    let history = parse(text).unwrap();
    let verdict = check(&history, Promise::of(level), &Options::default());
    let key = |key: isolde_history::Key| {
        let name = history.pool().key_name(key);
        history.pool().as_text(name).unwrap().to_owned()
    };
    let keys = |w: &isolde_spec::Witness| {
        let anti = w.steps.iter().filter(|s| s.kind == isolde_spec::Edges::RW);
        anti.filter_map(|s| s.because.key).map(key).collect::<Vec<String>>()
    };
    verdict.witnesses().iter().map(|w| (w.anomaly, keys(w))).collect()
}

#[test]
fn the_same_two_may_lose_updates_of_two_keys() {
    let text = "initial 0\na 1: r(x,0) w(x,1) r(y,0) w(y,1)\nb 2: r(y,0) w(y,2) r(x,0) w(x,2)\n";
    for level in [Level::CursorStability, Level::SnapshotIsolation] {
        let keys: Vec<Vec<String>> = told(text, level).into_iter().map(|(_, keys)| keys).collect();
        let of = |key: &str| vec![key.to_owned(), key.to_owned()];
        assert!(keys.contains(&of("x")) && keys.contains(&of("y")), "{level}: {keys:?}");
    }
}

#[test]
fn an_update_is_lost_once_however_the_two_are_bound() {
    let text = "initial 0\na 6: r(x,0) w(x,1) r(y,2) w(y,3)\nb 7: w(x,4) w(y,2)\n";
    let lost = told(text, Level::CursorStability);
    assert_eq!(lost, [(Anomaly::LostUpdate, vec!["x".to_owned()])]);
}
