//! Serial histories: one transaction after another, for measuring readers and writers of files.

use isolde_history::{Clock, History, HistoryBuilder, InitialState, Interval, Sink, SinkError};
use isolde_history::{Timestamp, TxnDraft, Value};

use isolde_workload::Random;

/// What the transactions look like; all have four operations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Shape {
    /// Read and write one key, read and write another; integers only.
    Values,
    /// The same, with an interval of every transaction and statement.
    Intervals,
    /// The same, with start and commit timestamps.
    Timestamps,
    /// Two appends and two reads of lists.
    Lists,
    /// As [`Shape::Values`], in a log of events.
    Events,
}

const SESSIONS: u64 = 16;
/// How long lists grow before the workload moves on to new keys, as in Jepsen's.
const LIST_LEN: u64 = 16;

/// A number as a value; those of benchmarks are far below the limit of a word.
fn value(n: u64) -> Value {
    Value::small_int(n as i64).unwrap_or(Value::ABSENT)
}

/// A serial history of so many transactions on so many keys: every read is right.
pub(crate) fn history(shape: Shape, txns: u64, keys: u64) -> Result<History, SinkError> {
    let mut builder = HistoryBuilder::new();
    let mut random = Random::new(42);
    let mut state = vec![0u64; keys as usize];
    let mut draft = TxnDraft::default();
    let initial = if shape == Shape::Values { Value::from_u32(0) } else { Value::ABSENT };
    builder.meta().initial = InitialState::every(initial);
    if shape == Shape::Events || shape == Shape::Lists {
        builder.meta().clock = Clock::Events;
    }
    for t in 0..txns {
        let session = builder.pool().session(Value::from_u32(random.below(SESSIONS) as u32));
        draft.reset(session);
        let a = random.below(keys);
        let b = (a + 1 + random.below(keys - 1)) % keys;
        if shape == Shape::Lists {
            list_ops(&mut builder, &mut draft, t)?;
        } else {
            for (i, key) in [a, b].into_iter().enumerate() {
                let at = &mut state[key as usize];
                let before = if *at == 0 { initial } else { value(*at) };
                *at = 2 * t + i as u64 + 1;
                let key = builder.pool().int_key(key as i64);
                draft.read(key, before);
                stmt_interval(shape, &mut draft, t, i as i64);
                draft.write(key, value(*at));
                stmt_interval(shape, &mut draft, t, i as i64 + 2);
            }
        }
        evidence(shape, &mut draft, t as i64);
        builder.transaction(&draft)?;
    }
    Ok(builder.finish())
}

/// Each key takes [`LIST_LEN`] elements, then the next key takes over: reads stay short.
fn list_ops(builder: &mut HistoryBuilder, draft: &mut TxnDraft, t: u64) -> Result<(), SinkError> {
    for i in 0..2 {
        let n = 2 * t + i;
        let (key, len) = (n / LIST_LEN, n % LIST_LEN);
        let key = builder.pool().int_key(key as i64);
        draft.append(key, value(len + 1));
        let list: Vec<Value> = (1..=len + 1).map(value).collect();
        draft.list_read(key, Some(&list))?;
    }
    Ok(())
}

fn stmt_interval(shape: Shape, draft: &mut TxnDraft, t: u64, i: i64) {
    if shape == Shape::Intervals {
        let begin = t as i64 * 10_000 + i * 1000;
        draft.statement_interval(Interval::new(begin, begin + 900));
    }
}

fn evidence(shape: Shape, draft: &mut TxnDraft, t: i64) {
    match shape {
        Shape::Values => {}
        Shape::Intervals => draft.interval = Interval::new(t * 10_000, t * 10_000 + 4500),
        Shape::Timestamps => {
            draft.start = Some(Timestamp::plain(10 * t + 1));
            draft.commit = Some(Timestamp::plain(10 * t + 5));
        }
        Shape::Lists | Shape::Events => draft.interval = Interval::new(2 * t, 2 * t + 1),
    }
    if matches!(shape, Shape::Timestamps | Shape::Values) {
        draft.label = Some(value(t as u64));
    }
}
