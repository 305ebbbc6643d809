//! What tests against real servers share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::time::Duration;

use isolde_history::OpKind;
use isolde_target::{
    Answer, Contents, Offer, OpenOptions, Path, Request, Session, Table, Target, open,
};

/// Options with a time-out that tests can wait for.
pub fn options() -> OpenOptions {
    OpenOptions { timeout: Duration::from_secs(8), ..OpenOptions::default() }
}

/// A throwaway server; nothing if it is not installed here, which is said loudly. On CI that is a
/// failure: there, a test that did not run is no test.
pub fn server(kind: &str) -> Option<Box<dyn Target>> {
    match open(kind, &options()) {
        Ok(target) => Some(target),
        Err(error) if error.to_string().contains("install") => {
            assert!(std::env::var_os("CI").is_none(), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}

/// The first of the names that is an offer of the target.
pub fn offer(target: &dyn Target, name: &str) -> Offer {
    *target.offers().iter().find(|o| o.name == name).unwrap_or_else(|| panic!("no level {name}"))
}

/// A fact about a target.
pub fn fact(target: &dyn Target, name: &str) -> Option<String> {
    target.facts().into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
}

/// A table of registers with all rows at 0.
pub fn registers(number: u32, rows: u32) -> Table {
    Table { number, contents: Contents::Registers, rows, filled: true }
}

/// An access by primary key.
pub fn request(kind: OpKind, row: u32, value: i64) -> Request {
    Request { table: 0, row, kind, path: Path::PrimaryKey, value, expected: 0 }
}

/// Reads a register by primary key.
pub fn read(session: &mut dyn Session, row: u32) -> Option<i64> {
    match session.run(&request(OpKind::Read, row, 0)).unwrap() {
        Answer::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

/// A request to write a register by primary key.
pub fn write(row: u32, value: i64) -> Request {
    request(OpKind::Write, row, value)
}

/// A transaction of its own.
pub fn alone(target: &dyn Target, level: &str, request: &Request) -> Answer {
    let mut session = target.connect(&offer(target, level)).unwrap();
    session.begin().unwrap();
    let answer = session.run(request).unwrap();
    session.commit().unwrap();
    answer
}
