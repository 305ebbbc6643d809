//! Faults that happened, as they are recorded and told.

/// A fault that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happened {
    /// What it is called.
    pub name: &'static str,
    /// To which node or session.
    pub to: String,
    /// When, in nanoseconds since the beginning of the run.
    pub begin: i64,
    /// When it was mended, if it lasted.
    pub end: Option<i64>,
}

impl Happened {
    /// The code of a fault that could not be done or undone.
    pub const CODE: &str = "fault";
}
