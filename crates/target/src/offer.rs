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
    /// The offer with which to test levels: the weakest that promises them all, so that a test of
    /// snapshot isolation does not run at serializable. `None` if the database promises them nowhere.
    pub fn for_levels<'o>(offers: &'o [Offer], levels: &[Level]) -> Option<&'o Offer> {
        let keeps = |offer: &&Offer| levels.iter().all(|level| offer.promises.implies(*level));
        let enough = || offers.iter().filter(keeps);
        let is_weakest = |offer: &&Offer| enough().all(|o| o.promises.implies(offer.promises));
        enough().find(is_weakest).or_else(|| enough().next())
    }
}
