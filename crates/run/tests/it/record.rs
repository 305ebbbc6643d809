//! What the record of a run on a real database says beside values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use isolde_history::{
    EndedAt, ErrorClass, Event, Followed, History, HistoryBuilder, Interval, Key, LockMode, Meta,
    NativeFollower, NativeWriter, OpKind, Outcome, Pool, SessionEvent, Sink, SinkError, Source,
    Txn, TxnDraft, Value, Warning,
};
use isolde_run::{Controls, Limits, Options, Tape, run};
use isolde_target::{OpenOptions, Target, open};
use isolde_workload::{Kind, Settings, Workload};

/// A throwaway server; nothing if it is not installed here, which is said loudly. On CI that is a
/// failure: there, a test that did not run is no test.
pub(crate) fn server(kind: &str) -> Option<Arc<dyn Target>> {
    let options = OpenOptions { timeout: Duration::from_secs(8), ..OpenOptions::default() };
    match open(kind, &options) {
        Ok(target) => Some(Arc::from(target)),
        Err(error) if error.to_string().contains("install") => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}

/// A run in which sessions are in each other's way.
fn record(target: &Arc<dyn Target>, level: &str, txns: u64) -> History {
    let mut tape = HistoryBuilder::new();
    let limits = Limits { txns: Some(txns), ..Limits::default() };
    record_on(&mut tape, target, level, &Options { limits, ..Options::default() });
    tape.finish()
}

fn record_on(tape: &mut dyn Tape, target: &Arc<dyn Target>, level: &str, options: &Options) {
    let settings = Settings {
        keys: 6,
        max_txn_len: 5,
        sessions: 6,
        rollbacks: 0.05,
        seed: 11,
        ..Settings::new(Kind::General)
    };
    let offer = target.offers().iter().find(|offer| offer.name == level).unwrap();
    let workload = Workload::new(settings).unwrap();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    run(target, offer, &workload, options, tape, &mut controls).unwrap();
}

/// Whether one interval is within another, both ends known.
fn lies_in(inner: Interval, outer: Interval) -> bool {
    inner.begin.is_some()
        && inner.end.is_some()
        && inner.begin >= outer.begin
        && inner.end <= outer.end
}

/// What holds of every record, whatever the database.
fn is_sound(history: &History) {
    let begun = |txn: Txn<'_>| txn.ending().begin.is_some();
    assert!(history.txns().any(|txn| txn.outcome() == Outcome::Committed));
    for txn in history.txns() {
        let (ending, interval) = (txn.ending(), txn.interval());
        let line = format!("{:?} {ending:?} in {interval:?}, {:?}", txn.id(), txn.ended_at());
        let last = txn.stmts().last().map(|stmt| stmt.interval());
        if txn.outcome() == Outcome::Committed {
            assert!(lies_in(ending, interval), "{line}");
            assert_eq!((txn.ended_at(), txn.error_class()), (None, None), "{line}");
        }
        if begun(txn)
            && let Some(last) = last
        {
            assert!(last.end.is_some() && last.end <= ending.begin, "{line} after {last:?}");
        }
        match txn.ended_at() {
            None => assert!(txn.outcome() != Outcome::Aborted || begun(txn), "{line}"),
            Some(EndedAt::Begin) => assert_eq!(txn.stmts().len(), 0, "{line}"),
            Some(EndedAt::Statement(at)) => {
                assert_eq!(at as usize + 1, txn.stmts().len(), "{line}");
                assert!(lies_in(last.unwrap(), interval), "{line}");
            }
            Some(EndedAt::Commit) => assert!(lies_in(ending, interval), "{line}"),
        }
    }
    let ended = history.session_events().filter(|e| matches!(e, SessionEvent::Ended { .. }));
    let mut ended: Vec<Value> = ended.map(|event| event.session()).collect();
    ended.sort_unstable();
    assert!(ended.windows(2).all(|two| two[0] != two[1]), "{ended:?}");
    let sessions = history.pool().session_names();
    assert!(sessions.iter().all(|name| ended.contains(name)), "{sessions:?} in {ended:?}");
}

fn count(history: &History, what: impl Fn(&Txn<'_>) -> bool) -> usize {
    history.txns().filter(|txn| what(txn)).count()
}

#[test]
fn postgres_tells_failures_at_statements_from_those_at_commit() {
    let Some(target) = server("postgres") else { return };
    let history = record(&target, "serializable", 5000);
    is_sound(&history);
    let failed = |txn: &Txn<'_>| txn.error_class() == Some(ErrorClass::Serialization);
    let at_statement = |txn: &Txn<'_>| matches!(txn.ended_at(), Some(EndedAt::Statement(_)));
    assert!(count(&history, |txn| failed(txn) && at_statement(txn)) > 0);
    assert!(count(&history, |txn| failed(txn) && txn.ended_at() == Some(EndedAt::Commit)) > 0);
    // It undoes what fails at once, but the client still has to say ROLLBACK.
    assert!(history.txns().filter(at_statement).all(|txn| txn.ending().begin.is_some()));
    // It never leaves a transaction as it was after an error.
    assert_eq!(count(&history, |t| t.error_class().is_some() && t.ended_at().is_none()), 0);
    assert!(history.txns().all(|txn| txn.read_only().is_none()));
    let stmts = || history.txns().flat_map(|txn| txn.stmts());
    for mode in [LockMode::Share, LockMode::Exclusive] {
        assert!(stmts().any(|stmt| stmt.lock() == Some(mode)), "{mode:?}");
    }
    let locking = stmts().filter(|stmt| stmt.lock().is_some());
    assert!(locking.flat_map(|stmt| stmt.ops()).all(|op| op.kind() == OpKind::Read));
}

#[test]
fn mariadb_ends_what_is_deadlocked() {
    let Some(target) = server("mariadb") else { return };
    let history = record(&target, "serializable", 2000);
    is_sound(&history);
    let deadlocked = |txn: &Txn<'_>| txn.error_class() == Some(ErrorClass::Deadlock);
    let by_server = |txn: &Txn<'_>| matches!(txn.ended_at(), Some(EndedAt::Statement(_)));
    let found = count(&history, deadlocked);
    assert!(found > 0);
    assert_eq!(count(&history, |txn| deadlocked(txn) && by_server(txn)), found);
    // Nobody had to say ROLLBACK.
    let told = |txn: &Txn<'_>| deadlocked(txn) && txn.ending().begin.is_some();
    assert_eq!(count(&history, told), 0);
}

#[test]
fn engines_in_this_process_say_the_same() {
    let fjall = server("fjall").unwrap();
    let level = fjall.offers().last().unwrap().name;
    let history = record(&fjall, level, 3000);
    is_sound(&history);
    let refused = |txn: &Txn<'_>| {
        txn.error_class() == Some(ErrorClass::Serialization)
            && txn.ended_at() == Some(EndedAt::Commit)
    };
    assert!(count(&history, refused) > 0);
    let sqlite = server("sqlite").unwrap();
    is_sound(&record(&sqlite, sqlite.offers()[0].name, 300));
}

#[test]
fn transactions_on_a_standby_are_declared_read_only() {
    let Some(target) = server("postgres-standby") else { return };
    let history = record(&target, "repeatable-read", 300);
    is_sound(&history);
    let node = |txn: &Txn<'_>| history.pool().as_text(txn.attr("node").unwrap()) == Some("standby");
    assert!(count(&history, node) > 0 && count(&history, |txn| !node(txn)) > 0);
    for txn in history.txns() {
        assert_eq!(txn.read_only(), node(&txn).then_some(true), "{:?}", txn.id());
    }
}

/// Keeps what it is told, and insists that no session begins anything before what it has said of itself.
#[derive(Default)]
struct Listener {
    builder: HistoryBuilder,
    said: HashMap<Value, SessionEvent>,
}

impl Sink for Listener {
    fn pool(&mut self) -> &mut Pool {
        self.builder.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.builder.meta()
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        let session = self.builder.pool().session_names()[txn.session.index()];
        if let Some(said) = self.said.get(&session) {
            assert!(matches!(said, SessionEvent::Heartbeat { .. }), "{said:?}");
            assert!(txn.interval.begin >= Some(said.at()), "{:?} after {said:?}", txn.interval);
        }
        self.builder.transaction(txn)
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        let said = SessionEvent::of(self.builder.pool(), &event).unwrap();
        self.said.insert(said.session(), said);
        self.builder.event(event)
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.builder.version_order(key, versions)
    }

    fn warn(&mut self, warning: Warning) {
        self.builder.warn(warning);
    }
}

#[test]
fn a_run_is_followed_while_it_goes_on() {
    let path = std::env::temp_dir().join(format!("isolde-followed-{}.isolde", std::process::id()));
    let mut tape = NativeWriter::new(File::create(&path).unwrap()).unwrap();
    let file = File::open(&path).unwrap();
    let follower = thread::spawn(move || {
        let (mut listener, mut waited) = (Listener::default(), 0);
        let mut follower = NativeFollower::new(file, "run.isolde");
        while follower.read_blocks(&mut listener).unwrap() != Followed::Ended {
            waited += usize::from(!listener.said.is_empty());
            thread::sleep(Duration::from_millis(10));
        }
        (listener.builder.finish(), waited)
    });
    let fjall = server("fjall").unwrap();
    let level = fjall.offers()[0].name;
    let limits = Limits { txns: Some(10), ..Limits::default() };
    // Slow enough that sessions wait for their turn.
    let options = Options { limits, rate: Some(5.0), ..Options::default() };
    record_on(&mut tape, &fjall, level, &options);
    tape.finish().unwrap();
    let (followed, waited) = follower.join().unwrap();
    // Sessions were heard of while the run went on.
    assert!(waited > 0);
    let beats = followed.session_events().filter(|e| matches!(e, SessionEvent::Heartbeat { .. }));
    assert!(beats.count() > 0);
    let source = Source::open(&path).unwrap();
    let whole = isolde_history::Format::recognise(&source).unwrap().load(&source).unwrap().finish();
    std::fs::remove_file(&path).unwrap();
    whole.same_as(&followed).unwrap();
    is_sound(&whole);
}
