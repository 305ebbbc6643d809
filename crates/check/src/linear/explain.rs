//! What shows that the calls on an object cannot be put in order: as few of them as possible.
//!
//! Some calls are *wrong by themselves* if they cannot be put in order even though every other read is
//! dropped and every other write may have taken effect in its time or never. If some are, then more
//! are: an order of more calls is one of fewer, in which the writes of those that are left out happen to
//! take effect where they did. So calls can be taken away one after another, and whichever cannot be
//! taken away once can never be: what remains is minimal. Together with the writers of what they saw,
//! they are a history of their own that cannot be put in order either: it has fewer writes to choose
//! from.
//!
//! To begin with, only what had begun when the first call got stuck can matter, and mostly not even
//! that: the last few calls are tried first, then twice as many, and so on. So an object with a million
//! calls is explained as fast as one with a hundred, if what is wrong is near its end.

use hashbrown::{HashMap, HashSet};
use isolde_history::{OpId, TxnId, Value};
use isolde_spec::{Anomaly, Edges, Stuck, Witness};

use super::call::Did;
use super::object::{Kind, Object, SomeCalls};
use super::register::Early;
use super::search::{SearchEnd, SearchLimits};
use super::sequence::Grow;
use super::why;
use crate::question::Question;

/// How many calls are tried at first.
const FEW: usize = 8;
/// How many steps may be tried to find out whether some calls are wrong by themselves.
const STEPS: u64 = 200_000;

/// How many writers of pieces of a text are shown.
const PIECES: usize = 16;

/// The witness of an object that cannot be put in order, in which a call is the first to be stuck.
pub(crate) fn witness(question: &Question<'_, '_>, object: &Object<'_>, stuck: usize) -> Witness {
    let (memory, check) = (question.options().order_memory, question.limits());
    let limits = SearchLimits { steps: STEPS, memory, check };
    // Where sessions bind, even what never ended may have to come first.
    let until = if object.after.is_empty() { object.items[stuck].end } else { i64::MAX };
    let explainer = CallExplainer::new(object, until, limits);
    let chosen = explainer.wrong_by_themselves();
    explainer.witness(question, &chosen)
}

struct CallExplainer<'o, 'h, 'l> {
    object: &'o Object<'h>,
    /// When the first call was stuck.
    until: i64,
    limits: SearchLimits<'l>,
    /// What had been answered by then, the latest last; and what had not, if it may have written.
    answered: Vec<usize>,
    open: Vec<usize>,
    /// When each value had been written for the first time, and these times in order, if the object is a
    /// register.
    written: HashMap<Value, i64>,
    times: Vec<i64>,
}

impl<'o, 'h, 'l> CallExplainer<'o, 'h, 'l> {
    fn new(
        object: &'o Object<'h>,
        until: i64,
        limits: SearchLimits<'l>,
    ) -> CallExplainer<'o, 'h, 'l> {
        let items = &object.items;
        let begun = (0..items.len()).filter(|i| items[*i].begin <= until);
        let (mut answered, mut open): (Vec<usize>, Vec<usize>) =
            begun.partition(|i| items[*i].end <= until);
        answered.sort_by_key(|i| items[*i].end);
        open.retain(|i| !object.reads_only(*i));
        let mut written: HashMap<Value, i64> = HashMap::new();
        if let Kind::Register { calls, .. } = &object.kind {
            for i in &answered {
                if let Some(value) = calls[*i].written() {
                    written.entry(value).or_insert(items[*i].end);
                }
            }
        }
        let mut times: Vec<i64> = written.values().copied().collect();
        times.sort_unstable();
        CallExplainer { object, until, limits, answered, open, written, times }
    }

    /// As few calls as possible that are wrong by themselves.
    fn wrong_by_themselves(&self) -> Vec<usize> {
        let all = [&self.open[..], &self.answered[..]].concat();
        let mut few = FEW.min(all.len());
        while few < all.len() && !self.is_wrong(&all[all.len() - few..]) {
            few = (2 * few).min(all.len());
        }
        let mut chosen = all[all.len() - few..].to_vec();
        let mut size = chosen.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < chosen.len() {
                let end = (at + size).min(chosen.len());
                let without: Vec<usize> = [&chosen[..at], &chosen[end..]].concat();
                if self.is_wrong(&without) {
                    chosen = without;
                } else {
                    at = end;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        chosen
    }

    /// Whether some calls are wrong by themselves.
    fn is_wrong(&self, chosen: &[usize]) -> bool {
        let items = &self.object.items;
        let first = chosen.iter().map(|i| items[*i].begin).min().unwrap_or(i64::MAX);
        // Of what had ended before all of these, a register shows one value at most.
        let register = matches!(self.object.kind, Kind::Register { .. });
        let early = register.then(|| Early {
            written: &self.written,
            until: first,
            count: self.times.partition_point(|time| *time < first),
        });
        let over = self.answered.partition_point(|i| register && items[*i].end < first);
        let known: HashSet<usize> = chosen.iter().copied().collect();
        let others = self.open.iter().chain(&self.answered[over..]).copied();
        let others: Vec<usize> = others.filter(|i| !known.contains(i)).collect();
        let part = SomeCalls { others: &others, early, ..SomeCalls::of(chosen, self.until) };
        matches!(self.object.order_of(part, &self.limits).0, SearchEnd::None { .. })
    }

    fn witness(&self, question: &Question<'_, '_>, chosen: &[usize]) -> Witness {
        let context = question.context();
        let history = context.history;
        let items = &self.object.items;
        let mut chosen = chosen.to_vec();
        chosen.sort_by_key(|i| (items[*i].begin, items[*i].op));
        let mut writers = self.writers_of_what_was_seen(&chosen);
        let several = matches!(self.object.kind, Kind::Several { .. });
        // What transactions on several registers saw can be told only if all of it can.
        let mut more = if several { writers.clone() } else { Vec::new() };
        while !more.is_empty() {
            let all: Vec<usize> = chosen.iter().chain(&writers).copied().collect();
            more = self.writers_of_what_was_seen(&all);
            writers.extend(&more);
        }
        let mut together: Vec<usize> = chosen.iter().chain(&writers).copied().collect();
        together.sort_by_key(|i| (items[*i].begin, items[*i].op));
        let ops_of = |i: &usize| -> Vec<OpId> {
            let item = &items[*i];
            if several {
                history.txn(item.txn).ops().map(|op| op.id()).collect()
            } else {
                vec![item.op]
            }
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
            stuck: self.stuck(question, &together),
            ..Witness::of(Anomaly::NotLinearizable)
        }
    }

    /// Which orders some calls break: whether they are wrong without real time, or without sessions.
    fn needs(&self, together: &[usize]) -> Edges {
        let both = Edges::SO | Edges::RT;
        let ways =
            [(false, false, Edges::NONE), (false, true, Edges::SO), (true, false, Edges::RT)];
        let wrong = |(timed, sessions, _): &(bool, bool, Edges)| {
            let part = SomeCalls {
                timed: *timed,
                sessions: *sessions,
                ..SomeCalls::of(together, self.until)
            };
            matches!(self.object.order_of(part, &self.limits).0, SearchEnd::None { .. })
        };
        ways.into_iter().find(wrong).map_or(both, |(_, _, needs)| needs)
    }

    /// The writers of what some calls saw that are not among them, one for each value.
    fn writers_of_what_was_seen(&self, chosen: &[usize]) -> Vec<usize> {
        let items = &self.object.items;
        let mut writers: Vec<usize> = Vec::new();
        type Cells = Vec<(u32, Value)>;
        let mut add = |seen: &dyn Fn(usize) -> Cells, written: &dyn Fn(usize) -> Cells| {
            // A call that may have taken no effect need not have seen anything.
            for &reader in chosen.iter().filter(|i| items[**i].certain) {
                for cell in seen(reader) {
                    let writes = |i: &usize| *i != reader && written(*i).contains(&cell);
                    if !chosen.iter().chain(&writers).any(writes) {
                        // The latest one that can have been seen.
                        let all = (0..items.len()).filter(writes);
                        let best = all.max_by_key(|i| {
                            (
                                items[*i].begin <= items[reader].end,
                                items[*i].certain,
                                items[*i].begin,
                            )
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
            Kind::Text { calls, .. } => writers = self.pieces_of_what_was_read(chosen, calls),
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

    /// The writers of pieces of what some calls read of a text, if those are few.
    fn pieces_of_what_was_read(&self, chosen: &[usize], calls: &[Grow<'_, u8>]) -> Vec<usize> {
        let begun = self.open.iter().chain(&self.answered).filter(|i| !chosen.contains(i));
        let in_a_text = |piece: &[u8]| {
            chosen.iter().any(|i| match &calls[*i] {
                Grow::Read(all) => all.windows(piece.len()).any(|window| window == piece),
                Grow::Append(_) | Grow::Replace(_) => false,
            })
        };
        let wrote = |i: &&usize| match &calls[**i] {
            Grow::Append(piece) | Grow::Replace(piece) => !piece.is_empty() && in_a_text(piece),
            Grow::Read(_) => false,
        };
        let pieces: Vec<usize> = begun.filter(wrote).copied().take(PIECES + 1).collect();
        if pieces.len() > PIECES { Vec::new() } else { pieces }
    }

    /// How far some calls can be put in order.
    fn stuck(&self, question: &Question<'_, '_>, together: &[usize]) -> Option<Stuck> {
        let part = SomeCalls { quick: false, ..SomeCalls::of(together, self.until) };
        let SearchEnd::None { stuck } = self.object.order_of(part, &self.limits).0 else {
            return None;
        };
        let stuck = *together.get(stuck)?;
        let until = self.object.items[stuck].end.checked_sub(1)?;
        let items = &self.object.items;
        let before: Vec<usize> =
            together.iter().copied().filter(|i| *i != stuck && items[*i].begin <= until).collect();
        let part = SomeCalls { quick: false, ..SomeCalls::of(&before, until) };
        let prefix: Vec<usize> = match self.object.order_of(part, &self.limits).0 {
            SearchEnd::Order(order) => order.into_iter().map(|place| before[place]).collect(),
            SearchEnd::None { .. } | SearchEnd::GaveUp(_) => return None,
        };
        Some(Stuck {
            prefix: prefix.iter().map(|i| items[*i].op).collect(),
            op: items[stuck].op,
            why: why::sentence(question.context(), self.object, &prefix, stuck),
        })
    }
}
