//! A server acted out: rows with their committed versions, locks, snapshots, and what each event does to them.

use isolde_history::LockMode;
use isolde_spec::{Certifier, LockScope, LockingReads, PlainReads, Profile, SnapshotAt};

use super::script::{Act, Event, Held, LIST, Made, MadeStmt, Script, looked};

/// Why something does not happen now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It waits for a lock.
    Blocked,
    /// The server says no.
    Error,
}

/// What profiles leave open, as one server does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choices {
    /// Updates that change nothing leave no version.
    pub(crate) idle_vanish: bool,
    /// A rollback to a savepoint before everything else gives back all.
    pub(crate) resets: bool,
    /// Locking reads find rows by the snapshot of the statement, and then look at what they have become.
    pub(crate) finds_by_snapshot: bool,
}

/// Something that was written down for the certifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Logged {
    Began(u8),
    Snapshot(u8),
    Committed(u8),
}

/// A transaction on the server.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Running {
    snapshot: Option<[u8; 3]>,
    statement: [u8; 3],
    writes: Vec<(u8, Held)>,
    locks: Vec<(u8, u8)>,
    savepoints: Vec<(u8, u8, u8, bool)>,
    /// Which versions of others it read.
    reads: Vec<(u8, u8)>,
}

/// The lock of the whole database.
const DATABASE: u8 = 9;

/// The whole server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    /// The committed versions of each row, with their writers.
    pub(crate) rows: [Vec<(u8, Held)>; 3],
    pub(crate) running: Vec<Running>,
    /// Those that committed, with the versions that they read.
    pub(crate) committed: Vec<(u8, Vec<(u8, u8)>)>,
    pub(crate) log: Vec<Logged>,
}

/// The writer of what was there at first.
pub(crate) const NOBODY: u8 = 99;

impl World {
    pub(crate) fn new(script: &Script) -> World {
        let rows = script.initial.clone().map(|held| vec![(NOBODY, held)]);
        World { rows, running: Vec::new(), committed: Vec::new(), log: Vec::new() }
    }

    fn newest(&self) -> [u8; 3] {
        [0, 1, 2].map(|row: usize| self.rows[row].len() as u8 - 1)
    }

    /// A transaction, from when it is first spoken of.
    fn of(&mut self, txn: u8) -> &mut Running {
        while self.running.len() <= usize::from(txn) {
            self.running.push(Running::default());
        }
        &mut self.running[usize::from(txn)]
    }
}

/// The rules by which a world goes on.
pub(crate) struct Acting<'s> {
    pub(crate) profile: &'s Profile,
    pub(crate) choices: Choices,
    pub(crate) by_column: bool,
}

impl Acting<'_> {
    /// What an event does; for a read, what it returns.
    pub(crate) fn step(
        &self,
        world: &mut World,
        no: u8,
        txn: &Made,
        event: Event,
    ) -> Result<Option<Held>, Refused> {
        world.of(no);
        match event {
            Event::Begin => self.begin(world, no),
            Event::Snapshot(number) => {
                self.snapshot(world, no, txn, number);
                Ok(None)
            }
            Event::Op(stmt, op) => {
                let stmt = &txn.stmts[stmt];
                self.op(world, no, stmt, &stmt.ops[op].act)
            }
            Event::Fail(_) => {
                rollback(world, no);
                Ok(None)
            }
            Event::End => self.commit(world, no),
        }
    }

    fn certifies(&self) -> bool {
        self.profile.certifier != Certifier::None
    }

    fn take_snapshot(&self, world: &mut World, no: u8) {
        let newest = world.newest();
        if self.certifies() {
            world.log.push(Logged::Snapshot(no));
        }
        world.of(no).snapshot = Some(newest);
    }

    fn begin(&self, world: &mut World, no: u8) -> Result<Option<Held>, Refused> {
        if self.profile.locks == LockScope::WholeTransactions {
            lock(world, no, DATABASE, LockMode::Exclusive)?;
        }
        if self.certifies() {
            world.log.push(Logged::Began(no));
        }
        if self.profile.snapshot_at == SnapshotAt::Begin {
            self.take_snapshot(world, no);
        }
        Ok(None)
    }

    fn snapshot(&self, world: &mut World, no: u8, txn: &Made, number: usize) {
        let newest = world.newest();
        world.of(no).statement = newest;
        if world.of(no).snapshot.is_some() {
            return;
        }
        let stmt = &txn.stmts[number];
        let does = stmt.ops.iter().any(|op| !is_control(&op.act));
        let reads = stmt.ops.iter().any(|op| matches!(op.act, Act::Read(_) | Act::Look));
        let takes = match self.profile.snapshot_at {
            SnapshotAt::Begin => false,
            SnapshotAt::FirstStatement => does,
            SnapshotAt::FirstRead => reads && stmt.lock == LockMode::None,
            // Every other transaction takes it as soon as it may.
            SnapshotAt::ByFirstRead => {
                (reads && stmt.lock == LockMode::None) || (does && no.is_multiple_of(2))
            }
        };
        if takes {
            self.take_snapshot(world, no);
        }
    }

    fn op(
        &self,
        world: &mut World,
        no: u8,
        stmt: &MadeStmt,
        act: &Act,
    ) -> Result<Option<Held>, Refused> {
        let modes = &self.profile.modes;
        match act {
            Act::Read(row) => return self.read(world, no, *row, stmt.lock).map(Some),
            Act::Look => return self.look(world, no, stmt.lock).map(Some),
            Act::Savepoint(name) => {
                let own = world.of(no);
                let is_first =
                    own.writes.is_empty() && own.locks.is_empty() && own.reads.is_empty();
                let at = (*name, own.writes.len() as u8, own.locks.len() as u8, is_first);
                own.savepoints.push(at);
            }
            Act::RollbackTo(name) => self.roll_back_to(world, no, *name),
            Act::Write(row, cells) => {
                let base = self.base(world, no, *row, modes.update, true)?;
                let new = match base.clone() {
                    Held::Row([a, b]) => [cells[0].unwrap_or(a), cells[1].unwrap_or(b)],
                    _ if self.by_column => return Err(Refused::Error),
                    _ => [cells[0].unwrap_or(0), 0],
                };
                self.put(world, no, *row, &base, Held::Row(new));
            }
            Act::Insert(row, cells) => {
                let base = self.base(world, no, *row, modes.insert, true)?;
                if base != Held::Absent {
                    return Err(Refused::Error);
                }
                self.put(world, no, *row, &base, Held::Row(*cells));
            }
            Act::Delete(row) => {
                let base = self.base(world, no, *row, modes.delete, false)?;
                if base == Held::Absent {
                    return Err(Refused::Error);
                }
                self.put(world, no, *row, &base, Held::Absent);
            }
            Act::Cas(row, old, new) => {
                let base = self.base(world, no, *row, modes.update, false)?;
                let Held::Row([a, _]) = base else { return Err(Refused::Error) };
                if a != *old {
                    return Err(Refused::Error);
                }
                self.put(world, no, *row, &base, Held::Row([*new, 0]));
            }
            Act::Append(element) => {
                let base = self.base(world, no, LIST, modes.update, true)?;
                let mut list = if let Held::List(list) = &base { list.clone() } else { Vec::new() };
                list.push(*element);
                self.put(world, no, LIST, &base, Held::List(list));
            }
        }
        Ok(None)
    }

    /// What a statement that writes finds once it has its lock. What may insert may do so where the row was deleted after
    /// the snapshot.
    fn base(
        &self,
        world: &mut World,
        no: u8,
        row: usize,
        mode: LockMode,
        may_insert: bool,
    ) -> Result<Held, Refused> {
        match self.profile.locks {
            LockScope::Rows => lock(world, no, row as u8, mode)?,
            LockScope::Database => {
                let is_first = world.of(no).locks.is_empty();
                lock(world, no, DATABASE, LockMode::Exclusive)?;
                // All that was committed since the snapshot is in the way.
                if is_first && world.of(no).snapshot.is_some_and(|own| own != world.newest()) {
                    return Err(Refused::Error);
                }
            }
            LockScope::WholeTransactions | LockScope::None => {}
        }
        if let Some(own) = own(world, no, row) {
            return Ok(own);
        }
        let newest = world.newest()[row];
        let snapshot = world.of(no).snapshot;
        let held = world.rows[row][usize::from(newest)].1.clone();
        if self.profile.locks == LockScope::None {
            // Nothing is locked: what there is, is what the snapshot shows.
            let at = snapshot.map_or(newest, |own| own[row]);
            return Ok(world.rows[row][usize::from(at)].1.clone());
        }
        let is_newer = snapshot.is_some_and(|own| own[row] != newest);
        let excused = held == Held::Absent && may_insert;
        if self.profile.first_updater_wins && is_newer && !excused {
            return Err(Refused::Error);
        }
        Ok(held)
    }

    fn put(&self, world: &mut World, no: u8, row: usize, base: &Held, new: Held) {
        let same = self.choices.idle_vanish && *base == new && new != Held::Absent;
        if !same {
            world.of(no).writes.push((row as u8, new));
        }
    }

    fn read(&self, world: &mut World, no: u8, row: usize, asks: LockMode) -> Result<Held, Refused> {
        let is_locking = asks != LockMode::None;
        let mode = if is_locking { asks } else { self.profile.modes.read };
        let newest = world.newest()[row];
        let snapshot = world.of(no).snapshot;
        if !is_locking && self.profile.reads == PlainReads::Uncommitted {
            let pending = world.running.iter().flat_map(|txn| &txn.writes);
            let last = pending.rev().find(|(at, _)| usize::from(*at) == row).cloned();
            let committed = world.rows[row][usize::from(newest)].1.clone();
            return Ok(own(world, no, row).or(last.map(|(_, held)| held)).unwrap_or(committed));
        }
        let of_snapshot = |world: &World, at: u8| world.rows[row][usize::from(at)].1.clone();
        let sees = match (is_locking, self.profile.reads, self.profile.locking_reads) {
            (false, PlainReads::StatementSnapshot, _) => world.of(no).statement[row],
            (false, PlainReads::TransactionSnapshot, _) => snapshot.map_or(newest, |own| own[row]),
            (true, _, LockingReads::Snapshot) if snapshot.is_some() => {
                let at = snapshot.map_or(newest, |own| own[row]);
                if self.takes_lock(world, no, row, mode, at)? && at != newest {
                    return Err(Refused::Error);
                }
                at
            }
            _ => {
                self.takes_lock(world, no, row, mode, newest)?;
                newest
            }
        };
        if let Some(own) = own(world, no, row) {
            return Ok(own);
        }
        let by_statement = self.profile.reads == PlainReads::StatementSnapshot;
        if is_locking && by_statement && self.choices.finds_by_snapshot {
            let found = world.of(no).statement[row];
            let mut since = usize::from(found)..=usize::from(newest);
            if since.any(|at| world.rows[row][at].1 == Held::Absent) {
                return Ok(Held::Absent);
            }
        }
        world.of(no).reads.push((row as u8, sees));
        Ok(of_snapshot(world, sees))
    }

    /// The rows with an even value.
    fn look(&self, world: &mut World, no: u8, asks: LockMode) -> Result<Held, Refused> {
        let mut rows = Vec::new();
        for row in 0..LIST {
            let before = world.of(no).reads.len();
            match self.read(world, no, row, asks)? {
                Held::Row([value, _]) if value % 2 == 0 => rows.push(looked(row, value)),
                // Nothing was returned, so that nothing was read of it.
                _ => world.of(no).reads.truncate(before),
            }
        }
        Ok(Held::List(rows))
    }

    /// Locks a row that is there, if reads lock rows at all.
    fn takes_lock(
        &self,
        world: &mut World,
        no: u8,
        row: usize,
        mode: LockMode,
        at: u8,
    ) -> Result<bool, Refused> {
        let there = own(world, no, row).unwrap_or(world.rows[row][usize::from(at)].1.clone());
        if self.profile.locks == LockScope::Rows && there != Held::Absent {
            lock(world, no, row as u8, mode)?;
        }
        // Its own row is the newest there is.
        Ok(there != Held::Absent && own(world, no, row).is_none())
    }

    fn roll_back_to(&self, world: &mut World, no: u8, name: u8) {
        let resets = self.choices.resets;
        let releases = self.profile.savepoints_release_locks;
        let begins = self.profile.snapshot_at == SnapshotAt::Begin;
        let own = world.of(no);
        let Some(at) = own.savepoints.iter().rposition(|savepoint| savepoint.0 == name) else {
            return;
        };
        own.savepoints.truncate(at + 1);
        let (_, writes, locks, is_first) = own.savepoints[at];
        own.writes.truncate(usize::from(writes));
        if releases || (resets && is_first) {
            own.locks.truncate(usize::from(locks));
        }
        if resets && is_first && !begins {
            own.snapshot = None;
        }
    }

    fn commit(&self, world: &mut World, no: u8) -> Result<Option<Held>, Refused> {
        let own = world.of(no).clone();
        let newest = world.newest();
        if self.profile.locks == LockScope::None
            && let Some(snapshot) = own.snapshot
        {
            let changed = |row: u8| snapshot[usize::from(row)] != newest[usize::from(row)];
            let writes_meet = own.writes.iter().any(|(row, _)| changed(*row));
            let reads_meet = own.reads.iter().any(|(row, _)| changed(*row));
            let validates = self.profile.certifier == Certifier::BackwardValidation;
            if (self.profile.first_updater_wins && writes_meet) || (validates && reads_meet) {
                return Err(Refused::Error);
            }
        }
        let mut rows: Vec<u8> = own.writes.iter().map(|(row, _)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            let last = own.writes.iter().rfind(|(at, _)| *at == row);
            let held = last.map_or(Held::Absent, |(_, held)| held.clone());
            world.rows[usize::from(row)].push((no, held));
        }
        if self.certifies() {
            world.committed.push((no, own.reads));
            world.log.push(Logged::Committed(no));
        }
        rollback(world, no);
        Ok(None)
    }
}

/// The last of its own writes of a row.
fn own(world: &mut World, no: u8, row: usize) -> Option<Held> {
    let own = world.of(no).writes.iter().rfind(|(at, _)| usize::from(*at) == row);
    own.map(|(_, held)| held.clone())
}

pub(crate) fn rollback(world: &mut World, no: u8) {
    *world.of(no) = Running::default();
}

pub(crate) fn is_control(act: &Act) -> bool {
    matches!(act, Act::Savepoint(_) | Act::RollbackTo(_))
}

fn lock(world: &mut World, no: u8, on: u8, mode: LockMode) -> Result<(), Refused> {
    if mode == LockMode::None {
        return Ok(());
    }
    let strength = strength(mode);
    let others = world.running.iter().enumerate().filter(|(other, _)| *other != usize::from(no));
    for (_, other) in others {
        if other.locks.iter().any(|(at, held)| *at == on && !together(*held, strength)) {
            return Err(Refused::Blocked);
        }
    }
    let own = world.of(no);
    if !own.locks.contains(&(on, strength)) {
        own.locks.push((on, strength));
    }
    Ok(())
}

fn strength(mode: LockMode) -> u8 {
    match mode {
        LockMode::None => 0,
        LockMode::KeyShare => 1,
        LockMode::Share => 2,
        LockMode::NoKeyUpdate => 3,
        LockMode::Exclusive => 4,
    }
}

/// PostgreSQL's table of row locks; of the others' two modes, share and exclusive, it says the same.
fn together(a: u8, b: u8) -> bool {
    const TABLE: [[bool; 5]; 5] = [
        [true, true, true, true, true],
        [true, true, true, true, false],
        [true, true, true, false, false],
        [true, true, false, false, false],
        [true, false, false, false, false],
    ];
    TABLE[usize::from(a)][usize::from(b)]
}
