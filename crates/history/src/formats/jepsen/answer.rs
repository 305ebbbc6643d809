//! Whether a completion answers its invocation: only what the invocation left open may be new in it.

use crate::formats::jepsen::notation::Notation;
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// Whether the value at `done` says what the one at `asked` does, but for what is `nil` there. What cannot be
/// read is for the reader to complain of.
pub(super) fn answers<'a, N: Notation<'a>>(bytes: &'a [u8], asked: usize, done: usize) -> bool {
    same_bytes::<N>(bytes, asked, done).unwrap_or(false)
        || same_values::<N>(bytes, asked, done).unwrap_or(true)
}

/// Compares texts, which are nearly always written in the same way. `None` if it does not come to an end.
fn same_bytes<'a, N: Notation<'a>>(bytes: &'a [u8], asked: usize, done: usize) -> Option<bool> {
    let end = end_of::<N>(bytes, asked)?;
    let asked = bytes.get(asked..end)?.trim_ascii_end();
    let asked = asked.strip_suffix(b",").unwrap_or(asked);
    let (mut a, mut d) = (0, done);
    loop {
        let (left, right) = (asked.get(a..)?, bytes.get(d..)?);
        let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
        if same == left.len() {
            return Some(true);
        }
        let nil = [&b"nil"[..], b"null"].into_iter().find(|nil| left[same..].starts_with(nil))?;
        a += same + nil.len();
        d = end_of::<N>(bytes, d + same)?;
    }
}

/// Where the next value after the one at `at` begins.
fn end_of<'a, N: Notation<'a>>(bytes: &'a [u8], at: usize) -> Option<usize> {
    let mut n = N::at(bytes, at);
    n.skip_value().ok()?;
    n.offset().ok()
}

/// Compares what the texts mean, in a pool of their own: a name that only one of them has is none of the
/// history's. `None` if one of them cannot be read.
fn same_values<'a, N: Notation<'a>>(bytes: &'a [u8], asked: usize, done: usize) -> Option<bool> {
    let mut pool = Pool::new();
    let asked = N::at(bytes, asked).value(&mut pool).ok()?;
    let done = N::at(bytes, done).value(&mut pool).ok()?;
    let mut open: Vec<(Value, Value)> = vec![(asked, done)];
    while let Some((asked, done)) = open.pop() {
        if asked == done {
            continue;
        }
        match (pool.datum(asked), pool.datum(done)) {
            (Datum::Absent | Datum::Null, _) => {}
            // A read may leave out its result.
            (Datum::List(asked), Datum::List(done))
                if asked.iter().count() <= done.iter().count() =>
            {
                open.extend(asked.iter().zip(done.iter()));
            }
            _ => return Some(false),
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Edn, Json};

    #[test]
    fn only_reads_have_news() {
        let edn = |asked: &str, done: &str| {
            let text = format!("{asked}, :x 1}} {done}, :time 5}}");
            answers::<Edn<'_>>(text.as_bytes(), 0, asked.len() + 8)
        };
        for (asked, done) in [
            ("[[:w 1 1]]", "[[:w 1 1]]"),
            ("[[:r 1 nil] [:w 1 1]]", "[[:r 1 [1 2]] [:w 1 1]]"),
            ("[[:r 1 nil] [:r 2 nil]]", "[[:r 1 nil] [:r 2 7]]"),
            ("[[:r 1 nil]   [:w 1 1]]", "[[:r 1 5], [:w 1, 1]]"),
            ("[[:r 1] [:w 1 1]]", "[[:r 1 5] [:w 1 1]]"),
            ("3", "3"),
            ("nil", "3"),
        ] {
            assert!(edn(asked, done), "{asked} {done}");
        }
        for (asked, done) in [
            ("[[:w 1 1]]", "[[:w 2 2]]"),
            ("[[:w 1 1]]", "[[:w 1 11]]"),
            ("[[:r 1 nil] [:w 1 1]]", "[[:r 1 5]]"),
            ("[[:append 1 1]]", "[[:w 1 1]]"),
            ("3", "4"),
        ] {
            assert!(!edn(asked, done), "{asked} {done}");
        }
        let text = r#"[["r",1,null],["w",1,1]] [["r",1,5],["w",1,1]] [["r",1,5],["w",1,2]]"#;
        assert!(answers::<Json<'_>>(text.as_bytes(), 0, 25));
        assert!(!answers::<Json<'_>>(text.as_bytes(), 0, 48));
    }
}
