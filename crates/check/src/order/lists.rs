//! Lists: each read shows the order of everything appended so far.
//!
//! The longest read of a key gives its order; every other read must be a prefix of it. A read is from
//! the writer of its last foreign element, an empty one from the initial state.

use hashbrown::HashMap;
use isolde_history::{OpId, Value};
use isolde_spec::Anomaly;

use crate::keys::accesses::{ListRead, WriteFact};
use crate::keys::context::Context;
use crate::keys::findings::{Doubt, Findings};
use crate::keys::key_facts::KeyFacts;
use crate::maybe_index::MaybeIndex;
use crate::order::appends::Appends;
use crate::order::prefixes::Prefixes;
use crate::order::shown::ShownOrder;

/// Compares the reads of a list with the longest of them, which gives its order.
pub(crate) fn order(context: &Context<'_>, facts: &KeyFacts, found: &mut Findings) -> ShownOrder {
    let list = List::new(context, facts);
    list.compare(found);
    list.future_elements(found);
    list.duplicates(found);
    list.nobody_appended(found);
    list.prefixes(found);
    list.versions(found)
}

/// A list and its reads.
struct List<'a> {
    context: &'a Context<'a>,
    facts: &'a KeyFacts,
    reads: Vec<ShownList<'a>>,
    /// The longest read, without what the reader had appended itself.
    longest: &'a [Value],
    longest_read: Option<OpId>,
    /// For each write, its place in the longest read.
    places: Vec<MaybeIndex>,
    /// What is known of the appends of each value.
    appends: Appends<'a>,
    /// Some value was appended more than once: equal elements cannot be told apart.
    twice: bool,
}

/// A read of the list.
struct ShownList<'a> {
    read: ListRead,
    /// What it saw of others.
    elements: &'a [Value],
    /// Whether that is a prefix of the longest read.
    is_prefix: bool,
}

impl<'a> List<'a> {
    fn new(context: &'a Context<'a>, facts: &'a KeyFacts) -> List<'a> {
        let appends = Appends::new(facts);
        let counted = facts.list_reads.iter().filter(|read| context.counts(read.txn));
        let mut reads: Vec<ShownList<'_>> = counted
            .filter_map(|read| {
                let elements = context.history.op(read.op).elements()?;
                let elements = elements.get(..read.foreign as usize)?;
                Some(ShownList { read: *read, elements, is_prefix: false })
            })
            .collect();
        let (mut longest, mut longest_read): (&[Value], _) = (&[], None);
        for ShownList { read, elements, .. } in &reads {
            if longest_read.is_none() || elements.len() > longest.len() {
                (longest, longest_read) = (elements, Some(read.op));
            }
        }
        let mark = |reads: &mut [ShownList<'_>], longest: &[Value]| {
            for shown in reads.iter_mut() {
                shown.is_prefix = longest.get(..shown.elements.len()) == Some(shown.elements);
            }
            reads.iter().all(|shown| shown.is_prefix)
        };
        if !mark(&mut reads, longest) {
            // Of lists that disagree, the one with the most that committed shows most.
            let most =
                |s: &&ShownList<'a>| std::cmp::Reverse(appends.committed(s.elements).count());
            if let Some(shown) = reads.iter().min_by_key(most) {
                (longest, longest_read) = (shown.elements, Some(shown.read.op));
            }
            mark(&mut reads, longest);
        }
        // A list with an unobserved element shows no order.
        let unlearned = longest.contains(&Value::UNOBSERVED);
        let twice = unlearned || facts.writes.iter().any(|w| w.next_equal.is_some());
        let mut places = vec![MaybeIndex::NONE; facts.writes.len()];
        for (place, element) in longest.iter().enumerate().filter(|_| !twice) {
            if let Some(w) = facts.values.first(&facts.writes, *element) {
                places[w as usize] = MaybeIndex::of(place);
            }
        }
        List { context, facts, reads, longest, longest_read, places, appends, twice }
    }

    /// Of two reads, one must be a prefix of the other.
    fn compare(&self, found: &mut Findings) {
        let Some(longest_read) = self.longest_read else { return };
        if self.reads.iter().all(|shown| shown.is_prefix) {
            return;
        }
        let complete = self.context.history.meta().complete;
        let known = |v: &Value| self.is_known(*v);
        let learned = |elements: &[Value]| !elements.contains(&Value::UNOBSERVED);
        // In an incomplete history, missing transactions may have appended anything.
        let longest_known = learned(self.longest) && (complete || self.longest.iter().all(known));
        let longest: Vec<Value> = self.appends.committed(self.longest).collect();
        for ShownList { read, elements, is_prefix } in &self.reads {
            if !learned(elements) || !learned(self.longest) {
                found.doubts.extend((!is_prefix).then_some(Doubt::Unlearned(read.op)));
            } else if longest_known
                && (complete || elements.iter().all(known))
                && !self.appends.committed(elements).zip(&longest).all(|(a, b)| a == *b)
            {
                found.find(Anomaly::IncompatibleOrder, &[longest_read, read.op]);
            }
        }
    }

    /// Whether a transaction certainly appended an element.
    fn is_known(&self, element: Value) -> bool {
        self.appends.of(element).is_some_and(|appends| appends.any_certain)
    }

    /// Elements of a list that only the reader's own transaction appends, and only later.
    /// (The last element is matched with its writer like any other read.)
    fn future_elements(&self, found: &mut Findings) {
        let mut reads = self.reads.iter().peekable();
        let mut txn = None;
        // Of the transaction's reads so far: the longest prefix, and what is in the others.
        let mut prefix: Option<(usize, OpId)> = None;
        let mut others: HashMap<Value, OpId> = HashMap::new();
        for (write, place) in self.facts.writes.iter().zip(&self.places) {
            while let Some(shown) = reads.next_if(|shown| shown.read.op < write.op) {
                let ShownList { read, elements, is_prefix } = shown;
                if txn.replace(read.txn) != Some(read.txn) {
                    prefix = None;
                    others.clear();
                }
                let Some((_, under)) = elements.split_last() else { continue };
                if !is_prefix || self.twice {
                    others.extend(under.iter().map(|v| (*v, read.op)));
                } else if prefix.is_none_or(|(len, _)| under.len() > len) {
                    prefix = Some((under.len(), read.op));
                }
            }
            if txn != Some(write.txn) || write.next_equal.is_some() || self.is_later_twin(write) {
                continue;
            }
            let in_prefix = prefix.filter(|(len, _)| place.get().is_some_and(|at| at < *len));
            let read = in_prefix.map(|(_, read)| read).or(others.get(&write.value).copied());
            if let Some(read) = read {
                found.find(Anomaly::FutureRead, &[read, write.op]);
            }
        }
    }

    /// Whether an earlier write has the same value.
    fn is_later_twin(&self, write: &WriteFact) -> bool {
        let first = self.facts.values.first(&self.facts.writes, write.value);
        self.twice && first.is_some_and(|first| self.facts.writes[first as usize].op != write.op)
    }

    /// An element that is in a list more often than it was appended.
    fn duplicates(&self, found: &mut Findings) {
        let all_once = !self.twice && self.each_once();
        let in_longest = if all_once { None } else { self.first_repeated(self.longest) };
        for ShownList { read, elements, is_prefix } in &self.reads {
            let repeated = if *is_prefix {
                in_longest.filter(|(place, _)| *place < elements.len())
            } else {
                self.first_repeated(elements)
            };
            let repeated = repeated.or_else(|| self.own_repeated(read, elements, *is_prefix));
            if let Some((_, append)) = repeated {
                found.find(Anomaly::DuplicateElements, &[append, read.op]);
            }
        }
    }

    /// An element that the reader appended itself, and that stands among those of others too.
    fn own_repeated(
        &self,
        read: &ListRead,
        elements: &[Value],
        is_prefix: bool,
    ) -> Option<(usize, OpId)> {
        let whole = self.context.history.op(read.op).elements()?;
        let own = whole.get(elements.len()..).filter(|own| !own.is_empty())?;
        if !is_prefix || self.twice {
            return self.first_repeated(whole);
        }
        let among = |place: MaybeIndex| place.get().is_some_and(|at| at < elements.len());
        own.iter().enumerate().find_map(|(at, v)| {
            let writer = self.facts.values.first(&self.facts.writes, *v)? as usize;
            let append = self.facts.writes[writer].op;
            let twice = self.facts.writes[writer].certain && among(self.places[writer]);
            twice.then_some((elements.len() + at, append))
        })
    }

    /// Whether every element of the longest read that was appended stands there once.
    fn each_once(&self) -> bool {
        self.longest.iter().enumerate().all(|(place, v)| {
            let writer = self.facts.values.first(&self.facts.writes, *v);
            writer.is_none_or(|w| self.places[w as usize].get() == Some(place))
        })
    }

    /// The position of the first element that is there too often, and the operation that appended
    /// it. An element that was never appended is a read from nowhere, however often it is there.
    fn first_repeated(&self, elements: &[Value]) -> Option<(usize, OpId)> {
        // How often each may still come.
        let mut left: HashMap<Value, usize> = HashMap::with_capacity(elements.len());
        elements.iter().enumerate().find_map(|(place, v)| {
            let appends = self.appends.of(*v)?;
            // If it was not appended at all, it is a read from nowhere.
            if !appends.all_certain {
                return None;
            }
            let left = left.entry(*v).or_insert(appends.count);
            match left.checked_sub(1) {
                None => Some((place, self.facts.writes[appends.first as usize].op)),
                Some(less) => {
                    *left = less;
                    None
                }
            }
        })
    }

    /// Elements that no transaction appended. The last element is matched with its writer like any
    /// other read.
    fn nobody_appended(&self, found: &mut Findings) {
        let unknown = |elements: &[Value]| {
            elements.iter().position(|v| self.facts.values.first(&self.facts.writes, *v).is_none())
        };
        let in_longest = unknown(self.longest);
        for ShownList { read, elements, is_prefix } in &self.reads {
            let place = if *is_prefix { in_longest } else { unknown(elements) };
            if let Some(place) = place.filter(|place| place + 1 < elements.len()) {
                if self.facts.unlearned.is_some() || elements[place] == Value::UNOBSERVED {
                    found.doubt(Doubt::Unlearned(read.op));
                } else if self.context.history.meta().complete {
                    found.find(Anomaly::ThinAirRead, &[read.op]);
                } else {
                    found.doubt(Doubt::UnknownWriter(read.op));
                }
            }
        }
    }

    /// Reads that show an element of an aborted transaction under another one, or only some of what a
    /// transaction appended, or its elements in another order than it appended them.
    fn prefixes(&self, found: &mut Findings) {
        if self.twice || self.longest.is_empty() {
            return;
        }
        let prefixes = Prefixes::new(self.facts, self.longest);
        let append = |place: usize| {
            let writer = self.facts.values.first(&self.facts.writes, self.longest[place]);
            writer.map(|w| self.facts.writes[w as usize].op)
        };
        for ShownList { read, elements, .. } in self.reads.iter().filter(|shown| shown.is_prefix) {
            let Some(last) = elements.len().checked_sub(1) else { continue };
            // The last element is matched with its writer like any other read.
            let wrong = if let Some(at) = prefixes.dirty.filter(|at| *at < last) {
                Some((Anomaly::DirtyUpdate, at))
            } else if let Some(at) = prefixes.partial(last) {
                Some((Anomaly::IntermediateRead, at))
            } else {
                let shuffled = prefixes.shuffled.filter(|at| *at <= last);
                shuffled.map(|at| (Anomaly::IntermediateRead, at))
            };
            if let Some((anomaly, place)) = wrong {
                found.find(anomaly, &[append(place).unwrap_or(read.op), read.op]);
            }
        }
    }

    /// The versions in their order: the last element of each transaction that counts. Elements that
    /// were appended and never read come after all of them, in an unknown order.
    fn versions(&self, found: &mut Findings) -> ShownOrder {
        let writes = &self.facts.writes;
        let mut order =
            ShownOrder { unseen_last: true, shown_by: self.longest_read, ..ShownOrder::default() };
        if let Some(read) = self.longest_read.filter(|_| self.twice) {
            let unlearned = self.longest.contains(&Value::UNOBSERVED);
            order.unseen_last = !unlearned;
            let doubt = if unlearned { Doubt::Unlearned } else { Doubt::EqualElements };
            found.doubt(doubt(read));
        }
        let (mut seen, mut all) = (Vec::new(), Vec::new());
        for (i, (write, &place)) in writes.iter().zip(&self.places).enumerate() {
            if !write.certain && place.is_some() {
                found.doubt(Doubt::Unsure(write.op));
            }
            let stands = write.standing.counts() && write.certain && !write.undone;
            if let Some(place) = place.get().filter(|_| stands) {
                all.push((place, i as u32));
            }
            if write.is_version() {
                match place.get() {
                    Some(place) => seen.push((place, i as u32)),
                    None => order.unseen.push(i as u32),
                }
            }
        }
        seen.sort_unstable();
        all.sort_unstable();
        order.seen = seen.into_iter().map(|(_, w)| w).collect();
        order.elements = all.into_iter().map(|(_, w)| w).collect();
        order
    }
}
