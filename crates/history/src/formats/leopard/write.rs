//! Writes a history as slices and tables, and refuses by name what they cannot say.

use std::io::Write;

use hashbrown::HashSet;

use crate::error::SinkError;
use crate::format::MakeFile;
use crate::formats::leopard::words::ThreadClock;
use crate::formats::leopard::write::initial::Tables;
use crate::formats::leopard::write::slice::{Slice, refuse, show};
use crate::formats::leopard::write::transaction::TransactionWriter;
use crate::history::{History, Txn};
use crate::ids::SessionId;
use crate::meta::{Clock, info};
use crate::value::Value;

mod event;
mod initial;
mod members;
mod slice;
mod statement;
mod transaction;

/// Writes one slice for all threads. Initial rows have no place in it.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    check_frame(history)?;
    if let Some((key, _)) = history.meta().initial.given.first() {
        let key = show(history.pool(), history.pool().key_name(*key));
        return Err(refuse(format!("the initial row {key}, which takes a folder with init_data")));
    }
    let mut slice = Slice::new(out);
    let mut names = TxnNames::of(history);
    for session in sessions(history) {
        thread(history, session, &mut names, &mut slice)?;
    }
    event::write(history, &mut slice)?;
    slice.finish()
}

/// Writes the folder: a slice for each thread, one for events, and a table for the initial rows of each.
pub(super) fn write_folder(history: &History, make: &mut MakeFile<'_>) -> Result<(), SinkError> {
    check_frame(history)?;
    let tables = Tables::of(history)?;
    let mut names = TxnNames::of(history);
    let mut any = false;
    for (number, session) in sessions(history).enumerate() {
        let mut file = make(&format!("trace/loader-{number}.0.json"))?;
        let mut slice = Slice::new(&mut *file);
        thread(history, session, &mut names, &mut slice)?;
        slice.finish()?;
        any = true;
    }
    if !history.events().is_empty() || !any {
        let mut file = make("trace/loader-events.0.json")?;
        let mut slice = Slice::new(&mut *file);
        event::write(history, &mut slice)?;
        slice.finish()?;
    }
    tables.write(history.pool(), make)
}

/// The sessions that have done something.
fn sessions(history: &History) -> impl Iterator<Item = SessionId> + '_ {
    let all = (0..history.session_count() as u32).map(SessionId);
    all.filter(|session| !history.session(*session).is_empty())
}

/// The names of transactions.
struct TxnNames {
    /// Whether transactions have names; otherwise their positions stand in.
    labelled: bool,
    seen: HashSet<Value>,
}

impl TxnNames {
    fn of(history: &History) -> TxnNames {
        let labelled = history.txns().any(|txn| txn.label().is_some());
        TxnNames { labelled, seen: HashSet::new() }
    }

    fn check(&mut self, txn: Txn<'_>) -> Result<(), String> {
        match txn.label() {
            None if self.labelled => Err("it has no name, but others have".to_owned()),
            Some(label) if !self.seen.insert(label) => {
                Err("another transaction has the same name".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// All that one thread did.
fn thread(
    history: &History,
    session: SessionId,
    names: &mut TxnNames,
    slice: &mut Slice<'_>,
) -> Result<(), SinkError> {
    let mut clock = ThreadClock::default();
    for id in history.session(session) {
        let txn = history.txn(*id);
        let written = names
            .check(txn)
            .and_then(|()| TransactionWriter::of(history, txn, &mut clock)?.transaction(slice));
        written.map_err(|what| refuse(format!("{}: {what}", title(history, txn))))?;
        slice.flush_some()?;
    }
    Ok(())
}

/// What is known of the history as a whole.
fn check_frame(history: &History) -> Result<(), SinkError> {
    let (meta, pool) = (history.meta(), history.pool());
    if !history.rows_by_column() {
        return Err(refuse("operations on whole values, for its rows are told by column"));
    }
    if meta.initial.default != Some(Value::ABSENT) {
        return Err(refuse("keys that are not absent at first"));
    }
    let mut facts = meta.info.iter().filter(|(name, _)| pool.as_text(*name) != Some(info::ROWS));
    if let Some((name, _)) = facts.next() {
        return Err(refuse(format!("the fact {} about the run", show(pool, *name))));
    }
    if meta.clock != Clock::Nanoseconds {
        return Err(refuse("times that count events"));
    }
    if !meta.complete {
        return Err(refuse("that the history is incomplete"));
    }
    if let Some((key, _)) = history.version_orders().first() {
        let key = show(pool, pool.key_name(*key));
        return Err(refuse(format!("the order of the versions of key {key}")));
    }
    Ok(())
}

/// What to call a transaction in messages.
fn title(history: &History, txn: Txn<'_>) -> String {
    match txn.label() {
        Some(label) => format!("transaction {}", show(history.pool(), label)),
        None => format!("the transaction at position {}", txn.id().index() + 1),
    }
}
