//! A session: reads at once, writes when it commits.

use std::collections::BTreeMap;

use isolde_history::{OpKind, Timestamp};

use super::gateway::{Gateway, KeyValue};
use crate::failure::{After, Failure};
use crate::request::{Answer, Request};
use crate::target::{Ended, Session};
use crate::timestamps::Timestamps;

/// What a transaction has done so far.
#[derive(Default)]
struct EtcdTxn {
    /// What was read, as it was.
    read: BTreeMap<String, KeyValue>,
    /// What is to be put.
    puts: BTreeMap<String, String>,
}

/// A session on one node.
pub(super) struct EtcdSession {
    gateway: Gateway,
    prefix: String,
    /// Whether reads are answered by the node alone.
    stale: bool,
    txn: Option<EtcdTxn>,
    /// The revision of what the last access read, 0 if there was nothing.
    seen: i64,
    /// The revision of the last commit.
    committed: Option<i64>,
}

impl EtcdSession {
    pub(super) fn new(gateway: Gateway, prefix: String, stale: bool) -> EtcdSession {
        EtcdSession { gateway, prefix, stale, txn: None, seen: 0, committed: None }
    }

    /// What is under a key, as this transaction sees it.
    fn look(&mut self, key: &str) -> Result<Option<String>, Failure> {
        self.seen = 0;
        let txn = self.txn.as_mut().ok_or_else(no_transaction)?;
        if let Some(text) = txn.puts.get(key) {
            return Ok(Some(text.clone()));
        }
        if !txn.read.contains_key(key) {
            let found = self.gateway.get(key, self.stale)?;
            txn.read.insert(key.to_owned(), found);
        }
        let found = txn.read.get(key);
        self.seen = found.map_or(0, |found| found.revision);
        Ok(found.and_then(|found| found.text.clone()))
    }

    fn put(&mut self, key: String, text: String) -> Result<Answer, Failure> {
        self.txn.as_mut().ok_or_else(no_transaction)?.puts.insert(key, text);
        Ok(Answer::Done(true))
    }
}

impl Session for EtcdSession {
    fn begin(&mut self) -> Result<(), Failure> {
        self.txn = Some(EtcdTxn::default());
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let key = key(&self.prefix, request.table, request.row);
        let value = request.value.to_string();
        if request.kind == OpKind::Write {
            self.seen = 0;
            return self.put(key, value);
        }
        let text = self.look(&key)?;
        let numbers = match text.as_deref().map(numbers) {
            None => None,
            Some(Some(numbers)) => Some(numbers),
            Some(None) => {
                return Err(Failure::impossible(request, &text.unwrap_or_default()));
            }
        };
        match (request.kind, numbers) {
            (OpKind::ListRead, list) => Ok(Answer::List(list)),
            (OpKind::Append | OpKind::InsertIfAbsent, None) => self.put(key, value),
            (OpKind::Append, Some(_)) => {
                self.put(key, format!("{} {value}", text.unwrap_or_default()))
            }
            (OpKind::Read, None) => Ok(Answer::Value(None)),
            (OpKind::Read, Some(numbers)) => match numbers.as_slice() {
                [value] => Ok(Answer::Value(Some(*value))),
                others => Err(Failure::impossible(request, &format!("{others:?} in a register"))),
            },
            (OpKind::Cas, Some(numbers)) if numbers == [request.expected] => self.put(key, value),
            (OpKind::Cas | OpKind::InsertIfAbsent, _) => Ok(Answer::Done(false)),
            (other, _) => {
                let message = format!("etcd has no way to do {other:?}");
                Err(Failure::new(After::Open, "unsupported", message))
            }
        }
    }

    fn revision(&self) -> Option<i64> {
        (self.seen > 0).then_some(self.seen)
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        self.committed = None;
        let txn = self.txn.take().ok_or_else(no_transaction)?;
        if txn.read.is_empty() && txn.puts.is_empty() {
            return Ok(Ended::Committed);
        }
        let read = txn.read.iter().map(|(key, found)| (key, found.revision));
        let answer = self.gateway.commit(read, txn.puts.iter())?;
        if !answer.succeeded {
            let message = "another transaction changed a key that was read";
            return Err(Failure::conflict(After::Aborted, "conflict", message));
        }
        self.committed = answer.revision;
        Ok(Ended::Committed)
    }

    /// There is no start: each read stands at a revision of its own, and there never was a snapshot. The
    /// commit compared all of them again, by a linearizable request, also if the reads were answered by a
    /// node that was behind: what was old failed there. So the whole transaction stands at the revision of
    /// its commit, whichever way it read.
    fn timestamps(&self) -> Timestamps {
        Timestamps { start: None, commit: self.committed.map(Timestamp::plain) }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.txn = None;
        Ok(())
    }
}

pub(super) fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split(' ').map(|word| word.parse().ok()).collect()
}

fn no_transaction() -> Failure {
    Failure::new(After::Aborted, "no-transaction", "there is no transaction")
}

pub(super) fn key(prefix: &str, table: u32, row: u32) -> String {
    format!("{prefix}{table}/{row}")
}
