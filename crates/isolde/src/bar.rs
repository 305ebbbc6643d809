//! How far a run is, on the terminal.

use isolde_report::number;
use isolde_run::{Limits, Progress as Counts};

use crate::progress::Progress;

/// How far the run is.
pub(crate) fn bar(limits: &Limits) -> Progress {
    let time = || limits.duration.map_or(0, |d| d.as_millis() as u64);
    let most = limits.commits.or(limits.txns).unwrap_or_else(time);
    Progress::bar(most, "{bar:12} {wide_msg}")
}

/// Brings the bar up to date.
pub(crate) fn show(bar: &Progress, limits: &Limits, progress: &Counts) {
    let elapsed = progress.elapsed.as_secs_f64();
    let by_time = limits.duration.map(|most| elapsed / most.as_secs_f64());
    let by_count = match (limits.commits, limits.txns) {
        (Some(most), _) => Some(progress.committed as f64 / most as f64),
        (None, Some(most)) => Some(progress.txns as f64 / most as f64),
        (None, None) => None,
    };
    let done = by_time.into_iter().chain(by_count).fold(0.0, f64::max).min(1.0);
    bar.reach((done * bar.length() as f64) as u64);
    let left = if done > 0.0 { elapsed / done - elapsed } else { 0.0 };
    bar.say(format!(
        "{} commits/s, {} committed, {:.1}% aborted, {elapsed:.0} s, {left:.0} s left",
        number(progress.commits_per_second() as u64),
        number(progress.committed),
        progress.abort_rate() * 100.0,
    ));
}
