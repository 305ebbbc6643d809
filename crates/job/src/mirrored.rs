//! Questions by client intervals: by which profile, and the answer.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use isolde_check::Options;
use isolde_history::{History, info};
use isolde_spec::{Level, Profile, Verdict};
use isolde_stream::intervals;

use crate::shown::shown;

/// What is asked by client intervals.
#[derive(Clone, Debug)]
pub struct IntervalQuestion {
    /// How the server works; if nothing is said, as the server and the level in the history's header do.
    pub profile: Option<Profile>,
    /// Which share of all dependencies has to be decided, from 0 to 1, so that finding nothing counts.
    pub share: f64,
}

/// The usual share.
pub const USUAL_SHARE: f64 = 0.9;

impl Default for IntervalQuestion {
    fn default() -> IntervalQuestion {
        IntervalQuestion { profile: None, share: USUAL_SHARE }
    }
}

impl IntervalQuestion {
    /// The profiles that a history is held to: one for each level, each once.
    pub(crate) fn profiles(&self, history: &History, levels: &[Level]) -> Result<Vec<Profile>> {
        if let Some(profile) = &self.profile {
            return Ok(vec![profile.clone()]);
        }
        let own = own_profile(history);
        if levels.is_empty() {
            return Ok(vec![own?.clone()]);
        }
        let mut profiles: Vec<Profile> = Vec::new();
        for level in levels {
            let profile = profile_for(history, own.as_ref().ok().copied(), *level)?;
            if !profiles.contains(profile) {
                profiles.push(profile.clone());
            }
        }
        Ok(profiles)
    }

    /// The one profile that a stream is held to, which begins with this.
    pub fn profile_for(&self, history: &History, level: Option<Level>) -> Result<Profile> {
        let profiles = self.profiles(history, level.as_slice())?;
        profiles.into_iter().next().ok_or_else(|| anyhow!("no profile says how the server works"))
    }

    /// Holds a history to a profile.
    pub(crate) fn ask(&self, history: &History, profile: &Profile, options: &Options) -> Verdict {
        intervals::decide(history, profile, options, self.share)
    }
}

fn server(history: &History) -> Option<&str> {
    history.info_text(info::SERVER)
}

/// The profile of the level that the history was recorded at.
fn own_profile(history: &History) -> Result<&'static Profile> {
    let Some(server) = server(history) else {
        bail!(
            "it cannot be judged by client intervals: the history does not say which server it is of\n  \
             hint: --profile says how the server works, such as --profile postgresql/repeatable-read"
        );
    };
    let level = history.info_text(info::LEVEL).unwrap_or_default();
    Profile::find(server, level).ok_or_else(|| {
        anyhow!(
            "it cannot be judged by client intervals: how {server} works at '{level}' is not known\n  \
             hint: --profile FILE says it (docs/profiles.md), --profile NAME takes that of another server"
        )
    })
}

/// The profile that a level is held to: that of the history's own level if it promises as much, and else the weakest of
/// the same server that does.
fn profile_for<'p>(history: &History, own: Option<&'p Profile>, level: Level) -> Result<&'p Profile>
where
    'static: 'p,
{
    if let Some(own) = own.filter(|own| own.promises.implies(level)) {
        return Ok(own);
    }
    let Some(server) = server(history) else {
        return own_profile(history);
    };
    let of_server = Profile::builtin().iter().filter(|profile| {
        let name = &profile.server;
        Profile::find(server, &profile.level).is_some_and(|found| found.server == *name)
            && profile.promises.implies(level)
    });
    of_server.min_by_key(|profile| promised_levels(profile)).ok_or_else(|| {
        anyhow!(
            "{level} cannot be judged by client intervals: no level of {server} is known that promises it\n  \
             hint: --profile FILE says how one works (docs/profiles.md)"
        )
    })
}

/// How many levels a profile promises: the more, the stronger.
pub(crate) fn promised_levels(profile: &Profile) -> usize {
    Level::ALL.into_iter().filter(|weaker| profile.promises.implies(*weaker)).count()
}

/// The profile of that name (`postgresql/repeatable-read`), or of a file that holds one.
pub fn profile(name: &str) -> Result<Profile> {
    let path = Path::new(name);
    if !path.exists() {
        return Ok(Profile::named(name)?.clone());
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", shown(path)))?;
    let profiles = Profile::parse(&text).with_context(|| shown(path))?;
    match <[Profile; 1]>::try_from(profiles) {
        Ok([profile]) => Ok(profile),
        Err(several) => {
            let names: Vec<String> = several.iter().map(Profile::name).collect();
            bail!("{} has several profiles ({}), and one is needed", shown(path), names.join(", "))
        }
    }
}
