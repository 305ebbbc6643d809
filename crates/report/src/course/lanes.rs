//! What happened on the time line and was no client's doing, by kind.

use std::collections::{HashMap, HashSet};

use isolde_history::{Event, History, Value};

use super::times::Scale;
use crate::names;
use crate::wrap::shorten;

/// How many kinds are told one by one.
pub(super) const MOST_LANES: usize = 8;
/// A name with more different details than this is one kind.
const MOST_DETAILS: usize = 4;
/// How long the name of a kind may be.
const NAME: usize = 60;
/// What is nearer than this part of the run is one band.
const NEAR: f64 = 1.0 / 400.0;

/// The events of one kind, as a row of a picture.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// "kill n1".
    pub(crate) name: String,
    /// How many there were, also those outside of the run.
    pub(crate) count: u64,
    pub(crate) spans: Vec<Span>,
}

/// A band, or a mark if it has no length. Places are from 0 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) count: u64,
    begin: i64,
    end: i64,
}

impl Span {
    /// When it was.
    pub(crate) fn told(&self, scale: &Scale) -> String {
        scale.span_told(self.begin, self.end)
    }
}

/// When an event was, if that is known. One that never ended is a moment.
pub(crate) fn when(event: &Event) -> Option<(i64, i64)> {
    let begin = event.begin.or(event.end)?;
    Some((begin, event.end.unwrap_or(begin).max(begin)))
}

/// The events by kind, in the order in which kinds occur first: what each is called, and its events.
/// The last kind is that of all others, if there are too many.
pub(crate) fn kinds(history: &History) -> Vec<(String, Vec<&Event>)> {
    let mut details: HashMap<Value, HashSet<Value>> = HashMap::new();
    for event in history.faults() {
        let known = details.entry(event.name).or_default();
        if known.len() <= MOST_DETAILS {
            known.insert(event.detail);
        }
    }
    let many = |name: &Value| details.get(name).is_some_and(|known| known.len() > MOST_DETAILS);
    let mut numbers: HashMap<(Value, Value), usize> = HashMap::new();
    let mut kinds: Vec<(String, Vec<&Event>)> = Vec::new();
    for event in history.faults() {
        let detail = if many(&event.name) { Value::ABSENT } else { event.detail };
        let next = numbers.len();
        let number = *numbers.entry((event.name, detail)).or_insert(next);
        let at = number.min(MOST_LANES - 1);
        if at == kinds.len() {
            kinds.push((called(history, event.name, detail), Vec::new()));
        }
        if let Some((_, events)) = kinds.get_mut(at) {
            events.push(event);
        }
    }
    if numbers.len() > MOST_LANES
        && let Some((name, _)) = kinds.last_mut()
    {
        "other events".clone_into(name);
    }
    kinds
}

/// "kill n1"; texts without their quotation marks.
fn called(history: &History, name: Value, detail: Value) -> String {
    let plain = |value: Value| match history.pool().as_text(value) {
        Some(text) => shorten(text, NAME),
        None => shorten(&names::value(history, value), NAME),
    };
    let name = plain(name);
    if detail == Value::ABSENT {
        return name;
    }
    shorten(&format!("{name} {}", plain(detail)), NAME)
}

/// The events as rows of a picture; near ones are merged.
pub(super) fn of(history: &History, scale: &Scale) -> Vec<Lane> {
    let lane = |(name, events): (String, Vec<&Event>)| {
        let times = events.iter().filter_map(|event| when(event));
        let mut times: Vec<(i64, i64)> =
            times.filter(|(begin, end)| scale.overlaps(*begin, *end)).collect();
        times.sort_unstable();
        let mut spans: Vec<Span> = Vec::new();
        for (begin, end) in times {
            let (from, to) = (scale.place(begin), scale.place(end));
            match spans.last_mut().filter(|last| from - last.to < NEAR) {
                Some(last) => {
                    last.to = last.to.max(to);
                    last.end = last.end.max(end);
                    last.count += 1;
                }
                None => spans.push(Span { from, to, count: 1, begin, end }),
            }
        }
        Lane { name, count: events.len() as u64, spans }
    };
    kinds(history).into_iter().map(lane).collect()
}
