//! What was found, with a small history of its own that shows it: the transactions of the breach, the writers of the
//! versions that a read can have seen, and the writer of what it saw.
//!
//! Results of reads that have nothing to do with it are left out, so that the small history has this violation and no other
//! one.

use std::sync::Arc;

use hashbrown::HashMap;
use isolde_history::notation::{Excerpt, excerpt_to_text, parse};
use isolde_history::{History, HistoryBuilder, Key, OpId, OpKind, Sink as _, TxnId, Value};
use isolde_spec::{Answer, Counted, Profile, Verdict};

use super::breach::{Breach, Broken, Moving, Tally};
use super::content::Observed;
use super::sources::{Origin, Sought};
use super::told::StandingBreach;
use super::tracer::Tracer;
use super::witness::{Explainer, notes, procedure};
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, Word, cell_word, name_id, word};
use crate::event::Finding;
use crate::timestamps::excerpt::{About, name_of, text};

/// What was found, ready to be told.
pub(super) struct ShownBreach {
    pub(super) finding: Finding,
    /// The rows that it is about.
    pub(super) rows: Vec<NameId>,
    /// When the first and the last of its transactions had ended.
    pub(super) ends: (i64, i64),
}

/// A breach with a small history. Nothing if a transaction of it is not kept any more.
pub(super) fn show(
    breach: &Breach,
    profile: &Profile,
    about: &About,
    bodies: &mut Bodies,
) -> Option<ShownBreach> {
    let cited = cited(breach, bodies);
    let mut txns: Vec<TxnRef> = cited.iter().map(|(txn, _)| *txn).chain([breach.txn]).collect();
    for (txn, op) in &cited {
        txns.extend(sources(breach, (*txn, *op), profile, bodies));
    }
    txns.sort_unstable();
    txns.dedup();
    let small = Small::of(txns, about, bodies)?;
    let moved = breach.moved(&small)?;
    let shown: Vec<u32> = moved.cited().into_iter().map(|(_, op)| op).collect();
    let history = Arc::new(small.without_others(&shown));
    let tracer = Tracer::new(&history, profile, 0);
    let own = std::slice::from_ref(&moved);
    let forgetful = bodies.forgotten().is_some();
    let witness = Explainer::new(&tracer, own).forgetful(forgetful).witness(&moved)?;
    let batch = bodies.get(breach.txn.batch())?;
    let mut keys = witness.ops.iter().map(|op| history.op(*op).key());
    let key = keys.find(|key| *key != Key::NONE);
    let key = key.map(|key| text(&history, history.pool().key_name(key)));
    let anomaly = witness.anomaly;
    let positions = vec![witness.position() as u32];
    let counts = vec![Counted { anomaly, count: 1, at_least: false, positions }];
    let verdict = Verdict {
        promise: profile.promise(),
        answer: Answer::Violated(vec![witness]),
        counts,
        notes: notes(profile),
        procedure: procedure(profile, Tally::default()),
    };
    let txn = name_of(&batch, breach.txn.txn());
    let rows = rows_of(&moved, &history);
    let end = |txn: isolde_history::Txn<'_>| txn.interval().end.unwrap_or(i64::MAX);
    let first = history.txns().map(end).min().unwrap_or(i64::MIN);
    let ends = (first, history.txns().map(end).max().unwrap_or(i64::MAX));
    let finding = Finding { id: None, anomaly, axiom: None, txn, key, history, verdict };
    Some(ShownBreach { finding, rows, ends })
}

/// A violation that is withdrawn is shown by its transaction alone: what is withdrawn needs no proof.
pub(super) fn withdrawn(
    stands: &StandingBreach,
    about: &About,
    bodies: &mut Bodies,
) -> Arc<History> {
    let mut builder = HistoryBuilder::new();
    about.header.copy_meta(&[], &mut builder);
    if let Some(batch) = bodies.get(stands.txn.batch()) {
        // What a history holds a copy of it can hold, too.
        let _ = batch.copy_txn(stands.txn.txn(), &mut |_| true, &mut builder);
    }
    Arc::new(builder.finish())
}

/// What is cited and kept. Of the versions that a read can have seen those are named whose writers are.
fn cited(breach: &Breach, bodies: &mut Bodies) -> Vec<(TxnRef, u32)> {
    let mut cited = breach.cited();
    if matches!(breach.what, Broken::Read { .. }) {
        cited.retain(|(txn, _)| *txn == breach.txn || bodies.get(txn.batch()).is_some());
    }
    cited
}

/// The writer of what a read saw, as far as it is kept; of a row that no write alone left so, the writers of its columns.
fn sources(
    breach: &Breach,
    (txn, op): (TxnRef, u32),
    profile: &Profile,
    bodies: &mut Bodies,
) -> Vec<TxnRef> {
    let Some(sought) = sought(breach, (txn, op), profile, bodies) else { return Vec::new() };
    match search(&sought, txn, profile, bodies) {
        Some(one) => vec![one],
        None => {
            let cells = sought.cells().into_iter();
            cells.filter_map(|cell| search(&cell, txn, profile, bodies)).collect()
        }
    }
}

/// What a read of a breach saw.
fn sought(
    breach: &Breach,
    (txn, op): (TxnRef, u32),
    profile: &Profile,
    bodies: &mut Bodies,
) -> Option<Sought> {
    let batch = bodies.get(txn.batch())?;
    let tracer = Tracer::new(&batch, profile, txn.batch());
    let own = batch.txn(txn.txn()).op_range().contains(&(op as usize)).then_some(OpId(op))?;
    let (row, snapshot) = match &breach.what {
        Broken::Read { row, snapshot, .. } if txn == breach.txn => (*row, *snapshot),
        Broken::Read { .. } | Broken::Own { .. } => return None,
        _ => {
            let key = batch.op(own).key();
            let row = (key != Key::NONE).then(|| batch.pool().key_name(key))?;
            (name_id(batch.pool(), row), None)
        }
    };
    Sought::of(&tracer, own, row, snapshot)
}

/// The write that explains a read best, the latest batches first.
fn search(
    sought: &Sought,
    reader: TxnRef,
    profile: &Profile,
    bodies: &mut Bodies,
) -> Option<TxnRef> {
    let mut best: Option<(Origin, TxnRef)> = None;
    for number in bodies.with_word(sought.row, looked_for(&sought.observed)?) {
        let Some(batch) = bodies.get(number) else { continue };
        let tracer = Tracer::new(&batch, profile, number);
        let pool = batch.pool();
        let names = pool.key_names().iter().position(|name| name_id(pool, *name) == sought.row);
        let Some(row) = names.map(|key| Key(key as u32)) else { continue };
        let writes = batch.ops().filter(|op| op.key() == row && op.kind().writes());
        let of = |op: OpId| TxnRef::new(number, batch.txn_of(op));
        let others = writes.filter(|op| of(op.id()) != reader);
        if let Some((origin, write)) = sought.best(&tracer, others)
            && best.is_none_or(|(before, _)| origin < before)
        {
            best = Some((origin, of(write)));
        }
        if matches!(best, Some((Origin::Overwritten, _))) {
            break;
        }
    }
    best.map(|(_, txn)| txn)
}

/// What is noted of each write that a read can have seen.
fn looked_for(observed: &Observed) -> Option<Word> {
    match observed {
        Observed::Absent | Observed::List(None) => {
            Some(word(&isolde_history::Pool::new(), Value::ABSENT))
        }
        Observed::Value(word) | Observed::List(Some(word)) => Some(*word),
        Observed::Columns(cells) => cells.first().map(|(column, word)| cell_word(*column, *word)),
    }
}

/// The rows of the operations that are cited.
fn rows_of(breach: &Breach, small: &History) -> Vec<NameId> {
    let named = |key: Key| name_id(small.pool(), small.pool().key_name(key));
    let ops = breach.cited().into_iter().filter(|(_, op)| (*op as usize) < small.op_count());
    let keys = ops.map(|(_, op)| small.op(OpId(op)).key()).filter(|key| *key != Key::NONE);
    let read = match &breach.what {
        Broken::Read { row, .. } => Some(*row),
        _ => None,
    };
    let mut rows: Vec<NameId> = keys.map(named).chain(read).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Transactions of a stream as a history of their own.
struct Small {
    history: History,
    /// For each transaction where it is here, and its first operation there and here.
    places: HashMap<TxnRef, (TxnId, u32, u32)>,
}

impl Small {
    fn of(txns: Vec<TxnRef>, about: &About, bodies: &mut Bodies) -> Option<Small> {
        let mut builder = HistoryBuilder::new();
        let mut rows: Vec<NameId> = Vec::new();
        let mut batches = Vec::with_capacity(txns.len());
        for txn in &txns {
            let batch = bodies.get(txn.batch())?;
            let keys = batch.txn(txn.txn()).ops().map(|op| op.key()).filter(|k| *k != Key::NONE);
            rows.extend(keys.map(|key| name_id(batch.pool(), batch.pool().key_name(key))));
            batches.push(batch);
        }
        rows.sort_unstable();
        rows.dedup();
        let given: Vec<_> = rows.iter().filter_map(|row| about.given.get(row)).copied().collect();
        about.header.copy_meta(&given, &mut builder);
        builder.meta().complete = true;
        let mut first_ops = Vec::with_capacity(txns.len());
        for (txn, batch) in txns.iter().zip(&batches) {
            first_ops.push(batch.txn(txn.txn()).op_range().start as u32);
            batch.copy_txn(txn.txn(), &mut |_| true, &mut builder).ok()?;
        }
        let history = builder.finish();
        let places = txns.into_iter().zip(first_ops).zip(0..).map(|((txn, first), at)| {
            let here = TxnId(at);
            (txn, (here, first, history.txn(here).op_range().start as u32))
        });
        Some(Small { places: places.collect(), history })
    }

    /// The same without what other reads returned.
    fn without_others(self, cited: &[u32]) -> History {
        let reads = |kind| matches!(kind, OpKind::Read | OpKind::ListRead | OpKind::PredicateRead);
        let ops = self.history.ops().filter(|op| reads(op.kind()) && !cited.contains(&op.id().0));
        let hidden: Vec<OpId> = ops.map(|op| op.id()).collect();
        let txns: Vec<TxnId> = self.history.txns().map(|txn| txn.id()).collect();
        let text = excerpt_to_text(
            &self.history,
            &Excerpt { txns: &txns, complete: true, hidden: &hidden },
        );
        let same = |less: &History| less.op_count() == self.history.op_count();
        parse(&text).ok().filter(same).unwrap_or(self.history)
    }
}

impl Moving for Small {
    fn txn(&self, txn: TxnRef) -> Option<TxnRef> {
        self.places.get(&txn).map(|(here, ..)| TxnRef::new(0, *here))
    }

    fn op(&self, txn: TxnRef, op: u32) -> Option<u32> {
        // The lock on a whole database may be of no operation.
        if op == u32::MAX {
            return Some(op);
        }
        let (_, there, here) = self.places.get(&txn)?;
        Some(here + op.checked_sub(*there)?)
    }
}
