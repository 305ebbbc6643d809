//! Small random traces with client intervals: what a server without any care for isolation would do, with some nonsense.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::any_order::in_any_order;
use crate::made::Random;

/// A transaction as the notation has it.
#[derive(Clone, Debug)]
pub(crate) struct TraceTxn {
    pub(crate) session: u64,
    pub(crate) line: String,
    pub(crate) began: i64,
}

/// What a statement does.
#[derive(Clone, Debug)]
enum Deed {
    Read(usize),
    Write(usize, u64),
    Delete(usize),
    Insert(usize, u64),
}

/// A statement or an end: when it was sent, done and answered.
#[derive(Clone, Copy, Debug)]
struct Times {
    sent: i64,
    done: i64,
    answered: i64,
}

struct Draft {
    session: u64,
    deeds: Vec<(Deed, Times)>,
    end: Times,
    outcome: &'static str,
    /// Whether it sees what was there at its first statement.
    snapshot: bool,
}

/// The header lines, and the transactions in the order of sessions.
pub(crate) struct Traces {
    pub(crate) header: String,
    pub(crate) txns: Vec<TraceTxn>,
    pub(crate) sessions: u64,
}

const KEYS: [&str; 3] = ["x", "y", "z"];

impl Traces {
    pub(crate) fn new(seed: u64) -> Traces {
        let mut random = Random::new(seed);
        let (sessions, keys) = (1 + random.below(4), 1 + random.below(3) as usize);
        let by_column = random.chance(30);
        let (values, slack) = (2 + random.below(30), random.below(12));
        let unsure = random.chance(25);
        let mut drafts = Vec::new();
        for session in 0..sessions {
            let mut clock = random.below(10) as i64;
            for _ in 0..1 + random.below(6) {
                drafts.push(draft(session, &mut clock, &mut random, (keys, values, slack, unsure)));
            }
        }
        let lines = run(&drafts, &mut random, by_column);
        let begin = |draft: &Draft| draft.deeds.first().map_or(draft.end.sent, |d| d.1.sent);
        let txns = drafts.iter().zip(lines).map(|(draft, line)| TraceTxn {
            session: draft.session,
            line,
            began: begin(draft),
        });
        let header = match by_column {
            true => "meta rows by-column\ninitial none\ngiven x {a:0,b:0}\ngiven y {a:0,b:0}\n",
            false => "initial 0\n",
        };
        Traces { header: header.to_owned(), txns: txns.collect(), sessions }
    }

    /// The same with the transactions in another order that keeps sessions.
    pub(crate) fn shuffled(&self, random: &mut Random) -> Vec<TraceTxn> {
        in_any_order(&self.txns, |txn| txn.session, 8, random)
    }

    pub(crate) fn text(&self, txns: &[TraceTxn]) -> String {
        let mut text = self.header.clone();
        for txn in txns {
            let _ = writeln!(text, "{}", txn.line);
        }
        text
    }
}

fn draft(
    session: u64,
    clock: &mut i64,
    random: &mut Random,
    (keys, values, slack, unsure): (usize, u64, u64, bool),
) -> Draft {
    let mut times = |random: &mut Random| {
        let sent = *clock + random.below(3) as i64;
        let done = sent + random.below(slack + 2) as i64;
        let answered = done + random.below(slack + 2) as i64;
        *clock = answered;
        Times { sent, done, answered }
    };
    let mut deeds = Vec::new();
    for _ in 0..1 + random.below(4) {
        let (key, value) = (random.below(keys as u64) as usize, 1 + random.below(values));
        let deed = match random.below(10) {
            0..5 => Deed::Read(key),
            5..8 => Deed::Write(key, value),
            8 => Deed::Delete(key),
            _ => Deed::Insert(key, value),
        };
        deeds.push((deed, times(random)));
    }
    let end = times(random);
    let outcome = match random.below(20) {
        0 | 1 => " abort",
        2 if unsure => " unknown",
        _ => "",
    };
    Draft { session, deeds, end, outcome, snapshot: random.chance(50) }
}

/// What keys hold: nothing, or two columns of which the second may be all there is.
type State = BTreeMap<usize, [u64; 2]>;

/// Lets all of them run, and writes down what their clients see.
fn run(drafts: &[Draft], random: &mut Random, by_column: bool) -> Vec<String> {
    // Each statement and each end, in the order in which the server does them.
    let mut course: Vec<(i64, usize, usize)> = Vec::new();
    for (txn, draft) in drafts.iter().enumerate() {
        let deeds = draft.deeds.iter().enumerate();
        course.extend(deeds.map(|(number, (_, times))| (times.done, txn, number)));
        course.push((draft.end.done, txn, usize::MAX));
    }
    course.sort_unstable();
    let first = |key: usize| (!by_column || key < 2).then_some((key, [0, 0]));
    let mut committed: State = (0..KEYS.len()).filter_map(first).collect();
    let mut seen: Vec<Option<State>> = vec![None; drafts.len()];
    let mut own: Vec<Vec<(usize, Option<[u64; 2]>)>> = vec![Vec::new(); drafts.len()];
    let mut words: Vec<Vec<String>> = vec![Vec::new(); drafts.len()];
    let nonsense = random.below(12);
    for (_, txn, number) in course {
        let draft = &drafts[txn];
        if number == usize::MAX {
            let stands = draft.outcome != " abort";
            for (key, value) in own[txn].drain(..).filter(|_| stands) {
                _ = committed.remove(&key);
                committed.extend(value.map(|value| (key, value)));
            }
            continue;
        }
        let view = match draft.snapshot {
            true => seen[txn].get_or_insert_with(|| committed.clone()).clone(),
            false => committed.clone(),
        };
        let (deed, times) = &draft.deeds[number];
        let now = |key: usize| {
            let written = own[txn].iter().rev().find(|(own, _)| *own == key);
            written.map_or(view.get(&key).copied(), |(_, value)| *value)
        };
        let word = match *deed {
            Deed::Read(key) => {
                let mut value = now(key);
                if random.chance(nonsense) {
                    value = Some([random.below(9), random.below(9)]);
                }
                format!("r({},{})", KEYS[key], text(value, by_column, random))
            }
            Deed::Write(key, value) => {
                let old = now(key).unwrap_or([0, 0]);
                let column = random.below(2) as usize;
                let mut new = old;
                new[if by_column { column } else { 0 }] = value;
                own[txn].push((key, Some(new)));
                match by_column {
                    true => format!("w({},{{{}:{value}}})", KEYS[key], ["a", "b"][column]),
                    false => format!("w({},{value})", KEYS[key]),
                }
            }
            Deed::Delete(key) => {
                own[txn].push((key, None));
                format!("delete({})", KEYS[key])
            }
            Deed::Insert(key, value) if now(key).is_none() => {
                own[txn].push((key, Some([value, 0])));
                let row = if by_column { format!("{{a:{value},b:0}}") } else { value.to_string() };
                format!("insert({},{row})", KEYS[key])
            }
            Deed::Insert(key, _) => format!("r({},_)", KEYS[key]),
        };
        words[txn].push(format!("{word}@[{},{}]", times.sent, times.answered));
    }
    let line = |(number, (draft, words)): (usize, (&Draft, &Vec<String>))| {
        let began = draft.deeds[0].1.sent;
        let end = match draft.outcome {
            " unknown" => "_".to_owned(),
            _ => draft.end.answered.to_string(),
        };
        let (session, sent) = (draft.session, draft.end.sent);
        let words = words.join(" ");
        let outcome = draft.outcome;
        format!("s{session} t{number}: {words}{outcome} @[{began},{end}] {{end-sent={sent}}}")
    };
    drafts.iter().zip(&words).enumerate().map(line).collect()
}

/// A value, or the columns of a row that somebody asks for.
fn text(value: Option<[u64; 2]>, by_column: bool, random: &mut Random) -> String {
    match (value, by_column) {
        (None, _) => "absent".to_owned(),
        (Some([a, _]), false) => a.to_string(),
        (Some([a, b]), true) => match random.below(3) {
            0 => format!("{{a:{a}}}"),
            1 => format!("{{b:{b}}}"),
            _ => format!("{{a:{a},b:{b}}}"),
        },
    }
}
