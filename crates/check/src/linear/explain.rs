//! What shows that the calls on an object cannot be put in order: as few of them as possible.
//!
//! Some calls are *wrong by themselves* if they cannot be put in order even though every other read is
//! dropped and every other write that had begun by then may take effect at any time or never. If some are, then more are: an
//! order of more calls is one of fewer, in which the writes of those that are left out happen to take
//! effect where they did. So calls can be taken away one after another, and whichever cannot be taken
//! away once can never be: what remains is minimal. Together with whoever wrote what they saw, they
//! are a history of their own that cannot be put in order either: it has fewer writes to choose from.
//!
//! To begin with, only what had begun when the first call got stuck can matter, and mostly not even
//! that: the last few calls are tried first, then twice as many, and so on. So an object with a million
//! calls is explained as fast as one with a hundred, if what is wrong is near its end.

use hashbrown::{HashMap, HashSet};
use isolde_history::{OpId, TxnId, Value};
use isolde_spec::{Anomaly, Edges, Stuck, Witness};

use super::call::Did;
use super::model::Limits;
use super::object::{Kind, Object, Part};
use super::search::Found;
use super::sequence::Grow;
use super::why;
use crate::decide::Case;

/// How many calls are tried at first.
const FEW: usize = 8;
/// How many steps may be tried to find out whether some calls are wrong by themselves.
const STEPS: u64 = 200_000;

/// The witness of an object that cannot be put in order, in which a call is the first to be stuck.
pub(crate) fn witness(case: &Case<'_, '_>, object: &Object<'_>, stuck: usize) -> Witness {
    let options = &case.checker.options;
    let limits =
        Limits { steps: STEPS, memory: options.order_memory, deadline: options.deadline };
    // Where sessions bind, even what never ended may have to come first.
    let until = if object.after.is_empty() { object.items[stuck].end } else { i64::MAX };
    let explainer = Explainer::new(object, until, limits);
    let chosen = explainer.wrong_by_themselves();
    explainer.witness(case, &chosen)
}

struct Explainer<'o, 'h> {
    object: &'o Object<'h>,
    /// When the first call was stuck.
    until: i64,
    limits: Limits,
    /// How often each value had been written by then, if the object is a register.
    written: HashMap<Value, usize>,
}

impl<'o, 'h> Explainer<'o, 'h> {
    fn new(object: &'o Object<'h>, until: i64, limits: Limits) -> Explainer<'o, 'h> {
        let mut written = HashMap::new();
        if let Kind::Register { calls, .. } = &object.kind {
            let begun = object.items.iter().zip(calls).filter(|(item, _)| item.begin <= until);
            for value in begun.filter_map(|(_, did)| did.written()) {
                *written.entry(value).or_insert(0) += 1;
            }
        }
        Explainer { object, until, limits, written }
    }

    /// As few calls as possible that are wrong by themselves.
    fn wrong_by_themselves(&self) -> Vec<usize> {
        let all = self.relevant();
        let mut few = FEW.min(all.len());
        while few < all.len() && !self.is_wrong(&all[all.len() - few..], &all) {
            few = (2 * few).min(all.len());
        }
        let mut chosen = all[all.len() - few..].to_vec();
        let mut size = chosen.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < chosen.len() {
                let end = (at + size).min(chosen.len());
                let without: Vec<usize> = [&chosen[..at], &chosen[end..]].concat();
                if self.is_wrong(&without, &all) {
                    chosen = without;
                } else {
                    at = end;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        chosen
    }

    /// What had begun when the first call was stuck, the latest last.
    fn relevant(&self) -> Vec<usize> {
        let items = &self.object.items;
        let answered = |i: &usize| items[*i].end <= self.until;
        let begun = (0..items.len()).filter(|i| {
            items[*i].begin <= self.until && (answered(i) || !self.object.reads_only(*i))
        });
        let mut all: Vec<usize> = begun.collect();
        all.sort_by_key(|i| if answered(i) { items[*i].end } else { items[*i].begin });
        all
    }

    /// Whether some of all calls are wrong by themselves.
    fn is_wrong(&self, chosen: &[usize], all: &[usize]) -> bool {
        let until = self.until;
        let found = if let Kind::Register { calls, .. } = &self.object.kind {
            let free = self.free(calls, chosen);
            let part = Part { free: Some(&free), ..Part::of(chosen, until) };
            self.object.order_of(part, &self.limits).0
        } else {
            let known: HashSet<usize> = chosen.iter().copied().collect();
            let others: Vec<usize> = all.iter().copied().filter(|i| !known.contains(i)).collect();
            let part = Part { others: &others, ..Part::of(chosen, until) };
            self.object.order_of(part, &self.limits).0
        };
        matches!(found, Found::None { .. })
    }

    /// What others than these calls write, as far as it matters: whatever these saw, and two values
    /// more, since a comparison that failed only says what was not there.
    fn free(&self, calls: &[Did], chosen: &[usize]) -> HashSet<Value> {
        let mut own: HashMap<Value, usize> = HashMap::new();
        for value in chosen.iter().filter_map(|i| calls[*i].written()) {
            *own.entry(value).or_insert(0) += 1;
        }
        let by_others = |value: &Value| {
            let all = self.written.get(value).copied().unwrap_or(0);
            all > own.get(value).copied().unwrap_or(0)
        };
        let seen = chosen.iter().filter_map(|i| calls[*i].seen()).filter(by_others);
        let any = self.written.keys().copied().filter(by_others).take(2);
        seen.chain(any).collect()
    }

    fn witness(&self, case: &Case<'_, '_>, chosen: &[usize]) -> Witness {
        let context = case.context();
        let history = context.history;
        let items = &self.object.items;
        let mut chosen = chosen.to_vec();
        chosen.sort_by_key(|i| (items[*i].begin, items[*i].op));
        let mut writers = self.writers_of_what_was_seen(&chosen);
        let several = matches!(self.object.kind, Kind::Several { .. });
        // What transactions on several registers saw can be told only if all of it can.
        while several {
            let all: Vec<usize> = chosen.iter().chain(&writers).copied().collect();
            let more = self.writers_of_what_was_seen(&all);
            if more.is_empty() {
                break;
            }
            writers.extend(more);
        }
        let mut together: Vec<usize> = chosen.iter().chain(&writers).copied().collect();
        together.sort_by_key(|i| (items[*i].begin, items[*i].op));
        let ops_of = |i: &usize| -> Vec<OpId> {
            let item = &items[*i];
            if several { history.txn(item.txn).ops().map(|op| op.id()).collect() } else { vec![item.op] }
        };
        let mut txns: Vec<TxnId> = chosen.iter().map(|i| items[*i].txn).collect();
        txns.sort_unstable();
        let mut support: Vec<TxnId> = writers.iter().map(|i| items[*i].txn).collect();
        support.sort_unstable();
        support.retain(|txn| !txns.contains(txn));
        Witness {
            needs: self.needs(&together),
            ops: chosen.iter().flat_map(ops_of).collect(),
            txns,
            support,
            stuck: self.stuck(case, &together),
            ..Witness::of(Anomaly::NotLinearizable)
        }
    }

    /// Which orders some calls break: whether they are wrong without real time, or without sessions.
    fn needs(&self, together: &[usize]) -> Edges {
        let both = Edges::SO | Edges::RT;
        let ways = [(false, false, Edges::NONE), (false, true, Edges::SO), (true, false, Edges::RT)];
        let wrong = |(timed, sessions, _): &(bool, bool, Edges)| {
            let part =
                Part { timed: *timed, sessions: *sessions, ..Part::of(together, self.until) };
            matches!(self.object.order_of(part, &self.limits).0, Found::None { .. })
        };
        ways.into_iter().find(wrong).map_or(both, |(_, _, needs)| needs)
    }

    /// Whoever wrote what some calls saw and is not among them, one for each value.
    fn writers_of_what_was_seen(&self, chosen: &[usize]) -> Vec<usize> {
        let items = &self.object.items;
        let mut writers: Vec<usize> = Vec::new();
        type Cells = Vec<(u32, Value)>;
        let mut add = |seen: &dyn Fn(usize) -> Cells, written: &dyn Fn(usize) -> Cells| {
            for &reader in chosen {
                for cell in seen(reader) {
                    let writes = |i: &usize| *i != reader && written(*i).contains(&cell);
                    if !chosen.iter().chain(&writers).any(writes) {
                        // The latest one that can have been seen.
                        let all = (0..items.len()).filter(writes);
                        let best = all.max_by_key(|i| {
                            (items[*i].begin <= items[reader].end, items[*i].certain, items[*i].begin)
                        });
                        writers.extend(best);
                    }
                }
            }
        };
        match &self.object.kind {
            Kind::Register { initial, calls, .. } => {
                let cell = |value: Option<Value>| value.map(|v| (0, v)).into_iter().collect();
                let seen = |i: usize| cell(calls[i].seen().filter(|value| value != initial));
                add(&seen, &|i| cell(calls[i].written()));
            }
            Kind::List { initial, calls } => {
                let cells = |values: &[Value]| values.iter().map(|v| (0, *v)).collect::<Cells>();
                let written = |i: usize| match &calls[i] {
                    Grow::Append(piece) => cells(piece),
                    Grow::Read(_) | Grow::Replace(_) => Vec::new(),
                };
                let seen = |i: usize| match &calls[i] {
                    Grow::Read(all) => cells(all.strip_prefix(&initial[..]).unwrap_or(all)),
                    Grow::Append(_) | Grow::Replace(_) => Vec::new(),
                };
                add(&seen, &written);
            }
            // What was read of a text has no single writer.
            Kind::Text { .. } => {}
            Kind::Several { initial, calls } => {
                let cells = |i: usize, of: fn(Did) -> Option<Value>| -> Cells {
                    calls[i].iter().filter_map(|(at, did)| Some((*at, of(*did)?))).collect()
                };
                let new = |(at, value): &(u32, Value)| initial.get(*at as usize) != Some(value);
                let seen = |i: usize| cells(i, Did::seen).into_iter().filter(new).collect();
                add(&seen, &|i| cells(i, Did::written));
            }
        }
        writers.sort_unstable();
        writers.dedup();
        writers
    }

    /// How far some calls can be put in order.
    fn stuck(&self, case: &Case<'_, '_>, together: &[usize]) -> Option<Stuck> {
        let part = Part::of(together, self.until);
        let Found::None { stuck } = self.object.order_of(part, &self.limits).0 else {
            return None;
        };
        let stuck = *together.get(stuck)?;
        let until = self.object.items[stuck].end.checked_sub(1)?;
        let items = &self.object.items;
        let before: Vec<usize> =
            together.iter().copied().filter(|i| *i != stuck && items[*i].begin <= until).collect();
        let part = Part::of(&before, until);
        let prefix: Vec<usize> = match self.object.order_of(part, &self.limits).0 {
            Found::Order(order) => order.into_iter().map(|place| before[place]).collect(),
            Found::None { .. } | Found::GaveUp(_) => return None,
        };
        Some(Stuck {
            prefix: prefix.iter().map(|i| items[*i].op).collect(),
            op: items[stuck].op,
            why: why::sentence(case.context(), self.object, &prefix, stuck),
        })
    }
}
