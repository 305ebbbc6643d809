//! From findings by timestamps to witnesses: what should have been read, what was read, and who wrote both.

use isolde_history::{Key, OpId, TxnId, Value};
use isolde_spec::{Assumed, Axiom, Seen, Timed, Witness};

use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedFinding;
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::ticks::Tick;
use crate::timestamps::timeline::TimedVersion;
use crate::timestamps::unknown::AssumedPoint;

/// Of more versions with one commit timestamp, any of which would have been right, the first are told.
const MOST_EXPECTED: usize = 10;

/// Explains findings. The facts of the last key are kept: findings of one key often follow each other.
pub(crate) struct TimedExplainer<'c, 'h> {
    case: &'c TimedCase<'h>,
    assumed: &'c [AssumedPoint],
    key: JudgedKey,
    loaded: Option<Key>,
}

impl<'c, 'h> TimedExplainer<'c, 'h> {
    pub(crate) fn new(
        case: &'c TimedCase<'h>,
        assumed: &'c [AssumedPoint],
    ) -> TimedExplainer<'c, 'h> {
        TimedExplainer { case, assumed, key: JudgedKey::default(), loaded: None }
    }

    /// The witness of a finding.
    pub(crate) fn witness(&mut self, finding: &TimedFinding) -> Witness {
        let history = self.case.keys.history;
        let (mut expected, mut read) = (Vec::new(), None);
        if let (Axiom::Ext, Some(op), Some(key)) = (finding.axiom, finding.op, finding.key) {
            self.load(key);
            expected = self.expected(finding.txn);
            read = self.read(op, finding.other);
        }
        let writes = expected.iter().chain(&read).filter_map(|seen| seen.write);
        let mut ops: Vec<OpId> =
            finding.op.into_iter().chain(finding.other).chain(writes).collect();
        let mut seen = Vec::new();
        ops.retain(|op| {
            !seen.contains(op) && {
                seen.push(*op);
                true
            }
        });
        let of_ops = ops.iter().map(|op| history.txn_of(*op));
        let mut txns: Vec<TxnId> = of_ops.chain([finding.txn]).chain(finding.opponent).collect();
        txns.sort_unstable();
        txns.dedup();
        let timed = Timed {
            axiom: finding.axiom,
            txn: finding.txn,
            place: self.place(finding.txn),
            expected,
            read,
            opponent: finding.opponent,
            apart: None,
            assumed: self.assumed_of(&txns),
        };
        let support = self.readers_of(&txns);
        Witness { ops, txns, support, timed: Some(timed), ..Witness::of(finding.anomaly) }
    }

    fn place(&self, txn: TxnId) -> Option<isolde_history::Timestamp> {
        let at = self.case.exclusive_place(txn).or(self.case.limit(txn).known())?;
        self.case.ticks.timestamp(at)
    }

    fn load(&mut self, key: Key) {
        if self.loaded != Some(key) {
            self.key.load(self.case, key.index());
            self.loaded = Some(key);
        }
    }

    /// What a transaction should have read.
    fn expected(&mut self, reader: TxnId) -> Vec<Seen> {
        let count = self.key.timeline.count_until(self.case.limit(reader));
        let newest = self.key.timeline.newest(count, reader);
        if newest.is_empty() {
            return vec![self.initial()];
        }
        let newest = self.key.timeline.versions[newest].iter().filter(|v| v.txn != reader);
        newest.take(MOST_EXPECTED).map(|version| self.version(version, count)).collect()
    }

    fn version(&self, version: &TimedVersion, count: usize) -> Seen {
        let facts = &self.key.facts;
        let list = facts.is_list.then(|| self.key.timeline.list(count).to_vec());
        let write = Some(facts.writes[version.write as usize].op);
        Seen { value: version.value, list, write, initial: false }
    }

    fn initial(&self) -> Seen {
        let facts = &self.key.facts;
        let value = self.case.keys.first_value(facts.key);
        Seen { value, list: facts.is_list.then(Vec::new), write: None, initial: true }
    }

    /// What was read, and which write that was.
    fn read(&self, op: OpId, write: Option<OpId>) -> Option<Seen> {
        let facts = &self.key.facts;
        let of = self.case.keys.history.op(op);
        let list = of.elements().filter(|_| facts.is_list).map(<[Value]>::to_vec);
        let value = match &list {
            Some(list) => list.last().copied().unwrap_or(Value::ABSENT),
            // Reads are in the order of their operations.
            None => {
                let at = facts.reads.partition_point(|read| read.op < op);
                facts.reads.get(at).filter(|read| read.op == op)?.value
            }
        };
        let first = self.case.keys.first_value(facts.key);
        let initial =
            write.is_none() && (value == first || list.as_ref().is_some_and(Vec::is_empty));
        Some(Seen { value, list, write, initial })
    }

    /// The readers that show that transactions of unknown outcome committed.
    fn readers_of(&self, txns: &[TxnId]) -> Vec<TxnId> {
        let of = self.assumed.iter().filter(|point| txns.contains(&point.txn));
        let mut readers: Vec<TxnId> = of.filter_map(|point| point.reader).collect();
        readers.retain(|reader| !txns.contains(reader));
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    fn assumed_of(&self, txns: &[TxnId]) -> Vec<Assumed> {
        let stamp = |tick: Option<Tick>| tick.and_then(|m| self.case.ticks.timestamp(m));
        let of = self.assumed.iter().filter(|point| txns.contains(&point.txn));
        let told = |point: &AssumedPoint| Assumed {
            txn: point.txn,
            after: stamp(point.after),
            until: stamp(point.until),
        };
        of.map(told).collect()
    }
}
