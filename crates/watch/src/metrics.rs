//! `GET /metrics`, as Prometheus asks for it.

use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::address;
use crate::feed::Feed;
use crate::figures::Figures;
use crate::http::{Answer, read_head};
use crate::inbox::Patient;
use crate::listen::each_connection;

/// How long a client may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// What is shown to everyone who asks. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Figures>>);

impl Board {
    /// Shows new figures.
    pub(crate) fn set(&self, figures: Figures) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).to_prometheus()
    }
}

/// Shows figures until the watch is over; says where.
pub(crate) fn start(
    address: &str,
    anywhere: bool,
    board: &Board,
    feed: &Feed,
) -> Result<SocketAddr, String> {
    let listener: TcpListener = address::listen(address, anywhere, "see how it is doing")?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    let (board, feed) = (board.clone(), feed.clone());
    let serve = move || {
        let _ = each_connection(&listener, &feed, move |_, connection, feed| {
            // A client that goes away loses its answer.
            let _ = answer(&connection, &board, feed);
        });
    };
    let started = thread::Builder::new().name("watch-metrics".to_owned()).spawn(serve);
    started.map(|_| at).map_err(|error| format!("cannot start a thread: {error}"))
}

fn answer(connection: &TcpStream, board: &Board, feed: &Feed) -> std::io::Result<()> {
    let mut out = connection;
    out.set_write_timeout(Some(SILENCE))?;
    let patient = Patient { stream: connection, feed, most: SILENCE, whole: SILENCE, since: None };
    let mut stream = BufReader::new(patient);
    let answer = match read_head(&mut stream) {
        Ok(None) => return Ok(()),
        Ok(Some(head)) if head.path != "/metrics" => {
            Answer::refusal(404, "there is only GET /metrics")
        }
        Ok(Some(head)) if head.method != "GET" => Answer::refusal(405, "ask with GET"),
        Ok(Some(_)) => {
            let kind = "text/plain; version=0.0.4";
            Answer { status: 200, kind, body: board.text(), close: true }
        }
        Err(refusal) => refusal,
    };
    answer.last().write(&mut out)
}
