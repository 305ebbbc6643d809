//! What runs that were killed left on a PostgreSQL server.

use super::failure;
use super::wire::{PostgresAddress, Wire};
use crate::failure::Failure;
use crate::leftover::{self, Leftover};

/// All candidates, one a line: what it is, whether a transaction has locked it, its name. Names are compared
/// once more in Rust.
const LIST: &str = "SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (\
    SELECT 'table ' || EXISTS (SELECT FROM pg_locks l WHERE l.relation = c.oid) || ' ' || relname AS line \
    FROM pg_class c WHERE relkind = 'r' AND relname LIKE 'isolde\\_%' AND pg_table_is_visible(c.oid) \
    UNION ALL SELECT 'schema false ' || nspname FROM pg_namespace WHERE nspname LIKE 'isolde\\_%') AS all_lines";

pub(super) fn list(address: &PostgresAddress) -> Result<Vec<Leftover>, Failure> {
    let failed = |trouble| failure::in_transaction(trouble, b'I');
    let mut wire = Wire::connect(address).map_err(failed)?;
    let lines = wire.simple(LIST).map_err(failed)?.text();
    Ok(lines.lines().filter_map(one).collect())
}

fn one(line: &str) -> Option<Leftover> {
    let (kind, rest) = line.split_once(' ')?;
    let (used, name) = rest.split_once(' ')?;
    let kind = match kind {
        "table" if leftover::is_table(name) => "table",
        "schema" if leftover::is_room(name) => "schema",
        _ => return None,
    };
    Some(Leftover { kind, name: name.to_owned(), in_use: used == "true" })
}

/// The statement that removes one.
pub(super) fn drop_statement(left: &Leftover) -> String {
    match left.kind {
        "schema" => format!("DROP SCHEMA IF EXISTS {} CASCADE", left.name),
        _ => format!("DROP TABLE IF EXISTS {}", left.name),
    }
}
