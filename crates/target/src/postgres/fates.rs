//! What became of transactions, by their numbers.

use std::thread;
use std::time::{Duration, Instant};

use isolde_history::Outcome;
use postgres_protocol::message::backend::Message;

use super::restarts::{Restarts, Since};
use super::wire::{Trouble, Wire, odd, row};
use crate::failure::{After, Failure};
use crate::shown::ServerTxn;

/// How long a transaction that is still in progress is waited for.
const PROGRESS: Duration = Duration::from_secs(2);
/// How many transactions one query asks about.
const CHUNK: usize = 10_000;

/// What became of one transaction whose COMMIT got no answer. Both answers are final: while the server could
/// still get to the COMMIT, the transaction is in progress.
pub(super) fn outcome(
    wire: &mut Wire,
    restarts: &Restarts,
    txn: ServerTxn,
) -> Result<Outcome, Trouble> {
    match restarts.since(txn) {
        Since::Gone => return Ok(Outcome::Aborted),
        Since::Unclear => return Ok(Outcome::Unknown),
        Since::Meant => {}
    }
    let question = format!("SELECT pg_xact_status('{}'::xid8)", txn.id);
    let began = Instant::now();
    loop {
        match wire.simple(&question)?.text().as_str() {
            "committed" => return Ok(Outcome::Committed),
            "aborted" => return Ok(Outcome::Aborted),
            "in progress" if began.elapsed() < PROGRESS => {
                thread::sleep(Duration::from_millis(5));
            }
            _ => return Ok(Outcome::Unknown),
        }
    }
}

/// Of transactions that were confirmed, those that the server says were aborted, or that it does not know.
pub(super) fn lost(
    wire: &mut Wire,
    restarts: &Restarts,
    confirmed: &[ServerTxn],
) -> Result<Vec<ServerTxn>, Failure> {
    let (mut lost, mut meant) = (Vec::new(), Vec::new());
    for txn in confirmed {
        match restarts.since(*txn) {
            Since::Meant => meant.push(*txn),
            Since::Gone => lost.push(*txn),
            Since::Unclear => return Err(unclear()),
        }
    }
    for chunk in meant.chunks(CHUNK) {
        // NULL is said of transactions that are too old to know of.
        let statuses = each(wire, chunk, "pg_xact_status(x)").map_err(failed)?;
        let aborted = |status: &Option<String>| status.as_deref() == Some("aborted");
        let all = chunk.iter().zip(statuses);
        lost.extend(all.filter(|(_, status)| aborted(status)).map(|(txn, _)| *txn));
    }
    lost.sort_unstable();
    Ok(lost)
}

/// When each transaction was committed by the server's clock, in microseconds; nothing if it does not keep
/// that.
pub(super) fn commit_times(
    wire: &mut Wire,
    restarts: &Restarts,
    txns: &[ServerTxn],
) -> Result<Option<Vec<Option<i64>>>, Trouble> {
    if wire.show("track_commit_timestamp")? != "on" {
        return Ok(None);
    }
    let mut times = Vec::with_capacity(txns.len());
    for chunk in txns.chunks(CHUNK) {
        let what = "(extract(epoch FROM pg_xact_commit_timestamp(x::xid)) * 1000000)::bigint";
        let told = each(wire, chunk, what)?;
        let means = |txn: &ServerTxn| restarts.since(*txn) == Since::Meant;
        let time = |(txn, told): (_, Option<String>)| told.filter(|_| means(txn))?.parse().ok();
        times.extend(chunk.iter().zip(told).map(time));
    }
    Ok(Some(times))
}

/// One value for each transaction `x`, in their order.
fn each(wire: &mut Wire, txns: &[ServerTxn], what: &str) -> Result<Vec<Option<String>>, Trouble> {
    let ids: Vec<String> = txns.iter().map(|txn| txn.id.to_string()).collect();
    let query = format!(
        "SELECT {what} FROM unnest('{{{}}}'::xid8[]) WITH ORDINALITY AS ids (x, place) ORDER BY place",
        ids.join(",")
    );
    let mut values = Vec::with_capacity(txns.len());
    wire.watch(&query, &mut |message| {
        if let Message::DataRow(body) = message {
            let value = row(&body)?.into_iter().next().flatten();
            values.push(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(())
    })?;
    if values.len() == txns.len() { Ok(values) } else { Err(odd("not one row for each")) }
}

fn failed(trouble: Trouble) -> Failure {
    super::failure::in_transaction(trouble, b'I')
}

fn unclear() -> Failure {
    let what = "the server was started again, and when a session next came it did not say any more where \
                its numbers of transactions had gone on";
    Failure::new(After::Lost, "restart", what)
}
