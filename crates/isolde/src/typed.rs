//! What a word on the command line means.

use isolde_spec::{Anomaly, CATALOGUE, Level};
use isolde_workload::Kind;

use crate::measures;

/// A kind of workload by its name.
pub(crate) fn kind(name: &str) -> Result<Kind, String> {
    Kind::named(name).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name);
        format!("workloads are {}", names.join(", "))
    })
}

/// A level by its name or short form.
pub(crate) fn level(name: &str) -> Result<Level, String> {
    Level::named(name).ok_or_else(|| {
        let names = Level::ALL.map(Level::name);
        format!("levels are {}", names.join(", "))
    })
}

/// An anomaly by its name.
pub(crate) fn anomaly(name: &str) -> Result<Anomaly, String> {
    let entry = CATALOGUE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    entry.map(|entry| entry.anomaly).ok_or_else(|| "there is no such anomaly".to_owned())
}

/// A count of what there cannot be too much of.
pub(crate) fn small_count(text: &str) -> Result<u32, String> {
    u32::try_from(measures::count(text)?).map_err(|_| "that is too many".to_owned())
}
