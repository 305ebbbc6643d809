//! Throwaway MariaDB servers: with InnoDB or with MyRocks, alone or as nodes of a Galera cluster.

use std::path::{Path, PathBuf};

use super::find::Program;
use super::place;
use super::running::{Probe, Server, Start};
use super::supervise::Orders;
use crate::open::OpenOptions;
use crate::target::OpenError;

const INSTALL: &str = "apt-get install mariadb-server";
const PLACES: &[&str] = &[
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mysql/scripts",
    "/usr/local/mariadb/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/opt/homebrew/bin",
];
const SERVER: Program =
    Program { names: &["mariadbd", "mysqld"], places: PLACES, install: INSTALL };
const INSTALLER: Program = Program {
    names: &["mariadb-install-db", "mysql_install_db"],
    places: PLACES,
    install: INSTALL,
};

/// The user of a throwaway server, and the database in which tables are made.
pub(crate) const USER: &str = "root";
/// The database of a throwaway server.
pub(crate) const DATABASE: &str = "isolde";

/// Many short transactions; none waits long for a lock.
const SETTINGS: &[&str] = &[
    "--skip-networking=0",
    "--skip-name-resolve",
    "--performance-schema=OFF",
    "--max-prepared-stmt-count=1000000",
    "--innodb-lock-wait-timeout=2",
    "--innodb-fast-shutdown=2",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
];

/// What holds while the folder is prepared, too: a log of another size would be made anew.
const ALWAYS: &[&str] =
    &["--skip-log-bin", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"];

/// For data that may be lost: nothing waits for a disk. What a killed server had acknowledged may
/// be gone.
const CARELESS: &[&str] = &["--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"];
const DURABLE: &[&str] = &["--innodb-flush-log-at-trx-commit=1"];

/// The same for MyRocks. Without detection, a deadlock ends by the time-out only.
const ROCKSDB: &[&str] = &[
    "--plugin-load-add=ha_rocksdb",
    "--default-storage-engine=rocksdb",
    "--rocksdb-lock-wait-timeout=1",
    "--rocksdb-deadlock-detect=ON",
    "--rocksdb-block-cache-size=33554432",
];

/// Which storage engine a throwaway server has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StorageEngine {
    /// The usual one.
    InnoDb,
    /// MyRocks, a plugin.
    RocksDb,
}

/// What to start.
pub(crate) struct MariadbPlan<'p> {
    pub(crate) engine: StorageEngine,
    pub(crate) password: &'p str,
    /// Given the port, tells which folder the server there serves.
    pub(crate) probe: Probe<'p>,
    /// Its place in a cluster, if it is a node.
    pub(crate) seat: Option<&'p GaleraSeat>,
}

/// The place of a node in a Galera cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GaleraSeat {
    /// What it is called.
    pub(crate) name: String,
    /// A name that no other cluster has.
    pub(crate) cluster: String,
    /// Where clients reach it.
    pub(crate) host: String,
    /// Where other nodes reach it.
    pub(crate) peer_host: String,
    /// The ports for other nodes: messages, what a node missed, and a whole copy.
    pub(crate) ports: [u16; 3],
    /// `gcomm://` and where all nodes are.
    pub(crate) all: String,
    /// Whether the cluster begins with it.
    pub(crate) first: bool,
    /// The holder of its network namespace, if it has one.
    pub(crate) inside: Option<u32>,
}

const GALERA: Program = Program {
    names: &["libgalera_smm.so"],
    places: &["/usr/lib/galera", "/usr/lib64/galera", "/usr/lib64/galera-4", "/usr/lib/galera-4"],
    install: "apt-get install galera-4 rsync",
};
const RSYNC: Program =
    Program { names: &["rsync"], places: &["/usr/bin"], install: "apt-get install rsync" };

/// A port on which no process listens.
pub(crate) fn free_port() -> Result<u16, OpenError> {
    place::port(None)
}

/// Starts one.
pub(crate) fn start(
    options: &OpenOptions,
    plan: &MariadbPlan<'_>,
) -> Result<(Server, u16), OpenError> {
    let server = SERVER.find(options.server_bin.as_deref())?;
    // Beside the server, or in `bin` or `scripts` where the server is in `sbin`.
    let given = options.server_bin.as_deref();
    let above = given.and_then(Path::parent);
    let installer = match INSTALLER.find(given) {
        Err(_) if above.is_some() => INSTALLER.find(above)?,
        found => found?,
    };
    if plan.engine == StorageEngine::RocksDb {
        find_plugin(&server)?;
    }
    let galera = match plan.seat {
        None => None,
        Some(_) => {
            RSYNC.find(None)?;
            Some(GALERA.find_file()?)
        }
    };
    let programs = Programs { server, installer, galera };
    let orders = |folder: &Path, port| commands(options, plan, &programs, folder, port);
    let scheme = match plan.engine {
        StorageEngine::InnoDb => "mariadb",
        StorageEngine::RocksDb => "mariadb-rocksdb",
    };
    let (host, password) = (plan.seat.map_or("127.0.0.1", |seat| &seat.host), plan.password);
    let url = |port: u16| format!("{scheme}://{USER}:{password}@{host}:{port}/{DATABASE}");
    let probe = plan.probe;
    let start = Start { name: scheme, user: "mysql", orders: &orders, probe, url: &url };
    Server::start(&start, options)
}

/// Files that are needed.
struct Programs {
    server: PathBuf,
    installer: PathBuf,
    /// The library of the cluster.
    galera: Option<PathBuf>,
}

fn commands(
    options: &OpenOptions,
    plan: &MariadbPlan<'_>,
    programs: &Programs,
    folder: &Path,
    port: u16,
) -> Result<Orders, OpenError> {
    let user = place::user("mysql");
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let datadir = format!("--datadir={}", file("data"));
    let installer = programs.installer.to_string_lossy();
    let mut init =
        words(&[&installer, "--no-defaults", &datadir, &format!("--tmpdir={}", folder.display())]);
    init.extend(words(&[
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
    ]));
    let server = programs.server.to_string_lossy();
    let mut serve = words(&[&server, "--no-defaults", &datadir]);
    serve.extend([
        format!("--port={port}"),
        format!("--socket={}", file("s.sock")),
        format!("--pid-file={}", file("mariadb.pid")),
        format!("--tmpdir={}", folder.display()),
    ]);
    init.extend(words(ALWAYS));
    init.extend(words(CARELESS));
    let kept = if options.durable { DURABLE } else { CARELESS };
    serve.extend(ALWAYS.iter().chain(SETTINGS).chain(kept).map(|s| (*s).to_owned()));
    serve.push(format!("--max-connections={}", options.connections()));
    let inside = plan.seat.and_then(|seat| seat.inside);
    let listen = if inside.is_some() { "0.0.0.0" } else { "127.0.0.1" };
    serve.push(format!("--bind-address={listen}"));
    if plan.engine == StorageEngine::RocksDb {
        serve.extend(words(ROCKSDB));
        serve.push(format!("--rocksdb-flush-log-at-trx-commit={}", u8::from(options.durable)));
    }
    let mut again = None;
    if let (Some(seat), Some(galera)) = (plan.seat, &programs.galera) {
        serve.extend(cluster(seat, galera));
    }
    serve.extend(options.settings.iter().map(|(name, value)| format!("--{name}={value}")));
    if plan.seat.is_none_or(|seat| seat.first) {
        // A node that joins a cluster gets the accounts from it, and so does one that comes back to it.
        if plan.seat.is_some() {
            again = Some(serve.clone());
            serve.push("--wsrep-new-cluster".to_owned());
        }
        serve.push(format!("--init-file={}", first_statements(plan.password, folder)?.display()));
    }
    Ok(Orders { folder: folder.to_owned(), user, init, serve, again, stop: "TERM", inside })
}

/// What a server does before it listens: no client gets in without the password. The accounts without
/// one are for the socket, which is in a folder that no other user can enter.
fn first_statements(password: &str, folder: &Path) -> Result<PathBuf, OpenError> {
    let text = format!(
        "CREATE DATABASE IF NOT EXISTS {DATABASE};\n\
         CREATE OR REPLACE USER '{USER}'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n\
         CREATE OR REPLACE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;\n"
    );
    let file = folder.join("first.sql");
    place::write_for(place::user("mysql"), &file, &text)?;
    Ok(file)
}

/// What makes a server a node.
fn cluster(seat: &GaleraSeat, galera: &Path) -> Vec<String> {
    let GaleraSeat { name, cluster, peer_host, ports: [messages, missed, copy], all, .. } = seat;
    let provider = format!(
        "gmcast.listen_addr=tcp://{peer_host}:{messages};ist.recv_addr={peer_host}:{missed};\
         base_port={messages};gcache.size=64M;pc.recovery=false;evs.suspect_timeout=PT2S;\
         evs.inactive_timeout=PT5S;evs.keepalive_period=PT0.5S"
    );
    vec![
        "--binlog-format=ROW".to_owned(),
        "--default-storage-engine=InnoDB".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", galera.display()),
        format!("--wsrep-cluster-name={cluster}"),
        format!("--wsrep-node-name={name}"),
        format!("--wsrep-node-address={peer_host}:{messages}"),
        format!("--wsrep-cluster-address={all}"),
        "--wsrep-sst-method=rsync".to_owned(),
        format!("--wsrep-sst-receive-address={peer_host}:{copy}"),
        format!("--wsrep-provider-options={provider}"),
    ]
}

/// A server without the plugin would say so in its log; this says how to get it.
fn find_plugin(server: &Path) -> Result<(), OpenError> {
    let near = server.parent().and_then(Path::parent).map(|p| p.join("lib"));
    let roots = [near, Some(PathBuf::from("/usr/lib")), Some(PathBuf::from("/usr/local/lib"))];
    let folders = ["mysql/plugin", "plugin", "mariadb/plugin", "x86_64-linux-gnu/mariadb19/plugin"];
    let found = roots
        .into_iter()
        .flatten()
        .any(|root| folders.iter().any(|folder| root.join(folder).join("ha_rocksdb.so").exists()));
    if found {
        return Ok(());
    }
    Err(OpenError::new("MariaDB has no plugin 'ha_rocksdb'")
        .hint("install it: apt-get install mariadb-plugin-rocksdb"))
}
