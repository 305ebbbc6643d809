//! The commit-order edges that read committed and read atomic force.
//!
//! A transaction reads a key x from t1 although t2, which wrote x too, binds that read: then t2 committed
//! before t1. At read committed t2 binds if an earlier statement of the reader read from it, at read
//! atomic if the reader read from it at all, or followed it in their session.
//!
//! Not all of these edges are told, but enough that the others follow. Each pair of a reader and
//! someone it read from costs the smaller of their two sets of keys, which is n^1.5 together: with
//! more than sqrt(n) keys there are at most sqrt(n) such transactions.

use isolde_history::{History, OpId, SessionId, TxnId};

use super::reads::{ByTxn, INITIAL, Seen};
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// A receiver of forced edges.
pub(crate) trait Forcing {
    /// A transaction read a version, though it had seen another writer of that key. So that writer
    /// came before the writer of the version. The latter may be the initial state, before which no
    /// transaction came.
    fn force(&mut self, writer: u32, seen: &Seen);
}

/// The transactions of a session that count, in their order, told one after another.
pub(crate) fn each_of_session(
    context: &Context<'_>,
    session: SessionId,
    mut work: impl FnMut(u32),
) {
    for &txn in context.history.session(session) {
        if context.counts(txn) {
            work(txn.0);
        }
    }
}

/// The statement of every operation of one transaction after another.
pub(crate) struct Statements<'h> {
    history: &'h History,
    /// Whether every operation is a statement of its own, so that nothing has to be looked up.
    plain: bool,
    first: usize,
    of: Vec<u32>,
}

impl<'h> Statements<'h> {
    pub(crate) fn new(history: &'h History) -> Statements<'h> {
        let plain = history.has_plain_statements();
        Statements { history, plain, first: 0, of: Vec::new() }
    }

    pub(crate) fn load(&mut self, txn: u32) {
        if self.plain {
            return;
        }
        let txn = self.history.txn(TxnId(txn));
        self.first = txn.op_range().start;
        self.of.clear();
        for (number, statement) in txn.stmts().enumerate() {
            self.of.extend(statement.ops().map(|_| number as u32));
        }
    }

    /// The number of an operation's statement in the transaction that was loaded.
    #[inline]
    pub(crate) fn of(&self, op: OpId) -> u32 {
        if self.plain { op.0 } else { self.of[op.index() - self.first] }
    }
}

/// The transactions that one read from, each with the statement that did so first.
#[derive(Default)]
pub(crate) struct Sources(Vec<(u32, u32)>);

impl Sources {
    fn load(&mut self, seen: &[Seen], statement: impl Fn(OpId) -> u32) -> &[(u32, u32)] {
        self.0.clear();
        let from_others = seen.iter().filter(|s| s.source != INITIAL);
        self.0.extend(from_others.map(|s| (s.source, statement(s.first))));
        self.0.sort_unstable();
        self.0.dedup_by_key(|(source, _)| *source);
        &self.0
    }
}

/// What read committed forces because of the reads of one transaction.
pub(crate) fn committed(
    by_txn: &ByTxn,
    txn: u32,
    statements: &mut Statements<'_>,
    sources: &mut Sources,
    to: &mut impl Forcing,
) {
    let seen = by_txn.seen_by(txn);
    if seen.len() < 2 {
        return;
    }
    statements.load(txn);
    // Where reads of a key come one after another in different statements, the writer that was read first came
    // before the next, and so on: the first of them is enough.
    let after = |s: &Seen, next: &Seen| statements.of(next.first) > statements.of(s.last);
    let joint = seen.windows(2).any(|w| w[0].key == w[1].key && !after(&w[0], &w[1]));
    for &(writer, statement) in sources.load(seen, |op| statements.of(op)) {
        common_keys(by_txn.written_by(writer), seen, |runs| {
            // A row that a predicate read missed binds from read atomic up.
            let later = |s: &&Seen| s.source != writer && statements.of(s.last) > statement;
            let bound = |s: &&Seen| !s.missing && later(s);
            let enough = if joint { runs.len() } else { 1 };
            runs.iter().filter(bound).take(enough).for_each(|s| to.force(writer, s));
        });
    }
}

/// The last transaction that wrote each key in the session under way.
pub(crate) struct LastWriters {
    /// By key: the session, and the transaction.
    of: Vec<(u32, u32)>,
    session: u32,
}

impl LastWriters {
    pub(crate) fn new(keys: usize) -> LastWriters {
        LastWriters { of: vec![(u32::MAX, 0); keys], session: 0 }
    }

    pub(crate) fn begin(&mut self, session: SessionId) {
        self.session = session.0;
    }

    fn of(&self, key: u32) -> Option<u32> {
        let (session, txn) = self.of[key as usize];
        (session == self.session).then_some(txn)
    }

    fn wrote(&mut self, txn: u32, keys: &[u32]) {
        keys.iter().for_each(|key| self.of[*key as usize] = (self.session, txn));
    }
}

/// What read atomic forces because of what one transaction read.
pub(crate) fn atomic(by_txn: &ByTxn, txn: u32, sources: &mut Sources, to: &mut impl Forcing) {
    let seen = by_txn.seen_by(txn);
    if seen.len() < 2 {
        return;
    }
    for &(writer, _) in sources.load(seen, |op| op.0) {
        common_keys(by_txn.written_by(writer), seen, |runs| {
            // A reader that saw two versions of a key is wrong already: each of the two has to come
            // before the other. So two are enough, however often it looked.
            runs.iter().take(2).filter(|s| s.source != writer).for_each(|s| to.force(writer, s));
        });
    }
}

/// What read atomic forces because of what came before one transaction in its session: the last
/// writer of a key there is enough, since the others came before it.
pub(crate) fn in_session(
    context: &Context<'_>,
    by_txn: &ByTxn,
    txn: u32,
    last: &mut LastWriters,
    to: &mut impl Forcing,
) {
    for seen in by_txn.seen_by(txn) {
        if let Some(writer) = last.of(seen.key).filter(|writer| *writer != seen.source) {
            to.force(writer, seen);
        }
    }
    // One of unknown outcome may have committed later than anything that its session did next.
    if context.standings[txn as usize] == Standing::Committed {
        last.wrote(txn, by_txn.written_by(txn));
    }
}

/// Tells the reads of each key that a transaction also wrote; both come in the order of keys.
fn common_keys<'s>(written: &[u32], seen: &'s [Seen], mut tell: impl FnMut(&'s [Seen])) {
    let reads_of = |key: u32| {
        let start = seen.partition_point(|s| s.key < key);
        let len = seen[start..].iter().take_while(|s| s.key == key).count();
        &seen[start..start + len]
    };
    if written.len() <= seen.len() {
        for &key in written {
            let runs = reads_of(key);
            if !runs.is_empty() {
                tell(runs);
            }
        }
    } else {
        for runs in seen.chunk_by(|a, b| a.key == b.key) {
            if written.binary_search(&runs[0].key).is_ok() {
                tell(runs);
            }
        }
    }
}
