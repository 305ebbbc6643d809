//! How far the source has come, by its own promises.
//!
//! The low-water mark is the least promise of all sessions that may still say something. What comes below it is late. It
//! never falls: a session that begins later cannot take back what others were told to be final.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::{HashMap, HashSet};
use isolde_history::{StreamPromise, Timestamp};

use crate::bodies::AFTER_ALL;
use crate::content::NameId;
use crate::pack::Pack;

/// So many sessions without a promise are none that will make one.
const MOST_SILENT: u32 = 1 << 15;
/// So many sessions are not told apart any more.
const MOST: usize = 1 << 16;
/// So many sessions are remembered after their end: what still comes of them is late.
const ENDED: usize = 1 << 15;

/// How far each session has come.
#[derive(Default)]
pub(crate) struct Promises {
    /// The promise of each session that has not ended; `None` as long as it has made none.
    sessions: HashMap<NameId, Option<Timestamp>>,
    /// How many sessions are at each promise.
    counts: BTreeMap<Timestamp, u32>,
    /// How many sessions have made none.
    silent: u32,
    /// There are too many sessions, or too many without a promise: only a promise for all of them counts. What single ones
    /// have promised says no more than which of them are late.
    crowded: bool,
    /// Sessions that have ended, and the same in that order.
    ended: HashSet<NameId>,
    ends: VecDeque<NameId>,
    /// What was promised for all sessions.
    all: Option<Timestamp>,
    low: Option<Timestamp>,
}

impl Pack for Promises {
    fn pack(&self, out: &mut Vec<u8>) {
        let sessions = self.sessions.iter().map(|(session, mark)| (*session, *mark));
        let mut sessions: Vec<_> = sessions.collect();
        sessions.sort_unstable();
        sessions.pack(out);
        self.ends.pack(out);
        (self.crowded, self.all, self.low).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Promises> {
        let mut promises = Promises::default();
        for (session, watermark) in Vec::<(NameId, Option<Timestamp>)>::unpack(input)? {
            promises.sessions.insert(session, watermark);
        }
        promises.ends = VecDeque::unpack(input)?;
        promises.ended = promises.ends.iter().copied().collect();
        (promises.crowded, promises.all, promises.low) = Pack::unpack(input)?;
        if !promises.crowded {
            for mark in promises.sessions.values() {
                match mark {
                    Some(mark) => *promises.counts.entry(*mark).or_default() += 1,
                    None => promises.silent += 1,
                }
            }
        }
        Some(promises)
    }
}

impl Promises {
    /// A session is there.
    pub(crate) fn see(&mut self, session: NameId) {
        if self.crowded {
            return;
        }
        let silent = &mut self.silent;
        self.sessions.entry(session).or_insert_with(|| {
            *silent += 1;
            None
        });
        if self.silent > MOST_SILENT || self.sessions.len() > MOST {
            self.crowded = true;
            self.silent = 0;
            self.counts = BTreeMap::new();
            self.sessions.retain(|_, mark| mark.is_some());
            self.drop_surplus();
        }
    }

    /// Notes a promise; `session` is whose it is.
    pub(crate) fn add(&mut self, session: Option<NameId>, promise: &StreamPromise) {
        let Some(session) = session else {
            // The end of all is a promise that nothing comes at all.
            let mark = if promise.end { Some(AFTER_ALL) } else { promise.watermark };
            self.all = self.all.max(mark);
            return;
        };
        if promise.end {
            self.end(session);
        } else if let Some(mark) = promise.watermark {
            self.see(session);
            self.mark(session, mark);
        }
    }

    fn mark(&mut self, session: NameId, mark: Timestamp) {
        let before = self.sessions.insert(session, Some(mark)).flatten();
        // A smaller promise than an earlier one says nothing.
        let mark = before.map_or(mark, |before| before.max(mark));
        self.sessions.insert(session, Some(mark));
        if self.crowded {
            return self.drop_surplus();
        }
        self.forget(before);
        *self.counts.entry(mark).or_default() += 1;
    }

    /// Nothing more comes of a session. What does nevertheless is late, as far as so many ends are remembered; of one that
    /// is not, it is that of a session which has just begun.
    fn end(&mut self, session: NameId) {
        if let Some(before) = self.sessions.remove(&session)
            && !self.crowded
        {
            self.forget(before);
        }
        if !self.ended.insert(session) {
            return;
        }
        self.ends.push_back(session);
        if self.ends.len() > ENDED
            && let Some(oldest) = self.ends.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    fn forget(&mut self, promise: Option<Timestamp>) {
        match promise {
            None => self.silent -= 1,
            Some(mark) => {
                if let Some(count) = self.counts.get_mut(&mark) {
                    *count -= 1;
                    if *count == 0 {
                        self.counts.remove(&mark);
                    }
                }
            }
        }
    }

    /// In a crowd: drops promises that say no more than what was promised for all, and if there are still too many, the least.
    fn drop_surplus(&mut self) {
        if self.sessions.len() <= MOST {
            return;
        }
        let all = self.all;
        self.sessions.retain(|_, mark| *mark > all);
        if let Some(surplus) = self.sessions.len().checked_sub(MOST / 2) {
            let named = self.sessions.iter().map(|(session, mark)| (*mark, *session));
            let mut named: Vec<_> = named.collect();
            named.sort_unstable();
            named[..surplus].iter().for_each(|(_, session)| _ = self.sessions.remove(session));
        }
        self.sessions.shrink_to_fit();
    }

    /// Whether all sessions promise, so that time says nothing. Once all have ended, only time tells whether more come.
    pub(crate) fn are_made(&self) -> bool {
        self.all.is_some() || (self.silent == 0 && !self.crowded && !self.counts.is_empty())
    }

    /// Nothing that keeps its promise comes below this.
    pub(crate) fn low(&mut self) -> Option<Timestamp> {
        let least = match self.silent {
            0 if !self.crowded => self.counts.first_key_value().map(|(mark, _)| *mark),
            _ => None,
        };
        self.low = self.low.max(self.all.max(least));
        self.low
    }

    /// Nothing of a session comes before this, as it has promised.
    pub(crate) fn promised(&self, session: NameId) -> Option<Timestamp> {
        let own = self.sessions.get(&session).copied().flatten();
        let own = if self.ended.contains(&session) { Some(AFTER_ALL) } else { own };
        self.all.max(own)
    }

    #[cfg(test)]
    fn are_broken(&self, session: NameId, at: Option<Timestamp>) -> bool {
        is_broken(self.promised(session), at)
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sessions.capacity() * (size_of::<(NameId, Option<Timestamp>)>() + 1)
            + self.counts.len() * 2 * size_of::<(Timestamp, u32)>()
            + self.ended.capacity() * (size_of::<NameId>() + 1)
            + self.ends.capacity() * size_of::<NameId>()
    }
}

/// Whether what comes at a time, or without one, breaks a promise.
pub(crate) fn is_broken(promised: Option<Timestamp>, at: Option<Timestamp>) -> bool {
    // What has no time comes after a promise, but not after the end.
    promised.is_some_and(|mark| mark == AFTER_ALL || at.is_some_and(|at| at < mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(mark: i64, end: bool) -> StreamPromise {
        StreamPromise { session: None, watermark: Some(Timestamp::plain(mark)), end }
    }

    #[test]
    fn the_end_of_all_sessions_leaves_the_rest_to_time_and_the_end_of_all_to_nothing() {
        let a = NameId(4, 0);
        let mut promises = Promises::default();
        promises.add(Some(a), &promise(10, false));
        assert!(promises.are_made());
        promises.add(Some(a), &promise(10, true));
        assert!(!promises.are_made());
        promises.add(None, &StreamPromise { session: None, watermark: None, end: true });
        assert!(promises.are_made());
        assert_eq!(promises.low(), Some(AFTER_ALL));
    }

    #[test]
    fn the_low_water_mark_is_the_least_promise_and_never_falls() {
        let (a, b) = (NameId(4, 0), NameId(8, 0));
        let mut promises = Promises::default();
        promises.see(a);
        promises.see(b);
        promises.add(Some(a), &promise(10, false));
        assert!(!promises.are_made());
        assert_eq!(promises.low(), None);
        promises.add(Some(b), &promise(7, false));
        assert!(promises.are_made());
        assert_eq!(promises.low(), Some(Timestamp::plain(7)));
        promises.add(Some(b), &promise(3, false));
        assert_eq!(promises.low(), Some(Timestamp::plain(7)));
        promises.add(Some(b), &promise(8, true));
        assert_eq!(promises.low(), Some(Timestamp::plain(10)));
        promises.see(b);
        assert!(!promises.are_made());
        assert_eq!(promises.low(), Some(Timestamp::plain(10)));
        promises.add(None, &promise(20, false));
        assert!(promises.are_made());
        assert_eq!(promises.low(), Some(Timestamp::plain(20)));
        assert!(promises.are_broken(a, Some(Timestamp::plain(19))));
        assert!(!promises.are_broken(a, Some(Timestamp::plain(20))));
        assert!(!promises.are_broken(a, None));
    }

    fn session(i: u64) -> NameId {
        NameId(4 * i, 0)
    }

    #[test]
    fn what_comes_of_a_session_after_its_end_is_late() {
        let mut promises = Promises::default();
        promises.add(Some(session(1)), &promise(10, true));
        promises.add(Some(session(2)), &promise(10, false));
        let mut again = Promises::unpack(&mut &promises.packed()[..]).unwrap();
        for promises in [&mut promises, &mut again] {
            assert!(promises.are_broken(session(1), Some(Timestamp::plain(99))));
            assert!(promises.are_broken(session(1), None));
            assert!(!promises.are_broken(session(2), None));
            // As far as ends are remembered.
            (10..10 + ENDED as u64).for_each(|i| promises.add(Some(session(i)), &promise(1, true)));
            assert!(!promises.are_broken(session(1), Some(Timestamp::plain(99))));
        }
    }

    #[test]
    fn sessions_that_promise_and_never_end_take_no_more_than_so_much() {
        let mut promises = Promises::default();
        let mut most = 0;
        for i in 0..300_000 {
            promises.add(Some(session(i)), &promise(i as i64, false));
            promises.low();
            most = most.max(promises.heap_bytes());
        }
        assert!(most < 12 << 20, "{most} bytes");
        assert_eq!(promises.low(), Some(Timestamp::plain(0)));
        promises.add(None, &promise(250_000, false));
        assert_eq!(promises.low(), Some(Timestamp::plain(250_000)));
    }

    #[test]
    fn in_a_crowd_a_session_that_breaks_its_own_promise_is_named() {
        let mut promises = Promises::default();
        promises.add(Some(session(0)), &promise(1_000, false));
        (1..=u64::from(MOST_SILENT) + 1).for_each(|i| promises.see(session(i)));
        assert!(promises.crowded && !promises.are_made());
        assert!(promises.are_broken(session(0), Some(Timestamp::plain(999))));
        promises.add(Some(session(7)), &promise(2_000, false));
        assert!(promises.are_broken(session(7), Some(Timestamp::plain(1_999))));
        assert_eq!(promises.low(), None);
        let again = Promises::unpack(&mut &promises.packed()[..]).unwrap();
        assert!(again.crowded && again.are_broken(session(7), Some(Timestamp::plain(1_999))));
        assert_eq!(again.packed(), promises.packed());
    }
}
