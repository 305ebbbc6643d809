//! What every file format has to say of itself.

use std::io::{self, Write};

use crate::builder::HistoryBuilder;
use crate::error::{ReadError, SinkError};
use crate::history::History;
use crate::sink::Sink;
use crate::source::Source;

/// Reads a source into any sink.
pub type Read = fn(&Source, &mut dyn Sink) -> Result<(), ReadError>;
/// Reads a source into a history.
pub type Load = fn(&Source) -> Result<HistoryBuilder, ReadError>;
/// Writes a history.
pub type Save = fn(&History, &mut dyn Write) -> Result<(), SinkError>;
/// Makes a file of that name, with folders in it where the name has `/`. Whoever writes to it flushes it.
pub type MakeFile<'f> = dyn FnMut(&str) -> io::Result<Box<dyn Write>> + 'f;
/// Writes a history as a folder of files.
pub type SaveFolder = fn(&History, &mut MakeFile<'_>) -> Result<(), SinkError>;

/// A file format: what it is called, how to recognise, read and write it.
pub struct Format {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// One line that says whose it is.
    pub title: &'static str,
    /// What a line of it looks like.
    pub example: &'static str,
    /// Whether the content is of this format: cheap, looks at the beginning only, and says yes to
    /// no other format's files.
    pub looks_like: fn(&Source) -> bool,
    /// Reads it into any sink.
    pub read: Read,
    /// Reads a whole history on all cores, where that is worth the trouble.
    pub load: Option<Load>,
    /// Writes it. What the format cannot express is refused by name.
    pub write: Option<Save>,
    /// Writes it as a folder of files, where that is what the format usually is. One file may hold less.
    pub write_folder: Option<SaveFolder>,
}

impl Format {
    /// Reads a whole history.
    pub fn load(&self, source: &Source) -> Result<HistoryBuilder, ReadError> {
        if let Some(load) = self.load {
            return load(source);
        }
        let mut builder = HistoryBuilder::new();
        (self.read)(source, &mut builder)?;
        Ok(builder)
    }
}
