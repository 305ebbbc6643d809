//! Makes a target of any key-value engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use isolde_history::OpKind;

use crate::embedded::cells::{after, decode, encode, key};
use crate::embedded::engine::{Engine, Fault};
use crate::embedded::guard::{drop_guarded, guarded};
use crate::embedded::paths;
use crate::failure::{After, Failure};
use crate::offer::Offer;
use crate::path::Path;
use crate::request::{Answer, Request};
use crate::target::{Contents, Ended, Session, Table, Target};

/// How many rows are filled or removed in one transaction: engines keep what is not committed in
/// memory.
const ROWS_A_TRANSACTION: u32 = 1000;

/// A key-value engine as a target.
pub(crate) struct Embedded<E: Engine> {
    /// Always there but while it is dropped.
    engine: Option<Arc<E>>,
    /// What was made, to be removed.
    tables: Mutex<Vec<Table>>,
    /// Of each table, up to which row there is room.
    prepared: Mutex<HashMap<u32, u32>>,
}

impl<E: Engine> Embedded<E> {
    /// A target of an engine that is open.
    pub(crate) fn new(engine: E) -> Embedded<E> {
        Embedded {
            engine: Some(Arc::new(engine)),
            tables: Mutex::default(),
            prepared: Mutex::default(),
        }
    }

    fn engine(&self) -> Result<Arc<E>, Failure> {
        self.engine.clone().ok_or_else(|| Failure::new(After::Lost, "closed", "it was closed"))
    }

    fn session(&self, offer: &'static str) -> Result<EmbeddedSession<E>, Failure> {
        Ok(EmbeddedSession { engine: self.engine()?, offer, txn: None })
    }

    /// Makes room for the rows of a table, unless one of that number was there before.
    fn prepare(&self, table: &Table) -> Result<(), Failure> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let from = prepared.get(&table.number).copied().unwrap_or(0);
        let engine = self.engine()?;
        for row in from..table.rows {
            let key = key(table.number, row);
            guarded(|| engine.prepare(&key).map_err(|fault| failure(fault, After::Open)))?;
        }
        prepared.insert(table.number, from.max(table.rows));
        Ok(())
    }

    /// Does something to each row of a table, in transactions of their own.
    fn each_row(
        &self,
        rows: u32,
        mut act: impl FnMut(&E, &mut E::Txn, u32) -> Result<(), Fault>,
    ) -> Result<(), Failure> {
        // The strongest offer: some engines have weaker ones that refuse large transactions.
        let mut session = self.session(E::ABOUT.offers.last().map_or("", |o| o.name))?;
        for first in (0..rows).step_by(ROWS_A_TRANSACTION as usize) {
            session.begin()?;
            for row in first..rows.min(first.saturating_add(ROWS_A_TRANSACTION)) {
                session.with(|engine, txn| act(engine, txn, row))?;
            }
            session.commit()?;
        }
        Ok(())
    }
}

impl<E: Engine> Target for Embedded<E> {
    fn name(&self) -> &str {
        E::ABOUT.name
    }

    fn version(&self) -> &str {
        E::ABOUT.version
    }

    fn facts(&self) -> Vec<(String, String)> {
        let facts = E::ABOUT.facts.iter();
        facts.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn offers(&self) -> &'static [Offer] {
        E::ABOUT.offers
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        paths::ways(kind, E::ABOUT.scans, E::ABOUT.locks)
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.iter().any(|t| t.number == table.number) {
            let message = format!("table {} is there already", table.number);
            return Err(Failure::new(After::Open, "table", message));
        }
        tables.push(*table);
        self.prepare(table)?;
        if table.filled && table.contents == Contents::Registers {
            let zero = encode(&[0]);
            self.each_row(table.rows, |engine, txn, row| {
                engine.put(txn, &key(table.number, row), &zero)
            })?;
        }
        Ok(())
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        // The name of ours rather than the caller's, which need not live as long.
        match E::ABOUT.offers.iter().find(|o| o.name == offer.name) {
            Some(offer) => Ok(Box::new(self.session(offer.name)?)),
            None => {
                let message = format!("{} does not offer {}", E::ABOUT.name, offer.name);
                Err(Failure::new(After::Lost, "offer", message))
            }
        }
    }

    fn clean(&self) -> Result<(), Failure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(table) = tables.last().copied() {
            self.each_row(table.rows, |engine, txn, row| {
                let key = key(table.number, row);
                if engine.get(txn, &key)?.is_some() { engine.delete(txn, &key) } else { Ok(()) }
            })?;
            tables.pop();
        }
        Ok(())
    }
}

impl<E: Engine> Drop for Embedded<E> {
    fn drop(&mut self) {
        drop_guarded(self.engine.take());
    }
}

/// A session: an engine in this process has none of its own, only transactions.
struct EmbeddedSession<E: Engine> {
    engine: Arc<E>,
    offer: &'static str,
    txn: Option<E::Txn>,
}

impl<E: Engine> EmbeddedSession<E> {
    /// Does something inside the transaction.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&E, &mut E::Txn) -> Result<T, Fault>,
    ) -> Result<T, Failure> {
        let EmbeddedSession { engine, txn, .. } = self;
        let txn = txn.as_mut().ok_or_else(no_transaction)?;
        // An error leaves the transaction for us to roll back, whatever the engine did to it.
        let answer = guarded(|| act(engine, txn).map_err(|fault| failure(fault, After::Open)));
        if matches!(&answer, Err(failure) if failure.after == After::Lost) {
            self.forget();
        }
        answer
    }

    fn forget(&mut self) {
        drop_guarded(self.txn.take());
    }

    /// The integers of a row, found by a path.
    fn find(&mut self, request: &Request) -> Result<Option<Vec<i64>>, Failure> {
        let key = key(request.table, request.row);
        let path = request.path;
        let bytes = self.with(|engine, txn| match path {
            Path::ForUpdate => engine.get_for_update(txn, &key),
            Path::Range => engine.scan(txn, &key, &after(key)).map(|pairs| pick(pairs, &key)),
            Path::Scan => {
                let (from, to) = whole(request.table);
                engine.scan(txn, &from, &to).map(|pairs| pick(pairs, &key))
            }
            _ => engine.get(txn, &key),
        })?;
        let Some(bytes) = bytes else { return Ok(None) };
        decode(&bytes)
            .map(Some)
            .ok_or_else(|| Failure::impossible(request, &format!("{} bytes", bytes.len())))
    }

    fn set(&mut self, request: &Request, numbers: &[i64]) -> Result<Answer, Failure> {
        let key = key(request.table, request.row);
        let value = encode(numbers);
        let replace = request.path == Path::Replace;
        self.with(|engine, txn| {
            if replace && engine.get(txn, &key)?.is_some() {
                engine.delete(txn, &key)?;
            }
            engine.put(txn, &key, &value)
        })?;
        Ok(Answer::Done(true))
    }
}

impl<E: Engine> Session for EmbeddedSession<E> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.forget();
        let EmbeddedSession { engine, offer, .. } = self;
        // There is no transaction to be rolled back if none began.
        let begin = || engine.begin(offer).map_err(|fault| failure(fault, After::Aborted));
        self.txn = Some(guarded(begin)?);
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        match request.kind {
            OpKind::Read => {
                // A register holds one integer; anything else was not written by us.
                match self.find(request)?.as_deref() {
                    None => Ok(Answer::Value(None)),
                    Some([value]) => Ok(Answer::Value(Some(*value))),
                    Some(others) => {
                        Err(Failure::impossible(request, &format!("{others:?} in a register")))
                    }
                }
            }
            OpKind::ListRead => self.find(request).map(Answer::List),
            OpKind::Write => self.set(request, &[request.value]),
            OpKind::Append => {
                let mut list = self.find(request)?.unwrap_or_default();
                list.push(request.value);
                self.set(request, &list)
            }
            OpKind::Cas => match self.find(request)? {
                Some(numbers) if numbers == [request.expected] => {
                    self.set(request, &[request.value])
                }
                _ => Ok(Answer::Done(false)),
            },
            OpKind::InsertIfAbsent => match self.find(request)? {
                None => self.set(request, &[request.value]),
                Some(_) => Ok(Answer::Done(false)),
            },
            other => {
                let message = format!("a key-value engine has no way to do {other:?}");
                Err(Failure::new(After::Open, "unsupported", message))
            }
        }
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        let txn = self.txn.take().ok_or_else(no_transaction)?;
        let engine = &self.engine;
        guarded(|| {
            engine.commit(txn).map_err(|fault| match fault {
                Fault::Conflict(_) => failure(fault, After::Aborted),
                Fault::Other(_) => failure(fault, After::Lost),
            })
        })?;
        Ok(Ended::Committed)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        let Some(txn) = self.txn.take() else { return Ok(()) };
        let engine = &self.engine;
        guarded(|| engine.rollback(txn).map_err(|fault| failure(fault, After::Lost)))
    }
}

impl<E: Engine> Drop for EmbeddedSession<E> {
    fn drop(&mut self) {
        self.forget();
    }
}

fn no_transaction() -> Failure {
    Failure::new(After::Aborted, "no-transaction", "there is no transaction")
}

fn failure(fault: Fault, after: After) -> Failure {
    match fault {
        Fault::Conflict(message) => Failure::conflict(after, "conflict", message),
        Fault::Other(message) => Failure::new(after, "error", message),
    }
}

/// The value of one key among pairs.
fn pick(pairs: Vec<(Vec<u8>, Vec<u8>)>, key: &[u8]) -> Option<Vec<u8>> {
    pairs.into_iter().find(|(k, _)| k == key).map(|(_, value)| value)
}

/// The range of a whole table.
fn whole(table: u32) -> ([u8; 8], [u8; 8]) {
    (key(table, 0), after(key(table, u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::engine::{EngineAbout, Pair};
    use isolde_spec::Level;

    /// An engine that panics wherever it can.
    struct Bomb;

    /// A transaction that does so when it is dropped.
    struct Fuse;

    impl Drop for Fuse {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }

    const OFFER: Offer =
        Offer { name: "none", promises: Level::ReadUncommitted, remark: "for tests" };

    impl Engine for Bomb {
        const ABOUT: EngineAbout = EngineAbout {
            name: "bomb",
            version: "0",
            offers: &[OFFER],
            scans: false,
            locks: false,
            facts: &[],
        };

        type Txn = Fuse;

        fn begin(&self, _offer: &str) -> Result<Fuse, Fault> {
            Ok(Fuse)
        }

        fn get(&self, _txn: &mut Fuse, _key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
            panic!("in the middle");
        }

        fn scan(&self, _txn: &mut Fuse, _from: &[u8], _to: &[u8]) -> Result<Vec<Pair>, Fault> {
            Err(Fault::other("no scans"))
        }

        fn put(&self, _txn: &mut Fuse, _key: &[u8], _value: &[u8]) -> Result<(), Fault> {
            Err(Fault::conflict("in the way"))
        }

        fn delete(&self, _txn: &mut Fuse, _key: &[u8]) -> Result<(), Fault> {
            Ok(())
        }

        fn commit(&self, _txn: Fuse) -> Result<(), Fault> {
            panic!("at the end");
        }
    }

    #[test]
    fn an_engine_that_panics_costs_a_session_and_no_more() {
        let target = Embedded::new(Bomb);
        let mut session = target.connect(&OFFER).unwrap();
        let request = Request {
            table: 0,
            row: 0,
            kind: OpKind::Read,
            path: Path::PrimaryKey,
            value: 1,
            expected: 0,
        };
        session.begin().unwrap();
        let lost = session.run(&request).unwrap_err();
        assert_eq!((lost.after, lost.code.as_str()), (After::Lost, "panic"));
        assert_eq!(lost.message, "the engine panicked: in the middle");
        session.begin().unwrap();
        let write = Request { kind: OpKind::Write, ..request };
        let conflict = session.run(&write).unwrap_err();
        assert_eq!((conflict.after, conflict.expected), (After::Open, true));
        assert_eq!(session.rollback().unwrap_err().after, After::Lost);
        session.begin().unwrap();
        let unknown = session.commit().unwrap_err();
        assert_eq!((unknown.after, unknown.expected), (After::Lost, false));
        assert_eq!(session.commit().unwrap_err().code, "no-transaction");
        session.begin().unwrap();
        drop(session);
    }
}
