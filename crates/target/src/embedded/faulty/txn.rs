//! A transaction on its way: its snapshot, what it did, what it is going to write.

use isolde_history::OpKind;

use super::store::{Key, RowValue, Store};
use crate::failure::{After, Failure};
use crate::request::{Answer, Request};
use crate::timestamps::Timestamps;

/// The part of a transaction: in which scene, and which of its parts was to be played when it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) scene: u64,
    pub(super) number: usize,
}

/// What an offer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Every statement sees what is committed by then, and the last writer wins.
    ReadCommitted,
    /// All reads see one snapshot, and of two that write the same row the first wins.
    Snapshot,
    /// The same, and a transaction that writes must have read what is still there when it commits.
    Serializable,
}

/// One thing that it did, for the code that plants anomalies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Did {
    Read(Key),
    Write(Key, i64),
    /// Something with lists, or a compare-and-set.
    Other,
}

/// A transaction.
#[derive(Debug)]
pub(super) struct FaultyTxn {
    pub(super) number: u64,
    /// The number of its session.
    pub(super) session: u64,
    pub(super) mode: Mode,
    pub(super) snapshot: u64,
    /// The snapshot that its reads are really answered from, if it is another one on purpose.
    pub(super) old_snapshot: Option<u64>,
    /// What it read of others.
    reads: Vec<Key>,
    /// What it is going to write: each row once.
    writes: Vec<(Key, RowValue)>,
    pub(super) log: Vec<Did>,
    /// Its part in a scene.
    pub(super) part: Option<Part>,
    /// What a read of it was told on purpose that is wrong.
    pub(super) misled: Option<i64>,
}

impl FaultyTxn {
    /// A transaction that begins now.
    pub(super) fn begin(store: &mut Store, number: u64, session: u64, mode: Mode) -> FaultyTxn {
        let snapshot = store.tick();
        store.watch(snapshot);
        FaultyTxn {
            number,
            session,
            mode,
            snapshot,
            old_snapshot: None,
            reads: Vec::new(),
            writes: Vec::new(),
            log: Vec::new(),
            part: None,
            misled: None,
        }
    }

    /// Does one access. A read of a register may get a wrong answer, if one is given.
    pub(super) fn run(
        &mut self,
        store: &mut Store,
        request: &Request,
        wrong: Option<RowValue>,
    ) -> Result<Answer, Failure> {
        let key = (request.table, request.row);
        self.log.push(match request.kind {
            OpKind::Read => Did::Read(key),
            OpKind::Write => Did::Write(key, request.value),
            _ => Did::Other,
        });
        match request.kind {
            OpKind::Read => {
                if let (Some(wrong), None) = (&wrong, self.part) {
                    self.misled = wrong.as_ref().and_then(|cell| cell.first()).copied();
                }
                let cell = wrong.unwrap_or_else(|| self.read(store, key));
                match cell.as_deref() {
                    None => Ok(Answer::Value(None)),
                    Some([value]) => Ok(Answer::Value(Some(*value))),
                    Some(others) => {
                        Err(Failure::impossible(request, &format!("{others:?} in a register")))
                    }
                }
            }
            OpKind::ListRead => Ok(Answer::List(self.read(store, key))),
            OpKind::Write => self.write(store, key, |_| Some(vec![request.value])),
            OpKind::Append => self.write(store, key, |cell| {
                let mut list = cell.unwrap_or_default();
                list.push(request.value);
                Some(list)
            }),
            OpKind::Cas => self.write(store, key, |cell| {
                cell.filter(|cell| *cell == [request.expected]).map(|_| vec![request.value])
            }),
            OpKind::InsertIfAbsent => {
                self.write(store, key, |cell| cell.is_none().then(|| vec![request.value]))
            }
            other => {
                let message = format!("the faulty engine has no way to do {other:?}");
                Err(Failure::new(After::Open, "unsupported", message))
            }
        }
    }

    /// What it sees of a row: its own last write, or what others committed.
    fn read(&mut self, store: &Store, key: Key) -> RowValue {
        if let Some((_, cell)) = self.writes.iter().find(|(k, _)| *k == key) {
            return cell.clone();
        }
        self.reads.push(key);
        match self.mode {
            Mode::ReadCommitted => store.read(key, store.now()),
            Mode::Snapshot | Mode::Serializable => store.read(key, self.snapshot),
        }
    }

    /// Writes what becomes of a row, or nothing.
    fn write(
        &mut self,
        store: &mut Store,
        key: Key,
        change: impl FnOnce(RowValue) -> RowValue,
    ) -> Result<Answer, Failure> {
        store.lock(key, self.number)?;
        // A transaction that plays a part in a scene shall not notice what happened in it.
        let checks = self.mode != Mode::ReadCommitted && self.part.is_none();
        if checks && store.changed_since(key, self.snapshot) {
            store.unlock(key, self.number);
            return Err(conflict(After::Open));
        }
        // A register is overwritten whatever was in it, so nothing of it counts as read.
        let seen = self.reads.len();
        let before = self.read(store, key);
        if matches!(self.log.last(), Some(Did::Write(..))) {
            self.reads.truncate(seen);
        }
        let after = change(before);
        let done = after.is_some();
        if done {
            self.writes.retain(|(k, _)| *k != key);
            self.writes.push((key, after));
        } else if !self.writes.iter().any(|(k, _)| *k == key) {
            store.unlock(key, self.number);
        }
        Ok(Answer::Done(done))
    }

    /// Whether it may commit.
    pub(super) fn validate(&self, store: &Store) -> Result<(), Failure> {
        // A transaction that only read was serialized when it began; one that writes is serialized
        // now.
        let checks = self.mode == Mode::Serializable && !self.writes.is_empty();
        if checks && self.reads.iter().any(|key| store.changed_since(*key, self.snapshot)) {
            return Err(conflict(After::Aborted));
        }
        Ok(())
    }

    /// Commits. When it started and committed, and no fault makes a lie of that: the start is the
    /// snapshot that it was given, even if it should have had a newer one.
    pub(super) fn commit(self, store: &mut Store) -> Timestamps {
        let commit = match self.writes.is_empty() {
            true => store.tick(),
            false => store.install(self.writes.iter().cloned()),
        };
        let start = self.old_snapshot.unwrap_or(self.snapshot);
        self.end(store);
        Timestamps::plain(start.cast_signed(), commit.cast_signed())
    }

    /// Lets go of all that it holds.
    pub(super) fn end(self, store: &mut Store) {
        store.unwatch(self.snapshot);
        for (key, _) in &self.writes {
            store.unlock(*key, self.number);
        }
    }

    /// The registers that it read, each once; nothing if it did anything but read and write registers.
    pub(super) fn read_keys(&self) -> Option<Vec<Key>> {
        let keys = self.log.iter().map(|did| match did {
            Did::Read(key) => Some(Some(*key)),
            Did::Write(..) => Some(None),
            Did::Other => None,
        });
        let keys: Option<Vec<Option<Key>>> = keys.collect();
        Some(sorted(keys?.into_iter().flatten()))
    }

    /// The rows that it is going to write, each once.
    pub(super) fn written_keys(&self) -> Vec<Key> {
        sorted(self.writes.iter().map(|(key, _)| *key))
    }
}

fn sorted(keys: impl Iterator<Item = Key>) -> Vec<Key> {
    let mut keys: Vec<Key> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The failure of a transaction that another one was in the way of.
pub(super) fn conflict(after: After) -> Failure {
    Failure::conflict(after, "conflict", "another transaction was in the way")
}
