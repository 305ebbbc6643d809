//! SESSION by snapshots: a transaction sees all that its session did and saw before it.
//!
//! Whether a snapshot shows a number is known of the two alone, so that this is told at once. A snapshot that is older
//! than one before it in its session is wrong if anything committed between the two: that may come later.

use std::sync::Arc;

use hashbrown::HashMap;

use super::row::SnapshotRow;
use super::shape::{Number, Shape};
use crate::bodies::TxnRef;
use crate::content::NameId;

/// Pairs of snapshots for which something is looked for that lies between them: no more than so many.
const OPEN: usize = 4096;

/// What binds all sessions.
#[derive(Default)]
pub(super) struct Sessions {
    bounds: HashMap<NameId, ShownBound>,
    open: Vec<Backwards>,
}

/// What binds a session.
#[derive(Default)]
struct ShownBound {
    /// Its newest snapshot, and whose that was.
    newest: Option<(Arc<Shape>, TxnRef)>,
    /// What it wrote that the newest snapshot does not show.
    unseen: Vec<(Number, TxnRef)>,
}

/// A session that went back in time, if any commit shows it.
struct Backwards {
    newer: Arc<Shape>,
    before: TxnRef,
    older: Arc<Shape>,
    txn: TxnRef,
}

/// A transaction of a session.
pub(super) struct Step<'s> {
    pub(super) session: NameId,
    pub(super) txn: TxnRef,
    pub(super) shape: &'s Arc<Shape>,
    /// Its number, if it wrote.
    pub(super) wrote: Option<Number>,
}

/// What a transaction does not see: transactions that show it.
pub(super) enum Unseen {
    Nothing,
    These(Vec<TxnRef>),
    /// What lay between is not kept any more, or there are too many to look for.
    Unknown,
}

impl Sessions {
    /// The next transaction of a session.
    pub(super) fn step(&mut self, step: &Step<'_>, row: &SnapshotRow) -> Unseen {
        let bound = self.bounds.entry(step.session).or_default();
        let lost = bound.unseen.iter().find(|(number, _)| !step.shape.shows(*number));
        let mut unseen = lost.map_or(Unseen::Nothing, |(_, txn)| Unseen::These(vec![*txn]));
        let newer = bound.newest.clone().filter(|(newest, _)| newest.rank > step.shape.rank);
        if let (Unseen::Nothing, Some((newer, before))) = (&unseen, newer) {
            let (older, txn) = (step.shape.clone(), step.txn);
            unseen = match row.between(&newer, &older) {
                // The server was started again between them.
                None if newer.restart > older.restart => Unseen::These(vec![before]),
                Some(between) => Unseen::These(vec![before, between]),
                None if !row.keeps(older.rank) || self.open.len() >= OPEN => Unseen::Unknown,
                None => {
                    self.open.push(Backwards { newer, before, older, txn });
                    Unseen::Nothing
                }
            };
        }
        let is_newest = |(newest, _): &(Arc<Shape>, TxnRef)| newest.rank < step.shape.rank;
        // A writer binds by its commit, which its snapshot comes before unless it is a wrong one.
        let right = step.wrote.is_none_or(|number| !step.shape.shows(number));
        if right && bound.newest.as_ref().is_none_or(is_newest) {
            bound.newest = Some((step.shape.clone(), step.txn));
            bound.unseen.retain(|(number, _)| !step.shape.shows(*number));
        }
        let seen = |number: &Number| bound.newest.as_ref().is_some_and(|(n, _)| n.shows(*number));
        if let Some(number) = step.wrote.filter(|number| !seen(number)) {
            bound.unseen.push((number, step.txn));
        }
        unseen
    }

    /// A number has become known: transactions that went back behind it, each with others that show it.
    pub(super) fn numbered(&mut self, number: Number, txn: TxnRef) -> Vec<(TxnRef, Vec<TxnRef>)> {
        let shows = |back: &Backwards| back.newer.shows(number) && !back.older.shows(number);
        let found = self.open.extract_if(.., |back| shows(back));
        found.map(|back| (back.txn, vec![back.before, txn])).collect()
    }

    /// The bytes that it takes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        let bound = size_of::<(NameId, ShownBound)>() + size_of::<Shape>();
        self.bounds.len() * bound + self.open.len() * size_of::<Backwards>()
    }
}
