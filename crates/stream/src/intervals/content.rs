//! What a version of a row holds, and what a read saw of it: are they the same?

use isolde_history::{Datum, Op, OpKind, Pool, Value};

use crate::content::{NameId, Word, name_id, word};

/// What a write left in a row, or what a row held at first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Nothing: it was deleted, or never there.
    Absent,
    /// This value.
    Value(Word),
    /// These columns. If the write was an insert, there are no others; after an update, the others are those of the
    /// version before.
    Columns { cells: Vec<(NameId, Word)>, whole: bool },
    /// A list that ends with this element.
    Element(Word),
    /// It is not known.
    Unknown,
}

/// What a read saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Observed {
    /// Nothing.
    Absent,
    /// This value.
    Value(Word),
    /// These columns, and perhaps others that were not asked for.
    Columns(Vec<(NameId, Word)>),
    /// A list that ends with this element; an empty one looks like nothing.
    List(Option<Word>),
}

/// Whether a version is what a read saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Match {
    Yes,
    No,
    /// It may be.
    Perhaps,
}

impl Content {
    /// What a write leaves behind; nothing if it writes nothing.
    pub(crate) fn written(pool: &Pool, op: &Op<'_>, by_column: bool) -> Option<Content> {
        let content = |value: Value| Content::of(pool, value, by_column);
        Some(match op.kind() {
            OpKind::Write => match content(op.value()) {
                // An update says nothing of the other columns.
                Content::Columns { cells, .. } => Content::Columns { cells, whole: false },
                other => other,
            },
            OpKind::InsertIfAbsent | OpKind::Cas => content(op.value()),
            OpKind::Append if op.value() == Value::UNOBSERVED => Content::Unknown,
            OpKind::Append => Content::Element(word(pool, op.value())),
            OpKind::Delete => Content::Absent,
            _ => return None,
        })
    }

    /// A value as the content of a row.
    pub(crate) fn of(pool: &Pool, value: Value, by_column: bool) -> Content {
        match pool.datum(value) {
            Datum::Absent => Content::Absent,
            Datum::Row(row) if by_column => {
                let cells = row.pairs().map(|(name, value)| cell(pool, name, value)).collect();
                Content::Columns { cells, whole: true }
            }
            // How a list that was there at first is read is not decided here.
            Datum::Unobserved | Datum::List(_) => Content::Unknown,
            _ => Content::Value(word(pool, value)),
        }
    }

    /// What a read of all that a write says would see; nothing if that is not known.
    pub(crate) fn as_observed(&self) -> Option<Observed> {
        Some(match self {
            Content::Absent => Observed::Absent,
            Content::Value(word) => Observed::Value(*word),
            Content::Columns { cells, .. } => Observed::Columns(cells.clone()),
            Content::Element(word) => Observed::List(Some(*word)),
            Content::Unknown => return None,
        })
    }

    /// What is there after the same transaction has written once more.
    pub(crate) fn overwritten_by(self, next: &Content) -> Content {
        match (self, next) {
            (
                Content::Columns { mut cells, whole },
                Content::Columns { cells: new, whole: false },
            ) => {
                for (column, word) in new {
                    match cells.iter_mut().find(|(name, _)| name == column) {
                        Some((_, old)) => *old = *word,
                        None => cells.push((*column, *word)),
                    }
                }
                Content::Columns { cells, whole }
            }
            // After a delete there is nothing that the other columns could be of.
            (Content::Absent, Content::Columns { cells, .. }) => {
                Content::Columns { cells: cells.clone(), whole: true }
            }
            (_, next) => next.clone(),
        }
    }

    /// Whether a read can have seen this version; `before` says what the version before it held in a column, if that is
    /// known.
    pub(crate) fn matches(
        &self,
        observed: &Observed,
        before: impl Fn(NameId) -> Option<Word>,
    ) -> Match {
        match (self, observed) {
            (Content::Unknown, _) => Match::Perhaps,
            (Content::Absent, Observed::Absent | Observed::List(None)) => Match::Yes,
            (Content::Absent, _)
            | (_, Observed::Absent)
            | (Content::Element(_), Observed::List(None)) => Match::No,
            (Content::Value(a), Observed::Value(b))
            | (Content::Element(a), Observed::List(Some(b))) => Match::of(a == b),
            (Content::Columns { cells, whole }, Observed::Columns(seen)) => {
                let held = |column: NameId| {
                    let own = cells.iter().find(|(name, _)| *name == column);
                    own.map(|(_, word)| *word).or_else(|| before(column).filter(|_| !whole))
                };
                let mut all = Match::Yes;
                for (column, word) in seen {
                    match held(*column) {
                        Some(held) if held != *word => return Match::No,
                        Some(_) => {}
                        None => all = Match::Perhaps,
                    }
                }
                all
            }
            // A list is read as a value, or the other way round: nothing is held against that.
            _ => Match::Perhaps,
        }
    }
}

impl Match {
    fn of(is_same: bool) -> Match {
        if is_same { Match::Yes } else { Match::No }
    }
}

impl Observed {
    /// Whether a row was there: an empty list may be none.
    pub(crate) fn is_row(&self) -> bool {
        !matches!(self, Observed::Absent | Observed::List(None))
    }

    /// What a read returned; nothing if the client never learned it, or it is no read.
    pub(crate) fn read(pool: &Pool, op: &Op<'_>, by_column: bool) -> Option<Observed> {
        match op.kind() {
            OpKind::Read => Observed::of(pool, op.value(), by_column),
            OpKind::ListRead => {
                let last = op.elements()?.last().copied();
                Some(Observed::List(last.map(|last| word(pool, last))))
            }
            _ => None,
        }
    }

    /// A value that was seen in a row.
    pub(crate) fn of(pool: &Pool, value: Value, by_column: bool) -> Option<Observed> {
        Some(match pool.datum(value) {
            Datum::Absent => Observed::Absent,
            Datum::Unobserved => return None,
            Datum::Row(row) if by_column => Observed::Columns(
                row.pairs().map(|(name, value)| cell(pool, name, value)).collect(),
            ),
            _ => Observed::Value(word(pool, value)),
        })
    }
}

fn cell(pool: &Pool, name: Value, value: Value) -> (NameId, Word) {
    (name_id(pool, name), word(pool, value))
}
