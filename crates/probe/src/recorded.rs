//! Runs as they are kept in files: one a line, as JSON.
//!
//! A line has the name of the case, the database with its version, the level, the setup, the steps as
//! pairs of session and statement, and the events in their order. Errors are written as Python's client
//! libraries call them, which is how such records came to be.

use isolde_target::{Datum, Failure, Said};
use serde_json::{Value, json};

use crate::schedule::{Event, Happened, MOST_SESSIONS, MOST_STEPS, Schedule, Step};

/// How long a record may be, in bytes.
pub const MOST_BYTES: usize = 64 << 20;

/// One run, as it was recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The name of the case.
    pub case: String,
    /// The database and its version, such as `postgresql-15.18`.
    pub dbms: String,
    /// Whether MariaDB's `innodb_snapshot_isolation` was on, if it was said.
    pub snapshots: Option<bool>,
    /// The level, in SQL's words.
    pub level: String,
    /// What was run.
    pub schedule: Schedule,
    /// What was observed.
    pub observed: Vec<Noted>,
}

/// An event as it is written down.
#[derive(Clone, PartialEq, Debug)]
pub struct Noted {
    /// Which step, counted from 0.
    pub step: usize,
    /// `ok`, `blocked`, `err`, `unknown`.
    pub event: String,
    /// Rows, a count, or an error.
    pub result: Value,
}

/// Why a record cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct UnreadableRecord {
    /// Where.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub problem: String,
}

/// Reads the lines of a record.
pub fn read(text: &str) -> Result<Vec<Recorded>, UnreadableRecord> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fault = |problem: String| UnreadableRecord { line: at + 1, problem };
        let value: Value =
            serde_json::from_str(line).map_err(|e| fault(format!("no JSON: {e}")))?;
        all.push(recorded(at + 1, &value).map_err(fault)?);
    }
    Ok(all)
}

fn recorded(line: usize, value: &Value) -> Result<Recorded, String> {
    let text = |name: &str| {
        value[name].as_str().map(str::to_owned).ok_or_else(|| format!("'{name}' has to be a text"))
    };
    let list =
        |name: &str| value[name].as_array().ok_or_else(|| format!("'{name}' has to be a list"));
    let setup = list("setup")?.iter().map(|s| s.as_str().map(str::to_owned));
    let setup: Option<Vec<String>> = setup.collect();
    let steps: Option<Vec<Step>> = list("steps")?.iter().map(step).collect();
    let steps = steps.ok_or("'steps' has to be a list of [session, statement]")?;
    let schedule = Schedule { setup: setup.ok_or("'setup' has to be a list of texts")?, steps };
    let (count, sessions) = (schedule.steps.len(), schedule.sessions().len());
    if count > MOST_STEPS || sessions > MOST_SESSIONS {
        return Err(format!(
            "{count} steps of {sessions} sessions are too many; at most {MOST_STEPS} of {MOST_SESSIONS}"
        ));
    }
    if count == 0 {
        return Err("'steps' is empty".to_owned());
    }
    let observed: Result<Vec<Noted>, String> =
        list("observed")?.iter().map(|event| noted(event, &schedule)).collect();
    Ok(Recorded {
        line,
        case: text("case")?,
        dbms: text("dbms")?,
        snapshots: value["innodb_snapshot_isolation"].as_bool(),
        level: text("level")?,
        schedule,
        observed: observed?,
    })
}

fn step(value: &Value) -> Option<Step> {
    let (session, statement) = (value.get(0)?.as_str()?, value.get(1)?.as_str()?);
    Some(Step { session: session.to_owned(), statement: statement.to_owned() })
}

fn noted(value: &Value, schedule: &Schedule) -> Result<Noted, String> {
    let step = value["step"].as_u64().and_then(|n| usize::try_from(n).ok());
    let known = step.and_then(|n| Some((n, schedule.steps.get(n)?)));
    let (step, doing) = known.ok_or("an event names a step that there is not")?;
    if value["session"].as_str().is_some_and(|session| session != doing.session) {
        return Err(format!(
            "an event names another session than step {step}, which is {}'s",
            doing.session
        ));
    }
    let event = value["event"].as_str().unwrap_or_default();
    if !["ok", "blocked", "err", "unknown"].contains(&event) {
        return Err(format!("'{event}' is no event; expected ok, blocked, err or unknown"));
    }
    let result = value["result"].clone();
    let fits = match (event, &result) {
        ("ok", Value::Array(rows)) => rows.iter().all(Value::is_array),
        ("ok", Value::Number(count)) => count.as_i64().is_some_and(|count| count >= -1),
        ("err", result) => result.is_string(),
        ("blocked" | "unknown", result) => result.is_null(),
        _ => false,
    };
    if !fits {
        let expected = "rows or a count of at least -1 for ok, a text for err, null for others";
        return Err(format!(
            "the result of step {step} does not fit '{event}'; expected {expected}"
        ));
    }
    Ok(Noted { step, event: event.to_owned(), result })
}

/// An event as it is written down. `done` is what stands for a statement that returns nothing.
pub fn note(event: &Event, done: i64) -> Noted {
    let (kind, result) = match &event.happened {
        Happened::Blocked => ("blocked", Value::Null),
        Happened::Silent => ("unknown", Value::Null),
        Happened::Failed(failure) => ("err", json!(error(failure))),
        Happened::Answered(Said::Rows(set)) => ("ok", rows_to_json(&set.rows)),
        Happened::Answered(Said::Changed(count)) => ("ok", json!(count)),
        Happened::Answered(Said::Done | Said::RolledBack) => ("ok", json!(done)),
    };
    Noted { step: event.step, event: kind.to_owned(), result }
}

/// What clients in Python write for a statement that returns nothing.
pub fn done_on(target: &str) -> i64 {
    if target == "PostgreSQL" { -1 } else { 0 }
}

fn rows_to_json(rows: &[Vec<Datum>]) -> Value {
    let cell = |datum: &Datum| match datum {
        Datum::Null => Value::Null,
        Datum::Integer(number) => match i64::try_from(*number) {
            Ok(number) => json!(number),
            Err(_) => json!(number.to_string()),
        },
        other => json!(other.text()),
    };
    rows.iter().map(|row| row.iter().map(cell).collect::<Value>()).collect()
}

/// A run as a line of a record.
pub fn to_json(run: &Recorded) -> Value {
    let steps: Vec<Value> =
        run.schedule.steps.iter().map(|step| json!([step.session, step.statement])).collect();
    let observed: Vec<Value> = run
        .observed
        .iter()
        .map(|noted| {
            let session = &run.schedule.steps[noted.step].session;
            let (step, event, result) = (noted.step, &noted.event, &noted.result);
            json!({"step": step, "session": session, "event": event, "result": result})
        })
        .collect();
    json!({
        "case": run.case, "dbms": run.dbms, "innodb_snapshot_isolation": run.snapshots,
        "level": run.level, "setup": run.schedule.setup, "steps": steps, "observed": observed,
    })
}

/// The errors of PostgreSQL by the names of psycopg.
const CLASSES: &[(&str, &str)] = &[
    ("40001", "SerializationFailure"),
    ("40P01", "DeadlockDetected"),
    ("40002", "TransactionIntegrityConstraintViolation"),
    ("25P02", "InFailedSqlTransaction"),
    ("25001", "ActiveSqlTransaction"),
    ("25006", "ReadOnlySqlTransaction"),
    ("25P01", "NoActiveSqlTransaction"),
    ("23505", "UniqueViolation"),
    ("23503", "ForeignKeyViolation"),
    ("23502", "NotNullViolation"),
    ("23514", "CheckViolation"),
    ("23P01", "ExclusionViolation"),
    ("55P03", "LockNotAvailable"),
    ("55006", "ObjectInUse"),
    ("55000", "ObjectNotInPrerequisiteState"),
    ("57014", "QueryCanceled"),
    ("42P01", "UndefinedTable"),
    ("42703", "UndefinedColumn"),
    ("42601", "SyntaxError"),
    ("42P07", "DuplicateTable"),
    ("42804", "DatatypeMismatch"),
    ("42883", "UndefinedFunction"),
    ("22012", "DivisionByZero"),
    ("22003", "NumericValueOutOfRange"),
    ("22P02", "InvalidTextRepresentation"),
    ("0A000", "FeatureNotSupported"),
    ("3B001", "InvalidSavepointSpecification"),
];

/// How a client in Python would write an error.
pub fn error(failure: &Failure) -> String {
    if let Ok(code) = failure.code.parse::<u16>()
        && failure.code.len() == 4
    {
        let class = match code {
            1062 | 1048 | 1216 | 1217 | 1451 | 1452 | 1557 | 4025 => "IntegrityError",
            1064 | 1146 | 1054 | 1007 | 1049 | 1102 | 1103 => "ProgrammingError",
            1264 | 1265 | 1406 | 1366 | 1292 => "DataError",
            _ => "OperationalError",
        };
        return format!("{class}: ({code}, {:?})", failure.message);
    }
    let class = CLASSES.iter().find(|(code, _)| *code == failure.code);
    format!("{}: {}", class.map_or(failure.code.as_str(), |(_, name)| name), failure.message)
}

/// What kind of error a text tells of: the number of MariaDB's, the name of PostgreSQL's.
pub fn class(text: &str) -> &str {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = rest.trim_start().strip_prefix('(').and_then(|r| r.split(',').next());
    number.filter(|n| n.len() == 4 && n.bytes().all(|b| b.is_ascii_digit())).unwrap_or(name)
}
