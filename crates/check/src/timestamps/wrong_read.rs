//! Reads that returned another version than they should have.

use isolde_history::OpId;
use isolde_spec::Anomaly;

use crate::timestamps::finding::TimedDoubt;

/// A read that returned another version than it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WrongRead {
    /// It is called so, and returned this write, if it is known which.
    Named(Anomaly, Option<OpId>),
    /// Whether it is wrong is not known.
    InDoubt(TimedDoubt),
    /// It returned a write of a transaction whose commit point is still looked for.
    Open,
}
