//! Transactions that can be read and yet cannot be right: two of one name, and ends before beginnings.

use hashbrown::HashSet;

use crate::builder::HistoryBuilder;
use crate::columns::Columns;
use crate::jsonl::line::LineReader;
use crate::notation::write_value;
use crate::sink::Sink;
use crate::source::Input;
use crate::value::Value;

/// Warns of the first transaction of each kind, at its line.
pub(super) fn warn(input: &Input, builder: &mut HistoryBuilder) {
    let columns = &builder.columns;
    let mut found: Vec<(usize, String)> = Vec::new();
    if let Some((txn, name)) = first_namesake(columns) {
        let mut shown = String::new();
        write_value(&builder.pool, name, &mut shown);
        let message = format!(
            "another transaction is called {shown}, too: reports cannot tell the two apart"
        );
        found.push((txn, message));
    }
    found.extend(first_reversed(columns));
    for (txn, message) in found {
        let warning = match line_of(txn, &input.bytes) {
            Some(at) => input.text_warning(at, message),
            None => input.warning(message),
        };
        builder.warn(warning);
    }
}

/// The first transaction whose name an earlier one has.
fn first_namesake(columns: &Columns) -> Option<(usize, Value)> {
    let names = || (0..columns.txn_count()).filter_map(|txn| Some((txn, columns.labels.get(txn)?)));
    // Most recorders count, and then there is nothing to remember.
    let counts = names().zip(names().skip(1)).all(|((_, one), (_, next))| {
        one.as_int().zip(next.as_int()).is_some_and(|(one, next)| one < next)
    });
    if counts {
        return None;
    }
    let mut seen = HashSet::new();
    names().find(|(_, name)| !seen.insert(*name))
}

/// The first transaction that ends, or has a statement that ends, before it begins. Timestamps of the
/// database that contradict each other are no matter of the file: a checker reports them as a violation.
fn first_reversed(columns: &Columns) -> Option<(usize, String)> {
    (0..columns.txn_count()).find_map(|txn| {
        let begin = columns.txn_begin.time(txn);
        if let Some((begin, end)) = begin.zip(columns.txn_end.time(txn))
            && end < begin
        {
            return Some((txn, format!("the interval [{begin},{end}] ends before it begins")));
        }
        columns.stmts_of(txn).find_map(|stmt| {
            let begin = columns.stmt_begin.time(stmt);
            let (begin, end) = begin.zip(columns.stmt_end.time(stmt))?;
            let message = format!("a statement's interval [{begin},{end}] ends before it begins");
            (end < begin).then_some((txn, message))
        })
    })
}

/// Where the line of a transaction begins. The text is read again up to there, since that is hardly ever asked.
fn line_of(txn: usize, bytes: &[u8]) -> Option<usize> {
    let mut scratch = HistoryBuilder::new();
    let mut reader = LineReader::default();
    let (mut pos, mut before) = (0, 0);
    while pos < bytes.len() {
        let next = reader.step(bytes, pos, &mut scratch).ok()?;
        before += scratch.columns.txn_count();
        if before > txn {
            return Some(pos);
        }
        scratch.columns.clear();
        pos = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::formats::Format;
    use crate::source::{Input, Source};

    fn warnings(text: &str) -> Vec<String> {
        let source = Source::File(Input::new("h.jsonl", text));
        let builder = Format::named("jsonl").unwrap().load(&source).unwrap();
        let (_, warnings) = builder.finish_with_warnings();
        warnings.kept.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_transactions_of_one_name_are_told_with_the_line() {
        let text = "{\"session\":1,\"txn\":7,\"ops\":[]}\n\n{\"session\":1,\"txn\":8,\"ops\":[]}\n\
                    {\"session\":2,\"txn\":7,\"ops\":[]}\n";
        assert_eq!(
            warnings(text),
            [
                "h.jsonl:4:1: another transaction is called 7, too: reports cannot tell the two apart"
            ]
        );
        assert_eq!(warnings(&text.replace(":8,", ":\"a\",").replace("2,\"txn\":7", "2")), [""; 0]);
    }

    #[test]
    fn ends_before_beginnings_are_told_with_the_line() {
        let line = |rest: &str| warnings(&format!("{{\"session\":1,{rest}}}\n"));
        assert_eq!(
            line("\"interval\":[10,5],\"ops\":[]"),
            ["h.jsonl:1:1: the interval [10,5] ends before it begins"]
        );
        assert_eq!(
            line("\"stmts\":[{\"ops\":[],\"interval\":[3,2]}]"),
            ["h.jsonl:1:1: a statement's interval [3,2] ends before it begins"]
        );
        assert_eq!(line("\"interval\":[5,5],\"ts\":[5,5],\"ops\":[]"), [""; 0]);
        assert_eq!(line("\"ts\":[10,5],\"ops\":[]"), [""; 0], "a checker reports it");
    }
}
