//! Lists: each read shows the order of everything appended so far.
//!
//! The longest read of a key gives its order; every other read must be a prefix of it. A read is from
//! the writer of its last foreign element, an empty one from the initial state.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use isolde_history::{OpId, TxnId, Value};
use isolde_spec::Anomaly;

use crate::keys::context::Context;
use crate::keys::key_facts::{KeyFacts, ListRead, WriteFact};
use crate::keys::findings::{Doubt, Found};

/// The order of versions of a key that the history itself shows: by the reads of a list, or as the
/// recorder gave it.
#[derive(Default)]
pub(crate) struct ShownOrder {
    /// The versions in order, as indices of the key's writes.
    pub(crate) seen: Vec<u32>,
    /// Every element of a list that is known to be there, in its order: the elements of two
    /// transactions may not alternate.
    pub(crate) elements: Vec<u32>,
    /// The versions that the order does not tell.
    pub(crate) unseen: Vec<u32>,
    /// Whether those come after the others, as the unread elements of a list do.
    pub(crate) unseen_last: bool,
    /// The read that shows the order.
    pub(crate) shown_by: Option<OpId>,
}

/// Compares the reads of a list with the longest of them, which gives its order.
pub(crate) fn order(context: &Context<'_>, facts: &KeyFacts, found: &mut Found) -> ShownOrder {
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
    reads: Vec<Shown<'a>>,
    /// The longest read, without what the reader had appended itself.
    longest: &'a [Value],
    longest_read: Option<OpId>,
    /// For each write, one more than its place in the longest read; 0 if it is not there.
    places: Vec<u32>,
    /// Some value was appended more than once: which of the equal elements is which, nobody can tell.
    twice: bool,
}

/// The elements of a list that committed. Others should not be there, which is found elsewhere and is
/// no matter of order: where they may be read, they may also be undone.
fn committed<'a>(
    facts: &'a KeyFacts,
    elements: &'a [Value],
) -> impl Iterator<Item = Value> + use<'a> {
    let writes = &facts.writes;
    let stands = move |w: u32| {
        let write = &writes[w as usize];
        write.certain && write.play.counts() && !write.undone
    };
    let known = move |v: &Value| facts.values.chain(writes, *v).any(stands);
    elements.iter().copied().filter(known)
}

/// A read of the list.
struct Shown<'a> {
    read: ListRead,
    /// What it saw of others.
    elements: &'a [Value],
    /// Whether that is a prefix of the longest read.
    is_prefix: bool,
}

impl<'a> List<'a> {
    fn new(context: &'a Context<'a>, facts: &'a KeyFacts) -> List<'a> {
        let counted = facts.list_reads.iter().filter(|read| context.counts(read.txn));
        let mut reads: Vec<Shown<'_>> = counted
            .filter_map(|read| {
                let elements = context.history.op(read.op).elements()?;
                let elements = elements.get(..read.foreign as usize)?;
                Some(Shown { read: *read, elements, is_prefix: false })
            })
            .collect();
        let (mut longest, mut longest_read): (&[Value], _) = (&[], None);
        for Shown { read, elements, .. } in &reads {
            if longest_read.is_none() || elements.len() > longest.len() {
                (longest, longest_read) = (elements, Some(read.op));
            }
        }
        let mark = |reads: &mut [Shown<'_>], longest: &[Value]| {
            for shown in reads.iter_mut() {
                shown.is_prefix = longest.get(..shown.elements.len()) == Some(shown.elements);
            }
            reads.iter().all(|shown| shown.is_prefix)
        };
        if !mark(&mut reads, longest) {
            // Of lists that disagree, the one with the most that committed shows most.
            let most = |s: &&Shown<'a>| std::cmp::Reverse(committed(facts, s.elements).count());
            if let Some(shown) = reads.iter().min_by_key(most) {
                (longest, longest_read) = (shown.elements, Some(shown.read.op));
            }
            mark(&mut reads, longest);
        }
        // With an element that nobody learned, a list shows no order.
        let unlearned = longest.contains(&Value::UNOBSERVED);
        let twice = unlearned || facts.writes.iter().any(|w| w.same != 0);
        let mut places = vec![0; facts.writes.len()];
        for (place, element) in longest.iter().enumerate().filter(|_| !twice) {
            if let Some(w) = facts.values.first(&facts.writes, *element).checked_sub(1) {
                places[w as usize] = place as u32 + 1;
            }
        }
        List { context, facts, reads, longest, longest_read, places, twice }
    }

    /// Of two reads, one must be a prefix of the other.
    fn compare(&self, found: &mut Found) {
        let Some(longest_read) = self.longest_read else { return };
        if self.reads.iter().all(|shown| shown.is_prefix) {
            return;
        }
        let complete = self.context.history.meta().complete;
        let known = |v: &Value| self.is_known(*v);
        let learned = |elements: &[Value]| !elements.contains(&Value::UNOBSERVED);
        // In an incomplete history, who knows what the transactions did that are missing.
        let longest_known = learned(self.longest) && (complete || self.longest.iter().all(known));
        let longest: Vec<Value> = committed(self.facts, self.longest).collect();
        for Shown { read, elements, is_prefix } in &self.reads {
            if !learned(elements) || !learned(self.longest) {
                found.doubts.extend((!is_prefix).then_some(Doubt::Unlearned(read.op)));
            } else if longest_known
                && (complete || elements.iter().all(known))
                && !committed(self.facts, elements).zip(&longest).all(|(a, b)| a == *b)
            {
                found.find(Anomaly::IncompatibleOrder, &[longest_read, read.op]);
            }
        }
    }

    /// Whether somebody certainly appended an element.
    fn is_known(&self, element: Value) -> bool {
        let mut writers = self.facts.values.chain(&self.facts.writes, element);
        writers.any(|w| self.facts.writes[w as usize].certain)
    }

    /// Elements of a list that the reader's own transaction appends only later, and nobody else at
    /// all. (The last element is matched with its writer like any other read.)
    fn future_elements(&self, found: &mut Found) {
        let mut reads = self.reads.iter().peekable();
        let mut txn = None;
        // Of the transaction's reads so far: the longest prefix, and what is in the others.
        let mut prefix: Option<(usize, OpId)> = None;
        let mut others: HashMap<Value, OpId> = HashMap::new();
        for (write, place) in self.facts.writes.iter().zip(&self.places) {
            while let Some(shown) = reads.next_if(|shown| shown.read.op < write.op) {
                let Shown { read, elements, is_prefix } = shown;
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
            if txn != Some(write.txn) || write.same != 0 || self.is_later_twin(write) {
                continue;
            }
            let in_prefix = prefix.filter(|(len, _)| (1..=*len).contains(&(*place as usize)));
            let read = in_prefix.map(|(_, read)| read).or(others.get(&write.value).copied());
            if let Some(read) = read {
                found.find(Anomaly::FutureRead, &[read, write.op]);
            }
        }
    }

    /// Whether an earlier write has the same value.
    fn is_later_twin(&self, write: &WriteFact) -> bool {
        let first = self.facts.values.first(&self.facts.writes, write.value);
        self.twice && self.facts.writes[first as usize - 1].op != write.op
    }

    /// An element that is in a list more often than it was appended.
    fn duplicates(&self, found: &mut Found) {
        let all_once = !self.twice && self.each_once();
        let in_longest = if all_once { None } else { self.first_repeated(self.longest) };
        for Shown { read, elements, is_prefix } in &self.reads {
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
        let among = |place: u32| (1..=elements.len()).contains(&(place as usize));
        own.iter().enumerate().find_map(|(at, v)| {
            let writer = self.facts.values.first(&self.facts.writes, *v).checked_sub(1)? as usize;
            let append = self.facts.writes[writer].op;
            let twice = self.facts.writes[writer].certain && among(self.places[writer]);
            twice.then_some((elements.len() + at, append))
        })
    }

    /// Whether every element of the longest read that somebody appended stands there once.
    fn each_once(&self) -> bool {
        self.longest.iter().enumerate().all(|(place, v)| {
            let writer = self.facts.values.first(&self.facts.writes, *v).checked_sub(1);
            writer.is_none_or(|w| self.places[w as usize] as usize == place + 1)
        })
    }

    /// Where the first element stands that is there too often, and who appended it. What nobody
    /// appended at all is a read from nowhere, whatever its number.
    fn first_repeated(&self, elements: &[Value]) -> Option<(usize, OpId)> {
        // How often each may still come.
        let mut left: HashMap<Value, usize> = HashMap::with_capacity(elements.len());
        elements.iter().enumerate().find_map(|(place, v)| {
            let writers = || self.facts.values.chain(&self.facts.writes, *v);
            let first = writers().next()?;
            // If it was not appended at all, it is a read from nowhere.
            if writers().any(|w| !self.facts.writes[w as usize].certain) {
                return None;
            }
            let left = left.entry(*v).or_insert_with(|| writers().count());
            match left.checked_sub(1) {
                None => Some((place, self.facts.writes[first as usize].op)),
                Some(less) => {
                    *left = less;
                    None
                }
            }
        })
    }

    /// Elements that nobody appended. The last one is matched with its writer like any other read.
    fn nobody_appended(&self, found: &mut Found) {
        let unknown = |elements: &[Value]| {
            elements.iter().position(|v| self.facts.values.first(&self.facts.writes, *v) == 0)
        };
        let in_longest = unknown(self.longest);
        for Shown { read, elements, is_prefix } in &self.reads {
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
    fn prefixes(&self, found: &mut Found) {
        if self.twice || self.longest.is_empty() {
            return;
        }
        let prefixes = Prefixes::new(self);
        let append = |place: usize| {
            let writer = self.facts.values.first(&self.facts.writes, self.longest[place]);
            writer.checked_sub(1).map(|w| self.facts.writes[w as usize].op)
        };
        for Shown { read, elements, .. } in self.reads.iter().filter(|shown| shown.is_prefix) {
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

    /// The versions in their order: the last element of each transaction that counts. What was
    /// appended and never read comes after all of them, in an order that nobody knows.
    fn versions(&self, found: &mut Found) -> ShownOrder {
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
            if !write.certain && place > 0 {
                found.doubt(Doubt::Unsure(write.op));
            }
            if place > 0 && write.play.counts() && write.certain && !write.undone {
                all.push((place, i as u32));
            }
            if write.is_version() {
                if place > 0 {
                    seen.push((place, i as u32));
                } else {
                    order.unseen.push(i as u32);
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

/// What is wrong with the prefixes of a list.
struct Prefixes {
    /// Where the first element stands that was rolled back.
    dirty: Option<usize>,
    /// For the prefix up to each place, one more than the place of an element whose transaction has
    /// others that are missing; 0 if there is none.
    partial: Vec<u32>,
    /// Where the first element stands that its transaction appended before one that stands before it.
    shuffled: Option<usize>,
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
    fn new(list: &List<'_>) -> Prefixes {
        let writes = &list.facts.writes;
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
        for (place, element) in list.longest.iter().enumerate() {
            if let Some(w) = list.facts.values.first(writes, *element).checked_sub(1) {
                let write = &writes[w as usize];
                if write.certain && (write.undone || !write.play.counts()) {
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
                prefixes.partial.push(open.first().map_or(0, |place| place + 1));
            }
        }
        prefixes
    }

    /// The place of an element whose transaction has others that a prefix misses.
    fn partial(&self, last: usize) -> Option<usize> {
        self.partial.get(last)?.checked_sub(1).map(|place| place as usize)
    }
}

/// The order that the recorder gave, as far as it names versions by values that were written once
/// and are not the initial one.
pub(crate) fn given(
    context: &Context<'_>,
    facts: &KeyFacts,
    versions: &[Value],
    found: &mut Found,
) -> ShownOrder {
    // The elements of a list are not what the key starts with.
    let first = if facts.list_reads.iter().any(|read| context.counts(read.txn)) {
        Value::UNOBSERVED
    } else {
        context.first_value(facts.key)
    };
    if versions.iter().skip(1).any(|v| *v == first) {
        found.doubt(Doubt::InitialNotFirst(facts.key()));
    }
    let mut place: HashMap<Value, usize> = HashMap::with_capacity(versions.len());
    // A value that stands twice does not say where its version comes.
    let mut twice: HashSet<Value> = HashSet::new();
    for (i, v) in versions.iter().enumerate().filter(|(_, v)| **v != first) {
        if place.insert(*v, i).is_some() {
            twice.insert(*v);
        }
    }
    let mut unclear = !twice.is_empty();
    place.retain(|v, _| !twice.contains(v));
    let (mut seen, mut order) = (Vec::new(), ShownOrder::default());
    for (i, write) in facts.writes.iter().enumerate() {
        match place.get(&write.value) {
            Some(&at) if write.may_have_happened() => seen.push((at, i as u32)),
            None if write.is_version() => order.unseen.push(i as u32),
            _ => {}
        }
    }
    seen.sort_unstable();
    // A value that several may have written does not say which of them comes there.
    for run in seen.chunk_by(|a, b| a.0 == b.0) {
        let txns: HashSet<TxnId> = run.iter().map(|(_, w)| facts.writes[*w as usize].txn).collect();
        unclear |= txns.len() > 1;
        let target = if txns.len() > 1 { &mut order.unseen } else { &mut order.seen };
        let versions = run.iter().map(|(_, w)| *w);
        target.extend(versions.filter(|&w| facts.writes[w as usize].is_version()));
    }
    if unclear {
        found.doubt(Doubt::AmbiguousOrder(facts.key()));
    }
    order
}
