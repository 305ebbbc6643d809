//! Who wrote what was read: every choice is tried.

use isolde_history::{Outcome, Value};

use super::model::{Content, Facts, Model, Read};

/// Where a value, or an element of a list, comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// The initial state.
    Initial,
    /// The transaction of that number, which committed or may have.
    Txn(usize),
    /// Only from writes that never were a committed version: aborted, undone, overwritten.
    Dirty,
    /// Only from the reader itself, later ("future read").
    Future,
    /// From nobody.
    Nowhere,
}

/// One element of a list, or the value of a register, that needs an origin.
#[derive(Clone, Copy)]
struct Slot {
    txn: usize,
    read: usize,
    /// Which element of the list; 0 for a register.
    element: usize,
    value: Value,
}

/// A read and where each part of what it saw comes from.
pub(crate) struct Explained<'m> {
    pub(crate) txn: usize,
    pub(crate) read: &'m Read,
    /// One for a register; one for each foreign element of a list.
    pub(crate) origins: Vec<Origin>,
}

impl Explained<'_> {
    /// "A list read is from the writer of its last foreign element; an empty one from the initial
    /// state."
    pub(crate) fn from(&self) -> Origin {
        self.origins.last().copied().unwrap_or(Origin::Initial)
    }
}

/// A complete choice.
pub(crate) struct Explanation<'m> {
    pub(crate) model: &'m Model,
    /// The transactions that count: the committed ones, and those that are proved committed.
    pub(crate) txns: Vec<usize>,
    pub(crate) reads: Vec<Explained<'m>>,
}

/// Calls `check` for every explanation until it answers `true`.
pub(crate) fn any_explanation(model: &Model, check: &mut dyn FnMut(&Explanation<'_>) -> bool) {
    let mut choice = Choice { model, txns: Vec::new(), slots: Vec::new(), origins: Vec::new() };
    for (t, facts) in model.txns.iter().enumerate() {
        if facts.outcome == Outcome::Committed {
            choice.include(t);
        }
    }
    choice.extend(check);
}

struct Choice<'m> {
    model: &'m Model,
    txns: Vec<usize>,
    slots: Vec<Slot>,
    /// The origins of the first slots.
    origins: Vec<Origin>,
}

impl<'m> Choice<'m> {
    fn include(&mut self, txn: usize) {
        self.txns.push(txn);
        for (read, facts) in self.model.txns[txn].reads.iter().enumerate() {
            match &facts.seen {
                Content::Value(value) => {
                    self.slots.push(Slot { txn, read, element: 0, value: *value });
                }
                Content::List(list) => {
                    let slots = list.iter().enumerate();
                    let slot = |(element, &value)| Slot { txn, read, element, value };
                    self.slots.extend(slots.map(slot));
                }
            }
        }
    }

    /// Chooses an origin for the next slot. An unknown outcome that is chosen is thereby proved
    /// committed, and its own reads must be explained too: "a fixpoint". One that nobody chooses is
    /// left out. Elements in the middle of a list were read as much as the last one.
    fn extend(&mut self, check: &mut dyn FnMut(&Explanation<'_>) -> bool) -> bool {
        let Some(&slot) = self.slots.get(self.origins.len()) else {
            return check(&self.explanation());
        };
        for origin in self.possible(slot) {
            let (txns, slots) = (self.txns.len(), self.slots.len());
            if let Origin::Txn(t) = origin
                && !self.txns.contains(&t)
            {
                self.include(t);
            }
            self.origins.push(origin);
            if self.extend(check) {
                return true;
            }
            self.origins.pop();
            self.txns.truncate(txns);
            self.slots.truncate(slots);
        }
        false
    }

    /// The origins of a slot that agree with the choices so far. Where elements were appended more
    /// than once, no transaction gives more of them than it has, and lists that begin alike have
    /// their elements from the same transactions: others would be incompatible anyway.
    fn possible(&self, slot: Slot) -> Vec<Origin> {
        let mut found = origins(self.model, slot);
        let Content::List(list) = &self.model.txns[slot.txn].reads[slot.read].seen else {
            return found;
        };
        let key = self.model.txns[slot.txn].reads[slot.read].key;
        let mine = &self.origins[self.origins.len() - slot.element..];
        let many = found.len();
        found.retain(|o| {
            let used = mine.iter().zip(list).filter(|(p, v)| *p == o && **v == slot.value).count();
            used < self.supply(*o, key, slot.value)
        });
        if many > 0 && found.is_empty() {
            found.push(Origin::Dirty);
        }
        for (at, other) in self.slots[..self.origins.len()].iter().enumerate() {
            let read = &self.model.txns[other.txn].reads[other.read];
            let Content::List(theirs) = &read.seen else { continue };
            let alike = read.key == key
                && other.element == slot.element
                && theirs[..=slot.element] == list[..=slot.element]
                && self.origins[at - slot.element..at] == *mine;
            if alike {
                found.retain(|o| *o == self.origins[at]);
            }
        }
        found
    }

    /// How many elements of that value the origin has to give.
    fn supply(&self, origin: Origin, key: usize, value: Value) -> usize {
        let content = match origin {
            Origin::Initial => Some(&self.model.initial[key]),
            Origin::Txn(t) => self.model.txns[t].left(key),
            Origin::Dirty | Origin::Future | Origin::Nowhere => return usize::MAX,
        };
        match content {
            Some(Content::List(list)) => list.iter().filter(|v| **v == value).count(),
            _ => 0,
        }
    }

    fn explanation(&self) -> Explanation<'m> {
        let mut reads = Vec::new();
        for &txn in &self.txns {
            for (number, read) in self.model.txns[txn].reads.iter().enumerate() {
                let slots = self.slots.iter().zip(&self.origins);
                let mine = slots.filter(|(s, _)| (s.txn, s.read) == (txn, number));
                let origins = mine.map(|(_, o)| *o).collect();
                reads.push(Explained { txn, read, origins });
            }
        }
        let mut txns = self.txns.clone();
        txns.sort_unstable();
        Explanation { model: self.model, txns, reads }
    }
}

/// The possible origins. The bad ones are looked at only where no committed version matches, and the
/// reader's own later write only where nobody else tried to write the value either: a violation
/// needs that nothing better explains the read. So `r(x,1) w(x,1)` is a future read only if nobody
/// else wrote 1, and an explicit write of the initial value makes two candidates.
fn origins(model: &Model, slot: Slot) -> Vec<Origin> {
    let Slot { txn, value, .. } = slot;
    let read = &model.txns[txn].reads[slot.read];
    let key = read.key;
    let mut found = Vec::new();
    if holds(Some(&model.initial[key]), value) {
        found.push(Origin::Initial);
    }
    for (t, facts) in model.txns.iter().enumerate() {
        let may_count = t != txn && facts.outcome != Outcome::Aborted;
        if may_count && holds(facts.left(key), value) {
            found.push(Origin::Txn(t));
        }
    }
    if found.is_empty() {
        found.push(worse_origin(model, txn, read, value));
    }
    found
}

fn worse_origin(model: &Model, txn: usize, read: &Read, value: Value) -> Origin {
    let tried = |facts: &Facts, from: usize, to: usize| {
        let mut attempts = facts.attempts.iter().filter(|a| (from..to).contains(&a.position));
        attempts.any(|a| a.key == read.key && a.value == value)
    };
    let others = model.txns.iter().enumerate().filter(|(t, _)| *t != txn);
    let own = &model.txns[txn];
    if others.map(|(_, f)| f).any(|f| tried(f, 0, usize::MAX)) || tried(own, 0, read.position) {
        Origin::Dirty
    } else if tried(own, read.position, usize::MAX) {
        Origin::Future
    } else {
        Origin::Nowhere
    }
}

/// Whether that content is the value, or is a list with that element.
fn holds(content: Option<&Content>, value: Value) -> bool {
    match content {
        None => false,
        Some(Content::Value(v)) => *v == value,
        Some(Content::List(list)) => list.contains(&value),
    }
}
