//! From simulated transactions to the history of a client.

use isolde_history::{Clock, Effect, InitialState, Interval, Outcome, Sink, SinkError};
use isolde_history::{Pool, TxnDraft, Value, info};
use isolde_spec::Anomaly;

use super::plan::{Database, Plan};
use super::running::{Act, Running};
use super::stamper::Stamper;
use super::timestamp_faults::TimestampFault;
use crate::settings::Settings;
use crate::workload::Workload;

/// What was simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Simulated {
    /// How many transactions are in the history, with those that were left out because they did not
    /// commit.
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
    only_committed: bool,
    stamper: Option<Stamper>,
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
        let Settings { sessions, seed, .. } = *workload.settings();
        let stamper = |timestamps| Stamper::new(timestamps, sessions, seed);
        Recorder {
            sinks,
            initial,
            intervals: plan.intervals,
            only_committed: plan.only_committed,
            stamper: plan.timestamps.as_ref().map(stamper),
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
        let committed = outcome == Outcome::Committed;
        self.done.txns += 1;
        self.done.committed += u64::from(committed);
        if self.only_committed && !committed {
            return Ok(());
        }
        self.done.ops += txn.acts.len() as u64;
        let part = if self.sinks.len() == 1 { 0 } else { session as usize };
        let sink = &mut self.sinks[part];
        let (draft, initial) = (&mut self.draft, self.initial);
        draft.reset(sink.pool().session(Value::from_u32(session)));
        draft.outcome = outcome;
        if self.intervals {
            draft.interval = Interval::new(txn.begin, end);
        }
        if let Some(stamper) = &mut self.stamper {
            if committed {
                let (start, commit) = stamper.committed(session, txn);
                (draft.start, draft.commit) = (Some(start), commit);
            } else {
                draft.start = Some(stamper.start(session, txn));
            }
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
    let stamps = plan.timestamps.as_ref();
    let faults = stamps.iter().flat_map(|stamps| &stamps.planted).map(|p| {
        let fault = p.fault.map_or("various", TimestampFault::name);
        format!("{fault}:{}", p.count)
    });
    let texts = [
        ("workload", settings.kind.name().to_owned()),
        ("distribution", settings.distribution.to_string()),
        ("favour", settings.favour.map_or_else(String::new, |a| a.name().to_owned())),
        ("database", plan.database.name().to_owned()),
        ("plant", planted.collect::<Vec<_>>().join(",")),
        ("timestamps", stamps.map_or_else(String::new, |s| s.style.name().to_owned())),
        ("plant-timestamps", faults.collect::<Vec<_>>().join(",")),
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
    if let Some(reads) = settings.reads {
        row.push((pool.text("reads"), pool.float(reads)));
    }
    for (name, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        row.push((pool.text(name), pool.text(text)));
    }
    row.extend(counts.map(|(name, count)| (pool.text(name), pool.uint(count))));
    let drift = stamps.map_or(0, |stamps| stamps.drift);
    if drift > 0 {
        row.push((pool.text("clock-drift"), pool.uint(u64::from(drift))));
    }
    row.extend(shares.map(|(name, share)| (pool.text(name), pool.float(share))));
    let parameters = (pool.text(info::PARAMETERS), pool.row(&row));
    let seed = (pool.text(info::SEED), pool.uint(settings.seed));
    let server = (pool.text(info::SERVER), pool.text("simulated"));
    // A writer commits only if what it read is still current: it could have run when it committed.
    let is_serial = stamps.is_some() && plan.database == Database::Serializable;
    let serial = is_serial.then(|| (pool.text(info::COMMIT_ORDER), pool.text(info::SERIAL)));
    for (name, value) in [server, seed, parameters].into_iter().chain(serial) {
        sink.meta().set(name, value);
    }
}
