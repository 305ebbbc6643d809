//! A throwaway cluster of etcd.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::find::Program;
use super::place;
use super::supervise::Orders;
use super::{Server, Start};
use crate::catalogue::OpenOptions;
use crate::target::OpenError;
use crate::unique;

const ETCD: Program = Program {
    names: &["etcd"],
    places: &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"],
    install: "apt-get install etcd-server",
};

/// Who runs it, if we are root.
const USER: &str = "etcd";

/// Tells the name of the node that answers on a port.
type NameAt<'a> = &'a (dyn Fn(u16) -> Option<String> + Sync);

/// Starts so many nodes, all at once: none answers before most of them are there.
pub(crate) fn start(
    options: &OpenOptions,
    count: usize,
    name_at: NameAt<'_>,
) -> Result<Vec<(Server, u16)>, OpenError> {
    let program = ETCD.find(options.server_bin.as_deref())?;
    let program = program.to_string_lossy();
    let token = unique::tag();
    let mut members = Vec::new();
    for number in 1..=count {
        let peer = format!("http://127.0.0.1:{}", place::port(None)?);
        members.push((format!("n{number}-{token}"), peer));
    }
    let cluster: Vec<String> =
        members.iter().map(|(name, peer)| format!("{name}={peer}")).collect();
    let cluster = [token, cluster.join(",")];
    thread::scope(|scope| {
        let start = |(number, member): (usize, &(String, String))| {
            // A given port is that of the first node.
            let port = options.port.filter(|_| number == 0);
            let options = OpenOptions { port, ..options.clone() };
            let (program, cluster, member) = (&*program, &cluster, member.clone());
            scope.spawn(move || node(&options, program, &member, cluster, name_at))
        };
        let running: Vec<_> = members.iter().enumerate().map(start).collect();
        let failed = || Err(OpenError::new("a node of etcd could not be started"));
        running.into_iter().map(|node| node.join().unwrap_or_else(|_| failed())).collect()
    })
}

fn node(
    options: &OpenOptions,
    program: &str,
    (name, peer): &(String, String),
    [token, cluster]: &[String; 2],
    name_at: NameAt<'_>,
) -> Result<(Server, u16), OpenError> {
    // etcd does not tell its folder. Its name is one that only our node has, so who answers by that name
    // serves the folder that it was given.
    let given = Mutex::new(String::new());
    let orders = |folder: &Path, port: u16| {
        let data = folder.join("data").to_string_lossy().into_owned();
        given.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&data);
        let client = format!("http://127.0.0.1:{port}");
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
        let serve = words.map(str::to_owned).to_vec();
        let init = vec!["true".to_owned()];
        let user = place::user(USER);
        Ok(Orders { folder: folder.to_owned(), user, init, serve, stop: "TERM" })
    };
    let probe = |port: u16| {
        let found = name_at(port)?;
        let data = given.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(Ok(if found == *name { data } else { format!("that of {found}") }))
    };
    let url = |port: u16| format!("etcd://127.0.0.1:{port}");
    let start = Start { name: "etcd", user: USER, orders: &orders, probe: &probe, url: &url };
    Server::start(&start, options)
}
