//! Opening paths and standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::error::ReadError;
use crate::source::{Input, Source, whole};

/// The most bytes that one input may have, after decompression.
const MAX_INPUT: u64 = 64 << 30;
/// The most files that a folder may have.
const MAX_FILES: usize = 100_000;
/// Files that are a history on their own, when the folder around them is named instead.
const LONE_FILES: [&str; 4] = ["history.bincode", "history.edn", "history.json", "history.jsonl"];

impl Source {
    /// Opens a file, a folder of logs, or standard input (`-`). Files that gzip or zstd made are
    /// unpacked, whatever their names.
    pub fn open(path: &Path) -> Result<Source, ReadError> {
        if path.as_os_str() == "-" {
            let bytes = read_all(io::stdin().lock(), "<stdin>", 0)?;
            return Ok(Source::File(unpacked("<stdin>", bytes)?));
        }
        let name = path.display().to_string();
        let kind = fs::metadata(path).map_err(|e| cannot_open(&name, &e))?;
        if !kind.is_dir() {
            return Ok(Source::File(open_file(path)?));
        }
        let mut paths = list(path, &name)?;
        if let Some(lone) = paths.iter().find(|p| LONE_FILES.iter().any(|lone| p.ends_with(lone))) {
            return Ok(Source::File(open_file(lone)?));
        }
        paths.retain(|p| is_log(p));
        let files = paths.iter().map(|p| open_file(p)).collect::<Result<Vec<_>, _>>()?;
        if files.is_empty() {
            let mut error = whole(&name, "the folder holds no log".to_owned());
            error.hint = Some("logs are files whose names end with .log".to_owned());
            return Err(error);
        }
        Ok(Source::Folder { name, files })
    }
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    name.ends_with(".log") || name.ends_with(".log.gz") || name.ends_with(".log.zst")
}

/// The files of a folder, with numbers in their names in the order of numbers: T2 before T10.
fn list(path: &Path, name: &str) -> Result<Vec<std::path::PathBuf>, ReadError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| cannot_open(name, &e))? {
        let entry = entry.map_err(|e| cannot_open(name, &e))?;
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

fn open_file(path: &Path) -> Result<Input, ReadError> {
    let name = path.display().to_string();
    let file = fs::File::open(path).map_err(|e| cannot_open(&name, &e))?;
    // The length is a hint: a pipe has none, a file may grow.
    let len = file.metadata().map_or(0, |m| m.len());
    let bytes = read_all(file, &name, len)?;
    unpacked(&name, bytes)
}

fn read_all(reader: impl Read, name: &str, expected: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::with_capacity(expected.min(MAX_INPUT) as usize);
    reader.take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(|e| cannot_open(name, &e))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(whole(name, format!("the input has more than {MAX_INPUT} bytes")));
    }
    Ok(bytes)
}

fn cannot_open(name: &str, error: &io::Error) -> ReadError {
    let mut e = whole(name, format!("cannot be read: {error}"));
    if error.kind() == io::ErrorKind::NotFound {
        e.hint = Some("is the path right? `-` reads standard input".to_owned());
    }
    e
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

fn unpacked(name: &str, bytes: Vec<u8>) -> Result<Input, ReadError> {
    let bytes = if bytes.starts_with(GZIP) {
        gunzip(name, &bytes)?
    } else if bytes.starts_with(ZSTD) {
        unzstd(name, &bytes)?
    } else {
        bytes
    };
    Ok(Input::new(name, without_mark(bytes)))
}

#[cfg(feature = "gzip")]
fn gunzip(name: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    unpack(name, &mut flate2::read::MultiGzDecoder::new(bytes))
}

#[cfg(feature = "zstd")]
fn unzstd(name: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let decoder = zstd::stream::read::Decoder::new(bytes);
    unpack(name, &mut decoder.map_err(|e| cannot_open(name, &e))?)
}

#[cfg(any(feature = "gzip", feature = "zstd"))]
fn unpack(name: &str, reader: &mut dyn Read) -> Result<Vec<u8>, ReadError> {
    read_all(reader, name, 0).map_err(|mut e| {
        e.hint = Some("the compressed file may be cut".to_owned());
        e
    })
}

#[cfg(not(feature = "gzip"))]
fn gunzip(name: &str, _: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut error = whole(name, "is compressed, and this build cannot unpack it".to_owned());
    error.hint = Some("gunzip unpacks it; a build with the feature gzip does, too".to_owned());
    Err(error)
}

#[cfg(not(feature = "zstd"))]
fn unzstd(name: &str, _: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut error = whole(name, "is compressed, and this build cannot unpack it".to_owned());
    error.hint = Some("unzstd unpacks it; a build with the feature zstd does, too".to_owned());
    Err(error)
}

/// The byte order mark that some editors put before UTF-8.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Skips the mark of a text. No text has a zero byte after it: what has one is a binary file that
/// happens to begin like that.
fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(MARK) && bytes.get(MARK.len()) != Some(&0) {
        bytes.drain(..MARK.len());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn numbers_in_names_sort_as_numbers() {
        let mut names = ["T10.log", "T2.log", "T1.log", "J1.log"];
        names.sort_by_key(|n| natural_key(n));
        assert_eq!(names, ["J1.log", "T1.log", "T2.log", "T10.log"]);
    }

    #[cfg(all(feature = "gzip", feature = "zstd"))]
    #[test]
    fn compressed_files_open_as_they_are() {
        let text = "a: w(x,1)\n".repeat(100);
        let zstd = zstd::bulk::compress(text.as_bytes(), 1).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        for packed in [&zstd, &gzip] {
            assert_eq!(unpacked("x", packed.clone()).unwrap().bytes, text.as_bytes());
            let cut = unpacked("x", packed[..packed.len() / 2].to_vec());
            assert!(cut.unwrap_err().to_string().contains("may be cut"));
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_unless_the_file_is_binary() {
        let opened = |bytes: &[u8]| unpacked("x", bytes.to_vec()).unwrap().bytes;
        assert_eq!(opened(b"\xef\xbb\xbfa: w(x,1)"), b"a: w(x,1)");
        assert_eq!(opened(b"\xef\xbb\xbf"), b"");
        // Only one is a mark; a second one is part of the text.
        assert_eq!(opened(b"\xef\xbb\xbf\xef\xbb\xbfa"), b"\xef\xbb\xbfa");
        for as_it_is in [&b"\xef\xbb\xbf\0a"[..], b"\xef\xbb", b"a\xef\xbb\xbf", b""] {
            assert_eq!(opened(as_it_is), as_it_is);
        }
        #[cfg(feature = "zstd")]
        assert_eq!(opened(&zstd::bulk::compress(b"\xef\xbb\xbfa", 1).unwrap()), b"a");
    }

    #[test]
    fn a_missing_file_is_said_to_be_missing() {
        let error = Source::open(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("/no/such/file: cannot be read"), "{error}");
    }
}
