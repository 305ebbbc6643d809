//! Commits that the server had confirmed and has lost. The recorder says so when the run is over, so the transaction has
//! come long before, and is looked for in all that is kept. The rule is that of whole histories.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use isolde_check::Options;
use isolde_history::{History, HistoryBuilder, LostCommit, Outcome, TxnId, Value, notation};
use isolde_spec::{Anomaly, Answer, Promise, Verdict};

use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, What, Word, name_id, word};
use crate::event::Finding;
use crate::pack::{Pack, packed};
use crate::timestamps::excerpt::name_of;

/// What is known of lost commits.
#[derive(Default)]
pub(crate) struct Lost {
    wanted: Vec<Wanted>,
    /// Those that were told.
    told: Vec<TxnRef>,
    /// How many of the first have been looked for in all that came before.
    searched: usize,
    index: Index,
}

packed!(Lost { wanted, told, searched, index });

/// What tells lost transactions from all others. A value may be written twice: then each that wrote it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wanted {
    /// Restarts of the server, and its number of the transaction.
    number: Option<(i64, i64)>,
    /// Its session, a key, and what it wrote there.
    written: Option<LostWrite>,
    /// Whether one has been found.
    found: bool,
}

packed!(Wanted { number, written, found });

type LostWrite = (NameId, NameId, Word);

/// Where what is wanted stands.
#[derive(Default)]
struct Index {
    by_number: HashMap<(i64, i64), usize>,
    by_write: HashMap<LostWrite, usize>,
    told: HashSet<TxnRef>,
    /// How many of those that are wanted, and of those that were told, are in it.
    known: (usize, usize),
}

/// It is made again from what it is of.
impl Pack for Index {
    fn pack(&self, _: &mut Vec<u8>) {}

    fn unpack(_: &mut &[u8]) -> Option<Index> {
        Some(Index::default())
    }
}

impl Index {
    fn learn(&mut self, wanted: &[Wanted], told: &[TxnRef]) {
        for (at, wanted) in wanted.iter().enumerate().skip(self.known.0) {
            wanted
                .number
                .into_iter()
                .for_each(|number| _ = self.by_number.entry(number).or_insert(at));
            wanted
                .written
                .into_iter()
                .for_each(|write| _ = self.by_write.entry(write).or_insert(at));
        }
        self.told.extend(&told[self.known.1..]);
        self.known = (wanted.len(), told.len());
    }

    /// The first of those that are wanted which a transaction is.
    fn find(&self, batch: &History, txn: TxnId) -> Option<usize> {
        let (pool, txn) = (batch.pool(), batch.txn(txn));
        let number = txn.xid().and_then(|xid| self.by_number.get(&(txn.restart(), xid)));
        let written = || {
            let session = name_id(pool, pool.session_name(txn.session()));
            let writes = txn.ops().filter(|op| op.kind().writes());
            let writes = writes.map(|op| {
                (session, name_id(pool, pool.key_name(op.key())), word(pool, op.value()))
            });
            writes.filter_map(|write| self.by_write.get(&write)).min()
        };
        let written = if self.by_write.is_empty() { None } else { written() };
        number.into_iter().chain(written).min().copied()
    }
}

impl Lost {
    /// Takes notice of what a batch says. Whether it says anything.
    pub(crate) fn note(&mut self, batch: &History) -> bool {
        let before = self.wanted.len();
        let new = batch.lost_commits().map(|lost| Wanted::of(batch, lost));
        self.wanted.extend(new);
        self.wanted.len() > before
    }

    /// How many have not been found.
    pub(crate) fn not_found(&self) -> usize {
        self.wanted.iter().filter(|wanted| !wanted.found).count()
    }

    /// Those that stand in batches from a number on, or on disk; each is told once.
    pub(crate) fn find(
        &mut self,
        from: u32,
        about: (Promise, &History),
        bodies: &mut Bodies,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.wanted.is_empty() {
            return findings;
        }
        self.index.learn(&self.wanted, &self.told);
        for number in self.batches(from, bodies) {
            let Some(batch) = bodies.get(number) else { continue };
            for txn in batch.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
                let txn = txn.id();
                let Some(at) = self.index.find(&batch, txn) else { continue };
                self.wanted[at].found = true;
                let own = TxnRef::new(number, txn);
                if !self.index.told.contains(&own)
                    && let Some(finding) = finding(about, &batch, txn, self.wanted[at])
                {
                    self.told.push(own);
                    findings.push(finding);
                }
            }
        }
        self.searched = self.wanted.len();
        findings
    }

    /// The batches in which something may be found: by what was written, only a few of those on disk.
    fn batches(&self, from: u32, bodies: &mut Bodies) -> Vec<u32> {
        let next = bodies.next();
        let new = &self.wanted[self.searched.min(self.wanted.len())..];
        if from > 0 || new.iter().any(|wanted| wanted.number.is_some()) {
            return (from..next).collect();
        }
        let live = bodies.first_in_memory();
        let mut batches: Vec<u32> = (live..next).collect();
        for (_, key, word) in new.iter().filter_map(|wanted| wanted.written) {
            batches.extend(bodies.about(key, What::Word(word)));
        }
        batches.sort_unstable();
        batches.dedup();
        batches
    }
}

impl Wanted {
    fn of(batch: &History, lost: LostCommit) -> Wanted {
        let pool = batch.pool();
        match lost {
            LostCommit::ByXid { restart, xid } => {
                Wanted { number: Some((restart.into(), xid)), written: None, found: false }
            }
            LostCommit::ByValue { session, key, value } => {
                let written = (name_id(pool, session), name_id(pool, key), word(pool, value));
                Wanted { number: None, written: Some(written), found: false }
            }
        }
    }

    /// The key and the value of the write that tells the transaction.
    fn write_in(&self, batch: &History, txn: TxnId) -> Option<(Value, Value)> {
        let (session, key, wanted) = self.written?;
        let (pool, txn) = (batch.pool(), batch.txn(txn));
        if name_id(pool, pool.session_name(txn.session())) != session {
            return None;
        }
        let writes = txn.ops().filter(|op| op.kind().writes());
        let mut writes = writes.map(|op| (pool.key_name(op.key()), op.value()));
        writes.find(|&(name, value)| name_id(pool, name) == key && word(pool, value) == wanted)
    }

    /// The event that says it, in the notation.
    fn text(&self, batch: &History, txn: TxnId) -> Option<String> {
        let text = |value: Value| {
            let mut text = String::new();
            notation::write_value(batch.pool(), value, &mut text);
            text
        };
        if let Some((restart, xid)) = self.number {
            return Some(format!("event lost-commit {{restart:{restart},xid:{xid}}}\n"));
        }
        let (key, value) = self.write_in(batch, txn)?;
        let session = text(batch.pool().session_name(batch.txn(txn).session()));
        let (key, value) = (text(key), text(value));
        Some(format!("event lost-commit {{key:{key},session:{session},value:{value}}}\n"))
    }
}

/// The finding: a small history of the transaction and of what the server says of it.
fn finding(
    (promise, header): (Promise, &History),
    batch: &History,
    txn: TxnId,
    wanted: Wanted,
) -> Option<Finding> {
    let mut small = HistoryBuilder::new();
    header.copy_meta(&[], &mut small);
    batch.copy_txn(txn, &mut |_| true, &mut small).ok()?;
    let text = notation::to_text(&small.finish()) + &wanted.text(batch, txn)?;
    let history = Arc::new(notation::parse(&text).ok()?);
    let verdict = isolde_check::check(&history, promise, &Options::default());
    let lost = |witness: &&isolde_spec::Witness| witness.anomaly == Anomaly::LostCommit;
    let witness = verdict.witnesses().iter().find(lost)?.clone();
    let counts = verdict.counts.iter().filter(|c| c.anomaly == Anomaly::LostCommit);
    let verdict = Verdict {
        counts: counts.cloned().collect(),
        answer: Answer::Violated(vec![witness]),
        ..verdict
    };
    Some(Finding {
        id: None,
        anomaly: Anomaly::LostCommit,
        axiom: None,
        txn: name_of(batch, txn),
        key: None,
        history,
        verdict,
    })
}
