//! Several servers as one target: clients are spread over them, and one of them can be cut off.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use isolde_history::OpKind;
use isolde_target::{Answer, Failure, Mishap, OpenOptions, Request, Target, open};

use crate::common::{eventually, offer, options, registers, request, write};

/// A cluster whose nodes are apart. Without root and `ip`, or without the programs, it is said and the
/// test passes, but not on CI.
fn cluster(kind: &str) -> Option<Box<dyn Target>> {
    let timeout = Duration::from_secs(8);
    match open(kind, &OpenOptions { apart: true, timeout, ..options() }) {
        Ok(target) => Some(target),
        Err(error)
            if error.to_string().contains("install") || error.to_string().contains("root") =>
        {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}

/// A transaction of its own, by one of the clients.
fn by(target: &dyn Target, client: u32, request: &Request) -> Result<Answer, Failure> {
    let level = if target.name() == "etcd" { "strict-serializable" } else { "repeatable-read" };
    let mut session = target.connect_client(&offer(target, level), client)?;
    session.begin()?;
    let answer = session.run(request)?;
    session.commit()?;
    Ok(answer)
}

fn value(target: &dyn Target, client: u32, row: u32) -> Option<i64> {
    match by(target, client, &request(OpKind::Read, row, 0)) {
        Ok(Answer::Value(value)) => value,
        other => panic!("client {client}: {other:?}"),
    }
}

#[test]
fn galera_spreads_clients_and_a_lonely_node_refuses() {
    let Some(target) = cluster("galera") else { return };
    let target = &*target;
    target.create(&registers(0, 8)).unwrap();
    let nodes: Vec<_> = (0..4).map(|client| target.node_of(client).unwrap()).collect();
    assert_eq!(nodes, ["n1", "n2", "n3", "n1"]);
    for client in 0..3 {
        by(target, client, &write(client, 10)).unwrap();
        for other in 0..3 {
            eventually("all nodes see it", || value(target, other, client) == Some(10));
        }
    }
    let lonely = target.nodes()[1];
    lonely.harm(Mishap::Isolate).unwrap();
    eventually("the majority goes on", || by(target, 0, &write(4, 11)).is_ok());
    eventually("the third node sees it", || value(target, 2, 4) == Some(11));
    assert!(by(target, 1, &write(5, 12)).is_err(), "a node without the others must not commit");
    lonely.mend().unwrap();
    eventually("it catches up", || value(target, 1, 4) == Some(11));
    assert_ne!(value(target, 0, 5), Some(12));
    let dead = target.nodes()[2];
    dead.harm(Mishap::Kill).unwrap();
    eventually("the others go on", || by(target, 0, &write(6, 13)).is_ok());
    dead.mend().unwrap();
    eventually("it catches up", || value(target, 2, 6) == Some(13));
}

#[test]
fn a_standby_reads_what_its_primary_did_and_nothing_new_when_it_is_cut_off() {
    let Some(target) = cluster("postgres-standby") else { return };
    let target = &*target;
    target.create(&registers(0, 4)).unwrap();
    assert_eq!(target.node_of(0).as_deref(), Some("primary"));
    assert_eq!(target.node_of(3).as_deref(), Some("standby"));
    assert!(!target.only_reads(0) && target.only_reads(1));
    // The table and its rows are there from the start.
    assert_eq!(value(target, 1, 3), Some(0));
    by(target, 0, &write(0, 7)).unwrap();
    eventually("the standby sees it", || value(target, 1, 0) == Some(7));
    assert!(by(target, 1, &write(0, 8)).is_err());
    let standby = target.nodes()[1];
    standby.harm(Mishap::Isolate).unwrap();
    by(target, 0, &write(0, 9)).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((value(target, 0, 0), value(target, 1, 0)), (Some(9), Some(7)));
    standby.mend().unwrap();
    eventually("it catches up", || value(target, 1, 0) == Some(9));
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_goes_on_without_one_node_and_a_lonely_one_says_nothing() {
    let Some(target) = cluster("etcd") else { return };
    let target = &*target;
    target.create(&registers(0, 4)).unwrap();
    let nodes: Vec<_> = (0..4).map(|client| target.node_of(client).unwrap()).collect();
    assert_eq!(nodes, ["n1", "n2", "n3", "n1"]);
    by(target, 0, &write(0, 7)).unwrap();
    assert_eq!(value(target, 1, 0), Some(7));
    let lonely = target.nodes()[1];
    lonely.harm(Mishap::Isolate).unwrap();
    eventually("the majority goes on", || by(target, 0, &write(1, 8)).is_ok());
    assert!(by(target, 1, &request(OpKind::Read, 1, 0)).is_err(), "it cannot know what is new");
    lonely.mend().unwrap();
    eventually("it is back", || by(target, 1, &request(OpKind::Read, 1, 0)).is_ok());
    assert_eq!(value(target, 1, 1), Some(8));
    for mishap in [Mishap::Kill, Mishap::Pause] {
        let dead = target.nodes()[2];
        dead.harm(mishap).unwrap();
        eventually("the others go on", || by(target, 0, &write(2, 9)).is_ok());
        dead.mend().unwrap();
        eventually("it is back", || by(target, 2, &request(OpKind::Read, 2, 0)).is_ok());
        assert_eq!(value(target, 2, 2), Some(9), "{mishap:?}");
    }
}
