//! SQLite: one writer at a time, a connection for each session.

mod connection;
mod console;
mod session;
mod statements;
mod types;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use isolde_history::OpKind;
use isolde_spec::Level;
use rusqlite::Connection;

use self::connection::connect;
use self::console::SqliteRooms;
use crate::console::Consoles;
use crate::embedded::scratch::Scratch;
use crate::failure::Failure;
use crate::leftover::{self, Leftover};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::target::{Contents, OpenError, Session, Table, Target};

const OFFERS: &[Offer] = &[
    Offer {
        name: "deferred",
        promises: Level::StrictSerializable,
        remark: "BEGIN: sqlite.org/isolation.html promises serializable by serializing the writes; \
                 a transaction that read an older snapshot fails when it writes",
    },
    Offer {
        name: "immediate",
        promises: Level::StrictSerializable,
        remark: "BEGIN IMMEDIATE: one transaction after another, readers included",
    },
];

/// A session waits no longer than this for the only writer, so that a test keeps moving.
const BUSY: Duration = Duration::from_secs(2);

/// A database file, ours or the user's.
struct Sqlite {
    file: PathBuf,
    /// What all names of tables start with.
    prefix: String,
    busy: Duration,
    journal: String,
    /// The connection for tables, and those that were made.
    tables: Mutex<(Connection, Vec<String>)>,
    /// Databases beside the temporary one, for any SQL; none beside the user's, where there is no place for them.
    rooms: Option<SqliteRooms>,
    // Dropped last; `None` for the user's own file.
    folder: Option<Scratch>,
}

/// Opens a temporary file, or the one that `sqlite:PATH` names.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    let (file, folder) = match url {
        Some(url) => (users_file(url)?, None),
        None => {
            let folder =
                Scratch::new("sqlite").map_err(|error| cannot("a temporary file", error))?;
            (folder.path().join("isolde.db"), Some(folder))
        }
    };
    let busy = BUSY.min(options.timeout);
    let shown =
        if folder.is_some() { "a temporary file".into() } else { file.display().to_string() };
    let cannot = |error: rusqlite::Error| cannot(&shown, error);
    let connection = connect(&file, busy, folder.is_some()).map_err(cannot)?;
    // The user's own file keeps the mode that it has: it would outlast us.
    let ask = if folder.is_some() { "PRAGMA journal_mode = WAL" } else { "PRAGMA journal_mode" };
    let journal: String = connection.query_row(ask, [], |row| row.get(0)).map_err(cannot)?;
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let prefix = format!("isolde_{:x}_{:x}", std::process::id(), now);
    let tables = Mutex::new((connection, Vec::new()));
    let limit = options.timeout.mul_f64(0.8);
    let rooms = folder.as_ref().map(|folder| SqliteRooms::new(folder.path().to_owned(), limit));
    Ok(Box::new(Sqlite { file, prefix, busy, journal, tables, rooms, folder }))
}

fn users_file(url: &str) -> Result<PathBuf, OpenError> {
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
    // One that is not there would be made, and left behind.
    if path.is_file() {
        return Ok(path);
    }
    let hint = "'sqlite' without a path uses a temporary file";
    Err(OpenError::new(format!("there is no file '{}'", path.display())).hint(hint))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(file: &str, error: impl ToString) -> OpenError {
    OpenError::new(format!("SQLite does not open {file}: {}", error.to_string()))
}

impl Sqlite {
    fn table(&self, number: u32) -> String {
        format!("{}_{number}", self.prefix)
    }
}

impl Target for Sqlite {
    fn name(&self) -> &str {
        "SQLite"
    }

    fn version(&self) -> &str {
        rusqlite::version()
    }

    fn facts(&self) -> Vec<(String, String)> {
        let file = if self.folder.is_some() {
            "temporary".into()
        } else {
            self.file.display().to_string()
        };
        vec![("file".into(), file), ("journal_mode".into(), self.journal.clone())]
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        statements::ways(kind)
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let name = self.table(table.number);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, made) = &mut *tables;
        let transaction = connection.transaction().map_err(session::failure)?;
        for statement in statements::create(&name, table) {
            transaction.execute(&statement, []).map_err(session::failure)?;
        }
        if table.filled && table.contents == Contents::Registers {
            let insert = format!("INSERT INTO {name} (id, ix, sc, val) VALUES (?1, ?1, ?1, 0)");
            let mut insert = transaction.prepare(&insert).map_err(session::failure)?;
            for row in 0..table.rows {
                insert.execute([row]).map_err(session::failure)?;
            }
        }
        transaction.commit().map_err(session::failure)?;
        made.push(name);
        Ok(())
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        let ours = self.folder.is_some();
        let connection = connect(&self.file, self.busy, ours).map_err(session::failure)?;
        let begin = session::begin(offer).unwrap_or("BEGIN");
        Ok(Box::new(session::SqliteSession::new(connection, self.prefix.clone(), begin)))
    }

    fn sql(&self) -> Option<&dyn Consoles> {
        self.rooms.as_ref().map(|rooms| rooms as &dyn Consoles)
    }

    fn leftovers(&self) -> Result<Option<Vec<Leftover>>, Failure> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let list = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let mut list = tables.0.prepare(list).map_err(session::failure)?;
        let names = list.query_map([], |row| row.get::<_, String>(0)).map_err(session::failure)?;
        let names: Vec<String> = names.collect::<Result<_, _>>().map_err(session::failure)?;
        let ours = names.into_iter().filter(|name| leftover::is_table(name));
        // A file that is in use is busy, and then nothing is dropped.
        let left = |name| Leftover { kind: "table", name, in_use: false };
        Ok(Some(ours.map(left).collect()))
    }

    fn remove_leftover(&self, left: &Leftover) -> Result<(), Failure> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let drop = format!("DROP TABLE IF EXISTS {}", left.name);
        tables.0.execute(&drop, []).map(|_| ()).map_err(session::failure)
    }

    fn clean(&self) -> Result<(), Failure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, made) = &mut *tables;
        while let Some(name) = made.last() {
            connection.execute(&format!("DROP TABLE {name}"), []).map_err(session::failure)?;
            made.pop();
        }
        Ok(())
    }
}
