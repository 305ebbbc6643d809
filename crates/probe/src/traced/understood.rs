//! What a statement does to rows, if it is simple enough to be known from its text.

use isolde_history::LockMode;
use isolde_target::Datum;

use super::words::{Piece, pieces};

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Understood {
    Begin,
    /// `START TRANSACTION READ ONLY`.
    BeginReadOnly,
    /// `START TRANSACTION WITH CONSISTENT SNAPSHOT`.
    BeginWithSnapshot,
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    /// `create table NAME (KEY ... primary key, COLUMN ..., ...)`: the key is the first column.
    Create {
        table: String,
        columns: Vec<String>,
    },
    Insert {
        table: String,
        columns: Option<Vec<String>>,
        rows: Vec<Vec<Datum>>,
    },
    Update {
        table: String,
        set: Vec<(String, Datum)>,
        keys: Keys,
    },
    Delete {
        table: String,
        keys: Keys,
    },
    Select {
        table: String,
        keys: Keys,
        lock: Option<LockMode>,
    },
    /// It touches no table, as far as can be seen.
    Nothing,
    /// Something else, which changes nothing.
    Reads,
}

/// Which rows a statement is about.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Keys {
    /// Those with these keys, if they are there.
    These(String, Vec<i64>),
    /// All of the table.
    All,
    /// Those that a condition picks.
    Some,
}

/// What a statement does; nothing if it may change rows, and which ones is not known.
pub(super) fn understand(statement: &str) -> Option<Understood> {
    let pieces = pieces(statement)?;
    let words: Vec<&str> = pieces.iter().map(word).collect();
    Some(match words.as_slice() {
        ["begin" | "start", .., "read", "only"] => Understood::BeginReadOnly,
        ["start", "transaction", "with", "consistent", ..] => Understood::BeginWithSnapshot,
        ["begin", ..] | ["start", "transaction", ..] => Understood::Begin,
        ["commit" | "end", ..] => Understood::Commit,
        ["rollback", "to", "savepoint", name] | ["rollback", "to", name] => {
            Understood::RollbackTo((*name).to_owned())
        }
        ["rollback" | "abort", ..] => Understood::Rollback,
        ["savepoint", name] => Understood::Savepoint((*name).to_owned()),
        ["release", "savepoint", name] | ["release", name] => {
            Understood::Release((*name).to_owned())
        }
        ["create", "table", table, ..] => {
            Understood::Create { table: (*table).to_owned(), columns: columns(&pieces[3..])? }
        }
        ["insert", "into", table, ..] => insert(table, &pieces[3..])?,
        ["update", table, "set", ..] => {
            let (set, keys) = assignments(&pieces[3..])?;
            Understood::Update { table: (*table).to_owned(), set, keys }
        }
        ["delete", "from", table, ..] => {
            Understood::Delete { table: (*table).to_owned(), keys: keys(&pieces[3..])? }
        }
        ["select", ..] => select(&pieces),
        _ => return None,
    })
}

/// A piece as it is matched with: a word, a mark as nothing.
fn word(piece: &Piece) -> &str {
    match piece {
        Piece::Word(word) => word,
        _ => "",
    }
}

/// The names of the columns of a table, of which the first is its key.
fn columns(pieces: &[Piece]) -> Option<Vec<String>> {
    let inside = pieces.strip_prefix(&[Piece::Mark('(')])?;
    let inside = &inside[..inside.iter().rposition(|piece| *piece == Piece::Mark(')'))?];
    let columns = apart(inside);
    let key = columns.first()?;
    let is_key = key.windows(2).any(|pair| pair[0].is("primary") && pair[1].is("key"));
    let names = columns.iter().map(|column| Some(word(column.first()?).to_owned()));
    names.collect::<Option<Vec<String>>>().filter(|_| is_key)
}

/// What stands between commas, those inside parentheses not counted.
fn apart(pieces: &[Piece]) -> Vec<&[Piece]> {
    let mut depth = 0_i32;
    let parts = pieces.split(|piece| {
        depth += match piece {
            Piece::Mark('(') => 1,
            Piece::Mark(')') => -1,
            _ => 0,
        };
        depth == 0 && *piece == Piece::Mark(',')
    });
    parts.collect()
}

fn literal(piece: &Piece) -> Option<Datum> {
    Some(match piece {
        Piece::Number(number) => Datum::Integer((*number).into()),
        Piece::Text(text) => Datum::Text(text.clone()),
        Piece::Word(word) if word == "null" => Datum::Null,
        _ => return None,
    })
}

/// `(a, b)` at the beginning, and what follows it.
fn parenthesis(pieces: &[Piece]) -> Option<(&[Piece], &[Piece])> {
    let inside = pieces.strip_prefix(&[Piece::Mark('(')])?;
    let end = inside.iter().position(|piece| *piece == Piece::Mark(')'))?;
    Some((&inside[..end], &inside[end + 1..]))
}

fn insert(table: &str, pieces: &[Piece]) -> Option<Understood> {
    let (columns, pieces) = match pieces.first()? {
        Piece::Mark('(') => {
            let (names, rest) = parenthesis(pieces)?;
            let names = apart(names).into_iter().map(|name| Some(word(name.first()?).to_owned()));
            (Some(names.collect::<Option<Vec<String>>>()?), rest)
        }
        _ => (None, pieces),
    };
    let mut rest = pieces.split_first().filter(|(first, _)| first.is("values"))?.1;
    let mut rows = Vec::new();
    loop {
        let (row, after) = parenthesis(rest)?;
        let cells = apart(row).into_iter().map(|cell| match cell {
            [one] => literal(one),
            _ => None,
        });
        rows.push(cells.collect::<Option<Vec<Datum>>>()?);
        match after {
            [] => return Some(Understood::Insert { table: table.to_owned(), columns, rows }),
            [Piece::Mark(','), more @ ..] => rest = more,
            _ => return None,
        }
    }
}

/// Columns with what they become.
type Assigned = Vec<(String, Datum)>;

/// `v = 1, w = 2 where ...`
fn assignments(pieces: &[Piece]) -> Option<(Assigned, Keys)> {
    let end = pieces.iter().position(|piece| piece.is("where")).unwrap_or(pieces.len());
    let set = apart(&pieces[..end]).into_iter().map(|one| match one {
        [Piece::Word(column), Piece::Mark('='), value] => Some((column.clone(), literal(value)?)),
        _ => None,
    });
    Some((set.collect::<Option<Assigned>>()?, keys(&pieces[end..])?))
}

/// Rows that are chosen by their key; nothing if they are chosen by anything else.
fn keys(pieces: &[Piece]) -> Option<Keys> {
    match pieces {
        [] => Some(Keys::All),
        [first, Piece::Word(key), Piece::Mark('='), Piece::Number(one)] if first.is("where") => {
            Some(Keys::These(key.clone(), vec![*one]))
        }
        [first, Piece::Word(key), list, rest @ ..] if first.is("where") && list.is("in") => {
            let (inside, []) = parenthesis(rest)? else { return None };
            let keys = apart(inside).into_iter().map(|key| match key {
                [Piece::Number(number)] => Some(*number),
                _ => None,
            });
            Some(Keys::These(key.clone(), keys.collect::<Option<Vec<i64>>>()?))
        }
        _ => None,
    }
}

/// Which lock the end of a SELECT asks for, and how many pieces say so.
const LOCKS: &[(&[&str], LockMode)] = &[
    (&["for", "no", "key", "update"], LockMode::NoKeyUpdate),
    (&["for", "key", "share"], LockMode::KeyShare),
    (&["for", "update"], LockMode::Exclusive),
    (&["for", "share"], LockMode::Share),
    (&["lock", "in", "share", "mode"], LockMode::Share),
];

fn select(pieces: &[Piece]) -> Understood {
    let words: Vec<&str> = pieces.iter().map(word).collect();
    let asked = LOCKS.iter().find(|(end, _)| words.ends_with(end));
    let (lock, end) = match asked {
        Some((end, mode)) => (Some(*mode), pieces.len() - end.len()),
        None => (None, pieces.len()),
    };
    let Some(from) = words.iter().position(|word| *word == "from") else {
        return Understood::Nothing;
    };
    let rest = &pieces[from + 1..end];
    let order = rest.windows(2).position(|pair| pair[0].is("order") && pair[1].is("by"));
    let rest = &rest[..order.unwrap_or(rest.len())];
    match rest {
        // More than one table.
        [_, Piece::Mark(','), ..] => Understood::Reads,
        [Piece::Word(_), condition, ..] if !condition.is("where") => Understood::Reads,
        [Piece::Word(table), condition @ ..] => {
            let keys = keys(condition).unwrap_or(Keys::Some);
            Understood::Select { table: table.clone(), keys, lock }
        }
        _ => Understood::Reads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn these(keys: &[i64]) -> Keys {
        Keys::These("id".to_owned(), keys.to_vec())
    }

    #[test]
    fn what_statements_are_about() {
        let table = || "t".to_owned();
        let read = |keys, lock| Some(Understood::Select { table: table(), keys, lock });
        let cases = [
            ("select 1", Some(Understood::Nothing)),
            ("SELECT v FROM t WHERE id = 1;", read(these(&[1]), None)),
            ("select * from t where id in (1, 2) order by id", read(these(&[1, 2]), None)),
            ("select * from t", read(Keys::All, None)),
            ("select * from t where v % 3 = 0", read(Keys::Some, None)),
            ("select * from t for update", read(Keys::All, Some(LockMode::Exclusive))),
            (
                "select v from t where id = 1 for key share",
                read(these(&[1]), Some(LockMode::KeyShare)),
            ),
            ("select * from t, u", Some(Understood::Reads)),
            (
                "delete from t where id = 3",
                Some(Understood::Delete { table: table(), keys: these(&[3]) }),
            ),
            ("delete from t where v = 3 or v = 4", None),
            ("update t set v = v + 1 where id = 1", None),
            ("drop table t", None),
        ];
        for (statement, expected) in cases {
            assert_eq!(understand(statement), expected, "{statement}");
        }
    }
}
