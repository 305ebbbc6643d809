//! Which format an input nearly is, for an input that is of none.

use crate::builder::HistoryBuilder;
use crate::error::{Position, ReadError};
use crate::format::Format;
use crate::source::{Input, Source};

/// How much of an input every reader tries.
const TRIED: usize = 64 << 10;
/// An error so near the beginning says nothing about the format.
const NEAR: usize = 8;

/// All formats there are.
type Formats = &'static [&'static Format];

/// What might help with an input that is of no known format.
pub(super) fn hint(source: &Source, formats: Formats) -> String {
    let names: Vec<&str> = formats.iter().map(|f| f.name).collect();
    let all = format!("--format takes one of {}", names.join(", "));
    let Source::File(input) = source else { return all };
    let beginning = input.first_lines(TRIED);
    let Some(format) = nearest(&beginning, formats).or_else(|| by_ending(&input.name, formats))
    else {
        return all;
    };
    let source = Source::File(beginning);
    match (format.read)(&source, &mut HistoryBuilder::new()) {
        Ok(()) => format!("perhaps it is {}: --format {} reads it", format.name, format.name),
        Err(error) => {
            let mut why = error.expected;
            if !error.found.is_empty() {
                why += &format!(", found {}", error.found);
            }
            format!("it is nearest to {}, but at {}: {why}; {all}", format.name, error.position)
        }
    }
}

/// The format whose reader comes furthest, if that is some way.
fn nearest(beginning: &Input, formats: Formats) -> Option<&'static Format> {
    // Any bytes at all are numbers to a binary format, so only texts can be near to something.
    if beginning.bytes.contains(&0) {
        return None;
    }
    let source = Source::File(beginning.clone());
    let reach = |format: &&Format| -> usize {
        let mut builder = HistoryBuilder::new();
        match (format.read)(&source, &mut builder) {
            Ok(()) if builder.columns.txn_count() > 0 => beginning.bytes.len(),
            Ok(()) | Err(ReadError { position: Position::Byte(_), .. }) => 0,
            Err(error) => beginning.offset(error.position).unwrap_or(0),
        }
    };
    let reached = formats.iter().copied().map(|format| (reach(&format), format));
    // Of several that come equally far, the first is the one that is meant most often.
    let best = reached.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.filter(|(reach, _)| *reach >= NEAR).map(|(_, format)| format)
}

/// The format of files with such names.
fn by_ending(name: &str, formats: Formats) -> Option<&'static Format> {
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    let format = match name.rsplit_once('.')?.1 {
        "isolde" => "isolde",
        "jsonl" => "jsonl",
        "edn" => "jepsen-edn",
        "bincode" => "dbcop-bincode",
        _ => return None,
    };
    formats.iter().copied().find(|f| f.name == format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_of(name: &str, text: &str) -> String {
        hint(&Source::File(Input::new(name, text)), crate::formats::FORMATS)
    }

    #[test]
    fn an_input_of_no_format_is_told_which_one_it_nearly_is() {
        let said = hint_of("h.jsonl", "{bad\n");
        assert!(said.starts_with("it is nearest to jsonl, but at 1:2: expected "), "{said}");
        let said = hint_of("h", "{\"sesion\":1,\"ops\":[[\"w\",\"x\",1]]}\n");
        assert!(said.starts_with("it is nearest to "), "{said}");
        let said = hint_of("h.edn", "(:type :ok)\n");
        assert!(said.starts_with("it is nearest to jepsen-edn, but at 1:"), "{said}");
        let said = hint_of("h", "a T1: r(x,1) w(x\n");
        assert!(said.starts_with("it is nearest to notation, but at 1:17: "), "{said}");
        assert!(hint_of("h", "hello\n").starts_with("--format takes one of isolde, jsonl"));
        assert!(hint_of("h", &"\0".repeat(100)).starts_with("--format takes one of isolde"));
    }
}
