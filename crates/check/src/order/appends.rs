//! The appends of each value to a list: worked out once for a value, however many there are and
//! however many lists show it.

use hashbrown::HashMap;
use isolde_history::Value;

use crate::keys::key_facts::KeyFacts;

/// What is known of the appends of one value.
#[derive(Clone, Copy)]
pub(crate) struct AppendsOf {
    /// The first of them, as an index of the key's writes.
    pub(crate) first: u32,
    pub(crate) count: usize,
    /// Whether all of them were done.
    pub(crate) all_certain: bool,
    /// Whether some was done.
    pub(crate) any_certain: bool,
    /// Whether some was done, and committed.
    stands: bool,
}

/// The appends to a list.
pub(crate) struct Appends<'a> {
    facts: &'a KeyFacts,
    /// Of values that were appended more than once, by the first append.
    several: HashMap<u32, AppendsOf>,
}

impl<'a> Appends<'a> {
    pub(crate) fn new(facts: &'a KeyFacts) -> Appends<'a> {
        let mut several = HashMap::new();
        for write in facts.writes.iter().filter(|write| write.next_equal.is_some()) {
            if let Some(first) = facts.values.first(&facts.writes, write.value) {
                several.entry(first).or_insert_with(|| Appends::all(facts, first, write.value));
            }
        }
        Appends { facts, several }
    }

    fn all(facts: &KeyFacts, first: u32, value: Value) -> AppendsOf {
        let nothing =
            AppendsOf { first, count: 0, all_certain: true, any_certain: false, stands: false };
        facts.values.chain(&facts.writes, value).fold(nothing, |all, w| {
            let write = &facts.writes[w as usize];
            AppendsOf {
                first,
                count: all.count + 1,
                all_certain: all.all_certain && write.certain,
                any_certain: all.any_certain || write.certain,
                stands: all.stands || (write.certain && write.standing.counts() && !write.undone),
            }
        })
    }

    /// What is known of a value, if it was appended at all.
    pub(crate) fn of(&self, value: Value) -> Option<AppendsOf> {
        let first = self.facts.values.first(&self.facts.writes, value)?;
        let known = self.several.get(&first).copied();
        // Appended once: there is one write to look at.
        known.or_else(|| Some(Appends::all(self.facts, first, value)))
    }

    /// The elements of a list that committed. Others should not be there, which is found elsewhere and
    /// is no matter of order: where they may be read, they may also be undone.
    pub(crate) fn committed<'e>(
        &self,
        elements: &'e [Value],
    ) -> impl Iterator<Item = Value> + use<'_, 'a, 'e> {
        let stands = |v: &Value| self.of(*v).is_some_and(|appends| appends.stands);
        elements.iter().copied().filter(stands)
    }
}
