//! What sessions ask for beside their answers: the snapshot that they read from, and the number of the
//! transaction. Both come with statements that are sent anyway.

use isolde_history::Snapshot;

use super::wire::Reply;
use crate::offer::Offer;
use crate::shown::{ServerTxn, SnapshotOf, TakenSnapshot};

/// Asks for the snapshot of a whole transaction; sent between BEGIN and its first statement.
pub(super) const SNAPSHOT: &str = "SELECT pg_current_snapshot()";

/// Every transaction of these levels but READ COMMITTED reads from one snapshot.
pub(super) fn snapshots_of(offer: &Offer) -> SnapshotOf {
    if offer.name == "read-committed" { SnapshotOf::Statement } else { SnapshotOf::Transaction }
}

/// A statement that may bring more than its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asking {
    pub(super) text: String,
    /// The column that holds the number of the transaction.
    xid: Option<usize>,
    /// The column that holds the snapshot of the statement.
    snapshot: Option<usize>,
    /// Whether a row comes also if there is none in the table: one whose first column is NULL.
    joined: bool,
}

impl Asking {
    /// A statement as it is.
    pub(super) fn plain(text: &str) -> Asking {
        Asking { text: text.to_owned(), xid: None, snapshot: None, joined: false }
    }

    /// The statement of a way that also asks for evidence.
    ///
    /// Only writes ask for the number of the transaction, as the question would give one to a transaction that
    /// has none. They ask every time: it has to be known before COMMIT is sent, whose answer may be lost.
    pub(super) fn of(text: &str, snapshots: SnapshotOf) -> Asking {
        let each = snapshots == SnapshotOf::Statement;
        match text.strip_prefix("SELECT v FROM {t} WHERE ") {
            Some(condition) if each && text.contains(" FOR ") => Asking {
                text: format!("SELECT v, pg_current_snapshot() FROM {{t}} WHERE {condition}"),
                snapshot: Some(1),
                ..Asking::plain("")
            },
            // A read that finds nothing has read from a snapshot, too.
            Some(condition) if each => Asking {
                text: format!(
                    "SELECT t.v, taken.x FROM (SELECT pg_current_snapshot() AS x) taken \
                     LEFT JOIN {{t}} t ON {condition}"
                ),
                snapshot: Some(1),
                joined: true,
                ..Asking::plain("")
            },
            Some(_) => Asking::plain(text),
            None => Asking::writing(text, each),
        }
    }

    fn writing(text: &str, each: bool) -> Asking {
        let answers = text.contains(" RETURNING ");
        let and = if answers { ", " } else { " RETURNING " };
        let snapshot = if each { ", pg_current_snapshot()" } else { "" };
        let xid = usize::from(answers);
        Asking {
            text: format!("{text}{and}pg_current_xact_id(){snapshot}"),
            xid: Some(xid),
            snapshot: each.then_some(xid + 1),
            joined: false,
        }
    }

    /// How many rows of the table the statement touched.
    pub(super) fn rows(&self, reply: &Reply) -> u64 {
        match reply.rows() {
            1 if self.joined && reply.column(0).is_none() => 0,
            rows => rows,
        }
    }
}

/// What a session has learnt of the transaction that is under way, or that ended last.
pub(super) struct Evidence {
    pub(super) snapshots: SnapshotOf,
    /// How often the server had been started again when the session connected.
    restart: u32,
    taken: Option<TakenSnapshot>,
    pub(super) txn: Option<ServerTxn>,
}

impl Evidence {
    pub(super) fn new(snapshots: SnapshotOf, restart: u32) -> Evidence {
        Evidence { snapshots, restart, taken: None, txn: None }
    }

    /// A transaction begins.
    pub(super) fn forget(&mut self) {
        (self.taken, self.txn) = (None, None);
    }

    /// What a statement brought beside its answer.
    pub(super) fn learn(&mut self, asking: &Asking, reply: &Reply) {
        let id = asking.xid.and_then(|at| integer(reply.column(at)?));
        if let Some(id) = id {
            self.txn = Some(ServerTxn { restart: self.restart, id });
        }
        if let Some(bytes) = asking.snapshot.and_then(|at| reply.column(at)) {
            self.take(SnapshotOf::Statement, bytes);
        }
    }

    /// The answer to [`SNAPSHOT`].
    pub(super) fn learn_snapshot(&mut self, reply: &Reply) {
        if let Some(bytes) = reply.column(0) {
            self.take(SnapshotOf::Transaction, bytes);
        }
    }

    fn take(&mut self, of: SnapshotOf, bytes: &[u8]) {
        let restart = self.restart;
        self.taken = snapshot(bytes).map(|snapshot| TakenSnapshot { of, snapshot, restart });
    }

    /// The snapshot that was not told before.
    pub(super) fn take_snapshot(&mut self) -> Option<TakenSnapshot> {
        self.taken.take()
    }
}

/// A number of eight bytes, as `bigint` and `xid8` are sent.
fn integer(bytes: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(bytes.try_into().ok()?))
}

/// A `pg_snapshot` as it is sent: how many were in progress, xmin, xmax, and each of those.
fn snapshot(bytes: &[u8]) -> Option<Snapshot> {
    let (count, rest) = bytes.split_first_chunk()?;
    let mut numbers = rest.chunks(8).map(integer);
    let (xmin, xmax) = (numbers.next()??, numbers.next()??);
    let in_progress = numbers.collect::<Option<Vec<i64>>>()?;
    let all = in_progress.len() == usize::try_from(i32::from_be_bytes(*count)).ok()?;
    all.then_some(Snapshot { xmin, xmax, in_progress })
}

#[cfg(test)]
mod tests {
    use super::super::dialect::WAYS;
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_it_is_sent() {
        let bytes = |count: i32, numbers: &[i64]| {
            let numbers = numbers.iter().flat_map(|n| n.to_be_bytes());
            count.to_be_bytes().into_iter().chain(numbers).collect::<Vec<u8>>()
        };
        let expected = Snapshot { xmin: 100, xmax: 105, in_progress: vec![102, 103] };
        let sent = bytes(2, &[100, 105, 102, 103]);
        assert_eq!(snapshot(&sent), Some(expected));
        assert!(snapshot(&bytes(0, &[7, 7])).unwrap().in_progress.is_empty());
        for wrong in [bytes(1, &[100, 105]), bytes(0, &[100]), sent[..35].to_vec(), Vec::new()] {
            assert_eq!(snapshot(&wrong), None, "{wrong:?}");
        }
    }

    /// At levels with one snapshot a transaction, reads stay as they are: what a serializable transaction locks
    /// depends on its plans.
    #[test]
    fn every_way_asks_for_what_it_can_bring() {
        for text in WAYS.iter().flat_map(|way| way.steps) {
            let [of_txn, of_stmt] = [SnapshotOf::Transaction, SnapshotOf::Statement]
                .map(|snapshots| Asking::of(text, snapshots));
            let reads = text.starts_with("SELECT");
            assert_eq!(Asking::plain(text).text, *text, "without evidence all is as it was");
            assert_eq!(of_txn.xid.is_none() && of_txn.text == *text, reads, "{text}");
            assert_eq!(of_stmt.xid.is_none(), reads, "{text}");
            assert!(of_txn.snapshot.is_none() && of_stmt.snapshot.is_some(), "{text}");
            assert_eq!(of_stmt.joined, reads && !text.contains(" FOR "), "{text}");
            assert!(!of_stmt.text.contains("FOR") || !of_stmt.text.contains("JOIN"), "{text}");
        }
    }

    #[test]
    fn what_is_asked_stands_behind_the_answer() {
        let each = SnapshotOf::Statement;
        let of = |text: &str, snapshots| Asking::of(text, snapshots).text;
        let update = "UPDATE {t} SET v = $2 WHERE k = $1";
        assert_eq!(
            of(update, SnapshotOf::Transaction),
            format!("{update} RETURNING pg_current_xact_id()")
        );
        let returning = format!("{update} RETURNING v");
        let asking = Asking::of(&returning, each);
        assert_eq!(
            asking.text,
            format!("{returning}, pg_current_xact_id(), pg_current_snapshot()")
        );
        assert_eq!((asking.xid, asking.snapshot), (Some(1), Some(2)));
        assert_eq!(
            of("SELECT v FROM {t} WHERE k >= $1 AND k < $1 + 1", each),
            "SELECT t.v, taken.x FROM (SELECT pg_current_snapshot() AS x) taken \
             LEFT JOIN {t} t ON k >= $1 AND k < $1 + 1"
        );
        assert_eq!(
            of("SELECT v FROM {t} WHERE k = $1 FOR SHARE", each),
            "SELECT v, pg_current_snapshot() FROM {t} WHERE k = $1 FOR SHARE"
        );
    }

    #[test]
    fn a_row_of_nulls_is_no_row_but_two_rows_are_two() {
        let asking = Asking::of("SELECT v FROM {t} WHERE k = $1", SnapshotOf::Statement);
        let reply = |cell: Option<Vec<u8>>, rows: u64| Reply {
            columns: vec![cell, Some(Vec::new())],
            tag: format!("SELECT {rows}"),
        };
        assert_eq!(asking.rows(&reply(None, 1)), 0);
        assert_eq!(asking.rows(&reply(Some(vec![0]), 1)), 1);
        assert_eq!(asking.rows(&reply(Some(vec![0]), 2)), 2);
        assert_eq!(asking.rows(&reply(None, 2)), 2);
    }
}
