//! A throwaway cluster of etcd.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::apart::Apart;
use super::find::Program;
use super::place;
use super::running::{Server, Start};
use super::supervise::Orders;
use crate::open::OpenOptions;
use crate::target::OpenError;
use crate::unique;

const ETCD: Program = Program {
    names: &["etcd"],
    places: &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"],
    install: "apt-get install etcd-server",
};

/// The user that runs it, if we are root.
const USER: &str = "etcd";

/// Tells the name of the node that answers at a host and a port.
type NameAt<'a> = &'a (dyn Fn(&str, u16) -> Option<String> + Sync);

/// A node that runs.
pub(crate) struct EtcdNode {
    pub(crate) server: Server,
    /// Where clients reach it.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What it calls itself.
    pub(crate) name: String,
}

/// The place of a node in its cluster.
struct EtcdSeat {
    name: String,
    /// Where clients reach it, but for the port.
    host: String,
    /// Where the others reach it.
    peer: String,
    /// The holder of its network namespace, if it has one.
    inside: Option<u32>,
}

/// Starts so many nodes, all at once: none answers before most of them are there.
pub(crate) fn start(
    options: &OpenOptions,
    count: u8,
    apart: Option<&Apart>,
    name_at: NameAt<'_>,
) -> Result<Vec<EtcdNode>, OpenError> {
    let program = ETCD.find(options.server_bin.as_deref())?;
    let program = program.to_string_lossy();
    let token = unique::tag();
    let mut seats = Vec::new();
    for number in 0..count {
        let local = || "127.0.0.1".to_owned();
        let peer = apart.map_or_else(local, |apart| apart.for_nodes(number));
        seats.push(EtcdSeat {
            name: format!("n{}-{token}", number + 1),
            host: apart.map_or_else(local, |apart| apart.for_clients(number)),
            peer: format!("http://{peer}:{}", place::port(None)?),
            inside: apart.and_then(|apart| apart.holder(number)),
        });
    }
    let cluster: Vec<String> =
        seats.iter().map(|seat| format!("{}={}", seat.name, seat.peer)).collect();
    let cluster = [token, cluster.join(",")];
    thread::scope(|scope| {
        let mut running = Vec::new();
        for (seat, number) in seats.iter().zip(0..) {
            // A given port is that of the first node.
            let port = options.port.filter(|_| number == 0);
            let options = OpenOptions { port, ..options.clone() };
            let (program, cluster) = (&*program, &cluster);
            running.push(scope.spawn(move || node(&options, program, seat, cluster, name_at)));
        }
        let failed = || Err(OpenError::new("a node of etcd could not be started"));
        running.into_iter().map(|node| node.join().unwrap_or_else(|_| failed())).collect()
    })
}

fn node(
    options: &OpenOptions,
    program: &str,
    seat: &EtcdSeat,
    [token, cluster]: &[String; 2],
    name_at: NameAt<'_>,
) -> Result<EtcdNode, OpenError> {
    let EtcdSeat { name, host, peer, inside } = seat;
    // etcd does not tell its folder. Its name is one that only our node has, so the server that
    // answers by that name serves the folder that it was given.
    let given = Mutex::new(String::new());
    let orders = |folder: &Path, port: u16| {
        let data = folder.join("data").to_string_lossy().into_owned();
        given.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&data);
        let client = format!("http://{host}:{port}");
        let words: [&str; 19] = [
            program,
            "--name",
            name,
            "--data-dir",
            &data,
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            cluster,
            "--initial-cluster-token",
            token,
            "--initial-cluster-state",
            "new",
        ];
        let mut serve = words.map(str::to_owned).to_vec();
        serve.extend(options.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        let init = vec!["true".to_owned()];
        let user = place::user(USER);
        let (again, stop, inside) = (None, "TERM", *inside);
        Ok(Orders { folder: folder.to_owned(), user, init, serve, again, stop, inside })
    };
    let probe = |port: u16| {
        let found = name_at(host, port)?;
        let data = given.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(Ok(if found == *name { data } else { format!("that of {found}") }))
    };
    let url = |port: u16| format!("etcd://{host}:{port}");
    let start = Start { name: "etcd", user: USER, orders: &orders, probe: &probe, url: &url };
    let (server, port) = Server::start(&start, options)?;
    Ok(EtcdNode { server, host: host.clone(), port, name: name.clone() })
}
