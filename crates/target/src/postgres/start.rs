//! Throwaway servers as targets: one, or a primary with a hot standby.

use std::time::{Duration, Instant};

use super::address::explain;
use super::wire::{PostgresAddress, Wire};
use crate::failure::{After, Failure};
use crate::open::OpenOptions;
use crate::server::postgres::{PostgresPlan, Role, USER};
use crate::server::{Apart, Member, postgres};
use crate::target::OpenError;
use crate::unique;

/// How long a standby may take to see what its primary has done.
const CATCH_UP: Duration = Duration::from_secs(20);

/// Servers that were started: where clients reach them, and what can be done to them.
pub(super) struct PostgresStarted {
    /// The primary first.
    pub(super) nodes: Vec<PostgresAddress>,
    pub(super) members: Vec<Member>,
    /// Their networks, which have to outlive them.
    pub(super) apart: Option<Apart>,
}

/// One server.
pub(super) fn alone(options: &OpenOptions) -> Result<PostgresStarted, OpenError> {
    let password = unique::secret();
    let (address, member) = start(options, Role::Alone, &password, None)?;
    Ok(PostgresStarted { nodes: vec![address], members: vec![member], apart: None })
}

/// A primary and its hot standby.
pub(super) fn pair(options: &OpenOptions) -> Result<PostgresStarted, OpenError> {
    let password = unique::secret();
    let apart = if options.apart { Some(Apart::new(2)?) } else { None };
    // A port that the user names is that of the primary.
    let (primary, first) =
        start(options, Role::Primary, &password, apart.as_ref().map(|a| (a, 0)))?;
    let host = apart.as_ref().map_or_else(|| primary.host.clone(), |apart| apart.for_nodes(0));
    let role = Role::Standby { host, port: primary.port };
    let options = OpenOptions { port: None, ..options.clone() };
    let (standby, second) = start(&options, role, &password, apart.as_ref().map(|a| (a, 1)))?;
    Ok(PostgresStarted { nodes: vec![primary, standby], members: vec![first, second], apart })
}

fn start(
    options: &OpenOptions,
    role: Role,
    password: &str,
    apart: Option<(&Apart, u8)>,
) -> Result<(PostgresAddress, Member), OpenError> {
    let inside =
        apart.and_then(|(apart, node)| Some((apart.for_clients(node), apart.holder(node)?)));
    let host = inside.as_ref().map_or("127.0.0.1", |(host, _)| host).to_owned();
    let at = |port| PostgresAddress {
        host: host.clone(),
        port,
        user: USER.to_owned(),
        password: password.to_owned(),
        database: USER.to_owned(),
        timeout: options.timeout,
        connecting: options.timeout,
    };
    // Only our server knows the password; it also has to name our folder.
    let probe = |port| {
        let mut wire = Wire::connect(&at(port)).ok()?;
        Some(wire.show("data_directory").map_err(|t| explain(t, &at(port))))
    };
    let name = if matches!(role, Role::Standby { .. }) { "standby" } else { "primary" };
    let (server, port) =
        postgres::start(options, &PostgresPlan { role, password, probe: &probe, inside })?;
    let address = {
        let soon = Duration::from_secs(2);
        PostgresAddress { timeout: soon, connecting: soon, ..at(port) }
    };
    let answers = move || Wire::connect(&address).is_ok();
    let cable = apart.map(|(apart, node)| apart.cable(node));
    Ok((at(port), Member::new(name, server, Box::new(answers)).with_cable(cable)))
}

/// Waits until a standby has everything that its primary has now.
pub(super) fn catch_up(
    primary: &PostgresAddress,
    standby: &PostgresAddress,
) -> Result<(), Failure> {
    let lost = |what: String| Failure::new(After::Lost, "standby", what);
    let ask = |address: &PostgresAddress, question: &str| {
        let mut wire = Wire::connect(address).map_err(|t| lost(explain(t, address).problem))?;
        let reply = wire.simple(question).map_err(|t| lost(explain(t, address).problem))?;
        Ok(reply.text())
    };
    let there = ask(primary, "SELECT pg_current_wal_insert_lsn()")?;
    let question = format!("SELECT pg_last_wal_replay_lsn() >= '{there}'::pg_lsn");
    let began = Instant::now();
    while began.elapsed() < CATCH_UP {
        if ask(standby, &question)? == "t" {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(lost(format!("the standby did not see what the primary did within {CATCH_UP:?}")))
}
