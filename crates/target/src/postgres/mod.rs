//! PostgreSQL: a throwaway server, or the user's by URL.

mod address;
mod console;
mod dialect;
mod environment;
mod evidence;
mod failure;
mod fates;
mod leftovers;
mod prelude;
mod restarts;
mod session;
mod start;
mod types;
mod wire;

use std::sync::Mutex;

use isolde_history::{OpKind, Outcome};

use crate::console::Consoles;
use crate::failure::{After, Failure};
use crate::leftover::Leftover;
use crate::node::Node;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::relay::Relay;
use crate::secret;
use crate::server::{Apart, Member};
use crate::shown::{InDoubt, ResolvedOutcome, ServerTxn, Show};
use crate::target::{Contents, OpenError, Session, Table, Target, Throwaway};
use crate::unique;
use address::{address, explain};
use evidence::{Evidence, snapshots_of};
use prelude::Preludes;
use restarts::Restarts;
use session::PostgresSession;
use start::PostgresStarted;
use wire::{PostgresAddress, Trouble, Wire};

/// What every transaction says itself, so that a setting of the server has no effect.
const LEVEL_SETTINGS: &[&str] = &["default_transaction_isolation", "transaction_isolation"];

/// Why snapshots of a standby are no evidence.
const NO_STANDBY: &str = "a hot standby does not show snapshots: those that it gives leave out which \
    transactions were in progress on the primary";

/// Opens a server: the user's if there is a URL, else a throwaway one.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    let started = match url {
        Some(url) => {
            let nodes = vec![address(url, options, &environment::of_process)?];
            PostgresStarted { nodes, members: Vec::new(), apart: None }
        }
        None => {
            options.refuse(LEVEL_SETTINGS)?;
            secret::none_wanted(options)?;
            start::alone(options)?
        }
    };
    Ok(Box::new(Postgres::new(started, options)?))
}

/// Opens a throwaway primary with a hot standby, over which clients are spread.
pub(crate) fn open_pair(
    _: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    options.refuse(LEVEL_SETTINGS)?;
    if options.show == Some(Show::Snapshots) {
        return Err(OpenError::new(NO_STANDBY));
    }
    Ok(Box::new(Postgres::new(start::pair(options)?, options)?))
}

/// A PostgreSQL server, maybe with a copy.
struct Postgres {
    /// Where to reach the primary and its standby, if there is one.
    nodes: Vec<PostgresAddress>,
    version: String,
    /// What its tables are called, but for their numbers.
    prefix: String,
    /// What connections set first.
    preludes: Preludes,
    /// The tables that are there.
    made: Mutex<Vec<u32>>,
    /// The starts of the server that were seen, if it shall show snapshots: they tell transactions of the
    /// same number apart.
    restarts: Option<Restarts>,
    /// Whether the server is a hot standby.
    recovering: bool,
    relay: Option<Relay>,
    /// The throwaway servers, and below their networks, which go after them.
    members: Vec<Member>,
    _apart: Option<Apart>,
}

impl Postgres {
    fn new(started: PostgresStarted, options: &OpenOptions) -> Result<Postgres, OpenError> {
        let PostgresStarted { nodes, members, apart } = started;
        let address = nodes.first().ok_or_else(|| OpenError::new("there is no server"))?;
        let mut wire = Wire::connect(address).map_err(|t| explain(t, address))?;
        let version = wire.show("server_version").map_err(|t| explain(t, address))?;
        let recovering =
            wire.simple("SELECT pg_is_in_recovery()").map_err(|t| explain(t, address))?;
        Ok(Postgres {
            restarts: (options.show == Some(Show::Snapshots)).then(Restarts::default),
            recovering: recovering.text() == "t",
            version,
            prefix: format!("isolde_{}_", unique::tag()),
            preludes: Preludes::new(options),
            made: Mutex::new(Vec::new()),
            relay: options.relayed.then(Relay::default),
            members,
            _apart: apart,
            nodes,
        })
    }

    /// The node of a client, counted from 0.
    fn at(&self, client: u32) -> usize {
        client as usize % self.nodes.len().max(1)
    }

    /// Where a client finds its node.
    fn address(&self, client: u32) -> Result<PostgresAddress, Trouble> {
        let node = self.nodes.get(self.at(client)).cloned();
        let address = node.ok_or_else(|| Trouble::Gone("there is no server".to_owned()))?;
        Ok(match &self.relay {
            None => address,
            Some(relay) => {
                let port = relay.port(client, &address.host, address.port)?;
                PostgresAddress { host: "127.0.0.1".to_owned(), port, ..address }
            }
        })
    }

    /// A connection whose statements the server gives up a little before we do, and to which start of the
    /// server it belongs; the latter is asked only if the server shall show snapshots.
    fn wire(&self, address: &PostgresAddress) -> Result<(Wire, u32), Trouble> {
        let mut wire = Wire::connect(address)?;
        self.preludes.session(&mut wire)?;
        let restart = match &self.restarts {
            Some(restarts) => restarts.number(&mut wire)?,
            None => 0,
        };
        Ok((wire, restart))
    }

    /// A connection to the primary that asks about transactions.
    fn asking(&self) -> Result<Option<(Wire, &Restarts)>, Trouble> {
        match (&self.restarts, self.nodes.first()) {
            (Some(restarts), Some(primary)) => Ok(Some((self.wire(primary)?.0, restarts))),
            _ => Ok(None),
        }
    }

    /// A session of a client, on a connection of its own.
    fn session(&self, offer: &Offer, client: u32, begin: &str) -> Result<PostgresSession, Trouble> {
        let (wire, restart) = self.wire(&self.address(client)?)?;
        let evidence = self.restarts.as_ref().map(|_| Evidence::new(snapshots_of(offer), restart));
        PostgresSession::new(wire, self.prefix.clone(), begin, self.only_reads(client), evidence)
    }

    fn statements(&self, texts: &[String]) -> Result<(), Failure> {
        let failed = |t| failure::in_transaction(t, b'I');
        let primary = self.nodes.first();
        let primary =
            primary.ok_or_else(|| failed(Trouble::Gone("there is no server".to_owned())))?;
        let (mut wire, _) = self.wire(primary).map_err(failed)?;
        texts.iter().try_for_each(|text| wire.simple(text).map(|_| ()).map_err(failed))
    }
}

impl Target for Postgres {
    fn name(&self) -> &'static str {
        if self.nodes.len() > 1 { "PostgreSQL with a standby" } else { "PostgreSQL" }
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn facts(&self) -> Vec<(String, String)> {
        let Some(primary) = self.nodes.first() else { return Vec::new() };
        let mut facts = vec![("address".to_owned(), format!("{}:{}", primary.host, primary.port))];
        let whose = if self.members.is_empty() { "the user's" } else { "throwaway" };
        facts.push(("instance".to_owned(), whose.to_owned()));
        let settings = ["fsync", "synchronous_commit", "max_connections", "deadlock_timeout"];
        if let Ok(mut wire) = Wire::connect(primary) {
            for name in settings {
                facts.extend(wire.show(name).ok().map(|value| (name.to_owned(), value)));
            }
        }
        facts
    }

    fn offers(&self) -> &'static [Offer] {
        if self.nodes.len() > 1 { &dialect::PAIR_OFFERS } else { &dialect::OFFERS }
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        dialect::PATHS.get(kind)
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let name = format!("{}{}", self.prefix, table.number);
        let value = match table.contents {
            Contents::Registers => "bigint",
            Contents::Lists => "text",
        };
        // A try before this one may have got half-way.
        let mut texts = vec![format!(
            "DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (k bigint PRIMARY KEY, s bigint NOT NULL, u bigint NOT NULL, \
             v {value} NOT NULL) WITH (fillfactor = 70); CREATE INDEX {name}_s ON {name} (s)"
        )];
        if table.filled && table.contents == Contents::Registers && table.rows > 0 {
            texts.push(format!(
                "INSERT INTO {name} SELECT k, k, k, 0 FROM generate_series(0, {}) AS k",
                table.rows - 1
            ));
        }
        if let Ok(mut made) = self.made.lock() {
            made.push(table.number);
        }
        self.statements(&texts)?;
        match self.nodes.as_slice() {
            [primary, standby] => start::catch_up(primary, standby),
            _ => Ok(()),
        }
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        self.connect_client(offer, 0)
    }

    fn connect_client(&self, offer: &Offer, client: u32) -> Result<Box<dyn Session>, Failure> {
        let Some(begin) = dialect::begin(offer, self.only_reads(client)) else {
            let message = format!("PostgreSQL has no level '{}'", offer.name);
            return Err(Failure::new(After::Lost, "level", message));
        };
        match self.session(offer, client, begin) {
            Ok(session) => Ok(Box::new(session)),
            Err(trouble) => {
                let mut failure = failure::in_transaction(trouble, b'I');
                failure.after = After::Lost;
                Err(failure)
            }
        }
    }

    fn node_of(&self, client: u32) -> Option<String> {
        if self.nodes.len() < 2 {
            return None;
        }
        self.members.get(self.at(client)).map(|member| member.name().to_owned())
    }

    fn only_reads(&self, client: u32) -> bool {
        self.at(client) > 0
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

    fn shows(&self, show: Show) -> Result<(), String> {
        if show != Show::Snapshots {
            let by = show.shown_by();
            return Err(format!("{} does not show {}; {by}", self.name(), show.name()));
        }
        if self.recovering || self.nodes.len() > 1 {
            return Err(NO_STANDBY.to_owned());
        }
        // Those to whom the questions are not answered learn it before a run begins.
        let asked = self.asking().and_then(|asking| match asking {
            Some((mut wire, _)) => wire.simple(evidence::SNAPSHOT).map(drop),
            None => Ok(()),
        });
        asked.map_err(|trouble| {
            let why = failure::in_transaction(trouble, b'I').message;
            format!("PostgreSQL {} does not show snapshots here: {why}", self.version)
        })
    }

    fn fate(&self, in_doubt: &InDoubt<'_>) -> ResolvedOutcome {
        let Some(txn) = in_doubt.txn else { return Outcome::Unknown.into() };
        let outcome = match self.asking() {
            Ok(Some((mut wire, restarts))) => fates::outcome(&mut wire, restarts, txn).ok(),
            _ => None,
        };
        outcome.unwrap_or(Outcome::Unknown).into()
    }

    fn lost(&self, confirmed: &[ServerTxn]) -> Result<Vec<ServerTxn>, Failure> {
        match self.asking().map_err(|t| failure::in_transaction(t, b'I'))? {
            Some((mut wire, restarts)) => fates::lost(&mut wire, restarts, confirmed),
            None => Ok(Vec::new()),
        }
    }

    fn commit_times(&self, txns: &[ServerTxn]) -> Result<Option<Vec<Option<i64>>>, Failure> {
        let failed = |trouble| failure::in_transaction(trouble, b'I');
        match self.asking().map_err(failed)? {
            Some((mut wire, restarts)) => {
                fates::commit_times(&mut wire, restarts, txns).map_err(failed)
            }
            None => Ok(None),
        }
    }

    fn leftovers(&self) -> Result<Option<Vec<Leftover>>, Failure> {
        self.nodes.first().map(leftovers::list).transpose()
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

impl Drop for Postgres {
    fn drop(&mut self) {
        // A throwaway server takes its tables with it; one that is kept is kept to be looked at.
        if self.members.is_empty() {
            let _ = self.clean();
        }
    }
}
