//! What a check of a driver found.

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
}
