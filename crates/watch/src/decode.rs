//! From lines to batches: histories that carry what the source said of the run as a whole.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use isolde_history::{
    Format, History, HistoryBuilder, InitialState, Input, Position, ReadError, Sink as _, Source,
    Value, read_lines,
};

use crate::said::Said;

/// Stands before lines that cannot be a header, so that the reader takes none of them for one.
const PAST_THE_HEADER: &[u8] = b"{\"isolde\":1}\n";

/// What the header of a source says.
pub(crate) struct Head {
    history: History,
    /// Whether a batch has carried the initial values of single keys. There may be millions, and once is enough.
    carried: AtomicBool,
}

impl Head {
    /// The same, after a batch has carried all of it.
    pub(crate) fn known(self) -> Head {
        Head { carried: AtomicBool::new(true), ..self }
    }

    fn say(&self, builder: &mut HistoryBuilder) {
        let given = &self.history.meta().initial.given[..];
        let again = self.carried.swap(true, Ordering::SeqCst);
        self.history.copy_meta(if again { &[] } else { given }, builder);
    }
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
    pub(crate) said: Arc<Said>,
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
        Ok((!says_more).then(|| Head { history, carried: AtomicBool::new(false) }))
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

    /// Decodes TimeKiller's array of transactions. What cannot be read is refused as a whole.
    pub(crate) fn array(&self, body: Vec<u8>) -> Result<Decoded, ReadError> {
        let mut builder = HistoryBuilder::new();
        let source = Source::File(Input::new(self.name.clone(), body));
        if let Some(format) = Format::named("timekiller") {
            (format.read)(&source, &mut builder)?;
        }
        let guessed = builder.meta().initial.clone();
        let decoded = self.finish_with(builder, Decoded::default(), guessed);
        Ok(decoded)
    }

    fn finish(&self, builder: HistoryBuilder, decoded: Decoded) -> Decoded {
        self.finish_with(builder, decoded, InitialState::every(Value::ABSENT))
    }

    fn finish_with(
        &self,
        mut builder: HistoryBuilder,
        mut decoded: Decoded,
        initial: InitialState,
    ) -> Decoded {
        match &self.head {
            Some(head) => head.say(&mut builder),
            None => builder.meta().initial = initial,
        }
        self.said.apply(&mut builder);
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
