//! SQL as it is typed, on PostgreSQL, and which client waits for which.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, Field, Message, RowDescriptionBody};

use super::wire::{Trouble, Wire, odd};
use super::{Postgres, dialect, failure, types};
use crate::console::{Console, Consoles, Said, Waiting, Waits};
use crate::failure::{After, Failure};
use crate::leftover::ROOM;
use crate::offer::Offer;
use crate::rows::{Column, ColumnKind, Datum, ResultSet};
use crate::unique;

/// A connection for a console.
fn plain_wire(postgres: &Postgres) -> Result<Wire, Trouble> {
    let mut wire = Wire::connect(&postgres.address(0)?)?;
    postgres.preludes.console(&mut wire)?;
    Ok(wire)
}

fn run(postgres: &Postgres, statement: &str) -> Result<(), Failure> {
    let failed = |trouble| failure::in_transaction(trouble, b'I');
    let mut wire = plain_wire(postgres).map_err(failed)?;
    wire.simple(statement).map(|_| ()).map_err(failed)
}

impl Consoles for Postgres {
    fn make_room(&self) -> Result<String, Failure> {
        let room = format!("{ROOM}{}", unique::tag());
        run(self, &format!("CREATE SCHEMA {room}"))?;
        Ok(room)
    }

    fn empty_room(&self, room: &str) -> Result<(), Failure> {
        run(self, &format!("DROP SCHEMA IF EXISTS {room} CASCADE; CREATE SCHEMA {room}"))
    }

    fn remove_room(&self, room: &str) -> Result<(), Failure> {
        run(self, &format!("DROP SCHEMA IF EXISTS {room} CASCADE"))
    }

    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure> {
        let Some(begin) = dialect::begin(offer, false) else {
            let message = format!("PostgreSQL has no level '{}'", offer.name);
            return Err(Failure::new(After::Lost, "level", message));
        };
        let level = begin.trim_start_matches("BEGIN ");
        let opened = plain_wire(self).and_then(|mut wire| {
            wire.simple(&format!(
                "SET search_path = {room}; \
                 SET SESSION CHARACTERISTICS AS TRANSACTION {level}"
            ))?;
            self.preludes.deadlocks(&mut wire);
            let number = wire.simple("SELECT pg_backend_pid()")?.text().parse();
            Ok((wire, number.map_err(|_| odd("a process without a number"))?))
        });
        match opened {
            Ok((wire, number)) => Ok(Box::new(PostgresConsole { wire, number })),
            Err(trouble) => {
                let failure = failure::in_transaction(trouble, b'I');
                Err(Failure { after: After::Lost, ..failure })
            }
        }
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        let wire = plain_wire(self).map_err(|t| failure::in_transaction(t, b'I'))?;
        Ok(Some(Box::new(PostgresWaits { wire })))
    }
}

/// A connection that runs what is typed.
struct PostgresConsole {
    wire: Wire,
    number: u64,
}

impl Console for PostgresConsole {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        let before = self.wire.status;
        match grid(&mut self.wire, statement) {
            Ok(grid) => Ok(grid.said(before)),
            Err(trouble) if is_commit(statement) => Err(failure::at_commit(trouble)),
            Err(trouble) => Err(failure::in_transaction(trouble, self.wire.status)),
        }
    }

    fn number(&self) -> u64 {
        self.number
    }
}

fn is_commit(statement: &str) -> bool {
    let first = statement.split_whitespace().next().unwrap_or_default();
    ["commit", "commit;", "end", "end;"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// The answer to a text of statements: the rows of the last query, the tag of the last statement.
#[derive(Default)]
struct Grid {
    columns: Option<Vec<Column>>,
    rows: Vec<Vec<Datum>>,
    tag: String,
}

impl Grid {
    /// What that means, if the transaction was in state `before`.
    fn said(self, before: u8) -> Said {
        if let Some(columns) = self.columns {
            return Said::Rows(ResultSet { columns, rows: self.rows });
        }
        let mut words = self.tag.split(' ');
        match words.next().unwrap_or_default() {
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => {
                Said::Changed(words.next_back().and_then(|n| n.parse().ok()).unwrap_or(0))
            }
            // The answer to COMMIT of a transaction that had failed. ROLLBACK is answered the same.
            "ROLLBACK" if before == b'E' => Said::RolledBack,
            _ => Said::Done,
        }
    }
}

fn grid(wire: &mut Wire, statement: &str) -> Result<Grid, Trouble> {
    let mut grid = Grid::default();
    wire.watch(statement, &mut |message| {
        match message {
            Message::RowDescription(body) => {
                grid.columns = Some(columns(&body)?);
                grid.rows.clear();
            }
            Message::DataRow(body) => {
                let row = row(&body, grid.columns.as_deref().unwrap_or_default())?;
                grid.rows.push(row);
            }
            Message::CommandComplete(body) => body.tag()?.clone_into(&mut grid.tag),
            _ => {}
        }
        Ok(())
    })?;
    Ok(grid)
}

fn columns(body: &RowDescriptionBody) -> Result<Vec<Column>, Trouble> {
    let column = |field: Field<'_>| {
        let (kind, server_type) = types::kind(field.type_oid());
        Ok(Column { name: field.name().to_owned(), kind, server_type })
    };
    Ok(body.fields().map(column).collect()?)
}

fn row(body: &DataRowBody, columns: &[Column]) -> Result<Vec<Datum>, Trouble> {
    let mut row = Vec::new();
    let mut ranges = body.ranges();
    while let Some(range) = ranges.next()? {
        let bytes = range.and_then(|r| body.buffer().get(r));
        let kind = columns.get(row.len()).map_or(ColumnKind::Other, |column| column.kind);
        row.push(bytes.map_or(Datum::Null, |bytes| types::datum(kind, bytes)));
    }
    Ok(row)
}

/// A connection that looks at the table of locks.
struct PostgresWaits {
    wire: Wire,
}

impl Waits for PostgresWaits {
    fn waiting(&mut self, clients: &[u64]) -> Result<Vec<Waiting>, Failure> {
        let clients: Vec<String> = clients.iter().map(ToString::to_string).collect();
        // The second kind of waiting is that of READ ONLY DEFERRABLE for a safe snapshot.
        let sql = format!(
            "SELECT pid, array_to_string(pg_blocking_pids(pid) || \
             pg_safe_snapshot_blocking_pids(pid), ' ') FROM unnest(ARRAY[{}]::int[]) AS pid",
            clients.join(",")
        );
        let grid = grid(&mut self.wire, &sql).map_err(|t| failure::in_transaction(t, b'I'))?;
        let waiting = grid.rows.into_iter().filter_map(|row| match row.as_slice() {
            [Datum::Integer(client), Datum::Text(behind)] if !behind.is_empty() => {
                let client = u64::try_from(*client).ok()?;
                let behind = behind.split(' ').filter_map(|n| n.parse().ok()).collect();
                Some(Waiting { client, behind })
            }
            _ => None,
        });
        Ok(waiting.collect())
    }
}
