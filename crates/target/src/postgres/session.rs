//! One client of PostgreSQL.

use std::collections::HashMap;

use isolde_history::OpKind;

use super::dialect::WAYS;
use super::evidence::{Asking, Evidence, SNAPSHOT};
use super::failure;
use super::wire::{Reply, Trouble, Wire};
use crate::failure::{After, Failure};
use crate::path::Path;
use crate::request::{Answer, Request};
use crate::shown::{ServerTxn, SnapshotOf, TakenSnapshot};
use crate::sql::{self, Cell, Outcome, Way};
use crate::target::{Ended, Session};

/// A statement that the server knows.
struct Prepared {
    name: String,
    parameters: usize,
    asking: Asking,
}

/// A way to do an access on one table, prepared.
struct PostgresReady {
    way: &'static Way,
    steps: Vec<Prepared>,
}

/// A connection that runs transactions at one level.
pub(super) struct PostgresSession {
    wire: Wire,
    /// What tables are called, but for their numbers.
    prefix: String,
    ready: HashMap<(u32, OpKind, Path), PostgresReady>,
    /// How many statements were prepared, also of ways that could not be prepared to the end.
    prepared: u64,
    /// BEGIN was asked for and goes out together with the first statement. The server takes its
    /// snapshot at the first statement anyway, so nothing can be seen of the delay.
    begin_pending: bool,
    /// Whether BEGIN says READ ONLY.
    read_only: bool,
    /// What the server shows beside its answers, if it shall.
    evidence: Option<Evidence>,
    /// What the statements brought that were sent together last.
    replies: Vec<Reply>,
}

impl PostgresSession {
    /// A session on a fresh connection.
    pub(super) fn new(
        mut wire: Wire,
        prefix: String,
        begin: &str,
        read_only: bool,
        evidence: Option<Evidence>,
    ) -> Result<PostgresSession, Trouble> {
        wire.prepare("begin", begin, 0)?;
        wire.prepare("commit", "COMMIT", 0)?;
        wire.prepare("rollback", "ROLLBACK", 0)?;
        if evidence.is_some() {
            wire.prepare("snapshot", SNAPSHOT, 0)?;
        }
        Ok(PostgresSession {
            wire,
            prefix,
            ready: HashMap::new(),
            prepared: 0,
            begin_pending: false,
            read_only,
            evidence,
            replies: Vec::new(),
        })
    }

    /// What the statement brought; those that are sent with it are not what was asked for.
    fn execute(&mut self, name: &str, parameters: &[i64]) -> Result<Reply, Trouble> {
        if std::mem::take(&mut self.begin_pending) {
            self.wire.add("begin", &[])?;
        }
        self.wire.add(name, parameters)?;
        self.replies.clear();
        self.wire.run(&mut self.replies)?;
        Ok(self.replies.pop().unwrap_or_default())
    }

    /// The same of a statement that may be the first, and that asks for evidence.
    fn execute_step(&mut self, step: &Prepared, parameters: &[i64]) -> Result<Reply, Trouble> {
        let snapshots = self.evidence.as_ref().map(|evidence| evidence.snapshots);
        let first = self.begin_pending && snapshots == Some(SnapshotOf::Transaction);
        if first {
            self.begin_pending = false;
            self.wire.add("begin", &[])?;
            self.wire.add("snapshot", &[])?;
        }
        let reply = self.execute(&step.name, parameters);
        let Some(evidence) = &mut self.evidence else { return reply };
        // After BEGIN; known also if the statement itself failed.
        if let Some(told) = self.replies.get(1).filter(|_| first) {
            evidence.learn_snapshot(told);
        }
        let reply = reply?;
        evidence.learn(&step.asking, &reply);
        Ok(reply)
    }

    /// Prepares a way the first time it is taken: outside of transactions it would be simpler, but
    /// it is not known beforehand which tables and ways there will be.
    fn prepare(&mut self, request: &Request) -> Result<PostgresReady, Failure> {
        let Some(way) = sql::find(&WAYS, request.kind, request.path) else {
            let what = format!("{:?} by {}", request.kind, request.path.name());
            return Err(Failure::new(After::Open, "unsupported", format!("cannot do {what}")));
        };
        self.forget_others(request.table).map_err(|e| self.failed(e))?;
        let mut steps = Vec::new();
        for text in way.steps {
            let asking = match &self.evidence {
                None => Asking::plain(text),
                Some(evidence) => Asking::of(text, evidence.snapshots),
            };
            let table = format!("{}{}", self.prefix, request.table);
            let text = asking.text.replace("{t}", &table);
            self.prepared += 1;
            let name = format!("s{}", self.prepared);
            let parameters = sql::parameters(&text);
            let prepared = self.wire.prepare(&name, &text, parameters);
            prepared.map_err(|e| self.failed(e))?;
            steps.push(Prepared { name, parameters, asking });
        }
        Ok(PostgresReady { way, steps })
    }

    /// Forgets the statements of other tables: a session goes on from table to table, and a server
    /// that keeps the statements of all of them runs out of memory.
    fn forget_others(&mut self, table: u32) -> Result<(), Trouble> {
        let PostgresSession { ready, wire, .. } = self;
        let others = ready.extract_if(|(t, _, _), _| *t != table);
        others.flat_map(|(_, old)| old.steps).try_for_each(|step| wire.forget(&step.name))
    }

    fn failed(&self, trouble: Trouble) -> Failure {
        failure::in_transaction(trouble, self.wire.status)
    }

    fn steps(&mut self, ready: &PostgresReady, request: &Request) -> Result<Outcome, Trouble> {
        let all = [1, 2, 3].map(|number| sql::parameter(request, number));
        let (mut reply, mut rows) = (Reply::default(), 0);
        for (number, step) in ready.steps.iter().enumerate() {
            if number > 0 && ready.way.until_done && rows > 0 {
                break;
            }
            let parameters = all.get(..step.parameters).unwrap_or(&all);
            reply = self.execute_step(step, parameters)?;
            rows = step.asking.rows(&reply);
        }
        let cell = reply.column(0).and_then(|bytes| match request.kind {
            OpKind::Read => Some(
                <[u8; 8]>::try_from(bytes)
                    .map_or(Cell::Text(String::new()), |b| Cell::Integer(i64::from_be_bytes(b))),
            ),
            OpKind::ListRead => Some(Cell::Text(String::from_utf8_lossy(bytes).into_owned())),
            // Whether a write found its row is told by the count.
            _ => None,
        });
        Ok(Outcome { cell, rows })
    }
}

impl Session for PostgresSession {
    fn begin(&mut self) -> Result<(), Failure> {
        self.begin_pending = true;
        if let Some(evidence) = &mut self.evidence {
            evidence.forget();
        }
        Ok(())
    }

    fn begin_reading(&mut self) -> Result<bool, Failure> {
        self.begin()?;
        Ok(self.read_only)
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let key = (request.table, request.kind, request.path);
        let ready = match self.ready.remove(&key) {
            Some(ready) => ready,
            None => self.prepare(request)?,
        };
        let outcome = self.steps(&ready, request);
        self.ready.insert(key, ready);
        let outcome = outcome.map_err(|e| self.failed(e))?;
        let found = format!("{outcome:?}");
        sql::answer(request.kind, outcome).ok_or_else(|| Failure::impossible(request, &found))
    }

    fn snapshot(&mut self) -> Option<TakenSnapshot> {
        self.evidence.as_mut()?.take_snapshot()
    }

    fn server_txn(&self) -> Option<ServerTxn> {
        self.evidence.as_ref()?.txn
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        let reply = self.execute("commit", &[]).map_err(failure::at_commit)?;
        match reply.tag.as_str() {
            "COMMIT" => Ok(Ended::Committed),
            // The answer to COMMIT of a failed transaction, and the only sign of it.
            "ROLLBACK" => Ok(Ended::RolledBack),
            tag => Err(Failure::new(After::Lost, "tag", format!("COMMIT was answered by '{tag}'"))),
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.begin_pending) {
            return Ok(());
        }
        self.execute("rollback", &[]).map(|_| ()).map_err(|e| self.failed(e))
    }
}
