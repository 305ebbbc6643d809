//! MariaDB (throwaway servers, or by URL), MySQL and TiDB (by URL).

mod address;
mod chain;
mod console;
mod dialect;
mod failure;
mod flavour;
mod in_doubt;
mod leftovers;
mod session;
mod start;
mod types;
mod versions;

use std::sync::Mutex;

use isolde_history::{OpKind, Outcome};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::console::Consoles;
use crate::failure::{After, Failure};
use crate::leftover::Leftover;
use crate::node::Node;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::relay::Relay;
use crate::secret;
use crate::server::mariadb::StorageEngine;
use crate::server::{Apart, Member};
use crate::shown::{InDoubt, ResolvedOutcome, Show, TableVersions};
use crate::target::{Contents, OpenError, Session, Table, Target, Throwaway};
use crate::unique;
use address::{MySqlAddress, address, explain};
use flavour::Flavour;
use session::MySqlSession;
use start::MySqlStarted;

/// What every session sets itself, so that a setting of the server has no effect. Snapshots belong to the
/// level: `repeatable-read-snapshot`.
const SESSION_SETTINGS: &[&str] =
    &["transaction_isolation", "tx_isolation", "innodb_snapshot_isolation"];

/// How many rows one INSERT makes.
const CHUNK: u32 = 1000;

/// Opens a server with its usual engine: the user's if there is a URL, else a throwaway one.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    open_engine(StorageEngine::InnoDb, url, options)
}

/// Opens a MariaDB server and uses MyRocks.
pub(crate) fn open_rocksdb(
    url: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    open_engine(StorageEngine::RocksDb, url, options)
}

/// Opens a throwaway Galera cluster, over which clients are spread.
pub(crate) fn open_galera(
    _: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    options.refuse(SESSION_SETTINGS)?;
    open_started(StorageEngine::InnoDb, start::cluster(options)?, options)
}

fn open_engine(
    engine: StorageEngine,
    url: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let started = match url {
        Some(url) => {
            let nodes = vec![address(url, options, &|name| std::env::var(name).ok())?];
            MySqlStarted { nodes, members: Vec::new(), apart: None }
        }
        None => {
            options.refuse(SESSION_SETTINGS)?;
            secret::none_wanted(options)?;
            start::alone(engine, options)?
        }
    };
    open_started(engine, started, options)
}

fn open_started(
    engine: StorageEngine,
    started: MySqlStarted,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let MySqlStarted { nodes, members, apart } = started;
    let address = nodes.first().ok_or_else(|| OpenError::new("there is no server"))?;
    let explain = |e: Error| explain(&e, address);
    let mut conn = address.connect().map_err(explain)?;
    let version: Option<String> = conn.query_first("SELECT VERSION()").map_err(explain)?;
    let version = version.unwrap_or_default();
    let snapshots = "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'";
    let snapshots: Option<(String, String)> = conn.query_first(snapshots).map_err(explain)?;
    let flavour = match Flavour::of(&version, engine == StorageEngine::RocksDb, snapshots.is_some())
    {
        Flavour::MariaDb { .. } if nodes.len() > 1 => Flavour::Galera,
        flavour => flavour,
    };
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
    let relay = options.relayed.then(Relay::default);
    let own_limit = options.sets("max_statement_time");
    let versioned = options.show == Some(Show::Versions) && flavour.keeps_versions().is_ok();
    Ok(Box::new(MySql {
        nodes,
        version,
        flavour,
        versioned,
        own_limit,
        prefix,
        made,
        relay,
        members,
        _apart: apart,
    }))
}

/// A server that speaks MySQL's protocol, or a cluster of them.
struct MySql {
    /// Where to reach each node.
    nodes: Vec<MySqlAddress>,
    version: String,
    flavour: Flavour,
    /// Whether its tables keep all versions of their rows.
    versioned: bool,
    /// Whether the user has set for the whole server how long a statement may take.
    own_limit: bool,
    /// What its tables are called, but for their numbers.
    prefix: String,
    /// The tables that are there.
    made: Mutex<Vec<Table>>,
    relay: Option<Relay>,
    /// The throwaway servers, and below their networks, which go after them.
    members: Vec<Member>,
    _apart: Option<Apart>,
}

impl MySql {
    /// The node of a client, counted from 0.
    fn at(&self, client: u32) -> usize {
        client as usize % self.nodes.len().max(1)
    }

    /// Where a client finds its node.
    fn address(&self, client: u32) -> Result<MySqlAddress, Error> {
        let none = || Error::from(std::io::Error::other("there is no server"));
        let address = self.nodes.get(self.at(client)).cloned().ok_or_else(none)?;
        Ok(match &self.relay {
            None => address,
            Some(relay) => {
                let port = relay.port(client, &address.host, address.port)?;
                MySqlAddress { host: "127.0.0.1".to_owned(), port, ..address }
            }
        })
    }

    /// A connection whose statements the server gives up a little before we do.
    fn conn(&self, address: &MySqlAddress) -> Result<Conn, Error> {
        let mut conn = address.connect()?;
        let limit = address.timeout.mul_f64(0.8);
        if !self.own_limit && !matches!(self.flavour, Flavour::MySql | Flavour::TiDb) {
            conn.query_drop(format!("SET SESSION max_statement_time = {}", limit.as_secs_f64()))?;
        }
        if self.members.is_empty() {
            let seconds = limit.as_secs().clamp(1, 50);
            conn.query_drop(format!("SET SESSION innodb_lock_wait_timeout = {seconds}"))?;
        }
        Ok(conn)
    }

    fn statements(&self, texts: &[String]) -> Result<(), Failure> {
        let failed = |e: Error| failure::in_transaction(&e);
        let none = || failed(std::io::Error::other("there is no server").into());
        let mut conn = self.conn(self.nodes.first().ok_or_else(none)?).map_err(failed)?;
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
        let Some(first) = self.nodes.first() else { return Vec::new() };
        let place = format!("{}:{}", first.host, first.port);
        let mut facts = vec![("address".to_owned(), place)];
        let whose = if self.members.is_empty() { "the user's" } else { "throwaway" };
        facts.push(("instance".to_owned(), whose.to_owned()));
        let settings = "SHOW VARIABLES WHERE Variable_name IN ('innodb_lock_wait_timeout', \
                        'innodb_flush_log_at_trx_commit', 'innodb_snapshot_isolation', \
                        'rocksdb_lock_wait_timeout', 'rocksdb_deadlock_detect', \
                        'max_connections', 'tidb_txn_mode')";
        if let Ok(found) = first.connect().and_then(|mut c| c.query(settings)) {
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
        let (index, versioned) = match self.versioned {
            true => (versions::COLUMNS, versions::VERSIONED),
            false => ("KEY s (s)", ""),
        };
        texts.push(format!(
            "CREATE TABLE {name} (k BIGINT NOT NULL PRIMARY KEY, s BIGINT NOT NULL, \
             u BIGINT NOT NULL, v {value} NOT NULL, {index}){}{versioned}",
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
            made.retain(|other| other.number != table.number);
            made.push(*table);
        }
        self.statements(&texts)?;
        let rows = if table.filled { u64::from(table.rows) } else { 0 };
        self.nodes.iter().skip(1).try_for_each(|node| start::catch_up(node, &name, rows))
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        self.connect_client(offer, 0)
    }

    fn connect_client(&self, offer: &Offer, client: u32) -> Result<Box<dyn Session>, Failure> {
        let Some(set) = self.flavour.set(offer) else {
            let message = format!("{} has no level '{}'", self.name(), offer.name);
            return Err(Failure::new(After::Lost, "level", message));
        };
        let conn = self.address(client).and_then(|address| {
            let mut conn = self.conn(&address)?;
            set.iter().try_for_each(|text| conn.query_drop(text))?;
            Ok(conn)
        });
        match conn {
            Ok(conn) => Ok(Box::new(MySqlSession::new(conn, self.flavour, self.prefix.clone()))),
            Err(error) => Err(Failure { after: After::Lost, ..failure::in_transaction(&error) }),
        }
    }

    fn node_of(&self, client: u32) -> Option<String> {
        if self.nodes.len() < 2 {
            return None;
        }
        self.members.get(self.at(client)).map(|member| member.name().to_owned())
    }

    fn nodes(&self) -> Vec<&dyn Node> {
        self.members.iter().map(|member| member as &dyn Node).collect()
    }

    fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    fn consoles(&self) -> Option<&dyn Consoles> {
        // Which node would it be? Schedules know of one server.
        (self.nodes.len() == 1).then_some(self)
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        self.statements(&[format!("DROP TABLE IF EXISTS {}{number}", self.prefix)])?;
        if let Ok(mut made) = self.made.lock() {
            made.retain(|table| table.number != number);
        }
        Ok(())
    }

    fn clean(&self) -> Result<(), Failure> {
        let Ok(mut made) = self.made.lock() else { return Ok(()) };
        if made.is_empty() {
            return Ok(());
        }
        let drop = |table: &Table| format!("DROP TABLE IF EXISTS {}{}", self.prefix, table.number);
        self.statements(&made.iter().map(drop).collect::<Vec<_>>())?;
        made.clear();
        Ok(())
    }

    fn shows(&self, show: Show) -> Result<(), String> {
        match show {
            Show::Versions if self.versioned => Ok(()),
            Show::Versions => {
                self.flavour.keeps_versions()?;
                Err(format!("{} was opened without keeping the versions of rows", self.name()))
            }
            Show::Snapshots => {
                Err(format!("{} does not show snapshots; {}", self.name(), show.shown_by()))
            }
        }
    }

    fn fate(&self, in_doubt: &InDoubt<'_>) -> ResolvedOutcome {
        if !self.versioned || in_doubt.writes.is_empty() {
            return Outcome::Unknown.into();
        }
        let found = self.nodes.first().map(|node| {
            let mut conn = self.conn(node)?;
            in_doubt::is_there(&mut conn, &self.prefix, in_doubt.writes)
        });
        match found {
            Some(Ok(true)) => Outcome::Committed.into(),
            // What is not there may still be on its way.
            Some(Ok(false) | Err(_)) | None => Outcome::Unknown.into(),
        }
    }

    fn versions(&self, number: u32) -> Result<Option<TableVersions>, Failure> {
        let made =
            self.made.lock().map_or(None, |made| made.iter().find(|t| t.number == number).copied());
        let (Some(node), Some(table), true) = (self.nodes.first(), made, self.versioned) else {
            return Ok(None);
        };
        let filled = if table.filled { table.rows } else { 0 };
        let name = format!("{}{number}", self.prefix);
        // Without a limit for the statement: it may be a long answer.
        let read = node
            .connect()
            .and_then(|mut conn| versions::read(&mut conn, &name, table.contents, filled));
        read.map(Some).map_err(|error| failure::in_transaction(&error))
    }

    fn leftovers(&self) -> Result<Option<Vec<Leftover>>, Failure> {
        let Some(first) = self.nodes.first() else { return Ok(None) };
        let list = first.connect().and_then(|mut conn| leftovers::list(&mut conn));
        list.map(Some).map_err(|error| failure::in_transaction(&error))
    }

    fn remove_leftover(&self, left: &Leftover) -> Result<(), Failure> {
        self.statements(&[leftovers::drop_statement(left)])
    }

    fn throwaway(&self) -> Option<Throwaway> {
        self.members.first().map(|member| member.server().throwaway())
    }

    fn last_words(&self) -> Option<String> {
        self.members.iter().find_map(|member| member.server().last_words())
    }
}

impl Drop for MySql {
    fn drop(&mut self) {
        // A throwaway server takes its tables with it; one that is kept is kept to be looked at.
        if self.members.is_empty() {
            let _ = self.clean();
        }
    }
}
