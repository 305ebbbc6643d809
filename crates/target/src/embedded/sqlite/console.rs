//! SQL as it is typed, on SQLite. A room is a database file of its own beside the temporary one.
//!
//! A statement that finds the only writer's place taken fails at once, with its transaction still open: so no session ever
//! waits, and what another one would have waited for is said by the failure.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Statement};

use super::connection::connect;
use super::{session, types};
use crate::console::{Console, Consoles, Said, Waiting, Waits};
use crate::failure::{After, Failure};
use crate::leftover::ROOM;
use crate::offer::Offer;
use crate::rows::{ColumnKind, Datum, ResultSet};
use crate::unique;

/// After so many of its own instructions SQLite asks whether a statement has taken too long: a few milliseconds.
const INSTRUCTIONS: i32 = 100_000;

/// The rooms of a target.
pub(super) struct SqliteRooms {
    /// Where their files are.
    folder: PathBuf,
    /// How long a statement may take.
    limit: Duration,
    /// The file of each. A room that is emptied gets another one: a console that still has the old one open would, when it
    /// is closed, remove the log of a new one of that name.
    files: Mutex<BTreeMap<String, PathBuf>>,
    /// How many consoles there were.
    consoles: AtomicU64,
}

impl SqliteRooms {
    /// None yet, in that folder.
    pub(super) fn new(folder: PathBuf, limit: Duration) -> SqliteRooms {
        SqliteRooms { folder, limit, files: Mutex::default(), consoles: AtomicU64::new(0) }
    }

    fn file(&self, room: &str) -> Option<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(room).cloned()
    }

    /// Gives a room a file, or none; brings the one that it had.
    fn set(&self, room: &str, file: Option<PathBuf>) -> Option<PathBuf> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match file {
            Some(file) => files.insert(room.to_owned(), file),
            None => files.remove(room),
        }
    }

    /// Makes an empty database file.
    fn new_file(&self) -> Result<PathBuf, Failure> {
        let file = self.folder.join(format!("{ROOM}{}.db", unique::tag()));
        let made = connect(&file, Duration::ZERO, true);
        let made = made.and_then(|made| made.pragma_update(None, "journal_mode", "WAL"));
        made.map_err(session::failure)?;
        Ok(file)
    }
}

/// Removes a database file and those that SQLite keeps beside it.
fn remove(file: &FilePath) -> Result<(), Failure> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::new(After::Open, "file", error.to_string()));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Consoles for SqliteRooms {
    fn make_room(&self) -> Result<String, Failure> {
        let room = format!("{ROOM}{}", unique::tag());
        self.set(&room, Some(self.new_file()?));
        Ok(room)
    }

    fn empty_room(&self, room: &str) -> Result<(), Failure> {
        let old = self.set(room, Some(self.new_file()?));
        old.map_or(Ok(()), |old| remove(&old))
    }

    fn remove_room(&self, room: &str) -> Result<(), Failure> {
        self.set(room, None).map_or(Ok(()), |old| remove(&old))
    }

    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure> {
        let refused = |code: &str, message| Err(Failure::new(After::Lost, code, message));
        let Some(begin) = session::begin(offer) else {
            return refused("level", format!("SQLite has no level '{}'", offer.name));
        };
        let Some(file) = self.file(room) else {
            return refused("room", format!("there is no room '{room}'"));
        };
        let number = self.consoles.fetch_add(1, Ordering::Relaxed);
        let opened = connect(&file, Duration::ZERO, true)
            .and_then(|connection| SqliteConsole::new(connection, begin, number, self.limit));
        match opened {
            Ok(console) => Ok(Box::new(console)),
            Err(error) => Err(Failure { after: After::Lost, ..session::failure(error) }),
        }
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        Ok(Some(Box::new(NoneWaits)))
    }
}

/// No session waits for another one.
struct NoneWaits;

impl Waits for NoneWaits {
    fn waiting(&mut self, _clients: &[u64]) -> Result<Vec<Waiting>, Failure> {
        Ok(Vec::new())
    }
}

/// When a statement has taken too long, in milliseconds after the beginning.
struct Alarm {
    begun: Instant,
    at: AtomicU64,
}

impl Alarm {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A connection that runs what is typed.
struct SqliteConsole {
    connection: Connection,
    /// What a plain `begin` is sent as.
    begin: &'static str,
    number: u64,
    alarm: Arc<Alarm>,
    limit: Duration,
}

impl SqliteConsole {
    fn new(
        mut connection: Connection,
        begin: &'static str,
        number: u64,
        limit: Duration,
    ) -> rusqlite::Result<SqliteConsole> {
        connection.pragma_update(None, "foreign_keys", "ON")?;
        let alarm = Arc::new(Alarm { begun: Instant::now(), at: AtomicU64::new(u64::MAX) });
        let asked = Arc::clone(&alarm);
        let is_late = move || asked.now() > asked.at.load(Ordering::Relaxed);
        connection.progress_handler(INSTRUCTIONS, Some(is_late))?;
        Ok(SqliteConsole { connection, begin, number, alarm, limit })
    }

    fn said(&self, text: &str) -> rusqlite::Result<Said> {
        let text = if is_plain_begin(text) { self.begin } else { text };
        let mut statement = self.connection.prepare(text)?;
        if statement.column_count() > 0 {
            return rows(&mut statement).map(Said::Rows);
        }
        statement.raw_execute()?;
        Ok(if changes(text) { Said::Changed(self.connection.changes()) } else { Said::Done })
    }

    /// What a failure means, now that SQLite may have ended the transaction by itself.
    fn failed(&self, text: &str, was_open: bool, error: rusqlite::Error) -> Failure {
        let mut failure = session::failure(error);
        let is_open = !self.connection.is_autocommit();
        let commits = ["commit", "end"].iter().any(|w| first_word(text).eq_ignore_ascii_case(w));
        failure.after = match (is_open, commits && was_open) {
            (true, _) => After::Open,
            // Who knows whether the file holds it.
            (false, true) => After::Lost,
            (false, false) => After::Aborted,
        };
        failure.ended = failure.after == After::Aborted;
        failure
    }
}

impl Console for SqliteConsole {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        let limit = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
        self.alarm.at.store(self.alarm.now().saturating_add(limit), Ordering::Relaxed);
        let was_open = !self.connection.is_autocommit();
        self.said(statement).map_err(|error| self.failed(statement, was_open, error))
    }

    fn number(&self) -> u64 {
        self.number
    }
}

/// All rows of a query, or of a statement with RETURNING. To the end: that is where a statement has done its work.
fn rows(statement: &mut Statement<'_>) -> rusqlite::Result<ResultSet> {
    let mut values: Vec<Vec<Datum>> = Vec::new();
    let mut kinds: Option<Vec<ColumnKind>> = None;
    let mut asked = statement.raw_query();
    while let Some(row) = asked.next()? {
        // Asked behind the first step, which prepares the statement anew if another session has changed a table.
        let of_row: &Statement<'_> = row.as_ref();
        let kinds = kinds.get_or_insert_with(|| {
            of_row.columns().map(|column| types::kind(column.decl_type())).collect()
        });
        let cells = kinds.iter().enumerate();
        let cells = cells.map(|(at, kind)| Ok(types::datum(*kind, row.get_ref(at)?)));
        values.push(cells.collect::<rusqlite::Result<_>>()?);
    }
    drop(asked);
    let columns = statement.columns().enumerate().map(|(at, column)| {
        let cells = values.iter().filter_map(|row| row.get(at));
        types::column(column.name(), column.decl_type(), cells)
    });
    Ok(ResultSet { columns: columns.collect(), rows: values })
}

/// Whether a text begins a transaction and does not say of which kind.
fn is_plain_begin(text: &str) -> bool {
    let words: Vec<&str> = text.split([' ', '\n', '\t', ';']).filter(|w| !w.is_empty()).collect();
    match words.as_slice() {
        [begin] => begin.eq_ignore_ascii_case("begin"),
        [begin, transaction] => {
            begin.eq_ignore_ascii_case("begin") && transaction.eq_ignore_ascii_case("transaction")
        }
        _ => false,
    }
}

/// Whether a statement without columns is one that counts the rows it changed.
fn changes(statement: &str) -> bool {
    let first = first_word(statement);
    ["insert", "update", "delete", "replace", "with"].iter().any(|w| first.eq_ignore_ascii_case(w))
}

/// The first word of a statement, behind comments.
fn first_word(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    loop {
        let comment = match rest {
            _ if rest.starts_with("--") => rest.split_once('\n'),
            _ if rest.starts_with("/*") => rest.split_once("*/"),
            _ => break,
        };
        rest = comment.map_or("", |(_, rest)| rest).trim_start();
    }
    rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_word() {
        assert_eq!(first_word("  INSERT INTO t"), "INSERT");
        assert_eq!(first_word("-- select\n/* delete */ update t"), "update");
        assert_eq!(first_word("commit;"), "commit");
        assert_eq!(first_word("-- only"), "");
        assert!(changes("WITH a AS (SELECT 1) DELETE FROM t") && !changes("CREATE TABLE t (x)"));
    }

    #[test]
    fn only_a_begin_of_no_kind_is_plain() {
        assert!(is_plain_begin("begin") && is_plain_begin(" BEGIN TRANSACTION;"));
        assert!(!is_plain_begin("BEGIN DEFERRED") && !is_plain_begin("commit"));
    }
}
