//! Throwaway servers as targets: one, or a Galera cluster of three.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use super::address::{MySqlAddress, explain};
use crate::failure::{After, Failure};
use crate::open::OpenOptions;
use crate::server::mariadb::{self, DATABASE, GaleraSeat, MariadbPlan, StorageEngine, USER};
use crate::server::{Apart, Member};
use crate::target::OpenError;
use crate::unique;

/// How many nodes a throwaway cluster has.
const NODES: u8 = 3;
/// For how long nodes may take to be in step; if they are not by then, the run says what is wrong.
const TOGETHER: Duration = Duration::from_secs(30);
/// How long a node may take to see what another one has done.
const CATCH_UP: Duration = Duration::from_secs(20);

/// Servers that were started: where clients reach them, and what can be done to them.
pub(super) struct MySqlStarted {
    pub(super) nodes: Vec<MySqlAddress>,
    pub(super) members: Vec<Member>,
    /// Their networks, which have to outlive them.
    pub(super) apart: Option<Apart>,
}

/// One server.
pub(super) fn alone(
    engine: StorageEngine,
    options: &OpenOptions,
) -> Result<MySqlStarted, OpenError> {
    let (address, member) = start(engine, options, &unique::secret(), None)?;
    Ok(MySqlStarted { nodes: vec![address], members: vec![member], apart: None })
}

/// Three nodes.
pub(super) fn cluster(options: &OpenOptions) -> Result<MySqlStarted, OpenError> {
    let apart = if options.apart { Some(Apart::new(NODES)?) } else { None };
    let (password, seats) = (unique::secret(), seats(apart.as_ref())?);
    let join = |seat: &GaleraSeat, options: &OpenOptions| {
        let (address, member) = start(StorageEngine::InnoDb, options, &password, Some(seat))?;
        let cable = seat.inside.and(apart.as_ref()).map(|apart| apart.cable(number(seat)));
        Ok((address, member.with_cable(cable)))
    };
    let (first, others) = seats.split_first().ok_or_else(|| OpenError::new("no node"))?;
    // A port that the user names is that of the first node.
    let mut started = vec![join(first, options)?];
    let options = OpenOptions { port: None, ..options.clone() };
    // Each of them gets a copy of everything from one that is there; two at a time are twice as fast.
    let joined: Vec<Result<_, OpenError>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            others.iter().map(|seat| scope.spawn(|| join(seat, &options))).collect();
        let lost = |_| Err(OpenError::new("a thread ended that started a node"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect()
    });
    for node in joined {
        started.push(node?);
    }
    let (nodes, members): (Vec<MySqlAddress>, Vec<Member>) = started.into_iter().unzip();
    wait_until_together(&nodes);
    Ok(MySqlStarted { nodes, members, apart })
}

/// Waits until every node is in step with all others. A node that was ready is not while another one copies its data.
fn wait_until_together(nodes: &[MySqlAddress]) {
    let began = Instant::now();
    while began.elapsed() < TOGETHER && !nodes.iter().all(|node| is_in_step(node, nodes.len())) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether a node takes part in a cluster of so many, and has all that the others have.
fn is_in_step(node: &MySqlAddress, nodes: usize) -> bool {
    let Ok(mut conn) = node.connect() else { return false };
    let shown: Result<Vec<(String, String)>, Error> = conn.query("SHOW STATUS LIKE 'wsrep_%'");
    let shown = shown.unwrap_or_default();
    let is = |name: &str, value: &str| shown.iter().any(|(n, v)| n == name && v == value);
    is("wsrep_ready", "ON")
        && is("wsrep_local_state_comment", "Synced")
        && is("wsrep_cluster_size", &nodes.to_string())
}

fn number(seat: &GaleraSeat) -> u8 {
    seat.name.trim_start_matches('n').parse::<u8>().map_or(0, |n| n - 1)
}

/// Where each node sits.
fn seats(apart: Option<&Apart>) -> Result<Vec<GaleraSeat>, OpenError> {
    let cluster = format!("isolde_{}", unique::tag());
    let mut seats = Vec::new();
    for node in 0..NODES {
        let local = || "127.0.0.1".to_owned();
        let ports = [mariadb::free_port()?, mariadb::free_port()?, mariadb::free_port()?];
        seats.push(GaleraSeat {
            name: format!("n{}", node + 1),
            cluster: cluster.clone(),
            host: apart.map_or_else(local, |apart| apart.for_clients(node)),
            peer_host: apart.map_or_else(local, |apart| apart.for_nodes(node)),
            ports,
            all: String::new(),
            first: node == 0,
            inside: apart.and_then(|apart| apart.holder(node)),
        });
    }
    let place = |seat: &GaleraSeat| format!("{}:{}", seat.peer_host, seat.ports[0]);
    let all = format!("gcomm://{}", seats.iter().map(place).collect::<Vec<_>>().join(","));
    seats.iter_mut().for_each(|seat| seat.all.clone_from(&all));
    Ok(seats)
}

fn start(
    engine: StorageEngine,
    options: &OpenOptions,
    password: &str,
    seat: Option<&GaleraSeat>,
) -> Result<(MySqlAddress, Member), OpenError> {
    let at = |port| MySqlAddress {
        host: seat.map_or("127.0.0.1", |seat| &seat.host).to_owned(),
        port,
        user: USER.to_owned(),
        password: password.to_owned(),
        database: DATABASE.to_owned(),
        timeout: options.timeout,
    };
    let in_cluster = seat.is_some();
    // Only our server knows the password; it also has to name our folder. A node that has not joined
    // knows neither password nor database.
    let probe = |port| {
        let mut conn = at(port).connect().ok()?;
        if in_cluster && !is_ready(&mut conn) {
            return None;
        }
        let folder: Result<Option<String>, Error> = conn.query_first("SELECT @@datadir");
        Some(folder.map(Option::unwrap_or_default).map_err(|e| explain(&e, &at(port))))
    };
    let (server, port) =
        mariadb::start(options, &MariadbPlan { engine, password, probe: &probe, seat })?;
    let address = MySqlAddress { timeout: Duration::from_secs(2), ..at(port) };
    let answers = move || match address.connect() {
        Ok(mut conn) => !in_cluster || is_ready(&mut conn),
        Err(_) => false,
    };
    let name = seat.map_or("server", |seat| &seat.name);
    Ok((at(port), Member::new(name, server, Box::new(answers))))
}

/// Whether a node takes part in its cluster.
fn is_ready(conn: &mut Conn) -> bool {
    let ready: Result<Option<(String, String)>, Error> =
        conn.query_first("SHOW STATUS LIKE 'wsrep_ready'");
    matches!(ready, Ok(Some((_, on))) if on == "ON")
}

/// Waits until a node has everything that the cluster has now: a table that was just made, its rows.
pub(super) fn catch_up(node: &MySqlAddress, table: &str, rows: u64) -> Result<(), Failure> {
    let began = Instant::now();
    let mut last = "it does not answer".to_owned();
    while began.elapsed() < CATCH_UP {
        let count: Result<Option<u64>, Error> = node.connect().and_then(|mut conn| {
            conn.query_drop("SET SESSION wsrep_sync_wait = 15")?;
            conn.query_first(format!("SELECT COUNT(*) FROM {table}"))
        });
        match count {
            Ok(Some(found)) if found >= rows => return Ok(()),
            Ok(found) => last = format!("it has {} of {rows} rows", found.unwrap_or(0)),
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let message = format!("node {}:{} did not get table {table}: {last}", node.host, node.port);
    Err(Failure::new(After::Lost, "node", message))
}
