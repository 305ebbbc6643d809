//! Where a command writes a history: the format by the name's ending, and a file whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::Format;
use isolde_history::formats::MakeFile;

use crate::load;
use crate::shown::shown;

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
            shown(to)
        ),
    };
    load::named(name)
}

/// As what a history is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One file, or a stream.
    File,
    /// A folder of files.
    Folder,
}

impl Shape {
    /// A format that is a folder is written as one, unless the target is a stream.
    pub fn of(to: &Path, format: &Format) -> Shape {
        let folder = format.write_folder.is_some() && !is_stdout(to) && !is_stream(to);
        if folder { Shape::Folder } else { Shape::File }
    }
}

/// Refuses to overwrite what is there, unless it is forced to.
pub fn may_write(to: &Path, force: bool) -> Result<()> {
    // A link that leads nowhere is there, too.
    let there = fs::symlink_metadata(to).is_ok();
    if there && !force && !is_stdout(to) && !is_stream(to) { Err(exists(to)) } else { Ok(()) }
}

/// Refuses a file whose folder is not there, before anything is done for it.
pub fn has_folder(to: &Path) -> Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !is_stdout(to) && !folder.is_dir()) {
        Some(folder) => bail!("cannot write {}: there is no folder {}", shown(to), shown(folder)),
        None => Ok(()),
    }
}

/// Opens a file to write to it at once. A file that is there is replaced only if that is forced; a pipe or
/// a device takes what is written.
pub fn create(to: &Path, force: bool) -> Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    if is_stream(to) {
        options.create(false);
    } else if force {
        options.create(true).truncate(true);
    } else {
        // Asking first and creating then would leave room for another process in between.
        options.create_new(true);
    }
    options.open(to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => anyhow::Error::new(error).context(format!("cannot write {}", shown(to))),
    })
}

fn exists(to: &Path) -> anyhow::Error {
    anyhow!("{} exists\n  hint: --force overwrites it", shown(to))
}

/// Writes to a file, to a stream, or to standard output. A file that is there, or that another process makes
/// meanwhile, is replaced only if that is forced.
pub fn write(
    to: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    if is_stdout(to) {
        return write_to("to standard output", io::stdout().lock(), write);
    }
    if is_stream(to) {
        let name = shown(to);
        let out = fs::OpenOptions::new().write(true).open(to);
        let out = out.with_context(|| format!("cannot write {name}"))?;
        return write_to(&name, out, write);
    }
    write_file(to, force, write)
}

/// Writes a folder of files. A folder that is there is never replaced: it may hold anything.
pub fn write_folder(to: &Path, write: impl FnOnce(&mut MakeFile<'_>) -> Result<()>) -> Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        bail!(
            "{} exists\n  hint: it is to become a folder, and those are not overwritten",
            shown(to)
        );
    }
    let temporary = beside(to);
    let name = shown(to);
    let cannot_write = || format!("cannot write {name}");
    fs::create_dir(&temporary).with_context(cannot_write)?;
    let mut make = |file: &str| -> io::Result<Box<dyn Write>> {
        let path = temporary.join(file);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(Box::new(BufWriter::new(fs::File::create(path)?)))
    };
    // Renaming replaces an empty folder that appeared meanwhile, and nothing else.
    let done =
        write(&mut make).and_then(|()| fs::rename(&temporary, to).with_context(cannot_write));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_dir_all(&temporary);
    }
    done
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
fn write_file(
    to: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    // A link stays a link: what it points to is replaced.
    let to = &fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
    let temporary = beside(to);
    let name = shown(to);
    let cannot_write = || format!("cannot write {name}");
    let file = fs::File::create(&temporary).with_context(cannot_write)?;
    let done = write_to(&name, file, write)
        .and_then(|()| if force { put(&temporary, to) } else { put_new(&temporary, to) });
    if done.is_err() || !force {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// A name beside the target for what is not whole yet.
fn beside(to: &Path) -> PathBuf {
    // The name of a folder may end with a slash.
    let mut name = to.components().as_path().as_os_str().to_owned();
    name.push(format!(".{}-{}.part", std::process::id(), number()));
    PathBuf::from(name)
}

fn put(temporary: &Path, to: &Path) -> Result<()> {
    fs::rename(temporary, to).with_context(|| format!("cannot write {}", shown(to)))
}

/// Gives a file its name, unless there is a file of that name: linking fails then, renaming would not.
fn put_new(temporary: &Path, to: &Path) -> Result<()> {
    match fs::hard_link(temporary, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(to)),
        // Some file systems have no links: an empty file holds the place until the whole one takes it.
        Err(_) => create(to, false).and_then(|_| put(temporary, to)),
    }
}

/// A number that no other thread of this process has: two jobs may write at the same time.
fn number() -> String {
    format!("{:?}", std::thread::current().id()).chars().filter(char::is_ascii_digit).collect()
}

/// Writes everything; an error of the output is reported as such, wherever it came to light.
pub fn write_to(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("isolde-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn say(text: &'static str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
        move |out| Ok(out.write_all(text.as_bytes())?)
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let folder = folder("whole");
        let to = folder.join("trace/");
        let text = |make: &mut MakeFile<'_>| {
            let mut file = make("a/b.txt")?;
            file.write_all(b"x")?;
            Ok(file.flush()?)
        };
        let failed = write_folder(&to, |make| {
            text(make)?;
            bail!("no more")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "a temporary folder stayed");
        write_folder(&to, text).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b.txt")).unwrap(), "x");
        let error = write_folder(&to, text).unwrap_err().to_string();
        assert!(error.contains("those are not overwritten"), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a temporary folder stayed");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_appears_while_another_is_written_is_not_overwritten() {
        let folder = folder("exclusive");
        let to = folder.join("a.txt");
        let other = |out: &mut dyn Write| {
            fs::write(&to, "another process was here")?;
            say("mine")(out)
        };
        let error = write(&to, false, other).unwrap_err().to_string();
        assert!(error.ends_with("a.txt exists\n  hint: --force overwrites it"), "{error}");
        assert_eq!(fs::read_to_string(&to).unwrap(), "another process was here");
        write(&to, true, say("mine")).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
        assert!(create(&to, false).is_err() && create(&to, true).is_ok());
        fs::remove_file(&to).unwrap();
        write(&to, false, say("new")).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a temporary file stayed");
        fs::remove_dir_all(&folder).unwrap();
    }
}
