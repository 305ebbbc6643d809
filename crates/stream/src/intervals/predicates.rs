//! What is known of predicates: states of rows that satisfy them, as a read returned the rows in such a state.

use hashbrown::HashMap;

use super::content::{Content, Observed};
use super::trace::Looked;
use crate::content::{NameId, Word};

/// More states of rows than this are not learned of one predicate, and of all of them.
const MOST_OF_ONE: usize = 4_096;
const MOST: usize = 1 << 18;

/// States of rows that satisfy a predicate.
#[derive(Default, Debug)]
pub(super) struct Satisfying {
    pub(super) rows: HashMap<NameId, Vec<Content>>,
    count: usize,
}

/// What is known of predicates.
#[derive(Default, Debug)]
pub(crate) struct Predicates {
    pub(super) known: HashMap<Word, Satisfying>,
    count: usize,
}

impl Predicates {
    /// What a predicate read shows.
    pub(super) fn learn(&mut self, looked: &Looked) {
        for (row, seen) in &looked.rows {
            let Some(Observed::Value(word)) = seen else { continue };
            let known = self.known.entry(looked.predicate).or_default();
            if known.count >= MOST_OF_ONE || self.count >= MOST {
                return;
            }
            let states = known.rows.entry(*row).or_default();
            if !states.contains(&Content::Value(*word)) {
                states.push(Content::Value(*word));
                known.count += 1;
                self.count += 1;
            }
        }
    }
}
