//! An object of a history, and the calls that were made on it.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Datum, History, OpId, TxnId, Value};

use super::call::{Call, Did};
use super::links::NONE;
use super::model::{Model, Timed};
use super::register::{Early, Register};
use super::search::{OrderSearch, SearchEnd, SearchLimits};
use super::sequence::{Grow, Sequence};
use super::several::{Several, Steps};
use super::zones;
use crate::keys::context::Context;
use crate::keys::findings::Doubt;
use crate::keys::wording::Wording;

/// When a call was made, by which session, and whether it took effect for certain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) txn: TxnId,
    /// The operation that stands for it.
    pub(crate) op: OpId,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) certain: bool,
}

/// An object with its calls.
pub(crate) struct Object<'h> {
    pub(crate) items: Vec<Item>,
    pub(crate) kind: Kind<'h>,
    /// What each call has to come after in its session, or [`NONE`], where sessions say more than real
    /// time does; empty where they do not.
    pub(crate) after: Vec<u32>,
    /// What keeps "in order" from being an answer.
    pub(crate) doubt: Option<String>,
}

/// What an object is, with what each call did to it.
pub(crate) enum Kind<'h> {
    Register { initial: Value, free: HashSet<Value>, calls: Vec<Did> },
    List { initial: Vec<Value>, calls: Vec<Grow<'h, Value>> },
    Text { initial: &'h str, calls: Vec<Grow<'h, u8>> },
    Several { initial: Vec<Value>, calls: Vec<Steps> },
}

/// Some calls of an object, as far as they matter.
#[derive(Clone, Copy)]
pub(crate) struct SomeCalls<'p> {
    /// The calls to put in order.
    pub(crate) chosen: &'p [usize],
    /// Calls whose writes may take effect in their time, or never.
    pub(crate) others: &'p [usize],
    /// What a register may hold before all of these.
    pub(crate) early: Option<Early<'p>>,
    /// What ended later has not ended yet.
    pub(crate) until: i64,
    /// Whether real time counts.
    pub(crate) timed: bool,
    /// Whether sessions do.
    pub(crate) sessions: bool,
    /// Whether an answer without a search will do: then what is stuck is not the first that is.
    pub(crate) quick: bool,
}

impl<'p> SomeCalls<'p> {
    /// Some calls until a moment, and no others.
    pub(crate) fn of(chosen: &'p [usize], until: i64) -> SomeCalls<'p> {
        SomeCalls {
            chosen,
            others: &[],
            early: None,
            until,
            timed: true,
            sessions: true,
            quick: true,
        }
    }
}

/// Why the calls on a key cannot be put in order.
fn mixed(words: &Wording<'_>, op: OpId) -> String {
    words.doubt(&Doubt::Mixed(op))
}

impl<'h> Object<'h> {
    /// The object of a key; the reason if it is not known what was done to it.
    pub(crate) fn new(
        context: &Context<'h>,
        key: usize,
        mut calls: Vec<Call>,
    ) -> Result<Object<'h>, String> {
        let history = context.history;
        let words = Wording(history);
        let initial = context.first_value(key);
        if context.explicit_initial {
            calls.retain(|call| call.did != Did::Write(initial));
        }
        let unlearned = |call: &&Call| call.did.written() == Some(Value::UNOBSERVED);
        if let Some(call) = calls.iter().find(unlearned) {
            return Err(words.doubt(&Doubt::Unlearned(call.op)));
        }
        let items = calls.iter().map(|call| Item {
            txn: call.txn,
            op: call.op,
            begin: call.begin,
            end: call.end,
            certain: call.certain,
        });
        let items: Vec<Item> = items.collect();
        let grows = |call: &Call| matches!(call.did, Did::Append(_) | Did::ReadList);
        let (kind, doubt) = if is_text(history) {
            text(history, initial, &calls)?
        } else if calls.iter().any(grows) {
            list(history, initial, &calls)?
        } else {
            register(history, initial, &calls)
        };
        Ok(Object { items, kind, after: Vec::new(), doubt })
    }

    /// How many calls there are.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn reads_only(&self, call: usize) -> bool {
        match &self.kind {
            Kind::Register { calls, .. } => calls[call].reads_only(),
            Kind::List { calls, .. } => matches!(calls[call], Grow::Read(_)),
            Kind::Text { calls, .. } => matches!(calls[call], Grow::Read(_)),
            Kind::Several { calls, .. } => calls[call].iter().all(|(_, did)| did.reads_only()),
        }
    }

    /// Looks for an order of all calls.
    pub(crate) fn order(&self, limits: &SearchLimits<'_>) -> (SearchEnd, u64) {
        let all: Vec<usize> = (0..self.len()).collect();
        self.order_of(SomeCalls::of(&all, i64::MAX), limits)
    }

    /// Looks for an order of some calls. The numbers of the answer are places among those chosen.
    pub(crate) fn order_of(&self, part: SomeCalls<'_>, l: &SearchLimits<'_>) -> (SearchEnd, u64) {
        let after = &self.after_in(part)[..];
        match &self.kind {
            Kind::Register { initial, free, calls } => {
                let register = Register { initial: *initial, free, early: part.early };
                let written = |did: &Did| did.written().map(Did::Write);
                let timed = self.timed(part, calls, written);
                let quick = if after.is_empty() && part.quick {
                    zones::order(&register, &timed)
                } else {
                    None
                };
                quick.map_or_else(|| run(&register, &timed, after, l), |found| (found, 0))
            }
            Kind::List { initial, calls } => {
                let timed = self.timed(part, calls, written);
                let sequence = Sequence::new(initial, timed.iter().map(|t| &t.call));
                run(&sequence, &timed, after, l)
            }
            Kind::Text { initial, calls } => {
                let timed = self.timed(part, calls, written);
                let sequence = Sequence::new(initial.as_bytes(), timed.iter().map(|t| &t.call));
                run(&sequence, &timed, after, l)
            }
            Kind::Several { initial, calls } => {
                let timed = self.timed(part, calls, |steps| {
                    let writes = steps.iter().filter_map(|(at, did)| {
                        did.written().map(|value| (*at, Did::Write(value)))
                    });
                    Some(writes.collect::<Steps>()).filter(|steps| !steps.is_empty())
                });
                run(&Several { initial: initial.clone() }, &timed, after, l)
            }
        }
    }

    /// What each of the chosen calls has to come after in its session, by their places.
    fn after_in(&self, part: SomeCalls<'_>) -> Vec<u32> {
        if self.after.is_empty() || !part.sessions {
            return Vec::new();
        }
        let places = (0u32..).zip(part.chosen).map(|(place, i)| (*i as u32, place));
        let places: HashMap<u32, u32> = places.collect();
        let before = |i: &usize| {
            let mut at = self.after[*i];
            while at != NONE && !places.contains_key(&at) {
                at = self.after[at as usize];
            }
            places.get(&at).copied().unwrap_or(NONE)
        };
        part.chosen.iter().map(before).collect()
    }

    /// The calls of a part, as if it ended at its moment.
    fn timed<C: Clone>(
        &self,
        part: SomeCalls<'_>,
        calls: &[C],
        written: impl Fn(&C) -> Option<C>,
    ) -> Vec<Timed<C>> {
        let timed = |i: usize, call: C, chosen: bool| {
            let item = &self.items[i];
            let ended = item.end <= part.until;
            let end = if ended { item.end } else { i64::MAX };
            let certain = chosen && item.certain && (ended || part.until == i64::MAX);
            let (begin, end) = if part.timed { (item.begin, end) } else { (i64::MIN, i64::MAX) };
            Timed { call, begin, end, certain }
        };
        let chosen = part.chosen.iter().map(|&i| timed(i, calls[i].clone(), true));
        let others = part.others.iter().filter_map(|&i| Some(timed(i, written(&calls[i])?, false)));
        chosen.chain(others).collect()
    }
}

fn run<M: Model>(
    m: &M,
    calls: &[Timed<M::Call>],
    after: &[u32],
    limits: &SearchLimits<'_>,
) -> (SearchEnd, u64) {
    debug_assert!(after.iter().all(|a| *a == NONE || (*a as usize) < calls.len()), "{after:?}");
    let mut search = OrderSearch::new(m, calls, after, limits);
    let found = search.run();
    (found, search.steps())
}

/// What a call may do to an object that grows, whatever it saw.
fn written<'h, T: Clone>(call: &Grow<'h, T>) -> Option<Grow<'h, T>> {
    (!matches!(call, Grow::Read(_))).then(|| call.clone())
}

/// Whether the keys of a history hold texts to which pieces are appended.
pub(crate) fn is_text(history: &History) -> bool {
    let model = history.info("model").and_then(|model| history.pool().as_text(model));
    model == Some("string-append")
}

type Made<'h> = (Kind<'h>, Option<String>);

fn register<'h>(history: &'h History, initial: Value, calls: &[Call]) -> Made<'h> {
    let dids: Vec<Did> = calls.iter().map(|call| call.did).collect();
    let mut free = HashSet::new();
    let mut doubt = None;
    if !history.meta().complete {
        let written: HashSet<Value> = dids.iter().filter_map(|did| did.written()).collect();
        let known = |value: &Value| *value == initial || written.contains(value);
        for call in calls {
            if let Some(value) = call.did.seen().filter(|value| !known(value)) {
                free.insert(value);
                doubt.get_or_insert_with(|| Wording(history).doubt(&Doubt::UnknownWriter(call.op)));
            }
        }
    }
    (Kind::Register { initial, free, calls: dids }, doubt)
}

fn list<'h>(history: &'h History, initial: Value, calls: &[Call]) -> Result<Made<'h>, String> {
    let words = Wording(history);
    let mut grows = Vec::with_capacity(calls.len());
    for call in calls {
        grows.push(match call.did {
            Did::Append(value) => Grow::Append([value].into()),
            Did::Write(Value::ABSENT) => Grow::Replace([].into()),
            Did::ReadList => Grow::Read(history.op(call.op).elements().unwrap_or_default()),
            _ => return Err(mixed(&words, call.op)),
        });
    }
    let initial: Vec<Value> = match history.pool().datum(initial) {
        Datum::List(elements) => elements.iter().collect(),
        _ => Vec::new(),
    };
    if !history.meta().complete {
        let appended: HashSet<Value> = calls.iter().filter_map(|call| call.did.written()).collect();
        let unknown = |e: &Value| !initial.contains(e) && !appended.contains(e);
        for (call, grow) in calls.iter().zip(&grows) {
            if matches!(grow, Grow::Read(all) if all.iter().any(unknown)) {
                return Err(words.doubt(&Doubt::UnknownWriter(call.op)));
            }
        }
    }
    Ok((Kind::List { initial, calls: grows }, None))
}

fn text<'h>(history: &'h History, initial: Value, calls: &[Call]) -> Result<Made<'h>, String> {
    let (words, pool) = (Wording(history), history.pool());
    let mut grows = Vec::with_capacity(calls.len());
    for call in calls {
        let text = |value: Value| match value {
            Value::ABSENT => Ok(""),
            value => pool.as_text(value).ok_or_else(|| mixed(&words, call.op)),
        };
        grows.push(match call.did {
            Did::Append(value) => Grow::Append(text(value)?.as_bytes().into()),
            Did::Write(value) => Grow::Replace(text(value)?.as_bytes().into()),
            Did::Read(value) => {
                if !history.meta().complete {
                    return Err(words.doubt(&Doubt::UnknownWriter(call.op)));
                }
                Grow::Read(text(value)?.as_bytes())
            }
            _ => return Err(mixed(&words, call.op)),
        });
    }
    let initial = pool.as_text(initial).unwrap_or("");
    Ok((Kind::Text { initial, calls: grows }, None))
}
