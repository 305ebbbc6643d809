//! A throwaway server from its start to its end.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::place;
use super::supervise::{Orders, Supervised, tail};
use crate::open::OpenOptions;
use crate::target::{OpenError, Throwaway};

/// How often a start is tried if another process takes the port between our look and the server's.
const ATTEMPTS: usize = 3;

/// A running throwaway server.
pub(crate) struct Server {
    pub(super) process: Supervised,
    pub(super) folder: PathBuf,
    url: String,
    keep: bool,
    /// Where the log of a server that died was copied to.
    copied: Mutex<Option<PathBuf>>,
}

/// Asks the server at a port which folder it serves; nothing if it does not answer yet.
pub(crate) type Probe<'a> = &'a dyn Fn(u16) -> Option<Result<String, OpenError>>;

/// What starting a server needs to know.
pub(super) struct Start<'a> {
    /// A word for the folder's name.
    pub(super) name: &'a str,
    /// The user that runs it, if we are root.
    pub(super) user: &'a str,
    /// The commands, for a folder and a port.
    pub(super) orders: &'a dyn Fn(&Path, u16) -> Result<Orders, OpenError>,
    /// Asks whether it answers, and which folder it serves.
    pub(super) probe: Probe<'a>,
    /// How to connect.
    pub(super) url: &'a dyn Fn(u16) -> String,
}

impl Server {
    /// Starts a server and waits until it answers.
    pub(super) fn start(
        start: &Start<'_>,
        options: &OpenOptions,
    ) -> Result<(Server, u16), OpenError> {
        let mut attempt = 1;
        loop {
            let port = place::port(options.port)?;
            let folder = place::folder(start.name, place::user(start.user))?;
            let orders = (start.orders)(&folder, port).inspect_err(|_| {
                let _ = fs::remove_dir_all(&folder);
            })?;
            let mut process = Supervised::start(&orders)?;
            let data = folder.join("data");
            let answers = || match (start.probe)(port) {
                None => Ok(false),
                Some(found) => place::same_folder(&data, &found?).map(|()| true),
            };
            match process.wait(answers) {
                Ok(()) => {
                    if options.keep {
                        process.keep();
                    }
                    let url = (start.url)(port);
                    let (keep, copied) = (options.keep, Mutex::new(None));
                    return Ok((Server { process, folder, url, keep, copied }, port));
                }
                Err(error) => {
                    // PostgreSQL's log may have the second without the first.
                    let taken = ["in use", "could not create any TCP/IP sockets"];
                    let taken = taken.iter().any(|words| error.problem.contains(words));
                    let raced = taken && options.port.is_none();
                    if !raced || attempt == ATTEMPTS {
                        return Err(error);
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Where it is.
    pub(crate) fn throwaway(&self) -> Throwaway {
        let (url, folder) = (self.url.clone(), self.folder.clone());
        Throwaway { url, folder, pid: self.process.pid(), kept: self.keep }
    }

    /// If it died, or one of its processes did: where its log was copied to, and the end of it.
    pub(crate) fn last_words(&self) -> Option<String> {
        let log = self.process.log();
        let end = tail(&log, 12);
        // PostgreSQL survives the death of a process that serves a client.
        if !self.process.exited() && !end.contains("terminated by signal") {
            return None;
        }
        let path = self.copy_log(&log);
        let path = path.as_deref().unwrap_or(&log);
        Some(format!("the log is {}; its end is:\n{end}", path.display()))
    }

    fn copy_log(&self, log: &Path) -> Option<PathBuf> {
        let mut copied = self.copied.lock().ok()?;
        if copied.is_none() {
            let name = self.folder.file_name()?.to_string_lossy().into_owned();
            let path = env::temp_dir().join(format!("{name}.log"));
            fs::copy(log, &path).ok()?;
            *copied = Some(path);
        }
        copied.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The log of a server that died by itself is evidence; it may not have been asked for yet.
        if self.process.exited() {
            let _ = self.copy_log(&self.process.log());
        }
    }
}
