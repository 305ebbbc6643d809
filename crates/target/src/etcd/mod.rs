//! etcd: a throwaway cluster, or the user's by URL. Transactions are optimistic: reads remember the
//! revision that they saw, writes wait, and the commit is one transaction of etcd's that compares all
//! revisions before it writes.

mod gateway;
mod http;
mod in_doubt;
mod session;
mod versions;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use isolde_history::{OpKind, Outcome, Timestamp};
use isolde_spec::Level;

use crate::failure::{After, Failure};
use crate::node::Node;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::relay::Relay;
use crate::server::{self, Apart, Member};
use crate::shown::{InDoubt, ResolvedOutcome, Show, TableVersions};
use crate::target::{Contents, OpenError, Session, Table, Target, Throwaway};
use crate::timestamps::{CommitOrder, ReadsAt, Timestamps};
use crate::unique;
use gateway::Gateway;
use session::{EtcdSession, key};

/// The usual port.
const PORT: u16 = 2379;
/// How many nodes a throwaway cluster has.
const NODES: u8 = 3;
/// How many it may have.
const MAX_NODES: u8 = 7;
/// How many puts etcd takes in one transaction, by default.
const PUTS: u32 = 128;

/// Reads that one node answers alone.
const STALE: &str = "serializable-reads";

const OFFERS: [Offer; 2] = [
    Offer {
        name: STALE,
        promises: Level::Serializable,
        remark: "ranges with serializable=true, which a node answers by itself and which may be old; the \
                 commit compares the revisions of all that was read",
    },
    Offer {
        name: "strict-serializable",
        promises: Level::StrictSerializable,
        remark: "linearizable ranges; the commit compares the revisions of all that was read",
    },
];

/// Opens etcd: a throwaway cluster of three nodes, of `etcd:N` nodes, or what a URL names.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    let EtcdStarted { addresses, members, apart } = match url {
        Some(url) if url.contains("://") => {
            EtcdStarted { addresses: addresses(url)?, members: Vec::new(), apart: None }
        }
        _ => start(count(url)?, options)?,
    };
    let first = addresses.first().cloned().unwrap_or_default();
    let version = Gateway::connect(&first, options.timeout)
        .and_then(|mut gateway| gateway.version())
        .map_err(|failure| {
            OpenError::new(failure.to_string()).hint("is it etcd 3.4 or later, without TLS?")
        })?;
    let prefix = format!("isolde_{}/", unique::tag());
    let (timeout, next) = (options.timeout, AtomicU32::new(0));
    let relay = options.relayed.then(Relay::default);
    let _apart = apart;
    let made = (options.show == Some(Show::Versions)).then(Mutex::default);
    Ok(Box::new(Etcd { addresses, timeout, version, prefix, next, made, relay, members, _apart }))
}

fn count(spec: Option<&str>) -> Result<u8, OpenError> {
    let Some((_, count)) = spec.and_then(|spec| spec.split_once(':')) else { return Ok(NODES) };
    match count.parse() {
        Ok(count @ 1..=MAX_NODES) => Ok(count),
        _ => Err(OpenError::new(format!("'{count}' is no number of nodes"))
            .hint(format!("etcd:1 to etcd:{MAX_NODES}, or etcd://host:port,host:port"))),
    }
}

fn addresses(url: &str) -> Result<Vec<String>, OpenError> {
    let list = url.split_once("://").map_or("", |(_, list)| list).trim_end_matches('/');
    let one = |place: &str| match place.rsplit_once(':') {
        _ if place.is_empty() || place.contains(['/', '@', '?']) => None,
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Some(place.to_owned())
        }
        Some(_) => None,
        None => Some(format!("{place}:{PORT}")),
    };
    let hint = "it looks like etcd://127.0.0.1:2379,127.0.0.1:2479";
    list.split(',')
        .map(one)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| OpenError::new(format!("'{url}' is no address of etcd")).hint(hint))
}

/// Where a cluster is, and what can be done to its nodes if it is ours.
struct EtcdStarted {
    addresses: Vec<String>,
    members: Vec<Member>,
    /// Their networks, which have to outlive them.
    apart: Option<Apart>,
}

fn start(count: u8, options: &OpenOptions) -> Result<EtcdStarted, OpenError> {
    let apart = if options.apart { Some(Apart::new(count)?) } else { None };
    // Only our nodes know our names.
    let name_at = |host: &str, port: u16| {
        Gateway::connect(&format!("{host}:{port}"), Duration::from_secs(2)).ok()?.name().ok()
    };
    let nodes = server::etcd::start(options, count, apart.as_ref(), &name_at)?;
    let addresses = nodes.iter().map(|node| format!("{}:{}", node.host, node.port)).collect();
    let member = |(node, number): (server::etcd::EtcdNode, u8)| {
        let server::etcd::EtcdNode { server, host, port, name } = node;
        let cable = apart.as_ref().map(|apart| apart.cable(number));
        let short = name.split('-').next().unwrap_or_default().to_owned();
        let answers = move || name_at(&host, port).is_some_and(|found| found == name);
        Member::new(short, server, Box::new(answers)).with_cable(cable)
    };
    let members = nodes.into_iter().zip(0..).map(member).collect();
    Ok(EtcdStarted { addresses, members, apart })
}

/// A cluster.
struct Etcd {
    addresses: Vec<String>,
    timeout: Duration,
    version: String,
    /// What our keys begin with.
    prefix: String,
    /// The node of the next session, if the caller does not say which client it is for.
    next: AtomicU32,
    /// The tables that are there, if their versions shall be shown.
    made: Option<Mutex<Vec<Table>>>,
    relay: Option<Relay>,
    /// The throwaway nodes, and below their networks, which go after them.
    members: Vec<Member>,
    _apart: Option<Apart>,
}

impl Etcd {
    fn place(&self, client: u32) -> usize {
        client as usize % self.addresses.len().max(1)
    }

    /// Where a client finds its node.
    fn address(&self, client: u32) -> Result<String, Failure> {
        let address = self.addresses.get(self.place(client)).cloned().unwrap_or_default();
        let Some(relay) = &self.relay else { return Ok(address) };
        let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
        match relay.port(client, host, port.parse().unwrap_or(PORT)) {
            Ok(port) => Ok(format!("127.0.0.1:{port}")),
            Err(error) => Err(Failure::new(After::Lost, "relay", error.to_string())),
        }
    }

    /// A connection to any node that answers.
    fn any(&self) -> Result<Gateway, Failure> {
        let mut last = Failure::new(After::Lost, "connect", "there are no nodes");
        for address in &self.addresses {
            match Gateway::connect(address, self.timeout) {
                Ok(gateway) => return Ok(gateway),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }
}

impl Target for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn facts(&self) -> Vec<(String, String)> {
        let whose = if self.members.is_empty() { "the user's" } else { "throwaway" };
        vec![
            ("nodes".to_owned(), self.addresses.join(",")),
            ("instance".to_owned(), whose.to_owned()),
        ]
    }

    fn offers(&self) -> &'static [Offer] {
        &OFFERS
    }

    fn tells_timestamps(&self) -> bool {
        true
    }

    fn commit_order(&self, _offer: &Offer) -> CommitOrder {
        // A transaction that only read compares its reads at its commit, as one that writes does.
        CommitOrder::Serial(ReadsAt::Commit)
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        match kind {
            OpKind::Read
            | OpKind::Write
            | OpKind::Append
            | OpKind::ListRead
            | OpKind::Cas
            | OpKind::InsertIfAbsent => &[(Path::PrimaryKey, 1)],
            _ => &[],
        }
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        if let Some(Ok(mut made)) = self.made.as_ref().map(Mutex::lock) {
            made.retain(|other| other.number != table.number);
            made.push(*table);
        }
        if !table.filled || table.contents != Contents::Registers {
            return Ok(());
        }
        let mut gateway = self.any()?;
        for first in (0..table.rows).step_by(PUTS as usize) {
            let rows = first..table.rows.min(first.saturating_add(PUTS));
            let puts: BTreeMap<String, String> =
                rows.map(|row| (key(&self.prefix, table.number, row), "0".to_owned())).collect();
            gateway.commit(std::iter::empty(), puts.iter())?;
        }
        Ok(())
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        self.connect_client(offer, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn connect_client(&self, offer: &Offer, client: u32) -> Result<Box<dyn Session>, Failure> {
        let gateway = Gateway::connect(&self.address(client)?, self.timeout)?;
        Ok(Box::new(EtcdSession::new(gateway, self.prefix.clone(), offer.name == STALE)))
    }

    fn nodes(&self) -> Vec<&dyn Node> {
        self.members.iter().map(|member| member as &dyn Node).collect()
    }

    fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    fn node_of(&self, client: u32) -> Option<String> {
        (self.addresses.len() > 1).then(|| format!("n{}", self.place(client) + 1))
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        self.any()?.remove(&format!("{}{number}/", self.prefix))
    }

    fn clean(&self) -> Result<(), Failure> {
        self.any()?.remove(&self.prefix)
    }

    /// Every version of every key is there until it is compacted away, which does not happen within a run. The revision
    /// of the version that the transaction made is that of its commit.
    fn fate(&self, in_doubt: &InDoubt<'_>) -> ResolvedOutcome {
        let found = self.any().and_then(|mut gateway| {
            in_doubt::revision_of(&mut gateway, &self.prefix, in_doubt.writes)
        });
        match found {
            Ok(Some(revision)) => {
                let commit = Some(Timestamp::plain(revision));
                ResolvedOutcome {
                    outcome: Outcome::Committed,
                    timestamps: Timestamps { start: None, commit },
                }
            }
            // What is not there may still be on its way.
            Ok(None) | Err(_) => Outcome::Unknown.into(),
        }
    }

    fn shows(&self, show: Show) -> Result<(), String> {
        match show {
            Show::Versions if self.made.is_some() => Ok(()),
            Show::Versions => Err("etcd was opened without a wish to see versions".to_owned()),
            Show::Snapshots => {
                Err(format!("{} does not show snapshots; {}", self.name(), show.shown_by()))
            }
        }
    }

    fn versions(&self, number: u32) -> Result<Option<TableVersions>, Failure> {
        let Some(Ok(made)) = self.made.as_ref().map(Mutex::lock) else { return Ok(None) };
        let Some(table) = made.iter().find(|table| table.number == number).copied() else {
            return Ok(None);
        };
        drop(made);
        let prefix = format!("{}{number}/", self.prefix);
        versions::read(&mut self.any()?, &prefix, &table).map(Some)
    }

    fn throwaway(&self) -> Option<Throwaway> {
        self.members.first().map(|member| member.server().throwaway())
    }

    fn last_words(&self) -> Option<String> {
        self.members.iter().find_map(|member| member.server().last_words())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if self.members.is_empty() {
            let _ = self.clean();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(addresses("etcd://a:1,b").unwrap(), ["a:1", "b:2379"]);
        for wrong in ["etcd://", "etcd://a,", "etcd://a:x", "etcd://u:p@a:1", "etcd://:1"] {
            assert!(addresses(wrong).is_err(), "{wrong}");
        }
        assert_eq!((count(None).unwrap(), count(Some("etcd:1")).unwrap()), (3, 1));
        assert!(count(Some("etcd:0")).is_err() && count(Some("etcd:x")).is_err());
    }
}
