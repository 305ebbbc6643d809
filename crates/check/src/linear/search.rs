//! The search for an order of calls, after Wing and Gong, with Lowe's memory of where it was.
//!
//! Calls are taken one by one. What may come next is what began before the first of those ended that
//! are not in the order yet: that end is the *deadline*. Where nothing can come next any more, the
//! search goes back. Three things keep it short:
//!
//! - *Reads do not branch.* A call that never changes the object, may come next, and is right about
//!   what the object holds comes next. For take any order that goes on from here: with that call moved
//!   to its front it is still one, since the call changes nothing for those that it passes, what has
//!   to come before it is in the order already, and it moves to an earlier place only.
//! - *Of equal calls that may come next, the one that ended first does*, and of those that never ended,
//!   the one that began first. Exchanging the two in any order gives another one: both may come now,
//!   and a call that has to come after the one that ended later has to come after the other too.
//!   (Equal are only two of which both may be left out, or neither.)
//! - *A place is not visited twice* ([`super::memo`]).
//!
//! Where sessions bind calls that overlap in time (`after`), equal calls are not the same, as others
//! wait for them.

use hashbrown::HashMap;

use super::links::{Links, NONE};
use super::memo::{Memo, Print, Prints, SetId, Sets};
use super::model::{Model, Timed};
use crate::limits::{Held, Limit, Limits};

/// When a search gives up.
#[derive(Clone, Copy)]
pub(crate) struct SearchLimits<'l> {
    /// How many steps may be tried.
    pub(crate) steps: u64,
    /// How many bytes may be used to remember what led nowhere.
    pub(crate) memory: usize,
    /// What bounds the whole check.
    pub(crate) check: &'l Limits<'l>,
}

impl<'l> SearchLimits<'l> {
    /// For a search that is all there is to do.
    pub(crate) fn of(check: &'l Limits<'l>) -> SearchLimits<'l> {
        SearchLimits { steps: check.steps(), memory: usize::MAX, check }
    }
}

/// How the search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SearchEnd {
    /// An order of calls, by number.
    Order(Vec<usize>),
    /// There is none. The stuck call's end is the first moment at which there is none.
    None {
        stuck: usize,
    },
    GaveUp(Limit),
}

/// How many calls may come next while equal ones are looked for among them.
const FEW: usize = 64;

/// How often limits other than that of steps are looked at.
const PAUSE: u64 = 4096;
/// How many calls are looked at in the time of a step.
const LOOKS: u64 = 16;

/// A search for an order of calls.
pub(crate) struct OrderSearch<'m, M: Model> {
    model: &'m M,
    calls: &'m [Timed<M::Call>],
    /// The call that each has to come after beside real time, or [`NONE`]; empty if there are none.
    after: &'m [u32],
    limits: &'m SearchLimits<'m>,
    /// Equal calls have the same number.
    class: Vec<u32>,
    prints: Vec<Print>,
    /// The calls that are not in the order yet and cannot simply be left out.
    links: Links,
    /// The calls that can, by beginning, each with the one of the same class before it.
    optional: Vec<(u32, Option<usize>)>,
    sets: Sets,
    memo: Memo<M::State>,
    /// The order so far.
    trail: Vec<Taken>,
    print: Print,
    frames: Vec<Frame<M::State>>,
    /// What may come next at each frame.
    next: Vec<u32>,
    certain_left: usize,
    /// How many of them only look.
    looks_left: usize,
    /// Whether a place was left because no call that only looks could be right any more.
    hopeless: bool,
    steps: u64,
    /// Calls that were looked at on the way, which is work too.
    looked: u64,
    /// When the other limits are asked for next.
    pause: u64,
    furthest: Option<(i64, u32)>,
    held: Option<Held>,
}

/// A call that was dealt with.
#[derive(Clone, Copy)]
struct Taken {
    call: u32,
    /// Whether it takes effect, or is left out.
    effect: bool,
    /// Whether it was linked.
    linked: bool,
}

/// A place of the search.
struct Frame<S> {
    state: S,
    set: SetId,
    /// How long the order was before the call that leads here.
    from: usize,
    /// Where its calls begin among all that may come next.
    start: usize,
    /// How many of them have been tried.
    tried: usize,
    /// How many calls that may be left out have been tried.
    tried_optional: usize,
}

impl<'m, M: Model> OrderSearch<'m, M> {
    pub(crate) fn new(
        model: &'m M,
        calls: &'m [Timed<M::Call>],
        after: &'m [u32],
        limits: &'m SearchLimits<'m>,
    ) -> OrderSearch<'m, M> {
        let class = classes(calls);
        let is_optional = |c: &Timed<M::Call>| !c.certain && c.end == i64::MAX;
        let (optional, linked): (Vec<u32>, Vec<u32>) =
            (0..calls.len() as u32).partition(|i| is_optional(&calls[*i as usize]));
        // A call that may be left out and only looks is left out.
        let mut optional: Vec<u32> =
            optional.into_iter().filter(|i| !model.reads_only(&calls[*i as usize].call)).collect();
        optional.sort_by_key(|i| calls[*i as usize].begin);
        let optional = chained(&optional, &class, after);
        let certain_left = calls.iter().filter(|c| c.certain).count();
        let random = Prints::new();
        OrderSearch {
            model,
            calls,
            after,
            limits,
            class,
            prints: (0..calls.len() as u32).map(|i| random.of(i)).collect(),
            links: Links::new(calls, linked),
            sets: Sets::new(optional.len()),
            optional,
            memo: Memo::new(),
            trail: Vec::new(),
            print: 0,
            frames: Vec::new(),
            next: Vec::new(),
            certain_left,
            looks_left: calls.iter().filter(|c| c.certain && model.reads_only(&c.call)).count(),
            hopeless: false,
            steps: 0,
            looked: 0,
            pause: 0,
            furthest: None,
            held: None,
        }
    }

    /// How many steps were tried; a long look around counts as some.
    pub(crate) fn steps(&self) -> u64 {
        self.steps + self.looked / LOOKS
    }

    pub(crate) fn run(&mut self) -> SearchEnd {
        let initial = self.model.initial();
        if self.enter(initial, 0, 0) {
            return self.order();
        }
        while !self.frames.is_empty() {
            if let Some(limit) = self.limit() {
                return SearchEnd::GaveUp(limit);
            }
            let from = self.trail.len();
            match self.advance() {
                Some((state, set)) => {
                    if self.enter(state, set, from) {
                        return self.order();
                    }
                }
                None => self.back(),
            }
        }
        SearchEnd::None { stuck: self.stuck() }
    }

    /// The call that is stuck: all that had begun until it ended cannot be put in order.
    fn stuck(&self) -> usize {
        let calls = self.calls;
        let looks = |i: &usize| calls[*i].certain && self.model.reads_only(&calls[*i].call);
        let last = || (0..calls.len()).filter(looks).max_by_key(|i| calls[*i].end);
        if let Some(last) = self.hopeless.then(last).flatten() {
            // It was not tried which of the calls that only look fails first.
            return last;
        }
        // Without any deadline there is always a call that fails; the first certain one stands for it.
        let certain = || calls.iter().position(|c| c.certain).unwrap_or(0);
        self.furthest.map_or_else(certain, |(_, call)| call as usize)
    }

    fn order(&self) -> SearchEnd {
        let taken = self.trail.iter().filter(|t| t.effect);
        SearchEnd::Order(taken.map(|t| t.call as usize).collect())
    }

    fn limit(&mut self) -> Option<Limit> {
        let steps = self.steps();
        if steps >= self.limits.steps {
            return Some(Limit::Steps);
        }
        if steps < self.pause {
            return None;
        }
        self.pause = steps + PAUSE;
        let ways = self.next.capacity() * size_of::<u32>();
        let places = self.frames.capacity() * size_of::<Frame<M::State>>();
        let soon = 2 * PAUSE as usize;
        let bytes = self.memo.bytes(&self.sets, soon) + ways + places;
        if bytes > self.limits.memory {
            return Some(Limit::SearchMemory);
        }
        // What it holds counts against the memory of the check: the old number is given back first.
        self.held = None;
        match self.limits.check.hold(bytes) {
            Ok(held) => self.held = Some(held),
            Err(limit) => return Some(limit),
        }
        self.limits.check.go_on().err()
    }

    // ---- going on ----

    /// Comes to a place; true if everything is in order. One that was visited before is left again.
    fn enter(&mut self, state: M::State, set: SetId, from: usize) -> bool {
        self.take_reads(&state);
        if self.certain_left == 0 {
            return true;
        }
        if self.looks_left > 0 && self.model.hopeless(&state) {
            self.hopeless = true;
            self.undo(from);
            return false;
        }
        if !self.memo.is_new(self.print, &state, set, &self.sets, &mut self.looked) {
            self.undo(from);
            return false;
        }
        let start = self.next.len();
        self.candidates(start);
        self.frames.push(Frame { state, set, from, start, tried: 0, tried_optional: 0 });
        false
    }

    /// Takes every call that may come next, is right, and changes nothing.
    fn take_reads(&mut self, state: &M::State) {
        loop {
            let deadline = self.links.deadline();
            let mut any = false;
            let mut at = self.links.first();
            while at != NONE && self.calls[at as usize].begin <= deadline {
                let next = self.links.after(at);
                let call = &self.calls[at as usize].call;
                self.looked += 1;
                if self.model.reads_only(call)
                    && self.may_follow(at)
                    && self.model.step(state, call).as_ref() == Some(state)
                {
                    self.take(at, true);
                    any = true;
                }
                at = next;
            }
            if !any {
                return;
            }
        }
    }

    /// Collects what may come next, what ended first in front.
    fn candidates(&mut self, start: usize) {
        let deadline = self.links.deadline();
        let mut at = self.links.first();
        while at != NONE && self.calls[at as usize].begin <= deadline {
            self.looked += 1;
            if self.may_follow(at) {
                self.next.push(at);
            }
            at = self.links.after(at);
        }
        let calls = self.calls;
        self.next[start..].sort_by_key(|i| calls[*i as usize].end);
        if self.after.is_empty() && self.next.len() - start <= FEW {
            let mut kept = start;
            for i in start..self.next.len() {
                let kind = |call: u32| (self.class[call as usize], calls[call as usize].certain);
                let new = kind(self.next[i]);
                let known = |other: &u32| kind(*other) == new;
                if !self.next[start..kept].iter().any(known) {
                    self.next[kept] = self.next[i];
                    kept += 1;
                }
            }
            self.next.truncate(kept);
        }
    }

    /// Whether what a call has to come after in its session is in the order.
    fn may_follow(&self, call: u32) -> bool {
        match self.after.get(call as usize) {
            None | Some(&NONE) => true,
            Some(&before) => !self.links.holds(before),
        }
    }

    /// Takes the next call that has not been tried here; `None` if there is none.
    fn advance(&mut self) -> Option<(M::State, SetId)> {
        let frame = self.frames.last_mut()?;
        while let Some(&call) = self.next.get(frame.start + frame.tried) {
            frame.tried += 1;
            self.steps += 1;
            let after = self.model.step(&frame.state, &self.calls[call as usize].call);
            if let Some(state) = after {
                let set = frame.set;
                self.take(call, true);
                return Some((state, set));
            }
        }
        let deadline = self.links.deadline();
        while let Some(&(call, before)) = self.optional.get(frame.tried_optional) {
            if self.calls[call as usize].begin > deadline {
                break;
            }
            let at = frame.tried_optional;
            frame.tried_optional += 1;
            let free = before.is_none_or(|before| self.sets.contains(frame.set, before));
            let waits = match self.after.get(call as usize) {
                None | Some(&NONE) => false,
                Some(&before) => self.links.holds(before),
            };
            if self.sets.contains(frame.set, at) || !free || waits {
                continue;
            }
            self.steps += 1;
            let after = self.model.step(&frame.state, &self.calls[call as usize].call);
            // What changes nothing may as well be left out.
            if let Some(state) = after.filter(|state| *state != frame.state) {
                let set = self.sets.with(frame.set, at);
                self.trail.push(Taken { call, effect: true, linked: false });
                return Some((state, set));
            }
        }
        self.leave_out()
    }

    /// What ends here and is not certain took no effect, or it is too late for it.
    fn leave_out(&mut self) -> Option<(M::State, SetId)> {
        let call = self.links.ends_first();
        if call == NONE {
            return None;
        }
        let timed = &self.calls[call as usize];
        let frame = self.frames.last_mut()?;
        if timed.certain {
            // If it could come next, what fails is further on, and was noted there.
            let fails = self.model.step(&frame.state, &timed.call).is_none();
            if fails && self.furthest.is_none_or(|(end, _)| end < timed.end) {
                self.furthest = Some((timed.end, call));
            }
            return None;
        }
        // Once: `tried` goes beyond the calls that may come next.
        let all = self.next.len() - frame.start;
        if frame.tried > all {
            return None;
        }
        frame.tried = all + 1;
        let (state, set) = (frame.state.clone(), frame.set);
        self.take(call, false);
        Some((state, set))
    }

    fn take(&mut self, call: u32, effect: bool) {
        self.links.take(call);
        self.print ^= self.prints[call as usize];
        let looks = self.looks(call);
        self.certain_left -= usize::from(self.calls[call as usize].certain);
        self.looks_left -= usize::from(looks);
        self.trail.push(Taken { call, effect, linked: true });
    }

    /// Whether a call is certain and changes nothing.
    fn looks(&self, call: u32) -> bool {
        let timed = &self.calls[call as usize];
        timed.certain && self.model.reads_only(&timed.call)
    }

    // ---- going back ----

    fn back(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.next.truncate(frame.start);
            self.undo(frame.from);
        }
    }

    fn undo(&mut self, from: usize) {
        while self.trail.len() > from {
            let Some(taken) = self.trail.pop() else { return };
            if taken.linked {
                self.links.put_back(taken.call);
                self.print ^= self.prints[taken.call as usize];
                let looks = self.looks(taken.call);
                self.certain_left += usize::from(self.calls[taken.call as usize].certain);
                self.looks_left += usize::from(looks);
            }
        }
    }
}

/// Numbers for calls, the same for equal ones.
fn classes<C: Eq + std::hash::Hash>(calls: &[Timed<C>]) -> Vec<u32> {
    let mut known: HashMap<&C, u32> = HashMap::new();
    calls
        .iter()
        .map(|timed| {
            let next = known.len() as u32;
            *known.entry(&timed.call).or_insert(next)
        })
        .collect()
}

/// Calls that may be left out, each with the earlier call of its class, which is used first.
fn chained(optional: &[u32], class: &[u32], after: &[u32]) -> Vec<(u32, Option<usize>)> {
    let mut last: HashMap<u32, usize> = HashMap::new();
    let chain = |(at, call): (usize, &u32)| {
        let before = last.insert(class[*call as usize], at);
        (*call, before.filter(|_| after.is_empty()))
    };
    optional.iter().enumerate().map(chain).collect()
}
