//! A simulated transaction under way.

use super::span::Span;

/// One operation, with what it saw or wrote. The number 0 is the initial state of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    Cas {
        key: u64,
        expected: u64,
        value: u64,
        done: bool,
    },
    Insert {
        key: u64,
        value: u64,
        done: bool,
    },
}

/// A row that a transaction touched, as it was then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) row: u32,
    pub(crate) key: u64,
    pub(crate) version: u64,
    pub(crate) read: bool,
    pub(crate) wrote: bool,
    /// Whether a list was read after the transaction itself had appended to it.
    pub(crate) read_own: bool,
}

/// What decides the outcome of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// The database, by its rules.
    #[default]
    Open,
    /// The plan of the planted violation: it commits, whatever the rules say.
    Commits,
    /// Its client, or the plan of the planted violation: it is rolled back.
    Aborts,
}

/// A transaction under way: a scratch buffer that is filled again and again.
#[derive(Clone, Default, Debug)]
pub(crate) struct Running {
    pub(crate) begin: i64,
    pub(crate) span: Span,
    pub(crate) acts: Vec<Act>,
    pub(crate) elements: Vec<u64>,
    pub(crate) touched: Vec<Touch>,
    /// Which table it works on.
    pub(crate) round: u32,
    pub(crate) fate: Fate,
}

impl Running {
    /// It begins at that tick.
    pub(crate) fn begin(&mut self, tick: i64) {
        self.begin = tick;
        self.span.begins(tick);
    }

    pub(crate) fn clear(&mut self) {
        self.acts.clear();
        self.elements.clear();
        self.touched.clear();
        self.fate = Fate::Open;
        self.span = Span::default();
    }

    /// A read of a list that shows these elements.
    pub(crate) fn list_read(&mut self, key: u64, elements: impl IntoIterator<Item = u64>) {
        let start = self.elements.len() as u32;
        self.elements.extend(elements);
        self.acts.push(Act::ListRead { key, start, end: self.elements.len() as u32 });
    }

    /// What is known of a row so far; a row that is new is touched now.
    pub(crate) fn touch(&mut self, row: u32, key: u64, version: u64) -> &mut Touch {
        let found = self.touched.iter().position(|t| t.row == row);
        let index = found.unwrap_or(self.touched.len());
        if found.is_none() {
            let (read, wrote, read_own) = (false, false, false);
            self.touched.push(Touch { row, key, version, read, wrote, read_own });
        }
        &mut self.touched[index]
    }
}
