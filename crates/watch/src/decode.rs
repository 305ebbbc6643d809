//! From lines to batches: histories that carry what the source said of the run as a whole.

use std::io::Read as _;
use std::sync::Arc;

use isolde_history::{
    Format, History, HistoryBuilder, InitialState, Input, Position, ReadError, Sink as _, Source,
    Value, read_lines,
};

use crate::agreed::Agreed;
use crate::head::Head;

/// Stands before lines that cannot be a header, so that the reader takes none of them for one.
const PAST_THE_HEADER: &[u8] = b"{\"isolde\":1}\n";

/// The same, saying what a last line could say, too: one of these two is changed by it, if it says anything.
const BEFORE_A_TRAILER: [&[u8]; 2] = [
    b"{\"isolde\":1,\"complete\":true,\"initial\":{\"default\":\"\\u0000nobody says this\"}}\n",
    b"{\"isolde\":1,\"complete\":false,\"initial\":{\"default\":\"\\u0000nobody says this\"}}\n",
];
const NOBODY: &str = "\0nobody says this";

/// What a last line says that matters to a stream.
#[derive(Default)]
pub(crate) struct Trailer {
    /// Whether transactions are missing.
    pub(crate) complete: Option<bool>,
    /// What keys hold at first, if it says so.
    pub(crate) initial: Option<History>,
}

/// What became of some lines.
#[derive(Default)]
pub(crate) struct Decoded {
    /// What could be read, if anything could.
    pub(crate) batch: Option<History>,
    /// What could not, with the line.
    pub(crate) bad: Vec<ReadError>,
    /// What the user should know of the rest.
    pub(crate) warnings: Vec<String>,
}

/// Decodes the lines of one source.
pub(crate) struct Decoder {
    /// What to call the source in messages.
    pub(crate) name: String,
    pub(crate) agreed: Arc<Agreed>,
    pub(crate) head: Option<Arc<Head>>,
}

impl Decoder {
    /// The header, if this line is one; an error if it is one that cannot be read.
    pub(crate) fn header(&self, line: &[u8], number: u64) -> Result<Option<Head>, ReadError> {
        let mut builder = HistoryBuilder::new();
        read_lines(line, &self.name, &mut builder).map_err(|error| later(error, number - 1))?;
        let history = builder.finish();
        let says_more = history.txn_count() > 0
            || !history.events().is_empty()
            || !history.version_orders().is_empty();
        let says_initial = memchr::memmem::find(line, b"\"initial\"").is_some();
        Ok((!says_more).then(|| Head::new(history, says_initial)))
    }

    /// What a line says if it is a last one; nothing if it is another one, or cannot be read.
    pub(crate) fn trailer(&self, line: &[u8]) -> Trailer {
        let said = BEFORE_A_TRAILER.map(|before| {
            let mut builder = HistoryBuilder::new();
            let read = read_lines(before.chain(line), &self.name, &mut builder);
            read.is_ok().then(|| builder.finish())
        });
        let [Some(after_true), Some(after_false)] = said else { return Trailer::default() };
        let complete = after_true.meta().complete;
        let is_said = complete == after_false.meta().complete;
        let default = after_true.meta().initial.default;
        let is_unsaid = default.is_some_and(|v| after_true.pool().as_text(v) == Some(NOBODY));
        Trailer {
            complete: is_said.then_some(complete),
            initial: (!is_unsaid).then_some(after_true),
        }
    }

    /// Decodes lines of which the first has that number, from 1.
    pub(crate) fn lines(&self, text: &[u8], first: u64) -> Decoded {
        let mut decoded = Decoded::default();
        let mut builder = HistoryBuilder::new();
        let (mut rest, mut before) = (text, first - 1);
        while let Err(error) = read_lines(PAST_THE_HEADER.chain(rest), &self.name, &mut builder) {
            // The line that stands before them counts, too.
            let Position::Text { line, .. } = error.position else { break };
            let good = line.saturating_sub(2);
            decoded.bad.push(later(error, before.wrapping_sub(1)));
            for _ in 0..=good {
                let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                rest = &rest[end..];
            }
            before += good + 1;
            if rest.is_empty() {
                break;
            }
        }
        self.finish(builder, decoded)
    }

    /// Decodes TimeKiller's array of transactions. What cannot be read is refused as a whole. The format's reader guesses what
    /// keys hold at first from what a whole file reads; one body of many shows too little for that.
    pub(crate) fn array(&self, body: Vec<u8>) -> Result<Decoded, ReadError> {
        let mut builder = HistoryBuilder::new();
        let source = Source::File(Input::new(self.name.clone(), body));
        if let Some(format) = Format::named("timekiller") {
            (format.read)(&source, &mut builder)?;
        }
        let guessed = builder.meta().initial != InitialState::every(Value::ABSENT);
        let mut decoded = self.finish(builder, Decoded::default());
        if guessed {
            decoded.warnings.retain(|warning| !warning.contains("every key is taken to start"));
        }
        Ok(decoded)
    }

    fn finish(&self, mut builder: HistoryBuilder, mut decoded: Decoded) -> Decoded {
        match &self.head {
            Some(head) => head.say(&mut builder),
            None => builder.meta().initial = InitialState::every(Value::ABSENT),
        }
        self.agreed.said.apply(&mut builder);
        let (history, warnings) = builder.finish_with_warnings();
        let warned = warnings.kept.iter();
        decoded.warnings = warned.map(|w| format!("{}: {}", w.file, w.message)).collect();
        let is_empty = history.txn_count() == 0
            && history.events().is_empty()
            && history.version_orders().is_empty();
        decoded.batch = (!is_empty).then_some(history);
        decoded
    }
}

/// The same error, of a text that has so many lines before it.
fn later(error: ReadError, lines: u64) -> ReadError {
    let position = match error.position {
        Position::Text { line, column } => {
            Position::Text { line: line.wrapping_add(lines), column }
        }
        other => other,
    };
    ReadError { position, ..error }
}
