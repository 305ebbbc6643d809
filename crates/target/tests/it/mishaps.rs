//! What can be done to throwaway servers is done, and undone, and what they acknowledged is kept.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use isolde_history::OpKind;
use isolde_target::{After, Answer, Mishap, OpenOptions, Target, open};

use crate::common::{
    self, alone, eventually, installed, is_alive, offer, options, read, registers, write,
};

/// A server that keeps what it acknowledged, with a short patience of its clients.
fn durable(kind: &str) -> Option<Box<dyn Target>> {
    let timeout = Duration::from_secs(5);
    let durable = OpenOptions { durable: true, timeout, ..options() };
    installed(kind).then(|| open(kind, &durable).unwrap())
}

fn value(target: &dyn Target, row: u32) -> Answer {
    alone(target, "read-committed", &common::request(OpKind::Read, row, 0))
}

#[test]
fn a_server_comes_back_with_what_it_acknowledged() {
    for kind in ["postgres", "mariadb", "mariadb-rocksdb"] {
        let Some(target) = durable(kind) else { continue };
        target.create(&registers(0, 4)).unwrap();
        let [node] = target.nodes()[..] else { panic!("{kind} is one server") };
        for (mishap, round) in [Mishap::Kill, Mishap::Stop, Mishap::Kill].into_iter().zip(1..) {
            let level = offer(&*target, "read-committed");
            let mut open = target.connect(&level).unwrap();
            open.begin().unwrap();
            open.run(&write(1, round)).unwrap();
            alone(&*target, "read-committed", &write(0, round));
            let before = target.throwaway().unwrap().pid.unwrap();
            node.harm(mishap).unwrap();
            assert!(!is_alive(before), "{kind}: {mishap:?}");
            assert_eq!(open.commit().unwrap_err().after, After::Lost, "{kind}: {mishap:?}");
            assert!(target.connect(&level).is_err(), "{kind}: {mishap:?}");
            node.mend().unwrap();
            assert_eq!(value(&*target, 0), Answer::Value(Some(round)), "{kind}: {mishap:?}");
            assert_eq!(value(&*target, 1), Answer::Value(Some(0)), "{kind}: {mishap:?}");
        }
        assert_eq!(target.last_words(), None, "{kind} did not die by itself");
    }
}

/// After it was killed on purpose and came back, a server that dies by itself stays dead: a crash is
/// evidence.
#[test]
fn a_crash_after_a_kill_is_not_mended_in_silence() {
    let Some(target) = durable("postgres") else { return };
    let node = target.nodes()[0];
    node.harm(Mishap::Kill).unwrap();
    node.mend().unwrap();
    common::signal("KILL", target.throwaway().unwrap().pid.unwrap());
    eventually("its end is noticed", || target.last_words().is_some());
    assert!(target.connect(&offer(&*target, "read-committed")).is_err());
}

#[test]
fn a_paused_server_is_silent_and_goes_on() {
    for kind in ["postgres", "mariadb"] {
        let Some(target) = durable(kind) else { continue };
        target.create(&registers(0, 4)).unwrap();
        let level = offer(&*target, "read-committed");
        let mut session = target.connect(&level).unwrap();
        session.begin().unwrap();
        assert_eq!(read(&mut *session, 0), Some(0));
        let node = target.nodes()[0];
        node.harm(Mishap::Pause).unwrap();
        assert_eq!(session.run(&write(0, 1)).unwrap_err().after, After::Lost, "{kind}");
        node.mend().unwrap();
        alone(&*target, "read-committed", &write(0, 2));
        assert_eq!(value(&*target, 0), Answer::Value(Some(2)), "{kind}");
        assert!(node.can(Mishap::Isolate).is_err());
        assert!(node.harm(Mishap::Isolate).is_err());
    }
}

#[test]
fn a_server_that_is_down_or_paused_is_gone_all_the_same() {
    for (kind, mishap) in
        [("postgres", Mishap::Pause), ("postgres", Mishap::Kill), ("mariadb", Mishap::Kill)]
    {
        let Some(target) = durable(kind) else { continue };
        let at = target.throwaway().unwrap();
        target.nodes()[0].harm(mishap).unwrap();
        drop(target);
        eventually("its folder is gone", || !at.folder.exists());
        eventually("the server is gone", || !is_alive(at.pid.unwrap()));
    }
}

#[test]
fn a_relay_breaks_connections_and_nothing_else() {
    for kind in ["postgres", "mariadb"] {
        if !installed(kind) {
            continue;
        }
        let target = open(kind, &OpenOptions { relayed: true, ..options() }).unwrap();
        target.create(&registers(0, 4)).unwrap();
        let level = offer(&*target, "read-committed");
        let mut sessions = [0, 1].map(|client| target.connect_client(&level, client).unwrap());
        for session in &mut sessions {
            session.begin().unwrap();
            assert_eq!(read(&mut **session, 0), Some(0));
        }
        assert_eq!(target.relay().unwrap().cut(0), 1, "{kind}");
        let [first, second] = &mut sessions;
        assert_eq!(first.commit().unwrap_err().after, After::Lost, "{kind}");
        assert_eq!(read(&mut **second, 1), Some(0), "{kind}");
        let mut again = target.connect_client(&level, 0).unwrap();
        again.begin().unwrap();
        assert_eq!(read(&mut *again, 0), Some(0), "{kind}");
    }
}

/// What a session would set itself, the user's setting replaces; what a setting cannot replace is refused.
#[test]
fn no_setting_is_without_effect() {
    let set = |name: &str, value: &str| OpenOptions {
        settings: vec![(name.to_owned(), value.to_owned())],
        ..options()
    };
    if installed("postgres") {
        // A plan cannot be seen from here; a statement that may take next to no time can.
        let target = open("postgres", &set("statement_timeout", "30ms")).unwrap();
        let level = offer(&*target, "read-committed");
        let filled = target.create(&registers(0, 100_000));
        assert_eq!(filled.unwrap_err().code, "57014");
        drop(target.connect(&level));
        let refused = open("postgres", &set("default_transaction_isolation", "serializable"));
        assert!(refused.err().unwrap().to_string().contains("would have no effect"));
    }
    if installed("mariadb") {
        for name in ["tx-isolation", "innodb_snapshot_isolation"] {
            let refused = open("mariadb", &set(name, "ON"));
            assert!(refused.err().unwrap().to_string().contains("would have no effect"), "{name}");
        }
    }
}

#[test]
fn a_throwaway_server_lets_in_all_sessions() {
    for kind in ["postgres", "mariadb"] {
        if installed(kind) {
            let target = open(kind, &OpenOptions { sessions: 700, ..options() }).unwrap();
            let fact = ("max_connections".to_owned(), "800".to_owned());
            assert!(target.facts().contains(&fact), "{:?}", target.facts());
        }
    }
}

#[test]
fn settings_reach_the_server() {
    if installed("postgres") {
        let settings = vec![("deadlock_timeout".to_owned(), "123ms".to_owned())];
        let target = open("postgres", &OpenOptions { settings, ..options() }).unwrap();
        let fact = ("deadlock_timeout".to_owned(), "123ms".to_owned());
        assert!(target.facts().contains(&fact), "{:?}", target.facts());
    }
    if installed("mariadb") {
        let settings = vec![("innodb-lock-wait-timeout".to_owned(), "7".to_owned())];
        let target = open("mariadb", &OpenOptions { settings, ..options() }).unwrap();
        let fact = ("innodb_lock_wait_timeout".to_owned(), "7".to_owned());
        assert!(target.facts().contains(&fact), "{:?}", target.facts());
    }
}
