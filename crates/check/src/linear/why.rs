//! Why a call cannot come next, in words.

use isolde_history::{History, Key, OpId, Value};

use super::call::Did;
use super::object::{Kind, Object};
use super::sequence::Grow;
use crate::keys::context::Context;
use crate::keys::wording::Wording;

/// How long a value or an operation may be in a sentence.
const LONG: usize = 60;

/// Why a call cannot follow some others, which were put in this order.
pub(crate) fn sentence(
    context: &Context<'_>,
    object: &Object<'_>,
    prefix: &[usize],
    stuck: usize,
) -> String {
    let teller = Teller { history: context.history, object };
    match &object.kind {
        Kind::Register { initial, calls, .. } => {
            let last = prefix.iter().rev().find(|i| calls[**i].written().is_some()).copied();
            let held = last.and_then(|i| calls[i].written()).unwrap_or(*initial);
            let key = context.history.op(object.items[stuck].op).key();
            let base = teller.register(key, last, held, object.items[stuck].op, calls[stuck]);
            let seen = calls[stuck].seen();
            let more =
                seen.map(|v| teller.where_from(v, *initial, calls, stuck)).unwrap_or_default();
            base + &more
        }
        Kind::List { initial, calls } => {
            let mut held = initial.clone();
            for &i in prefix {
                match &calls[i] {
                    Grow::Append(piece) => held.extend(&**piece),
                    Grow::Replace(all) => held = all.to_vec(),
                    Grow::Read(_) => {}
                }
            }
            let words: Vec<String> = held.iter().map(|v| teller.value(*v)).collect();
            teller.grown(&format!("[{}]", words.join(",")), prefix, stuck)
        }
        Kind::Text { initial, calls } => {
            let mut held = initial.as_bytes().to_vec();
            for &i in prefix {
                match &calls[i] {
                    Grow::Append(piece) => held.extend_from_slice(piece),
                    Grow::Replace(all) => held = all.to_vec(),
                    Grow::Read(_) => {}
                }
            }
            let text = String::from_utf8_lossy(&held);
            teller.grown(&format!("{text:?}"), prefix, stuck)
        }
        Kind::Several { initial, calls } => {
            let mut held = initial.clone();
            let mut last: Vec<Option<usize>> = vec![None; held.len()];
            for &i in prefix {
                for (at, did) in &calls[i] {
                    if let Some(value) = did.written() {
                        held[*at as usize] = value;
                        last[*at as usize] = Some(i);
                    }
                }
            }
            teller.several(held, &last, &calls[stuck], stuck)
        }
    }
}

struct Teller<'t, 'h> {
    history: &'h History,
    object: &'t Object<'h>,
}

impl Teller<'_, '_> {
    fn value(&self, value: Value) -> String {
        let mut text = String::new();
        isolde_history::notation::write_value(self.history.pool(), value, &mut text);
        shorten(&text)
    }

    fn op(&self, op: OpId) -> String {
        let mut text = String::new();
        isolde_history::notation::write_op(self.history, self.history.op(op), &mut text);
        shorten(&text)
    }

    fn call(&self, i: usize) -> String {
        self.op(self.object.items[i].op)
    }

    /// "after w(x,3) x holds 3, but r(x,1) returned 1".
    fn register(&self, key: Key, last: Option<usize>, held: Value, op: OpId, did: Did) -> String {
        let key = Wording(self.history).key(key);
        let after =
            last.map_or_else(|| "at first".to_owned(), |i| format!("after {}", self.call(i)));
        let (held_words, op) = (self.value(held), self.op(op));
        let holds = if held == Value::ABSENT {
            format!("{after} there is nothing under {key}")
        } else {
            format!("{after} {key} holds {held_words}")
        };
        let saw = match did {
            Did::Read(value) => format!("but {op} returned {}", self.value(value)),
            Did::Swap { from: Value::ABSENT, .. } => format!("but {op} found nothing there"),
            Did::Swap { from, .. } => format!("but {op} found {}", self.value(from)),
            Did::NotEqual(value) => format!("but {op} did not find {}", self.value(value)),
            Did::Present => format!("but {op} found something there"),
            Did::Write(_) | Did::Append(_) | Did::ReadList => format!("but {op} cannot follow"),
        };
        format!("{holds}, {saw}")
    }

    /// Why it cannot have seen a value earlier or later either, if that is easily said.
    fn where_from(&self, value: Value, initial: Value, calls: &[Did], stuck: usize) -> String {
        let items = &self.object.items;
        let writes: Vec<usize> =
            (0..calls.len()).filter(|i| calls[*i].written() == Some(value)).collect();
        let begun = writes.iter().copied().filter(|i| items[*i].begin <= items[stuck].end);
        let begun: Vec<usize> = begun.collect();
        let value_words = self.value(value);
        // The value that had certainly been replaced when the call began, and the call that did.
        let replaced = |end: i64| {
            let by = |i: &usize| {
                let later = items[*i].begin > end && items[*i].end < items[stuck].begin;
                let other = calls[*i].written().is_some_and(|v| v != value);
                later && other && items[*i].certain
            };
            (0..calls.len()).filter(by).max_by_key(|i| items[*i].begin)
        };
        match (&begun[..], value == initial) {
            ([], false) => match writes.first() {
                None => format!(", and no operation wrote {value_words}"),
                Some(first) => {
                    let first = self.call(*first);
                    format!(
                        ", and the first write of {value_words}, {first}, began only after that"
                    )
                }
            },
            ([], true) => match replaced(i64::MIN) {
                Some(by) => {
                    let by = self.call(by);
                    format!(
                        ", which was there at first only, and {by} had replaced it before that began"
                    )
                }
                None => String::new(),
            },
            ([write], false) => match replaced(items[*write].end) {
                Some(by) => format!(
                    ", and the only write of {value_words} until then, {}, had been overwritten by {} \
                     before that began",
                    self.call(*write),
                    self.call(by)
                ),
                None => String::new(),
            },
            (all, was_there) => {
                let over = all.iter().all(|write| replaced(items[*write].end).is_some());
                let first_over = !was_there || replaced(i64::MIN).is_some();
                if !over || !first_over {
                    return String::new();
                }
                format!(
                    ", and each of the {} writes of {value_words} until then had been overwritten before \
                     that began",
                    all.len()
                )
            }
        }
    }

    /// "after append(x,3) x holds [1,3], but list(x,[3,1]) returned something else".
    fn grown(&self, held: &str, prefix: &[usize], stuck: usize) -> String {
        let item = &self.object.items[stuck];
        let key = Wording(self.history).key(self.history.op(item.op).key());
        let writes = prefix.iter().rev().find(|i| !self.object.reads_only(**i));
        let after =
            writes.map_or_else(|| "at first".to_owned(), |i| format!("after {}", self.call(*i)));
        format!(
            "{after} {key} holds {}, but {} returned something else",
            shorten(held),
            self.op(item.op)
        )
    }

    /// What the first operation of a transaction that is wrong saw, and what there was.
    fn several(
        &self,
        mut held: Vec<Value>,
        last: &[Option<usize>],
        steps: &[(u32, Did)],
        stuck: usize,
    ) -> String {
        let txn = self.history.txn(self.object.items[stuck].txn);
        let ops = txn.ops().filter(|op| super::call::what_it_did(op).is_some());
        for ((at, did), op) in steps.iter().zip(ops) {
            let at = *at as usize;
            let right = match *did {
                Did::Read(value) | Did::Swap { from: value, .. } => held[at] == value,
                Did::NotEqual(value) => held[at] != value,
                Did::Present => held[at] != Value::ABSENT,
                Did::Write(_) | Did::Append(_) | Did::ReadList => true,
            };
            if !right {
                return self.register(op.key(), last[at], held[at], op.id(), *did);
            }
            if let Some(value) = did.written() {
                held[at] = value;
            }
        }
        format!("{} cannot follow", Wording(self.history).txn(txn.id()))
    }
}

/// A text that fits into a sentence.
fn shorten(text: &str) -> String {
    if text.chars().count() <= LONG {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONG / 2).collect();
    let tail: Vec<char> = text.chars().rev().take(LONG / 3).collect();
    format!("{head}...{}", tail.into_iter().rev().collect::<String>())
}
