//! Violations to plant: each is a few transactions that no order explains, whenever they run.
//!
//! Most are on keys of their own, so that everything else stays as clean as it was. One is on a key
//! that others use, as a database that forgets to look for a conflict would do it.

use std::collections::VecDeque;

use super::plan::Database;
use super::random::Random;
use super::store::{Act, Fate, Fresh, Running, Store};

/// An operation of a script: on the first or the second key, the version read or made. Version 0 is
/// the initial state.
#[derive(Clone, Copy)]
enum Say {
    R(usize, u64),
    W(usize, u64),
}
use Say::{R, W};

type Script = &'static [&'static [Say]];

const LOST_UPDATE: Script = &[&[R(0, 0), W(0, 1)], &[R(0, 0), W(0, 2)]];
const LONG_FORK: Script =
    &[&[R(0, 0), W(0, 1)], &[R(1, 0), W(1, 1)], &[R(0, 1), R(1, 0)], &[R(0, 0), R(1, 1)]];
const FRACTURED_READ: Script = &[&[R(0, 0), W(0, 1), R(1, 0), W(1, 1)], &[R(0, 1), R(1, 0)]];
const THIN_AIR: Script = &[&[R(0, 9)]];
const ABORTED_READ: Script = &[&[R(0, 0), W(0, 1)], &[R(0, 1)]];
/// Only serializability forbids it.
const WRITE_SKEW: Script = &[&[R(0, 0), R(1, 0), W(0, 1)], &[R(0, 0), R(1, 0), W(1, 1)]];

/// Puts the transactions of the violation of that number into the queue; the kinds take turns.
pub(crate) fn plant<S: Store>(
    number: u64,
    database: Database,
    store: &mut S,
    random: &mut Random,
    queue: &mut VecDeque<Running>,
) {
    // Snapshot isolation allows write skew, so a database that gives it has plenty already.
    let kinds = if database == Database::Snapshot { 6 } else { 7 };
    let script = match number % kinds {
        0 => return forgotten_conflict(store, random, queue),
        1 => LOST_UPDATE,
        2 => LONG_FORK,
        3 => FRACTURED_READ,
        4 => THIN_AIR,
        5 => ABORTED_READ,
        _ => WRITE_SKEW,
    };
    let fresh = store.fresh();
    for (i, lines) in script.iter().enumerate() {
        let mut txn = scripted::<S>(lines, &fresh);
        let aborts = number % kinds == 5 && i == 0;
        txn.fate = if aborts { Fate::Aborts } else { Fate::Commits };
        queue.push_back(txn);
    }
    if S::LISTS && number % kinds == 1 {
        // Somebody sees both elements, or nobody would know that they were appended.
        let mut txn = Running { fate: Fate::Commits, ..Running::default() };
        txn.list_read(fresh.keys[0], [1, 2]);
        queue.push_back(txn);
    }
}

fn scripted<S: Store>(lines: &[Say], fresh: &Fresh) -> Running {
    let mut txn = Running::default();
    for say in lines {
        match *say {
            R(at, 0) if S::LISTS => txn.list_read(fresh.keys[at], []),
            R(at, version) if S::LISTS => txn.list_read(fresh.keys[at], [version]),
            W(at, version) if S::LISTS => {
                txn.acts.push(Act::Append { key: fresh.keys[at], value: version });
            }
            R(at, 0) => txn.acts.push(Act::Read { key: fresh.keys[at], value: 0 }),
            R(at, version) => {
                let (key, value) = (fresh.keys[at], fresh.base + version);
                txn.acts.push(Act::Read { key, value });
            }
            W(at, version) => {
                let (key, value) = (fresh.keys[at], fresh.base + version);
                txn.acts.push(Act::Write { key, value });
            }
        }
    }
    txn
}

/// Two transactions that read the same version of a key and both overwrite it.
fn forgotten_conflict<S: Store>(store: &mut S, random: &mut Random, queue: &mut VecDeque<Running>) {
    let place = store.picker().pick(random);
    for _ in 0..2 {
        let mut txn = Running::default();
        store.update(place, &mut txn);
        txn.fate = Fate::Commits;
        queue.push_back(txn);
    }
}
