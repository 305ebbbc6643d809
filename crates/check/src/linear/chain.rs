//! Compare-and-set on one object, in linear time (algorithm 2 of paper 000, for what real histories
//! contain).
//!
//! It answers where every write swaps one value for another (an insert swaps "absent"),
//! and no value is written twice, nor the one that the object starts with. Then the object holds
//! every value at most once, for one stretch of time, and an order of the calls is a walk from value
//! to value along the swaps that took effect. What is below is only about such histories; all others
//! are left to a search.
//!
//! **Which swaps count.** The certain ones do. An uncertain one *counts* if a read saw its value, or a
//! swap that counts replaced it: then every explanation contains it, since no other call could
//! have written that value. Conversely, take any explanation, and the last value on its walk that a
//! certain swap wrote or a read saw, or the first value if there is none. Going back from there,
//! every value was replaced by a swap that counts or was read itself, so its writer counts;
//! and whatever counts is met, because all certain calls are. Behind it only uncertain swaps can
//! follow that no call saw: the *tail*. So up to the tail the walk is the same in all explanations, and
//! it can be followed link by link: two swaps that count and replace one value, or one that is not
//! met on the way from the first value, show that there is no explanation.
//!
//! **Real time** on the chain. The order is fixed but for reads of one value, which stand between the
//! swap that wrote it and the one that replaced it, in any order that time likes. So there is an
//! explanation if and only if no call begins after the end of a call that is later on the chain: one
//! sweep from the last version to the first, with the earliest end so far.
//!
//! **Denials** are calls that saw that a value was *not* there: a comparison that failed, an insert
//! that found something. Each stands in the group of any version but one, after all calls that
//! ended before it began, before all calls that began after it ended. Giving them the earliest version
//! in the order of their beginnings is never worse: by induction over that order, no denial can stand
//! earlier in any explanation, because calls that ended before it began had begun before, and the least
//! version that is not below a bound and not the forbidden one does not fall as the bound grows. So
//! if the earliest version is too late for a call that began after the denial had ended, every other
//! one is. Among denials of one group, and reads, any order will do that time likes.
//!
//! **The tail** matters only to calls that deny the last value of the chain: without it they
//! must come before that value, with it also behind. If no explanation without a tail is found, one
//! swap is put there: the one that began first of those that can follow. If it also ended last, it
//! can stand where any other could; and a longer tail is no better, since calls that stand further
//! behind can stand behind its first swap, unless a call denies the value of an unseen swap. Where
//! either is not so, and the one swap does not help, the answer is [`Chain::NotApplicable`].

use std::hash::{BuildHasher, RandomState};

use isolde_history::Value;

use super::call::{Call, Did};

/// What is known of the calls on one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chain {
    /// There is an order that explains them.
    Linearizable,
    /// There is none.
    Violated,
    /// They are not such that this procedure could tell.
    NotApplicable,
}

/// Decides the calls on an object that holds `initial` at first. The history must be complete: a
/// value that no call here wrote is taken to be written by no call at all. Only time orders the
/// calls. Where session order does not follow from it, a violation is one, but the rest is open.
#[cfg(test)]
pub(crate) fn decide(calls: &[Call], initial: Value) -> Chain {
    Scratch::default().decide(calls, initial)
}

/// The first call that cannot be put in order with all that had begun until it ended, if the calls are
/// violated.
pub(crate) fn first_stuck(calls: &[Call], initial: Value) -> Option<usize> {
    let mut ends: Vec<(i64, usize)> = calls.iter().map(|call| call.end).zip(0..).collect();
    ends.sort_unstable();
    let mut scratch = Scratch::default();
    // What is violated stays violated as more is answered.
    let mut violated = |until: i64| {
        let begun = calls.iter().filter(|call| call.begin <= until);
        let ended = |call: &Call| call.end <= until;
        let known = begun.filter(|call| ended(call) || call.did.written().is_some());
        let part: Vec<Call> = known
            .map(|call| match ended(call) {
                true => *call,
                false => Call { end: i64::MAX, certain: false, ..*call },
            })
            .collect();
        scratch.decide(&part, initial) == Chain::Violated
    };
    let first = ends.partition_point(|(until, _)| !violated(*until));
    ends.get(first).or(ends.last()).map(|(_, call)| *call)
}

/// No version.
const NONE: u32 = u32::MAX;

/// A value that the object may have held, the swap that wrote it, and the calls that read it.
#[derive(Clone, Copy, Debug)]
struct ChainVersion {
    value: Value,
    /// What the swap replaced.
    from: Value,
    begin: i64,
    end: i64,
    /// When the last of its readers began.
    readers_begin: i64,
    /// When the first of its readers ended.
    readers_end: i64,
    /// The version that replaced it.
    next: u32,
    /// Where it stands on the chain.
    place: u32,
    certain: bool,
    counts: bool,
}

impl ChainVersion {
    fn written(by: &Call, from: Value, value: Value) -> ChainVersion {
        ChainVersion {
            value,
            from,
            begin: by.begin,
            end: by.end,
            readers_begin: i64::MIN,
            readers_end: i64::MAX,
            next: NONE,
            place: NONE,
            certain: by.certain,
            counts: by.certain,
        }
    }

    /// What is there at first: before all calls, and no call itself.
    fn first(value: Value) -> ChainVersion {
        ChainVersion {
            value,
            from: value,
            begin: i64::MIN,
            end: i64::MAX,
            readers_begin: i64::MIN,
            readers_end: i64::MAX,
            next: NONE,
            place: NONE,
            certain: true,
            counts: true,
        }
    }
}

/// A call that saw that a value was not there.
#[derive(Clone, Copy, Debug)]
struct Denial {
    begin: i64,
    end: i64,
    /// The version of that value, if there is one.
    version: u32,
    place: u32,
}

/// What time says of a place on the chain.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The last beginning of all calls that come before the readers of this version.
    begun: i64,
    /// The first end of all calls that come here or later, the swap included.
    ended: i64,
}

/// Memory that the next object uses again.
pub(crate) struct Scratch {
    /// From values to versions: one more than an index, 0 is free. Values come from files, so where
    /// they land depends on a seed that no file can know.
    slots: Vec<u32>,
    seed: u64,
    /// The first value and all swaps, whether they count or not.
    versions: Vec<ChainVersion>,
    /// How many versions count.
    counted: usize,
    /// The versions that count, one replaced by the next.
    chain: Vec<u32>,
    denials: Vec<Denial>,
    windows: Vec<Window>,
    /// When each denial ended, earliest first.
    ends: Vec<(i64, u32)>,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            slots: Vec::new(),
            seed: RandomState::new().hash_one(0x6973_6f6c_6465_u64) | 1,
            versions: Vec::new(),
            counted: 0,
            chain: Vec::new(),
            denials: Vec::new(),
            windows: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl Scratch {
    /// See [`decide`].
    pub(crate) fn decide(&mut self, calls: &[Call], initial: Value) -> Chain {
        if !self.collect(calls, initial) {
            return Chain::NotApplicable;
        }
        if !self.observe(calls) || !self.link() || !self.follow() || !self.in_time() {
            return Chain::Violated;
        }
        if self.denials.is_empty() {
            return Chain::Linearizable;
        }
        self.denials.sort_unstable_by_key(|denial| denial.begin);
        self.ends.clear();
        self.ends.extend(self.denials.iter().zip(0..).map(|(denial, at)| (denial.end, at)));
        self.ends.sort_unstable();
        if self.place_denials() { Chain::Linearizable } else { self.with_tail() }
    }

    /// Takes the swaps; false if there is anything else that writes, or a value is not unique.
    fn collect(&mut self, calls: &[Call], initial: Value) -> bool {
        let unknown = |value: Value| value == Value::UNOBSERVED;
        self.versions.clear();
        self.versions.push(ChainVersion::first(initial));
        for call in calls {
            let applies = match call.did {
                Did::Swap { from, to } => {
                    self.versions.push(ChainVersion::written(call, from, to));
                    !unknown(from) && !unknown(to)
                }
                Did::Read(value) | Did::NotEqual(value) => !unknown(value),
                Did::Present => true,
                Did::Write(_) | Did::Append(_) | Did::ReadList => false,
            };
            // A call that ends before it begins has no time in which it could take effect.
            if !applies || call.end < call.begin {
                return false;
            }
        }
        let size = (2 * self.versions.len()).next_power_of_two();
        self.slots.clear();
        self.slots.resize(size, 0);
        for (version, at) in self.versions.iter().zip(1..) {
            let slot = self.slot(version.value);
            if self.slots[slot] != 0 {
                return false;
            }
            self.slots[slot] = at;
        }
        self.counted = self.versions.iter().filter(|version| version.counts).count();
        !unknown(initial)
    }

    /// Enters reads and denials; false if a read saw a value that was never written.
    fn observe(&mut self, calls: &[Call]) -> bool {
        self.denials.clear();
        for call in calls {
            match call.did {
                // A call that may not have happened has seen nothing.
                _ if !call.certain => {}
                Did::Read(value) => {
                    let version = self.find(value);
                    let Some(read) = self.versions.get_mut(version as usize) else { return false };
                    read.readers_begin = read.readers_begin.max(call.begin);
                    read.readers_end = read.readers_end.min(call.end);
                    if !read.counts && !self.count(version) {
                        return false;
                    }
                }
                Did::NotEqual(value) => self.deny(call, value),
                Did::Present => self.deny(call, Value::ABSENT),
                _ => {}
            }
        }
        true
    }

    fn deny(&mut self, call: &Call, value: Value) {
        let version = self.find(value);
        self.denials.push(Denial { begin: call.begin, end: call.end, version, place: NONE });
    }

    /// Ties every certain swap to the version that it replaced; false if one cannot be.
    fn link(&mut self) -> bool {
        // Those that came to count were tied then.
        (1..self.versions.len() as u32)
            .all(|at| !self.versions[at as usize].certain || self.tie(at))
    }

    /// Lets an uncertain swap count.
    fn count(&mut self, version: u32) -> bool {
        self.versions[version as usize].counts = true;
        self.counted += 1;
        self.tie(version)
    }

    /// Ties a swap that counts to the version that it replaced, which then counts too.
    fn tie(&mut self, mut version: u32) -> bool {
        loop {
            let source = self.find(self.versions[version as usize].from);
            let Some(replaced) = self.versions.get_mut(source as usize) else { return false };
            if replaced.next != NONE {
                return false;
            }
            replaced.next = version;
            if replaced.counts {
                return true;
            }
            replaced.counts = true;
            self.counted += 1;
            version = source;
        }
    }

    /// Numbers the versions along the chain; false if one that counts is not met. Every version is
    /// the next one of one other at most and the first one of none, so this comes to an end.
    fn follow(&mut self) -> bool {
        self.chain.clear();
        let mut at = 0;
        while let Some(version) = self.versions.get_mut(at as usize) {
            version.place = self.chain.len() as u32;
            self.chain.push(at);
            at = version.next;
        }
        self.chain.len() == self.counted
    }

    /// Whether no call begins after the end of a call that comes later.
    fn in_time(&self) -> bool {
        let mut end = i64::MAX;
        self.chain.iter().rev().all(|&at| {
            let version = &self.versions[at as usize];
            let readers = version.readers_begin <= end;
            end = end.min(version.readers_end);
            let swap = version.begin <= end;
            end = end.min(version.end);
            readers && swap
        })
    }

    /// What time says of the places of the chain. Both bounds never fall along it.
    fn open_windows(&mut self) {
        self.windows.clear();
        let mut begun = i64::MIN;
        for &at in &self.chain {
            let version = &self.versions[at as usize];
            begun = begun.max(version.begin);
            self.windows.push(Window { begun, ended: version.end.min(version.readers_end) });
            begun = begun.max(version.readers_begin);
        }
        let mut ended = i64::MAX;
        for window in self.windows.iter_mut().rev() {
            ended = ended.min(window.ended);
            window.ended = ended;
        }
    }

    /// Gives every denial the earliest version; false if one has none. They are sorted.
    fn place_denials(&mut self) -> bool {
        self.open_windows();
        let (mut ended, mut place) = (0, 0u32);
        for at in 0..self.denials.len() {
            let Denial { begin, end, version, .. } = self.denials[at];
            let before = |window: Option<&Window>| window.is_some_and(|w| w.ended < begin);
            while before(self.windows.get(place as usize + 1)) {
                place += 1;
            }
            // Those that have ended had begun before this one: they have their places.
            while let Some(&(_, other)) = self.ends.get(ended).filter(|(end, _)| *end < begin) {
                place = place.max(self.denials[other as usize].place);
                ended += 1;
            }
            let denied = self.versions.get(version as usize).map_or(NONE, |v| v.place);
            let own = if denied == place { place + 1 } else { place };
            if self.windows.get(own as usize).is_none_or(|window| window.begun > end) {
                return false;
            }
            self.denials[at].place = own;
        }
        true
    }

    /// Whether an uncertain swap at the end of the chain explains the denials.
    fn with_tail(&mut self) -> Chain {
        let Some(&last) = self.chain.last() else { return Chain::Violated };
        let value = self.versions[last as usize].value;
        let follows = |version: &&ChainVersion| !version.counts && version.from == value;
        let Some(&tail) = self
            .versions
            .iter()
            .filter(follows)
            .min_by_key(|version| (version.begin, std::cmp::Reverse(version.end)))
        else {
            return Chain::Violated;
        };
        let best = self.versions.iter().filter(follows).all(|version| version.end <= tail.end);
        let denied = self.denials.iter().any(|denial| {
            self.versions.get(denial.version as usize).is_some_and(|version| !version.counts)
        });
        if self.count(self.find(tail.value))
            && self.follow()
            && self.in_time()
            && self.place_denials()
        {
            return Chain::Linearizable;
        }
        if best && !denied { Chain::Violated } else { Chain::NotApplicable }
    }

    /// The version of a value.
    #[inline]
    fn find(&self, value: Value) -> u32 {
        self.slots[self.slot(value)].wrapping_sub(1)
    }

    /// The slot of a value, or the free one where it would go.
    #[inline]
    fn slot(&self, value: Value) -> usize {
        let mask = self.slots.len() - 1;
        let product = u128::from(value.to_bits() ^ self.seed) * 0x9e37_79b9_7f4a_7c15;
        let mut at = ((product >> 64) ^ product) as usize & mask;
        loop {
            match self.slots[at].checked_sub(1) {
                Some(version) if self.versions[version as usize].value != value => {
                    at = (at + 1) & mask;
                }
                _ => return at,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use isolde_history::notation::parse;

    use super::*;
    use crate::graph::real_time;
    use crate::keys::context::Context;
    use crate::linear::call;

    /// What is said of the only key of a history.
    #[track_caller]
    fn check(text: &str, expected: Chain) {
        let history = parse(text).unwrap();
        let context = Context::new(&history, 64);
        let time = real_time::find(&context, 0);
        let calls = call::of_key(&context, &time, 0);
        assert_eq!(decide(&calls, context.first_value(0)), expected, "{text}");
    }

    use Chain::{Linearizable, NotApplicable, Violated};

    #[test]
    fn swaps_make_a_chain() {
        check("a: insert(x,1) @[1,2]\nb: cas(x,1,2) @[3,4]\na: cas(x,2,3) @[5,6]", Linearizable);
        check("initial 0\na: cas(x,1,2) @[3,4]\nb: cas(x,0,1) @[1,3]", Linearizable);
        // Two replace one value.
        check("initial 0\na: cas(x,0,1) @[1,9]\nb: cas(x,0,2) @[1,9]", Violated);
        check("a: insert(x,1) @[1,9]\nb: insert(x,2) @[1,9]", Violated);
        // The value that was replaced was never written.
        check("a: insert(x,1) @[1,9]\nb: cas(x,7,2) @[1,9]", Violated);
        // A ring, which hangs on nothing.
        check("initial 0\na: cas(x,1,2) @[1,9]\nb: cas(x,2,1) @[1,9]", Violated);
        check("initial 0\na: cas(x,1,1) @[1,9]", Violated);
    }

    #[test]
    fn time_is_respected_along_the_chain() {
        check("initial 0\na: cas(x,0,1) @[5,6]\nb: cas(x,1,2) @[1,4]", Violated);
        // At the same instant, either may be first.
        check("initial 0\na: cas(x,0,1) @[4,6]\nb: cas(x,1,2) @[1,4]", Linearizable);
        check("initial 0\na: cas(x,0,1) @[1,2]\nb: r(x,0) @[3,4]", Violated);
        check("initial 0\na: cas(x,0,1) @[1,3]\nb: r(x,0) @[3,4]", Linearizable);
        check("initial 0\na: r(x,1) @[1,2]\nb: cas(x,0,1) @[3,4]", Violated);
        check("initial 0\na: r(x,1) @[5,6]\nb: r(x,1) @[3,4]\nc: cas(x,0,1) @[2,9]", Linearizable);
        check("initial 0\na: r(x,7) @[1,2]", Violated);
        // Without a clock nothing is before anything.
        check("initial 0\na: cas(x,0,1)\nb: r(x,0)", Linearizable);
    }

    #[test]
    fn an_uncertain_swap_counts_if_it_was_seen() {
        let lost = "initial 0\na: cas(x,0,1) @[1,2]\nb: cas(x,0,2) unknown @[1,2]\n";
        check(lost, Linearizable);
        check(&format!("{lost}c: r(x,2) @[3,4]"), Violated);
        let late = "initial 0\na: cas(x,0,1) unknown @[1,2]\n";
        check(&format!("{late}b: cas(x,1,2) @[8,9]\nc: r(x,0) @[5,6]"), Linearizable);
        check(&format!("{late}b: cas(x,1,2) @[3,4]\nc: r(x,0) @[5,6]"), Violated);
        // One is seen through the other.
        let two = format!("{late}b: cas(x,1,2) unknown @[1,2]\n");
        check(&format!("{two}c: r(x,2) @[5,6]\nd: r(x,1) @[7,8]"), Violated);
        check(&format!("{two}c: r(x,2) @[5,6]\nd: r(x,2) @[7,8]"), Linearizable);
    }

    #[test]
    fn a_failed_comparison_stands_beside_its_value() {
        check("initial 0\na: cas!(x,0,1) @[1,2]", Violated);
        check("initial 0\na: cas!(x,7,1) @[1,2]", Linearizable);
        check("initial 0\na: cas(x,0,1) @[3,4]\nb: cas!(x,0,5) @[1,2]", Violated);
        check("initial 0\na: cas(x,0,1) @[2,4]\nb: cas!(x,0,5) @[1,2]", Linearizable);
        check("a: insert!(x,1) @[1,2]", Violated);
        check("a: insert!(x,1) @[1,2]\nb: insert(x,2) @[1,2]", Linearizable);
        // One of them pushes the other on.
        let pushed = "initial 0\na: cas(x,0,1) @[1,20]\nb: cas!(x,0,5) @[2,3]\n";
        check(&format!("{pushed}c: cas!(x,1,6) @[3,5]"), Linearizable);
        check(&format!("{pushed}c: cas!(x,1,6) @[4,5]"), Violated);
        check(&format!("{pushed}c: cas!(x,1,6) @[4,5]\nd: cas(x,1,2) @[5,6]"), Linearizable);
    }

    #[test]
    fn an_unseen_swap_may_explain_a_failed_comparison() {
        let tail = "initial 0\na: cas(x,0,1) unknown @[1,2]\n";
        check(&format!("{tail}b: cas!(x,0,5) @[1,2]"), Linearizable);
        check(&format!("{tail}b: cas!(x,0,5) @[1,2]\nc: r(x,0) @[3,4]"), Violated);
        // The one that began first is as good as any.
        let late = "initial 0\na: cas(x,0,1) unknown @[5,6]\nb: cas(x,0,2) unknown @[2,3]\n";
        check(&format!("{late}c: cas!(x,0,9) @[3,4]"), Linearizable);
        check(&format!("{late}c: cas!(x,0,9) @[0,1]"), Violated);
        // The swap that began first must have ended too early, and no call looks at the other.
        let early = "initial 0\na: cas?(x,0,1) @[1,2]\nb: cas(x,0,2) unknown @[3,4]\n";
        check(&format!("{early}c: r(x,0) @[3,4]\nd: cas!(x,0,9) @[5,6]"), NotApplicable);
        check(&format!("{early}c: r(x,0) @[2,4]\nd: cas!(x,0,9) @[5,6]"), Linearizable);
        // It takes two, which is for a search to find.
        let two = format!("{tail}b: cas(x,1,2) unknown @[1,2]\nc: cas!(x,0,5) @[1,2]\n");
        check(&format!("{two}c: cas!(x,1,5) @[3,4]"), NotApplicable);
    }

    #[test]
    fn what_writes_otherwise_is_left_alone() {
        check("initial 0\na: w(x,1) @[1,2]", NotApplicable);
        check("initial 0\na: cas(x,0,1) @[1,2]\nb: cas(x,1,0) @[3,4]", NotApplicable);
        check("initial 0\na: cas(x,0,1) @[1,2]\nb: cas(x,7,1) unknown @[3,4]", NotApplicable);
        check("a: insert(x,1) @[1,2]\nb: delete(x) @[3,4]", NotApplicable);
        check("a: list(x,[]) @[1,2]", NotApplicable);
    }
}
