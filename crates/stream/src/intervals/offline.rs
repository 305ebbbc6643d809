//! The same for a whole history.

use isolde_check::Options;
use isolde_history::{History, TxnId};
use isolde_spec::{By, Profile, Promise, Verdict};

use super::breach::Breach;
use super::content::Content;
use super::mirror::Mirror;
use super::tracer::Tracer;
use crate::content::name_id;

/// Holds a history to the mechanisms of its server. If nothing contradicts them, that is enough if at least this share of all
/// dependencies could be decided (from 0 to 1).
pub fn decide(history: &History, profile: &Profile, options: &Options, share: f64) -> Verdict {
    let (found, tally) = breaches(history, profile);
    super::witness::verdict(history, profile, &found, tally, options, share)
}

pub(super) fn breaches(
    history: &History,
    profile: &Profile,
) -> (Vec<Breach>, super::breach::Tally) {
    let initial = &history.meta().initial;
    let pool = history.pool();
    let tracer = Tracer::new(history, profile, 0);
    let content = |value| Content::of(pool, value, tracer.by_column());
    let default = initial.default.map_or(Content::Unknown, content);
    let mut mirror = Mirror::new(profile.clone(), default);
    for (key, value) in &initial.given {
        mirror.begin_row(name_id(pool, pool.key_name(*key)), content(*value));
    }
    for txn in 0..history.txn_count() {
        mirror.enter(tracer.trace(TxnId(txn as u32)));
    }
    mirror.finish();
    (mirror.take_found(), mirror.tally())
}

/// The promise that a profile is about.
pub(super) fn promise(profile: &Profile) -> Promise {
    Promise { level: profile.promises, session_order: false, by: By::Intervals }
}
