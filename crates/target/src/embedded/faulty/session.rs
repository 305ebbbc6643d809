//! A session: begins, does, commits, and waits where a scene wants it to.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isolde_history::OpKind;

use super::alone::Habit;
use super::director::{Director, Ruling};
use super::numbers::Numbers;
use super::scene::Scene;
use super::store::Store;
use super::txn::{FaultyTxn, Mode, conflict};
use crate::failure::{After, Failure};
use crate::request::{Answer, Request};
use crate::shown::{ServerTxn, SnapshotOf, TakenSnapshot};
use crate::target::{Ended, Session};
use crate::timestamps::Timestamps;

/// Which transactions are told an old snapshot, where lies are planted, and how many ticks of the engine's clock it is
/// older than the one that they read from.
const LIE_EVERY: u64 = 500;
const OLDER: u64 = 100;

/// How long a session waits for the end of a scene before it is abandoned.
const PATIENCE: Duration = Duration::from_millis(100);

/// All there is.
#[derive(Default, Debug)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) director: Director,
    /// Which transactions ran when, if snapshots are told.
    numbers: Numbers,
    /// How many transactions and sessions there were.
    pub(super) counter: u64,
}

/// What sessions share: one lock around everything, for the length of a statement. Simple, and
/// transactions run at the same time all the same.
#[derive(Default, Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    telling: Telling,
    /// Told when a scene is over.
    over: Condvar,
}

/// What is told beside answers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Telling {
    /// Whether snapshots are.
    pub(super) snapshots: bool,
    /// Whether some of them are lies.
    pub(super) lies: bool,
}

impl Shared {
    pub(super) fn new(director: Director, telling: Telling) -> Shared {
        let state = State { director, ..State::default() };
        Shared { state: Mutex::new(state), telling, over: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while a scene is on that a session has to wait for; gives it up if it takes too long.
    fn wait(&self, state: MutexGuard<'_, State>, on: impl Fn(&Director) -> bool) {
        let waited = self.over.wait_timeout_while(state, PATIENCE, |state| on(&state.director));
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            let State { store, director, .. } = &mut *state;
            director.end(store);
            self.over.notify_all();
        }
    }
}

/// A session.
pub(super) struct FaultySession {
    shared: Arc<Shared>,
    number: u64,
    mode: Mode,
    txn: Option<FaultyTxn>,
    habit: Habit,
    /// When the last transaction that committed happened.
    committed: Timestamps,
    /// The snapshot that is to be told, if it was not told before.
    snapshot: Option<TakenSnapshot>,
    /// The number of the transaction that is under way, or ended last.
    number_of_txn: Option<u64>,
}

impl FaultySession {
    pub(super) fn new(shared: Arc<Shared>, mode: Mode) -> FaultySession {
        let number = {
            let mut state = shared.lock();
            state.counter += 1;
            state.counter
        };
        FaultySession {
            shared,
            number,
            mode,
            txn: None,
            habit: Habit::default(),
            committed: Timestamps::default(),
            snapshot: None,
            number_of_txn: None,
        }
    }

    fn forget(&mut self) {
        if let Some(txn) = self.txn.take() {
            let mut state = self.shared.lock();
            let State { store, numbers, .. } = &mut *state;
            numbers.end(txn.number, store.now());
            txn.end(store);
        }
    }

    /// The snapshot that is told of a transaction, or of a statement that sees what is committed now. A lie is
    /// older than what is read from.
    fn take(&mut self, state: &State) {
        let Some(txn) = &self.txn else { return };
        let (of, at) = match txn.mode {
            Mode::ReadCommitted => (SnapshotOf::Statement, state.store.now()),
            _ => (SnapshotOf::Transaction, txn.old_snapshot.unwrap_or(txn.snapshot)),
        };
        let lies = self.shared.telling.lies && txn.number.is_multiple_of(LIE_EVERY);
        let at = if lies { at.saturating_sub(OLDER) } else { at };
        let snapshot = state.numbers.snapshot_at(at);
        self.snapshot = Some(TakenSnapshot { of, snapshot, restart: 0 });
    }
}

impl Session for FaultySession {
    fn begin(&mut self) -> Result<(), Failure> {
        self.forget();
        // A scene of one session alone: all others stay away.
        let session = self.number;
        let others = |director: &Director| {
            let only = director.scene.as_ref().and_then(|scene| scene.only);
            only.is_some_and(|only| only != session)
        };
        let state = self.shared.lock();
        if others(&state.director) {
            self.shared.wait(state, others);
        } else {
            drop(state);
        }
        let mut state = self.shared.lock();
        state.counter += 1;
        let State { store, director, counter, numbers } = &mut *state;
        if director.returned(session, store) {
            self.shared.over.notify_all();
        }
        let mut txn = FaultyTxn::begin(store, *counter, session, self.mode);
        director.cast(&mut txn);
        if self.shared.telling.snapshots {
            numbers.begin(txn.number, txn.snapshot);
            self.number_of_txn = Some(txn.number);
        }
        let whole = txn.mode != Mode::ReadCommitted;
        self.txn = Some(txn);
        if self.shared.telling.snapshots && whole {
            let shared = Arc::clone(&self.shared);
            drop(state);
            self.take(&shared.lock());
        }
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        // So that transactions meet even where there are fewer processors than sessions.
        std::thread::yield_now();
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        if self.shared.telling.snapshots && self.mode == Mode::ReadCommitted {
            self.take(&state);
        }
        let txn = self.txn.as_mut().ok_or_else(no_transaction)?;
        let State { store, director, .. } = &mut *state;
        let wrong = match request.kind {
            OpKind::Read => director.mislead(txn, (request.table, request.row), self.habit, store),
            OpKind::ListRead => None,
            _ => {
                self.habit.note(request.value);
                None
            }
        };
        txn.run(store, request, wrong)
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        let txn = self.txn.take().ok_or_else(no_transaction)?;
        let mut state = self.shared.lock();
        let State { store, director, numbers, .. } = &mut *state;
        let number = txn.number;
        let scene = director.scene.as_ref().map(|scene| scene.number);
        let valid = txn.validate(store);
        let ruling = director.rule(&txn, valid.is_ok(), store);
        let answer = match ruling {
            Ruling::AsUsual => valid,
            Ruling::Commit => Ok(()),
            Ruling::Refuse => Err(conflict(After::Aborted)),
        };
        match answer {
            Ok(()) => self.committed = txn.commit(store),
            Err(_) => txn.end(store),
        }
        numbers.end(number, store.now());
        let session = self.number;
        if scene.is_some() && director.scene.is_none() {
            self.shared.over.notify_all();
        }
        let on = director.scene.as_ref().map(|scene| (scene.number, scene.keeps(session)));
        // It has played, and waits; those that were refused in the middle of a scene go on.
        if let Some((number, true)) = on
            && (scene.is_none() || answer.is_ok())
        {
            let still = |scene: &Scene| scene.number == number && scene.keeps(session);
            self.shared.wait(state, |director| director.scene.as_ref().is_some_and(still));
        }
        answer.map(|()| Ended::Committed)
    }

    fn snapshot(&mut self) -> Option<TakenSnapshot> {
        self.snapshot.take()
    }

    fn server_txn(&self) -> Option<ServerTxn> {
        self.number_of_txn.map(|number| ServerTxn { restart: 0, id: number.cast_signed() })
    }

    fn timestamps(&self) -> Timestamps {
        self.committed
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.forget();
        Ok(())
    }
}

impl Drop for FaultySession {
    fn drop(&mut self) {
        self.forget();
    }
}

fn no_transaction() -> Failure {
    Failure::new(After::Aborted, "no-transaction", "there is no transaction")
}
