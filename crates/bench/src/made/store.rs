//! What a simulated database holds, transactions under way on it, and which of them may commit.

use super::pick::Picker;
use super::plan::Database;
use super::random::Random;

/// One operation, with what it saw or wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Read {
        key: u64,
        value: u64,
    },
    Write {
        key: u64,
        value: u64,
    },
    Append {
        key: u64,
        value: u64,
    },
    /// A read of a list, with where its elements are in [`Running::elements`].
    ListRead {
        key: u64,
        start: u32,
        end: u32,
    },
}

/// A place of the store that a transaction touched, as it was when the transaction began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) place: u32,
    pub(crate) key: u64,
    pub(crate) version: u64,
    pub(crate) read: bool,
    pub(crate) wrote: bool,
}

/// Who decides what becomes of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// The database, by its rules.
    #[default]
    Open,
    /// Whoever planted it: it commits, whatever the rules say.
    Commits,
    /// Whoever planted it: it aborts.
    Aborts,
}

/// A transaction under way. Each session has one, which it fills again and again.
#[derive(Clone, Default, Debug)]
pub(crate) struct Running {
    pub(crate) begin: i64,
    pub(crate) acts: Vec<Act>,
    pub(crate) elements: Vec<u64>,
    pub(crate) touched: Vec<Touch>,
    pub(crate) fate: Fate,
}

impl Running {
    pub(crate) fn clear(&mut self) {
        self.acts.clear();
        self.elements.clear();
        self.touched.clear();
        self.fate = Fate::Open;
    }

    /// A read of a list that shows these elements.
    pub(crate) fn list_read(&mut self, key: u64, elements: impl IntoIterator<Item = u64>) {
        let start = self.elements.len() as u32;
        self.elements.extend(elements);
        self.acts.push(Act::ListRead { key, start, end: self.elements.len() as u32 });
    }
}

/// Keys and a number that nobody has used yet, for violations that touch nothing else.
pub(crate) struct Fresh {
    pub(crate) keys: [u64; 2],
    /// Added to the numbers of versions, to make values of them.
    pub(crate) base: u64,
}

/// What a simulated database holds: registers or lists.
///
/// Everything is read when a transaction begins, which is its snapshot, and written when it
/// commits; so nothing but the current state has to be kept.
pub(crate) trait Store {
    /// Whether the keys hold lists.
    const LISTS: bool;

    /// Which places are touched how often.
    fn picker(&self) -> &Picker;

    /// Makes up a transaction.
    fn begin(&mut self, random: &mut Random, txn: &mut Running);

    /// Makes up a transaction that reads a place and writes it.
    fn update(&mut self, place: u32, txn: &mut Running);

    /// Whether nobody has written the place since.
    fn is_current(&self, touch: &Touch) -> bool;

    /// Whether the place still belongs to the same key.
    fn is_there(&self, touch: &Touch) -> bool;

    /// Does what the transaction wrote.
    fn apply(&mut self, txn: &Running);

    /// What nobody has used yet.
    fn fresh(&mut self) -> Fresh;

    /// A last read of something that nobody will write any more, if one is due.
    fn last_read(&mut self) -> Option<Running> {
        None
    }

    /// Nobody will write anything any more.
    fn close(&mut self) {}
}

/// Whether the rules of the database let a transaction commit.
pub(crate) fn may_commit(database: Database, store: &impl Store, txn: &Running) -> bool {
    let mut touched = txn.touched.iter();
    match database {
        Database::Snapshot => touched.filter(|t| t.wrote).all(|t| store.is_current(t)),
        // Who only reads comes where its snapshot is; who writes comes where it commits, and
        // must have read what is there then.
        Database::Serializable => {
            txn.touched.iter().all(|t| !t.wrote)
                || touched.all(|t| if t.read { store.is_current(t) } else { store.is_there(t) })
        }
    }
}
