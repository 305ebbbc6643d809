//! How far the source has come, by its own promises.
//!
//! The low-water mark is the least promise of all sessions that may still say something. What comes below it is late. It
//! never falls: a session that begins later cannot take back what others were told to be final.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use isolde_history::{StreamPromise, Timestamp};

use crate::bodies::AFTER_ALL;
use crate::content::NameId;
use crate::pack::Pack;

/// So many sessions without a promise are none that will make one.
const MOST_SILENT: u32 = 1 << 15;

/// How far each session has come.
#[derive(Default)]
pub(crate) struct Promises {
    /// The promise of each session that has not ended; `None` as long as it has made none.
    sessions: HashMap<NameId, Option<Timestamp>>,
    /// How many sessions are at each promise.
    counts: BTreeMap<Timestamp, u32>,
    /// How many sessions have made none.
    silent: u32,
    /// There are so many of these that they are not counted any more: only a promise for all sessions counts.
    crowded: bool,
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
        self.all.pack(out);
        self.low.pack(out);
        self.crowded.pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Promises> {
        let mut promises = Promises::default();
        for (session, watermark) in Vec::<(NameId, Option<Timestamp>)>::unpack(input)? {
            let promise = StreamPromise { session: None, watermark, end: false };
            promises.add(Some(session), &promise);
        }
        promises.all = Option::unpack(input)?;
        promises.low = Option::unpack(input)?;
        promises.crowded = bool::unpack(input)?;
        Some(promises)
    }
}

impl Promises {
    /// A session is there.
    pub(crate) fn see(&mut self, session: NameId) {
        if self.crowded {
            return;
        }
        if self.silent == MOST_SILENT {
            self.crowded = true;
            (self.sessions, self.counts) = (HashMap::new(), BTreeMap::new());
            return;
        }
        let silent = &mut self.silent;
        self.sessions.entry(session).or_insert_with(|| {
            *silent += 1;
            None
        });
    }

    /// Notes a promise; `session` is whose it is.
    pub(crate) fn add(&mut self, session: Option<NameId>, promise: &StreamPromise) {
        let Some(session) = session else {
            // The end of all is a promise that nothing comes at all.
            let mark = if promise.end { Some(AFTER_ALL) } else { promise.watermark };
            self.all = self.all.max(mark);
            return;
        };
        self.see(session);
        if self.crowded {
            return;
        }
        if let Some(mark) = promise.watermark {
            let before = self.sessions.insert(session, Some(mark)).flatten();
            // A smaller promise than an earlier one says nothing.
            let mark = before.map_or(mark, |before| before.max(mark));
            self.sessions.insert(session, Some(mark));
            self.forget(before);
            *self.counts.entry(mark).or_default() += 1;
        }
        if promise.end
            && let Some(before) = self.sessions.remove(&session)
        {
            self.forget(before);
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
        self.all.max(self.sessions.get(&session).copied().flatten())
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sessions.capacity() * (size_of::<(NameId, Option<Timestamp>)>() + 1)
            + self.counts.len() * 2 * size_of::<(Timestamp, u32)>()
    }
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
        assert_eq!(promises.promised(b), Some(Timestamp::plain(20)));
    }
}
