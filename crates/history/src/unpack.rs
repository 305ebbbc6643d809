//! An input that is read, and unpacked where gzip or zstd made it, within limits.

use std::io::{self, Cursor, Read};

use crate::error::ReadError;
use crate::input_limits::{InputLimits, bytes_in_words, too_large};
use crate::source::{Input, whole};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The least that is read at a time.
const STEP: usize = 1 << 20;

/// The text of an input, as far as it has been read.
pub(crate) struct Stream {
    input: Input,
    reader: Box<dyn Read>,
    packed: bool,
    /// How long the text will probably be; 0 if nothing says that.
    expected: u64,
    limits: InputLimits,
    /// Whether the place has been passed where a byte order mark may stand.
    begun: bool,
    ended: bool,
}

impl Stream {
    /// `len` is the length of a file; 0 for inputs that have none.
    pub(crate) fn new(
        name: &str,
        mut reader: impl Read + 'static,
        len: u64,
        limits: InputLimits,
    ) -> Result<Stream, ReadError> {
        let mut first = Vec::new();
        let read = reader.by_ref().take(ZSTD.len() as u64).read_to_end(&mut first);
        read.map_err(|e| cannot_read(name, &e))?;
        let packed = first.starts_with(GZIP) || first.starts_with(ZSTD);
        let input = Input::new(name, Vec::new());
        let expected = if packed { 0 } else { len };
        let reader = unpacking(name, first, Box::new(reader))?;
        let stream = Stream { input, reader, packed, expected, limits, begun: false, ended: false };
        if expected > limits.most() { Err(stream.too_large()) } else { Ok(stream) }
    }

    /// The first `len` bytes, or all if there are fewer; and whether these are all.
    pub(crate) fn beginning(&mut self, len: usize) -> Result<(Input, bool), ReadError> {
        self.fill(len as u64)?;
        self.skip_mark();
        Ok((std::mem::take(&mut self.input), self.ended))
    }

    /// Gives the beginning back, so that the rest follows it.
    pub(crate) fn put_back(&mut self, beginning: Input) {
        self.input = beginning;
    }

    /// The whole text.
    pub(crate) fn rest(mut self) -> Result<Input, ReadError> {
        self.fill(u64::MAX)?;
        self.skip_mark();
        Ok(self.input)
    }

    /// Reads until there are so many bytes, or to the end.
    fn fill(&mut self, wanted: u64) -> Result<(), ReadError> {
        // One byte more than is allowed shows that there are too many.
        let most = self.limits.most().saturating_add(1);
        while !self.ended && (self.input.bytes.len() as u64) < wanted.min(most) {
            let len = self.input.bytes.len();
            let known = usize::try_from(self.expected).unwrap_or(0).saturating_sub(len);
            let step = (known + 1).max(len).max(STEP) as u64;
            let step = step.min(wanted.min(most) - len as u64);
            let read = self.read(step).map_err(|e| self.cannot_go_on(&e))?;
            self.ended = (read as u64) < step;
        }
        if self.input.bytes.len() as u64 >= most { Err(self.too_large()) } else { Ok(()) }
    }

    fn read(&mut self, step: u64) -> io::Result<usize> {
        self.make_room(step)?;
        self.reader.by_ref().take(step).read_to_end(&mut self.input.bytes)
    }

    /// Makes room for so many bytes. A text that grows out of its room is copied, and then there are two of
    /// it; so a long one gets all the room that it may have at once. Room that is not used takes no memory.
    fn make_room(&mut self, step: u64) -> io::Result<()> {
        let most = self.limits.most().saturating_add(1);
        let bytes = &mut self.input.bytes;
        if bytes.len() >= STEP && self.expected == 0 {
            let all = usize::try_from(most - bytes.len() as u64).unwrap_or(usize::MAX);
            if bytes.try_reserve_exact(all).is_ok() {
                return Ok(());
            }
        }
        let room = usize::try_from(step).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?)
    }

    fn skip_mark(&mut self) {
        let bytes = &mut self.input.bytes;
        // No text has a zero byte after its mark: a file that has one is binary, and happens to begin so.
        if !self.begun && bytes.starts_with(MARK) && bytes.get(MARK.len()) != Some(&0) {
            bytes.drain(..MARK.len());
        }
        // A second mark is part of the text.
        self.begun = true;
    }

    fn too_large(&self) -> ReadError {
        too_large(&self.input.name, self.packed, self.limits)
    }

    fn cannot_go_on(&self, error: &io::Error) -> ReadError {
        let mut e = cannot_read(&self.input.name, error);
        if error.kind() == io::ErrorKind::OutOfMemory {
            let read = bytes_in_words(self.input.bytes.len() as u64);
            let has = if self.packed { "unpacks to" } else { "has" };
            e.hint =
                Some(format!("the input {has} more than {read}, and there is no memory for more"));
        } else if self.packed {
            e.hint = Some("the compressed file may be cut".to_owned());
        }
        e
    }
}

/// The error for an input that cannot be opened or read.
pub(crate) fn cannot_read(name: &str, error: &io::Error) -> ReadError {
    let mut e = whole(name, format!("cannot be read: {error}"));
    if error.kind() == io::ErrorKind::NotFound {
        e.hint = Some("is the path right? `-` reads standard input".to_owned());
    }
    e
}

/// The byte order mark that some editors put before UTF-8.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// The unpacked bytes of an input whose first bytes have been read.
fn unpacking(name: &str, first: Vec<u8>, rest: Box<dyn Read>) -> Result<Box<dyn Read>, ReadError> {
    let (gzip, zstd) = (first.starts_with(GZIP), first.starts_with(ZSTD));
    let all: Box<dyn Read> = Box::new(Cursor::new(first).chain(rest));
    match (gzip, zstd) {
        (true, _) => gunzip(name, all),
        (_, true) => unzstd(name, all),
        _ => Ok(all),
    }
}

#[cfg(feature = "gzip")]
#[allow(clippy::unnecessary_wraps, reason = "a build without gzip fails")]
fn gunzip(_: &str, packed: Box<dyn Read>) -> Result<Box<dyn Read>, ReadError> {
    Ok(Box::new(flate2::read::MultiGzDecoder::new(packed)))
}

#[cfg(feature = "zstd")]
fn unzstd(name: &str, packed: Box<dyn Read>) -> Result<Box<dyn Read>, ReadError> {
    let decoder = zstd::stream::read::Decoder::new(packed);
    Ok(Box::new(decoder.map_err(|e| cannot_read(name, &e))?))
}

#[cfg(not(feature = "gzip"))]
fn gunzip(name: &str, _: Box<dyn Read>) -> Result<Box<dyn Read>, ReadError> {
    let mut error = whole(name, "is compressed, and this build cannot unpack it".to_owned());
    error.hint = Some("gunzip unpacks it; a build with the feature gzip does, too".to_owned());
    Err(error)
}

#[cfg(not(feature = "zstd"))]
fn unzstd(name: &str, _: Box<dyn Read>) -> Result<Box<dyn Read>, ReadError> {
    let mut error = whole(name, "is compressed, and this build cannot unpack it".to_owned());
    error.hint = Some("unzstd unpacks it; a build with the feature zstd does, too".to_owned());
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8], limits: InputLimits) -> Result<Vec<u8>, ReadError> {
        let stream = Stream::new("x", Cursor::new(bytes.to_vec()), 0, limits)?;
        stream.rest().map(|input| input.bytes)
    }

    #[cfg(all(feature = "gzip", feature = "zstd"))]
    fn packed(text: &[u8]) -> [Vec<u8>; 2] {
        use std::io::Write;
        let zstd = zstd::bulk::compress(text, 1).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        [zstd, gzip.finish().unwrap()]
    }

    #[cfg(all(feature = "gzip", feature = "zstd"))]
    #[test]
    fn compressed_files_open_as_they_are() {
        let text = "a: w(x,1)\n".repeat(100);
        for packed in packed(text.as_bytes()) {
            assert_eq!(opened(&packed, InputLimits::default()).unwrap(), text.as_bytes());
            let cut = opened(&packed[..packed.len() / 2], InputLimits::default());
            assert!(cut.unwrap_err().to_string().contains("may be cut"));
        }
    }

    #[cfg(all(feature = "gzip", feature = "zstd"))]
    #[test]
    fn a_small_file_that_unpacks_to_too_much_is_refused_at_the_limit() {
        let text = vec![b'a'; 5 << 20];
        for packed in packed(&text) {
            let limits = InputLimits { text: 3 << 20, memory: u64::MAX };
            assert_eq!(
                opened(&packed, limits).unwrap_err().to_string(),
                "x: the input unpacks to more than 3 MiB\n  hint: --max-input allows more"
            );
            let limits = InputLimits { text: u64::MAX, memory: 1 << 20 };
            assert_eq!(
                opened(&packed, limits).unwrap_err().to_string(),
                "x: the input unpacks to more than 1 MiB\n  hint: --memory allows more"
            );
            let limits = InputLimits { text: 5 << 20, memory: 5 << 20 };
            assert_eq!(opened(&packed, limits).unwrap(), text);
        }
    }

    #[test]
    fn an_input_without_an_end_is_read_to_the_limit() {
        for limit in [0, 1, 1000, STEP as u64, 3 * STEP as u64 + 1] {
            let limits = InputLimits { text: limit, memory: u64::MAX };
            let endless = Stream::new("x", io::repeat(b'a'), 0, limits).unwrap();
            let error = endless.rest().unwrap_err().to_string();
            let most = bytes_in_words(limit);
            assert!(error.starts_with(&format!("x: the input has more than {most}\n")), "{error}");
        }
        let limits = InputLimits { text: 1000, memory: u64::MAX };
        assert_eq!(opened(&[b'a'; 1000], limits).unwrap().len(), 1000);
        assert!(opened(&[b'a'; 1001], limits).is_err());
        // A file that says its length is refused before it is read.
        assert!(Stream::new("x", io::empty(), 1001, limits).is_err());
    }

    #[test]
    fn the_beginning_and_the_rest_are_the_whole() {
        let text: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
        for len in [0, 1, 1000, STEP, 10_000_000] {
            let all = Cursor::new(text.clone());
            let mut stream = Stream::new("x", all, 0, InputLimits::default()).unwrap();
            let (beginning, whole) = stream.beginning(len).unwrap();
            assert_eq!(beginning.bytes, text[..len.min(text.len())]);
            assert_eq!(whole, len > text.len());
            stream.put_back(beginning);
            assert_eq!(stream.rest().unwrap().bytes, text);
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_unless_the_file_is_binary() {
        let opened = |bytes: &[u8]| opened(bytes, InputLimits::default()).unwrap();
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
}
