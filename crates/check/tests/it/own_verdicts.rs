//! The project's own histories: which levels they keep and break, as `histories/verdicts.tsv` says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use isolde_check::{Options, check};
use isolde_history::{Effect, Format, History, OpKind, Source};
use isolde_spec::{Level, Promise};

use crate::twin;

fn load(path: &Path) -> History {
    let source = Source::open(path).unwrap_or_else(|e| panic!("{e}"));
    let format = Format::recognise(&source).unwrap_or_else(|e| panic!("{e}"));
    format.load(&source).unwrap_or_else(|e| panic!("{e}")).finish()
}

/// Whether the twin speaks of such a history: small, and every key is a register or a list.
fn is_for_twin(history: &History) -> bool {
    let list = |kind: OpKind| matches!(kind, OpKind::Append | OpKind::ListRead);
    let mut kinds: BTreeMap<u32, bool> = BTreeMap::new();
    let mut ops = history.ops().filter(|op| op.kind().has_key());
    let one_kind = ops.all(|op| {
        let is_list = list(op.kind());
        *kinds.entry(op.key().0).or_insert(is_list) == is_list
    });
    let unsure = history.ops().filter(|op| op.effect() == Effect::Unknown).count();
    history.txn_count() <= 8 && unsure <= 4 && one_kind
}

#[test]
fn every_verdict_is_the_one_of_the_table_and_of_the_twin() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories");
    let table = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    let (mut rows, mut by_twin) = (0, 0);
    for row in table.lines().skip(1) {
        let row: Vec<&str> = row.split('\t').collect();
        let level = Level::named(row[1]).unwrap_or_else(|| panic!("no level {}", row[1]));
        let history = histories.entry(row[0]).or_insert_with(|| load(&folder.join(row[0])));
        let promise = Promise::of(level);
        let verdict = check(history, promise, &Options::default());
        assert_eq!(verdict.holds(), Some(row[2] == "holds"), "{row:?}: {verdict:?}");
        rows += 1;
        if !level.of_operations() && is_for_twin(history) {
            let theirs = twin::decide(history, promise, 0);
            assert!(
                theirs.is_none() || theirs == verdict.holds(),
                "the twin on {row:?}: {theirs:?}"
            );
            by_twin += 1;
        }
    }
    eprintln!("{rows} rows, {by_twin} of them with the twin");
    assert!(rows > 400 && by_twin > 300);
}
