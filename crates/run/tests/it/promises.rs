//! What a record promises of what is still to come, is kept by all that comes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use isolde_history::{
    Event, JsonlWriter, Key, Meta, Pool, Sink, SinkError, Snapshot, StreamPromise, Timestamp,
    TxnDraft, Value, Warning, names, read_lines,
};
use isolde_run::{Controls, Limits, Options, run};
use isolde_target::{Offer, OpenOptions, Show, Target, open};
use isolde_workload::{Kind, Settings, Workload};

use crate::record::server;

/// Holds every transaction to what was promised of its session before.
#[derive(Default)]
struct Listener {
    pool: Pool,
    meta: Meta,
    promised: HashMap<Value, StreamPromise>,
    promises: usize,
    ended: usize,
    txns: usize,
    /// Transactions with a snapshot that had promised something before.
    placed: usize,
}

impl Listener {
    /// The place of a transaction's snapshot, as promises name it.
    fn place(&self, txn: &TxnDraft) -> Option<Timestamp> {
        let attr = |wanted: &str| {
            let mut attrs = txn.attrs();
            attrs.find(|(name, _)| self.pool.as_text(*name) == Some(wanted)).map(|(_, value)| value)
        };
        let snapshot = Snapshot::from_value(&self.pool, attr(names::SNAPSHOT)?)?;
        assert_eq!(attr(names::RESTART), None, "nothing was started again");
        Some(Timestamp::plain(snapshot.shown()))
    }
}

impl Sink for Listener {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.txns += 1;
        let session = self.pool.session_name(txn.session);
        let place = self.place(txn);
        if let Some(said) = self.promised.get(&session) {
            assert!(place.is_none() || place >= said.watermark, "{txn:?} after {said:?}");
            self.placed += usize::from(place.is_some());
            assert!(!said.end, "{txn:?} after {said:?}");
            let stamp = txn.commit.or(txn.start);
            assert!(stamp.is_none() || stamp >= said.watermark, "{txn:?} after {said:?}");
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        if let Some(promise) = StreamPromise::of(&self.pool, &event) {
            self.promises += 1;
            self.ended += usize::from(promise.end);
            let before = self.promised.insert(promise.session.unwrap(), promise);
            let further = before.is_none_or(|said| {
                !said.end && (promise.end || promise.watermark > said.watermark)
            });
            assert!(further, "{promise:?} after {before:?}");
        }
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, _: Warning) {}
}

/// A run of four sessions, read back from the lines that it wrote.
fn recorded(target: &Arc<dyn Target>, options: &Options) -> Listener {
    recorded_at(target, &target.offers()[0], options)
}

fn recorded_at(target: &Arc<dyn Target>, offer: &Offer, options: &Options) -> Listener {
    let settings = Settings { keys: 20, sessions: 4, seed: 5, ..Settings::new(Kind::General) };
    let workload = Workload::new(settings).unwrap();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let mut tape = JsonlWriter::new(Vec::new());
    run(target, offer, &workload, options, &mut tape, &mut controls).unwrap();
    let mut listener = Listener::default();
    read_lines(&tape.finish().unwrap()[..], "run.jsonl", &mut listener).unwrap();
    listener
}

fn options(txns: u64, rate: Option<f64>) -> Options {
    let limits = Limits { txns: Some(txns), ..Limits::default() };
    Options { limits, rate, ..Options::default() }
}

#[test]
fn promises_are_kept_and_every_session_ends_with_one() {
    for kind in ["faulty", "etcd"] {
        for (txns, rate) in [(2000, None), (60, Some(100.0))] {
            let Some(target) = server(kind) else { continue };
            let heard = recorded(&target, &options(txns, rate));
            assert!(heard.txns >= txns as usize, "{kind}: {}", heard.txns);
            assert_eq!(heard.ended, 4, "{kind}");
            // A run without a rate may be over before any session promises again.
            let at_least = if rate.is_some() { 3 } else { 2 } * heard.ended;
            assert!(heard.promises >= at_least, "{kind}: {}", heard.promises);
        }
    }
}

#[test]
fn where_the_database_tells_no_timestamps_nothing_is_promised() {
    let Some(target) = server("fjall") else { return };
    assert_eq!(recorded(&target, &options(100, None)).promises, 0);
}

/// A PostgreSQL that shows its snapshots, run at a level by four sessions.
fn shown(level: &str, options: &Options) -> Option<Listener> {
    let show = Some(Show::Snapshots);
    let opened = open("postgres", &OpenOptions { show, ..OpenOptions::default() });
    let target: Arc<dyn Target> = match opened {
        Ok(target) => Arc::from(target),
        // Says why it is not there.
        Err(_) => server("postgres")?,
    };
    let offer = target.offers().iter().find(|offer| offer.name == level).unwrap();
    Some(recorded_at(&target, offer, options))
}

#[test]
fn by_snapshots_promises_are_kept_too() {
    for level in ["repeatable-read", "serializable"] {
        for (txns, rate) in [(3000, None), (60, Some(100.0))] {
            let Some(heard) = shown(level, &options(txns, rate)) else { return };
            assert!(heard.placed >= txns as usize / 2, "{level}: {}", heard.placed);
            assert_eq!(heard.ended, 4, "{level}");
            let at_least = if rate.is_some() { 3 } else { 2 } * heard.ended;
            assert!(heard.promises >= at_least, "{level}: {}", heard.promises);
        }
    }
}

#[test]
fn where_each_statement_has_a_snapshot_nothing_is_promised() {
    let Some(heard) = shown("read-committed", &options(100, None)) else { return };
    assert_eq!(heard.promises, 0);
}
