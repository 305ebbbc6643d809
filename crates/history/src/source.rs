//! Where a history comes from: a file, a folder of files, standard input, or memory.

use crate::error::{Fault, Position, ReadError, Warning};

/// One file's bytes, and what to call them in messages.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The path, `<stdin>`, or any name.
    pub name: String,
    /// The bytes, decompressed.
    pub bytes: Vec<u8>,
}

/// What a reader reads.
#[derive(Clone, Debug)]
pub enum Source {
    /// One file.
    File(Input),
    /// A folder whose files make up one history together, sorted by name (numbers by their value).
    Folder {
        /// The path.
        name: String,
        /// The files.
        files: Vec<Input>,
    },
}

/// How much of the offending text a message quotes.
const QUOTE_LEN: usize = 40;

impl Input {
    /// Bytes in memory under a name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Input {
        Input { name: name.into(), bytes: bytes.into() }
    }

    /// The error for a fault in a text: with line and column.
    pub fn text_error(&self, fault: Fault) -> ReadError {
        let position = self.text_position(fault.offset);
        self.error_at(position, fault)
    }

    /// The error for a fault in a binary file: with the byte offset.
    pub fn binary_error(&self, fault: Fault) -> ReadError {
        let position = Position::Byte(fault.offset as u64);
        self.error_at(position, fault)
    }

    fn error_at(&self, position: Position, fault: Fault) -> ReadError {
        let found = if fault.quote { self.quote(fault.offset) } else { String::new() };
        ReadError {
            file: self.name.clone(),
            position,
            found,
            expected: fault.expected,
            hint: fault.hint,
        }
    }

    /// Line and column of a byte.
    pub fn text_position(&self, offset: usize) -> Position {
        let before = &self.bytes[..offset.min(self.bytes.len())];
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |i| i + 1) + 1;
        Position::Text { line, column: column as u64 }
    }

    /// The byte at a place; `None` for the input as a whole.
    pub(crate) fn offset(&self, position: Position) -> Option<usize> {
        match position {
            Position::Text { line: 1, column } => Some(column as usize - 1),
            Position::Text { line, column } => {
                let before = usize::try_from(line).ok()?.checked_sub(2)?;
                let newline = memchr::memchr_iter(b'\n', &self.bytes).nth(before)?;
                Some(newline + column as usize)
            }
            Position::Byte(offset) => usize::try_from(offset).ok(),
            Position::Whole => None,
        }
    }

    /// The first `len` bytes without the last line, which is probably cut; all if there are no more.
    pub(crate) fn first_lines(&self, len: usize) -> Input {
        let first = &self.bytes[..self.bytes.len().min(len)];
        let end = match memchr::memrchr(b'\n', first) {
            Some(at) if first.len() < self.bytes.len() => at + 1,
            _ => first.len(),
        };
        Input::new(self.name.clone(), &first[..end])
    }

    /// A warning about a byte of a text.
    pub fn text_warning(&self, offset: usize, message: impl Into<String>) -> Warning {
        let position = self.text_position(offset);
        Warning { file: self.name.clone(), position, message: message.into() }
    }

    /// A warning about the file as a whole.
    pub fn warning(&self, message: impl Into<String>) -> Warning {
        Warning { file: self.name.clone(), position: Position::Whole, message: message.into() }
    }

    fn quote(&self, offset: usize) -> String {
        let rest = self.bytes.get(offset..).unwrap_or_default();
        if rest.is_empty() {
            return "the end of the file".to_owned();
        }
        let line = rest.split(|&b| b == b'\n').next().unwrap_or_default();
        if line.is_empty() {
            return "the end of the line".to_owned();
        }
        let shown = &line[..line.len().min(QUOTE_LEN)];
        let mut text = String::new();
        for chunk in shown.utf8_chunks() {
            for c in chunk.valid().chars() {
                match u8::try_from(c) {
                    Ok(b) if b.is_ascii_control() => text.push_str(&[b].escape_ascii().to_string()),
                    _ => text.push(c),
                }
            }
            text.push_str(&chunk.invalid().escape_ascii().to_string());
        }
        if shown.len() < line.len() {
            text.push('…');
        }
        format!("'{text}'")
    }
}

impl Source {
    /// What to call it in messages.
    pub fn name(&self) -> &str {
        match self {
            Source::File(input) => &input.name,
            Source::Folder { name, .. } => name,
        }
    }

    /// How many bytes there are in all.
    pub fn len(&self) -> usize {
        match self {
            Source::File(input) => input.bytes.len(),
            Source::Folder { files, .. } => files.iter().map(|f| f.bytes.len()).sum(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one file, or an error that says that this format is not a folder.
    pub fn file(&self) -> Result<&Input, ReadError> {
        match self {
            Source::File(input) => Ok(input),
            Source::Folder { name, .. } => {
                Err(whole(name, "expected a file, found a folder".to_owned()))
            }
        }
    }

    /// The files of a folder; a single file is a folder of one.
    pub fn files(&self) -> &[Input] {
        match self {
            Source::File(input) => std::slice::from_ref(input),
            Source::Folder { files, .. } => files,
        }
    }
}

pub(crate) fn whole(name: &str, complaint: String) -> ReadError {
    ReadError {
        file: name.to_owned(),
        position: Position::Whole,
        found: String::new(),
        expected: complaint,
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_line_column_and_what_stands_there() {
        let input = Input::new("a.txt", "one\ntwo three\n");
        let error = input.text_error(Fault::expected(8, "four").hint("count again"));
        assert_eq!(
            error.to_string(),
            "a.txt:2:5: expected four, found 'three'\n  hint: count again"
        );
        let error = input.text_error(Fault::expected(99, "more"));
        assert_eq!(error.to_string(), "a.txt:3:1: expected more, found the end of the file");
        for at in [0, 3, 4, 8, 14] {
            assert_eq!(input.offset(input.text_position(at)), Some(at));
        }
        let error = input.binary_error(Fault::wrong(4, "no such tag"));
        assert_eq!(error.to_string(), "a.txt:byte 4: no such tag");
    }
}
