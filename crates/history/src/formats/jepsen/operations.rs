//! What an operation's `:value` says: the micro-operations of a transaction, or one operation on
//! one object.

use std::marker::PhantomData;

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::Outcome;
use crate::formats::jepsen::event::{Function, LogEvent, Phase};
use crate::formats::jepsen::keys::is_common_key;
use crate::formats::jepsen::mutex;
use crate::formats::jepsen::notation::{Notation, Shape};
use crate::ids::Key;
use crate::op::Effect;
use crate::pool::Pool;
use crate::value::Value;

/// The key of histories about a single object, which has no name in them.
pub(crate) const REGISTER: &str = "register";

/// How a file says what its operations are. Everything else (by which process, when, with what
/// outcome) is the same in all files of the family.
pub(crate) trait Dialect<'a> {
    /// The notation of the operation maps.
    type Notation: Notation<'a>;

    /// Looks at an event before anything is made of it.
    fn observe(&mut self, _event: &LogEvent) -> Result<(), Fault> {
        Ok(())
    }

    /// Adds the operations of an event's value to the transaction, whose outcome is known.
    fn operations(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault>;

    /// Whether the name of the function adds anything to the operations.
    fn implies_function(&self, event: &LogEvent) -> bool;

    /// What the event says besides, as names and values.
    fn extras(&self, event: &LogEvent, pool: &mut Pool) -> Result<Vec<(Value, Value)>, Fault>;
}

/// The dialect of Jepsen, Elle and Knossos.
#[derive(Clone)]
pub(crate) struct Standard<'a, N> {
    bytes: &'a [u8],
    /// Whether keys hold lists: then a `nil` that was read is an empty list.
    lists: bool,
    /// Whether operations on single objects name the object: `[k v]` instead of `v`. Unknown until
    /// the first one that shows it; all others have to agree.
    keyed: Option<bool>,
    elements: Vec<Value>,
    notation: PhantomData<N>,
}

impl<'a, N: Notation<'a>> Standard<'a, N> {
    pub(crate) fn new(bytes: &'a [u8], lists: bool) -> Standard<'a, N> {
        Standard { bytes, lists, keyed: None, elements: Vec::new(), notation: PhantomData }
    }

    /// Whether a single-object operation names its object; `None` if it is a transaction after all.
    fn single_object_shape(&self, event: &LogEvent) -> Result<Option<bool>, Fault> {
        let Some(at) = event.value_at else { return Ok(Some(false)) };
        let n = N::at(self.bytes, at);
        if is_transaction(n.clone())? {
            return Ok(None);
        }
        let Some(second) = second_of_two(n)? else { return Ok(Some(false)) };
        Ok(Some(event.function != Function::Cas || second_of_two(second)?.is_some()))
    }

    // ---- transactions ----

    fn transaction(
        &mut self,
        n: &mut N,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        if draft.outcome == Outcome::Committed {
            let plain = n.plain_micro_operations(self.lists, pool, draft, &mut self.elements);
            if plain.is_some() {
                return Ok(());
            }
            draft.clear_ops();
        }
        n.begin_sequence()?;
        while n.next_item()? {
            let at = n.offset()?;
            n.begin_sequence()?;
            if !n.next_item()? {
                return Err(Fault::expected(at, "the name of a micro-operation in it"));
            }
            self.micro_operation(n, pool, draft)?;
            if n.next_item()? {
                let at = n.offset()?;
                return Err(Fault::expected(at, "the end of the micro-operation, ']'"));
            }
        }
        Ok(())
    }

    #[inline]
    fn micro_operation(
        &mut self,
        n: &mut N,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        let at = n.offset()?;
        match n.name("the name of a micro-operation")? {
            b"append" => {
                self.must_be(true, at)?;
                let key = key(n, pool)?;
                let value = item(n, pool, "the value to append")?;
                draft.append(key, value);
            }
            b"r" | b"read" => {
                let key = key(n, pool)?;
                self.read(key, n, pool, draft)?;
            }
            b"w" | b"write" => {
                self.must_be(false, at)?;
                let key = key(n, pool)?;
                let value = item(n, pool, "the value to write")?;
                draft.write(key, value);
            }
            name => self.rare_operation(name, at, n, pool, draft)?,
        }
        Ok(())
    }

    fn must_be(&self, lists: bool, at: usize) -> Result<(), Fault> {
        if self.lists == lists {
            return Ok(());
        }
        let [append, w] = [N::quoted(b"append"), N::quoted(b"w")];
        Err(Fault::wrong(at, format!("the history has both {append} and {w} micro-operations"))
            .hint("whether nil means an empty list or no value cannot be told in such a mixture"))
    }

    #[inline]
    fn read(
        &mut self,
        key: Key,
        n: &mut N,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        if draft.outcome != Outcome::Committed {
            return self.unobserved_read(key, n, draft);
        }
        if !self.lists {
            let value = item(n, pool, "what was read, or nil")?;
            draft.read(key, value);
            return Ok(());
        }
        let at = n.offset()?;
        self.list(n, pool)?;
        draft.list_read(key, Some(&self.elements)).map_err(|e| Fault::sink(at, &e))
    }

    /// A read of a transaction that did not commit. The result of the invocation, if there is one
    /// at all, is not a result; elle-cli's own histories leave it out: `[:r x]`.
    fn unobserved_read(&self, key: Key, n: &mut N, draft: &mut TxnDraft) -> Result<(), Fault> {
        let at = n.offset()?;
        skip_last_item(n)?;
        if self.lists {
            return draft.list_read(key, None).map_err(|e| Fault::sink(at, &e));
        }
        draft.read(key, Value::UNOBSERVED);
        Ok(())
    }

    /// A list that was read, into the scratch.
    fn list(&mut self, n: &mut N, pool: &mut Pool) -> Result<(), Fault> {
        self.elements.clear();
        let at = n.offset()?;
        if !n.next_item()? {
            return Err(Fault::expected(at, "the list that was read, or nil"));
        }
        if n.eat_nil()? {
            return Ok(());
        }
        let at = n.offset()?;
        n.begin_sequence().map_err(|_| Fault::expected(at, "the list that was read, or nil"))?;
        n.values(pool, &mut self.elements)
    }

    #[cold]
    fn rare_operation(
        &mut self,
        name: &[u8],
        at: usize,
        n: &mut N,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        // The log does not say whether a part of a transaction that did not commit was done.
        let committed = draft.outcome == Outcome::Committed;
        let effect = if committed { Effect::Done } else { Effect::Unknown };
        match name {
            b"insert" => {
                let key = key(n, pool)?;
                let value = item(n, pool, "the value to insert")?;
                draft.insert_if_absent(key, value, effect);
                Ok(())
            }
            b"delete" => {
                let key = key(n, pool)?;
                draft.delete(key, effect);
                Ok(())
            }
            b"rp" => predicate_read(n, pool, draft),
            name => {
                let name = N::quoted(name);
                Err(Fault::wrong(at, format!("micro-operations {name} are not supported"))
                    .hint("append, r, w, insert, delete and rp are"))
            }
        }
    }

    // ---- single objects ----

    fn single_object(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        if self.keyed.is_none() {
            // A failure without its invocation comes first. If it misleads, the others contradict.
            self.keyed = self.single_object_shape(event)?;
        }
        if event.function.is_lock() && self.keyed != Some(true) {
            let key = pool.text_key(mutex::MUTEX);
            mutex::lock(event.function, key, pool, draft);
            return Ok(());
        }
        let Some(at) = event.value_at else {
            let key = pool.text_key(REGISTER);
            return single_without_value(event, key, draft);
        };
        let mut n = N::at(self.bytes, at);
        if self.keyed != Some(true) {
            let key = pool.text_key(REGISTER);
            return self.single_value(event.function, key, &mut n, pool, draft);
        }
        if second_of_two(n.clone())?.is_none() {
            return Err(contradiction(at, "this operation names no object, earlier ones do"));
        }
        n.begin_sequence()?;
        let key = key(&mut n, pool)?;
        if event.function.is_lock() {
            mutex::lock(event.function, key, pool, draft);
            return Ok(());
        }
        n.next_item()?;
        self.single_value(event.function, key, &mut n, pool, draft)
    }

    fn single_value(
        &self,
        function: Function,
        key: Key,
        n: &mut N,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        let at = n.offset()?;
        if function == Function::Cas {
            let second = second_of_two(n.clone())?;
            if self.keyed != Some(true)
                && let Some(second) = second
                && second_of_two(second)?.is_some()
            {
                return Err(contradiction(at, UNEXPECTED_NAME));
            }
            return compare_and_set(key, n, pool, draft);
        }
        if self.keyed != Some(true) && second_of_two(n.clone())?.is_some() {
            return Err(contradiction(at, UNEXPECTED_NAME));
        }
        // As a register's value, a set or a list of what others wrote would be read from nowhere.
        let collection = match n.shape()? {
            Shape::Map => Some("maps (banks)"),
            Shape::Set => Some("sets"),
            Shape::Sequence if self.keyed != Some(true) => Some("lists (sets, queues, logs)"),
            _ => None,
        };
        if let Some(what) = collection {
            let complaint = format!("objects that hold {what} are not supported yet");
            return Err(Fault::wrong(at, complaint)
                .hint("registers that are read, written and compared are"));
        }
        let value = n.value(pool)?;
        match (function, draft.outcome) {
            (Function::Write, _) => draft.write(key, value),
            (_, Outcome::Committed) => draft.read(key, value),
            _ => draft.read(key, Value::UNOBSERVED),
        }
        Ok(())
    }
}

impl<'a, N: Notation<'a>> Dialect<'a> for Standard<'a, N> {
    type Notation = N;

    #[inline]
    fn observe(&mut self, event: &LogEvent) -> Result<(), Fault> {
        // The value of a failure may be anything, an error message for example.
        let telling = matches!(event.phase, Phase::Invoke | Phase::Ok);
        if self.keyed.is_none() && telling && event.function.is_single() {
            self.keyed = self.single_object_shape(event)?;
        }
        Ok(())
    }

    #[inline]
    fn operations(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        let at = event.value_at.unwrap_or(event.at);
        let mut n = N::at(self.bytes, at);
        match event.function {
            Function::None | Function::Txn => {
                if event.value_at.is_none() || n.eat_nil()? {
                    return nothing_said(at, draft);
                }
                self.transaction(&mut n, pool, draft)
            }
            _ if event.value_at.is_some() && is_transaction(n.clone())? => {
                self.transaction(&mut n, pool, draft)
            }
            function if function.is_single() => self.single_object(event, pool, draft),
            _ => {
                let name = N::at(self.bytes, event.f_at).name("the name of a function")?;
                let kind = N::quoted(name);
                let complaint = format!("operations of kind {kind} are not supported yet");
                Err(Fault::wrong(event.f_at, complaint)
                    .hint("transactions of micro-operations, and read, write, cas, acquire and release are"))
            }
        }
    }

    fn implies_function(&self, event: &LogEvent) -> bool {
        match event.function {
            Function::None | Function::Txn | Function::Init => true,
            Function::Other => false,
            // A read of several objects is a transaction that its author called a read.
            _ => event
                .value_at
                .is_none_or(|at| !is_transaction(N::at(self.bytes, at)).unwrap_or(false)),
        }
    }

    fn extras(&self, event: &LogEvent, pool: &mut Pool) -> Result<Vec<(Value, Value)>, Fault> {
        unusual_keys(N::at(self.bytes, event.at), |_| false, pool)
    }
}

/// The unusual keys of the operation map that comes next, but for those that `owned` knows about.
/// A key whose value is nil says nothing.
pub(crate) fn unusual_keys<'a, N: Notation<'a>>(
    mut n: N,
    owned: impl Fn(&str) -> bool,
    pool: &mut Pool,
) -> Result<Vec<(Value, Value)>, Fault> {
    let mut found = Vec::new();
    n.begin_map()?;
    while let Some(key) = n.next_key()? {
        let known = match &*key {
            "time" | "index" => n.clone().integer_or_skip()?.is_some(),
            other => is_common_key(other) || owned(other),
        };
        if known || n.clone().eat_nil()? {
            n.skip_value()?;
            continue;
        }
        let value = n.value(pool)?;
        found.push((pool.text(&key), value));
    }
    Ok(found)
}

/// A transaction without any micro-operations to read.
#[cold]
fn nothing_said(at: usize, draft: &TxnDraft) -> Result<(), Fault> {
    if draft.outcome == Outcome::Committed {
        return Err(Fault::wrong(at, "the operation does not say what it did"));
    }
    Ok(())
}

/// The operation of an event without any value: nothing is known but that it was tried.
fn single_without_value(event: &LogEvent, key: Key, draft: &mut TxnDraft) -> Result<(), Fault> {
    match (event.function, draft.outcome) {
        (Function::Read, Outcome::Committed) => draft.read(key, Value::ABSENT),
        (Function::Read, _) => draft.read(key, Value::UNOBSERVED),
        (Function::Write, _) => {
            return Err(Fault::wrong(event.at, "the operation does not say what it writes"));
        }
        _ => return Err(Fault::wrong(event.at, "the operation does not say what it compares")),
    }
    Ok(())
}

const UNEXPECTED_NAME: &str = "this operation names its object, earlier ones do not";

fn contradiction(at: usize, complaint: &str) -> Fault {
    Fault::wrong(at, complaint)
        .hint("either every read, write and cas is [key value], [key [old new]], or none is")
}

/// The key of a micro-operation, which must come next.
#[inline]
fn key<'a, N: Notation<'a>>(n: &mut N, pool: &mut Pool) -> Result<Key, Fault> {
    let name = item(n, pool, "a key")?;
    Ok(pool.key(name))
}

/// An item that must be there.
#[inline]
fn item<'a, N: Notation<'a>>(n: &mut N, pool: &mut Pool, what: &str) -> Result<Value, Fault> {
    let at = n.offset()?;
    if n.next_item()? { n.value(pool) } else { Err(Fault::expected(at, what)) }
}

/// Skips an item that may be missing. The end of the sequence is left for the caller to find: asking
/// for it twice would leave the sequence around it.
fn skip_last_item<'a, N: Notation<'a>>(n: &mut N) -> Result<(), Fault> {
    let mut ahead = n.clone();
    if ahead.next_item()? {
        ahead.skip_value()?;
        *n = ahead;
    }
    Ok(())
}

fn compare_and_set<'a, N: Notation<'a>>(
    key: Key,
    n: &mut N,
    pool: &mut Pool,
    draft: &mut TxnDraft,
) -> Result<(), Fault> {
    let at = n.offset()?;
    if second_of_two(n.clone())?.is_none() {
        return Err(Fault::expected(at, "the old and the new value, [old new]"));
    }
    n.begin_sequence()?;
    let old = item(n, pool, "the old value")?;
    let new = item(n, pool, "the new value")?;
    let effect = match draft.outcome {
        Outcome::Committed => Effect::Done,
        // It did nothing, whatever the reason: `:fail` may as well be a refused connection, so
        // nothing follows about the value it was compared with.
        Outcome::Aborted => Effect::Failed,
        Outcome::Unknown => Effect::Unknown,
    };
    draft.cas(key, old, new, effect);
    Ok(())
}

fn predicate_read<'a, N: Notation<'a>>(
    n: &mut N,
    pool: &mut Pool,
    draft: &mut TxnDraft,
) -> Result<(), Fault> {
    let predicate = item(n, pool, "a predicate")?;
    let at = n.offset()?;
    if draft.outcome != Outcome::Committed {
        skip_last_item(n)?;
        return draft.predicate_read(predicate, None).map_err(|e| Fault::sink(at, &e));
    }
    if !n.next_item()? || n.shape()? != Shape::Map {
        return Err(Fault::expected(at, "the map of keys and values that were read"));
    }
    let rows = keys_and_values(n, pool)?;
    draft.predicate_read(predicate, Some(&rows)).map_err(|e| Fault::sink(at, &e))
}

/// A map from keys to values.
pub(crate) fn keys_and_values<'a, N: Notation<'a>>(
    n: &mut N,
    pool: &mut Pool,
) -> Result<Vec<(Key, Value)>, Fault> {
    let mut rows = Vec::new();
    n.begin_map()?;
    while let Some(name) = n.next_key_value(pool)? {
        let value = n.value(pool)?;
        rows.push((pool.key(name), value));
    }
    Ok(rows)
}

/// Whether a value is a sequence of micro-operations: its first item is a sequence that starts with
/// a name. (An empty one could be anything.)
fn is_transaction<'a, N: Notation<'a>>(mut n: N) -> Result<bool, Fault> {
    for _ in 0..2 {
        if n.shape()? != Shape::Sequence {
            return Ok(false);
        }
        n.begin_sequence()?;
        if !n.next_item()? {
            return Ok(false);
        }
    }
    Ok(n.shape()? == Shape::Name)
}

/// The second item, if the value is a sequence of two.
fn second_of_two<'a, N: Notation<'a>>(mut n: N) -> Result<Option<N>, Fault> {
    if n.shape()? != Shape::Sequence {
        return Ok(None);
    }
    n.begin_sequence()?;
    if !n.next_item()? {
        return Ok(None);
    }
    n.skip_value()?;
    if !n.next_item()? {
        return Ok(None);
    }
    let second = n.clone();
    n.skip_value()?;
    Ok((!n.next_item()?).then_some(second))
}
