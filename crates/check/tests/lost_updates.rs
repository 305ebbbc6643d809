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
