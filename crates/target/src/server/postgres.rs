//! Throwaway PostgreSQL servers: one alone, or a primary and its hot standby.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::find::Program;
use super::place;
use super::running::{Probe, Server, Start};
use super::supervise::Orders;
use crate::open::OpenOptions;
use crate::target::OpenError;

const INSTALL: &str = "apt-get install postgresql-15";
const PLACES: &[&str] = &[
    "/usr/lib/postgresql/*/bin",
    "/usr/local/pgsql/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/usr/pgsql/*/bin",
];
const POSTGRES: Program = Program { names: &["postgres"], places: PLACES, install: INSTALL };
const INITDB: Program = Program { names: &["initdb"], places: PLACES, install: INSTALL };
const BASEBACKUP: Program = Program { names: &["pg_basebackup"], places: PLACES, install: INSTALL };

/// The user of a throwaway server; its database has the same name.
pub(crate) const USER: &str = "postgres";

/// Many short transactions, and a deadlock is looked for at once.
const SETTINGS: &[&str] = &[
    "deadlock_timeout=10ms",
    "jit=off",
    "max_pred_locks_per_transaction=256",
    "logging_collector=off",
    "log_min_error_statement=panic",
    "log_min_messages=fatal",
];
/// For data that may be lost: nothing waits for a disk. What a killed server had acknowledged may
/// be gone.
const CARELESS: &[&str] = &["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
/// After a crash, one call for all files instead of one for each: back in half the time. From version 14
/// on; earlier ones would refuse to start.
const QUICK_RECOVERY: (u32, &str) = (14, "recovery_init_sync_method=syncfs");
const ALONE: &[&str] = &["wal_level=minimal", "max_wal_senders=0"];
/// A standby that was away for a while finds what it missed.
const REPLICATED: &[&str] = &[
    "wal_level=replica",
    "max_wal_senders=8",
    "wal_keep_size=256MB",
    "hot_standby=on",
    "hot_standby_feedback=on",
    "max_standby_streaming_delay=1s",
    "wal_receiver_status_interval=1s",
    "wal_retrieve_retry_interval=100ms",
    "wal_sender_timeout=5s",
    "wal_receiver_timeout=5s",
];

/// What a server is to others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// There are no others.
    Alone,
    /// Others copy it.
    Primary,
    /// It copies the one at that address.
    Standby {
        /// Where the primary is.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// What to start.
pub(crate) struct PostgresPlan<'p> {
    pub(crate) role: Role,
    pub(crate) password: &'p str,
    /// Given the port, tells which folder the server there serves.
    pub(crate) probe: Probe<'p>,
    /// Where it runs, if not on 127.0.0.1: the address for clients, and the holder of its namespace.
    pub(crate) inside: Option<(String, u32)>,
}

/// Starts one.
pub(crate) fn start(
    options: &OpenOptions,
    plan: &PostgresPlan<'_>,
) -> Result<(Server, u16), OpenError> {
    // All of the same installation: the others beside the server.
    let postgres = POSTGRES.find(options.server_bin.as_deref())?;
    let copies = matches!(plan.role, Role::Standby { .. });
    let maker = if copies { BASEBACKUP } else { INITDB }.find(postgres.parent())?;
    let programs = [postgres, maker];
    let orders = |folder: &Path, port: u16| orders(options, plan, &programs, folder, port);
    let (host, password) = (plan.host(), plan.password);
    let url = |port: u16| format!("postgres://{USER}:{password}@{host}:{port}/{USER}");
    let probe = plan.probe;
    let start = Start { name: "postgres", user: USER, orders: &orders, probe, url: &url };
    let started = Server::start(&start, options)?;
    let _ = fs::remove_file(started.0.folder.join("password"));
    Ok(started)
}

impl PostgresPlan<'_> {
    fn host(&self) -> &str {
        self.inside.as_ref().map_or("127.0.0.1", |(host, _)| host)
    }

    fn init(&self, maker: &Path, folder: &Path) -> Result<Vec<String>, OpenError> {
        let user = place::user(USER);
        let data = folder.join("data").to_string_lossy().into_owned();
        let secret = folder.join("password").to_string_lossy().into_owned();
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let mut init = vec![maker.to_string_lossy().into_owned()];
        let Role::Standby { host, port } = &self.role else {
            place::write_for(user, Path::new(&secret), self.password)?;
            init.extend(words(&["-D", &data, "-U", USER, "-A", "scram-sha-256", "-N"]));
            init.extend(words(&["-E", "UTF8", "--locale=C", "--pwfile", &secret]));
            return Ok(init);
        };
        let file = folder.join("primary").to_string_lossy().into_owned();
        let line = format!("*:*:*:*:{}\n", self.password);
        place::write_for(user, Path::new(&file), &line)?;
        let primary = format!("host={host} port={port} user={USER} passfile={file}");
        init.extend(words(&[
            "-D", &data, "-d", &primary, "-R", "-X", "stream", "-c", "fast", "-N",
        ]));
        Ok(init)
    }
}

fn orders(
    options: &OpenOptions,
    plan: &PostgresPlan<'_>,
    [postgres, maker]: &[PathBuf; 2],
    folder: &Path,
    port: u16,
) -> Result<Orders, OpenError> {
    let user = place::user(USER);
    let init = plan.init(maker, folder)?;
    let data = folder.join("data").to_string_lossy().into_owned();
    let listen = if plan.inside.is_some() { "*" } else { "127.0.0.1" };
    let mut serve = vec![postgres.to_string_lossy().into_owned()];
    let (port, socket) = (port.to_string(), folder.to_string_lossy());
    let words = ["-D", &data, "-p", &port, "-h", listen, "-k", &socket];
    serve.extend(words.map(str::to_owned));
    let mut set = |setting: &str| serve.extend(["-c".to_owned(), setting.to_owned()]);
    let careless = if options.durable { &[] } else { CARELESS };
    let role = if plan.role == Role::Alone { ALONE } else { REPLICATED };
    if options.durable && major(postgres).is_some_and(|major| major >= QUICK_RECOVERY.0) {
        set(QUICK_RECOVERY.1);
    }
    set(&format!("max_connections={}", options.connections()));
    SETTINGS.iter().chain(careless).chain(role).for_each(|setting| set(setting));
    if plan.role != Role::Alone {
        // The standby connects, too, and maybe from another network.
        let access = folder.join("access");
        let text = "local all all scram-sha-256\nhost all all all scram-sha-256\n\
                    host replication all all scram-sha-256\n";
        place::write_for(user, &access, text)?;
        set(&format!("hba_file={}", access.display()));
    }
    options.settings.iter().for_each(|(name, value)| set(&format!("{name}={value}")));
    let inside = plan.inside.as_ref().map(|(_, holder)| *holder);
    Ok(Orders {
        folder: folder.to_owned(),
        user,
        init,
        serve,
        again: None,
        stop: "INT QUIT",
        inside,
    })
}

/// The version of a server, as far as it matters: `postgres (PostgreSQL) 15.20 (Debian ...)` is 15.
fn major(postgres: &Path) -> Option<u32> {
    let said = Command::new(postgres).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version =
        said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
