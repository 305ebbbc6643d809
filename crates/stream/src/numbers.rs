//! Sequence numbers of sessions: what came twice, and what is missing.

use std::collections::VecDeque;

use hashbrown::HashMap;
use isolde_history::{History, TxnId};

use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, name_id, word};
use crate::pack::{Pack, packed};

/// How many transactions of a session are remembered, for the source may send them once more.
const REMEMBERED: usize = 64;
/// How many sessions are remembered after their end, for the source may send that once more, too.
const ENDED: usize = 1024;

/// The numbers of all sessions.
#[derive(Default)]
pub(crate) struct Numbers {
    sessions: HashMap<NameId, Seen>,
    /// Those that have ended, the last one last.
    ended: VecDeque<NameId>,
}

#[derive(Default)]
struct Seen {
    last: i64,
    recent: VecDeque<(i64, TxnRef)>,
    /// Whether the session has ended. Another one may have its name.
    ended: bool,
}

packed!(Seen { last, recent, ended });

impl Pack for Numbers {
    fn pack(&self, out: &mut Vec<u8>) {
        self.sessions.len().pack(out);
        for (session, seen) in &self.sessions {
            session.pack(out);
            seen.pack(out);
        }
        self.ended.pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Numbers> {
        let sessions = Vec::<(NameId, Seen)>::unpack(input)?.into_iter().collect();
        Some(Numbers { sessions, ended: VecDeque::unpack(input)? })
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
}

impl Numbers {
    /// Notes a transaction with a number.
    pub(crate) fn note(
        &mut self,
        session: NameId,
        number: i64,
        (txn, in_batch): (TxnRef, TxnId),
        batch: &History,
        bodies: &mut Bodies,
    ) -> Numbered {
        let begin = || {
            let recent = VecDeque::from([(number, txn)]);
            Seen { last: number, recent, ended: false }
        };
        let Some(seen) = self.sessions.get_mut(&session) else {
            self.sessions.insert(session, begin());
            return Numbered::Next;
        };
        let full = seen.recent.len() == REMEMBERED;
        if full && !seen.ended && seen.recent.front().is_some_and(|(first, _)| number < *first) {
            // Numbers of a session rise: it came before, and what it said then is not compared.
            return Numbered::Again;
        }
        if let Some((_, before)) = seen.recent.iter().find(|(other, _)| *other == number) {
            let earlier = match before.batch() == txn.batch() {
                true => None,
                false => bodies.get(before.batch()),
            };
            let same = are_same(earlier.as_deref().unwrap_or(batch), before.txn(), batch, in_batch);
            match same {
                true => return Numbered::Again,
                false if !seen.ended => return Numbered::Taken,
                false => {}
            }
        }
        if seen.ended {
            // Another session of the same name.
            *seen = begin();
            self.ended.retain(|other| *other != session);
            return Numbered::Next;
        }
        let next = number == seen.last.wrapping_add(1);
        seen.last = number;
        if seen.recent.len() == REMEMBERED {
            seen.recent.pop_front();
        }
        seen.recent.push_back((number, txn));
        if next { Numbered::Next } else { Numbered::Gap }
    }

    /// A session has ended. It is forgotten when many others have.
    pub(crate) fn end(&mut self, session: NameId) {
        let Some(seen) = self.sessions.get_mut(&session) else { return };
        if !std::mem::replace(&mut seen.ended, true) {
            self.ended.push_back(session);
        }
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.sessions.remove(&oldest);
        }
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sessions.len() * (size_of::<(NameId, Seen)>() + REMEMBERED / 2 * 16)
    }
}

/// Whether two transactions of two batches say the same.
fn are_same(a: &History, of_a: TxnId, b: &History, of_b: TxnId) -> bool {
    let (x, y) = (a.txn(of_a), b.txn(of_b));
    let stamps =
        (x.outcome(), x.start_ts(), x.commit_ts()) == (y.outcome(), y.start_ts(), y.commit_ts());
    let count = x.ops().len() == y.ops().len();
    stamps
        && count
        && x.ops().zip(y.ops()).all(|(p, q)| {
            let key = |h: &History, key| name_id(h.pool(), h.pool().key_name(key));
            let keys = match (
                p.key() == isolde_history::Key::NONE,
                q.key() == isolde_history::Key::NONE,
            ) {
                (false, false) => key(a, p.key()) == key(b, q.key()),
                (none, other) => none == other,
            };
            let elements = |h: &History, op: &isolde_history::Op<'_>| -> Option<Vec<_>> {
                op.elements().map(|all| all.iter().map(|v| word(h.pool(), *v)).collect())
            };
            let values = match (p.elements(), q.elements()) {
                (None, None) => word(a.pool(), p.value()) == word(b.pool(), q.value()),
                _ => elements(a, &p) == elements(b, &q),
            };
            (p.kind(), p.effect()) == (q.kind(), q.effect()) && keys && values
        })
}
