//! A throwaway PostgreSQL server.

use std::fs;
use std::path::Path;

use super::find::Program;
use super::place;
use super::supervise::Orders;
use super::{Server, Start};
use crate::catalogue::OpenOptions;
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

/// The user of a throwaway server; its database has the same name.
pub(crate) const USER: &str = "postgres";

/// Many short transactions, on data that nobody will miss: nothing waits for a disk, and a
/// deadlock is looked for at once.
const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    "deadlock_timeout=10ms",
    "jit=off",
    "max_pred_locks_per_transaction=256",
    "wal_level=minimal",
    "max_wal_senders=0",
    "logging_collector=off",
    "log_min_error_statement=panic",
    "log_min_messages=fatal",
];

/// Starts one. `probe` is given its port and tells which folder the server there serves.
pub(crate) fn start(
    options: &OpenOptions,
    password: &str,
    probe: &dyn Fn(u16) -> Option<Result<String, OpenError>>,
) -> Result<(Server, u16), OpenError> {
    // Both of the same installation: initdb beside the server.
    let postgres = POSTGRES.find(options.server_bin.as_deref())?;
    let initdb = INITDB.find(postgres.parent())?;
    let orders = |folder: &Path, port: u16| {
        let data = folder.join("data").to_string_lossy().into_owned();
        let secret = folder.join("password");
        let user = place::user(USER);
        place::write_for(user, &secret, password)?;
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let mut init = vec![initdb.to_string_lossy().into_owned()];
        init.extend(words(&["-D", &data, "-U", USER, "-A", "scram-sha-256", "-N", "-E", "UTF8"]));
        init.extend(words(&["--locale=C", "--pwfile", &secret.to_string_lossy()]));
        let mut serve = vec![postgres.to_string_lossy().into_owned()];
        let (port, folder_text) = (port.to_string(), folder.to_string_lossy());
        serve.extend(words(&["-D", &data, "-p", &port, "-h", "127.0.0.1", "-k", &folder_text]));
        for setting in SETTINGS {
            serve.extend(words(&["-c", setting]));
        }
        Ok(Orders { folder: folder.to_owned(), user, init, serve, stop: "INT QUIT" })
    };
    let probe = |folder: &Path, port: u16| match probe(port) {
        None => Ok(None),
        Some(found) => place::same_folder(&folder.join("data"), &found?).map(|()| Some(port)),
    };
    let url = |port: u16| format!("postgres://{USER}:{password}@127.0.0.1:{port}/{USER}");
    let start = Start { name: "postgres", user: USER, orders: &orders, probe: &probe, url: &url };
    let started = Server::start(&start, options)?;
    let _ = fs::remove_file(started.0.folder().join("password"));
    Ok(started)
}
