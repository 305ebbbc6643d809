//! Connections to a database file.

use std::path::Path as FilePath;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// A connection to a file, which is made only if it is our own.
pub(super) fn connect(file: &FilePath, busy: Duration, ours: bool) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, ours);
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(busy)?;
    if ours {
        // A temporary file is not needed after a crash.
        connection.pragma_update(None, "synchronous", "OFF")?;
    }
    Ok(connection)
}
