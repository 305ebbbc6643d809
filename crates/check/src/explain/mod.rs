//! From a broken promise to witnesses that a person can check.

pub(crate) mod cycle;
pub(crate) mod hunt;
pub(crate) mod name;
pub(crate) mod witness;
