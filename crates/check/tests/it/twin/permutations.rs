//! Linearizability and sequential consistency by brute force: every order of at most seven
//! transactions, with every choice of what nobody knows.
//!
//! A transaction is one operation on one store that holds all keys, so nothing here knows that the
//! question is local. It shares no code with the search.

use std::collections::HashMap;

use isolde_history::{Clock, Datum, Effect, History, Op, OpKind, Outcome, Value};

/// What is under a key.
#[derive(Clone, PartialEq, Debug)]
enum Cell {
    Value(Value),
    List(Vec<Value>),
    Text(String),
}

type Store = HashMap<u32, Cell>;

/// Which orders are respected.
#[derive(Clone, Copy)]
pub struct Orders {
    pub sessions: bool,
    pub real_time: bool,
    pub skew: i64,
}

/// Whether some order of the transactions explains everything.
///
/// # Panics
/// If there are more than seven.
pub fn some_order(history: &History, orders: Orders) -> bool {
    let taking_part: Vec<usize> = (0..history.txn_count())
        .filter(|t| history.txn_outcomes()[*t] != Outcome::Aborted)
        .collect();
    assert!(taking_part.len() <= 7, "the twin takes seven transactions at most");
    let optional: Vec<usize> = taking_part
        .iter()
        .copied()
        .filter(|t| history.txn_outcomes()[*t] == Outcome::Unknown)
        .collect();
    let unsure: Vec<u32> =
        history.ops().filter(|op| op.effect() == Effect::Unknown).map(|op| op.id().0).collect();
    assert!(unsure.len() <= 7, "too many operations that nobody knows of");
    for out in 0..1u32 << optional.len() {
        let left_out =
            |t: &usize| optional.iter().position(|o| o == t).is_some_and(|at| out & (1 << at) != 0);
        let txns: Vec<usize> = taking_part.iter().copied().filter(|t| !left_out(t)).collect();
        for done in 0..1u32 << unsure.len() {
            let was_done = |op: &Op<'_>| {
                let at = unsure.iter().position(|o| *o == op.id().0);
                at.is_none_or(|at| done & (1 << at) != 0)
            };
            let mut order = Vec::new();
            if extend(history, orders, &txns, &mut order, &was_done) {
                return true;
            }
        }
    }
    false
}

/// All permutations, one transaction after another.
fn extend(
    history: &History,
    orders: Orders,
    txns: &[usize],
    order: &mut Vec<usize>,
    was_done: &dyn Fn(&Op<'_>) -> bool,
) -> bool {
    if order.len() == txns.len() {
        return explains(history, order, was_done);
    }
    for &txn in txns {
        let waits =
            |other: &&usize| !order.contains(other) && precedes(history, orders, **other, txn);
        if order.contains(&txn) || txns.iter().any(|other| waits(&other)) {
            continue;
        }
        order.push(txn);
        if extend(history, orders, txns, order, was_done) {
            return true;
        }
        order.pop();
    }
    false
}

fn precedes(history: &History, orders: Orders, a: usize, b: usize) -> bool {
    let (first, second) = (txn(history, a), txn(history, b));
    if a == b || first.outcome() != Outcome::Committed {
        return false;
    }
    let skew = if history.meta().clock == Clock::Events { 0 } else { orders.skew };
    let session = orders.sessions
        && first.session() == second.session()
        && first.position() < second.position();
    let time = orders.real_time
        && matches!((first.interval().end, second.interval().begin), (Some(e), Some(b)) if e + skew < b);
    session || time
}

fn txn(history: &History, t: usize) -> isolde_history::Txn<'_> {
    history.txn(isolde_history::TxnId(t as u32))
}

/// Whether a serial execution in this order returns what was returned.
fn explains(history: &History, order: &[usize], was_done: &dyn Fn(&Op<'_>) -> bool) -> bool {
    let mut store = Store::new();
    order.iter().all(|t| {
        txn(history, *t).ops().all(|op| !was_done(&op) || happens(history, &op, &mut store))
    })
}

fn happens(history: &History, op: &Op<'_>, store: &mut Store) -> bool {
    let pool = history.pool();
    let strings = history.info("model").and_then(|m| pool.as_text(m)) == Some("string-append");
    let grows = history
        .ops()
        .any(|o| o.key() == op.key() && matches!(o.kind(), OpKind::Append | OpKind::ListRead));
    let initial = || {
        let value = history.meta().initial.of(op.key()).unwrap_or(Value::ABSENT);
        match pool.datum(value) {
            Datum::Text(text) if strings => Cell::Text(text.to_owned()),
            _ if strings => Cell::Text(String::new()),
            Datum::List(list) if grows => Cell::List(list.iter().collect()),
            _ if grows => Cell::List(Vec::new()),
            _ => Cell::Value(value),
        }
    };
    let cell = store.entry(op.key().0).or_insert_with(initial);
    let as_cell = |value: Value| match pool.as_text(value) {
        Some(text) if strings => Cell::Text(text.to_owned()),
        _ if grows && value == Value::ABSENT => Cell::List(Vec::new()),
        _ => Cell::Value(value),
    };
    if op.effect() == Effect::Failed {
        return match op.kind() {
            OpKind::Cas => op.expected().is_none_or(|old| *cell != as_cell(old)),
            OpKind::InsertIfAbsent => *cell != Cell::Value(Value::ABSENT),
            _ => true,
        };
    }
    match op.kind() {
        OpKind::Read => op.value() == Value::UNOBSERVED || *cell == as_cell(op.value()),
        OpKind::ListRead => op.elements().is_none_or(|e| *cell == Cell::List(e.to_vec())),
        OpKind::Write => {
            *cell = as_cell(op.value());
            true
        }
        OpKind::Delete => {
            *cell = as_cell(Value::ABSENT);
            true
        }
        OpKind::Append => match cell {
            Cell::List(list) => {
                list.push(op.value());
                true
            }
            Cell::Text(text) => {
                text.push_str(pool.as_text(op.value()).unwrap_or_default());
                true
            }
            Cell::Value(_) => false,
        },
        OpKind::Cas => {
            let right = op.expected().is_some_and(|old| *cell == as_cell(old));
            *cell = as_cell(op.value());
            right
        }
        OpKind::InsertIfAbsent => {
            let right = *cell == Cell::Value(Value::ABSENT);
            *cell = as_cell(op.value());
            right
        }
        OpKind::PredicateRead | OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release => {
            panic!("the twin has no predicates and no savepoints")
        }
    }
}
