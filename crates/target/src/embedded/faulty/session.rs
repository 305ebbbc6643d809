//! A session: begins, does, commits, and waits where a scene wants it to.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isolde_history::OpKind;

use super::alone::Habit;
use super::director::{Director, Ruling};
use super::scene::Scene;
use super::store::Store;
use super::txn::{FaultyTxn, Mode, conflict};
use crate::failure::{After, Failure};
use crate::request::{Answer, Request};
use crate::target::{Ended, Session};
use crate::timestamps::Timestamps;

/// How long a session waits for the end of a scene before it is abandoned.
const PATIENCE: Duration = Duration::from_millis(100);

/// All there is.
#[derive(Default, Debug)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) director: Director,
    /// How many transactions and sessions there were.
    pub(super) counter: u64,
}

/// What sessions share: one lock around everything, for the length of a statement. Simple, and
/// transactions run at the same time all the same.
#[derive(Default, Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Told when a scene is over.
    over: Condvar,
}

impl Shared {
    pub(super) fn new(director: Director) -> Shared {
        let state = State { director, ..State::default() };
        Shared { state: Mutex::new(state), over: Condvar::new() }
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
}

impl FaultySession {
    pub(super) fn new(shared: Arc<Shared>, mode: Mode) -> FaultySession {
        let number = {
            let mut state = shared.lock();
            state.counter += 1;
            state.counter
        };
        let (habit, committed) = (Habit::default(), Timestamps::default());
        FaultySession { shared, number, mode, txn: None, habit, committed }
    }

    fn forget(&mut self) {
        if let Some(txn) = self.txn.take() {
            txn.end(&mut self.shared.lock().store);
        }
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
        let State { store, director, counter } = &mut *state;
        if director.returned(session, store) {
            self.shared.over.notify_all();
        }
        let mut txn = FaultyTxn::begin(store, *counter, session, self.mode);
        director.cast(&mut txn);
        self.txn = Some(txn);
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        // So that transactions meet even where there are fewer processors than sessions.
        std::thread::yield_now();
        let txn = self.txn.as_mut().ok_or_else(no_transaction)?;
        let mut state = self.shared.lock();
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
        let State { store, director, .. } = &mut *state;
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
