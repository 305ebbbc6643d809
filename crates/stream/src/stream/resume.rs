//! Going on where an earlier stream ended: checkpoints, and what was told since the last.

use isolde_spec::{By, Level, Profile, Promise};

use super::Stream;
use crate::arriving::Arriving;
use crate::batch_files;
use crate::bodies::{BEFORE_ALL, SavedBodies};
use crate::error::StreamError;
use crate::journal::{Entry, Journal};
use crate::lost::Lost;
use crate::numbers::{LeftOut, Numbers};
use crate::pack::{Pack, packed};
use crate::promises::Promises;
use crate::settings::{Restrictions, Settings};
use crate::snapshots::Snapshots;
use crate::timestamps::{SavedPending, SavedTimestamps, Timestamps};
use crate::waiting::Waiting;

/// A stream that goes on where an earlier one ended.
pub struct Resumed {
    /// The stream. What it has told since its last checkpoint it tells once more.
    pub stream: Stream,
    /// The mark of the last batch that is safe; empty if there is none.
    pub mark: Vec<u8>,
    /// What was saved with the last checkpoint.
    pub saved: Vec<u8>,
    /// The time of the stream: it does not go back before this.
    pub now: i64,
}

impl Stream {
    /// A stream that nothing has come from yet. What it is told it writes down in its folder first.
    pub fn begin_in(settings: Settings) -> Result<Stream, StreamError> {
        let mut stream = Stream::new(settings)?;
        let folder = stream.settings.folder.clone().unwrap_or_default();
        if !stream.stays_in_log() {
            stream.bodies.stay();
        }
        stream.journal = Some(Journal::begin(folder)?);
        stream.limit_log();
        stream.checkpoint(&[])?;
        Ok(stream)
    }

    /// Goes on where a stream ended that wrote down what it was told in the same folder; `None` if none did. The promise
    /// is that of the earlier stream.
    pub fn resume(settings: &Settings) -> Result<Option<Resumed>, StreamError> {
        let folder = settings.folder.clone().unwrap_or_default();
        let Some((mut journal, state)) = Journal::open(folder)? else { return Ok(None) };
        let broken = || journal.broken("it ends too early");
        let mut input = &state[..];
        let saved = Saved::unpack(&mut input).ok_or_else(broken)?;
        let promise = saved.promise().ok_or_else(broken)?;
        let profile = saved.profile(settings)?;
        let mut stream = Stream::new(Settings { promise, profile, ..settings.clone() })?;
        let keep = saved.bodies.as_ref().map(|bodies| bodies.names().collect()).unwrap_or_default();
        journal.remove_others(keep)?;
        let (mut mark, mut blob) = (saved.mark.clone(), saved.saved.clone());
        stream.restore(saved)?;
        journal.replay(|entry| stream.tell_again(entry, &mut mark, &mut blob))?;
        // What was finished may go on: a file may have grown.
        stream.finished = false;
        stream.mark.clone_from(&mark);
        stream.journal = Some(journal);
        stream.limit_log();
        stream.restrict(settings.restrictions())?;
        let now = stream.now;
        Ok(Some(Resumed { stream, mark, saved: blob, now }))
    }

    /// What was told before is told again, at the same time and by the limits of that time: the same follows from it.
    fn tell_again(
        &mut self,
        entry: Entry,
        mark: &mut Vec<u8>,
        blob: &mut Vec<u8>,
    ) -> Result<(), StreamError> {
        match entry {
            Entry::Batch { now, mark: next, history } => {
                self.push(*history, now)?;
                if !next.is_empty() {
                    *mark = next;
                }
                Ok(())
            }
            Entry::Tick { now } => self.tick(now),
            Entry::Incomplete { now, why } => self.incomplete(&why, now),
            Entry::Finish { now } => self.finish(now),
            Entry::Restrictions(restrictions) => self.restrict(restrictions),
            Entry::Saved(saved) => {
                // The caller knows what was told until then.
                self.events.clear();
                *blob = saved;
                Ok(())
            }
        }
    }

    /// From now on with another timeout and as much memory and disk as there is: what is told depends on them.
    fn restrict(&mut self, to: Restrictions) -> Result<(), StreamError> {
        if self.restrictions == to {
            return Ok(());
        }
        self.restrictions = to;
        self.settings.timeout = to.timeout;
        self.numbers.limit(to.memory);
        self.bodies.limit(to.keep);
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.limit(to.memory);
        }
        self.limit_log();
        self.journal.as_mut().map_or(Ok(()), |journal| journal.restrictions(to))
    }

    /// By snapshots and by client intervals, what waits in memory cannot be told from the batches on disk: all that came
    /// stays in the log.
    fn stays_in_log(&self) -> bool {
        matches!(self.settings.promise.by, By::Snapshots | By::Intervals)
    }

    /// A log that nothing leaves may be no longer than what is kept.
    fn limit_log(&mut self) {
        let (stays, keep) = (self.stays_in_log(), self.restrictions.keep);
        if let Some(journal) = self.journal.as_mut().filter(|_| stays) {
            journal.limit(keep);
        }
    }

    /// What was pushed until now is safe from a loss of power, too.
    pub fn make_safe(&mut self) -> Result<(), StreamError> {
        self.journal.as_mut().map_or(Ok(()), Journal::make_safe)
    }

    /// Whether so much has been written down that a checkpoint would make going on faster.
    pub fn checkpoint_due(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::is_long)
    }

    /// Writes down the state as a whole, with whatever the caller wants to know again.
    ///
    /// By snapshots, transactions wait in memory for places that the batches on disk do not tell, and by client intervals what
    /// is known of rows is made of more than these. So there the state as a whole is that of the beginning, and all
    /// that came since stays in the log.
    pub fn checkpoint(&mut self, saved: &[u8]) -> Result<(), StreamError> {
        let has_begun = self.bodies.next() > 0 || self.intervals.is_some();
        let stays = self.stays_in_log();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if stays && has_begun {
            return journal.saved(saved);
        }
        let mut bytes = Vec::new();
        self.save(saved)?.pack(&mut bytes);
        if let Some(journal) = &mut self.journal {
            journal.checkpoint(&bytes)?;
        }
        self.bodies.saved();
        Ok(())
    }

    fn save(&mut self, blob: &[u8]) -> Result<Saved, StreamError> {
        if let Some(checker) = &mut self.checker {
            checker.judge_all(&mut self.bodies);
            let found = checker.pending.drain(..);
            found.for_each(|pending| self.pending.push(pending, checker.finality.low));
        }
        let checker = self.checker.as_ref();
        let pending = self.pending.all().into_iter();
        let pending = pending.filter_map(|p| checker.and_then(|checker| checker.save_pending(&p)));
        let header = checker.map(|checker| batch_files::encode(&checker.about.header)).transpose();
        let folder = self.settings.folder.as_ref().map(|f| f.display().to_string());
        let wrong = |error| StreamError::Spill { folder: folder.unwrap_or_default(), error };
        let header = header.map_err(wrong)?;
        let Promise { level, by, .. } = self.settings.promise;
        Ok(Saved {
            level: level.name().to_owned(),
            by_snapshots: by == By::Snapshots,
            profile: self.settings.profile.as_ref().map(|profile| (profile.name(), said(profile))),
            session_order: self.settings.promise.session_order,
            mark: self.mark.clone(),
            saved: blob.to_vec(),
            header,
            pending: pending.collect(),
            checker: checker.map(Timestamps::save),
            next: self.bodies.next(),
            // They may be made again from the log.
            bodies: if self.stays_in_log() { None } else { self.bodies.save()? },
            promises: self.promises.packed(),
            numbers: self.numbers.packed(),
            lost: self.lost.packed(),
            waiting: self.waiting.packed(),
            arriving: self.arriving.packed(),
            restrictions: self.restrictions,
            missing: self.missing.clone(),
            now: self.now,
            counts: vec![
                self.txns,
                self.committed,
                self.unknown,
                self.ops,
                self.late,
                self.next_event,
                self.told_doubts,
            ],
            left_out: self.left_out.packed(),
        })
    }

    fn restore(&mut self, saved: Saved) -> Result<(), StreamError> {
        let mut unpacked = || {
            let promises = Promises::unpack(&mut &saved.promises[..])?;
            let numbers = Numbers::unpack(&mut &saved.numbers[..])?;
            let waiting = Waiting::unpack(&mut &saved.waiting[..])?;
            let arriving = Arriving::unpack(&mut &saved.arriving[..])?;
            self.lost = Lost::unpack(&mut &saved.lost[..])?;
            self.left_out = LeftOut::unpack(&mut &saved.left_out[..])?;
            Some((promises, numbers, waiting, arriving))
        };
        let folder = self.settings.folder.clone().unwrap_or_default();
        let broken = || Journal::is_broken(&folder, "it cannot be understood");
        (self.promises, self.numbers, self.waiting, self.arriving) =
            unpacked().ok_or_else(broken)?;
        let [txns, committed, unknown, ops, late, next_event, told_doubts] = saved.counts[..]
        else {
            return Err(broken());
        };
        (self.txns, self.committed, self.unknown, self.ops) = (txns, committed, unknown, ops);
        (self.late, self.next_event, self.told_doubts) = (late, next_event, told_doubts);
        (self.missing, self.now) = (saved.missing, saved.now);
        self.mark = saved.mark;
        if let Some(bodies) = saved.bodies {
            self.bodies.restore(saved.next, bodies)?;
        }
        // What was told since is told again as it was told then.
        self.restrict(saved.restrictions)?;
        if let (Some(header), Some(checker)) = (saved.header, saved.checker) {
            let header = batch_files::decode(header).map_err(|_| broken())?;
            let mut restored = Timestamps::new(&self.settings, &header);
            restored.restore(checker, saved.next);
            for pending in &saved.pending {
                let pending = restored.restore_pending(pending);
                self.pending.push(pending, Some(BEFORE_ALL));
            }
            self.checker = Some(restored);
            if saved.by_snapshots {
                let Restrictions { memory, .. } = self.restrictions;
                self.snapshots = Some(Snapshots::new(self.settings.promise, &header, memory));
            }
        }
        Ok(())
    }
}

/// All that a profile says.
fn said(profile: &Profile) -> String {
    format!("{profile:?}")
}

/// What a checkpoint holds.
struct Saved {
    level: String,
    by_snapshots: bool,
    /// By client intervals: the name of the profile, and what it says.
    profile: Option<(String, String)>,
    session_order: bool,
    mark: Vec<u8>,
    saved: Vec<u8>,
    header: Option<Vec<u8>>,
    checker: Option<SavedTimestamps>,
    pending: Vec<SavedPending>,
    next: u32,
    bodies: Option<SavedBodies>,
    promises: Vec<u8>,
    numbers: Vec<u8>,
    lost: Vec<u8>,
    waiting: Vec<u8>,
    arriving: Vec<u8>,
    restrictions: Restrictions,
    missing: Option<String>,
    now: i64,
    counts: Vec<u64>,
    left_out: Vec<u8>,
}

packed!(Saved {
    level,
    by_snapshots,
    profile,
    session_order,
    mark,
    saved,
    header,
    checker,
    pending,
    next,
    bodies,
    promises,
    numbers,
    lost,
    waiting,
    arriving,
    restrictions,
    missing,
    now,
    counts,
    left_out
});

impl Saved {
    fn promise(&self) -> Option<Promise> {
        let level = Level::ALL.into_iter().find(|level| level.name() == self.level)?;
        let by = match self.by_snapshots {
            _ if self.profile.is_some() => By::Intervals,
            true => By::Snapshots,
            false => By::Timestamps,
        };
        Some(Promise { level, session_order: self.session_order, by })
    }

    /// The profile that it was judged by, which is the one that is typed or one that is built in.
    fn profile(&self, settings: &Settings) -> Result<Option<Profile>, StreamError> {
        let Some((name, says)) = &self.profile else { return Ok(None) };
        let built_in =
            || Profile::builtin().iter().find(|profile| profile.name() == *name).cloned();
        let profile = settings.profile.clone().or_else(built_in);
        let folder = settings.folder.as_ref().map(|f| f.display().to_string()).unwrap_or_default();
        match profile.filter(|profile| said(profile) == *says) {
            Some(profile) => Ok(Some(profile)),
            None => Err(StreamError::NoRules(format!(
                "{folder} has the state of a watch by the profile {name}, which said something else then\n  \
                 hint: --profile names the one that it had; another folder begins anew"
            ))),
        }
    }
}
