//! `isolde replay`.

mod order;
mod promises;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use isolde_history::{
    Event, History, JsonlWriter, LostCommit, Replay, SessionEvent, SessionId, Sink, StreamPromise,
    Txn, TxnId,
};
use isolde_job::{output, shown};

use crate::address::To;
use crate::args::ReplayArgs;
use crate::exit::is_broken_pipe;
use crate::reading;
use order::{How, Recorded, order};
use promises::Promises;

/// After how many transactions promises are made again.
const PROMISE_EVERY: usize = 1000;

pub(crate) fn run(args: &ReplayArgs) -> Result<()> {
    let history = reading::load(&args.history, &args.read)?.history;
    let send = |out: &mut dyn Write| send(&history, args, out);
    match &args.to {
        None => output::write_to("to standard output", std::io::stdout().lock(), send),
        Some(to) => {
            let (name, stream) = connected(to)?;
            // To a pipe that is closed this would be no error: the rest is not wanted.
            output::write_to(&name, stream, send).map_err(|error| match is_broken_pipe(&error) {
                true => anyhow!("{name} hung up before everything was sent"),
                false => error,
            })
        }
    }
}

fn connected(to: &To) -> Result<(String, Box<dyn Write>)> {
    match to {
        To::Tcp(address) => {
            let stream = TcpStream::connect(address);
            let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
            Ok((address.clone(), Box::new(stream)))
        }
        To::Unix(path) => Ok((shown(path), unix(path)?)),
    }
}

#[cfg(unix)]
fn unix(path: &Path) -> Result<Box<dyn Write>> {
    let stream = std::os::unix::net::UnixStream::connect(path);
    Ok(Box::new(stream.with_context(|| format!("cannot connect to {}", shown(path)))?))
}

#[cfg(not(unix))]
fn unix(_: &Path) -> Result<Box<dyn Write>> {
    anyhow::bail!("this system has no such sockets\n  hint: --to HOST:PORT")
}

/// Sends everything: faults first, since they belong to no session; what is said of sessions and versions last, where
/// it is true whatever the order. Promises that were recorded are left out: they spoke of another order.
fn send(history: &History, args: &ReplayArgs, out: &mut dyn Write) -> Result<()> {
    let mut lines = JsonlWriter::new(out);
    let mut replay = Replay::begin(history, &mut lines);
    for event in history.faults() {
        replay.event(event, &mut lines)?;
    }
    send_txns(history, args, &mut replay, &mut lines)?;
    let late = |event: &&Event| {
        SessionEvent::of(history.pool(), event).is_some()
            || LostCommit::of(history.pool(), event).is_some()
    };
    for event in history.events().iter().filter(late) {
        replay.event(event, &mut lines)?;
    }
    replay.orders(&mut lines)?;
    if args.promises {
        promise(&mut lines, StreamPromise { session: None, watermark: None, end: true })?;
    }
    lines.finish()?;
    Ok(())
}

fn send_txns<W: Write>(
    history: &History,
    args: &ReplayArgs,
    replay: &mut Replay<'_>,
    lines: &mut JsonlWriter<W>,
) -> Result<()> {
    let recorded = |txn: Txn<'_>| Recorded {
        session: txn.session(),
        start: txn.start_ts(),
        commit: txn.commit_ts(),
    };
    let txns: Vec<Recorded> = history.txns().map(recorded).collect();
    let rate = Some(args.rate).filter(|rate| *rate > 0);
    let how = How { rate, delay: args.delay, shuffle: args.shuffle, seed: args.seed };
    let sent = order(&txns, how);
    let mut promises = args.promises.then(|| Promises::new(&txns, &sent));
    let name = |session: SessionId| history.pool().session_name(session);
    let began = Instant::now();
    let mut count = 0;
    for batch in sent.chunks(args.batch as usize) {
        if let (Some(_), Some(last)) = (rate, batch.last()) {
            sleep(Duration::from_secs_f64(last.at).saturating_sub(began.elapsed()));
        }
        for sending in batch {
            if let Some(promises) = promises.as_mut().filter(|_| count % PROMISE_EVERY == 0) {
                for (session, least) in promises.now() {
                    let session = session.map(|session| replay.value(name(session)));
                    let watermark = Some(least);
                    promise(lines, StreamPromise { session, watermark, end: false })?;
                }
            }
            replay.txn(TxnId(sending.txn as u32), lines)?;
            count += 1;
            if promises.as_mut().is_some_and(|promises| promises.sent(sending.txn)) {
                let session = Some(replay.value(name(txns[sending.txn].session)));
                promise(lines, StreamPromise { session, watermark: None, end: true })?;
            }
        }
        lines.flush()?;
    }
    Ok(())
}

fn promise(lines: &mut impl Sink, promise: StreamPromise) -> Result<()> {
    let event = promise.to_event(lines.pool());
    Ok(lines.event(event)?)
}
