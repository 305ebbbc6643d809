//! What a process says on standard error: read all the time, so that the process never waits for us; only
//! the end of it is kept.

use std::io::{self, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How much is read at once.
const CHUNK: usize = 8 * 1024;
/// How much of standard error is kept.
const MAX_SAID: usize = 4 * 1024;
/// A reader needs its chunk and little else.
const STACK: usize = 64 * 1024;

/// The end of what a process said on standard error. A thread of its own reads it: a control process, and a
/// server that it started, talk also while no request is under way.
pub(super) struct Complaints(Arc<Heard>);

#[derive(Default)]
struct Heard {
    said: Mutex<LastSaid>,
    closed: Condvar,
}

#[derive(Default)]
struct LastSaid {
    end: Vec<u8>,
    /// Whether the pipe is at its end.
    closed: bool,
}

impl Complaints {
    /// Reads until the pipe is closed. The thread is not joined: a process that left the group of its driver
    /// may hold the pipe for ever.
    pub(super) fn listen(pipe: ChildStderr) -> io::Result<Complaints> {
        let shared = Arc::new(Heard::default());
        let own = Arc::clone(&shared);
        let reader = thread::Builder::new().name("driver's errors".to_owned()).stack_size(STACK);
        reader.spawn(move || own.read(pipe))?;
        Ok(Complaints(shared))
    }

    /// Waits until the pipe is at its end, but not longer than this; then gives what was said last.
    pub(super) fn last(&self, patience: Duration) -> Vec<u8> {
        let said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |said: &mut LastSaid| !said.closed;
        let waited = self.0.closed.wait_timeout_while(said, patience, open);
        waited.unwrap_or_else(PoisonError::into_inner).0.end.clone()
    }
}

impl Heard {
    fn read(&self, mut pipe: ChildStderr) {
        let mut chunk = [0; CHUNK];
        loop {
            match pipe.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => self.keep(chunk.get(..count).unwrap_or_default()),
            }
        }
        self.said.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.closed.notify_all();
    }

    fn keep(&self, fresh: &[u8]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.end.extend_from_slice(fresh);
        let spare = said.end.len().saturating_sub(MAX_SAID);
        said.end.drain(..spare);
    }
}
