//! Opening a source, and the thread that reads it.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::feed::{Feed, Over};
use crate::growing::Growing;
use crate::listen::{SocketFile, UnixSocket};
use crate::said::Said;
use crate::source::WatchSource;
use crate::{address, http, listen, native, piped};

/// What a native file is called.
const NATIVE: &str = "isolde";

/// How a source is read.
pub(crate) struct Opening<'p> {
    pub(crate) source: &'p WatchSource,
    pub(crate) said: &'p Said,
    pub(crate) until_end: bool,
    pub(crate) anywhere: bool,
}

/// A source that is open: what it is called and where it listens, and what must go away with the watch.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) _socket: Option<SocketFile>,
}

/// Reads a source until it ends or the watch is over.
type Reader = Box<dyn FnOnce(&Feed) -> Result<(), Over> + Send>;

impl Opening<'_> {
    /// Opens the source and reads it from now on.
    pub(crate) fn start(&self, feed: &Feed) -> Result<Opened, String> {
        let said = Arc::new(self.said.clone());
        let mut socket = None;
        let (name, read) = self.open(said, &mut socket)?;
        let feed = feed.clone();
        // That the watch is over is no news to it.
        let run = move || drop(read(&feed));
        let started = thread::Builder::new().name("watch-source".to_owned()).spawn(run);
        started
            .map(|_| Opened { name, _socket: socket })
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    fn open(
        &self,
        said: Arc<Said>,
        file: &mut Option<SocketFile>,
    ) -> Result<(String, Reader), String> {
        match self.source {
            WatchSource::Stdin => {
                let read: Reader =
                    Box::new(move |feed| piped::run(std::io::stdin(), "<stdin>", &said, feed));
                Ok(("<stdin>".to_owned(), read))
            }
            WatchSource::File(path) => self.file(path, said),
            WatchSource::Tcp(at) => {
                let listener = address::listen(at, self.anywhere)?;
                let name = format!("tcp:{}", bound(&listener, at));
                let own = name.clone();
                Ok((name, Box::new(move |feed| listen::run(&listener, &own, &said, feed))))
            }
            WatchSource::Unix(path) => {
                let (socket, its_file) = UnixSocket::listen(path)?;
                *file = Some(its_file);
                let name = format!("unix:{}", path.display());
                let own = name.clone();
                Ok((name, Box::new(move |feed| listen::run(&socket, &own, &said, feed))))
            }
            WatchSource::Http(at) => {
                let listener = address::listen(at, self.anywhere)?;
                let name = format!("http:{}", bound(&listener, at));
                let own = name.clone();
                Ok((name, Box::new(move |feed| http::run(&listener, &own, &said, feed))))
            }
        }
    }

    fn file(&self, path: &Path, said: Arc<Said>) -> Result<(String, Reader), String> {
        let name = path.display().to_string();
        let about = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?;
        if about.is_dir() {
            return Err(format!("{name} is a folder\n  hint: a file that grows can be watched"));
        }
        let file = Growing::open(path).map_err(|error| format!("{name}: {error}"))?;
        let until_end = self.until_end;
        let is_native = path.extension().is_some_and(|ending| ending == NATIVE);
        Ok((
            name,
            Box::new(move |feed| match is_native {
                true => native::run(file, &said, until_end, feed),
                false => file.run(&said, until_end, feed),
            }),
        ))
    }
}

/// Where a listener really is: port 0 is any that is free.
fn bound(listener: &std::net::TcpListener, asked: &str) -> String {
    listener.local_addr().map_or_else(|_| asked.to_owned(), |at| at.to_string())
}
