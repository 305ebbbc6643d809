//! Sequence numbers of sessions: what came twice, and what is missing.
//!
//! Of what a transaction said a hash is remembered with its number, so that nothing has to be read again to see whether it
//! comes a second time, and batches that are not kept any more do not matter. How many are remembered depends on how much
//! memory there is, and on how many sessions share it. A number that is older than what is remembered may be that of a
//! transaction which is sent again, or of a session that began again: which of them, nobody knows.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::content::NameId;
use crate::pack::{Pack, packed};

/// No more transactions of one session than this are remembered.
const MOST_OF_ONE: usize = 1 << 14;
/// How many sessions are remembered after their end, for the source may send that once more, too.
const ENDED: usize = 1 << 14;
/// The least and the most that all of them may take, and the share of the memory.
const BYTES: std::ops::RangeInclusive<usize> = 1 << 20..=64 << 20;
const SHARE: usize = 32;
/// What a session and one of its transactions take, in tables that grow by doubling. These are figures and not what was
/// asked of the system: what is forgotten must be the same after a restart.
const A_SESSION: usize = 2 * size_of::<(NameId, Seen)>() + 4 * size_of::<(i64, u64)>();
const A_TXN: usize = 2 * size_of::<(i64, u64)>();

/// The numbers of all sessions.
pub(crate) struct Numbers {
    sessions: HashMap<NameId, Seen>,
    /// Those that have ended, and when; the last one last.
    ended: VecDeque<(NameId, u64)>,
    /// How many numbers and ends there were.
    turn: u64,
    /// How many transactions are remembered.
    remembered: usize,
    /// How many bytes it may take.
    most: usize,
}

/// What is known of a session.
struct Seen {
    /// The greatest number.
    last: i64,
    /// Numbers and what was said, by number.
    recent: VecDeque<(i64, u64)>,
    /// The greatest number that is not remembered any more.
    forgotten: Option<i64>,
    /// When it said something last.
    turn: u64,
    /// When it ended. Another one may have its name.
    ended: Option<u64>,
}

packed!(Seen { last, recent, forgotten, turn, ended });

impl Pack for Numbers {
    fn pack(&self, out: &mut Vec<u8>) {
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_unstable_by_key(|(session, _)| **session);
        sessions.len().pack(out);
        for (session, seen) in sessions {
            session.pack(out);
            seen.pack(out);
        }
        self.ended.pack(out);
        (self.turn, self.most).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Numbers> {
        let sessions: HashMap<NameId, Seen> = Vec::unpack(input)?.into_iter().collect();
        let remembered = sessions.values().map(|seen| seen.recent.len()).sum();
        let ended = VecDeque::unpack(input)?;
        let (turn, most) = Pack::unpack(input)?;
        Some(Numbers { sessions, ended, turn, remembered, most })
    }
}

/// What a number says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbered {
    /// It is the next one, or there are no numbers.
    Next,
    /// Others before it are missing.
    Gap,
    /// The same transaction has come before.
    Again,
    /// Another transaction has had the number.
    Taken,
    /// So old that nothing is known of it any more: the same transaction or another one has had the number.
    Old,
}

/// How many transactions were left out.
#[derive(Clone, Copy, Default)]
pub(crate) struct LeftOut {
    /// They came twice.
    pub(crate) repeated: u64,
    /// Another one had the number.
    pub(crate) taken: u64,
    /// It is not remembered which one had the number.
    pub(crate) old: u64,
}

packed!(LeftOut { repeated, taken, old });

impl Numbers {
    /// No numbers yet, with a share of so many bytes of memory.
    pub(crate) fn new(memory: usize) -> Numbers {
        let (sessions, ended) = (HashMap::new(), VecDeque::new());
        Numbers { sessions, ended, turn: 0, remembered: 0, most: share_of(memory) }
    }

    /// From now on there is so much memory.
    pub(crate) fn limit(&mut self, memory: usize) {
        self.most = share_of(memory);
    }

    /// Notes a transaction with a number and what it says.
    pub(crate) fn note(&mut self, session: NameId, number: i64, said: u64) -> Numbered {
        self.turn += 1;
        let Some(seen) = self.sessions.get_mut(&session) else {
            self.sessions.insert(session, Seen::begin(number, said, self.turn));
            self.remembered += 1;
            self.forget_surplus();
            return Numbered::Next;
        };
        seen.turn = self.turn;
        let before = seen.recent.len();
        let numbered = seen.note(number, said);
        self.remembered = self.remembered + seen.recent.len() - before;
        self.forget_surplus();
        numbered
    }

    /// A session has ended. It is forgotten when many others have.
    pub(crate) fn end(&mut self, session: NameId) {
        let Some(seen) = self.sessions.get_mut(&session) else { return };
        if seen.ended.is_some() {
            return;
        }
        self.turn += 1;
        seen.ended = Some(self.turn);
        self.ended.push_back((session, self.turn));
        if self.ended.len() > ENDED
            && let Some((oldest, turn)) = self.ended.pop_front()
            && self.sessions.get(&oldest).is_some_and(|seen| seen.ended == Some(turn))
        {
            self.remembered -= self.sessions.remove(&oldest).map_or(0, |seen| seen.recent.len());
        }
    }

    /// Forgets sessions that have been silent for longest, and of the others what is oldest, if it takes too much.
    ///
    /// What then comes of a session that is forgotten is taken for that of a session which is seen for the first time:
    /// what it sends again counts once more, and what is missing before it is not noticed. Remembering which
    /// sessions there ever were would be as much as remembering them.
    fn forget_surplus(&mut self) {
        if self.heap_bytes() <= self.most {
            return;
        }
        // Half for sessions, half for what they said, and a quarter of the whole stays free.
        let half = self.most / 8 * 3;
        let most = (half / A_SESSION).max(1);
        if let Some(surplus) = self.sessions.len().checked_sub(most) {
            let mut turns: Vec<u64> = self.sessions.values().map(|seen| seen.turn).collect();
            let (_, first, _) = turns.select_nth_unstable(surplus);
            let first = *first;
            self.sessions.retain(|_, seen| seen.turn >= first);
            self.sessions.shrink_to_fit();
            let sessions = &self.sessions;
            self.ended.retain(|(session, turn)| {
                sessions.get(session).is_some_and(|seen| seen.ended == Some(*turn))
            });
        }
        let each = half / A_TXN / self.sessions.len().max(1);
        self.sessions.values_mut().for_each(|seen| seen.keep(each));
        self.remembered = self.sessions.values().map(|seen| seen.recent.len()).sum();
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sessions.len() * A_SESSION
            + self.remembered * A_TXN
            + self.ended.len() * size_of::<(NameId, u64)>()
    }
}

fn share_of(memory: usize) -> usize {
    (memory / SHARE).clamp(*BYTES.start(), *BYTES.end())
}

impl Seen {
    fn begin(number: i64, said: u64, turn: u64) -> Seen {
        let recent = VecDeque::from([(number, said)]);
        Seen { last: number, recent, forgotten: None, turn, ended: None }
    }

    fn note(&mut self, number: i64, said: u64) -> Numbered {
        let next = number == self.last.wrapping_add(1);
        let known = match number > self.last {
            true => Err(self.recent.len()),
            false => self.recent.binary_search_by_key(&number, |(other, _)| *other),
        };
        match known {
            Ok(at) if self.recent[at].1 == said => return Numbered::Again,
            Ok(_) if self.ended.is_none() => return Numbered::Taken,
            // Another session of the same name, unless it goes on.
            _ if self.ended.is_some() && !next => {
                *self = Seen::begin(number, said, self.turn);
                return Numbered::Next;
            }
            Ok(at) | Err(at) => {
                if self.forgotten.is_some_and(|forgotten| number <= forgotten) {
                    return Numbered::Old;
                }
                self.recent.insert(at, (number, said));
            }
        }
        (self.last, self.ended) = (self.last.max(number), None);
        self.keep(MOST_OF_ONE);
        if next { Numbered::Next } else { Numbered::Gap }
    }

    /// Remembers the last so many transactions.
    fn keep(&mut self, most: usize) {
        let surplus = self.recent.len().saturating_sub(most);
        if let Some((number, _)) = self.recent.drain(..surplus).next_back() {
            self.forgotten = self.forgotten.max(Some(number));
        }
        if self.recent.capacity() > 2 * most {
            self.recent.shrink_to(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NameId = NameId(4, 0);

    fn numbers() -> Numbers {
        Numbers::new(1 << 20)
    }

    #[test]
    fn the_same_number_is_the_same_transaction_if_it_says_the_same() {
        let mut numbers = numbers();
        assert_eq!(numbers.note(A, 5, 50), Numbered::Next);
        assert_eq!(numbers.note(A, 6, 60), Numbered::Next);
        assert_eq!(numbers.note(A, 5, 50), Numbered::Again);
        assert_eq!(numbers.note(A, 6, 61), Numbered::Taken);
        assert_eq!(numbers.note(A, 9, 90), Numbered::Gap);
        assert_eq!(numbers.note(A, 9, 90), Numbered::Again);
        // What was missing, and what was before the first: neither has come before, for certain.
        assert_eq!(numbers.note(A, 7, 70), Numbered::Gap);
        assert_eq!(numbers.note(A, 4, 40), Numbered::Gap);
        assert_eq!(numbers.note(A, 7, 70), Numbered::Again);
        assert_eq!(numbers.note(A, 10, 100), Numbered::Next);
    }

    #[test]
    fn a_number_older_than_all_that_is_remembered_is_no_repetition_for_certain() {
        let mut numbers = numbers();
        let count = MOST_OF_ONE as i64 + 100;
        numbers.limit(1 << 30);
        (0..count).for_each(|n| _ = numbers.note(A, n, n as u64));
        assert_eq!(numbers.note(A, 99, 99), Numbered::Old);
        assert_eq!(numbers.note(A, 100, 100), Numbered::Again);
        assert_eq!(numbers.note(A, 101, 0), Numbered::Taken);
    }

    #[test]
    fn a_request_of_some_thousands_is_recognised_by_number() {
        let mut numbers = Numbers::new(512 << 20);
        for n in 0..200_000_u64 {
            numbers.note(NameId(4 * (n % 24), 0), (n / 24) as i64, n);
        }
        let again = |n: u64| numbers.note(NameId(4 * (n % 24), 0), (n / 24) as i64, n);
        assert!((190_000..200_000).map(again).all(|numbered| numbered == Numbered::Again));
    }

    #[test]
    fn sessions_that_never_end_are_forgotten_in_time() {
        let mut numbers = Numbers::new(1 << 20);
        for session in 0..60_000 {
            assert_eq!(numbers.note(NameId(4 * session, 0), 1, session), Numbered::Next);
            assert!(numbers.heap_bytes() <= share_of(1 << 20));
        }
        assert_eq!(numbers.note(NameId(4 * 59_999, 0), 1, 59_999), Numbered::Again);
        assert_eq!(numbers.note(NameId(4, 0), 1, 1), Numbered::Next);
        let actual = numbers.sessions.capacity() * size_of::<(NameId, Seen)>();
        assert!(actual <= share_of(1 << 20), "{actual}");
    }

    #[test]
    fn what_is_forgotten_is_the_same_after_a_restart() {
        let mut numbers = numbers();
        let mut restarted = None;
        for n in 0..40_000_u64 {
            let session = NameId(4 * (n % 700), 0);
            let noted = numbers.note(session, (n / 700) as i64, n);
            if n % 97 == 0 {
                numbers.end(session);
            }
            if n == 20_001 {
                restarted = Numbers::unpack(&mut &numbers.packed()[..]);
            } else if let Some(restarted) = &mut restarted {
                assert_eq!(restarted.note(session, (n / 700) as i64, n), noted);
                if n % 97 == 0 {
                    restarted.end(session);
                }
            }
        }
        assert_eq!(restarted.map(|restarted| restarted.packed()), Some(numbers.packed()));
    }

    #[test]
    fn a_session_that_has_ended_may_be_sent_again_and_its_name_used_again() {
        let mut numbers = numbers();
        (1..=3).for_each(|n| _ = numbers.note(A, n, n as u64));
        numbers.end(A);
        assert_eq!(numbers.note(A, 3, 3), Numbered::Again);
        numbers.end(A);
        // It goes on nevertheless.
        assert_eq!(numbers.note(A, 4, 4), Numbered::Next);
        assert_eq!(numbers.note(A, 3, 3), Numbered::Again);
        numbers.end(A);
        assert_eq!(numbers.note(A, 1, 7), Numbered::Next);
        assert_eq!(numbers.note(A, 2, 8), Numbered::Next);
        assert_eq!(numbers.note(A, 2, 9), Numbered::Taken);
    }
}
