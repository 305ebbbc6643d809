//! From a suspicion to a finding: a small history of the transactions that matter, asked by the rules for whole histories.
//!
//! What a read should have returned, and what it is called if it did not, depends on a few transactions only: the reader,
//! the writers of the version that it should have seen, and all writers of the value that it saw. A conflict depends
//! on two. So the offline check of these few gives the same answer as that of the whole history, and the few are the
//! witness that travels with the finding.

use std::sync::Arc;

use hashbrown::HashMap;
use isolde_check::{Limits, Options, snapshots, timestamps};
use isolde_history::{
    Effect, History, HistoryBuilder, Key, Op, OpId, OpKind, Sink, Timestamp, TxnId, Value,
    notation, printable,
};
use isolde_spec::{Anomaly, Answer, Axiom, By, Promise, Verdict, Witness};

use super::standing::FindingId;
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, Word, name_id, word};
use crate::event::Finding;

/// What is known of the run as a whole, in a pool of its own.
pub(crate) struct About {
    pub(crate) promise: Promise,
    /// The facts and the initial state of the first batch. It has no transactions.
    pub(crate) header: History,
    /// What keys start with, where it differs from the default.
    pub(crate) given: HashMap<NameId, (Key, Value)>,
    /// Whether nothing is missing in the stream.
    pub(crate) complete: bool,
}

impl About {
    /// What the first batch says of the run.
    pub(crate) fn new(promise: Promise, batch: &History) -> About {
        let mut header = HistoryBuilder::new();
        batch.copy_meta(&batch.meta().initial.given, &mut header);
        let header = header.finish();
        let given = header.meta().initial.given.iter();
        let named =
            |&(key, value)| (name_id(header.pool(), header.pool().key_name(key)), (key, value));
        let given = given.map(named).collect();
        About { promise, given, complete: true, header }
    }

    /// What a key starts with.
    pub(crate) fn first(&self, key: NameId) -> Word {
        let given = self.given.get(&key).map(|(_, value)| *value);
        let first = given.or(self.header.meta().initial.default).unwrap_or(Value::ABSENT);
        word(self.header.pool(), first)
    }
}

/// What is asked about a few transactions.
#[derive(Clone, Copy)]
pub(crate) struct Suspicion<'s> {
    pub(crate) axiom: Axiom,
    pub(crate) txn: TxnRef,
    /// The key; its operations are kept, and of other keys only writes.
    pub(crate) key: Option<NameId>,
    /// All transactions that matter.
    pub(crate) involved: &'s [TxnRef],
}

/// The answer.
#[derive(Default)]
pub(crate) struct Judged {
    /// What is wrong: the operation within its batch, and the finding.
    pub(crate) findings: Vec<(Option<u32>, Finding)>,
    /// Why it stays unknown.
    pub(crate) doubt: Option<String>,
}

/// Of a transaction that is shown, so many operations are expected.
const OPS: usize = 8;

/// Why a read is in doubt if something is missing.
pub(super) const MISSING: &str = "a transaction that is missing may have written what it saw";

impl Judged {
    /// It stays unknown, for a reason.
    pub(super) fn in_doubt(why: &str) -> Judged {
        Judged { doubt: Some(why.to_owned()), ..Judged::default() }
    }
}

/// Asks about a few transactions. `None` if one of them is not there any more.
pub(crate) fn judge(about: &About, bodies: &mut Bodies, asked: Suspicion<'_>) -> Option<Judged> {
    let mut all: Vec<TxnRef> = asked.involved.to_vec();
    all.push(asked.txn);
    all.sort_unstable();
    all.dedup();
    let mut small = HistoryBuilder::with_capacity(all.len(), all.len() * OPS);
    let given = asked.key.and_then(|key| about.given.get(&key)).copied();
    about.header.copy_meta(given.as_slice(), &mut small);
    small.meta().complete = about.complete;
    let mut draft = std::mem::take(&mut bodies.draft);
    for txn in &all {
        let batch = bodies.get(txn.batch())?;
        let mut shown = Shown::new(&batch, asked.key);
        let mut keep = |op: &Op<'_>| shown.keeps(op);
        batch.copy_txn_by(&mut draft, txn.txn(), &mut keep, &mut small).ok()?;
    }
    bodies.draft = draft;
    let history = Arc::new(small.finish());
    let own = TxnId(all.iter().position(|txn| *txn == asked.txn)? as u32);
    let mut verdict = decide(&history, about.promise);
    let mut judged = Judged::default();
    let mut witnesses = match std::mem::replace(&mut verdict.answer, Answer::Holds) {
        Answer::Holds | Answer::NoViolation { .. } => Vec::new(),
        Answer::Violated(witnesses) => witnesses,
        Answer::Unknown(why) => {
            judged.doubt = Some(why);
            Vec::new()
        }
    };
    let batch = bodies.get(asked.txn.batch())?;
    // The small history has left out what the sequence numbers are.
    let name = name_of(&batch, asked.txn.txn());
    witnesses.retain(|witness| is_asked_for(&history, witness, own, asked));
    let mut found = |witness: Witness, (verdict, name): (Verdict, String)| {
        let op = witness.ops.first().and_then(|op| origin(&batch, asked, &history, own, *op));
        let id = FindingId::new(asked.axiom, asked.txn, asked.key, op);
        judged.findings.push((op, finding(&history, verdict, witness, name, id)));
    };
    // Nearly always there is one.
    if let Some(last) = witnesses.pop() {
        witnesses.into_iter().for_each(|w| found(w, (verdict.clone(), name.clone())));
        found(last, (verdict, name));
    }
    // What else is wrong with these few hides that it is unknown.
    if judged.findings.is_empty() && !about.complete && asked.axiom == Axiom::Ext {
        judged.doubt.get_or_insert_with(|| MISSING.to_owned());
    }
    Some(judged)
}

/// A violation that is withdrawn, with nothing but the transaction that it was about: what is withdrawn needs no proof.
/// `None` if the transaction is not kept any more.
pub(crate) fn withdrawn(
    about: &About,
    bodies: &mut Bodies,
    id: FindingId,
    anomaly: Anomaly,
) -> Option<Finding> {
    let batch = bodies.get(id.txn.batch())?;
    let mut small = HistoryBuilder::new();
    about.header.copy_meta(&[], &mut small);
    batch.copy_txn(id.txn.txn(), &mut |_| true, &mut small).ok()?;
    let history = Arc::new(small.finish());
    let verdict = Verdict { answer: Answer::Holds, ..decide(&history, about.promise) };
    let named = |name: NameId| {
        let pool = batch.pool();
        let key = pool.key_names().iter().find(|key| name_id(pool, **key) == name)?;
        Some(text(&batch, *key))
    };
    let (txn, key) = (name_of(&batch, id.txn.txn()), id.key.and_then(named));
    let (axiom, id) = (Some(id.axiom), Some(id));
    Some(Finding { id, anomaly, axiom, txn, key, history, verdict })
}

/// What the offline rules say of a history.
pub(crate) fn decide(history: &History, promise: Promise) -> Verdict {
    let options = Options { witnesses: usize::MAX, ..Options::default() };
    let limits = Limits::default();
    match promise.by {
        By::Snapshots => snapshots::decide(history, promise, &options, &limits),
        _ => timestamps::decide(history, promise, &options, &limits, &|_| {}),
    }
}

/// Which operations of a transaction are shown: those on the key, and of what it wrote elsewhere one, if it has written
/// nothing before that stayed. Whether a transaction wrote says where it stands. Without a key, all that it wrote.
struct Shown<'b> {
    batch: &'b History,
    key: Option<NameId>,
    /// The key in the batch, once an operation on it has come.
    here: Option<Key>,
    wrote: bool,
}

impl<'b> Shown<'b> {
    fn new(batch: &'b History, key: Option<NameId>) -> Shown<'b> {
        Shown { batch, key, here: None, wrote: false }
    }

    /// Asked of each operation once, in their order.
    fn keeps(&mut self, op: &Op<'_>) -> bool {
        let writes = op.kind().writes() && op.effect() != Effect::Failed;
        let Some(key) = self.key else { return writes };
        if op.kind() == OpKind::PredicateRead || (!writes && op.key() == Key::NONE) {
            return false;
        }
        let is_first = writes && !op.undone() && !std::mem::replace(&mut self.wrote, true);
        is_first || self.is_on(op.key(), key)
    }

    /// Whether a key of the batch has a name, which no other one has.
    fn is_on(&mut self, key: Key, name: NameId) -> bool {
        if let Some(here) = self.here {
            return key == here;
        }
        let pool = self.batch.pool();
        let is_it = name_id(pool, pool.key_name(key)) == name;
        self.here = is_it.then_some(key);
        is_it
    }
}

fn is_asked_for(history: &History, witness: &Witness, own: TxnId, asked: Suspicion<'_>) -> bool {
    let Some(timed) = &witness.timed else { return false };
    let named = |key: Key| name_id(history.pool(), history.pool().key_name(key));
    let of_key = |op: &OpId| {
        let key = history.op(*op).key();
        asked.key.is_none_or(|asked| key != Key::NONE && named(key) == asked)
    };
    let about_it = match asked.key {
        Some(_) => witness.ops.first().is_some_and(of_key),
        None => witness.ops.is_empty(),
    };
    timed.axiom == asked.axiom && timed.txn == own && about_it
}

/// The operation of the stream that an operation of the small history is a copy of.
fn origin(
    batch: &History,
    asked: Suspicion<'_>,
    small: &History,
    own: TxnId,
    op: OpId,
) -> Option<u32> {
    let copied = small.txn(own).op_range();
    let nth = op.index().checked_sub(copied.start)?;
    let control =
        |op: &Op<'_>| matches!(op.kind(), OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release);
    let mut shown = Shown::new(batch, asked.key);
    let mut kept = batch.txn(asked.txn.txn()).ops();
    let of_batch = kept.by_ref().filter(|op| control(op) || shown.keeps(op)).nth(nth)?;
    Some(of_batch.id().0)
}

/// A violation by a transaction of that name, as a witness of a small history shows it.
pub(crate) fn finding(
    history: &Arc<History>,
    mut verdict: Verdict,
    witness: Witness,
    txn: String,
    id: FindingId,
) -> Finding {
    let mut keys = witness.ops.iter().map(|op| history.op(*op).key());
    let key = keys.find(|key| *key != Key::NONE).map(|key| name(history, key));
    let (anomaly, axiom) = (witness.anomaly, witness.timed.as_ref().map(|timed| timed.axiom));
    verdict.counts.retain(|count| count.anomaly == anomaly);
    verdict.answer = Answer::Violated(vec![witness]);
    Finding {
        id: Some(id),
        anomaly,
        axiom: Some(axiom.unwrap_or(Axiom::Ext)),
        txn,
        key,
        history: history.clone(),
        verdict,
    }
}

fn name(history: &History, key: Key) -> String {
    text(history, history.pool().key_name(key))
}

/// A value as people write it.
pub(crate) fn text(history: &History, value: Value) -> String {
    let mut text = String::new();
    notation::write_value(history.pool(), value, &mut text);
    printable(&text).into_owned()
}

/// What a transaction is called: its session, and its label, or else its number in its session, or else what the server
/// says of it.
pub(crate) fn name_of(history: &History, txn: TxnId) -> String {
    let txn = history.txn(txn);
    let session = text(history, history.pool().session_name(txn.session()));
    if let Some(label) = txn.label() {
        return format!("#{} of session {session}", text(history, label));
    }
    // By snapshots, timestamps may be places that were given here.
    let told = txn.snapshot().is_none();
    match (txn.seq(), txn.xid(), txn.commit_ts(), txn.start_ts()) {
        (Some(seq), ..) => format!("number {seq} of session {session}"),
        (_, Some(xid), ..) => format!("transaction {xid} of session {session}"),
        (_, _, Some(commit), _) if told => {
            format!("a transaction of session {session}, committed at {}", time(commit))
        }
        (_, _, _, Some(start)) if told => {
            format!("a transaction of session {session}, started at {}", time(start))
        }
        _ => format!("a transaction of session {session}"),
    }
}

fn time(ts: Timestamp) -> String {
    match ts {
        Timestamp { physical, logical: 0 } => physical.to_string(),
        Timestamp { physical, logical } => format!("{physical}.{logical}"),
    }
}
