//! Histories to measure with, made from a seed.

mod lists;
mod pick;
mod plan;
mod plant;
mod random;
mod recorder;
mod registers;
mod serial;
mod simulate;
mod store;
#[cfg(test)]
mod tests;

use isolde_history::Value;

pub(crate) use pick::Distribution;
pub(crate) use plan::{Database, Order, Plan, name};
pub(crate) use serial::{Shape, history as serial};
pub(crate) use simulate::simulate;

/// A number as a value; those of simulations are far below the limit of a word.
fn value(n: u64) -> Value {
    Value::small_int(n as i64).unwrap_or(Value::ABSENT)
}
