//! Which transactions count: the committed ones, and those from which a transaction that counts has
//! read.
//!
//! A transaction of unknown outcome counts if one that counts has read from it, and could have read
//! that from no other. A fixpoint, since the reader may be such a transaction itself.

use hashbrown::HashMap;
use isolde_graph::{Groups, parallel};
use isolde_history::TxnId;

use crate::keys::accesses::{ReadFact, WriteFact};
use crate::keys::key_facts::KeyFacts;
use crate::keys::origin::{Choices, Origin};
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::{self, Standing};

/// What reads prove of outcomes.
pub(crate) struct Proved {
    /// The standing of every transaction.
    pub(crate) standings: Vec<Standing>,
    /// The reader that shows that a transaction of unknown outcome committed.
    pub(crate) proved_by: HashMap<TxnId, TxnId>,
}

/// A reader, and the transaction of unknown outcome that committed if the reader counts.
type Proof = (TxnId, TxnId);

/// Finds out which transactions of unknown outcome count.
pub(crate) fn prove(keys: &SortedKeys<'_>, choices: &Choices) -> Proved {
    prove_by(keys, choices, |_| true)
}

/// The same, by those reads of registers only that say what was committed.
pub(crate) fn prove_by(
    keys: &SortedKeys<'_>,
    choices: &Choices,
    says: impl Fn(&ReadFact) -> bool + Sync,
) -> Proved {
    let mut standings = standing::at_first(keys.history);
    let mut proved_by = HashMap::new();
    if !standings.contains(&Standing::Unproved) {
        return Proved { standings, proved_by };
    }
    // Which read proves which writer does not depend on outcomes; only whether the proof is worth
    // anything does.
    let pieces = keys.index.pieces();
    let proofs = parallel::map(keys.index.size, &pieces, |piece| {
        let (mut facts, mut proofs) = (KeyFacts::default(), Vec::new());
        for key in piece.clone() {
            facts.load(keys, &standings, key);
            facts.reads.retain(|read| says(read));
            proofs_of_key(keys, choices, &facts, &mut proofs);
        }
        proofs
    })
    .concat();
    let by_reader = Groups::new(proofs.len(), standings.len(), |i| proofs[i].0.index());
    let mut todo: Vec<usize> = (0..standings.len()).filter(|&t| standings[t].counts()).collect();
    while let Some(reader) = todo.pop() {
        for &proof in by_reader.of(reader) {
            let (reader, writer) = proofs[proof as usize];
            if standings[writer.index()] == Standing::Unproved {
                standings[writer.index()] = Standing::Proved;
                proved_by.insert(writer, reader);
                todo.push(writer.index());
            }
        }
    }
    Proved { standings, proved_by }
}

/// Which readers of a key prove that a transaction of unknown outcome committed.
fn proofs_of_key(
    keys: &SortedKeys<'_>,
    choices: &Choices,
    facts: &KeyFacts,
    proofs: &mut Vec<Proof>,
) {
    if !facts.writes.iter().any(is_unproved) {
        return;
    }
    let first = keys.first_value(facts.key);
    let complete = keys.history.meta().complete;
    for read in &facts.reads {
        if let Some(origin) = choices.get(&read.op) {
            let mut writers = facts.values.chain(&facts.writes, read.value);
            let writer = |w: &u32| Origin::Write(facts.writes[*w as usize].op) == *origin;
            let chosen = writers.find(writer).map(|w| &facts.writes[w as usize]);
            proofs.extend(chosen.filter(|w| is_unproved(w)).map(|w| (read.txn, w.txn)));
            continue;
        }
        if read.is_of(first) {
            continue;
        }
        let Some(equal) = facts.equal(read.value) else { continue };
        let possible = equal.visible.iter().map(|w| &facts.writes[*w as usize]);
        let mut possible = possible.filter(|w| w.txn != read.txn);
        let (Some(only), None) = (possible.next(), possible.next()) else { continue };
        // In an incomplete history, a transaction that is missing may have written it.
        if is_unproved(only) && (only.certain || complete) {
            proofs.push((read.txn, only.txn));
        }
    }
    if facts.is_list {
        proofs_by_elements(keys, facts, proofs);
    }
}

/// Which list reads prove that a transaction of unknown outcome committed: they show an element that
/// it alone can have appended.
fn proofs_by_elements(keys: &SortedKeys<'_>, facts: &KeyFacts, proofs: &mut Vec<Proof>) {
    let complete = keys.history.meta().complete;
    let mut last = None;
    for touch in keys.index.of(facts.key) {
        for element in keys.history.op(touch.op).elements().unwrap_or_default() {
            let mut writers = facts.values.chain(&facts.writes, *element);
            if let (Some(only), None) = (writers.next(), writers.next()) {
                let write = &facts.writes[only as usize];
                let proof = (touch.txn, write.txn);
                if is_unproved(write) && (write.certain || complete) && last != Some(proof) {
                    last = Some(proof);
                    proofs.push(proof);
                }
            }
        }
    }
}

fn is_unproved(write: &WriteFact) -> bool {
    write.standing == Standing::Unproved
}
