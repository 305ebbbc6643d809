//! `ack N`: which lines of a connection are safe.

use std::io::Write;

use crate::feed::{Feed, Message, Over};
use crate::receipt::Receipts;

/// Tells a connection how many of its lines are safe; where no state is kept, it tells nothing.
pub(crate) struct Acks(Option<Open>);

struct Open {
    receipts: Receipts,
    out: Box<dyn Write>,
}

impl Acks {
    /// Tells nothing.
    pub(crate) fn none() -> Acks {
        Acks(None)
    }

    /// Tells it there.
    pub(crate) fn to(out: Box<dyn Write>) -> Acks {
        Acks(Some(Open { receipts: Receipts::new(), out }))
    }

    /// Asks for a receipt for the lines that have been sent by now.
    pub(crate) fn ask(&mut self, lines: u64, feed: &Feed) -> Result<(), Over> {
        let receipt = self.0.as_mut().and_then(|open| open.receipts.ask(lines));
        receipt.map_or(Ok(()), |receipt| feed.send(Message::Receipt(receipt)))
    }

    /// Tells what has become safe. A client that does not read it is not told any more.
    pub(crate) fn pass_on(&mut self) {
        let Some(open) = &mut self.0 else { return };
        if open.receipts.safe().is_some_and(|lines| open.tell(lines).is_err()) {
            self.0 = None;
        }
    }

    /// Waits until every line is safe, and tells that, too.
    pub(crate) fn last(self) {
        let Some(Open { receipts, mut out }) = self.0 else { return };
        if let Some(lines) = receipts.wait() {
            // The client may have gone away.
            let _ = tell(lines, &mut out);
        }
    }
}

impl Open {
    fn tell(&mut self, lines: u64) -> std::io::Result<()> {
        tell(lines, &mut self.out)
    }
}

fn tell(lines: u64, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(format!("ack {lines}\n").as_bytes())?;
    out.flush()
}
