//! What a check of a driver found.

use std::time::Duration;

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// What was expected.
    Good,
    /// Something else.
    Wrong(String),
    /// Nothing: it does not apply, and why.
    Skipped(String),
}

/// One check of a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What is expected.
    pub expected: &'static str,
    /// What was found.
    pub found: Found,
    /// How long it took.
    pub took: Duration,
}

/// What is told while a driver is checked.
#[derive(Clone, Copy, Debug)]
pub enum CheckStep<'c> {
    /// A check of this name begins.
    Begins(&'static str),
    /// It is done.
    Done(&'c Check),
}
