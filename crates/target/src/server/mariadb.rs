//! A throwaway MariaDB server, with InnoDB or with MyRocks.

use std::path::{Path, PathBuf};

use super::find::Program;
use super::place;
use super::supervise::Orders;
use super::{Probe, Server, Start};
use crate::catalogue::OpenOptions;
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

/// Many short transactions, on data that nobody will miss: nothing waits for a disk, nobody waits
/// long for a lock.
const SETTINGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--skip-networking=0",
    "--skip-name-resolve",
    "--performance-schema=OFF",
    "--max-connections=400",
    "--max-prepared-stmt-count=1000000",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=2",
    "--innodb-fast-shutdown=2",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
];

/// What holds while the folder is prepared, too: a log of another size would be made anew.
const ALWAYS: &[&str] = &[
    "--skip-log-bin",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--innodb-flush-method=nosync",
];

/// The same for MyRocks. Without detection, a deadlock ends by the time-out only.
const ROCKSDB: &[&str] = &[
    "--plugin-load-add=ha_rocksdb",
    "--default-storage-engine=rocksdb",
    "--rocksdb-lock-wait-timeout=1",
    "--rocksdb-deadlock-detect=ON",
    "--rocksdb-flush-log-at-trx-commit=0",
    "--rocksdb-block-cache-size=33554432",
];

/// Which storage engine a throwaway server has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    /// The usual one.
    InnoDb,
    /// MyRocks, a plugin.
    RocksDb,
}

/// Starts one. `probe` is given its port and tells which folder the server there serves.
pub(crate) fn start(
    engine: Engine,
    options: &OpenOptions,
    password: &str,
    probe: Probe<'_>,
) -> Result<(Server, u16), OpenError> {
    let server = SERVER.find(options.server_bin.as_deref())?;
    // Beside the server, or in `bin` or `scripts` where the server is in `sbin`.
    let given = options.server_bin.as_deref();
    let above = given.and_then(Path::parent);
    let installer = match INSTALLER.find(given) {
        Err(_) if above.is_some() => INSTALLER.find(above)?,
        found => found?,
    };
    if engine == Engine::RocksDb {
        find_plugin(&server)?;
    }
    let programs = (server.as_path(), installer.as_path());
    let orders = |folder: &Path, port| commands(engine, programs, folder, (port, password));
    let scheme = match engine {
        Engine::InnoDb => "mariadb",
        Engine::RocksDb => "mariadb-rocksdb",
    };
    let url = |port: u16| format!("{scheme}://{USER}:{password}@127.0.0.1:{port}/{DATABASE}");
    let start = Start { name: scheme, user: "mysql", orders: &orders, probe, url: &url };
    Server::start(&start, options)
}

fn commands(
    engine: Engine,
    (server, installer): (&Path, &Path),
    folder: &Path,
    (port, password): (u16, &str),
) -> Result<Orders, OpenError> {
    let user = place::user("mysql");
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    // Read by the server before it listens: nobody gets in without the password. The accounts
    // without one are for the socket, which is in a folder that nobody else can enter.
    let first = format!(
        "CREATE DATABASE IF NOT EXISTS {DATABASE};\n\
         CREATE OR REPLACE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;\n"
    );
    let first_file = folder.join("first.sql");
    place::write_for(user, &first_file, &first)?;
    let datadir = format!("--datadir={}", file("data"));
    let mut init = vec![installer.to_string_lossy().into_owned(), "--no-defaults".into()];
    init.extend([datadir.clone(), format!("--tmpdir={}", folder.display())]);
    init.extend(
        ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
            .map(str::to_owned),
    );
    let mut serve = vec![server.to_string_lossy().into_owned(), "--no-defaults".into(), datadir];
    serve.extend([
        format!("--port={port}"),
        format!("--socket={}", file("s.sock")),
        format!("--pid-file={}", file("mariadb.pid")),
        format!("--tmpdir={}", folder.display()),
        format!("--init-file={}", first_file.display()),
    ]);
    init.extend(ALWAYS.iter().map(|s| (*s).to_owned()));
    serve.extend(ALWAYS.iter().chain(SETTINGS).map(|s| (*s).to_owned()));
    if engine == Engine::RocksDb {
        serve.extend(ROCKSDB.iter().map(|s| (*s).to_owned()));
    }
    Ok(Orders { folder: folder.to_owned(), user, init, serve, stop: "TERM", inside: None })
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
