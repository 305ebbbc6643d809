//! What is known of a run as a whole.

use crate::ids::Key;
use crate::pool::Pool;
use crate::remap::Remap;
use crate::value::Value;

/// What the times of [`Interval`](crate::Interval) count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Nanoseconds of one clock.
    #[default]
    Nanoseconds,
    /// Positions in a log of events: the order of the lines is the order in time.
    Events,
}

impl Clock {
    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Nanoseconds => "nanoseconds",
            Clock::Events => "events",
        }
    }

    /// The clock of that [`name`](Clock::name).
    pub fn from_name(name: &str) -> Option<Clock> {
        [Clock::Nanoseconds, Clock::Events].into_iter().find(|c| c.name() == name)
    }
}

/// What was in the database before the first transaction: never guessed, always said.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InitialState {
    /// The value of every key that is not listed. `None`: such a key has no initial version at
    /// all, and whatever is read of it must have been written by a transaction of the history.
    pub default: Option<Value>,
    /// Keys with a value of their own.
    pub given: Vec<(Key, Value)>,
}

impl InitialState {
    /// Every key starts with this value.
    pub const fn every(value: Value) -> InitialState {
        InitialState { default: Some(value), given: Vec::new() }
    }

    /// The initial value of a key, if it has one. A scan over the listed keys.
    pub fn of(&self, key: Key) -> Option<Value> {
        let given = self.given.iter().find(|(k, _)| *k == key);
        given.map(|&(_, v)| v).or(self.default)
    }
}

/// Well-known names of [`Meta::info`].
pub mod info {
    /// The database system.
    pub const SERVER: &str = "server";
    /// Its version.
    pub const VERSION: &str = "version";
    /// The isolation level it was asked for.
    pub const LEVEL: &str = "level";
    /// The seed of the workload.
    pub const SEED: &str = "seed";
    /// The parameters of the workload, a row.
    pub const PARAMETERS: &str = "parameters";
    /// True where explicit writes of the initial value are the initial writes themselves, as in
    /// formats whose initial value is implicit and whose recorders write it all the same.
    pub const EXPLICIT_INITIAL: &str = "explicit-initial";
    /// What the order of commit timestamps is: [`SERIAL`] where it is a serial order.
    pub const COMMIT_ORDER: &str = "commit-order";
    /// Of [`COMMIT_ORDER`]: every transaction behaves as if it ran at its commit timestamp.
    pub const SERIAL: &str = "serial";
    /// Where transactions that only read stand in the order of timestamps: [`AT_COMMIT`], or at their
    /// start, which goes without saying.
    pub const READS_AT: &str = "reads-at";
    /// Of [`READS_AT`]: at their commit timestamp.
    pub const AT_COMMIT: &str = "commit";
    /// What operations on rows speak of: [`BY_COLUMN`], or the whole value, which goes without saying.
    pub const ROWS: &str = "rows";
    /// Of [`ROWS`]: a read tells of the columns that it names, a write changes those that it names and
    /// leaves the others as they are, an insert writes a whole row, and a delete removes it.
    pub const BY_COLUMN: &str = "by-column";
}

/// What is known of a run as a whole.
#[derive(Clone, PartialEq, Debug)]
pub struct Meta {
    /// Named facts: the server, the claimed level, the seed, parameters (see [`info`]), and whatever
    /// else the source says. Each name once.
    pub info: Vec<(Value, Value)>,
    /// What was there before the first transaction.
    pub initial: InitialState,
    /// What the intervals count.
    pub clock: Clock,
    /// Whether the history holds every transaction that ran. A torn file does not, nor do logs
    /// that keep committed transactions only: a read without a writer then proves nothing.
    pub complete: bool,
}

impl Default for Meta {
    fn default() -> Meta {
        Meta {
            info: Vec::new(),
            initial: InitialState::default(),
            clock: Clock::default(),
            complete: true,
        }
    }
}

impl Meta {
    /// The same, as another pool reads it.
    pub(crate) fn mapped(&self, map: &Remap) -> Meta {
        let value = |&(n, v): &(Value, Value)| (map.value(n), map.value(v));
        let given = |&(k, v): &(Key, Value)| (map.key(k), map.value(v));
        Meta {
            info: self.info.iter().map(value).collect(),
            initial: InitialState {
                default: self.initial.default.map(|v| map.value(v)),
                given: self.initial.given.iter().map(given).collect(),
            },
            clock: self.clock,
            complete: self.complete,
        }
    }

    /// Whether operations speak of columns of rows (see [`info::ROWS`]) rather than of whole values.
    pub fn rows_by_column(&self, pool: &Pool) -> bool {
        let text = |value: Value, text: &str| pool.as_text(value) == Some(text);
        let rows = self.info.iter().find(|(name, _)| text(*name, info::ROWS));
        rows.is_some_and(|(_, value)| text(*value, info::BY_COLUMN))
    }

    /// Sets a fact; a name that is already there gets the new value.
    pub fn set(&mut self, name: Value, value: Value) {
        match self.info.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.info.push((name, value)),
        }
    }
}

/// Something on the time line that is no transaction: a fault, a heal, a restart; and what a recorder
/// says of a session (see [`SessionEvent`](crate::SessionEvent)).
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// What it is called.
    pub name: Value,
    /// When it began.
    pub begin: Option<i64>,
    /// When it ended, if it lasted.
    pub end: Option<i64>,
    /// Whatever else is known: which node, which partition.
    pub detail: Value,
}

impl Event {
    /// The same, as another pool reads it.
    pub(crate) fn mapped(&self, map: &Remap) -> Event {
        let (name, detail) = (map.value(self.name), map.value(self.detail));
        Event { name, detail, ..self.clone() }
    }
}
