//! SQL as it is typed, on MariaDB and its relatives, and which clients wait for a lock.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use super::flavour::Flavour;
use super::{MySql, failure, types};
use crate::console::{Console, Consoles, Said, Waiting, Waits};
use crate::failure::{After, Failure};
use crate::leftover::ROOM;
use crate::offer::Offer;
use crate::rows::{Column, ResultSet};
use crate::unique;

impl MySql {
    /// A connection that counts the rows that a statement changed, not those that it found, and waits
    /// for locks as long as for statements.
    fn plain_conn(&self) -> Result<Conn, Error> {
        let address = self.address(0)?;
        let mut conn = Conn::new(address.options())?;
        let limit = address.timeout.mul_f64(0.8);
        let seconds = limit.as_secs().clamp(1, 50);
        match self.flavour {
            Flavour::MariaDb { .. } | Flavour::Galera => {
                let limit = limit.as_secs_f64();
                conn.query_drop(format!("SET SESSION max_statement_time = {limit}"))?;
            }
            Flavour::MyRocks => {
                conn.query_drop(format!("SET SESSION rocksdb_lock_wait_timeout = {seconds}"))?;
                conn.query_drop("SET SESSION default_storage_engine = ROCKSDB")?;
            }
            Flavour::MySql | Flavour::TiDb => {}
        }
        conn.query_drop(format!("SET SESSION innodb_lock_wait_timeout = {seconds}"))?;
        Ok(conn)
    }

    fn order(&self, statements: &[String]) -> Result<(), Failure> {
        let failed = |e: Error| failure::in_transaction(&e);
        let mut conn = self.plain_conn().map_err(failed)?;
        statements.iter().try_for_each(|text| conn.query_drop(text).map_err(failed))
    }
}

impl Consoles for MySql {
    fn make_room(&self) -> Result<String, Failure> {
        let room = format!("{ROOM}{}", unique::tag());
        self.order(&[format!("CREATE DATABASE {room}")])?;
        Ok(room)
    }

    fn empty_room(&self, room: &str) -> Result<(), Failure> {
        self.order(&[format!("DROP DATABASE IF EXISTS {room}"), format!("CREATE DATABASE {room}")])
    }

    fn remove_room(&self, room: &str) -> Result<(), Failure> {
        self.order(&[format!("DROP DATABASE IF EXISTS {room}")])
    }

    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure> {
        let Some(set) = self.flavour.set(offer) else {
            let message = format!("{} has no level '{}'", self.flavour.name(), offer.name);
            return Err(Failure::new(After::Lost, "level", message));
        };
        let conn = self.plain_conn().and_then(|mut conn| {
            conn.query_drop(format!("USE {room}"))?;
            set.iter().try_for_each(|text| conn.query_drop(text))?;
            Ok(conn)
        });
        match conn {
            Ok(conn) => Ok(Box::new(MySqlConsole { conn })),
            Err(error) => Err(Failure { after: After::Lost, ..failure::in_transaction(&error) }),
        }
    }

    fn purges(&self) -> bool {
        // InnoDB does.
        matches!(self.flavour, Flavour::MariaDb { .. } | Flavour::Galera | Flavour::MySql)
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        // The others have locks of their own, of which InnoDB knows nothing.
        if !matches!(self.flavour, Flavour::MariaDb { .. } | Flavour::MySql) {
            return Ok(None);
        }
        let conn = self.plain_conn().map_err(|e| failure::in_transaction(&e))?;
        let mut waits = InnoDbWaits { conn };
        // It takes the privilege PROCESS, which not every user has.
        match waits.waiting(&[]) {
            Ok(_) => Ok(Some(Box::new(waits))),
            Err(_) => Ok(None),
        }
    }
}

/// A connection that runs what is typed.
struct MySqlConsole {
    conn: Conn,
}

impl MySqlConsole {
    fn said(&mut self, statement: &str) -> Result<Said, Error> {
        let mut answer = self.conn.query_iter(statement)?;
        let mut said = Said::Done;
        // A call of a procedure brings several answers; the last one with rows is the one.
        while let Some(set) = answer.iter() {
            let changed = set.affected_rows();
            let columns: Vec<Column> = set.columns().as_ref().iter().map(types::column).collect();
            let mut rows = Vec::new();
            for row in set {
                let cells = row?.unwrap().into_iter().zip(&columns);
                rows.push(cells.map(|(value, of)| types::datum(value, of.kind)).collect());
            }
            if !columns.is_empty() {
                said = Said::Rows(ResultSet { columns, rows });
            } else if !matches!(said, Said::Rows(_)) && changes(statement) {
                said = Said::Changed(changed);
            }
        }
        Ok(said)
    }
}

/// Whether a statement is one that counts the rows it changed.
fn changes(statement: &str) -> bool {
    let first = statement.split_whitespace().next().unwrap_or_default();
    ["insert", "update", "delete", "replace", "with"].iter().any(|w| first.eq_ignore_ascii_case(w))
}

impl Console for MySqlConsole {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        let first = statement.split([' ', ';']).next().unwrap_or_default();
        self.said(statement).map_err(|error| {
            if first.eq_ignore_ascii_case("commit") {
                failure::at_commit(&error)
            } else {
                failure::in_transaction(&error)
            }
        })
    }

    fn number(&self) -> u64 {
        u64::from(self.conn.connection_id())
    }
}

/// A connection that looks at InnoDB's transactions.
///
/// `information_schema.innodb_trx` would be easier to read, but it shows what was there when any client
/// read it last, unless none did for a tenth of a second: neither can a look be trusted, nor do looks
/// of several schedules at once ever become fresh. The engine's status is always that of the moment.
struct InnoDbWaits {
    conn: Conn,
}

impl Waits for InnoDbWaits {
    fn waiting(&mut self, clients: &[u64]) -> Result<Vec<Waiting>, Failure> {
        let failed = |e: Error| failure::in_transaction(&e);
        let status: Option<(String, String, String)> =
            self.conn.query_first("SHOW ENGINE INNODB STATUS").map_err(failed)?;
        let mut found = status.map(|(_, _, text)| waiting_in(&text)).unwrap_or_default();
        // Locks on whole tables and those with a name are not InnoDB's.
        let others: Vec<u64> = self
            .conn
            .query(
                "SELECT id FROM information_schema.processlist \
                 WHERE state LIKE 'Waiting for % lock' OR state = 'User lock'",
            )
            .map_err(failed)?;
        found.extend(others);
        found.retain(|client| clients.contains(client));
        let waiting = |client| Waiting { client, behind: Vec::new() };
        Ok(found.into_iter().map(waiting).collect())
    }
}

/// The numbers of the threads whose transactions wait for a lock, from the status of the engine: each
/// transaction is a few lines, of which one says `LOCK WAIT` and a later one the number.
fn waiting_in(status: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut waits = false;
    // An earlier section tells of the last deadlock, in the same words.
    let transactions = status.rsplit("LIST OF TRANSACTIONS FOR EACH SESSION").next();
    for line in transactions.unwrap_or_default().lines() {
        if line.starts_with("---TRANSACTION") {
            waits = false;
        } else if line.starts_with("LOCK WAIT") {
            waits = true;
        } else if waits && let Some((_, rest)) = line.split_once(" thread id ") {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            found.extend(digits.parse::<u64>());
            waits = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_in_the_list_of_transactions_wait() {
        let status = "LATEST DETECTED DEADLOCK\nLOCK WAIT 2 lock struct(s)\n\
                      MariaDB thread id 3, OS thread handle 1\n\
                      LIST OF TRANSACTIONS FOR EACH SESSION:\n\
                      ---TRANSACTION 17, ACTIVE 1 sec starting index read\n\
                      mysql tables in use 1, locked 1\n\
                      LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
                      MariaDB thread id 8, OS thread handle 140, query id 21 127.0.0.1 root\n\
                      ---TRANSACTION 16, ACTIVE 1 sec\n\
                      2 lock struct(s), heap size 1128, 1 row lock(s)\n\
                      MariaDB thread id 7, OS thread handle 141\n";
        assert_eq!(waiting_in(status), [8]);
        assert_eq!(waiting_in(""), [0; 0]);
    }
}
