//! What the prefixes of a list show: elements that were rolled back, transactions of which some
//! elements are missing, and elements in another order than they were appended in.

use std::collections::BTreeSet;

use isolde_history::Value;

use crate::keys::key_facts::KeyFacts;
use crate::maybe_index::MaybeIndex;

/// What is wrong with the prefixes of a list.
pub(crate) struct Prefixes {
    /// Where the first element stands that was rolled back.
    pub(crate) dirty: Option<usize>,
    /// For the prefix up to each place, the place of an element whose transaction has others that are
    /// missing.
    partial: Vec<MaybeIndex>,
    /// Where the first element stands that its transaction appended before one that stands before it.
    pub(crate) shuffled: Option<usize>,
}

/// What a transaction appended to the list, and how much of it a prefix has shown.
#[derive(Clone, Copy, Default)]
struct Appended {
    /// How many elements it left in the list, if that is certain.
    left: Option<u32>,
    seen: u32,
    last: u32,
    /// Where its first element stands.
    place: u32,
}

impl Prefixes {
    /// Of the prefixes of a list, in which no value was appended twice.
    pub(crate) fn new(facts: &KeyFacts, longest: &[Value]) -> Prefixes {
        let writes = &facts.writes;
        // The writes of a transaction lie together: they are known by the first of them.
        let mut first = vec![0u32; writes.len()];
        let mut appended = vec![Appended::default(); writes.len()];
        let mut several = false;
        for (i, write) in writes.iter().enumerate() {
            let same = i > 0 && writes[i - 1].txn == write.txn;
            first[i] = if same { first[i - 1] } else { i as u32 };
            if !same {
                appended[i].left = Some(0);
            }
            if !write.undone {
                several |= same;
                let left = &mut appended[first[i] as usize].left;
                *left = left.filter(|_| write.certain).map(|n| n + 1);
            }
        }
        let mut prefixes = Prefixes { dirty: None, partial: Vec::new(), shuffled: None };
        let mut open: BTreeSet<u32> = BTreeSet::new();
        for (place, element) in longest.iter().enumerate() {
            if let Some(w) = facts.values.first(writes, *element) {
                let write = &writes[w as usize];
                if write.certain && (write.undone || !write.standing.counts()) {
                    prefixes.dirty = prefixes.dirty.or(Some(place));
                }
                let appended = &mut appended[first[w as usize] as usize];
                appended.seen += 1;
                if write.certain {
                    if w < appended.last {
                        prefixes.shuffled = prefixes.shuffled.or(Some(place));
                    }
                    appended.last = w;
                }
                if appended.seen == 1 {
                    appended.place = place as u32;
                }
                match appended.left {
                    Some(left) if left == appended.seen => open.remove(&appended.place),
                    Some(left) if left > appended.seen => open.insert(appended.place),
                    _ => false,
                };
            }
            if several {
                let first = open.first().map(|place| MaybeIndex::of(*place as usize));
                prefixes.partial.push(first.unwrap_or_default());
            }
        }
        prefixes
    }

    /// The place of an element whose transaction has others that a prefix misses.
    pub(crate) fn partial(&self, last: usize) -> Option<usize> {
        self.partial.get(last)?.get()
    }
}
