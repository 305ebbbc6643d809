//! What recorders say of commits that the server had confirmed and does not have any more: conventions over
//! [`Event`], so that every format carries them and readers that do not know them still have a name, a time and a
//! detail.

use crate::meta::Event;
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// The name of the event.
const LOST_COMMIT: &str = "lost-commit";
/// Of the detail: how often the server had been started again when it confirmed the commit.
const RESTART: &str = "restart";
/// Of the detail: the server's number of the transaction.
const XID: &str = "xid";
/// Of the detail: the session that was told of the commit.
const SESSION: &str = "session";
/// Of the detail: the key whose versions were looked at.
const KEY: &str = "key";
/// Of the detail: the value that is not among them.
const VALUE: &str = "value";

/// A commit that the server had confirmed and has lost: one event for each transaction.
///
/// ```
/// use isolde_history::{LostCommit, Pool, Value};
/// let mut pool = Pool::new();
/// let (session, key, value) = (Value::from_u32(3), pool.text("x"), Value::from_u32(7));
/// let lost = LostCommit::ByValue { session, key, value };
/// let event = lost.to_event(&mut pool, 70);
/// assert_eq!(pool.as_text(event.name), Some("lost-commit"));
/// assert_eq!(LostCommit::of(&pool, &event), Some(lost));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LostCommit {
    /// The server says by its number that the transaction was not committed.
    ByXid {
        /// How often the server had been started again when it confirmed the commit: numbers are given anew
        /// after a crash.
        restart: u32,
        /// The server's number of the transaction.
        xid: i64,
    },
    /// What the transaction wrote last under a key is not among all versions of that key.
    ByValue {
        /// The session, by its name.
        session: Value,
        /// The key, by its name.
        key: Value,
        /// The value, which no other transaction wrote under that key.
        value: Value,
    },
}

impl LostCommit {
    /// What an event says of a lost commit; `None` if it is about something else.
    pub fn of(pool: &Pool, event: &Event) -> Option<LostCommit> {
        pool.as_text(event.name).filter(|name| *name == LOST_COMMIT)?;
        let Datum::Row(detail) = pool.datum(event.detail) else { return None };
        let field = |name: &str| {
            let mut pairs = detail.pairs();
            pairs.find(|&(column, _)| pool.as_text(column) == Some(name)).map(|(_, value)| value)
        };
        let integer = |name: &str| match pool.datum(field(name)?) {
            Datum::Int(number) => i64::try_from(number).ok(),
            _ => None,
        };
        if let Some(xid) = integer(XID) {
            let restart = u32::try_from(integer(RESTART)?).ok()?;
            return Some(LostCommit::ByXid { restart, xid });
        }
        let (session, key, value) = (field(SESSION)?, field(KEY)?, field(VALUE)?);
        Some(LostCommit::ByValue { session, key, value })
    }

    /// The event that says it; the time is when it was found out.
    pub fn to_event(&self, pool: &mut Pool, at: i64) -> Event {
        let detail = match *self {
            LostCommit::ByXid { restart, xid } => vec![
                (pool.text(RESTART), Value::from_u32(restart)),
                (pool.text(XID), pool.int(xid)),
            ],
            LostCommit::ByValue { session, key, value } => vec![
                (pool.text(SESSION), session),
                (pool.text(KEY), key),
                (pool.text(VALUE), value),
            ],
        };
        let (name, detail) = (pool.text(LOST_COMMIT), pool.row(&detail));
        Event { name, begin: Some(at), end: None, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{parse, to_text};

    #[test]
    fn lost_commits_are_no_faults_and_are_passed_on() {
        let text = "initial none\nevent kill @[1,_] n1\na: w(x,1)\n\
                    event lost-commit @[9,_] {key:x,session:a,value:1}\n\
                    event lost-commit @[9,_] {restart:2,xid:77}\n";
        let history = parse(text).unwrap();
        let lost: Vec<LostCommit> = history.lost_commits().collect();
        assert_eq!(lost.len(), 2);
        assert!(
            matches!(lost[0], LostCommit::ByValue { value, .. } if value == Value::from_u32(1))
        );
        assert_eq!(lost[1], LostCommit::ByXid { restart: 2, xid: 77 });
        assert_eq!(history.faults().count(), 1);
        let mut copy = crate::HistoryBuilder::new();
        history.replay(&mut copy).unwrap();
        let copy = copy.finish();
        assert_eq!((copy.lost_commits().count(), to_text(&copy)), (2, to_text(&history)));
    }

    #[test]
    fn an_event_that_only_sounds_like_one_is_a_fault() {
        let text = "event lost-commit @[3,_] a\nevent lost-commit @[3,_] {key:x}\n\
                    event lost-commit @[3,_] {xid:7}\nevent lost @[3,_] {restart:2,xid:77}\n";
        let history = parse(text).unwrap();
        assert_eq!((history.faults().count(), history.lost_commits().count()), (4, 0));
    }
}
