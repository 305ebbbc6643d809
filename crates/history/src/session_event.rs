//! What recorders say of sessions on the time line: conventions over [`Event`], so that every format
//! carries them and readers that do not know them still have a name, a time and a detail.

use crate::meta::Event;
use crate::pool::Pool;
use crate::stream_promise::StreamPromise;
use crate::value::{Datum, Value};

/// The name of a heartbeat.
const HEARTBEAT: &str = "heartbeat";
/// The name of a session's end.
const SESSION_END: &str = "session-end";
/// Of the detail: the session.
const SESSION: &str = "session";
/// Of the detail: the session as which the client goes on.
const NEXT: &str = "next";

/// Something on the time line that is about a session. Sessions are given by their names.
///
/// In a record that is followed while it is written, every transaction of the session that began
/// before the event comes before it. (In a native file, which is read block by block: in its block or an
/// earlier one.) A reader that needs to know how far all sessions have come therefore need not wait for
/// one that has nothing to do.
///
/// ```
/// use isolde_history::{Pool, SessionEvent, Value};
/// let mut pool = Pool::new();
/// let (session, next) = (Value::from_u32(3), Some(Value::from_u32(11)));
/// let ended = SessionEvent::Ended { session, at: 70, next };
/// let event = ended.to_event(&mut pool);
/// assert_eq!(pool.as_text(event.name), Some("session-end"));
/// assert_eq!(SessionEvent::of(&pool, &event), Some(ended));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionEvent {
    /// The session has nothing under way; what it does next begins at that time or later.
    Heartbeat {
        /// The session.
        session: Value,
        /// When.
        at: i64,
    },
    /// The session does nothing any more.
    Ended {
        /// The session.
        session: Value,
        /// When.
        at: i64,
        /// The session as which its client goes on, since the connection was lost.
        next: Option<Value>,
    },
}

impl SessionEvent {
    /// What an event says of a session; `None` if it is about something else.
    pub fn of(pool: &Pool, event: &Event) -> Option<SessionEvent> {
        let name = pool.as_text(event.name).filter(|n| *n == HEARTBEAT || *n == SESSION_END)?;
        let at = event.begin?;
        let Datum::Row(detail) = pool.datum(event.detail) else { return None };
        let field = |name: &str| {
            let mut pairs = detail.pairs();
            pairs.find(|&(column, _)| pool.as_text(column) == Some(name)).map(|(_, value)| value)
        };
        let session = field(SESSION).filter(|s| *s != Value::UNOBSERVED)?;
        Some(match name {
            HEARTBEAT => SessionEvent::Heartbeat { session, at },
            _ => SessionEvent::Ended { session, at, next: field(NEXT) },
        })
    }

    /// The event that says it.
    pub fn to_event(&self, pool: &mut Pool) -> Event {
        let (name, session, at, next) = match *self {
            SessionEvent::Heartbeat { session, at } => (HEARTBEAT, session, at, None),
            SessionEvent::Ended { session, at, next } => (SESSION_END, session, at, next),
        };
        let mut detail = vec![(pool.text(SESSION), session)];
        if let Some(next) = next {
            detail.push((pool.text(NEXT), next));
        }
        let (name, detail) = (pool.text(name), pool.row(&detail));
        Event { name, begin: Some(at), end: None, detail }
    }

    /// The session.
    pub const fn session(&self) -> Value {
        match self {
            SessionEvent::Heartbeat { session, .. } | SessionEvent::Ended { session, .. } => {
                *session
            }
        }
    }

    /// When.
    pub const fn at(&self) -> i64 {
        match self {
            SessionEvent::Heartbeat { at, .. } | SessionEvent::Ended { at, .. } => *at,
        }
    }
}

/// Events in their order, cut before the first that is about a session or promises something. Those from there on are passed
/// on after the transactions, so that no session is said to have come further than it has.
pub(crate) fn around_transactions<'e>(
    pool: &Pool,
    events: &'e [Event],
) -> (&'e [Event], &'e [Event]) {
    let first = events.iter().position(|event| {
        SessionEvent::of(pool, event).is_some() || StreamPromise::of(pool, event).is_some()
    });
    events.split_at(first.unwrap_or(events.len()))
}

#[cfg(test)]
mod tests {
    use crate::notation::{parse, to_text};
    use crate::{HistoryBuilder, JsonlWriter};

    #[test]
    fn events_of_sessions_follow_the_transactions_and_keep_their_order() {
        let text = "initial none\nevent kill @[1,_] n1\na: w(x,1)\n\
                    event heartbeat @[3,_] {session:a}\nevent heal @[4,_] n1\n\
                    event session-end @[9,_] {session:a}\n";
        let history = parse(text).unwrap();
        let mut lines = JsonlWriter::new(Vec::new());
        history.replay(&mut lines).unwrap();
        let mut written = Vec::new();
        crate::Format::named("jsonl").unwrap().write.unwrap()(&history, &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let lines = String::from_utf8(lines.finish().unwrap()).unwrap();
        // The one knows from the beginning that it is complete, the other says so at the end.
        let (whole, piecewise) = ("\"complete\":true,", "\"complete\":false,");
        let trailer = "{\"meta\":{\"complete\":true}}\n";
        assert_eq!(lines, written.replacen(whole, piecewise, 1) + trailer);
        let kinds: Vec<&str> = written.lines().skip(1).map(|line| &line[2..12]).collect();
        assert_eq!(kinds[..2], ["event\":\"ki", "session\":\""]);
        assert_eq!(kinds[2..], ["event\":\"he", "event\":\"he", "event\":\"se"]);
        let mut copy = HistoryBuilder::new();
        history.replay(&mut copy).unwrap();
        assert_eq!(to_text(&copy.finish()), to_text(&history));
        assert_eq!((history.faults().count(), history.session_events().count()), (2, 2));
    }

    #[test]
    fn an_event_that_only_sounds_like_one_is_about_no_session() {
        let text = "event heartbeat @[3,_] a\nevent heartbeat @[_,3] {session:a}\n\
                    event heartbeat @[3,_] {session:_}\nevent beat @[3,_] {session:a}\n";
        let history = parse(text).unwrap();
        assert_eq!((history.faults().count(), history.session_events().count()), (4, 0));
    }
}
