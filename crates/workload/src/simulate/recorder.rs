//! From simulated transactions to the history of a client.

use isolde_history::{Clock, Effect, InitialState, Interval, Outcome, Sink, SinkError};
use isolde_history::{Pool, TxnDraft, Value, info};
use isolde_spec::Anomaly;

use super::plan::Plan;
use super::running::{Act, Running};
use crate::workload::Workload;

/// What was simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Simulated {
    /// How many transactions are in the history.
    pub txns: u64,
    /// How many of them committed.
    pub committed: u64,
    /// How many operations they have.
    pub ops: u64,
    /// How many violations were planted.
    pub planted: u64,
}

/// Takes transactions as their answers arrive.
pub(crate) struct Recorder<'s, S> {
    /// One, or one for each session.
    sinks: &'s mut [S],
    /// The value of a key before its first write.
    initial: Value,
    intervals: bool,
    draft: TxnDraft,
    list: Vec<Value>,
    done: Simulated,
}

impl<'s, S: Sink> Recorder<'s, S> {
    pub(crate) fn new(plan: &Plan, workload: &Workload, sinks: &'s mut [S]) -> Recorder<'s, S> {
        let initial = if workload.starts_filled() { number(0) } else { Value::ABSENT };
        for sink in &mut *sinks {
            sink.meta().initial = InitialState::every(initial);
            sink.meta().clock = Clock::Events;
            describe(plan, workload, sink);
        }
        Recorder {
            sinks,
            initial,
            intervals: plan.intervals,
            draft: TxnDraft::default(),
            list: Vec::new(),
            done: Simulated::default(),
        }
    }

    /// What there is so far.
    pub(crate) fn done(&self) -> Simulated {
        self.done
    }

    pub(crate) fn planted(&mut self) {
        self.done.planted += 1;
    }

    pub(crate) fn record(
        &mut self,
        session: u32,
        txn: &Running,
        end: i64,
        outcome: Outcome,
    ) -> Result<(), SinkError> {
        let part = if self.sinks.len() == 1 { 0 } else { session as usize };
        let sink = &mut self.sinks[part];
        let (draft, initial) = (&mut self.draft, self.initial);
        draft.reset(sink.pool().session(Value::from_u32(session)));
        draft.outcome = outcome;
        if self.intervals {
            draft.interval = Interval::new(txn.begin, end);
        }
        let pool = sink.pool();
        for act in &txn.acts {
            match *act {
                Act::Read { key, value } => draft.read(name(pool, key), read(value, initial)),
                Act::Write { key, value } => draft.write(name(pool, key), number(value)),
                Act::Append { key, value } => draft.append(name(pool, key), number(value)),
                Act::ListRead { key, start, end } => {
                    self.list.clear();
                    let elements = &txn.elements[start as usize..end as usize];
                    self.list.extend(elements.iter().map(|n| number(*n)));
                    draft.list_read(name(pool, key), Some(&self.list))?;
                }
                Act::Cas { key, expected, value, done } => {
                    let expected = read(expected, initial);
                    draft.cas(name(pool, key), expected, number(value), effect(done));
                }
                Act::Insert { key, value, done } => {
                    draft.insert_if_absent(name(pool, key), number(value), effect(done));
                }
            }
        }
        self.done.txns += 1;
        self.done.committed += u64::from(outcome == Outcome::Committed);
        self.done.ops += txn.acts.len() as u64;
        sink.transaction(draft)
    }
}

/// A number as a value; those of simulations are far below the limit of a word.
fn number(n: u64) -> Value {
    Value::small_int(n as i64).unwrap_or(Value::ABSENT)
}

fn read(n: u64, initial: Value) -> Value {
    if n == 0 { initial } else { number(n) }
}

fn name(pool: &mut Pool, key: u64) -> isolde_history::Key {
    pool.int_key(key as i64)
}

const fn effect(done: bool) -> Effect {
    if done { Effect::Done } else { Effect::Failed }
}

/// Says in the history how it came about, so that it can be made again.
fn describe(plan: &Plan, workload: &Workload, sink: &mut impl Sink) {
    let settings = workload.settings();
    let pool = sink.pool();
    let planted = plan.planted.iter().map(|p| {
        let anomaly = p.anomaly.map_or("various", Anomaly::name);
        format!("{anomaly}:{}", p.count)
    });
    let texts = [
        ("workload", settings.kind.name().to_owned()),
        ("distribution", settings.distribution.to_string()),
        ("favour", settings.favour.map_or_else(String::new, |a| a.name().to_owned())),
        ("database", plan.database.name().to_owned()),
        ("plant", planted.collect::<Vec<_>>().join(",")),
    ];
    let counts = [
        ("transactions", plan.txns),
        ("sessions", u64::from(settings.sessions)),
        ("keys", u64::from(settings.keys)),
        ("max-txn-len", u64::from(settings.max_txn_len)),
        ("round", u64::from(settings.round)),
    ];
    let shares = [
        ("concurrency", plan.concurrency),
        ("rollbacks", settings.rollbacks),
        ("aborted", plan.aborted),
    ];
    let mut row = Vec::new();
    for (name, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        row.push((pool.text(name), pool.text(text)));
    }
    row.extend(counts.map(|(name, count)| (pool.text(name), pool.uint(count))));
    row.extend(shares.map(|(name, share)| (pool.text(name), pool.float(share))));
    let parameters = (pool.text(info::PARAMETERS), pool.row(&row));
    let seed = (pool.text(info::SEED), pool.uint(settings.seed));
    let server = (pool.text(info::SERVER), pool.text("simulated"));
    for (name, value) in [server, seed, parameters] {
        sink.meta().set(name, value);
    }
}
