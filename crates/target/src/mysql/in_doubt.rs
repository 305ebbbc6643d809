//! Whether a transaction whose COMMIT got no answer took effect: its values are looked for among all versions.

use isolde_history::OpKind;
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::shown::Written;

/// Whether one of the values is among the versions of its row. No other transaction wrote any of them, so one is
/// enough; and one may be missing of a transaction that was committed: it may have written the row once more.
pub(super) fn is_there(conn: &mut Conn, prefix: &str, writes: &[Written]) -> Result<bool, Error> {
    // An uncommitted version says nothing, and a session that reads uncommitted rows sees those of old versions, too.
    conn.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    // The last ones first: those are there for certain if anything is.
    for write in writes.iter().rev() {
        let same = match write.kind {
            OpKind::Append => "FIND_IN_SET(?, v) > 0",
            _ => "v = ?",
        };
        let table = format!("{prefix}{}", write.table);
        let query =
            format!("SELECT k FROM {table} FOR SYSTEM_TIME ALL WHERE k = ? AND {same} LIMIT 1");
        let (row, value) = (i64::from(write.row), write.value);
        let found: Option<i64> = match write.kind {
            OpKind::Append => conn.exec_first(query, (row, value.to_string()))?,
            _ => conn.exec_first(query, (row, value))?,
        };
        if found.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
