//! What is to be done.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use isolde_sql::policy::policy;
use isolde_sql::work::Effort;
use isolde_target::{Offer, Target};

/// What is to be done.
pub struct FuzzPlan {
    /// What all choices follow from.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// How long to go on.
    pub budget: Option<Duration>,
    /// How many cases to run at most.
    pub cases: Option<u64>,
    /// How many workers there are.
    pub parallel: usize,
    /// How each case is worked on.
    pub effort: Effort,
    /// Where findings go, each a folder.
    pub folder: Option<PathBuf>,
    /// What was typed, for the findings to say.
    pub command: String,
}

/// The level that is tested: the one that is named, or the strongest that can be.
pub fn offer_for(target: &dyn Target, named: Option<&str>) -> Result<Offer> {
    let offers = target.offers();
    let Some(name) = named else {
        let can_be = |offer: &&Offer| policy(target.name(), offer).is_ok();
        return match offers.iter().rev().find(can_be) {
            Some(offer) => Ok(*offer),
            None => bail!(
                "{} cannot be tested with SQL: it is not known which reads show what its statements see",
                target.name()
            ),
        };
    };
    match offers.iter().find(|offer| offer.name == name) {
        Some(offer) => Ok(*offer),
        None => {
            let names: Vec<&str> = offers.iter().map(|offer| offer.name).collect();
            bail!(
                "{} has no level '{name}'\n  hint: levels are {}",
                target.name(),
                names.join(", ")
            )
        }
    }
}
