//! How far the sessions have come: nothing comes any more that began before the low-water mark.
//!
//! The transactions of a session come one after another, so what it does next begins after the end of its last one; a
//! heartbeat says that it begins even later, and the end of a session that nothing follows. A session that says such
//! things is *in touch*: it is waited for as long as it takes. One that only sends transactions may be gone for good, and
//! is waited for no longer than a timeout: whatever ended before something that came so long ago is decided.
//!
//! Sessions that were never seen may begin at any time, and nobody speaks for them. If no session is in touch, everything
//! waits for the timeout. If one is, the source is one that announces its sessions: then it is only in the time of one
//! timeout at the beginning that others are waited for.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use isolde_history::{SessionEvent, StreamPromise};

use crate::content::NameId;

/// So many sessions are told apart. Where there are more, only the timeout counts.
const MOST: usize = 1 << 16;

/// Of so many batches whose time is over it is remembered when they came.
const PAST: usize = 1 << 12;

/// How far sessions have come.
#[derive(Default)]
pub(super) struct LowWater {
    sessions: HashMap<NameId, Reached>,
    /// How many sessions are at each time: those that only send transactions, and those in touch.
    at: [BTreeMap<i64, u32>; 2],
    /// Whether any session has ever been in touch.
    announces: bool,
    crowded: bool,
    /// When batches came whose time is not over, and when the last transaction until then had ended.
    arrived: VecDeque<(i64, i64)>,
    /// Some of those whose time is over.
    past: VecDeque<(i64, i64)>,
    /// When the first one came.
    since: Option<i64>,
    newest: i64,
    /// Whatever ended before this has waited long enough.
    over: i64,
    /// Nothing comes any more at all.
    ended: bool,
    low: i64,
}

/// How far a session has come.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// What it does next begins then or later.
    at: i64,
    in_touch: bool,
}

impl LowWater {
    pub(super) fn new() -> LowWater {
        let none = i64::MIN;
        LowWater { newest: none, over: none, low: none, ..LowWater::default() }
    }

    /// A batch came at a time; its transactions had ended by another one.
    pub(super) fn arrived(&mut self, now: i64, ended: Option<i64>) {
        self.since.get_or_insert(now);
        let Some(ended) = ended else { return };
        self.newest = self.newest.max(ended);
        match self.arrived.back_mut() {
            Some((at, newest)) if *at == now => *newest = self.newest,
            _ => self.arrived.push_back((now, self.newest)),
        }
    }

    /// A transaction of a session came, which ended at a time.
    pub(super) fn ended_at(&mut self, session: NameId, end: Option<i64>) {
        self.reach(session, end.unwrap_or(i64::MIN), false);
    }

    /// What is said of a session.
    pub(super) fn heard(&mut self, session: NameId, next: Option<NameId>, event: &SessionEvent) {
        self.announces = true;
        match event {
            SessionEvent::Heartbeat { at, .. } => self.reach(session, *at, true),
            SessionEvent::Ended { at, .. } => {
                self.forget(session);
                if let Some(next) = next {
                    self.reach(next, *at, true);
                }
            }
        }
    }

    /// What is promised of a session, or of all of them.
    pub(super) fn promised(&mut self, session: Option<NameId>, promise: &StreamPromise) {
        match session {
            Some(session) if promise.end => {
                self.announces = true;
                self.forget(session);
            }
            None => self.ended |= promise.end,
            // Timestamps of the database say nothing of the clients' time.
            Some(_) => {}
        }
    }

    fn reach(&mut self, session: NameId, at: i64, in_touch: bool) {
        if self.crowded {
            return;
        }
        let before = self.sessions.get(&session).copied();
        let now = match before {
            Some(old) => Reached { at: old.at.max(at), in_touch: old.in_touch || in_touch },
            None => Reached { at, in_touch },
        };
        if let Some(old) = before {
            self.leave(old);
        }
        *self.at[usize::from(now.in_touch)].entry(now.at).or_default() += 1;
        self.sessions.insert(session, now);
        if self.sessions.len() > MOST {
            (self.crowded, self.sessions, self.at) = (true, HashMap::new(), Default::default());
        }
    }

    fn forget(&mut self, session: NameId) {
        if let Some(old) = self.sessions.remove(&session) {
            self.leave(old);
        }
    }

    fn leave(&mut self, old: Reached) {
        let at = &mut self.at[usize::from(old.in_touch)];
        if let Some(count) = at.get_mut(&old.at) {
            *count -= 1;
            if *count == 0 {
                at.remove(&old.at);
            }
        }
    }

    /// Time has passed: nothing comes any more that began before the time that it says.
    pub(super) fn at(&mut self, now: i64, timeout: i64) -> i64 {
        let long_ago = now.saturating_sub(timeout);
        while let Some((came, ended)) = self.arrived.pop_front_if(|(came, _)| *came <= long_ago) {
            self.over = ended.saturating_add(1);
            self.past.push_back((came, ended));
        }
        let surplus = self.past.len().saturating_sub(PAST);
        self.past.drain(..surplus);
        let first = |at: &BTreeMap<i64, u32>| at.first_key_value().map_or(i64::MAX, |(at, _)| *at);
        let [sending, in_touch] = [first(&self.at[0]), first(&self.at[1])];
        let began = self.since.is_some_and(|since| since <= long_ago);
        // Once all have ended, only time tells whether more come.
        let is_known = self.announces && began && !self.sessions.is_empty();
        let others = match is_known {
            true => sending.max(self.over),
            false => self.over,
        };
        let now = if self.ended { i64::MAX } else { in_touch.min(others) };
        self.low = self.low.max(now);
        self.low
    }

    /// What it said last.
    pub(super) fn reached(&self) -> i64 {
        self.low
    }

    /// How long ago the first came, as far as that is remembered, of those that had not ended when a transaction began: a
    /// timeout longer than that would have been enough for it.
    pub(super) fn came_after(&self, now: i64, began: i64) -> i64 {
        let all = self.past.iter().chain(&self.arrived);
        let mut later = all.filter(|(_, ended)| *ended >= began).map(|(came, _)| *came);
        later.next().map_or(0, |came| now.saturating_sub(came))
    }

    /// The bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.sessions.capacity() * (size_of::<(NameId, Reached)>() + 1)
            + self.sessions.len() * 2 * size_of::<(i64, u32)>()
            + (self.arrived.capacity() + self.past.capacity()) * size_of::<(i64, i64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::Value;

    const A: NameId = NameId(4, 0);
    const B: NameId = NameId(8, 0);

    fn beat(at: i64) -> SessionEvent {
        SessionEvent::Heartbeat { session: Value::ABSENT, at }
    }

    fn end(at: i64) -> SessionEvent {
        SessionEvent::Ended { session: Value::ABSENT, at, next: None }
    }

    #[test]
    fn without_a_word_everything_waits_for_the_timeout() {
        let mut low = LowWater::new();
        low.arrived(0, Some(50));
        low.ended_at(A, Some(50));
        assert_eq!(low.at(99, 100), i64::MIN);
        assert_eq!(low.at(100, 100), 51);
        low.arrived(150, Some(70));
        assert_eq!(low.at(249, 100), 51);
        assert_eq!(low.at(250, 100), 71);
        assert_eq!([10, 50, 51, 71].map(|began| low.came_after(300, began)), [300, 300, 150, 0]);
    }

    #[test]
    fn a_session_in_touch_is_waited_for_as_long_as_it_takes() {
        let mut low = LowWater::new();
        low.arrived(0, Some(50));
        low.ended_at(A, Some(50));
        low.heard(B, None, &beat(20));
        assert_eq!(low.at(1_000, 100), 20);
        low.ended_at(B, Some(40));
        assert_eq!(low.at(2_000, 100), 40);
        // It never falls, and an end is waited for no more.
        low.heard(B, None, &beat(30));
        assert_eq!(low.at(2_000, 100), 40);
        low.heard(B, None, &end(45));
        assert_eq!(low.at(2_000, 100), 51);
        low.heard(A, None, &end(55));
        assert_eq!(low.at(3_000, 100), 51, "nobody says that no other session comes");
    }

    #[test]
    fn sessions_that_announce_themselves_need_not_wait_for_the_timeout() {
        let mut low = LowWater::new();
        low.arrived(0, Some(50));
        low.ended_at(A, Some(50));
        low.heard(B, None, &beat(45));
        assert_eq!(low.at(99, 100), i64::MIN, "others may be about to begin");
        low.arrived(200, Some(300));
        low.ended_at(A, Some(300));
        low.heard(B, None, &beat(290));
        assert_eq!(low.at(200, 100), 290);
        // The session as which the client of one goes on is known by then.
        low.heard(B, Some(NameId(12, 0)), &end(295));
        assert_eq!(low.at(201, 100), 295);
    }

    #[test]
    fn the_end_of_all_leaves_nothing_to_wait_for() {
        let mut low = LowWater::new();
        low.arrived(0, Some(50));
        low.promised(None, &StreamPromise { session: None, watermark: None, end: true });
        assert_eq!(low.at(0, 100), i64::MAX);
    }

    #[test]
    fn too_many_sessions_are_not_told_apart() {
        let mut low = LowWater::new();
        low.arrived(0, Some(50));
        low.heard(A, None, &beat(1));
        (0..=MOST as u64).for_each(|i| low.ended_at(NameId(4 * i, 0), Some(9)));
        assert!(low.heap_bytes() < 1 << 20);
        assert_eq!(low.at(100, 100), 51);
    }
}
