//! What becomes of transactions when something goes wrong, and what the record says of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::naughty::{Fault, Naughty, OFFERS};
use isolde_history::{
    Effect, EndedAt, ErrorClass, Event, History, HistoryBuilder, Interval, Key, Meta, OpKind,
    Outcome, Pool, SessionEvent, Sink, SinkError, Timestamp, Txn, TxnDraft, Value, Warning,
};
use isolde_run::{Controls, Limits, Options, Ran, RunError, Tape, run};
use isolde_workload::{Distribution, Kind, Settings, Workload};

fn settings(kind: Kind, sessions: u32) -> Settings {
    Settings {
        keys: 8,
        distribution: Distribution::Uniform,
        max_txn_len: 4,
        sessions,
        seed: 7,
        ..Settings::new(kind)
    }
}

fn limited(txns: u64) -> Options {
    let limits = Limits { txns: Some(txns), ..Limits::default() };
    Options { limits, patience: Duration::from_millis(50), ..Options::default() }
}

fn play(db: &Naughty, settings: Settings, options: &Options) -> (Ran, History) {
    let workload = Workload::new(settings).unwrap();
    let mut tape = HistoryBuilder::new();
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let ran = run(&db.target(), &OFFERS[0], &workload, options, &mut tape, &mut controls).unwrap();
    (ran, tape.finish())
}

fn outcomes(history: &History) -> Vec<Outcome> {
    history.txns().map(|t| t.outcome()).collect()
}

/// One session, so that the order of everything is known: the outcome of the third transaction.
#[track_caller]
fn third(fault: Fault) -> (Outcome, Ran, History) {
    let db = Naughty::new(&[fault]);
    let (ran, history) = play(&db, settings(Kind::Mini, 1), &limited(6));
    let outcomes = outcomes(&history);
    let unlike = outcomes.iter().filter(|o| **o != Outcome::Committed).count();
    assert!(unlike <= 1, "{outcomes:?}");
    let odd = outcomes.into_iter().find(|o| *o != Outcome::Committed);
    (odd.unwrap_or(Outcome::Committed), ran, history)
}

fn sessions(history: &History) -> usize {
    history.txns().map(|t| t.session()).collect::<HashSet<_>>().len()
}

#[test]
fn all_is_well() {
    // Slow enough that no session is through before another one gets its turn.
    let db = Naughty::new(&[]).slow(Duration::from_micros(200));
    let (ran, history) = play(&db, settings(Kind::Mini, 4), &limited(200));
    assert_eq!((ran.progress.committed, ran.progress.aborted), (200, 0));
    assert_eq!((history.txn_count(), sessions(&history)), (200, 4));
    assert!(history.txns().all(|t| t.interval().begin < t.interval().end));
    assert_eq!(history.meta().initial.default, Some(Value::from_u32(0)));
    assert!(history.meta().complete);
}

#[test]
fn a_refused_commit_is_aborted() {
    let (outcome, ran, history) = third(Fault::CommitAborts(3));
    assert_eq!((outcome, sessions(&history)), (Outcome::Aborted, 1));
    let stamped = |txn: &Txn<'_>| txn.start_ts().is_some() && txn.commit_ts().is_some();
    let aborted = history.txns().find(|txn| txn.outcome() == Outcome::Aborted).unwrap();
    assert_eq!((aborted.start_ts(), aborted.commit_ts()), (None, None));
    assert_eq!(history.txns().filter(stamped).count(), history.txn_count() - 1);
    assert_eq!((ran.progress.aborted, ran.progress.lost), (1, 0));
    assert_eq!(ran.troubles[0].code, "40001");
}

#[test]
fn a_commit_that_answers_rollback_is_aborted() {
    assert_eq!(third(Fault::CommitRollsBack(3)).0, Outcome::Aborted);
}

#[test]
fn a_commit_without_an_answer_is_unknown_whatever_the_server_did() {
    for fault in [Fault::CommitLostDone(3), Fault::CommitLostUndone(3)] {
        let (outcome, ran, history) = third(fault);
        assert_eq!(outcome, Outcome::Unknown);
        assert_eq!((ran.progress.unknown, ran.progress.lost), (1, 1));
        // It may still be on its way when the next transaction begins on a new connection.
        assert_eq!(sessions(&history), 2);
        let lost = history.txns().find(|t| t.outcome() == Outcome::Unknown).unwrap();
        assert_eq!(lost.interval().end, None);
        let stamps = (lost.start_ts(), lost.commit_ts());
        assert_eq!(stamps, (Some(Timestamp::plain(2)), None), "what the server told before");
    }
}

#[test]
fn a_connection_lost_before_commit_is_aborted() {
    let (outcome, ran, history) = third(Fault::StatementLost(3));
    assert_eq!((outcome, ran.progress.lost), (Outcome::Aborted, 1));
    assert_eq!(sessions(&history), 2);
}

#[test]
fn a_failed_statement_aborts_and_the_session_goes_on() {
    for fault in [Fault::StatementAborts(3), Fault::StatementFails(3)] {
        let (outcome, ran, history) = third(fault);
        assert_eq!((outcome, ran.progress.lost), (Outcome::Aborted, 0));
        assert_eq!((ran.progress.committed, sessions(&history)), (5, 1));
    }
}

#[test]
fn what_failed_statements_wanted_to_write_is_in_the_record() {
    // The statement is the last of its transaction, with a value or without.
    for n in 1..12 {
        let (_, _, history) = third(Fault::StatementAborts(n));
        let aborted = history.txns().find(|t| t.outcome() == Outcome::Aborted).unwrap();
        let last = aborted.ops().last().unwrap();
        match last.kind() {
            OpKind::Read => assert_eq!(last.value(), Value::UNOBSERVED),
            _ => assert!(last.value().as_int().unwrap() > 0),
        }
    }
}

#[test]
fn a_write_that_finds_no_row_is_a_read_of_nothing() {
    let db = Naughty::new(&[Fault::RowsVanish]);
    let (_, history) = play(&db, settings(Kind::Mini, 1), &limited(20));
    let writes: Vec<_> = history.ops().filter(|op| op.kind() == OpKind::Write).collect();
    assert!(!writes.is_empty() && writes.iter().all(|op| op.effect() == Effect::Failed));
    let absent = history.ops().filter(|op| op.value() == Value::ABSENT).count();
    assert_eq!(absent, writes.len());
}

#[test]
fn every_attempt_writes_fresh_values_and_is_recorded() {
    let db = Naughty::new(&(1..20).map(Fault::CommitAborts).collect::<Vec<_>>());
    let options = Options { retries: 3, ..limited(30) };
    let (ran, history) = play(&db, settings(Kind::Mini, 2), &options);
    assert_eq!((ran.progress.txns, ran.progress.aborted), (30, 19));
    assert_eq!(history.txn_count() as u64, ran.progress.committed + 19);
    let mut written = HashSet::new();
    for op in history.ops().filter(|op| op.kind() == OpKind::Write) {
        assert!(written.insert(op.value()), "written twice: {:?}", op.value());
    }
}

#[test]
fn clients_roll_back_on_purpose_and_do_not_retry() {
    let chosen = Settings { rollbacks: 1.0, ..settings(Kind::Mini, 2) };
    let options = Options { retries: 3, ..limited(20) };
    let (ran, _) = play(&Naughty::new(&[]), chosen, &options);
    assert_eq!((ran.progress.committed, ran.progress.aborted), (0, 20));
}

#[test]
fn a_server_that_dies_ends_the_run_and_leaves_the_record() {
    let db = Naughty::new(&[Fault::ServerDies(50)]);
    let (ran, history) = play(&db, settings(Kind::Mini, 3), &limited(1000));
    assert_eq!(ran.gave_up.len(), 3);
    assert!(ran.gave_up.iter().all(|f| f.code == "refused"), "{:?}", ran.gave_up);
    let counted = ran.progress.committed + ran.progress.aborted + ran.progress.unknown;
    assert_eq!(history.txn_count() as u64, counted);
    assert!(counted > 5 && db.connects() > 3);
}

#[test]
fn what_will_never_work_ends_the_run() {
    let db = Naughty::new(&[Fault::NothingWorks]);
    let (ran, _) = play(&db, settings(Kind::Mini, 2), &limited(1_000_000));
    assert_eq!(ran.gave_up.len(), 2);
    assert_eq!(ran.troubles[0].code, "42501");
    assert!(ran.progress.aborted < 1000);
}

#[test]
fn a_panic_takes_one_session_and_the_record_says_that_something_is_missing() {
    let db = Naughty::new(&[Fault::Panic(20)]);
    let (ran, history) = play(&db, settings(Kind::Mini, 2), &limited(100));
    assert_eq!(ran.gave_up.len(), 1);
    assert_eq!(ran.gave_up[0].code, "panic");
    assert!(!history.meta().complete);
    assert!(history.txn_count() > 50);
}

#[test]
fn limits_end_the_run() {
    let db = Naughty::new(&[]);
    let limits = Limits { commits: Some(50), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let (ran, _) = play(&db, settings(Kind::Mini, 4), &options);
    assert!((50..54).contains(&ran.progress.committed), "{:?}", ran.progress);

    let limits = Limits { duration: Some(Duration::from_millis(200)), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let began = Instant::now();
    let slow = Naughty::new(&[]).slow(Duration::from_millis(1));
    let (ran, _) = play(&slow, settings(Kind::Mini, 2), &options);
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(ran.progress.committed > 0 && !ran.interrupted);
}

#[test]
fn tables_that_all_sessions_have_left_are_dropped_and_no_others() {
    let rounds = Settings { round: 5, ..settings(Kind::Register, 3) };
    let db = Naughty::new(&[]).slow(Duration::from_micros(50));
    let (ran, history) = play(&db, rounds, &limited(300));
    assert!(ran.tables >= 10 && db.dropped() > 5, "{} of {}", db.dropped(), ran.tables);
    assert!(db.dropped() < u64::from(ran.tables));
    // Rows of a table that is gone would be absent.
    assert!(history.ops().all(|op| op.value() != Value::ABSENT));
}

#[test]
fn a_rate_is_kept() {
    let options = Options { rate: Some(200.0), ..limited(60) };
    let began = Instant::now();
    let (ran, _) = play(&Naughty::new(&[]), settings(Kind::Mini, 4), &options);
    assert_eq!(ran.progress.committed, 60);
    // The last one is due after 59 two-hundredths of a second.
    assert!(began.elapsed() >= Duration::from_millis(290), "{:?}", began.elapsed());
}

#[test]
fn the_user_ends_the_run() {
    let workload = Workload::new(settings(Kind::Mini, 2)).unwrap();
    let db = Naughty::new(&[]).slow(Duration::from_micros(100));
    let stop = AtomicBool::new(false);
    let mut tape = HistoryBuilder::new();
    let mut calls = 0;
    let mut watch = |_: &isolde_run::Progress| {
        calls += 1;
        stop.store(calls == 2, std::sync::atomic::Ordering::Relaxed);
    };
    let mut controls = Controls { stop: &stop, watch: &mut watch };
    let options = limited(u64::MAX);
    let ran = run(&db.target(), &OFFERS[0], &workload, &options, &mut tape, &mut controls).unwrap();
    assert!(ran.interrupted);
    assert_eq!(tape.finish().txn_count() as u64, ran.progress.committed);
}

/// A disk with room for so many transactions.
struct Full {
    left: u64,
    pool: Pool,
    meta: Meta,
}

impl Sink for Full {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, _: &TxnDraft) -> Result<(), SinkError> {
        self.left = self.left.checked_sub(1).ok_or(SinkError::Io("no space left".to_owned()))?;
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

impl Tape for Full {
    fn save(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run() {
    let workload = Workload::new(settings(Kind::Mini, 2)).unwrap();
    let mut tape = Full { left: 10, pool: Pool::new(), meta: Meta::default() };
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let (db, options) = (Naughty::new(&[]), limited(u64::MAX));
    let ran = run(&db.target(), &OFFERS[0], &workload, &options, &mut tape, &mut controls);
    let Err(RunError::Record { error, .. }) = ran else { panic!("{ran:?}") };
    assert_eq!(error, SinkError::Io("no space left".to_owned()));
}

#[test]
fn sessions_that_hang_are_left_behind_and_the_record_says_that_something_is_missing() {
    let db = Naughty::new(&[Fault::Hangs(20)]);
    let options = Options { hang_after: Duration::from_millis(300), ..limited(1000) };
    let (ran, history) = play(&db, settings(Kind::Mini, 2), &options);
    let hung = ran.hung.unwrap();
    // The one that hangs holds the database, and the other one waits for it, inside, too.
    assert_eq!(hung.sessions, 2);
    assert!(hung.silence >= options.hang_after);
    assert!(!history.meta().complete && history.txn_count() as u64 == ran.progress.committed);
    assert!(ran.progress.committed > 0 && ran.gave_up.is_empty());
}

#[test]
fn a_database_that_hangs_before_anything_began_is_an_error() {
    let workload = Workload::new(settings(Kind::Mini, 2)).unwrap();
    let db = Naughty::new(&[Fault::CreateHangs]);
    let stop = AtomicBool::new(false);
    let mut controls = Controls { stop: &stop, watch: &mut |_| {} };
    let options = Options { hang_after: Duration::from_millis(100), ..limited(10) };
    let mut tape = HistoryBuilder::new();
    let ran = run(&db.target(), &OFFERS[0], &workload, &options, &mut tape, &mut controls);
    assert_eq!(ran, Err(RunError::Hangs(options.hang_after)));
}

/// The one transaction that something went wrong with.
fn odd(history: &History) -> Txn<'_> {
    history.txns().find(|txn| txn.outcome() != Outcome::Committed).unwrap()
}

#[test]
fn the_record_says_where_the_server_ended_a_transaction() {
    let (_, _, history) = third(Fault::StatementAborts(3));
    let txn = odd(&history);
    let last = txn.stmts().len() as u32 - 1;
    assert_eq!(txn.ended_at(), Some(EndedAt::Statement(last)));
    assert_eq!(txn.error_class(), Some(ErrorClass::Serialization));
    // Nobody had to say ROLLBACK, but the statement was answered.
    assert_eq!(txn.ending(), Interval::default());
    assert!(txn.stmts().last().unwrap().interval().end <= txn.interval().end);
    // A statement that fails and leaves the transaction is not what ended it.
    let (_, _, history) = third(Fault::StatementFails(3));
    let txn = odd(&history);
    assert_eq!(txn.ended_at(), None);
    assert!(txn.ending().begin >= txn.stmts().last().unwrap().interval().end);
    assert_eq!(txn.ending().end, txn.interval().end);
    for (fault, class) in [
        (Fault::CommitAborts(3), Some(ErrorClass::Serialization)),
        (Fault::CommitRollsBack(3), None),
    ] {
        let (_, _, history) = third(fault);
        let txn = odd(&history);
        assert_eq!((txn.ended_at(), txn.error_class()), (Some(EndedAt::Commit), class));
        assert!(txn.ending().begin >= txn.interval().begin && txn.ending().end.is_some());
    }
}

#[test]
fn nobody_knows_where_a_lost_transaction_ended() {
    for fault in [Fault::StatementLost(3), Fault::CommitLostDone(3)] {
        let (outcome, _, history) = third(fault);
        let txn = odd(&history);
        assert_eq!(txn.ended_at(), None);
        // If COMMIT was sent, it may be on its way for ever.
        let sent = txn.ending().begin.is_some();
        assert_eq!((sent, txn.ending().end), (outcome == Outcome::Unknown, None));
    }
}

#[test]
fn a_session_says_that_it_is_through_and_as_which_it_goes_on() {
    let db = Naughty::new(&[]).slow(Duration::from_micros(200));
    let (_, history) = play(&db, settings(Kind::Mini, 4), &limited(100));
    let mut ended: Vec<i64> = Vec::new();
    for event in history.session_events() {
        let SessionEvent::Ended { session, at, next: None } = event else { panic!("{event:?}") };
        let name = |txn: &Txn<'_>| history.pool().session_names()[txn.session().index()];
        let mut mine = history.txns().filter(|txn| name(txn) == session);
        assert!(mine.all(|txn| txn.interval().end <= Some(at)));
        ended.extend(session.as_int());
    }
    ended.sort_unstable();
    assert_eq!(ended, [0, 1, 2, 3]);
    assert_eq!(history.faults().count(), 0);

    let (_, _, history) = third(Fault::CommitLostDone(3));
    let ends: Vec<_> = history.session_events().collect();
    let [SessionEvent::Ended { session, at, next }, SessionEvent::Ended { next: None, .. }] =
        ends[..]
    else {
        panic!("{ends:?}");
    };
    assert_eq!((session, next), (Value::from_u32(0), Some(Value::from_u32(1))));
    assert_eq!(ends[1].session(), Value::from_u32(1));
    assert!(ends[1].at() >= at);
}

#[test]
fn a_session_that_waits_says_so_now_and_then() {
    let options = Options { rate: Some(0.8), ..limited(2) };
    let (_, history) = play(&Naughty::new(&[]), settings(Kind::Mini, 1), &options);
    let beats: Vec<i64> = history
        .session_events()
        .filter(|event| matches!(event, SessionEvent::Heartbeat { .. }))
        .map(|event| event.at())
        .collect();
    assert!((1..=2).contains(&beats.len()), "{beats:?}");
    for beat in &beats {
        let under_way =
            |txn: Txn<'_>| txn.interval().begin < Some(*beat) && txn.interval().end > Some(*beat);
        assert!(!history.txns().any(under_way));
    }
    let first = history.txns().next().unwrap().interval().end.unwrap();
    assert!(beats[0] - first >= 500_000_000, "{beats:?} after {first}");
}
