//! `--events`: what a stream tells, one JSON object a line. Where state is kept, a file holds each event exactly once.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use isolde_job::{found, output, shown};
use isolde_stream::StreamEvent;
use serde_json::{Value, json};

use super::saved::{Saved, SavedFile};

/// The version of the format, which the first line says.
const VERSION: u64 = 1;
/// The longest first line.
const MOST_FIRST: u64 = 4 << 10;

/// Where events are written.
pub(super) struct EventLines {
    out: Out,
    /// How many bytes have been written.
    len: u64,
}

enum Out {
    /// A pipe, a terminal, or a file that no state goes with.
    Plain(Box<dyn Write>),
    /// A file that a state goes with, and the name that it gives itself.
    Kept(File, String),
}

/// The state that goes with a file.
pub(super) struct OfState<'s> {
    /// Its name.
    pub(super) id: &'s str,
    /// What was saved with it last.
    pub(super) saved: Option<Saved>,
}

impl EventLines {
    /// A new file (an old one if that is forced), a pipe, or `-` for standard output.
    pub(super) fn new(path: &Path, force: bool) -> Result<EventLines> {
        let out: Box<dyn Write> = match path.as_os_str() == "-" {
            true => Box::new(io::stdout()),
            false => Box::new(output::create(path, force)?),
        };
        EventLines { out: Out::Plain(out), len: 0 }
            .begun(path, &json!({ "isolde-events": VERSION }))
    }

    /// The same where state is kept: a file that the state speaks of is cut back to what the state knows of it, since
    /// what came later comes again. On a pipe or a terminal it comes twice, with the same numbers.
    pub(super) fn of_state(path: &Path, force: bool, state: &OfState<'_>) -> Result<EventLines> {
        if path.as_os_str() == "-" || is_stream(path) {
            return EventLines::new(path, force);
        }
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return EventLines::begin(output::create(path, false)?, path, state);
            }
            Err(error) => return Err(cannot(path, error)),
        };
        let about = file.metadata().map_err(|error| cannot(path, error))?;
        // It was killed before the first line was written.
        if about.len() == 0 {
            return EventLines::begin(file, path, state);
        }
        let known = match known(&file, path, state) {
            Err(_) if force => None,
            known => known?,
        };
        match known {
            Some((name, len)) => EventLines::cut(file, path, name, len),
            None => EventLines::begin(output::create(path, force)?, path, state),
        }
    }

    fn begin(file: File, path: &Path, state: &OfState<'_>) -> Result<EventLines> {
        let name = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let first = json!({ "isolde-events": VERSION, "state": state.id, "file": name });
        EventLines { out: Out::Kept(file, name), len: 0 }.begun(path, &first)
    }

    fn begun(mut self, path: &Path, first: &Value) -> Result<EventLines> {
        self.line(first).map_err(|error| cannot(path, error))?;
        Ok(self)
    }

    /// Goes on behind so many bytes.
    fn cut(mut file: File, path: &Path, name: String, len: u64) -> Result<EventLines> {
        let has = file.metadata().map_err(|error| cannot(path, error))?.len();
        if has < len {
            bail!(
                "{} has lost events: it has {has} bytes, and {len} were written\n  \
                 hint: another file gets what is found from now on",
                shown(path)
            );
        }
        let cut = file.set_len(len).and_then(|()| file.seek(SeekFrom::Start(len)));
        cut.map_err(|error| cannot(path, error))?;
        Ok(EventLines { out: Out::Kept(file, name), len })
    }

    /// Writes one line at once: a reader on the other end of a pipe waits for it.
    pub(super) fn write(&mut self, event: &StreamEvent) -> io::Result<()> {
        self.line(&found::to_json(event))
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        let line = line.to_string() + "\n";
        let out: &mut dyn Write = match &mut self.out {
            Out::Plain(out) => out,
            Out::Kept(file, _) => file,
        };
        out.write_all(line.as_bytes())?;
        self.len += line.len() as u64;
        out.flush()
    }

    /// What the state has to know of the file, which is on the disk itself by then.
    pub(super) fn save(&self) -> io::Result<Option<SavedFile>> {
        match &self.out {
            Out::Plain(_) => Ok(None),
            Out::Kept(file, name) => {
                file.sync_data()?;
                Ok(Some(SavedFile { name: name.clone(), len: self.len }))
            }
        }
    }
}

/// The name of a file of the state, and how much of it stays; nothing if it is no file of events.
fn known(file: &File, path: &Path, state: &OfState<'_>) -> Result<Option<(String, u64)>> {
    let mut first = Vec::new();
    let read = BufReader::new(file).take(MOST_FIRST).read_until(b'\n', &mut first);
    read.map_err(|error| cannot(path, error))?;
    let Ok(line) = serde_json::from_slice::<Value>(&first) else { return Ok(None) };
    let text = |field: &str| line.get(field).and_then(Value::as_str);
    match line.get("isolde-events") {
        None => return Ok(None),
        Some(version) if version.as_u64() != Some(VERSION) => {
            bail!(
                "{} was written by another version of Isolde\n  hint: name another file",
                shown(path)
            );
        }
        Some(_) => {}
    }
    let Some(name) = text("file").filter(|_| text("state") == Some(state.id)) else {
        bail!(
            "{} has the events of another state, or of a watch without one\n  hint: name another file, or \
             overwrite it with --force",
            shown(path)
        );
    };
    // Nothing was saved yet, so that everything comes again.
    let Some(saved) = &state.saved else { return Ok(Some((name.to_owned(), first.len() as u64))) };
    if let Some(now) = saved.now.as_ref().filter(|now| now.name == name) {
        return Ok(Some((name.to_owned(), now.len)));
    }
    // An earlier watch wrote to it, and what it told since then does not come again.
    let least = saved.before.iter().find(|before| before.name == name).map_or(0, |f| f.len);
    let whole = told_until(file, path, first.len() as u64, saved.told)?;
    Ok(Some((name.to_owned(), whole.max(least))))
}

/// How long a file is up to the end of the last event that does not come again.
fn told_until(mut file: &File, path: &Path, first: u64, told: u64) -> Result<u64> {
    file.seek(SeekFrom::Start(first)).map_err(|error| cannot(path, error))?;
    let (mut lines, mut len, mut line) = (BufReader::new(file), first, Vec::new());
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line).map_err(|error| cannot(path, error))?;
        let event = line.ends_with(b"\n").then(|| serde_json::from_slice::<Value>(&line).ok());
        let number = event.flatten().and_then(|event| event["number"].as_u64());
        if number.is_none_or(|number| number > told) {
            return Ok(len);
        }
        len += line.len() as u64;
    }
}

/// Whether something is there that cannot be cut: a pipe, a terminal.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

fn cannot(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow!(error).context(format!("cannot write {}", shown(path)))
}
