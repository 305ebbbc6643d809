//! Tests of the sources without a network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bytes;
mod http;
mod lines;
mod places;

use crate::agreed::Agreed;
use crate::feed::Message;
use crate::gather::Gather;
use crate::said::Said;

/// A gatherer of lines that nothing is said of.
fn gather() -> Gather {
    Gather::new("s", &Agreed::new(Said::default()), None)
}

/// What came, in short: `3` a batch of three transactions, `3!` with a promise, or the text of anything else.
fn told(messages: &[Message]) -> Vec<String> {
    let told = |message: &Message| match message {
        Message::Batch { history, .. } => {
            let promised = if history.promises().next().is_some() { "!" } else { "" };
            format!("{}{promised}", history.txn_count())
        }
        Message::Bad(why) => format!("bad {why}"),
        Message::Incomplete(why) => format!("incomplete {why}"),
        Message::Opened => "opened".to_owned(),
        Message::Closed => "closed".to_owned(),
        Message::Notice(text) => format!("notice {text}"),
        Message::Header(_) => "header".to_owned(),
        Message::Receipt(_) => "receipt".to_owned(),
        Message::Ended => "ended".to_owned(),
        Message::Failed(why) => format!("failed {why}"),
    };
    messages.iter().map(told).collect()
}
