//! Which promise a run is held to while it goes on, and why not where it cannot be.

use anyhow::{Result, bail};
use isolde_spec::{Level, Promise};
use isolde_stream::{Settings, Stream};
use isolde_target::{CommitOrder, Offer, Show, Target};

use crate::chosen::{shown_parts, timed_part};

const HINT: &str =
    "\n  hint: leave out --online, and what was recorded is checked when the run is over";

/// The promise: by timestamps where the database tells them, else by the snapshots that it was asked to show.
pub(crate) fn promise(
    (target, show): (&dyn Target, Option<Show>),
    offer: &Offer,
    levels: &[Level],
) -> Result<Promise> {
    if !target.tells_timestamps() {
        return by_snapshots((target, show), levels);
    }
    let serial = target.commit_order(offer) != CommitOrder::Unsaid;
    let parts: Vec<Level> = levels.iter().filter_map(|level| timed_part(*level)).collect();
    let wanted = if serial { Level::Serializable } else { Level::SnapshotIsolation };
    if parts.contains(&wanted) {
        return Ok(Promise::by_timestamps(wanted));
    }
    let name = target.name();
    match parts.first() {
        None => {
            let levels: Vec<&str> = levels.iter().map(|level| level.name()).collect();
            bail!(
                "{} cannot be judged while {name} runs: by timestamps, snapshot-isolation and serializable have \
                 rules{HINT}",
                levels.join(" and ")
            )
        }
        // Transactions that wrote one key may overlap and be right.
        Some(Level::SnapshotIsolation) => bail!(
            "snapshot-isolation cannot be judged while {name} runs: its timestamps are of a serial order, in \
             which writers may overlap\n  hint: --level ser can be"
        ),
        Some(level) => bail!(
            "{level} cannot be judged while {name} runs: at {}, it does not say that the order of its commit \
             timestamps is a serial order\n  hint: --level si can be",
            offer.name
        ),
    }
}

fn by_snapshots((target, show): (&dyn Target, Option<Show>), levels: &[Level]) -> Result<Promise> {
    let name = target.name();
    if show != Some(Show::Snapshots) {
        let hint = match target.shows(Show::Snapshots) {
            Ok(()) => "\n  hint: with --evidence snapshots it can be judged by those",
            Err(_) => HINT,
        };
        bail!("{name} tells no timestamps, so nothing can be judged while it runs{hint}");
    }
    let part = shown_parts(levels).last().copied().map(Promise::by_snapshots);
    let judged = |promise: &Promise| Stream::new(Settings::new(*promise)).is_ok();
    let Some(promise) = part.filter(judged) else {
        let levels: Vec<&str> = levels.iter().map(|level| level.name()).collect();
        bail!(
            "{} cannot be judged while {name} runs: by snapshots, snapshot-isolation and what is stronger can \
             be{HINT}",
            levels.join(" and ")
        );
    };
    Ok(promise)
}
