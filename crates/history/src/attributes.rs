//! Typed attributes: named columns beside the model, which ride along and round-trip.
//!
//! What a transaction, statement or operation carries beyond the model's own columns is an
//! attribute. Names in [`names`] have a fixed meaning and a typed accessor; a name that this
//! version does not know is kept all the same, so that nothing of a newer file is lost.

use crate::value::Value;

/// The attributes with a fixed meaning.
pub mod names {
    /// Transaction: the isolation level it asked for.
    pub const LEVEL: &str = "level";
    /// Transaction: whether it was declared read-only.
    pub const READ_ONLY: &str = "read-only";
    /// Transaction: the recorder's own sequence number in the session (gaps are lost transactions).
    pub const SEQ: &str = "seq";
    /// Transaction: the node of the cluster it ran on.
    pub const NODE: &str = "node";
    /// Transaction: the server's identifier, to which snapshots refer.
    pub const XID: &str = "xid";
    /// Transaction: how often the server had been started again before it; 0 if it is not said. A server
    /// that crashed may give an identifier ([`XID`]) again.
    pub const RESTART: &str = "restart";
    /// Transaction or statement: the snapshot, a row of `xmin`, `xmax` and `xip`.
    pub const SNAPSHOT: &str = "snapshot";
    /// Transaction or statement: the error that ended it.
    pub const ERROR: &str = "error";
    /// Transaction: what kind of error ended it (see [`ErrorClass`](crate::ErrorClass)).
    pub const ERROR_CLASS: &str = "error-class";
    /// Transaction: before COMMIT or ROLLBACK was sent. Its answer is the end of the transaction's
    /// own interval, so that this one time is all that the interval of the ending takes.
    pub const END_SENT: &str = "end-sent";
    /// Transaction: where the server ended it by itself (see [`EndedAt`](crate::EndedAt)): the
    /// number of a statement, counted from 0, or [`AT_BEGIN`], or [`AT_COMMIT`].
    pub const SERVER_ENDED_AT: &str = "server-ended-at";
    /// Transaction: when BEGIN was answered, where it did not travel with the first statement.
    pub const BEGIN_ANSWERED: &str = "begin-answered";
    /// Of [`SERVER_ENDED_AT`]: at BEGIN.
    pub const AT_BEGIN: &str = "begin";
    /// Of [`SERVER_ENDED_AT`]: at COMMIT.
    pub const AT_COMMIT: &str = "commit";
    /// Statement: the lock mode (see [`LockMode`](crate::LockMode)).
    pub const LOCK: &str = "lock";
    /// Statement: how it reads: `consistent` (from a snapshot), `locking` (the newest version, under a lock) or
    /// `uncommitted`.
    pub const READ_MODE: &str = "read-mode";
    /// Statement: the predicate that its rows satisfy, as the source has it.
    pub const PREDICATE: &str = "predicate";
    /// Statement: a list of two keys, the first and the last of those that it looked at, whether there were such rows or not. Both
    /// are integers, or lists of a table and an integer.
    pub const RANGE: &str = "range";
    /// Statement: a list of two times of the client, between which the snapshot was taken that the
    /// transaction reads from, whatever it did before.
    pub const SNAPSHOT_INTERVAL: &str = "snapshot-interval";
    /// Statement: the number of rows it changed.
    pub const AFFECTED: &str = "affected";
    /// Statement or operation: the SQL text.
    pub const SQL: &str = "sql";
    /// Operation: the access path (primary key, secondary index, scan, ...).
    pub const PATH: &str = "path";
    /// Operation: the server's own revision of the version that it read (etcd's `mod_revision`).
    pub const REVISION: &str = "revision";
    /// Transaction: when it began by the wall clock, where [`Interval`](crate::Interval) counts
    /// events instead.
    pub const WALL_BEGIN: &str = "wall-begin";
    /// Transaction: when it ended by the wall clock (see [`WALL_BEGIN`]).
    pub const WALL_END: &str = "wall-end";
    /// Transaction: when its record reached the checker, in milliseconds (TimeKiller's `rtts`).
    pub const ARRIVAL: &str = "arrival-ms";
}

/// What an attribute belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Entity {
    /// A transaction.
    Txn = 0,
    /// A statement.
    Stmt = 1,
    /// An operation.
    Op = 2,
}

impl Entity {
    pub(crate) const fn from_u8(n: u8) -> Option<Entity> {
        match n {
            0 => Some(Entity::Txn),
            1 => Some(Entity::Stmt),
            2 => Some(Entity::Op),
            _ => None,
        }
    }
}

/// One attribute of all entities of a kind that have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttrColumn {
    pub(crate) entity: Entity,
    pub(crate) name: Value,
    /// Ascending, each once.
    pub(crate) ids: Vec<u32>,
    pub(crate) values: Vec<Value>,
}

/// All attributes of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) columns: Vec<AttrColumn>,
}

/// How many differently named attributes a history may have: a file of random names must not
/// make every look-up slow.
pub(crate) const MAX_ATTRIBUTES: usize = 256;

impl Attributes {
    fn column(&self, entity: Entity, name: Value) -> Option<&AttrColumn> {
        self.columns.iter().find(|c| c.entity == entity && c.name == name)
    }

    /// The column of that name, made if it is new; `None` past [`MAX_ATTRIBUTES`].
    fn column_mut(&mut self, entity: Entity, name: Value) -> Option<&mut AttrColumn> {
        let at = self.columns.iter().position(|c| c.entity == entity && c.name == name);
        let at = at.unwrap_or(self.columns.len());
        if at >= MAX_ATTRIBUTES {
            return None;
        }
        if at == self.columns.len() {
            self.columns.push(AttrColumn { entity, name, ids: Vec::new(), values: Vec::new() });
        }
        self.columns.get_mut(at)
    }

    /// Adds an attribute to an entity at or after the last one of its column. `false` past
    /// [`MAX_ATTRIBUTES`].
    #[must_use]
    pub(crate) fn push(&mut self, entity: Entity, id: u32, name: Value, value: Value) -> bool {
        let Some(column) = self.column_mut(entity, name) else { return false };
        if column.ids.last() == Some(&id) {
            column.ids.pop();
            column.values.pop();
        }
        debug_assert!(column.ids.last().is_none_or(|&last| last < id));
        column.ids.push(id);
        column.values.push(value);
        true
    }

    pub(crate) fn get(&self, entity: Entity, id: u32, name: Value) -> Option<Value> {
        let column = self.column(entity, name)?;
        column.ids.binary_search(&id).ok().map(|i| column.values[i])
    }

    /// All attributes of one entity.
    pub(crate) fn of(&self, entity: Entity, id: u32) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.columns
            .iter()
            .filter(move |c| c.entity == entity)
            .filter_map(move |c| c.ids.binary_search(&id).ok().map(|i| (c.name, c.values[i])))
    }

    /// Appends columns whose entities start at `bases` here; names and values are mapped.
    #[must_use]
    pub(crate) fn append(
        &mut self,
        bases: [u32; 3],
        other: &Attributes,
        value: impl Fn(Value) -> Value,
    ) -> bool {
        for column in &other.columns {
            let base = bases[column.entity as usize];
            let Some(mine) = self.column_mut(column.entity, value(column.name)) else {
                return false;
            };
            mine.ids.extend(column.ids.iter().map(|id| id + base));
            mine.values.extend(column.values.iter().map(|&v| value(v)));
        }
        true
    }

    pub(crate) fn clear(&mut self) {
        self.columns.clear();
    }

    pub(crate) fn shrink(&mut self) {
        for c in &mut self.columns {
            c.ids.shrink_to_fit();
            c.values.shrink_to_fit();
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.columns.iter().map(|c| c.ids.capacity() * 4 + c.values.capacity() * 8).sum()
    }
}
