//! MariaDB (a throwaway server, or by URL), MySQL and TiDB (by URL).

mod console;
mod dialect;
mod failure;
mod flavour;
mod session;

use std::sync::Mutex;
use std::time::Duration;

use isolde_history::OpKind;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder};

use crate::catalogue::OpenOptions;
use crate::console::Consoles;
use crate::failure::{After, Failure};
use crate::offer::Offer;
use crate::path::Path;
use crate::server::Server;
use crate::server::mariadb::{self, Engine};
use crate::target::{Contents, OpenError, Session, Table, Target, Throwaway};
use crate::unique;
use crate::url::Url;
use flavour::Flavour;
use session::MySqlSession;

/// The usual ports.
const PORT: u16 = 3306;
const TIDB_PORT: u16 = 4000;
/// How many rows one INSERT makes.
const CHUNK: u32 = 1000;

/// How to reach a server.
#[derive(Clone, Debug)]
struct Address {
    host: String,
    port: u16,
    user: String,
    password: String,
    database: String,
    timeout: Duration,
}

impl Address {
    fn connect(&self) -> Result<Conn, Error> {
        // A row that is set to what it already is counts as found.
        let found = CapabilityFlags::CLIENT_FOUND_ROWS;
        Conn::new(self.options().additional_capabilities(found))
    }

    fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some(&self.user))
            .pass(Some(&self.password))
            .db_name(Some(&self.database))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(self.timeout))
            .read_timeout(Some(self.timeout))
            .write_timeout(Some(self.timeout))
            // Sessions keep their statements themselves; a cache would close what it drops.
            .stmt_cache_size(0)
    }
}

/// Opens a server with its usual engine: the user's if there is a URL, else a throwaway one.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    open_engine(Engine::InnoDb, url, options)
}

/// Opens a MariaDB server and uses MyRocks.
pub(crate) fn open_rocksdb(
    url: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    open_engine(Engine::RocksDb, url, options)
}

fn open_engine(
    engine: Engine,
    url: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let (address, server) = match url {
        Some(url) => (address(url, options)?, None),
        None => {
            let (address, server) = start(engine, options)?;
            (address, Some(server))
        }
    };
    let explain = |e: Error| explain(&e, &address);
    let mut conn = address.connect().map_err(explain)?;
    let version: Option<String> = conn.query_first("SELECT VERSION()").map_err(explain)?;
    let version = version.unwrap_or_default();
    let snapshots = "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'";
    let snapshots: Option<(String, String)> = conn.query_first(snapshots).map_err(explain)?;
    let flavour = Flavour::of(&version, engine == Engine::RocksDb, snapshots.is_some());
    if flavour == Flavour::MyRocks {
        let engines: Vec<String> = conn
            .query_map("SHOW ENGINES", |row: mysql::Row| {
                row.get::<String, _>(0).unwrap_or_default()
            })
            .map_err(explain)?;
        if !engines.iter().any(|e| e.eq_ignore_ascii_case("rocksdb")) {
            return Err(OpenError::new("the server has no storage engine ROCKSDB"));
        }
    }
    let prefix = format!("isolde_{}_", unique::tag());
    let made = Mutex::new(Vec::new());
    Ok(Box::new(MySql { address, version, flavour, prefix, made, server }))
}

fn start(engine: Engine, options: &OpenOptions) -> Result<(Address, Server), OpenError> {
    let password = unique::secret();
    let at = |port| Address {
        host: "127.0.0.1".to_owned(),
        port,
        user: mariadb::USER.to_owned(),
        password: password.clone(),
        database: mariadb::DATABASE.to_owned(),
        timeout: options.timeout,
    };
    // Only our server knows the password; it also has to name our folder.
    let probe = |port| {
        let mut conn = at(port).connect().ok()?;
        let folder: Result<Option<String>, Error> = conn.query_first("SELECT @@datadir");
        Some(folder.map(Option::unwrap_or_default).map_err(|e| explain(&e, &at(port))))
    };
    let (server, port) = mariadb::start(engine, options, &password, &probe)?;
    Ok((at(port), server))
}

fn address(url: &str, options: &OpenOptions) -> Result<Address, OpenError> {
    let url = Url::parse(url)?;
    url.only_parameters(&[])?;
    let usual = if url.scheme == "tidb" { TIDB_PORT } else { PORT };
    let Some(database) = url.database else {
        return Err(OpenError::new("the URL names no database")
            .hint("name one in which tables may be made: mysql://user:password@host/database"));
    };
    Ok(Address {
        host: url.host,
        port: url.port.unwrap_or(usual),
        user: url.user.unwrap_or_else(|| "root".to_owned()),
        password: url.password.unwrap_or_default(),
        database,
        timeout: options.timeout,
    })
}

/// Why a server cannot be reached, in words that help.
fn explain(error: &Error, address: &Address) -> OpenError {
    let place = format!("{}:{}", address.host, address.port);
    let Error::MySqlError(said) = error else {
        let said = match error {
            Error::DriverError(error) => error.to_string(),
            Error::IoError(error) => error.to_string(),
            other => other.to_string(),
        };
        return OpenError::new(format!("cannot connect to {place}: {said}"))
            .hint("check host and port; does the server listen there?");
    };
    let problem = OpenError::new(format!("{place}: {} ({})", said.message, said.code));
    match said.code {
        1045 | 1698 => problem.hint("check user and password in the URL"),
        1044 => problem.hint("the user may not use this database"),
        1049 => problem.hint(format!("create it: CREATE DATABASE {}", address.database)),
        1040 => problem.hint("the server has no connection left"),
        3159 | 4151 => problem.hint("the server wants TLS, which is not supported"),
        _ => problem,
    }
}

/// A server that speaks MySQL's protocol.
struct MySql {
    address: Address,
    version: String,
    flavour: Flavour,
    /// What its tables are called, but for their numbers.
    prefix: String,
    /// The tables that are there.
    made: Mutex<Vec<u32>>,
    server: Option<Server>,
}

impl MySql {
    /// A connection whose statements the server gives up a little before we do.
    fn conn(&self) -> Result<Conn, Error> {
        let mut conn = self.address.connect()?;
        let limit = self.address.timeout.mul_f64(0.8);
        if matches!(self.flavour, Flavour::MariaDb { .. } | Flavour::MyRocks) {
            conn.query_drop(format!("SET SESSION max_statement_time = {}", limit.as_secs_f64()))?;
        }
        if self.server.is_none() {
            let seconds = limit.as_secs().clamp(1, 50);
            conn.query_drop(format!("SET SESSION innodb_lock_wait_timeout = {seconds}"))?;
        }
        Ok(conn)
    }

    fn statements(&self, texts: &[String]) -> Result<(), Failure> {
        let failed = |e: Error| failure::in_transaction(&e);
        let mut conn = self.conn().map_err(failed)?;
        texts.iter().try_for_each(|text| conn.query_drop(text).map_err(failed))
    }
}

impl Target for MySql {
    fn name(&self) -> &str {
        self.flavour.name()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn facts(&self) -> Vec<(String, String)> {
        let place = format!("{}:{}", self.address.host, self.address.port);
        let mut facts = vec![("address".to_owned(), place)];
        let whose = if self.server.is_some() { "throwaway" } else { "the user's" };
        facts.push(("server".to_owned(), whose.to_owned()));
        let settings = "SHOW VARIABLES WHERE Variable_name IN ('innodb_lock_wait_timeout', \
                        'innodb_flush_log_at_trx_commit', 'innodb_snapshot_isolation', \
                        'rocksdb_lock_wait_timeout', 'rocksdb_deadlock_detect', \
                        'max_connections', 'tidb_txn_mode')";
        if let Ok(found) = self.address.connect().and_then(|mut c| c.query(settings)) {
            facts.extend::<Vec<(String, String)>>(found);
        }
        facts
    }

    fn offers(&self) -> &'static [Offer] {
        self.flavour.offers()
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        match self.flavour {
            Flavour::TiDb => dialect::TIDB_PATHS.get(kind),
            _ => dialect::PATHS.get(kind),
        }
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let name = format!("{}{}", self.prefix, table.number);
        let value = match table.contents {
            Contents::Registers => "BIGINT",
            Contents::Lists => "MEDIUMTEXT",
        };
        // A try before this one may have got half-way.
        let mut texts = vec![format!("DROP TABLE IF EXISTS {name}")];
        texts.push(format!(
            "CREATE TABLE {name} (k BIGINT NOT NULL PRIMARY KEY, s BIGINT NOT NULL, \
             u BIGINT NOT NULL, v {value} NOT NULL, KEY s (s)){}",
            self.flavour.engine()
        ));
        if table.filled && table.contents == Contents::Registers {
            for from in (0..table.rows).step_by(CHUNK as usize) {
                let to = table.rows.min(from.saturating_add(CHUNK));
                let rows: Vec<String> = (from..to).map(|k| format!("({k},{k},{k},0)")).collect();
                texts.push(format!("INSERT INTO {name} (k, s, u, v) VALUES {}", rows.join(",")));
            }
        }
        if let Ok(mut made) = self.made.lock() {
            made.push(table.number);
        }
        self.statements(&texts)
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        let Some(set) = self.flavour.set(offer) else {
            let message = format!("{} has no level '{}'", self.name(), offer.name);
            return Err(Failure::new(After::Lost, "level", message));
        };
        let conn = self.conn().and_then(|mut conn| {
            set.iter().try_for_each(|text| conn.query_drop(text))?;
            Ok(conn)
        });
        match conn {
            Ok(conn) => Ok(Box::new(MySqlSession::new(conn, self.prefix.clone()))),
            Err(error) => Err(Failure { after: After::Lost, ..failure::in_transaction(&error) }),
        }
    }

    fn consoles(&self) -> Option<&dyn Consoles> {
        Some(self)
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        self.statements(&[format!("DROP TABLE IF EXISTS {}{number}", self.prefix)])?;
        if let Ok(mut made) = self.made.lock() {
            made.retain(|n| *n != number);
        }
        Ok(())
    }

    fn clean(&self) -> Result<(), Failure> {
        let Ok(mut made) = self.made.lock() else { return Ok(()) };
        if made.is_empty() {
            return Ok(());
        }
        let drop = |number| format!("DROP TABLE IF EXISTS {}{number}", self.prefix);
        self.statements(&made.iter().map(drop).collect::<Vec<_>>())?;
        made.clear();
        Ok(())
    }

    fn throwaway(&self) -> Option<Throwaway> {
        self.server.as_ref().map(Server::throwaway)
    }

    fn last_words(&self) -> Option<String> {
        self.server.as_ref()?.last_words()
    }
}

impl Drop for MySql {
    fn drop(&mut self) {
        // A throwaway server takes its tables with it; one that is kept is kept to be looked at.
        if self.server.is_none() {
            let _ = self.clean();
        }
    }
}
