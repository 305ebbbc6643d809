//! An endless right history as batches, made on a thread of its own while they are judged, so that it never is in
//! memory as a whole.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use isolde_history::{
    Event, History, HistoryBuilder, JsonlWriter, Key, Meta, Pool, Sink, SinkError, StreamPromise,
    Timestamp, TxnDraft, Value, Warning, info,
};
use isolde_spec::Level;
use isolde_workload::Random;
use isolde_workload::simulate::{self, Timestamps, simulate};

use super::args::{FedAs, StreamCase, YesNo};
use super::arrival::{Arrival, session_of};
use super::held::{Held, HeldAccess};

/// How many batches may wait.
const WAITING: usize = 32;
/// After how many keys names are forgotten.
const MOST_NAMES: usize = 10_000;
/// After how many transactions sessions promise again.
const PROMISE_EVERY: u64 = 1_000;

/// Some transactions, and when the last of them arrived, in milliseconds.
pub(super) struct Batch {
    pub(super) what: Fed,
    pub(super) txns: u64,
    pub(super) now: i64,
}

/// What a batch is made of.
pub(super) enum Fed {
    Decoded(Box<History>),
    Lines(Vec<u8>),
}

/// A source that is at work.
pub(super) struct Source {
    pub(super) batches: Receiver<Batch>,
    thread: JoinHandle<Result<()>>,
}

impl Source {
    /// Begins to make batches.
    pub(super) fn start(case: &StreamCase) -> Result<Source> {
        let (sender, batches) = sync_channel(WAITING);
        let case = case.clone();
        let make = move || {
            let mut tap = Tap::new(&case, sender);
            simulate(&simulated(&case), &mut tap)?;
            Ok(tap.end()?)
        };
        let thread = thread::Builder::new().name("source".to_owned()).spawn(make);
        Ok(Source { batches, thread: thread.context("cannot start a thread")? })
    }

    /// Waits for its end.
    pub(super) fn end(self) -> Result<()> {
        drop(self.batches);
        self.thread.join().map_err(|_| anyhow!("the source panicked"))?
    }
}

/// What is simulated.
pub(super) fn simulated(case: &StreamCase) -> simulate::Plan {
    simulate::Plan {
        workload: case.settings(),
        database: case.database(),
        txns: case.txns,
        intervals: false,
        timestamps: Some(Timestamps::default()),
        ..simulate::Plan::default()
    }
}

/// Says that the order of commits is serial, where the history is held to that: whether it is true is asked.
pub(super) fn say_level(level: Level, sink: &mut impl Sink) {
    if level == Level::Serializable {
        let (name, value) = (sink.pool().text(info::COMMIT_ORDER), sink.pool().text(info::SERIAL));
        sink.meta().set(name, value);
    }
}

fn lines(history: &History) -> Result<Vec<u8>, SinkError> {
    let mut writer = JsonlWriter::new(Vec::new());
    history.replay(&mut writer)?;
    writer.finish()
}

/// Where the simulator's transactions go: through their delays into batches.
struct Tap {
    sender: SyncSender<Batch>,
    /// The names of the last transactions; a pool for all would grow with the history.
    pool: Pool,
    meta: Meta,
    arrival: Arrival,
    spoiler: Spoiler,
    batch: HistoryBuilder,
    draft: TxnDraft,
    /// Memory of transactions that were delivered.
    spare: Vec<Vec<HeldAccess>>,
    in_batch: u32,
    size: u32,
    promises: bool,
    said: Vec<Option<Timestamp>>,
    since_promise: u64,
    at: u64,
    sessions: u32,
    from: FedAs,
    level: Level,
}

impl Tap {
    fn new(case: &StreamCase, sender: SyncSender<Batch>) -> Tap {
        Tap {
            sender,
            pool: Pool::new(),
            meta: Meta::default(),
            arrival: Arrival::new(case),
            spoiler: Spoiler::new(case),
            batch: HistoryBuilder::new(),
            draft: TxnDraft::default(),
            spare: Vec::new(),
            in_batch: 0,
            size: case.batch,
            promises: case.promises == YesNo::Yes,
            said: vec![None; case.sessions as usize],
            since_promise: 0,
            at: 0,
            sessions: case.sessions,
            from: case.from,
            level: case.level,
        }
    }

    fn deliver(&mut self, at: u64, txn: Held) -> Result<(), SinkError> {
        self.at = self.at.max(at);
        txn.put(&mut self.draft, &mut self.batch)?;
        self.spare.push(txn.accesses);
        self.in_batch += 1;
        if self.in_batch == self.size {
            self.send(false)?;
        }
        Ok(())
    }

    fn send(&mut self, last: bool) -> Result<(), SinkError> {
        self.since_promise += u64::from(std::mem::take(&mut self.in_batch));
        if self.promises && last {
            self.promise(StreamPromise { session: None, watermark: None, end: true })?;
        } else if self.promises && self.since_promise >= PROMISE_EVERY {
            self.since_promise = 0;
            self.promise_of_sessions()?;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.meta().initial = self.meta.initial.clone();
        say_level(self.level, &mut batch);
        let history = batch.finish();
        let (txns, now) = (history.txn_count() as u64, (self.at / 1_000_000) as i64);
        let what = match self.from {
            FedAs::Batches => Fed::Decoded(Box::new(history)),
            FedAs::Jsonl => Fed::Lines(lines(&history)?),
        };
        let sent = self.sender.send(Batch { what, txns, now });
        sent.map_err(|_| SinkError::Refused("nobody listens any more".to_owned()))
    }

    fn promise_of_sessions(&mut self) -> Result<(), SinkError> {
        let marks: Vec<Timestamp> = self.arrival.promises().collect();
        for (session, mark) in (0..self.sessions).zip(marks) {
            let said = self.said[session as usize].replace(mark);
            if said < Some(mark) {
                let session = Some(Value::from_u32(session));
                self.promise(StreamPromise { session, watermark: Some(mark), end: false })?;
            }
        }
        Ok(())
    }

    fn promise(&mut self, promise: StreamPromise) -> Result<(), SinkError> {
        let event = promise.to_event(self.batch.pool());
        self.batch.event(event)
    }

    fn end(mut self) -> Result<(), SinkError> {
        while let Some(next) = self.arrival.rest() {
            self.deliver(next.at, next.txn)?;
        }
        self.send(true)
    }
}

impl Sink for Tap {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, draft: &TxnDraft) -> Result<(), SinkError> {
        let spare = self.spare.pop().unwrap_or_default();
        let txn = Held::of(draft, &self.pool, spare);
        let refused =
            || SinkError::Refused("only reads and writes can be streamed here".to_owned());
        let mut txn = txn.ok_or_else(refused)?;
        if self.pool.key_names().len() > MOST_NAMES {
            self.pool = Pool::new();
        }
        self.spoiler.spoil(&mut txn);
        self.arrival.answer(session_of(&txn), txn);
        while let Some(next) = self.arrival.next() {
            self.deliver(next.at, next.txn)?;
        }
        Ok(())
    }

    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, _: Warning) {}
}

/// How many keys the spoiler remembers something of.
const REMEMBERED: usize = 4_096;

/// Makes some transactions read what was overwritten before they began. Timestamps and promises stay true.
struct Spoiler {
    share: f64,
    /// Values that were read of some keys a while ago.
    old: HashMap<Value, Value>,
    random: Random,
}

impl Spoiler {
    fn new(case: &StreamCase) -> Spoiler {
        let random = Random::stream(case.seed, u64::from(u32::MAX) + 1);
        Spoiler { share: case.violations, old: HashMap::new(), random }
    }

    fn spoil(&mut self, txn: &mut Held) {
        if self.share <= 0.0 {
            return;
        }
        let wanted = self.random.chance(self.share);
        let mut done = !wanted;
        for access in txn.accesses.iter_mut().filter(|access| !access.writes) {
            let old = self.old.get(&access.key).copied();
            match old {
                Some(old) if !done && old != access.value => {
                    done = true;
                    self.old.insert(access.key, access.value);
                    access.value = old;
                }
                None if self.old.len() < REMEMBERED => {
                    self.old.insert(access.key, access.value);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use isolde_spec::Promise;
    use isolde_stream::{Settings, Status, Stream};

    use super::*;
    use crate::stream::StreamArgs;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: StreamArgs,
    }

    fn streamed(typed: &[&str]) -> Status {
        let case = Typed::parse_from([&["bench", "--txns=3000"], typed].concat()).args.case;
        let typed = [&["bench".to_owned()], &case.typed()[..]].concat();
        let case = Typed::parse_from(typed).args.case;
        let source = Source::start(&case).unwrap();
        let promise = Promise::by_timestamps(case.level);
        let mut stream = Stream::new(Settings::new(promise)).unwrap();
        let mut now = 0;
        while let Ok(batch) = source.batches.recv() {
            let Fed::Decoded(history) = batch.what else { panic!("lines") };
            assert!(batch.now >= now);
            now = batch.now;
            stream.push(*history, now).unwrap();
        }
        source.end().unwrap();
        stream.finish(now).unwrap();
        stream.status()
    }

    #[test]
    fn a_stream_is_right_and_keeps_its_promises_however_it_is_delayed() {
        let delayed = "--order=normal:100ms,10ms";
        for typed in [
            &["--order=in-order"][..],
            &[delayed],
            &[delayed, "--workload=tpcc"],
            &[delayed, "--workload=twitter", "--batch=7"],
            &[delayed, "--level=ser", "--promises=no"],
        ] {
            let status = streamed(typed);
            assert_eq!(status.txns, 3_000, "{typed:?}");
            let wrong = (status.violations, status.corrections, status.late, status.doubts);
            assert_eq!(wrong, (0, 0, 0, 0), "{typed:?}");
            assert_eq!(status.flips > 0, typed.contains(&delayed), "{typed:?}");
        }
    }

    #[test]
    fn some_transactions_are_spoiled_and_no_promise_is_broken() {
        let status = streamed(&["--violations=0.1", "--order=normal:100ms,10ms"]);
        assert!((200..600).contains(&status.violations), "{status:?}");
        assert_eq!((status.late, status.corrections), (0, 0));
    }
}
