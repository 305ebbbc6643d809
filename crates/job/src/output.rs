//! Where a command writes a history: the format by the name's ending, and a file whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use isolde_history::Format;

use crate::load;

/// The format to write: the one that was named, or what the ending says.
pub fn format(to: &Path, named: Option<&str>) -> Result<&'static Format> {
    if let Some(name) = named {
        let format = load::named(name)?;
        if format.write.is_none() {
            bail!("{name} is read but not written\n  hint: see `isolde formats`");
        }
        return Ok(format);
    }
    if is_stdout(to) {
        bail!("nothing says which format to write\n  hint: --to names one, see `isolde formats`");
    }
    let name = match to.extension().and_then(|e| e.to_str()) {
        Some("isolde") => "isolde",
        Some("jsonl") => "jsonl",
        Some("edn") => "jepsen-edn",
        Some("bincode") => "dbcop-bincode",
        _ => bail!(
            "the name {} does not say which format to write\n  hint: --to names one, see `isolde formats`",
            to.display()
        ),
    };
    load::named(name)
}

/// Refuses to overwrite what is there, unless it is forced to.
pub fn may_write(to: &Path, force: bool) -> Result<()> {
    if !is_stdout(to) && !force && to.exists() {
        bail!("{} exists\n  hint: --force overwrites it", to.display());
    }
    Ok(())
}

/// Writes to a file, to a stream, or to standard output.
pub fn write(to: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if is_stdout(to) {
        return write_all("to standard output", io::stdout().lock(), write);
    }
    if is_stream(to) {
        let name = to.display().to_string();
        let out = fs::OpenOptions::new().write(true).open(to);
        let out = out.with_context(|| format!("cannot write {name}"))?;
        return write_all(&name, out, write);
    }
    write_file(to, write)
}

/// Whether two names mean the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

fn is_stdout(to: &Path) -> bool {
    to.as_os_str() == "-"
}

/// Whether the target is a pipe or a device, which takes what is written and must not be replaced.
fn is_stream(to: &Path) -> bool {
    fs::metadata(to).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Writes beside the target and renames: a failure leaves no half file, and no old file destroyed.
fn write_file(to: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    // A link stays a link: what it points to is replaced.
    let to = &fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
    let mut temporary = to.as_os_str().to_owned();
    temporary.push(format!(".{}-{}.part", std::process::id(), number()));
    let temporary = PathBuf::from(temporary);
    let name = to.display().to_string();
    let cannot_write = || format!("cannot write {name}");
    let file = fs::File::create(&temporary).with_context(cannot_write)?;
    let done = write_all(&name, file, write)
        .and_then(|()| fs::rename(&temporary, to).with_context(cannot_write));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// A number that no other thread of this process has: two jobs may write at the same time.
fn number() -> String {
    format!("{:?}", std::thread::current().id()).chars().filter(char::is_ascii_digit).collect()
}

/// Writes everything; an error of the output is reported as such, wherever it came to light.
fn write_all(
    name: &str,
    out: impl Write,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::new(Watched { out, failed: None });
    let done = write(&mut out).and_then(|()| Ok(out.flush()?));
    match out.get_mut().failed.take() {
        Some(error) => Err(error).with_context(|| format!("cannot write {name}")),
        None => done,
    }
}

/// Remembers the first error of an output. Readers and writers pass errors on as text, in which a
/// closed pipe could not be told from a full disk.
struct Watched<W> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> Watched<W> {
    fn watch<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let (kind, text) = (error.kind(), error.to_string());
            if kind != io::ErrorKind::Interrupted {
                self.failed.get_or_insert(error);
            }
            io::Error::new(kind, text)
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.watch(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.watch(done)
    }
}
