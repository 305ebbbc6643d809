//! Recorded runs once more, to see whether a database still does what it did.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use isolde_target::{Consoles, Failure, Offer, Target};

use crate::compare::{Difference, differences};
use crate::recorded::{Noted, Recorded, done_on, note};
use crate::room::{Background, Room};

/// How many schedules run at the same time: they mostly wait.
pub const AT_ONCE: usize = 6;

/// A run that was replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// Which of the recorded runs, counted from 0.
    pub run: usize,
    /// What happened now.
    pub now: Vec<Noted>,
    /// Where that differs.
    pub differences: Vec<Difference>,
    /// Why it could not be run, if it could not.
    pub failure: Option<Failure>,
    /// What the server's background had to do for it to come out the same.
    pub background: Background,
    /// How often it was run before it came out so.
    pub tries: u32,
    /// Where the first try differed, if a later one did not.
    pub first_differences: Vec<Difference>,
}

impl Replayed {
    /// Whether it came out as it was recorded.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && self.failure.is_none()
    }
}

/// A run that fits a target: at which of its offers, with which settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Which of the recorded runs, counted from 0.
    pub run: usize,
    /// The offer.
    pub offer: Offer,
    /// What each session is told first.
    pub first: Vec<String>,
}

/// The recorded runs that can be replayed on a target, whatever its version.
pub fn fitting(target: &dyn Target, runs: &[Recorded]) -> Vec<Fit> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
    let name = plain(target.name());
    let knows_snapshots = target.offers().iter().any(|o| o.name.ends_with("-snapshot"));
    let fit = |(run, recorded): (usize, &Recorded)| {
        let dbms = plain(&recorded.dbms);
        let (of, version) = dbms.rsplit_once('-').unwrap_or((dbms.as_str(), ""));
        let of = if version.starts_with(|c: char| c.is_ascii_digit()) { of } else { &dbms };
        let level = plain(&recorded.level);
        let offer = *target.offers().iter().find(|o| o.name == level)?;
        let first = match (recorded.snapshots, knows_snapshots) {
            (Some(on), true) => {
                let value = if on { "ON" } else { "OFF" };
                vec![format!("SET SESSION innodb_snapshot_isolation = {value}")]
            }
            (Some(true), false) => return None,
            _ => Vec::new(),
        };
        (of == name).then_some(Fit { run, offer, first })
    };
    runs.iter().enumerate().filter_map(fit).collect()
}

/// Replays runs, several at once; `progress` is told after each how many are done.
pub fn replay(
    target: &dyn Target,
    consoles: &dyn Consoles,
    runs: &[Recorded],
    fits: &[Fit],
    (stop, progress): (&AtomicBool, &(dyn Fn(usize) + Sync)),
) -> Result<Vec<Replayed>, Failure> {
    let done = done_on(target.name());
    let one = |room: &mut Room<'_>, at: usize, background: Background| {
        let fit = &fits[at];
        let recorded = &runs[fit.run];
        let mut replayed = Replayed {
            run: fit.run,
            now: Vec::new(),
            differences: Vec::new(),
            failure: None,
            background,
            tries: 1,
            first_differences: Vec::new(),
        };
        match room.play_with(&fit.offer, &fit.first, &recorded.schedule, background) {
            Ok(played) => {
                replayed.now = played.events.iter().map(|event| note(event, done)).collect();
                let schedule = &recorded.schedule;
                replayed.differences = differences(schedule, &recorded.observed, &replayed.now);
            }
            Err(failure) => replayed.failure = Some(failure),
        }
        replayed
    };
    let first = |room: &mut Room<'_>, at: usize| one(room, at, Background::Any);
    let mut all = in_rooms(consoles, fits.len(), stop, progress, &first)?;
    // Those that came out otherwise once more, alone: some depend on what the server does in the
    // background, which may be held up by other schedules.
    let mut room = Room::open(consoles)?;
    for (at, replayed) in all.iter_mut().enumerate().filter(|(_, r)| !r.is_same()) {
        let backgrounds = [Background::Any, Background::Done, Background::Held];
        let count = if consoles.purges() { backgrounds.len() } else { 1 };
        for (background, tries) in backgrounds.into_iter().take(count).zip(2..) {
            let again = one(&mut room, at, background);
            if again.is_same() {
                let first_differences = std::mem::take(&mut replayed.differences);
                *replayed = Replayed { tries, first_differences, ..again };
                break;
            }
        }
    }
    Ok(all)
}

/// Does so many things, each in some room, several at once. What comes back is in order.
pub(crate) fn in_rooms<T: Send>(
    consoles: &dyn Consoles,
    count: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
    one: &(dyn Fn(&mut Room<'_>, usize) -> T + Sync),
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let work = || -> Result<(), Failure> {
        let mut room = Room::open(consoles)?;
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            if at >= count || stop.load(Ordering::SeqCst) {
                return Ok(());
            }
            let done = one(&mut room, at);
            if let Ok(mut all) = all.lock() {
                all.push((at, done));
                progress(all.len());
            }
        }
    };
    let workers = if consoles.one_at_a_time() { 1 } else { AT_ONCE }.min(count);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Vec<_>>().into_iter().collect::<Result<(), Failure>>()
    })?;
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, done)| done).collect())
}
