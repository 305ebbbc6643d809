//! Reading from a connection or a pipe that may be silent for long.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::acks::Acks;
use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, LINGER};

/// How much is read at a time.
const PIECE: usize = 256 << 10;

/// What reads as a socket with a time limit does: an error of these kinds says that nothing has come yet.
pub(crate) fn is_nothing_yet(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// How long a read may wait.
pub(crate) const WAIT: Duration = LINGER;

/// Reads lines until the other side is through. Reads must not wait for longer than [`WAIT`].
pub(crate) fn read_to_end(
    stream: &mut dyn Read,
    gather: &mut Gather,
    acks: &mut Acks,
    feed: &Feed,
) -> Result<(), Over> {
    let mut piece = vec![0; PIECE];
    loop {
        if feed.is_over() {
            return Err(Over);
        }
        acks.ask(gather.passed(), feed)?;
        acks.pass_on();
        match stream.read(&mut piece) {
            Ok(0) => {
                feed.send_all(gather.end())?;
                return acks.ask(gather.passed(), feed);
            }
            Ok(len) => feed.send_all(gather.push(&piece[..len]))?,
            Err(error) if is_nothing_yet(error.kind()) => {
                let mut out = Vec::new();
                gather.flush_if_due(&mut out);
                feed.send_all(out)?;
            }
            Err(error) => {
                feed.send_all(gather.end())?;
                return feed.send(Message::Notice(format!("a connection was lost: {error}")));
            }
        }
    }
}

/// Reads on where nothing has come yet, until the watch is over, the other side has been silent for too long, or what it
/// began takes too long as a whole.
pub(crate) struct Patient<'f, R> {
    pub(crate) stream: R,
    pub(crate) feed: &'f Feed,
    pub(crate) most: Duration,
    /// How long the whole may take, from its first byte on.
    pub(crate) whole: Duration,
    /// When its first byte came; nothing between two requests.
    pub(crate) since: Option<Instant>,
}

impl<R: Read> Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let began = Instant::now();
        loop {
            if self.since.is_some_and(|since| since.elapsed() > self.whole) {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.stream.read(buffer) {
                Err(error) if is_nothing_yet(error.kind()) => {
                    if self.feed.is_over() || began.elapsed() > self.most {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                done => {
                    self.since.get_or_insert_with(Instant::now);
                    return done;
                }
            }
        }
    }
}

/// Whether a signal came in between, and reading can go on.
pub(crate) fn is_interrupted(read: &std::io::Result<usize>) -> bool {
    read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::feed::feed;

    /// Gives a byte, but takes its time.
    struct Slow;

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            std::thread::sleep(Duration::from_millis(2));
            buffer[0] = b'x';
            Ok(1)
        }
    }

    #[test]
    fn a_byte_now_and_then_does_not_keep_a_connection() {
        let (feed, _fed) = feed();
        let (most, whole) = (Duration::from_secs(60), Duration::from_millis(50));
        let mut patient = Patient { stream: Slow, feed: &feed, most, whole, since: None };
        let mut all = Vec::new();
        let error = patient.read_to_end(&mut all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // The next request has its own time.
        patient.since = None;
        assert_eq!(patient.read(&mut [0]).unwrap(), 1);
    }
}
