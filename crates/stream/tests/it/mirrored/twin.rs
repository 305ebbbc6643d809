//! The twin: what is found is held against a search through all that can have happened.

use isolde_check::Options;
use isolde_history::{History, TxnId, notation};
use isolde_spec::{Answer, Profile};
use isolde_stream::intervals;

use super::acted::{Size, acted};
use super::explained::is_explained;
use super::mutated::{join, mutate};
use super::script::Script;
use crate::made::Random;

/// How often the twin said what, and the mirror beside it.
#[derive(Default, Debug)]
struct Tally {
    explained: u64,
    found: u64,
    missed: u64,
    too_long: u64,
}

fn history(script: &Script) -> History {
    let text = script.text();
    notation::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// What is found, in a few words.
fn alarms(history: &History, profile: &Profile) -> Vec<String> {
    let verdict = intervals::decide(history, profile, &Options::default(), 0.0);
    let Answer::Violated(witnesses) = &verdict.answer else { return Vec::new() };
    let label = |txn: &TxnId| format!("{:?}", history.txn(*txn).label());
    let each = witnesses.iter().map(|witness| {
        let txns: Vec<String> = witness.txns.iter().map(label).collect();
        format!("{} {txns:?} {:?}", witness.anomaly, witness.mirrored)
    });
    each.collect()
}

/// The same of a script.
pub(super) fn alarms_of(script: &Script, profile: &Profile) -> Vec<String> {
    alarms(&history(script), profile)
}

/// How many histories of each profile, and from which seed on.
fn how_many() -> (u64, u64) {
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    (number("ISOLDE_MIRROR", 40), number("ISOLDE_FROM", 0))
}

/// Every profile, and a weaker one that the same clients can have talked to.
fn profiles() -> Vec<(&'static Profile, &'static Profile)> {
    let named = |name: &str| Profile::named(name).unwrap();
    let pairs = [
        ("postgresql/read-committed", "mariadb/read-uncommitted"),
        ("postgresql/repeatable-read", "postgresql/read-committed"),
        ("postgresql/serializable", "postgresql/repeatable-read"),
        ("mariadb/read-committed", "mariadb/read-uncommitted"),
        ("mariadb/repeatable-read", "mariadb/read-committed"),
        ("mariadb/repeatable-read-snapshot", "mariadb/repeatable-read"),
        ("mariadb/serializable", "mariadb/repeatable-read"),
        ("mariadb-myrocks/read-committed", "mariadb/read-uncommitted"),
        ("mariadb-myrocks/repeatable-read", "mariadb-myrocks/read-committed"),
        ("mysql/serializable", "mysql/repeatable-read"),
        ("tidb/repeatable-read", "tidb/read-committed"),
        ("tidb/repeatable-read-optimistic", "tidb/repeatable-read"),
        ("sqlite/deferred", "postgresql/read-committed"),
        ("sqlite/immediate", "sqlite/deferred"),
        ("occ/serializable", "tidb/repeatable-read"),
        ("timestamp-order/serializable", "tidb/repeatable-read"),
    ];
    pairs.map(|(own, weaker)| (named(own), named(weaker))).to_vec()
}

#[test]
fn what_a_server_acted_out_never_raises_an_alarm() {
    let (count, from) = how_many();
    for (profile, _) in profiles() {
        for seed in from..from + count * 4 {
            let size = Size { sessions: 2 + (seed % 6) as usize, txns: 30, stmts: 4 };
            let script = acted(profile, seed, size);
            let history = history(&script);
            let alarms = alarms(&history, profile);
            let text = script.text();
            assert!(alarms.is_empty(), "{} {seed}\n{text}\n{alarms:#?}", profile.name());
        }
    }
}

/// The search itself: what a server acted out is found to be explained.
#[test]
fn what_a_server_acted_out_is_explained() {
    let (count, from) = how_many();
    for (profile, _) in profiles() {
        let mut long = 0;
        for seed in from..from + count {
            let size = Size { sessions: 2 + (seed % 2) as usize, txns: 4, stmts: 3 };
            let script = acted(profile, seed, size);
            match is_explained(&script, profile) {
                None => long += 1,
                Some(explained) => {
                    assert!(explained, "{} {seed}\n{}", profile.name(), script.text());
                }
            }
        }
        assert!(long * 10 <= count, "{}: {long} of {count} take too long", profile.name());
    }
}

/// Where each statement has a snapshot: all that one returned has to be of one snapshot, and of two that are passed off as one
/// it often is not.
#[test]
fn what_two_statements_returned_is_not_what_one_returns() {
    let (count, from) = how_many();
    let mut torn = 0;
    for name in ["postgresql", "mariadb", "mariadb-myrocks", "tidb"] {
        let profile = Profile::named(&format!("{name}/read-committed")).unwrap();
        let mut tally = Tally::default();
        for seed in from..from + count * 20 {
            let mut random = Random::new(seed ^ 0xbeef);
            let mut script = acted(profile, seed, Size { sessions: 3, txns: 5, stmts: 3 });
            if !join(&mut script, &mut random) {
                continue;
            }
            let alarms = alarms_of(&script, profile);
            match (is_explained(&script, profile), !alarms.is_empty()) {
                (None, _) => tally.too_long += 1,
                (Some(true), true) => {
                    panic!("{name}, seed {seed}: a false alarm\n{}\n{alarms:#?}", script.text())
                }
                (Some(true), false) => tally.explained += 1,
                (Some(false), true) => tally.found += 1,
                (Some(false), false) => tally.missed += 1,
            }
            torn += u64::from(alarms.iter().any(|alarm| alarm.starts_with("TornSnapshot")));
        }
        println!("{name}: {tally:?}");
        assert!(tally.found * 2 >= tally.missed && tally.found > 0, "{tally:?}");
    }
    assert!(torn > count / 10, "{torn}");
}

#[test]
fn nothing_is_found_that_the_twin_can_explain() {
    let (count, from) = how_many();
    let mut all = Tally::default();
    for (profile, weaker) in profiles() {
        let mut tally = Tally::default();
        for seed in from..from + count * 4 {
            let mut random = Random::new(seed ^ 0xdead);
            let size = Size {
                sessions: 2 + random.below(2) as usize,
                txns: 2 + random.below(3) as usize,
                stmts: 3,
            };
            let mut script = acted(if random.chance(50) { weaker } else { profile }, seed, size);
            (0..random.below(3)).for_each(|_| mutate(&mut script, &mut random));
            let history = history(&script);
            let alarms = alarms(&history, profile);
            match (is_explained(&script, profile), !alarms.is_empty()) {
                (None, _) => tally.too_long += 1,
                (Some(true), true) => {
                    let text = script.text();
                    panic!("{}, seed {seed}: a false alarm\n{text}\n{alarms:#?}", profile.name())
                }
                (Some(true), false) => tally.explained += 1,
                (Some(false), true) => tally.found += 1,
                (Some(false), false) => tally.missed += 1,
            }
        }
        println!("{}: {tally:?}", profile.name());
        all.found += tally.found;
        all.missed += tally.missed;
    }
    // What is uncertain is not found; but most is certain.
    assert!(all.found * 100 >= 75 * (all.found + all.missed), "{all:?}");
}
