//! From a broken promise to witnesses that a person can check.

pub(crate) mod cycle;
pub(crate) mod hunt;
mod kept;
pub(crate) mod local;
pub(crate) mod name;
pub(crate) mod violations;
pub(crate) mod witness;

pub use name::name_of_cycle;
