//! Reads in between, which show what each statement saw and did.
//!
//! Before a statement, all rows of every table that it may look at are read (VSR), and of UPDATE and DELETE those that it is
//! going to write (BWR); after it, those that it wrote (AWR): section 3.2 of the paper. They are sent by the session of the
//! statement, with no other session in between, unless one of them has to wait.

use isolde_probe::{Schedule, Step as SentStep};

use crate::case::{Case, CaseStatement, Does, ReadLock};
use crate::plan::{Plan, Step, Turn};
use crate::policy::Policy;

/// What a statement that is sent is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It is the step itself.
    Itself,
    /// It reads all rows of a table.
    VersionSet(usize),
    /// It reads the rows that are going to be written.
    BeforeWrite,
    /// It reads the rows that were written.
    AfterWrite,
}

/// A statement that is sent, and what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Which step it belongs to.
    pub turn: Turn,
    /// What it is for.
    pub part: Part,
}

/// What is sent.
pub struct Script {
    /// The statements.
    pub schedule: Schedule,
    /// What each is for.
    pub sent: Vec<Sent>,
}

/// The steps of a plan with the reads in between.
pub fn instrument(case: &Case, plan: &Plan, policy: &Policy) -> Script {
    let mut script = Script { schedule: Schedule::default(), sent: Vec::new() };
    for turn in plan.turns() {
        let Some(transaction) = case.transactions.get(turn.txn) else { continue };
        let mut send = |part: Part, statement: String| {
            script.sent.push(Sent { turn: *turn, part });
            script.schedule.steps.push(SentStep { session: session(turn.txn), statement });
        };
        let at = match turn.step {
            Step::Begin => {
                send(Part::Itself, transaction.begin.clone());
                continue;
            }
            Step::End => {
                let end = if transaction.commits { "COMMIT" } else { "ROLLBACK" };
                send(Part::Itself, end.to_owned());
                continue;
            }
            Step::Statement(at) => at,
        };
        let Some(statement) = transaction.statements.get(at) else { continue };
        // What a transaction that is going to be rolled back sees and does is in no serial order.
        if !transaction.commits || statement.does.is_control() {
            send(Part::Itself, statement.sql.clone());
            continue;
        }
        for table in version_set(case, statement) {
            for lock in version_set_locks(statement, policy) {
                send(Part::VersionSet(table), all_rows(case, table, lock));
            }
        }
        if let Some(read) = before_write(case, &statement.does, policy.before_write) {
            send(Part::BeforeWrite, read);
        }
        send(Part::Itself, statement.sql.clone());
        if let Some(read) = after_write(case, &statement.does, policy.version_set) {
            send(Part::AfterWrite, read);
        }
    }
    script
}

/// The name of a transaction's session.
pub fn session(txn: usize) -> String {
    format!("T{txn}")
}

/// The tables that a statement may look at: those that it names, and those at the other end of foreign keys that are
/// checked for it.
pub fn version_set(case: &Case, statement: &CaseStatement) -> Vec<usize> {
    let mut tables = statement.looks_at.clone();
    let ends = |table: &usize| case.tables.get(*table);
    match &statement.does {
        Does::Insert { table, .. } | Does::Update { table, .. } => {
            tables.extend(ends(table).into_iter().flat_map(|t| t.parents.iter().copied()));
        }
        Does::Delete { table, .. } => {
            tables.extend(ends(table).into_iter().flat_map(|t| t.children.iter().copied()));
        }
        Does::Select { .. } | Does::Savepoint(_) | Does::RollbackTo(_) | Does::Release(_) => {}
    }
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// How all rows of a table are read on behalf of a statement. A SELECT that locks reads what is newest, and the queries
/// inside it read the snapshot (MariaDB's manual: they lock nothing); where these differ, it may have seen either.
fn version_set_locks(statement: &CaseStatement, policy: &Policy) -> Vec<&'static str> {
    let locks = statement.locks != ReadLock::None;
    match &statement.does {
        Does::Select { .. } if !locks => vec![""],
        Does::Select { .. } if statement.nested && !policy.version_set.is_empty() => {
            vec!["", policy.version_set]
        }
        _ => vec![policy.version_set],
    }
}

fn all_rows(case: &Case, table: usize, lock: &str) -> String {
    format!("SELECT * FROM {}{lock}", case.tables[table].name)
}

/// All rows of a table, by their keys.
pub fn contents(case: &Case, table: usize) -> String {
    let table = &case.tables[table];
    let key = table.columns.first().map_or("1", String::as_str);
    format!("SELECT * FROM {} ORDER BY {key}", table.name)
}

fn before_write(case: &Case, does: &Does, lock: &str) -> Option<String> {
    let (Does::Update { table, condition, .. } | Does::Delete { table, condition }) = does else {
        return None;
    };
    let name = &case.tables[*table].name;
    Some(match condition {
        Some(condition) => format!("SELECT * FROM {name} WHERE {condition}{lock}"),
        None => format!("SELECT * FROM {name}{lock}"),
    })
}

/// The read of the rows that a statement wrote: they have its version key. Of DELETE, of the rows that are left.
pub fn after_write(case: &Case, does: &Does, lock: &str) -> Option<String> {
    match does {
        Does::Insert { table, version } | Does::Update { table, version, .. } => {
            let table = &case.tables[*table];
            Some(format!("SELECT * FROM {} WHERE {} = {version}", table.name, table.columns[1]))
        }
        Does::Delete { table, .. } => Some(all_rows(case, *table, lock)),
        _ => None,
    }
}
