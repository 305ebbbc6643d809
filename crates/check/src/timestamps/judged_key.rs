//! The rules, held against what was done to one key.

use std::cell::OnceCell;

use hashbrown::HashSet;
use isolde_history::{Effect, History, Key, OpId, OpKind, Stmt, TxnId, Value, names};
use isolde_spec::{Anomaly, Axiom};

use crate::keys::accesses::{ListRead, ReadFact, WriteFact};
use crate::keys::findings::{Doubt, LocalFinding};
use crate::keys::key_facts::{KeyFacts, asked_for};
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::{TimedDoubt, TimedFinding, TimedFindings};
use crate::timestamps::lists::{self, ListKey};
use crate::timestamps::rules::{self, Ordering};
use crate::timestamps::ticks::Tick;
use crate::timestamps::timeline::{TimedVersion, Timeline, WantedValue};
use crate::timestamps::written::WrittenValues;
use crate::timestamps::wrong_read::WrongRead;

/// A key under examination, in memory that the next key uses again.
#[derive(Default)]
pub(crate) struct JudgedKey {
    pub(crate) facts: KeyFacts,
    pub(crate) timeline: Timeline,
    /// Whether the facts are indexed by value.
    indexed: bool,
    /// The second of two reads that differ, which INT tells.
    second_looks: HashSet<OpId>,
    written: WrittenValues,
    last_deletes: OnceCell<LastDeletes>,
}

/// When the last two deletes of a key were committed, and by which transactions: one of them is not the reader's.
type LastDeletes = [Option<(Tick, TxnId)>; 2];

impl JudgedKey {
    /// Finds everything that is wrong with a key.
    pub(crate) fn judge(&mut self, case: &TimedCase<'_>, key: usize, out: &mut TimedFindings) {
        self.load(case, key);
        self.inside_transactions(case, out);
        out.unsaid += u64::from(self.facts.unsaid);
        if self.has_doubts(out) {
            return;
        }
        if case.given_orders() && !self.follows_given_order(case) {
            out.doubts.push(TimedDoubt::GivenOrder(Key(key as u32)));
        }
        // By snapshots, what stands at one place is a conflict, or a row that was inserted again.
        if !case.by_snapshots() {
            self.ties(case, out);
        }
        if case.ordering == Ordering::Snapshots {
            self.conflicts(case, out);
        }
        if self.facts.is_list { self.list_reads(case, out) } else { self.reads(case, out) }
    }

    /// Makes the facts of a key, and puts its versions in order.
    pub(crate) fn load(&mut self, case: &TimedCase<'_>, key: usize) {
        self.facts.missing_binds = true;
        self.indexed = self.facts.load_unindexed(&case.keys, &case.standings, key);
        self.timeline.load(&self.facts, &case.ticks);
        self.written.clear();
        self.last_deletes.take();
        self.second_looks.clear();
        let differ = |b: &&LocalFinding| b.anomaly == Anomaly::NonRepeatableReads;
        let differ = self.facts.breaches.iter().filter(differ);
        self.second_looks.extend(differ.filter_map(|breach| breach.ops().last()));
    }

    /// Enters the values that were written, unless they are.
    pub(crate) fn index(&mut self) {
        if !self.indexed {
            self.facts.index();
            self.indexed = true;
        }
    }

    /// INT.
    fn inside_transactions(&self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        for breach in &self.facts.breaches {
            let ops = breach.ops();
            let Some(&op) = ops.last() else { continue };
            let txn = case.keys.history.txn_of(op);
            if !case.counts(txn) {
                continue;
            }
            // The transaction that deleted a row that is inserted again may be missing.
            let missing = !case.complete && self.inserts(case, op);
            if missing {
                out.doubt(Doubt::UnknownWriter(op));
            } else if self.had_written(case, ops) || !self.inserts_again(case, txn, op) {
                let other = ops.first().copied().filter(|first| *first != op);
                let finding = TimedFinding::new(breach.anomaly, Axiom::Int, txn);
                let key = Some(self.facts.key());
                out.findings.push(TimedFinding { op: Some(op), other, key, ..finding });
            }
        }
        for &(own, op) in &self.facts.refused_own {
            let txn = case.keys.history.txn_of(op);
            if case.counts(txn) {
                let finding = TimedFinding::new(Anomaly::NotMyOwnWrite, Axiom::Int, txn);
                let (op, other, key) = (Some(op), Some(own), Some(self.facts.key()));
                out.findings.push(TimedFinding { op, other, key, ..finding });
            }
        }
    }

    /// Whether it is unknown which versions the key had. What was read of it is not judged then.
    fn has_doubts(&self, out: &mut TimedFindings) -> bool {
        let facts = &self.facts;
        let doubts = facts.doubts();
        doubts.into_iter().flatten().for_each(|doubt| out.doubt(doubt));
        out.doubts.extend(facts.undecided.map(|op| TimedDoubt::Of(Doubt::Predicate(op))));
        doubts.iter().any(Option::is_some)
    }

    /// Whether the order that the recorder gave, if it did, is that of the commits.
    fn follows_given_order(&mut self, case: &TimedCase<'_>) -> bool {
        let Some(order) = case.given_order(self.facts.key) else { return true };
        self.index();
        let facts = &self.facts;
        let mut last = Tick::NEVER;
        for value in order {
            let mut writers = facts.values.chain(&facts.writes, *value);
            let version = |w: &u32| facts.writes[*w as usize].is_version();
            let Some(write) = writers.find(version) else { continue };
            let commit = case.ticks.commit_of(facts.writes[write as usize].txn);
            if writers.any(|w| version(&w)) {
                return false;
            }
            // The commit of an unknown outcome has no timestamp that could differ.
            let Some(commit) = commit.known() else { continue };
            if commit < last {
                return false;
            }
            last = commit;
        }
        true
    }

    /// Writers of the key with one commit timestamp: each but the first of them is one finding. In commit
    /// order they leave the answer open.
    fn ties(&self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        for pair in self.timeline.versions.windows(2).filter(|p| p[0].commit == p[1].commit) {
            let [first, second] = [pair[0], pair[1]];
            match case.ordering {
                Ordering::Snapshots => {
                    let op = Some(self.write(&second).op);
                    let other = Some(self.write(&first).op);
                    let opponent = Some(first.txn);
                    let finding =
                        TimedFinding::new(Anomaly::TimestampTie, Axiom::Stamps, second.txn);
                    let key = Some(self.facts.key());
                    out.findings.push(TimedFinding { op, other, opponent, key, ..finding });
                }
                Ordering::Commits { .. } => {
                    let key = self.facts.key();
                    out.doubts.push(TimedDoubt::Tie(first.txn, second.txn, key));
                }
            }
        }
    }

    fn write(&self, version: &TimedVersion) -> &WriteFact {
        &self.facts.writes[version.write as usize]
    }

    /// NOCONFLICT: once for each transaction, on the one that commits first. Timestamps that contradict
    /// themselves are told elsewhere, and overlap nothing.
    fn conflicts(&self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        let versions = &self.timeline.versions;
        // Commits ascend: whoever overlaps an earlier writer overlaps the one before it.
        if versions.windows(2).all(|p| p[0].commit <= p[1].start) {
            return;
        }
        let good = versions.iter().filter(|v| v.start != Tick::NEVER && v.start < v.commit);
        let good: Vec<&TimedVersion> = good.filter(|v| !self.is_free(case, v)).collect();
        let spans: Vec<(Tick, Tick)> = good.iter().map(|v| (v.start, v.commit)).collect();
        for (i, j) in rules::conflicts(&spans) {
            let (first, second) = (self.write(good[i]), self.write(good[j]));
            let read = self.read_before(case, first);
            let same = read.is_some() && read == self.read_before(case, second);
            let anomaly = rules::name_of_conflict(same);
            let finding = TimedFinding::new(anomaly, Axiom::NoConflict, first.txn);
            out.findings.push(TimedFinding {
                op: Some(first.op),
                other: Some(second.op),
                opponent: Some(second.txn),
                key: Some(self.facts.key()),
                ..finding
            });
        }
    }

    /// Whether a writer may overlap any other one: by snapshots, a transaction that inserts the row. It may
    /// insert what another one deleted meanwhile, and PostgreSQL lets it.
    fn is_free(&self, case: &TimedCase<'_>, version: &TimedVersion) -> bool {
        let own = self.facts.writes[..=version.write as usize].iter().rev();
        let own = own.take_while(|write| write.txn == version.txn);
        let first = own.filter(|write| !write.undone).last();
        let inserts = |write: &WriteFact| match case.keys.history.op(write.op).kind() {
            OpKind::InsertIfAbsent => true,
            OpKind::Write => self.is_deleted() && upserts(case.keys.history, write.op),
            _ => false,
        };
        case.by_snapshots() && first.is_some_and(inserts)
    }

    /// Whether the first of some operations is a write: what the transaction itself put there nobody deletes.
    fn had_written(&self, case: &TimedCase<'_>, ops: &[OpId]) -> bool {
        ops.first().is_some_and(|op| case.keys.history.op(*op).kind().writes())
    }

    /// By snapshots: whether it inserts a row that another transaction deleted which the snapshot does not show.
    /// The row may still be in the snapshot.
    fn inserts_again(&self, case: &TimedCase<'_>, txn: TxnId, op: OpId) -> bool {
        let limit = case.limit(txn);
        let hidden = |(commit, deleter): (Tick, TxnId)| {
            deleter != txn && (commit > limit || limit == Tick::NEVER)
        };
        let last = || *self.last_deletes.get_or_init(|| self.find_last_deletes());
        self.inserts(case, op) && last().into_iter().flatten().any(hidden)
    }

    /// Whether the key was ever deleted.
    fn is_deleted(&self) -> bool {
        self.last_deletes.get_or_init(|| self.find_last_deletes())[0].is_some()
    }

    /// The last two versions that are deletes.
    fn find_last_deletes(&self) -> LastDeletes {
        let versions = self.timeline.versions.iter().rev();
        let mut deletes = versions.filter(|version| version.value == Value::ABSENT);
        [0; 2].map(|_| deletes.next().map(|version| (version.commit, version.txn)))
    }

    /// By snapshots: whether an operation inserted a row.
    fn inserts(&self, case: &TimedCase<'_>, op: OpId) -> bool {
        let op = case.keys.history.op(op);
        let inserts = op.kind() == OpKind::InsertIfAbsent && op.effect() == Effect::Done;
        case.by_snapshots() && inserts
    }

    /// What a writer had read of the key before: a value, and of a list the elements that are not its own.
    fn read_before<'h>(
        &self,
        case: &TimedCase<'h>,
        write: &WriteFact,
    ) -> Option<(Value, &'h [Value])> {
        let read = &self.facts.reads[write.read_before.get()?];
        let lists = &self.facts.list_reads;
        // Reads are in the order of their operations.
        let at = lists.partition_point(|list| list.op < read.op);
        let list = lists.get(at).filter(|list| list.op == read.op);
        Some((read.value, list.map_or(&[], |list| self.foreign(case, list))))
    }

    /// EXT, of a register.
    fn reads(&mut self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        let first = case.keys.first_value(self.facts.key);
        for i in 0..self.facts.reads.len() {
            let read = self.facts.reads[i];
            // A row that a predicate read must have seen absent is a read of nothing.
            if !read.standing.counts() {
                continue;
            }
            let limit = case.limit(read.txn);
            let count = self.timeline.count_until(limit);
            let newest = count.checked_sub(1).map(|last| &self.timeline.versions[last]);
            let value = newest.map_or(first, |version| version.value);
            let own = newest.is_some_and(|version| version.txn == read.txn);
            if case.ordering != Ordering::Snapshots {
                self.tie_of_reader(case, read.txn, count, out);
            }
            if value != read.value || own {
                self.perhaps_wrong(case, &read, count, out);
            }
        }
        self.refused(case, out);
    }

    /// In commit order: a transaction that wrote, and read what another one wrote at the same time.
    fn tie_of_reader(
        &self,
        case: &TimedCase<'_>,
        reader: TxnId,
        count: usize,
        out: &mut TimedFindings,
    ) {
        // At most one of the first two is its own.
        let mut tied =
            self.timeline.versions[count..].iter().take(self.tied(case, reader, count).min(2));
        if let Some(version) = tied.find(|version| version.txn != reader) {
            out.doubts.push(TimedDoubt::Tie(version.txn, reader, self.facts.key()));
        }
    }

    /// In commit order: how many versions have the commit timestamp of a reader that wrote. They come after the
    /// first so many, which are those that it sees.
    fn tied(&self, case: &TimedCase<'_>, reader: TxnId, count: usize) -> usize {
        let after = &self.timeline.versions[count..];
        match case.exclusive_place(reader) {
            Some(at) if after.first().is_some_and(|version| version.commit == at) => {
                after.partition_point(|version| version.commit <= at)
            }
            _ => 0,
        }
    }

    /// A read that is not of the newest visible version at first sight.
    #[cold]
    fn perhaps_wrong(
        &mut self,
        case: &TimedCase<'_>,
        read: &ReadFact,
        count: usize,
        out: &mut TimedFindings,
    ) {
        let right = || self.shows(case, read.txn, count, WantedValue::This(read.value));
        // Where a transaction of unknown outcome stands may not be known at all.
        if case.limit(read.txn) == Tick::NEVER || self.second_looks.contains(&read.op) || right() {
            return;
        }
        if self.inserts_again(case, read.txn, read.op) {
            return;
        }
        self.index();
        match self.wrong_read(case, read) {
            WrongRead::Named(anomaly, other) => {
                let finding = TimedFinding::new(anomaly, Axiom::Ext, read.txn);
                let (op, key) = (Some(read.op), Some(self.facts.key()));
                out.findings.push(TimedFinding { op, other, key, ..finding });
            }
            WrongRead::InDoubt(doubt) => out.doubts.push(doubt),
            WrongRead::Open => {}
        }
    }

    /// Whether a reader may have seen what is wanted: in the newest visible version; of several with one commit
    /// timestamp in any.
    fn shows(
        &self,
        case: &TimedCase<'_>,
        reader: TxnId,
        count: usize,
        wanted: WantedValue,
    ) -> bool {
        let newest = self.timeline.newest(count, reader);
        let initial = || wanted.is_met_by(case.keys.first_value(self.facts.key));
        let tied = count..count + self.tied(case, reader, count);
        self.timeline.any(tied, reader, wanted)
            || if newest.is_empty() { initial() } else { self.timeline.any(newest, reader, wanted) }
    }

    /// What a wrong read of a register is called.
    fn wrong_read(&self, case: &TimedCase<'_>, read: &ReadFact) -> WrongRead {
        let facts = &self.facts;
        let initial = read.is_of(case.keys.first_value(facts.key));
        let writers = self.written.of(case, facts, read.value);
        if writers.open {
            return WrongRead::Open;
        }
        if read.value == Value::UNOBSERVED {
            return WrongRead::InDoubt(TimedDoubt::Of(Doubt::Unlearned(read.op)));
        }
        if !case.complete {
            let once =
                writers.count + usize::from(initial) == 1 && self.are_unique(case, read.value);
            if !once {
                return WrongRead::InDoubt(TimedDoubt::Of(Doubt::UnknownWriter(read.op)));
            }
        }
        // The initial state was visible once.
        if initial {
            return WrongRead::Named(Anomaly::StaleRead, None);
        }
        match writers.name(case, facts, (read.txn, read.op), read.value) {
            Some((anomaly, op)) => WrongRead::Named(anomaly, Some(op)),
            None => WrongRead::Named(Anomaly::ThinAirRead, None),
        }
    }

    /// Whether values are unique, as far as one can see: then no transaction that is missing in the history
    /// wrote this one. A delete leaves nothing that could be unique.
    fn are_unique(&self, case: &TimedCase<'_>, value: Value) -> bool {
        !(value == Value::ABSENT && case.deletes) && self.written.are_unique(&self.facts)
    }

    /// Operations that were refused: they saw something else than what they asked for.
    fn refused(&mut self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        for i in 0..self.facts.refused.len() {
            let (op, txn) = self.facts.refused[i];
            if !case.counts(txn) || case.limit(txn) == Tick::NEVER {
                continue;
            }
            let count = self.timeline.count_until(case.limit(txn));
            self.tie_of_reader(case, txn, count, out);
            let asked = asked_for(&case.keys.history.op(op));
            let Some(asked) =
                asked.filter(|asked| !self.shows(case, txn, count, WantedValue::NotThis(*asked)))
            else {
                continue;
            };
            if !case.complete || self.any_open(case) {
                out.doubt(Doubt::UnknownWriter(op));
                continue;
            }
            let anomaly = self.name_of_refusal(case, count, asked);
            let finding = TimedFinding::new(anomaly, Axiom::Ext, txn);
            let key = Some(self.facts.key());
            out.findings.push(TimedFinding { op: Some(op), key, ..finding });
        }
    }

    /// What a wrong refusal is called. It saw something else than it asked for: an older version if there ever
    /// was another one, else a later one; if there is none either, what it saw never was.
    fn name_of_refusal(&self, case: &TimedCase<'_>, count: usize, asked: Value) -> Anomaly {
        let first = case.keys.first_value(self.facts.key);
        let (seen, later) = self.timeline.versions.split_at(count);
        let other = |versions: &[TimedVersion]| versions.iter().any(|v| v.value != asked);
        match () {
            () if first != asked || other(seen) => Anomaly::StaleRead,
            () if other(later) => Anomaly::UncommittedVersionRead,
            () => Anomaly::ThinAirRead,
        }
    }

    fn any_open(&self, case: &TimedCase<'_>) -> bool {
        self.facts.writes.iter().any(|w| case.is_open(w.txn))
    }

    /// EXT, of a list.
    fn list_reads(&mut self, case: &TimedCase<'_>, out: &mut TimedFindings) {
        for i in 0..self.facts.list_reads.len() {
            let read = self.facts.list_reads[i];
            if !case.counts(read.txn) {
                continue;
            }
            let elements = self.foreign(case, &read);
            // A list that was read twice alike is right or wrong once.
            let before = i.checked_sub(1).map(|before| self.facts.list_reads[before]);
            if before.is_some_and(|b| b.txn == read.txn && self.foreign(case, &b) == elements) {
                continue;
            }
            let count = self.timeline.count_until(case.limit(read.txn));
            let as_expected = self.timeline.list(count) == elements
                && !self.timeline.shows_itself(read.txn, case.ticks.commit_of(read.txn), count);
            if case.ordering != Ordering::Snapshots {
                self.tie_of_reader(case, read.txn, count, out);
            }
            if !as_expected {
                self.perhaps_wrong_list(case, &read, count, out);
            }
        }
    }

    /// The elements of a list read that are not the reader's own.
    pub(crate) fn foreign<'h>(&self, case: &TimedCase<'h>, read: &ListRead) -> &'h [Value] {
        let elements = case.keys.history.op(read.op).elements().unwrap_or_default();
        &elements[..read.foreign as usize]
    }

    #[cold]
    fn perhaps_wrong_list(
        &mut self,
        case: &TimedCase<'_>,
        read: &ListRead,
        count: usize,
        out: &mut TimedFindings,
    ) {
        if case.limit(read.txn) == Tick::NEVER || self.second_looks.contains(&read.op) {
            return;
        }
        self.index();
        let elements = self.foreign(case, read);
        let tied = self.tied(case, read.txn, count);
        let key = ListKey { facts: &self.facts, timeline: &self.timeline, written: &self.written };
        let wrong = lists::wrong_read(case, key, read, elements, (count, tied));
        match wrong {
            None | Some(WrongRead::Open) => {}
            Some(WrongRead::InDoubt(doubt)) => out.doubts.push(doubt),
            Some(WrongRead::Named(anomaly, other)) => {
                let opponent = other.map(|op| case.keys.history.txn_of(op));
                let finding = TimedFinding::new(anomaly, Axiom::Ext, read.txn);
                let (op, key) = (Some(read.op), Some(self.facts.key()));
                out.findings.push(TimedFinding { op, other, opponent, key, ..finding });
            }
        }
    }
}

/// Access paths of writes that insert the row if it is not there, as recorders name them.
const UPSERTS: [&str; 3] = ["upsert", "update-else-insert", "replace"];

/// Whether a write may have inserted its row, as the recorder says.
pub(crate) fn upserts(history: &History, op: OpId) -> bool {
    let txn = history.txn(history.txn_of(op));
    let of = |stmt: &Stmt<'_>| stmt.ops().any(|own| own.id() == op);
    let path = txn.stmts().find(of).and_then(|stmt| stmt.attr(names::PATH));
    let path = path.and_then(|path| history.pool().as_text(path));
    path.is_some_and(|path| UPSERTS.contains(&path))
}
