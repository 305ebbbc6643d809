//! Opening a source, and the thread that reads it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::agreed::Agreed;
use crate::decode::Decoder;
use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, Of};
use crate::growing::Growing;
use crate::http::Bodies;
use crate::listen::{SocketFile, UnixSocket};
use crate::place::{Mark, Place};
use crate::source::WatchSource;
use crate::{address, http, listen, native, piped};

/// What a native file is called.
const NATIVE: &str = "isolde";

/// How a source is read.
pub(crate) struct Opening<'p> {
    pub(crate) source: &'p WatchSource,
    pub(crate) agreed: &'p Arc<Agreed>,
    pub(crate) until_end: bool,
    pub(crate) anywhere: bool,
    /// What is kept, where a state is.
    pub(crate) kept: Option<&'p Kept>,
}

/// What an earlier watch kept of the source.
#[derive(Default)]
pub(crate) struct Kept {
    /// How far it came, if it came to anything.
    pub(crate) mark: Option<Mark>,
    /// The header that holds for requests.
    pub(crate) header: Option<Vec<u8>>,
}

/// A source that is open: what it is called and where it listens, and what must go away with the watch.
pub(crate) struct Opened {
    pub(crate) name: String,
    /// The device and the number of the file, if it is one.
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) _socket: Option<SocketFile>,
}

/// Reads a source until it ends or the watch is over.
type Reader = Box<dyn FnOnce(&Feed) -> Result<(), Over> + Send>;

impl Opening<'_> {
    /// Opens the source and reads it from now on.
    pub(crate) fn start(&self, feed: &Feed) -> Result<Opened, String> {
        let agreed = Arc::clone(self.agreed);
        let mut socket = None;
        let mut file = None;
        let (name, read) = match self.source {
            WatchSource::File(path) => self.file(path, agreed, &mut file)?,
            _ => self.open(agreed, &mut socket)?,
        };
        let feed = feed.clone();
        // That the watch is over is no news to it.
        let run = move || drop(read(&feed));
        let started = thread::Builder::new().name("watch-source".to_owned()).spawn(run);
        started
            .map(|_| Opened { name, file, _socket: socket })
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    fn open(
        &self,
        agreed: Arc<Agreed>,
        file: &mut Option<SocketFile>,
    ) -> Result<(String, Reader), String> {
        let keeps = self.kept.is_some();
        match self.source {
            WatchSource::File(_) | WatchSource::Stdin => {
                let read: Reader =
                    Box::new(move |feed| piped::run(io::stdin(), "<stdin>", &agreed, feed));
                Ok(("<stdin>".to_owned(), read))
            }
            WatchSource::Tcp(at) => {
                let listener = address::listen(at, self.anywhere, "send transactions")?;
                let name = format!("tcp:{}", bound(&listener, at));
                let own = name.clone();
                Ok((name, Box::new(move |feed| listen::run(&listener, &own, &agreed, keeps, feed))))
            }
            WatchSource::Unix(path) => {
                let (socket, its_file) = UnixSocket::listen(path)?;
                *file = Some(its_file);
                let name = format!("unix:{}", path.display());
                let own = name.clone();
                Ok((name, Box::new(move |feed| listen::run(&socket, &own, &agreed, keeps, feed))))
            }
            WatchSource::Http(at) => {
                let listener = address::listen(at, self.anywhere, "send transactions")?;
                let name = format!("http:{}", bound(&listener, at));
                let bodies = self.bodies(&name, &agreed)?;
                Ok((name, Box::new(move |feed| http::run(&listener, &bodies, feed))))
            }
        }
    }

    /// What all requests share, with the header that came before a restart.
    fn bodies(&self, name: &str, agreed: &Arc<Agreed>) -> Result<Bodies, String> {
        let bodies = Bodies::new(name, agreed);
        let Some(kept) = self.kept else { return Ok(bodies) };
        let agreed = Arc::clone(agreed);
        let mut decoder = Decoder { name: name.to_owned(), agreed, head: None };
        if let Some(line) = &kept.header {
            let head = decoder.header(line, 1).map_err(|error| error.to_string())?;
            decoder.head = head.map(Arc::new);
        }
        if let Some(head) = &decoder.head {
            self.agreed.agree(head)?;
        }
        Ok(bodies.kept(decoder.head))
    }

    fn file(
        &self,
        path: &Path,
        agreed: Arc<Agreed>,
        identity: &mut Option<(u64, u64)>,
    ) -> Result<(String, Reader), String> {
        let name = path.display().to_string();
        let about = std::fs::metadata(path).map_err(|error| unreadable(&name, &error))?;
        if about.is_dir() {
            return Err(format!("{name} is a folder\n  hint: a file that grows can be watched"));
        }
        // To open a pipe that nobody writes to would wait for ever.
        if self.kept.is_some() && !about.is_file() {
            return Err(format!("{name} is no file, and cannot be read again: --state needs that"));
        }
        let mut file = Growing::open(path).map_err(|error| unreadable(&name, &error))?;
        *identity = file.identity().map_err(|error| format!("{name}: {error}"))?;
        let mark = self.kept.and_then(|kept| kept.mark.as_ref());
        let before = mark.and_then(|mark| mark.file);
        let until_end = self.until_end;
        if path.extension().is_some_and(|ending| ending == NATIVE) {
            let reached = mark.and_then(|mark| match &mark.place {
                Some(Place::Blocks(place)) => Some(place.clone()),
                _ => None,
            });
            file.is_still(before, reached.as_ref().map_or(0, |place| place.bytes))?;
            let read = move |feed: &Feed| native::run(file, &agreed, reached, until_end, feed);
            return Ok((name, Box::new(read)));
        }
        let mut open = false;
        let gather = match mark.and_then(|mark| mark.place.as_ref()) {
            Some(Place::Lines(place)) => {
                file.is_still(before, place.offset)?;
                open = place.open;
                file.gather_at(place, &agreed)?
            }
            _ => Gather::new(&name, &agreed, None).of(Of::File),
        };
        let read = move |feed: &Feed| {
            if open {
                feed.send(Message::Opened)?;
            }
            file.run(gather, until_end, feed)
        };
        Ok((name, Box::new(read)))
    }
}

/// Why a file cannot be read, and what may have been meant.
fn unreadable(name: &str, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return format!("{name}: cannot be read: {error}");
    }
    let is_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    let hint = match name.rsplit_once(':').is_some_and(is_port) {
        true => format!("tcp:{name} waits for connections there, http:{name} for requests"),
        false => "is the path right? A file has to be there before it is watched; `-` reads standard input".to_owned(),
    };
    format!("{name}: cannot be read: {error}\n  hint: {hint}")
}

/// Where a listener really is: port 0 is any that is free.
fn bound(listener: &std::net::TcpListener, asked: &str) -> String {
    listener.local_addr().map_or_else(|_| asked.to_owned(), |at| at.to_string())
}
