//! Nodes apart from each other: each in a network namespace of its own, joined by a switch in another,
//! so that the cable of one can be pulled out while clients still reach it. For root on Linux.
//!
//! Nothing has to be cleaned up: each namespace is held by a process that reads from a pipe of ours, and
//! goes with it and with the servers in it, however we end; its cables go with it.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use crate::target::OpenError;
use crate::unique;

/// How often another number is tried if there is a network of that number already.
const ATTEMPTS: u32 = 8;

/// A process that holds a namespace open.
struct Holder(Child);

impl Holder {
    fn start() -> Result<Holder, OpenError> {
        // It says when it is there, and stays until its input ends.
        let child = Command::new("unshare")
            .args(["--net", "/bin/sh", "-c", "ip link set lo up; echo; read -r _"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.map_err(|error| cannot(&error.to_string()))?;
        let mut ready = [0];
        let said = child.stdout.as_mut().map(|out| out.read_exact(&mut ready));
        match said {
            Some(Ok(())) => Ok(Holder(child)),
            _ => {
                let _ = child.wait();
                Err(cannot("unshare was refused"))
            }
        }
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn cannot(why: &str) -> OpenError {
    OpenError::new(format!("cannot put nodes into network namespaces: {why}"))
        .hint("that needs Linux, root, and the programs ip, unshare and nsenter")
}

fn run(words: &[&str]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
}

/// The namespaces of a cluster.
pub(crate) struct Apart {
    switch: Holder,
    nodes: Vec<Holder>,
    /// The number of the networks: 10.213.N for clients, 10.214.N for nodes.
    number: u8,
    /// What the cables are called, but for their numbers.
    prefix: String,
}

impl Apart {
    /// So many nodes.
    pub(crate) fn new(count: u8) -> Result<Apart, OpenError> {
        let mut last = cannot("no free network");
        for attempt in 0..ATTEMPTS {
            let tag = unique::tag();
            let number =
                tag.bytes().fold(attempt, |n, b| n.wrapping_mul(31).wrapping_add(b.into()));
            let end = tag.len().saturating_sub(6);
            let prefix = format!("is{}", tag.get(end..).unwrap_or("x"));
            let nodes: Result<Vec<_>, _> = (0..count).map(|_| Holder::start()).collect();
            let apart =
                Apart { switch: Holder::start()?, nodes: nodes?, number: number as u8, prefix };
            match apart.wire() {
                Ok(()) => return Ok(apart),
                Err(error) => last = cannot(&error),
            }
        }
        Err(last)
    }

    /// Two cables for each node: one to the clients, one to the switch.
    fn wire(&self) -> Result<(), String> {
        let ours = format!("10.213.{}.", self.number);
        let taken = Command::new("ip").args(["-4", "addr"]).output().map_err(|e| e.to_string())?;
        if String::from_utf8_lossy(&taken.stdout).contains(&ours) {
            return Err(format!("{ours}0 is taken"));
        }
        let switch = self.switch.pid();
        let inside = |pid: &str, words: &[&str]| {
            let mut all = vec!["nsenter", "--net", "-t", pid, "ip"];
            all.extend(words);
            run(&all)
        };
        inside(&switch, &["link", "add", "sw", "type", "bridge", "forward_delay", "0"])?;
        inside(&switch, &["link", "set", "sw", "up"])?;
        for (node, at) in self.nodes.iter().zip(0u8..) {
            let pid = node.pid();
            let (client, peer) = (format!("{}c{at}", self.prefix), port_of(at));
            run(&[
                "ip", "link", "add", &client, "type", "veth", "peer", "name", "cl", "netns", &pid,
            ])?;
            let ours = format!("10.213.{}.{}/30", self.number, at * 4 + 1);
            run(&["ip", "addr", "add", &ours, "dev", &client])?;
            run(&["ip", "link", "set", &client, "up"])?;
            inside(&pid, &["addr", "add", &(self.for_clients(at) + "/30"), "dev", "cl"])?;
            inside(&pid, &["link", "set", "cl", "up"])?;
            let words =
                ["link", "add", &peer, "type", "veth", "peer", "name", "peer", "netns", &pid];
            inside(&switch, &words)?;
            inside(&switch, &["link", "set", &peer, "master", "sw", "up"])?;
            inside(&pid, &["addr", "add", &(self.for_nodes(at) + "/24"), "dev", "peer"])?;
            inside(&pid, &["link", "set", "peer", "up"])?;
        }
        Ok(())
    }

    /// The address at which clients reach a node.
    pub(crate) fn for_clients(&self, node: u8) -> String {
        format!("10.213.{}.{}", self.number, node * 4 + 2)
    }

    /// The address at which other nodes reach it.
    pub(crate) fn for_nodes(&self, node: u8) -> String {
        format!("10.214.{}.{}", self.number, node + 1)
    }

    /// The process whose namespace a node's server has to enter.
    pub(crate) fn holder(&self, node: u8) -> Option<u32> {
        self.nodes.get(usize::from(node)).map(|holder| holder.0.id())
    }

    /// What joins a node to the others.
    pub(crate) fn cable(&self, node: u8) -> Cable {
        Cable { switch: self.switch.pid(), port: port_of(node) }
    }
}

fn port_of(node: u8) -> String {
    format!("p{node}")
}

/// What joins a node to the others; not to its clients.
pub(crate) struct Cable {
    switch: String,
    port: String,
}

impl Cable {
    /// From now on nothing gets through.
    pub(crate) fn pull_out(&self) -> Result<(), String> {
        self.set("down")
    }

    /// Everything gets through again.
    pub(crate) fn plug_in(&self) -> Result<(), String> {
        self.set("up")
    }

    fn set(&self, state: &str) -> Result<(), String> {
        let Cable { switch, port } = self;
        run(&["nsenter", "--net", "-t", switch, "ip", "link", "set", port, state])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(from: u32, to: &str) -> bool {
        let script = format!("echo | timeout 1 bash -c 'cat < /dev/null > /dev/tcp/{to}/9' 2>&1");
        let out = Command::new("nsenter")
            .args(["--net", "-t", &from.to_string(), "sh", "-c", &script])
            .output()
            .unwrap();
        // Nobody listens there: a refusal is an answer, silence is none.
        String::from_utf8_lossy(&out.stdout).contains("refused")
    }

    #[test]
    fn a_node_whose_cable_is_out_reaches_nobody_and_leaves_nothing_behind() {
        let apart = match Apart::new(2) {
            Ok(apart) => apart,
            Err(error) if std::env::var("CI").is_ok_and(|ci| ci == "true") => panic!("{error}"),
            Err(error) => return println!("SKIPPED: {error}"),
        };
        let (first, second) = (apart.holder(0).unwrap(), apart.for_nodes(1));
        assert!(reaches(first, &second));
        apart.cable(1).pull_out().unwrap();
        assert!(!reaches(first, &second));
        apart.cable(1).plug_in().unwrap();
        assert!(reaches(first, &second));
        let prefix = apart.prefix.clone();
        drop(apart);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let links = Command::new("ip").arg("link").output().unwrap().stdout;
        assert!(!String::from_utf8_lossy(&links).contains(&prefix));
    }
}
