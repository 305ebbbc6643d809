//! At the end, what stays open is asked of the whole stream, if that is not too long.
//!
//! While a stream goes on some questions cannot be answered from a few transactions: what a transaction of unknown outcome
//! did depends on all that read its keys, and what a predicate read did not return on all rows. The rules for whole histories
//! decide them, as they would if the stream had been a file.

use std::sync::Arc;

use hashbrown::HashSet;
use isolde_history::{History, HistoryBuilder, Key, OpId, Replay, Sink as _, TxnId, notation};
use isolde_spec::{Answer, Axiom, Verdict, Witness, excerpt};

use super::Stream;
use crate::bodies::TxnRef;
use crate::content::{NameId, name_id};
use crate::event::{Cause, Finding};
use crate::snapshots::Snapshots;
use crate::timestamps::{FindingId, Timestamps, excerpt as small};

/// What an operation and a transaction take while the whole is asked, about.
const AN_OP: u64 = 48;
const A_TXN: u64 = 128;

/// All transactions of a stream as one history, and where each of its batches begins there.
struct Whole {
    history: Arc<History>,
    /// The first transaction and the first operation of each batch.
    starts: Vec<(u32, u32)>,
}

impl Stream {
    /// Asks the whole stream what stays open, and tells what was not told.
    pub(super) fn ask_the_whole(&mut self) {
        let Some(checker) = &self.checker else { return };
        let halted = self.snapshots.as_ref().is_some_and(Snapshots::is_halted);
        // What shows that a transaction of unknown outcome committed may be no doubt by itself.
        let is_unsure = checker.figures.doubts + checker.figures.too_late + self.unknown > 0;
        let open = halted || is_unsure;
        let bytes = self.ops * AN_OP + self.txns * A_TXN;
        let most = self.settings.at_the_end.unwrap_or(self.settings.memory / 2);
        let fits = bytes <= most as u64;
        let knows = checker.standing.is_complete() && checker.figures.unstamped == 0;
        if !open || !fits || !knows || self.bodies.forgotten().is_some() {
            return;
        }
        let Some(whole) = self.whole() else { return };
        let promise = self.settings.promise;
        let verdict = small::decide(&whole.history, promise);
        let Some(checker) = &mut self.checker else { return };
        checker.figures.too_late = 0;
        checker.figures.first_doubt = None;
        checker.figures.doubts = 0;
        if let Answer::Unknown(why) = &verdict.answer {
            checker.figures.doubt(true, Some(why));
        }
        let found = whole.reconcile(checker, &verdict);
        if matches!(verdict.answer, Answer::Unknown(_)) {
            return;
        }
        let contradict = self.snapshots.as_ref().is_some_and(Snapshots::contradict);
        let why = match contradict {
            true => "snapshots contradict each other, so that nothing else is judged by them",
            false => "the whole stream shows that it is none",
        };
        checker.withdraw_others(&found, &Cause::because(why), &mut self.bodies);
    }

    fn whole(&mut self) -> Option<Whole> {
        let checker = self.checker.as_ref()?;
        let mut builder = HistoryBuilder::new();
        let (mut starts, mut txns, mut ops) = (Vec::new(), 0, 0);
        for number in 0..self.bodies.next() {
            let batch = self.bodies.get(number)?;
            starts.push((txns, ops));
            let mut replay = Replay::begin(&batch, &mut builder);
            for txn in batch.txns() {
                replay.txn(txn.id(), &mut builder).ok()?;
            }
            txns += batch.txn_count() as u32;
            ops += batch.op_count() as u32;
        }
        let header = &checker.about.header;
        header.copy_meta(&header.meta().initial.given, &mut builder);
        builder.meta().complete = checker.about.complete;
        Some(Whole { history: Arc::new(builder.finish()), starts })
    }
}

impl Whole {
    /// A transaction of the stream.
    fn txn(&self, txn: TxnId) -> TxnRef {
        let batch = self.starts.partition_point(|(first, _)| *first <= txn.0).saturating_sub(1);
        TxnRef::new(batch as u32, TxnId(txn.0 - self.starts[batch].0))
    }

    /// An operation, by its number in its batch.
    fn op(&self, op: OpId) -> u32 {
        let batch = self.txn(self.history.txn_of(op)).batch();
        op.0 - self.starts[batch as usize].1
    }

    /// Tells what is wrong and was not told, and hands back all that is wrong.
    fn reconcile(&self, checker: &mut Timestamps, verdict: &Verdict) -> HashSet<FindingId> {
        let mut found = HashSet::new();
        for witness in verdict.witnesses() {
            let Some(id) = self.id(witness) else { continue };
            let mut is_told = |id: &FindingId| checker.standing.name(*id).is_some();
            // Of two snapshots that contradict each other one may have been told, of either transaction.
            let one = |txn| FindingId::new(id.axiom, self.txn(txn), None, None);
            let mut ones = witness.involved().map(one).filter(|_| is_pair(witness));
            if let Some(other) = ones.find(|other| is_told(other) && !found.contains(other)) {
                found.insert(other);
                continue;
            }
            found.insert(id);
            match checker.standing.name(id) {
                Some(same) if same == witness.anomaly => {}
                Some(before) => checker.rename(before, self.finding(id, witness, verdict)),
                None => checker.tell(self.finding(id, witness, verdict)),
            }
        }
        found
    }

    fn id(&self, witness: &Witness) -> Option<FindingId> {
        let timed = witness.timed.as_ref()?;
        let key = match timed.opponent.filter(|_| is_pair(witness)) {
            // It is about no key, and one transaction may contradict several others.
            Some(other) => Some(NameId(u64::MAX, self.txn(other).0)),
            None => key_of(&self.history, witness),
        };
        let op = witness.ops.first().map(|op| self.op(*op));
        Some(FindingId::new(timed.axiom, self.txn(timed.txn), key, op))
    }

    /// A violation with a small history, if the few transactions of the witness show it.
    fn finding(&self, id: FindingId, witness: &Witness, verdict: &Verdict) -> Finding {
        let own = self.history.txn(self.local(id.txn)).id();
        let name = small::name_of(&self.history, own);
        let small = notation::parse(&excerpt(&self.history, witness)).ok().and_then(|history| {
            let verdict = small::decide(&history, verdict.promise);
            let same = |w: &&Witness| is_same(&self.history, witness, &history, w);
            let witness = verdict.witnesses().iter().find(same)?.clone();
            Some((Arc::new(history), verdict, witness))
        });
        let (history, verdict, witness) =
            small.unwrap_or_else(|| (self.history.clone(), verdict.clone(), witness.clone()));
        small::finding(&history, verdict, witness, name, id)
    }

    fn local(&self, txn: TxnRef) -> TxnId {
        TxnId(self.starts[txn.batch() as usize].0 + txn.txn().0)
    }
}

/// Whether it is about two snapshots that contradict each other.
fn is_pair(witness: &Witness) -> bool {
    let timed = witness.timed.as_ref();
    timed.is_some_and(|timed| timed.axiom == Axiom::Snapshots && timed.apart.is_some())
}

/// What a witness is about: the key of the first operation that has one. A predicate read has none, so a row of it that
/// nothing wrote is known by what was read.
fn key_of(history: &History, witness: &Witness) -> Option<NameId> {
    let pool = history.pool();
    let mut keys = witness.ops.iter().map(|op| history.op(*op).key());
    let name = keys.find(|key| *key != Key::NONE).map(|key| pool.key_name(key));
    let read = || {
        witness.ops.first()?;
        witness.timed.as_ref()?.read.as_ref().map(|seen| seen.value)
    };
    name.or_else(read).map(|name| name_id(pool, name))
}

/// Whether a witness of a small history shows what one of the whole does.
fn is_same(whole: &History, a: &Witness, few: &History, b: &Witness) -> bool {
    let axiom = |witness: &Witness| witness.timed.as_ref().map(|timed| timed.axiom);
    a.anomaly == b.anomaly && axiom(a) == axiom(b) && key_of(whole, a) == key_of(few, b)
}
