//! Whether a format refuses an input from its beginning alone.

use crate::builder::HistoryBuilder;
use crate::error::{Position, ReadError};
use crate::format::Format;
use crate::source::{Input, Source};

/// Formats whose readers go from the first byte to the last and complain of what they have read, never of
/// what should follow further on. Others may need the end of a file to make sense of its beginning.
const IN_ORDER: [&str; 15] = [
    "isolde",
    "jsonl",
    "notation",
    "timekiller",
    "dbcop-json",
    "dbcop2-json",
    "jepsen-edn",
    "jepsen-json",
    "jepsen-txt",
    "plume",
    "viper",
    "porcupine-kv",
    "3ts",
    "awdit-test",
    "leopard",
];
/// How far into a binary file an error is that more bytes cannot mend: a header.
const HEADER: usize = 12;

/// The format, unless an error stands so far before the end of the beginning that the rest cannot mend it.
/// Only the command names a format that the beginning may contradict.
pub(crate) fn accepted(
    format: &'static Format,
    beginning: &Source,
) -> Result<&'static Format, ReadError> {
    let Source::File(input) = beginning else { return Ok(format) };
    if !IN_ORDER.contains(&format.name) {
        return Ok(format);
    }
    // The beginning of a text stops in the middle of a line; a native file has no lines.
    let last_line = memchr::memrchr(b'\n', &input.bytes).filter(|_| format.name != "isolde");
    let end = last_line.map_or(input.bytes.len(), |at| at + 1);
    let lines = Input::new(input.name.clone(), &input.bytes[..end]);
    let read = (format.read)(&Source::File(lines.clone()), &mut HistoryBuilder::new());
    match read {
        Err(error) if is_early(&error, &lines) => Err(error),
        _ => Ok(format),
    }
}

/// Whether an error is in the first half of what was read: at the end of that, the rest is missing.
fn is_early(error: &ReadError, input: &Input) -> bool {
    let Some(offset) = input.offset(error.position) else { return false };
    match error.position {
        Position::Byte(_) => offset < HEADER,
        _ => offset < input.bytes.len() / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(format: &str, text: &str) -> Result<(), String> {
        let format = Format::named(format).unwrap();
        let beginning = Source::File(Input::new("x", text));
        accepted(format, &beginning).map(|_| ()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_beginning_that_is_wrong_is_refused_and_one_that_is_cut_is_not() {
        let brackets = "[[[[[[[[[\n".repeat(1000);
        for format in IN_ORDER {
            let error = accepts(format, &brackets).unwrap_err();
            assert!(
                error.starts_with("x:1:") || error.starts_with("x:byte 0"),
                "{format}: {error}"
            );
        }
        let lines = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n".repeat(50);
        for end in lines.len() / 2..lines.len() {
            assert_eq!(accepts("jsonl", &lines[..end]), Ok(()), "{end}");
        }
        let events = "{:type :invoke, :process 0, :f :txn, :value [[:w 1 1]]}\n\
                      {:type :ok, :process 0, :f :txn, :value [[:w 1 1]]}\n"
            .repeat(10);
        for end in events.len() / 2..events.len() {
            assert_eq!(accepts("jepsen-edn", &events[..end]), Ok(()), "{end}");
            assert_eq!(accepts("jepsen-edn", &format!("[{}", &events[..end])), Ok(()), "{end}");
        }
    }

    /// No history that is right may be refused because only a part of it has been read.
    #[test]
    fn the_beginning_of_a_right_history_is_never_refused() {
        let histories = concat!(env!("CARGO_MANIFEST_DIR"), "/../../histories");
        let mut tried = 0;
        for name in IN_ORDER {
            let format = Format::named(name).unwrap();
            for entry in std::fs::read_dir(format!("{histories}/{name}")).unwrap() {
                // A beginning is never shorter than a header.
                let Ok(bytes) = std::fs::read(entry.unwrap().path()) else { continue };
                for end in 64..bytes.len() {
                    let beginning = Source::File(Input::new("x", &bytes[..end]));
                    let accepted = accepted(format, &beginning).map(|_| ());
                    assert_eq!(accepted, Ok(()), "{name} cut at {end}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 5000, "{tried}");
    }
}
