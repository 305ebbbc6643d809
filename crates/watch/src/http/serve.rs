//! `POST /check`: transactions, as lines or as TimeKiller's array.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::body::{NoBody, read_body};
use super::request::{Answer, RequestHead, read_head};
use crate::agreed::Agreed;
use crate::decode::Decoder;
use crate::feed::{Feed, Message, Over};
use crate::frame::MAX_LINE;
use crate::gather::{Gather, Of};
use crate::head::Head;
use crate::inbox::Patient;
use crate::listen::each_connection;
use crate::receipt::Receipts;
use crate::room::Room;

/// How long a client may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the whole of a request may take to come: who sends a byte now and then keeps a connection from others.
const WHOLE: Duration = Duration::from_secs(120);
/// Why what an array says may stay unknown.
const UNSAID: &str = "TimeKiller's arrays do not say what keys hold at first, and nobody else does: \
                      --initial 0 or --initial absent says it";

/// What all requests share: a header that came with one of them holds for those that follow without one.
#[derive(Clone)]
pub(crate) struct Bodies {
    name: String,
    agreed: Arc<Agreed>,
    head: Arc<Mutex<Option<Arc<Head>>>>,
    /// For bodies, from their first byte until they are answered.
    room: Room,
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
    let patient = Patient { stream: connection, feed, most: SILENCE, whole: WHOLE, since: None };
    let mut stream = BufReader::new(patient);
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
                let mut share = bodies.room.share();
                match read_body(&head, MAX_LINE, &mut stream, &mut share) {
                    Ok(body) => bodies.take(&which, body, feed),
                    Err(none) => bodies.without(&which, &none, feed),
                }
            }
        };
        answer.close |= head.close;
        answer.write(&mut out)?;
        if answer.close {
            break;
        }
        stream.get_mut().since = None;
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
    pub(crate) fn new(name: &str, agreed: &Arc<Agreed>) -> Bodies {
        let (name, agreed) = (name.to_owned(), Arc::clone(agreed));
        Bodies { name, agreed, head: Arc::default(), room: Room::default(), keeps: false }
    }

    /// The same where state is kept, with the header that came before a restart.
    pub(crate) fn kept(self, head: Option<Arc<Head>>) -> Bodies {
        Bodies { head: Arc::new(Mutex::new(head)), keeps: true, ..self }
    }

    /// The answer to a body that was not read. If it was cut, the client has to send it again, and nothing is missing.
    fn without(&self, which: &str, none: &NoBody, feed: &Feed) -> Answer {
        let why = format!("{which}: {}", none.why);
        if none.cut {
            let _ = feed.send(Message::Notice(format!("{why}, and was not taken")));
            return none.answer();
        }
        let _ = feed.send(Message::Bad(why));
        if self.keeps && !is_safe(feed) { over() } else { none.answer() }
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
        let agreed = Arc::clone(&self.agreed);
        let decoder = Decoder { name: which.to_owned(), agreed, head: self.head() };
        let decoded = decoder.array(body).map_err(|error| error.to_string())?;
        let mut messages: Vec<_> = decoded.warnings.into_iter().map(Message::Notice).collect();
        if let Some(batch) = decoded.batch {
            // Else what reads say of the initial state would be taken for wrong.
            if self.agreed.is_unsaid() {
                messages.push(Message::Incomplete(UNSAID.to_owned()));
            }
            messages.push(Message::batch(batch));
        }
        Ok(messages)
    }

    fn lines(&self, which: &str, body: &[u8]) -> Result<Vec<Message>, String> {
        let mut gather = Gather::new(which, &self.agreed, self.head()).of(Of::Body);
        let mut messages = gather.push(body);
        messages.extend(gather.end());
        let bad = messages.iter().find_map(|message| match message {
            Message::Bad(why) => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = bad {
            return Err(why);
        }
        if let (Some(at), Some(head)) = (gather.head_offset(), gather.head()) {
            let mut shared = self.head.lock().unwrap_or_else(PoisonError::into_inner);
            self.agreed.agree(&head).map_err(|why| format!("{which}: {why}"))?;
            *shared = Some(head);
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
