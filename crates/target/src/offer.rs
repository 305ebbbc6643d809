//! The isolation levels that a database offers.

use isolde_spec::Level;

/// A level by the database's own name, and what it really promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The database's own name in lower case with dashes, such as `repeatable-read`.
    pub name: &'static str,
    /// The strongest level that its makers, read carefully, promise under this name.
    pub promises: Level,
    /// What a user should know: where the name says more than the database does.
    pub remark: &'static str,
}

impl Offer {
    /// The offer with which to test a level: the weakest that promises it, so that a test of
    /// snapshot isolation does not run at serializable. `None` if the database promises it nowhere.
    pub fn for_level(offers: &[Offer], level: Level) -> Option<&Offer> {
        let enough = || offers.iter().filter(|o| o.promises.implies(level));
        enough()
            .find(|o| enough().all(|other| other.promises.implies(o.promises)))
            .or_else(|| enough().next())
    }
}
