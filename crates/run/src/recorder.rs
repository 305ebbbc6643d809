//! From attempts to a tape, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use isolde_history::{
    Effect, EndedAt, Event, EvidenceNames, Interval, OpKind, Outcome, Pool, SessionEvent,
    SinkError, StreamPromise, Timestamp, TxnDraft, Value, names,
};
use isolde_target::{Answer, Path, SnapshotOf};

use crate::attempt::{Act, Attempt};
use crate::faults::Happened;
use crate::kept_versions::KeptVersions;
use crate::note::{Note, Sign};
use crate::shared::Shared;
use crate::tape::Tape;
use crate::version_orders::Writers;

/// How long what was recorded may stay in memory.
const SAVE_EVERY: Duration = Duration::from_millis(500);
/// How long the recorder sleeps when there is nothing to do. It is not woken by each transaction:
/// that would cost the sessions more than the recording itself.
const NAP: Duration = Duration::from_millis(5);

/// Writes attempts on a tape.
pub(crate) struct Recorder<'t> {
    tape: &'t mut dyn Tape,
    versions: &'t KeptVersions,
    draft: TxnDraft,
    list: Vec<Value>,
    words: Words,
    statement_times: bool,
    /// The node of each session of the workload, if there are several.
    nodes: Vec<Option<Value>>,
    /// What the server is asked about when the run is over.
    writers: Writers,
    one_server: bool,
    /// Whether sessions promise what they will not do any more.
    promises: bool,
}

/// Names that are written again and again.
struct Words {
    evidence: EvidenceNames,
    error: Value,
    node: Value,
    revision: Value,
    xid: Value,
    restart: Value,
    snapshot: Value,
    /// The attribute of access paths and their names, if there is any choice of them.
    paths: Option<(Value, Vec<(Path, Value)>)>,
}

impl<'t> Recorder<'t> {
    pub(crate) fn new(tape: &'t mut dyn Tape, shared: &'t Shared) -> Recorder<'t> {
        let (paths, statement_times) = (shared.paths.vary(), shared.options.statement_times);
        let pool = tape.pool();
        let (error, node) = (pool.text(names::ERROR), pool.text(names::NODE));
        let node_of = |client| shared.target.node_of(client).map(|name| pool.text(&name));
        let nodes = (0..shared.sessions).map(node_of).collect();
        let paths = paths.then(|| {
            let all = Path::ALL.map(|path| (path, pool.text(path.name())));
            (pool.text(names::PATH), all.to_vec())
        });
        let (evidence, revision) = (EvidenceNames::new(pool), pool.text(names::REVISION));
        let (xid, restart) = (pool.text(names::XID), pool.text(names::RESTART));
        let snapshot = pool.text(names::SNAPSHOT);
        let words = Words { evidence, error, node, revision, xid, restart, snapshot, paths };
        let (draft, list, writers) = (TxnDraft::default(), Vec::new(), Writers::default());
        let versions = &shared.tables.versions;
        Recorder {
            tape,
            versions,
            draft,
            list,
            words,
            statement_times,
            nodes,
            writers,
            one_server: shared.one_server(),
            promises: false,
        }
    }

    /// Records until all sessions are gone, or are left behind. An error ends it at once: sessions that
    /// find the recorder gone go on until they are told to stop. What is left to ask the server about.
    pub(crate) fn run(
        mut self,
        notes: &Receiver<Note>,
        abandoned: &AtomicBool,
    ) -> Result<Writers, SinkError> {
        self.record_all(notes, abandoned)?;
        Ok(self.writers)
    }

    fn record_all(
        &mut self,
        notes: &Receiver<Note>,
        abandoned: &AtomicBool,
    ) -> Result<(), SinkError> {
        let mut saved = Instant::now();
        loop {
            match notes.try_recv() {
                Ok(Note::Attempt(attempt)) => self.record(&attempt)?,
                Ok(Note::Happened(event)) => self.happened(&event)?,
                Ok(Note::Sign(sign)) => self.sign(sign)?,
                Err(TryRecvError::Empty) if abandoned.load(Ordering::SeqCst) => {
                    return self.tape.save();
                }
                Err(TryRecvError::Empty) => {
                    self.tape.rest();
                    std::thread::sleep(NAP);
                }
                Err(TryRecvError::Disconnected) => return self.tape.save(),
            }
            if saved.elapsed() >= SAVE_EVERY {
                self.tape.save()?;
                saved = Instant::now();
            }
        }
    }

    fn happened(&mut self, event: &Happened) -> Result<(), SinkError> {
        let pool = self.tape.pool();
        let (name, detail) = (pool.text(event.name), pool.text(&event.to));
        self.tape.event(Event { name, begin: Some(event.begin), end: event.end, detail })
    }

    fn sign(&mut self, sign: Sign) -> Result<(), SinkError> {
        let name = Value::from_u32;
        let event = match sign {
            Sign::Idle { session, at } => SessionEvent::Heartbeat { session: name(session), at },
            Sign::Over { session, at, next } => {
                if self.promises {
                    self.promise(session, None)?;
                }
                SessionEvent::Ended { session: name(session), at, next: next.map(name) }
            }
            Sign::Past { session, watermark } => return self.promise(session, Some(watermark)),
        };
        let event = event.to_event(self.tape.pool());
        self.tape.event(event)
    }

    /// Promises how far a session has come; without a timestamp, that it has ended.
    fn promise(&mut self, session: u32, watermark: Option<Timestamp>) -> Result<(), SinkError> {
        self.promises = true;
        let (session, end) = (Some(Value::from_u32(session)), watermark.is_none());
        let promise = StreamPromise { session, watermark, end };
        let event = promise.to_event(self.tape.pool());
        self.tape.event(event)
    }

    fn record(&mut self, attempt: &Attempt) -> Result<(), SinkError> {
        let session = self.tape.pool().session(Value::from_u32(attempt.session));
        self.draft.reset(session);
        self.draft.outcome = attempt.outcome;
        self.promises |= attempt.reached(self.one_server).is_some();
        self.versions.note(attempt);
        self.draft.interval = Interval { begin: Some(attempt.begin), end: attempt.end };
        (self.draft.start, self.draft.commit) =
            (attempt.timestamps.start, attempt.timestamps.commit);
        if let Some(Some(node)) = self.nodes.get(attempt.client as usize) {
            self.draft.attr(self.words.node, *node);
        }
        for act in &attempt.acts {
            self.operation(act)?;
            if self.statement_times {
                let interval = Interval { begin: Some(act.begin), end: act.end };
                self.draft.statement_interval(interval);
            }
            // By primary key is the rule, and goes without saying.
            if act.path != Path::PrimaryKey
                && let Some((name, paths)) = &self.words.paths
                && let Some((_, path)) = paths.iter().find(|(p, _)| *p == act.path)
            {
                self.draft.op_attr(*name, *path);
            }
            if let Some(revision) = act.revision {
                let revision = self.tape.pool().int(revision);
                self.draft.op_attr(self.words.revision, revision);
            }
            if let Some(lock) = act.path.lock() {
                self.words.evidence.set_lock(&mut self.draft, lock);
            }
            if let Some(taken) = &act.snapshot {
                let snapshot = taken.snapshot.to_value(self.tape.pool());
                match taken.of {
                    SnapshotOf::Transaction => self.draft.attr(self.words.snapshot, snapshot),
                    SnapshotOf::Statement => self.draft.stmt_attr(self.words.snapshot, snapshot),
                }
            }
        }
        self.server_txn(attempt);
        self.ending(attempt);
        self.tape.transaction(&self.draft)
    }

    /// Who the transaction was to the server.
    fn server_txn(&mut self, attempt: &Attempt) {
        let snapshots = || attempt.acts.iter().filter_map(|act| act.snapshot.as_ref());
        let restart = attempt.server_txn.map(|txn| txn.restart);
        let restart = restart.or_else(|| Some(snapshots().next()?.restart)).unwrap_or(0);
        if restart > 0 {
            self.draft.attr(self.words.restart, Value::from_u32(restart));
        }
        let Some(txn) = attempt.server_txn else { return };
        let xid = self.tape.pool().int(txn.id);
        self.draft.attr(self.words.xid, xid);
        if attempt.outcome == Outcome::Committed {
            let writes = attempt.acts.iter().filter(|act| act.wrote());
            let writes = writes.map(|act| (act.key, act.value, act.kind == OpKind::Append));
            let snapshot = attempt.snapshot().map(|taken| &taken.snapshot);
            self.writers.add(txn, snapshot, writes);
        }
    }

    /// How the transaction ended, beside its outcome. Its statements are there already.
    fn ending(&mut self, attempt: &Attempt) {
        let (draft, evidence) = (&mut self.draft, &self.words.evidence);
        if let Some(sent) = attempt.end_sent {
            evidence.set_end_sent(draft, self.tape.pool(), sent);
        }
        if attempt.read_only {
            evidence.set_read_only(draft, true);
        }
        if let Some((code, class)) = &attempt.error {
            let code = self.tape.pool().text(code);
            draft.attr(self.words.error, code);
            evidence.set_error_class(draft, *class);
        }
        if let Some(at) = attempt.ended_at {
            // A statement that failed is the last one, however many operations it was recorded as.
            let last = (draft.stmt_count() as u32).saturating_sub(1);
            let at =
                if matches!(at, EndedAt::Statement(_)) { EndedAt::Statement(last) } else { at };
            evidence.set_ended_at(draft, at);
        }
    }

    fn operation(&mut self, act: &Act) -> Result<(), SinkError> {
        let pool = self.tape.pool();
        let key = pool.int_key(act.key as i64);
        let value = pool.int(act.value);
        let draft = &mut self.draft;
        // A statement that failed ended the transaction, which did not commit; its write is
        // recorded as one, so that a transaction that reads the value all the same reads from an
        // aborted one.
        let effect = match act.answer {
            Some(Answer::Done(false)) => Effect::Failed,
            _ => Effect::Done,
        };
        match act.kind {
            OpKind::Read => draft.read(key, read_value(act, pool)),
            OpKind::ListRead => {
                let list = match &act.answer {
                    Some(Answer::List(list)) => list.as_deref().unwrap_or_default(),
                    _ => return draft.list_read(key, None),
                };
                self.list.clear();
                self.list.extend(list.iter().map(|n| pool.int(*n)));
                return draft.list_read(key, Some(&self.list));
            }
            OpKind::Append => draft.append(key, value),
            OpKind::Cas => {
                let expected = pool.int(act.expected);
                draft.cas(key, expected, value, effect);
            }
            OpKind::InsertIfAbsent => draft.insert_if_absent(key, value, effect),
            _ => {
                // Rows that are written are there from the start: a write that found none is a read
                // of nothing.
                if effect == Effect::Failed {
                    draft.read(key, Value::ABSENT);
                }
                draft.write(key, value);
            }
        }
        if effect == Effect::Failed && !matches!(act.kind, OpKind::Cas | OpKind::InsertIfAbsent) {
            draft.set_effect(Effect::Failed);
        }
        Ok(())
    }
}

fn read_value(act: &Act, pool: &mut Pool) -> Value {
    match act.answer {
        Some(Answer::Value(Some(value))) => pool.int(value),
        Some(Answer::Value(None)) => Value::ABSENT,
        _ => Value::UNOBSERVED,
    }
}
