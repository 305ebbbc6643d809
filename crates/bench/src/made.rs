//! Histories to measure with, made from a seed.

use isolde_history::{Clock, History, HistoryBuilder, InitialState, Interval, Sink, SinkError};
use isolde_history::{Timestamp, TxnDraft, Value};

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

/// SplitMix64: small, seedable, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// A serial history of so many transactions on so many keys: every read is right.
pub(crate) fn history(shape: Shape, txns: u64, keys: u64) -> Result<History, SinkError> {
    let mut builder = HistoryBuilder::new();
    let mut random = Random(42);
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

fn value(n: u64) -> Value {
    Value::small_int(n as i64).unwrap_or(Value::ABSENT)
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

/// A history of mini-transactions that ran concurrently, each at its own pace, on a database that
/// validates what was read before it commits: strictly serializable, with intervals.
pub(crate) fn concurrent(txns: u64, sessions: u64, keys: u64) -> Result<History, SinkError> {
    let mut builder = HistoryBuilder::new();
    builder.meta().initial = InitialState::every(Value::from_u32(0));
    let mut random = Random(7);
    let mut state = vec![0u64; keys as usize];
    let mut running: Vec<Option<Mini>> = vec![None; sessions as usize];
    let mut draft = TxnDraft::default();
    let (mut time, mut done, mut fresh) = (0i64, 0, 0u64);
    while done < txns {
        time += 1;
        let session = random.below(sessions);
        let Some(mini) = running[session as usize].take() else {
            let a = random.below(keys);
            let b = (a + 1 + random.below(keys - 1)) % keys;
            let reads = [a, b].map(|key| (key, state[key as usize]));
            let writes = random.below(3);
            running[session as usize] = Some(Mini { begin: time, reads, writes });
            continue;
        };
        let id = builder.pool().session(value(session));
        draft.reset(id);
        draft.interval = Interval::new(mini.begin, time);
        let valid = mini.reads.iter().all(|&(key, seen)| state[key as usize] == seen);
        for (i, &(key, seen)) in mini.reads.iter().enumerate() {
            let name = builder.pool().int_key(key as i64);
            draft.read(name, value(seen));
            if (i as u64) < mini.writes {
                fresh += 1;
                draft.write(name, value(fresh));
                if valid {
                    state[key as usize] = fresh;
                }
            }
        }
        if !valid {
            draft.outcome = isolde_history::Outcome::Aborted;
        }
        done += u64::from(valid);
        builder.transaction(&draft)?;
    }
    Ok(builder.finish())
}

#[derive(Clone, Copy)]
struct Mini {
    begin: i64,
    reads: [(u64, u64); 2],
    writes: u64,
}
