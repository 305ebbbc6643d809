//! Work that may never come back: done on a thread that can be left behind.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Why work has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// It has not come back; its thread is left behind.
    Hangs,
    /// It panicked, and said this.
    Panicked(String),
}

/// Does something that calls a database, and gives up waiting after a while. A thread that hangs
/// inside an engine cannot be ended; it stays until this process ends.
pub fn within<T: Send + 'static>(
    most: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stuck> {
    let (sender, receiver) = sync_channel(1);
    let body = move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        let _ = sender.send(done.map_err(|panic| Stuck::Panicked(panic_text(&*panic))));
    };
    if let Err(error) = thread::Builder::new().spawn(body) {
        return Err(Stuck::Panicked(format!("cannot start a thread: {error}")));
    }
    match receiver.recv_timeout(most) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => Err(Stuck::Hangs),
        Err(RecvTimeoutError::Disconnected) => Err(Stuck::Panicked("no message".to_owned())),
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_comes_back_or_not() {
        let long = Duration::from_secs(60);
        assert_eq!(within(long, || 7), Ok(7));
        assert_eq!(
            within(Duration::from_millis(1), move || thread::sleep(long)),
            Err(Stuck::Hangs)
        );
        let wrong = || -> u8 { std::panic::resume_unwind(Box::new("broken")) };
        assert_eq!(within(long, wrong), Err(Stuck::Panicked("broken".to_owned())));
    }
}
