//! Opening paths and standard input.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ReadError;
use crate::format::Format;
use crate::formats::beginning;
use crate::formats::leopard::slices;
use crate::input_limits::{InputLimits, too_large};
use crate::native;
use crate::printable::printable;
use crate::source::{Source, whole};
use crate::unpack::{Stream, cannot_read};

/// The most files that a folder may have.
const MAX_FILES: usize = 100_000;
/// Files that are a history on their own, when the folder around them is named instead.
const LONE_FILES: [&str; 4] = ["history.bincode", "history.edn", "history.json", "history.jsonl"];

/// How much of a file is read before its format is known.
const BEGINNING: usize = 1 << 20;

impl Source {
    /// Opens a file, a folder of logs, or standard input (`-`). Files that gzip or zstd made are
    /// unpacked, whatever their names.
    pub fn open(path: &Path) -> Result<Source, ReadError> {
        match place(path)? {
            PathKind::Stdin => {
                Stream::new("<stdin>", io::stdin(), 0, InputLimits::default())?.rest()
            }
            PathKind::File(path) => stream(&path, InputLimits::default())?.rest(),
            PathKind::Logs(name, paths) => return logs(name, &paths, InputLimits::default()),
        }
        .map(Source::File)
    }

    /// Opens the same within limits, as a history of that format or of the one that its beginning shows.
    /// An input of no format, or whose beginning the format refuses, is not read to its end.
    pub fn open_as(
        path: &Path,
        format: Option<&'static Format>,
        limits: InputLimits,
    ) -> Result<(Source, &'static Format), ReadError> {
        let stream = match place(path)? {
            PathKind::Stdin => Stream::new("<stdin>", io::stdin(), 0, limits)?,
            PathKind::File(path) => stream(&path, limits)?,
            PathKind::Logs(name, paths) => {
                let source = logs(name, &paths, limits)?;
                let format = format.map_or_else(|| Format::recognise(&source), Ok)?;
                return Ok((source, format));
            }
        };
        open_stream(stream, format)
    }

    /// Complains if a history that is made of this source would be larger than the limits: a native file has
    /// packed blocks, which are unpacked only when it is read.
    pub fn check_unpacked(&self, format: &Format, limits: InputLimits) -> Result<(), ReadError> {
        let larger =
            format.name == native::FORMAT.name && native::unpacked_len(self) > limits.most();
        if larger { Err(too_large(self.name(), true, limits)) } else { Ok(()) }
    }
}

fn open_stream(
    mut stream: Stream,
    format: Option<&'static Format>,
) -> Result<(Source, &'static Format), ReadError> {
    let (beginning, whole) = stream.beginning(BEGINNING)?;
    let beginning = Source::File(beginning);
    let format = match format {
        None => Format::recognise(&beginning)?,
        Some(format) if whole => format,
        Some(format) => beginning::accepted(format, &beginning)?,
    };
    if let Source::File(input) = beginning {
        stream.put_back(input);
    }
    Ok((Source::File(stream.rest()?), format))
}

/// What a path means.
enum PathKind {
    Stdin,
    File(PathBuf),
    /// A folder's name, and the logs in it.
    Logs(String, Vec<PathBuf>),
}

fn place(path: &Path) -> Result<PathKind, ReadError> {
    if path.as_os_str() == "-" {
        return Ok(PathKind::Stdin);
    }
    let name = path.display().to_string();
    let kind = fs::metadata(path).map_err(|e| cannot_read(&name, &e))?;
    if !kind.is_dir() {
        return Ok(PathKind::File(path.to_owned()));
    }
    let paths = list(path, &name)?;
    if let Some(lone) = paths.iter().find(|p| LONE_FILES.iter().any(|lone| p.ends_with(lone))) {
        return Ok(PathKind::File(lone.clone()));
    }
    let logs: Vec<PathBuf> = paths.iter().filter(|p| is_log(p)).cloned().collect();
    if !logs.is_empty() {
        return Ok(PathKind::Logs(name, logs));
    }
    match leopard_trace(path, &paths)? {
        Some(files) => Ok(PathKind::Logs(name, files)),
        None => Err(no_log(&name, &paths)),
    }
}

/// The slices and tables of Leopard's trace, if a folder is one: slices are in it or in its folder `trace`.
fn leopard_trace(path: &Path, paths: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, ReadError> {
    let is_slice = |path: &&PathBuf| slices::slice_of(&path.to_string_lossy()).is_some();
    let is_table = |path: &&PathBuf| slices::table_of(&path.to_string_lossy()).is_some();
    let mut found: Vec<PathBuf> = paths.iter().filter(is_slice).cloned().collect();
    if found.is_empty() {
        found = list_below(path, "trace")?.iter().filter(is_slice).cloned().collect();
    }
    if found.is_empty() {
        return Ok(None);
    }
    found.extend(list_below(path, "init_data")?.iter().filter(is_table).cloned());
    Ok(Some(found))
}

/// The files of a folder in a folder; none if there is no such folder.
fn list_below(path: &Path, folder: &str) -> Result<Vec<PathBuf>, ReadError> {
    let folder = path.join(folder);
    if folder.is_dir() { list(&folder, &folder.display().to_string()) } else { Ok(Vec::new()) }
}

/// The complaint about a folder that is no history, with what it holds instead.
fn no_log(name: &str, paths: &[PathBuf]) -> ReadError {
    let mut error = whole(name, "the folder holds no log".to_owned());
    let is_history = |path: &&PathBuf| {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        ["edn", "json", "jsonl", "isolde", "bincode", "txt", "gz", "zst"].contains(&ending)
    };
    let others: Vec<&PathBuf> = paths.iter().filter(is_history).collect();
    error.hint = Some(match &others[..] {
        [] => {
            "the files of a folder are one history if their names end with .log, or are Leopard's \
               loader-<thread>.<slice>.json"
                .to_owned()
        }
        [first, ..] => format!(
            "only files whose names end with .log, or Leopard's loader-<thread>.<slice>.json, are one history \
             together; name each of the {} other files, such as {}",
            others.len(),
            printable(&first.display().to_string())
        ),
    });
    error
}

/// All logs of a folder, which have the limits together.
fn logs(name: String, paths: &[PathBuf], mut limits: InputLimits) -> Result<Source, ReadError> {
    let mut files = Vec::new();
    for path in paths {
        let input = stream(path, limits)?.rest()?;
        limits = limits.after(input.bytes.len() as u64);
        files.push(input);
    }
    Ok(Source::Folder { name, files })
}

fn stream(path: &Path, limits: InputLimits) -> Result<Stream, ReadError> {
    let name = path.display().to_string();
    let file = fs::File::open(path).map_err(|e| cannot_read(&name, &e))?;
    // The length is a hint: a pipe has none, a file may grow.
    let len = file.metadata().map_or(0, |m| m.len());
    Stream::new(&name, file, len, limits)
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    name.ends_with(".log") || name.ends_with(".log.gz") || name.ends_with(".log.zst")
}

/// The files of a folder, with numbers in their names in the order of numbers: T2 before T10.
fn list(path: &Path, name: &str) -> Result<Vec<PathBuf>, ReadError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| cannot_read(name, &e))? {
        let entry = entry.map_err(|e| cannot_read(name, &e))?;
        if paths.len() == MAX_FILES {
            return Err(whole(name, format!("the folder holds more than {MAX_FILES} files")));
        }
        if entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort_by_cached_key(|p| natural_key(&p.to_string_lossy()));
    Ok(paths)
}

/// Text with each number padded, so that it sorts as numbers do.
fn natural_key(name: &str) -> String {
    let mut key = String::new();
    let mut digits = String::new();
    for c in name.chars().chain(std::iter::once('\0')) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            key.push_str(&format!("{digits:0>20}"));
            digits.clear();
        }
        key.push(c);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_sort_as_numbers() {
        let mut names = ["T10.log", "T2.log", "T1.log", "J1.log"];
        names.sort_by_key(|n| natural_key(n));
        assert_eq!(names, ["J1.log", "T1.log", "T2.log", "T10.log"]);
    }

    #[test]
    fn a_missing_file_is_said_to_be_missing() {
        let error = Source::open(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("/no/such/file: cannot be read"), "{error}");
    }
}
