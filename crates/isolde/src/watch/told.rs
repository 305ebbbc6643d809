//! What a stream tells, written as it is told.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use isolde_job::{found, output};
use isolde_stream::StreamEvent;

/// The first line of a file of events: the version of its format.
const FIRST: &str = "{\"isolde-events\":1}\n";

/// Where events are written, one JSON object a line.
pub(crate) struct EventLines {
    out: Box<dyn Write>,
}

impl EventLines {
    /// A new file (an old one if that is forced), a pipe, or `-` for standard output.
    pub(crate) fn new(path: &Path, force: bool) -> Result<EventLines> {
        let mut out: Box<dyn Write> = match path.as_os_str() == "-" {
            true => Box::new(io::stdout()),
            false => Box::new(output::create(path, force)?),
        };
        let written = out.write_all(FIRST.as_bytes()).and_then(|()| out.flush());
        written.with_context(|| format!("cannot write {}", isolde_job::shown(path)))?;
        Ok(EventLines { out })
    }

    /// Writes one line at once: a reader on the other end of a pipe waits for it.
    pub(crate) fn write(&mut self, event: &StreamEvent) -> io::Result<()> {
        let line = found::to_json(event).to_string() + "\n";
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}
