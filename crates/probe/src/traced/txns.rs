//! The transactions of one session, from its statements and their answers.

use isolde_history::LockMode;
use isolde_target::{After, Failure, Said};
use serde_json::{Map, Value, json};

use super::rows::Tables;
use super::understood::Understood;
use crate::schedule::StepTimes;

/// The answer to a step.
pub(super) struct StepAnswer<'p> {
    pub(super) times: StepTimes,
    pub(super) said: Result<&'p Said, &'p Failure>,
}

/// A session while its statements are gone through.
pub(super) struct SessionTrace<'t> {
    name: &'t str,
    tables: &'t Tables,
    open: Option<OpenTxn>,
    done: Vec<Value>,
}

/// A transaction that has not ended.
struct OpenTxn {
    began: i64,
    begin_answered: Option<i64>,
    stmts: Vec<Value>,
    /// The statement at which the server ended it.
    ended_at: Option<usize>,
    /// Whether it said that it would only read.
    read_only: bool,
}

/// How a transaction ended.
#[derive(Clone, Copy)]
struct Ending {
    outcome: &'static str,
    /// When COMMIT or ROLLBACK was sent, if one was.
    sent: Option<i64>,
    answered: Option<i64>,
}

impl<'t> SessionTrace<'t> {
    pub(super) fn new(name: &'t str, tables: &'t Tables) -> SessionTrace<'t> {
        SessionTrace { name, tables, open: None, done: Vec::new() }
    }

    /// The next statement, with its answer.
    pub(super) fn step(
        &mut self,
        sql: &str,
        statement: &Understood,
        answered: &StepAnswer<'_>,
    ) -> Result<(), String> {
        let StepTimes { sent, answered: at, .. } = answered.times;
        if let Err(failure) = answered.said
            && failure.after == After::Lost
        {
            return Err("the connection was lost".to_owned());
        }
        match statement {
            Understood::Begin | Understood::BeginReadOnly | Understood::BeginWithSnapshot => {
                if self.open.is_some() || answered.said.is_err() {
                    return Err("a transaction inside another one".to_owned());
                }
                let mut txn = OpenTxn::new(sent, Some(at));
                txn.read_only = *statement == Understood::BeginReadOnly;
                if *statement == Understood::BeginWithSnapshot {
                    let mut stmt = stmt(sql, &[], answered.times, None);
                    stmt.insert("snapshot-interval".to_owned(), json!([sent, at]));
                    txn.stmts.push(Value::Object(stmt));
                }
                self.open = Some(txn);
            }
            Understood::Commit | Understood::Rollback => {
                let kept = matches!(answered.said, Ok(said) if *said != Said::RolledBack);
                let committed = kept && *statement == Understood::Commit;
                let outcome = if committed { "committed" } else { "aborted" };
                let ending = Ending { outcome, sent: Some(sent), answered: Some(at) };
                self.end(ending);
            }
            _ => self.statement(sql, statement, answered)?,
        }
        Ok(())
    }

    /// A statement within a transaction, or one that is a transaction by itself.
    fn statement(
        &mut self,
        sql: &str,
        statement: &Understood,
        answered: &StepAnswer<'_>,
    ) -> Result<(), String> {
        let StepTimes { sent, answered: at, .. } = answered.times;
        let alone = self.open.is_none();
        let txn = self.open.get_or_insert_with(|| OpenTxn::new(sent, None));
        let ops = match answered.said {
            Ok(said) => ops(self.tables, sql, statement, said)?,
            Err(_) => Vec::new(),
        };
        let lock = match statement {
            Understood::Select { lock, .. } => *lock,
            // It looked for rows to lock, and found none.
            Understood::Delete { .. } if ops.iter().any(|op| op[0] == "r") => {
                Some(LockMode::Exclusive)
            }
            _ => None,
        };
        let mut stmt = stmt(sql, &ops, answered.times, lock);
        let mut is_over = false;
        if let Err(failure) = answered.said {
            stmt.insert("error".to_owned(), json!(failure.code));
            is_over = txn.refused(failure);
        }
        txn.stmts.push(Value::Object(stmt));
        if alone {
            let outcome = if answered.said.is_ok() { "committed" } else { "aborted" };
            self.end(Ending { outcome, sent: Some(sent), answered: Some(at) });
        } else if is_over {
            self.end(Ending { outcome: "aborted", sent: None, answered: Some(at) });
        }
        Ok(())
    }

    /// The transaction is over.
    fn end(&mut self, ending: Ending) {
        let Some(txn) = self.open.take() else { return };
        let number = self.done.len() + 1;
        let mut line = json!({
            "session": self.name, "txn": format!("{}-{number}", self.name),
            "outcome": ending.outcome, "interval": [txn.began, ending.answered],
            "stmts": txn.stmts,
        });
        if let Some(sent) = ending.sent {
            line["end-sent"] = json!(sent);
        }
        if let Some(at) = txn.begin_answered {
            line["begin-answered"] = json!(at);
        }
        if let Some(at) = txn.ended_at {
            line["server-ended-at"] = json!(at);
        }
        if txn.read_only {
            line["read-only"] = json!(true);
        }
        self.done.push(line);
    }

    /// The lines of the session. What was left open is rolled back when the connection is closed.
    pub(super) fn finish(mut self) -> Vec<Value> {
        self.end(Ending { outcome: "aborted", sent: None, answered: None });
        self.done
    }
}

impl OpenTxn {
    fn new(began: i64, begin_answered: Option<i64>) -> OpenTxn {
        OpenTxn { began, begin_answered, stmts: Vec::new(), ended_at: None, read_only: false }
    }

    /// A statement failed; whether the transaction is over for the client, too.
    fn refused(&mut self, failure: &Failure) -> bool {
        if failure.ended_here() && self.ended_at.is_none() {
            self.ended_at = Some(self.stmts.len());
        }
        failure.after == After::Aborted
    }
}

/// A statement as a trace has it.
fn stmt(sql: &str, ops: &[Value], times: StepTimes, lock: Option<LockMode>) -> Map<String, Value> {
    let mut stmt = Map::new();
    stmt.insert("ops".to_owned(), json!(ops));
    stmt.insert("interval".to_owned(), json!([times.sent, times.answered]));
    if let Some(lock) = lock {
        stmt.insert("lock".to_owned(), json!(lock.name()));
    }
    stmt.insert("sql".to_owned(), json!(sql));
    stmt
}

/// What a statement that was answered did to rows.
fn ops(
    tables: &Tables,
    sql: &str,
    statement: &Understood,
    said: &Said,
) -> Result<Vec<Value>, String> {
    match (statement, said) {
        (Understood::Select { table, keys, .. }, Said::Rows(set)) => {
            tables.read((sql, table), keys, set)
        }
        (Understood::Savepoint(name), _) => Ok(vec![json!(["savepoint", name])]),
        (Understood::RollbackTo(name), _) => Ok(vec![json!(["rollback", name])]),
        (Understood::Release(name), _) => Ok(vec![json!(["release", name])]),
        (_, Said::Changed(changed)) => tables.written(statement, *changed),
        _ => Ok(Vec::new()),
    }
}
