//! Which violations stand, so that what is found in the whole stream at its end is not told twice.

use hashbrown::HashMap;
use isolde_spec::{Anomaly, Axiom};

use crate::bodies::TxnRef;
use crate::content::NameId;
use crate::pack::{Pack, packed};

/// What a violation is known by: the rule, the transaction that broke it, the key, and the operation if there may be several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FindingId {
    pub(crate) axiom: Axiom,
    pub(crate) txn: TxnRef,
    pub(crate) key: Option<NameId>,
    pub(crate) op: Option<u32>,
}

impl FindingId {
    pub(crate) fn new(
        axiom: Axiom,
        txn: TxnRef,
        key: Option<NameId>,
        op: Option<u32>,
    ) -> FindingId {
        // Of the other rules each transaction is told once for a key.
        let op = op.filter(|_| matches!(axiom, Axiom::Ext | Axiom::Int));
        FindingId { axiom, txn, key, op }
    }
}

/// How many violations are in a piece.
const PIECE: usize = 512;

/// The violations that stand.
#[derive(Default)]
pub(crate) struct StandingFindings {
    found: HashMap<FindingId, Anomaly>,
    /// Those that were told since one was asked for, which is seldom: a map that grows is filled again and again. They are in
    /// pieces, since a list that grows is copied again and again.
    told: Vec<Vec<(FindingId, Anomaly)>>,
    /// Some may be missing: there were too many, or one was withdrawn without being named.
    incomplete: bool,
}

impl StandingFindings {
    /// A violation is told, perhaps once more with another name.
    pub(crate) fn add(&mut self, id: FindingId, anomaly: Anomaly, most: usize) {
        if self.heap_bytes() > most {
            self.lose();
        }
        if self.incomplete {
            return;
        }
        match self.told.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push((id, anomaly)),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push((id, anomaly));
                self.told.push(piece);
            }
        }
    }

    /// Enters what was told since.
    fn enter(&mut self) -> &mut HashMap<FindingId, Anomaly> {
        self.found.extend(self.told.drain(..).flatten());
        &mut self.found
    }

    /// A violation is withdrawn.
    pub(crate) fn remove(&mut self, id: FindingId) {
        self.enter().remove(&id);
    }

    /// From now on it is not known which violations stand.
    pub(crate) fn lose(&mut self) {
        *self = StandingFindings { incomplete: true, ..StandingFindings::default() };
    }

    pub(crate) fn is_complete(&self) -> bool {
        !self.incomplete
    }

    /// What a violation was told to be.
    pub(crate) fn name(&mut self, id: FindingId) -> Option<Anomaly> {
        self.enter().get(&id).copied()
    }

    /// All of them, in an order that is always the same.
    pub(crate) fn all(&self) -> Vec<(FindingId, Anomaly)> {
        let entered = self.found.iter().map(|(id, anomaly)| (*id, *anomaly));
        let mut all: Vec<_> = entered.chain(self.told.iter().flatten().copied()).collect();
        // What was told last is what it is called.
        all.reverse();
        all.sort_by_key(|(id, _)| *id);
        all.dedup_by_key(|(id, _)| *id);
        all
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let size = size_of::<(FindingId, Anomaly)>();
        self.found.capacity() * (size + 1) + self.told.len() * PIECE * size
    }
}

/// One violation that stands, as a checkpoint has it.
struct SavedFinding {
    axiom: u8,
    txn: TxnRef,
    key: Option<NameId>,
    op: Option<u32>,
    anomaly: Anomaly,
}

packed!(SavedFinding { axiom, txn, key, op, anomaly });

/// The rules, in the order of their numbers in checkpoints.
const AXIOMS: [Axiom; 7] = [
    Axiom::Session,
    Axiom::Int,
    Axiom::Ext,
    Axiom::NoConflict,
    Axiom::Stamps,
    Axiom::Fresh,
    Axiom::Snapshots,
];

impl Pack for StandingFindings {
    fn pack(&self, out: &mut Vec<u8>) {
        let saved = self.all().into_iter().map(|(id, anomaly)| SavedFinding {
            axiom: AXIOMS.iter().position(|axiom| *axiom == id.axiom).unwrap_or(0) as u8,
            txn: id.txn,
            key: id.key,
            op: id.op,
            anomaly,
        });
        saved.collect::<Vec<_>>().pack(out);
        self.incomplete.pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<StandingFindings> {
        let mut standing = StandingFindings::default();
        for saved in Vec::<SavedFinding>::unpack(input)? {
            let SavedFinding { axiom, txn, key, op, anomaly } = saved;
            let axiom = *AXIOMS.get(usize::from(axiom))?;
            standing.found.insert(FindingId { axiom, txn, key, op }, anomaly);
        }
        standing.incomplete = bool::unpack(input)?;
        Some(standing)
    }
}
