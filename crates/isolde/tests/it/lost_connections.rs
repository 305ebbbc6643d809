//! Connections that break at any moment, also between COMMIT and its answer: outcomes become unknown,
//! and a correct server gives no alarm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use isolde_target::{OpenOptions, open};
use isolde_workload::Random;

use crate::common::{Folder, has_mariadb, has_postgres};

/// Passes bytes on, and cuts the connection after so many.
fn pass(mut from: TcpStream, mut to: TcpStream, most: u64) {
    let mut left = most;
    let mut bytes = [0; 512];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if left < n as u64 || to.write_all(&bytes[..n]).is_err() {
            break;
        }
        left -= n as u64;
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// A port that leads to the server's, by connections that break. Half of them break on the way
/// back: the server did what it was asked to, and nobody learns of it.
fn breaking(server: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut random = Random::new(7);
        for client in listener.incoming().flatten() {
            let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let (client2, upstream2) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            let most = 8_000 + random.below(40_000);
            let (there, back) = if random.coin() { (most, u64::MAX) } else { (u64::MAX, most) };
            thread::spawn(move || pass(client, upstream, there));
            thread::spawn(move || pass(upstream2, client2, back));
        }
    });
    port
}

#[track_caller]
fn survives(target: &str, isolation: &str, workload: &str) {
    let server = open(target, &OpenOptions::default()).unwrap();
    let url = server.throwaway().unwrap().url;
    let (address, database) = url.rsplit_once('/').unwrap();
    let (user, port) = address.rsplit_once(':').unwrap();
    let url = format!("{user}:{}/{database}", breaking(port.parse().unwrap()));
    let folder = Folder::new(&format!("lost-{target}-{workload}"));
    let args = ["test", &url, "--isolation", isolation, "--workload", workload, "--json"];
    let ran = folder.isolde(
        &[args.as_slice(), &["--commits", "6k", "--duration", "60s", "--seed", "1"]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let count = |name: &str| report["run"][name].as_u64().unwrap();
    eprintln!("{target} {workload}: {} of {} unknown", count("unknown"), count("transactions"));
    assert!(count("lost_connections") > 5, "{ran:#?}");
    assert!(count("committed") > 100, "{ran:#?}");
    assert_eq!(report["verdicts"][0]["answer"], "holds", "{ran:#?}");
}

#[test]
fn of_postgres_with_registers() {
    if has_postgres() {
        survives("postgres", "serializable", "mini");
    }
}

#[test]
fn of_postgres_with_lists() {
    if has_postgres() {
        survives("postgres", "repeatable-read", "append");
    }
}

#[test]
fn of_mariadb_with_registers() {
    if has_mariadb() {
        survives("mariadb", "repeatable-read-snapshot", "mini");
    }
}

#[test]
fn of_mariadb_with_lists() {
    if has_mariadb() {
        survives("mariadb", "serializable", "append");
    }
}
