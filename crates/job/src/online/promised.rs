//! Which promise a run is held to while it goes on, and why not where it cannot be.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use isolde_history::History;
use isolde_spec::{Level, Profile, Promise};
use isolde_stream::{Settings, Stream};
use isolde_target::{CommitOrder, Offer, Show, Target};

use crate::chosen::{shown_parts, timed_part};
use crate::mirrored::{IntervalQuestion, promised_levels};

const HINT: &str =
    "\n  hint: leave out --online, and what was recorded is checked when the run is over";

/// What a run is held to while it goes on.
#[derive(Clone, Debug)]
pub(crate) struct OnlinePromise {
    pub(crate) promise: Promise,
    /// By client intervals: by which mechanisms the server keeps it, and which share has to be decided.
    intervals: Option<(Profile, f64)>,
}

impl From<Promise> for OnlinePromise {
    fn from(promise: Promise) -> OnlinePromise {
        OnlinePromise { promise, intervals: None }
    }
}

impl OnlinePromise {
    /// By client intervals: the profile that was named, or that of the database's level. Of several levels the strongest is
    /// asked while the run goes on, and all of them when it is over.
    pub(crate) fn by_intervals(
        question: &IntervalQuestion,
        header: &History,
        levels: &[Level],
    ) -> Result<OnlinePromise> {
        let profiles = question.profiles(header, levels)?;
        let strongest = profiles.into_iter().max_by_key(promised_levels);
        let profile = strongest.ok_or_else(|| anyhow!("no profile says how the server works"))?;
        Ok(OnlinePromise { promise: profile.promise(), intervals: Some((profile, question.share)) })
    }

    /// For the stream. What does not fit into memory goes to the folder.
    pub(super) fn settings(&self, folder: &Path) -> Settings {
        let mut settings = Settings::new(self.promise);
        settings.folder = Some(folder.to_owned());
        if let Some((profile, share)) = &self.intervals {
            (settings.profile, settings.share) = (Some(profile.clone()), *share);
            // Every session says how far it has come, so none is waited for that says nothing.
            settings.timeout = 0;
        }
        settings
    }
}

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
