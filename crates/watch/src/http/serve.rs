//! `POST /check`: transactions, as lines or as TimeKiller's array.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::body::read_body;
use super::request::{Answer, RequestHead, read_head};
use crate::decode::{Decoder, Head};
use crate::feed::{Feed, Message, Over};
use crate::frame::MAX_LINE;
use crate::gather::Gather;
use crate::inbox::Patient;
use crate::listen::each_connection;
use crate::receipt::Receipts;
use crate::said::Said;

/// How long a client may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// What all requests share: a header that came with one of them holds for those that follow without one.
#[derive(Clone)]
pub(crate) struct Bodies {
    name: String,
    said: Arc<Said>,
    head: Arc<Mutex<Option<Arc<Head>>>>,
    /// Whether state is kept, so that an answer says that what came is safe.
    keeps: bool,
}

/// Serves requests until the watch is over.
pub(crate) fn run(listener: &TcpListener, bodies: &Bodies, feed: &Feed) -> Result<(), Over> {
    let bodies = bodies.clone();
    each_connection(listener, feed, move |number, connection, feed| {
        // A client that goes away loses its answer.
        let _ = serve(number, &connection, &bodies, feed);
    })
}

fn serve(number: u64, connection: &TcpStream, bodies: &Bodies, feed: &Feed) -> std::io::Result<()> {
    let mut out = connection;
    out.set_write_timeout(Some(SILENCE))?;
    let mut stream = BufReader::new(Patient { stream: connection, feed, most: SILENCE });
    for request in 1.. {
        let head = match read_head(&mut stream) {
            Ok(Some(head)) => head,
            Ok(None) => break,
            Err(refusal) => return refusal.write(&mut out),
        };
        let mut answer = match refused(&head) {
            Some(refusal) => refusal.last(),
            None => {
                if head.expects {
                    out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                }
                let which = format!("{} connection {number} request {request}", bodies.name);
                match read_body(&head, MAX_LINE, &mut stream) {
                    Ok(body) => bodies.take(&which, body, feed),
                    Err(refusal) => {
                        // What was in it is missing, unless the client sends it again.
                        let _ =
                            feed.send(Message::Bad(format!("{which}: {}", refusal.body.trim())));
                        if bodies.keeps && !is_safe(feed) { over() } else { refusal }
                    }
                }
            }
        };
        answer.close |= head.close;
        answer.write(&mut out)?;
        if answer.close {
            break;
        }
    }
    Ok(())
}

/// What is refused before the body is looked at.
fn refused(head: &RequestHead) -> Option<Answer> {
    if head.path != "/check" {
        return Some(Answer::refusal(404, "there is only POST /check"));
    }
    if head.method != "POST" {
        return Some(Answer::refusal(405, "send transactions with POST"));
    }
    // A page on the internet can make a browser send requests to this machine.
    head.from_page.then(|| Answer::refusal(403, "pages in a browser may not send transactions"))
}

impl Bodies {
    pub(crate) fn new(name: &str, said: &Arc<Said>) -> Bodies {
        let (name, said) = (name.to_owned(), Arc::clone(said));
        Bodies { name, said, head: Arc::default(), keeps: false }
    }

    /// The same where state is kept, with the header that came before a restart.
    pub(crate) fn kept(self, head: Option<Arc<Head>>) -> Bodies {
        Bodies { head: Arc::new(Mutex::new(head)), keeps: true, ..self }
    }

    /// Takes all of a body, or nothing. Where state is kept, the answer waits until what became of it is safe.
    pub(crate) fn take(&self, which: &str, body: Vec<u8>, feed: &Feed) -> Answer {
        let answer = self.pass_on(which, body, feed);
        if self.keeps && !is_safe(feed) {
            return over();
        }
        answer
    }

    fn pass_on(&self, which: &str, body: Vec<u8>, feed: &Feed) -> Answer {
        let begins = body.trim_ascii_start().first().copied();
        let messages =
            if begins == Some(b'[') { self.array(which, body) } else { self.lines(which, &body) };
        let messages = match messages {
            Ok(messages) => messages,
            Err(why) => {
                let _ = feed.send(Message::Bad(why.clone()));
                return Answer::refusal(400, &why);
            }
        };
        let txns = |message: &Message| match message {
            Message::Batch { history, .. } => history.txn_count(),
            _ => 0,
        };
        let accepted: usize = messages.iter().map(txns).sum();
        match feed.send_all(messages) {
            Ok(()) => Answer::json(200, &json!({ "accepted": accepted })),
            Err(Over) => over(),
        }
    }

    fn array(&self, which: &str, body: Vec<u8>) -> Result<Vec<Message>, String> {
        let said = Arc::clone(&self.said);
        let decoder = Decoder { name: which.to_owned(), said, head: self.head() };
        let decoded = decoder.array(body).map_err(|error| error.to_string())?;
        let notices = decoded.warnings.into_iter().map(Message::Notice);
        Ok(notices.chain(decoded.batch.map(Message::batch)).collect())
    }

    fn lines(&self, which: &str, body: &[u8]) -> Result<Vec<Message>, String> {
        let mut gather = Gather::new(which, &self.said, self.head());
        let mut messages = gather.push(body);
        messages.extend(gather.end());
        let bad = messages.iter().find_map(|message| match message {
            Message::Bad(why) => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = bad {
            return Err(why);
        }
        if let Some(at) = gather.head_offset() {
            *self.head.lock().unwrap_or_else(PoisonError::into_inner) = gather.head();
            let rest = body.get(at as usize..).unwrap_or_default();
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if self.keeps {
                messages.insert(0, Message::Header(line.to_vec()));
            }
        }
        Ok(messages)
    }

    fn head(&self) -> Option<Arc<Head>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn over() -> Answer {
    Answer::refusal(503, "the watch is over").last()
}

/// Waits until everything is safe that was sent before.
fn is_safe(feed: &Feed) -> bool {
    let mut receipts = Receipts::new();
    let receipt = receipts.ask(1);
    let asked = receipt.is_none_or(|receipt| feed.send(Message::Receipt(receipt)).is_ok());
    asked && receipts.wait().is_some()
}
