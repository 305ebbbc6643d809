//! Commits that the server had confirmed and has lost. The recorder says so when the run is over, so the transaction has
//! come long before, and is looked for in all that is kept. The rule is that of whole histories.

use std::sync::Arc;

use isolde_check::Options;
use isolde_history::{History, HistoryBuilder, LostCommit, Outcome, TxnId, Value, notation};
use isolde_spec::{Anomaly, Answer, Promise, Verdict};

use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, What, Word, name_id, word};
use crate::event::Finding;
use crate::pack::packed;
use crate::timestamps::excerpt::name_of;

/// What is known of lost commits.
#[derive(Default)]
pub(crate) struct Lost {
    /// Those whose transactions have not been found.
    wanted: Vec<Wanted>,
    /// Those that were told.
    told: Vec<TxnRef>,
}

packed!(Lost { wanted, told });

/// What tells a lost transaction from all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wanted {
    /// Restarts of the server, and its number of the transaction.
    number: Option<(i64, i64)>,
    /// Its session, a key, and what it wrote there.
    written: Option<(NameId, NameId, Word)>,
}

packed!(Wanted { number, written });

impl Lost {
    /// Takes notice of what a batch says. Whether it says anything.
    pub(crate) fn note(&mut self, batch: &History) -> bool {
        let before = self.wanted.len();
        let new = batch.lost_commits().map(|lost| Wanted::of(batch, lost));
        self.wanted.extend(new);
        self.wanted.len() > before
    }

    /// How many transactions have not been found.
    pub(crate) fn not_found(&self) -> usize {
        self.wanted.len()
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
        let mut found = vec![false; self.wanted.len()];
        for number in self.batches(from, bodies) {
            let Some(batch) = bodies.get(number) else { continue };
            for txn in batch.txns().filter(|txn| txn.outcome() == Outcome::Committed) {
                let txn = txn.id();
                let Some(at) = self.wanted.iter().position(|wanted| wanted.is(&batch, txn)) else {
                    continue;
                };
                found[at] = true;
                let own = TxnRef::new(number, txn);
                if !self.told.contains(&own)
                    && let Some(finding) = finding(about, &batch, txn, self.wanted[at])
                {
                    self.told.push(own);
                    findings.push(finding);
                }
            }
        }
        let mut found = found.into_iter();
        self.wanted.retain(|_| !found.next().unwrap_or(false));
        findings
    }

    /// The batches in which something may be found: by what was written, only a few of those on disk.
    fn batches(&self, from: u32, bodies: &mut Bodies) -> Vec<u32> {
        let next = bodies.next();
        if from > 0 || self.wanted.iter().any(|wanted| wanted.number.is_some()) {
            return (from..next).collect();
        }
        let live = bodies.first_in_memory();
        let mut batches: Vec<u32> = (live..next).collect();
        for (_, key, word) in self.wanted.iter().filter_map(|wanted| wanted.written) {
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
                Wanted { number: Some((restart.into(), xid)), written: None }
            }
            LostCommit::ByValue { session, key, value } => {
                let written = (name_id(pool, session), name_id(pool, key), word(pool, value));
                Wanted { number: None, written: Some(written) }
            }
        }
    }

    fn is(&self, batch: &History, txn: TxnId) -> bool {
        let txn = batch.txn(txn);
        let has = |number: (i64, i64)| (txn.restart(), txn.xid()) == (number.0, Some(number.1));
        self.number.is_some_and(has) || self.write_in(batch, txn.id()).is_some()
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
