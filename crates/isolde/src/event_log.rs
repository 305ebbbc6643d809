//! `--events FILE`: what happens while it happens, one JSON object a line.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use isolde_job::{Event, output};
use serde_json::json;

/// Where events are written.
pub(crate) struct EventLog {
    out: Box<dyn Write>,
    began: Instant,
}

impl EventLog {
    /// A new file (an old one if that is forced), a pipe, or `-` for standard output.
    pub(crate) fn new(path: &Path, force: bool) -> Result<EventLog> {
        let out: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(output::create(path, force)?)
        };
        Ok(EventLog { out, began: Instant::now() })
    }

    /// Writes one line at once: a reader on the other end of a pipe waits for it.
    pub(crate) fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        let mut told = event.to_json();
        told["at"] = json!(self.began.elapsed().as_secs_f64());
        let line = told.to_string() + "\n";
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}
