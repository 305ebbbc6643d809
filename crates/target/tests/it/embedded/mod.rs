//! Every embedded engine of the build, through the same checks: what it answers to one session,
//! whether its offers keep what they promise between two, and what several threads do to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod alone;
mod hammer;
mod script;
#[cfg(feature = "stoolap")]
mod stoolap;
mod together;

use std::time::Duration;

use isolde_history::OpKind;
use isolde_spec::Level;
use isolde_target::{Contents, KINDS, Offer, OpenOptions, Path, Request, Table, Target, open};

/// All embedded engines; those that are not in this build are skipped.
const ENGINES: [&str; 13] = [
    "faulty",
    "sqlite",
    "fjall",
    "surrealkv",
    "surrealmx",
    "surrealmx-0-22",
    "canopydb",
    "mace-kv",
    "skipdb",
    "redb",
    "grafeo",
    "stoolap",
    "tidesdb",
];

/// The registers of all checks, filled with 0.
const REGISTERS: Table = Table { number: 0, contents: Contents::Registers, rows: 32, filled: true };
/// Registers that are not there.
const EMPTY: Table = Table { number: 1, contents: Contents::Registers, rows: 32, filled: false };
/// Lists.
const LISTS: Table = Table { number: 2, contents: Contents::Lists, rows: 32, filled: false };

/// The engines of this build.
fn engines() -> impl Iterator<Item = &'static str> {
    ENGINES.into_iter().filter(|name| KINDS.iter().any(|kind| kind.name == *name))
}

/// A fresh database with tables.
fn fresh(engine: &str) -> Box<dyn Target> {
    // Short, so that a session that waits for another of the same thread gives up soon.
    let options = OpenOptions { timeout: Duration::from_millis(200), ..OpenOptions::default() };
    let target = open(engine, &options).unwrap();
    for table in [REGISTERS, EMPTY, LISTS] {
        target.create(&table).unwrap_or_else(|f| panic!("{engine}: {f}"));
    }
    target
}

/// Whether one transaction waits for the end of another before it begins, so that one thread
/// cannot hold two.
fn one_at_a_time(engine: &str, offer: &Offer) -> bool {
    matches!(
        (engine, offer.name),
        ("redb", _) | ("canopydb", "exclusive") | ("sqlite", "immediate")
    )
}

/// What makes requests short.
fn request(table: Table, kind: OpKind, path: Path, row: u32, value: i64) -> Request {
    Request { table: table.number, row, kind, path, value, expected: 0 }
}

/// Engines and offers that promise a level, with a fresh database each.
fn promising(
    level: Level,
) -> impl Iterator<Item = (&'static str, &'static Offer, Box<dyn Target>)> {
    engines().flat_map(move |engine| {
        let offers = fresh(engine).offers();
        let enough = offers.iter().filter(move |offer| offer.promises.implies(level));
        enough.map(move |offer| (engine, offer, fresh(engine)))
    })
}

#[test]
fn versions_are_known() {
    for engine in engines() {
        let target = fresh(engine);
        assert!(target.version().starts_with(|c: char| c.is_ascii_digit()), "{engine}");
        assert!(!target.name().is_empty() && !target.offers().is_empty(), "{engine}");
    }
}
