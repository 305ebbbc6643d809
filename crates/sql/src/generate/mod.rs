//! Cases from a seed.

mod conditions;
mod counters;
mod expressions;
mod interleave;
mod maker;
mod patterns;
mod queries;
mod random_cases;
mod rows;
mod scope;
mod scripted;
mod selects;
mod sizes;
mod tables;
mod transactions;
mod weights;
mod writes;

pub use patterns::{PATTERNS, Pattern};
pub use random_cases::RandomGenerator;
pub use sizes::Sizes;
pub use weights::{ConditionKind, SelectKind, StatementKind, ValueKind, Weights};

use crate::case::Case;

/// What makes cases.
pub trait Generator {
    /// The case of that number. The same number gives the same case, whatever was asked for before.
    fn case(&mut self, number: u64) -> Case;
}
