//! Standard input. It cannot be read with a time limit, so that a thread of its own waits for it.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::agreed::Agreed;
use crate::feed::{Feed, Message, Over};
use crate::gather::Gather;

/// How much is read at a time.
const PIECE: usize = 256 << 10;
/// How many pieces may wait.
const PIECES: usize = 4;
/// How often to ask whether the watch is over.
const ASK: Duration = Duration::from_millis(200);

/// Reads lines until the pipe ends.
pub(crate) fn run(
    mut stream: impl Read + Send + 'static,
    name: &str,
    agreed: &Arc<Agreed>,
    feed: &Feed,
) -> Result<(), Over> {
    let (sender, pieces) = sync_channel::<std::io::Result<Vec<u8>>>(PIECES);
    let read = move || {
        let mut piece = vec![0; PIECE];
        loop {
            let read = stream.read(&mut piece);
            let end = !matches!(read, Ok(1..)) && !crate::inbox::is_interrupted(&read);
            let sent = sender.send(read.map(|len| piece[..len].to_vec()));
            if end || sent.is_err() {
                return;
            }
        }
    };
    // It waits in a read, perhaps for ever, and ends with the process.
    let started = thread::Builder::new().name("watch-input".to_owned()).spawn(read);
    if let Err(error) = started {
        return feed.send(Message::Failed(format!("cannot start a thread: {error}")));
    }
    let mut gather = Gather::new(name, agreed, None);
    loop {
        match pieces.recv_timeout(gather.patience().unwrap_or(ASK)) {
            Ok(Ok(piece)) if piece.is_empty() => break,
            Ok(Ok(piece)) => feed.send_all(gather.push(&piece))?,
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(Err(error)) => {
                feed.send_all(gather.end())?;
                return feed.send(Message::Failed(format!("{name}: cannot read: {error}")));
            }
            Err(RecvTimeoutError::Timeout) => {
                let mut out = Vec::new();
                gather.flush_if_due(&mut out);
                feed.send_all(out)?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if feed.is_over() {
            return Err(Over);
        }
    }
    feed.send_all(gather.end())?;
    feed.send(Message::Ended)
}
