//! The folder of `--state`: what a watch has to know to go on after it was killed.
//!
//! The stream keeps its own state in a folder within it. Beside that there is `watch.json`, which says of what the state
//! is, and the header that requests go by. Both are replaced as a whole or not at all.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::said::Said;
use crate::source::WatchSource;

/// The version of the folder.
const VERSION: u64 = 1;
const ABOUT: &str = "watch.json";
const LOCK: &str = "lock";
const HEADER: &str = "header";
/// Where the stream keeps its own.
const STREAM: &str = "stream";
/// What there may be before it is said of what the state is.
const BEFORE: [&str; 2] = [LOCK, "watch.json.new"];

/// The folder, which no other watch has as long as this is there.
pub(crate) struct State {
    folder: PathBuf,
    about: Value,
    _lock: File,
}

/// What a state is of.
pub(crate) struct StateOf<'s> {
    pub(crate) source: &'s WatchSource,
    pub(crate) said: &'s Said,
}

impl StateOf<'_> {
    /// The source, as far as it must be the same: a port may change, a file may not.
    fn source(&self) -> String {
        match self.source {
            WatchSource::Stdin => "standard input".to_owned(),
            WatchSource::File(path) => {
                // One that is gone was where it would be.
                let whole = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
                let whole = whole.unwrap_or_else(|_| path.clone());
                whole.display().to_string()
            }
            WatchSource::Tcp(_) => "TCP connections".to_owned(),
            WatchSource::Unix(_) => "a Unix socket".to_owned(),
            WatchSource::Http(_) => "HTTP requests".to_owned(),
        }
    }

    fn facts(&self) -> Value {
        json!({ "initial": self.said.initial, "facts": self.said.facts })
    }
}

impl State {
    /// Opens the folder, or makes it. A folder with anything else in it, or with the state of another watch, is refused.
    pub(crate) fn open(folder: &Path, of: &StateOf<'_>) -> Result<State, String> {
        if *of.source == WatchSource::Stdin {
            return Err("standard input cannot be read again after a restart, so --state cannot go on with it\n  \
                        hint: write to a file and watch that, or send to a socket"
                .to_owned());
        }
        let name = folder.display();
        let cannot = |error: io::Error| format!("cannot keep the state in {name}: {error}");
        // Only this user may see what the transactions wrote.
        DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(cannot)?;
        if !folder.join(ABOUT).exists() && has_others(folder).map_err(cannot)? {
            return Err(format!(
                "{name} has other files in it, and no state\n  hint: --state names a folder of its own"
            ));
        }
        let lock = File::create(folder.join(LOCK)).map_err(cannot)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                format!("{name} is in use: another watch keeps its state there")
            }
            TryLockError::Error(error) => cannot(error),
        })?;
        let mut state = State { folder: folder.to_owned(), about: Value::Null, _lock: lock };
        match fs::read(folder.join(ABOUT)) {
            Ok(bytes) => state.about = is_of(&bytes, &name.to_string(), of)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let id = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
                state.about = json!({
                    "isolde-watch": VERSION, "id": id, "source": of.source(), "said": of.facts(),
                });
                state.write_about()?;
            }
            Err(error) => return Err(cannot(error)),
        }
        DirBuilder::new().mode(0o700).recursive(true).create(state.stream()).map_err(cannot)?;
        Ok(state)
    }

    /// A name of this state that no other has.
    pub(crate) fn id(&self) -> &str {
        self.about.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Where the stream keeps its own.
    pub(crate) fn stream(&self) -> PathBuf {
        self.folder.join(STREAM)
    }

    /// The header that was kept last.
    pub(crate) fn header(&self) -> Result<Option<Vec<u8>>, String> {
        match fs::read(self.folder.join(HEADER)) {
            Ok(line) => Ok(Some(line)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.cannot(&error)),
        }
    }

    /// Keeps a header.
    pub(crate) fn keep_header(&self, line: &[u8]) -> Result<(), String> {
        self.replace(HEADER, line)
    }

    /// What could not be read before there was a stream: how much, and why.
    pub(crate) fn early(&self) -> (u64, Option<String>) {
        let early = self.about.get("early");
        let bad = early.and_then(|early| early.get("bad")?.as_u64());
        let why = early.and_then(|early| early.get("why")?.as_str());
        (bad.unwrap_or(0), why.map(str::to_owned))
    }

    /// Keeps it.
    pub(crate) fn keep_early(&mut self, bad: u64, why: Option<&str>) -> Result<(), String> {
        self.about["early"] = json!({ "bad": bad, "why": why });
        self.write_about()
    }

    fn write_about(&self) -> Result<(), String> {
        self.replace(ABOUT, format!("{}\n", self.about).as_bytes())
    }

    /// Replaces a file as a whole, on the disk itself.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let new = self.folder.join(format!("{name}.new"));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&new, self.folder.join(name))?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|error: io::Error| self.cannot(&error))
    }

    fn cannot(&self, error: &io::Error) -> String {
        format!("cannot keep the state in {}: {error}", self.folder.display())
    }
}

/// Whether there is anything but what an earlier try may have left.
fn has_others(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !BEFORE.iter().any(|own| name == *own) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is said in the folder, if it is the state of this watch.
fn is_of(bytes: &[u8], name: &str, of: &StateOf<'_>) -> Result<Value, String> {
    const HINT: &str = "\n  hint: another folder begins anew";
    let about: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("{name}/{ABOUT} cannot be used: {error}{HINT}"))?;
    let text = |field: &str| about.get(field).and_then(Value::as_str).unwrap_or_default();
    if about.get("isolde-watch").and_then(Value::as_u64) != Some(VERSION) {
        return Err(format!("{name} cannot be used: another version of Isolde wrote it{HINT}"));
    }
    let (before, now) = (text("source"), of.source());
    if before != now {
        return Err(format!("{name} has the state of another source: {before}, not {now}{HINT}"));
    }
    if about.get("said") != Some(&of.facts()) {
        return Err(format!(
            "{name} has the state of a watch with another --initial or --fact{HINT}"
        ));
    }
    Ok(about)
}
