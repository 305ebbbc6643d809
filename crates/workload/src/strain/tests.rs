//! What is right to say of small ones.

use std::collections::HashSet;

use isolde_check::{Options, check};
use isolde_spec::{Level, Promise};

use super::*;

fn says(strain: Strain, level: Level) -> Option<bool> {
    let history = strain.history().unwrap();
    check(&history, Promise::of(level), &Options::default()).holds()
}

#[test]
fn rings_break_what_they_say_and_nothing_weaker() {
    use Level::{Causal, Prefix, ReadCommitted, Serializable, SnapshotIsolation};
    for (by, level, holds) in [
        (Ring::Antidependencies, Serializable, false),
        (Ring::Antidependencies, SnapshotIsolation, true),
        (Ring::Reads, ReadCommitted, false),
        (Ring::Updates, ReadCommitted, false),
        (Ring::Mixed, Prefix, false),
        (Ring::Mixed, Causal, true),
    ] {
        let strain = Strain::Ring { txns: 9, by };
        assert_eq!(says(strain, level), Some(holds), "{by:?}, {level}");
    }
}

#[test]
fn an_answer_without_its_question_breaks_causality_only() {
    let strain = |violating| Strain::Sessions { sessions: 50, violating };
    assert_eq!(says(strain(false), Level::Serializable), Some(true));
    assert_eq!(says(strain(true), Level::Causal), Some(false));
    assert_eq!(says(strain(true), Level::ReadAtomic), Some(true));
}

#[test]
fn a_hot_key_has_as_many_readers_as_writers() {
    for how in [Hot::Serial, Hot::Concurrent, Hot::Violating] {
        let history = Strain::HotKey { writers: 100, how }.history().unwrap();
        let planted = if how == Hot::Violating { 4 } else { 0 };
        assert_eq!(history.txn_count(), 200 + planted, "{how:?}");
        let counts = history.op_counts();
        assert_eq!(counts[isolde_history::OpKind::Write as usize], 100, "{how:?}");
    }
}

#[test]
fn blind_writers_read_three_keys_and_mostly_write_a_fourth() {
    let history = Strain::BlindWrites { txns: 200, seed: 1 }.history().unwrap();
    let keys =
        |txn: isolde_history::Txn<'_>| -> HashSet<u32> { txn.ops().map(|op| op.key().0).collect() };
    assert!(history.txns().all(|txn| (3..=4).contains(&keys(txn).len())));
    let blind = history.txns().filter(|txn| keys(*txn).len() == 4).count();
    assert!((120..160).contains(&blind), "{blind}");
    assert_eq!(
        says(Strain::BlindWrites { txns: 200, seed: 1 }, Level::StrictSerializable),
        Some(true)
    );
}
