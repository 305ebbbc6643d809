//! The SQL of accesses: which statements make up one way to do one access, as data.
//!
//! A dialect is a table of [`Way`]s. In their texts `{t}` stands for the table, `$1` for the row,
//! `$2` for the value to write and `$3` for the value that a compare-and-set expects.

use isolde_history::OpKind;

use crate::path::Path;
use crate::request::{Answer, Request};

/// One way to do one access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The access.
    pub(crate) kind: OpKind,
    /// The name of the way.
    pub(crate) path: Path,
    /// How often it is taken, beside the other ways to do the same.
    pub(crate) weight: u32,
    /// The statements.
    pub(crate) steps: &'static [&'static str],
    /// Whether a later statement runs only if those before it changed no row.
    pub(crate) until_done: bool,
}

/// A way of a single statement.
pub(crate) const fn way(kind: OpKind, path: Path, weight: u32, steps: &'static [&str]) -> Way {
    Way { kind, path, weight, steps, until_done: false }
}

impl Way {
    /// A way whose later statements run only if those before them changed no row.
    pub(crate) const fn until_done(mut self) -> Way {
        self.until_done = true;
        self
    }
}

/// The way of that name in a dialect.
pub(crate) fn find(ways: &'static [Way], kind: OpKind, path: Path) -> Option<&'static Way> {
    ways.iter().find(|w| w.kind == kind && w.path == path)
}

/// All ways of a dialect, in the form in which [`Target::paths`](crate::Target::paths) gives them.
pub(crate) struct Paths(Vec<(OpKind, Vec<(Path, u32)>)>);

impl Paths {
    /// Sorts the ways of a dialect by what they do.
    pub(crate) fn of(ways: &[Way]) -> Paths {
        let of = |kind| ways.iter().filter(move |w| w.kind == kind).map(|w| (w.path, w.weight));
        Paths(OpKind::ALL.into_iter().map(|kind| (kind, of(kind).collect())).collect())
    }

    /// The ways to do one kind of access; empty if it cannot be done.
    pub(crate) fn get(&self, kind: OpKind) -> &[(Path, u32)] {
        self.0.iter().find(|(k, _)| *k == kind).map_or(&[], |(_, paths)| paths)
    }
}

/// The integer behind `$1`, `$2` or `$3`.
pub(crate) fn parameter(request: &Request, number: usize) -> i64 {
    match number {
        1 => i64::from(request.row),
        2 => request.value,
        _ => request.expected,
    }
}

/// How many of `$1`, `$2`, `$3` a statement has: those up to the highest that occurs.
#[cfg(feature = "postgres")]
pub(crate) fn parameters(text: &str) -> usize {
    (1..=3).rev().find(|n| text.contains(&format!("${n}"))).unwrap_or(0)
}

/// A statement for servers that know only `?`, and the numbers that the question marks stand for.
#[cfg(feature = "mysql")]
pub(crate) fn question_marks(text: &str) -> (String, Vec<usize>) {
    let mut order = Vec::new();
    let mut pieces = text.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digit = piece.bytes().next().unwrap_or(b'1');
        order.push(usize::from(digit - b'0'));
        out.push('?');
        out.push_str(piece.get(1..).unwrap_or_default());
    }
    (out, order)
}

/// What the statements of a way brought, together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// The first row's only column, as an integer or as a text.
    pub(crate) cell: Option<Cell>,
    /// How many rows the last statement changed, matched or returned.
    pub(crate) rows: u64,
}

/// A column of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    /// Of a table of registers.
    Integer(i64),
    /// Of a table of lists.
    Text(String),
}

/// Turns what came back into an answer. `None` if it is nothing that the tables can hold.
pub(crate) fn answer(kind: OpKind, outcome: Outcome) -> Option<Answer> {
    Some(match (kind, outcome.cell) {
        (OpKind::Read, None) => Answer::Value(None),
        (OpKind::Read, Some(Cell::Integer(value))) => Answer::Value(Some(value)),
        (OpKind::ListRead, None) => Answer::List(None),
        (OpKind::ListRead, Some(Cell::Text(text))) => {
            let elements = text.split(',').map(|e| e.parse().ok());
            Answer::List(Some(elements.collect::<Option<Vec<i64>>>()?))
        }
        (OpKind::Read | OpKind::ListRead, Some(_)) => return None,
        _ => Answer::Done(outcome.rows > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_keep_their_order() {
        let (text, order) = question_marks("UPDATE t SET v = $2 WHERE k >= $1 AND k < $1 + 1");
        assert_eq!(text, "UPDATE t SET v = ? WHERE k >= ? AND k < ? + 1");
        assert_eq!(order, [2, 1, 1]);
        assert_eq!(question_marks("SELECT 1"), ("SELECT 1".to_owned(), vec![]));
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let text = |t: &str| Outcome { cell: Some(Cell::Text(t.to_owned())), rows: 1 };
        assert_eq!(
            answer(OpKind::ListRead, text("1,22,3")),
            Some(Answer::List(Some(vec![1, 22, 3])))
        );
        assert_eq!(answer(OpKind::ListRead, text("1,,3")), None);
        assert_eq!(answer(OpKind::ListRead, text("")), None);
        assert_eq!(answer(OpKind::Write, Outcome::default()), Some(Answer::Done(false)));
    }
}
