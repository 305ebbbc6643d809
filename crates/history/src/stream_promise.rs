//! What the source of an endless stream promises of what is still to come: conventions over [`Event`], so that
//! every format carries them and readers that do not know them still have a name and a detail.

use crate::evidence::Timestamp;
use crate::lazy::NO_TIME;
use crate::meta::Event;
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// The name of the event. Of the detail: the timestamp.
const WATERMARK: &str = "watermark";
/// Of the detail: the session.
const SESSION: &str = "session";
/// Of the detail: that nothing comes any more.
const END: &str = "end";

/// A promise about what comes later in a stream.
///
/// Every transaction that it speaks of comes before it. (In a native file, which is read block by block: in its
/// block or an earlier one.) A reader that has such promises of all sessions may forget what lies before them.
///
/// ```
/// use isolde_history::{Pool, StreamPromise, Timestamp, Value};
/// let mut pool = Pool::new();
/// let (session, watermark) = (Some(Value::from_u32(3)), Some(Timestamp::plain(70)));
/// let promise = StreamPromise { session, watermark, end: false };
/// let event = promise.to_event(&mut pool);
/// assert_eq!(pool.as_text(event.name), Some("watermark"));
/// assert_eq!(StreamPromise::of(&pool, &event), Some(promise));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamPromise {
    /// The session by its name; `None` speaks of all sessions, also of those that were never seen.
    pub session: Option<Value>,
    /// No transaction comes with a smaller commit timestamp, nor one without a commit timestamp that started
    /// before it. Where transactions have snapshots and no timestamps: none comes whose snapshot shows fewer numbers
    /// ([`Snapshot::shown`](crate::Snapshot::shown)), after as many restarts of the server as the logical part says.
    pub watermark: Option<Timestamp>,
    /// Nothing comes any more.
    pub end: bool,
}

impl StreamPromise {
    /// What an event promises; `None` if it is about something else, or says anything that a promise does not.
    pub fn of(pool: &Pool, event: &Event) -> Option<StreamPromise> {
        pool.as_text(event.name).filter(|name| *name == WATERMARK)?;
        let (None, None, Datum::Row(detail)) = (event.begin, event.end, pool.datum(event.detail))
        else {
            return None;
        };
        let mut promise = StreamPromise { session: None, watermark: None, end: false };
        for (column, value) in detail.pairs() {
            match pool.as_text(column)? {
                SESSION if value != Value::UNOBSERVED => promise.session = Some(value),
                WATERMARK => promise.watermark = Some(timestamp(pool, value)?),
                END if value == Value::TRUE => promise.end = true,
                _ => return None,
            }
        }
        (promise.watermark.is_some() || promise.end).then_some(promise)
    }

    /// The event that says it.
    pub fn to_event(&self, pool: &mut Pool) -> Event {
        let mut detail = Vec::new();
        if let Some(session) = self.session {
            detail.push((pool.text(SESSION), session));
        }
        if let Some(Timestamp { physical, logical }) = self.watermark {
            let (physical, part) = (pool.int(physical), pool.int(logical));
            let value = if logical == 0 { physical } else { pool.list(&[physical, part]) };
            detail.push((pool.text(WATERMARK), value));
        }
        if self.end {
            detail.push((pool.text(END), Value::TRUE));
        }
        let (name, detail) = (pool.text(WATERMARK), pool.row(&detail));
        Event { name, begin: None, end: None, detail }
    }
}

/// A number, or a list of the physical and the logical part; in no other way, so that every format gives back
/// what it was given.
fn timestamp(pool: &Pool, value: Value) -> Option<Timestamp> {
    let integer = |value: Value| i64::try_from(pool.as_wide_int(value)?).ok();
    let timestamp = match pool.datum(value) {
        Datum::List(parts) if parts.len() == 2 => {
            let mut parts = parts.iter();
            let (physical, logical) = (integer(parts.next()?)?, integer(parts.next()?)?);
            Timestamp { physical, logical: Some(logical).filter(|part| *part != 0)? }
        }
        _ => Timestamp::plain(integer(value)?),
    };
    (timestamp.physical != NO_TIME).then_some(timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{parse, to_text};
    use crate::{Format, HistoryBuilder, Input, Source};

    const TEXT: &str = "event kill @[1,_] n1\na: w(x,1) ts(1,2)\nevent watermark {session:a,watermark:3}\n\
                        event watermark {watermark:[4,1]}\nevent watermark {end:true,session:a,watermark:5}\n\
                        event watermark {end:true}\n";

    #[test]
    fn promises_follow_the_transactions_and_are_no_faults() {
        let history = parse(TEXT).unwrap();
        assert_eq!((history.faults().count(), history.promises().count()), (1, 4));
        let said: Vec<_> = history.promises().map(|p| (p.watermark, p.end)).collect();
        let hybrid = Timestamp { physical: 4, logical: 1 };
        assert_eq!(said[..2], [(Some(Timestamp::plain(3)), false), (Some(hybrid), false)]);
        assert_eq!(said[2..], [(Some(Timestamp::plain(5)), true), (None, true)]);
        assert_eq!(to_text(&history), TEXT);
        let mut copy = HistoryBuilder::new();
        history.replay(&mut copy).unwrap();
        assert_eq!(to_text(&copy.finish()), TEXT);
    }

    #[test]
    fn every_format_of_our_own_carries_them() {
        let history = parse(TEXT).unwrap();
        for name in ["isolde", "jsonl", "notation"] {
            let (format, mut file) = (Format::named(name).unwrap(), Vec::new());
            format.write.unwrap()(&history, &mut file).unwrap();
            let back = format.load(&Source::File(Input::new(name, file))).unwrap().finish();
            assert!(history.same_as(&back).is_ok(), "{name}: {:?}", history.same_as(&back));
            assert_eq!(back.promises().count(), 4, "{name}");
        }
    }

    #[test]
    fn an_event_that_only_sounds_like_one_promises_nothing() {
        for other in [
            "event watermark 3",
            "event watermark {session:a}",
            "event watermark {}",
            "event watermark {end:false,watermark:3}",
            "event watermark {session:_,watermark:3}",
            "event watermark {watermark:[3,0]}",
            "event watermark {watermark:x}",
            "event watermark {node:n1,watermark:3}",
            "event watermark @[1,_] {watermark:3}",
            "event end {watermark:3}",
        ] {
            let history = parse(other).unwrap();
            let counts = (history.faults().count(), history.promises().count());
            assert_eq!(counts, (1, 0), "{other}");
        }
    }

    #[test]
    fn a_promise_makes_no_session() {
        let history = parse("a: w(x,1)\nevent watermark {session:b,watermark:3}\n").unwrap();
        assert_eq!(history.session_count(), 1);
    }
}
