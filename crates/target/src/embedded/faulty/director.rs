//! What decides when something goes wrong: now and then, one anomaly after another, well apart.

use isolde_spec::Anomaly;

use super::alone::{self, Habit};
use super::scene::{self, Scene};
use super::store::{Key, RowValue, Store};
use super::txn::FaultyTxn;

/// How many transactions commit in the right way between two anomalies, so that nothing of the one
/// has to do with the other.
const CALM: u64 = 300;
/// How many after a scene that was abandoned.
const SHORT_CALM: u64 = 50;

/// The fourteen that it can plant.
pub(super) const PLANTABLE: [Anomaly; 14] = [
    Anomaly::ThinAirRead,
    Anomaly::AbortedRead,
    Anomaly::FutureRead,
    Anomaly::NotMyLastWrite,
    Anomaly::NotMyOwnWrite,
    Anomaly::IntermediateRead,
    Anomaly::NonRepeatableReads,
    Anomaly::SessionGuaranteeViolation,
    Anomaly::NonMonotonicRead,
    Anomaly::FracturedRead,
    Anomaly::CausalityViolation,
    Anomaly::LongFork,
    Anomaly::LostUpdate,
    Anomaly::WriteSkew,
];

/// What becomes of a transaction that wants to commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ruling {
    /// What the engine's own rules say.
    AsUsual,
    /// It commits without a look at the rules.
    Commit,
    /// It is told of a conflict.
    Refuse,
}

/// What decides when something goes wrong.
#[derive(Default, Debug)]
pub(super) struct Director {
    planted: Vec<Anomaly>,
    /// How many anomalies there were.
    done: usize,
    /// How many commits there were since the last.
    calm: u64,
    pub(super) scene: Option<Scene>,
    scenes: u64,
    /// The newest snapshot when the last scene ended.
    since: u64,
}

impl Director {
    /// One that plants these, in turn.
    pub(super) fn new(planted: &[Anomaly]) -> Director {
        Director { planted: planted.to_vec(), ..Director::default() }
    }

    /// What is to go wrong next, once it was calm for long enough.
    fn due(&self) -> Option<Anomaly> {
        let next = self.planted.get(self.done % self.planted.len().max(1));
        next.copied().filter(|_| self.calm >= CALM)
    }

    /// Gives a transaction that begins a part, if a scene is on.
    pub(super) fn cast(&self, txn: &mut FaultyTxn) {
        txn.part = self.scene.as_ref().map(Scene::part);
        txn.old_snapshot = self.scene.as_ref().and_then(Scene::old_snapshot);
    }

    /// The wrong answer to a read, if it shall have one.
    pub(super) fn mislead(
        &self,
        txn: &FaultyTxn,
        key: Key,
        habit: Habit,
        store: &Store,
    ) -> Option<RowValue> {
        if let Some(part) = txn.part {
            let scene = self.scene.as_ref().filter(|scene| scene.part() == part)?;
            let own = txn.written_keys().contains(&key);
            return (!own).then(|| scene.show(txn, key, store));
        }
        if self.scene.is_some() {
            return None;
        }
        alone::mislead(self.due()?, txn, key, habit, store)
    }

    /// Decides about a transaction that wants to commit, and would be allowed to or not.
    pub(super) fn rule(&mut self, txn: &FaultyTxn, valid: bool, store: &mut Store) -> Ruling {
        if let Some(scene) = &mut self.scene {
            if !scene.fits(txn) {
                if !scene.endure() {
                    self.end(store);
                }
                return Ruling::Refuse;
            }
            if scene.advance(txn) {
                self.succeed(txn.session, store);
            }
            return Ruling::Commit;
        }
        // It began in a scene that is over, or before it.
        if txn.part.is_some() || txn.snapshot < self.since {
            return Ruling::Refuse;
        }
        let due = self.due();
        if txn.misled.is_some() {
            if !valid || !due.is_some_and(|anomaly| alone::fits(anomaly, txn)) {
                return Ruling::Refuse;
            }
            self.succeed(txn.session, store);
            return Ruling::AsUsual;
        }
        if !valid {
            return Ruling::AsUsual;
        }
        self.calm += 1;
        let Some(anomaly) = due.filter(|anomaly| scene::parts(*anomaly) > 0) else {
            return Ruling::AsUsual;
        };
        let Some(scene) = Scene::begin(self.scenes, anomaly, txn, store) else {
            return Ruling::AsUsual;
        };
        store.watch(scene.before);
        let refuse = scene.refuses_first();
        self.scenes += 1;
        self.scene = Some(scene);
        if refuse { Ruling::Refuse } else { Ruling::AsUsual }
    }

    /// Notes that something went wrong as it should.
    fn succeed(&mut self, session: u64, store: &mut Store) {
        self.done += 1;
        self.calm = 0;
        if !self.scene.as_mut().is_some_and(|scene| scene.close(session)) {
            self.end(store);
        }
    }

    /// Notes that a session begins something new. Whether that ends the scene.
    pub(super) fn returned(&mut self, session: u64, store: &mut Store) -> bool {
        let left = self.scene.as_ref().is_some_and(|scene| scene.leaves(session));
        if left {
            self.end(store);
        }
        left
    }

    /// Ends the scene, whether it was played to the end or not.
    pub(super) fn end(&mut self, store: &mut Store) {
        if let Some(scene) = self.scene.take() {
            store.unwatch(scene.before);
            self.since = store.now();
            // After one that was abandoned it is calm again for a while too.
            self.calm = self.calm.min(CALM - SHORT_CALM);
        }
    }
}
