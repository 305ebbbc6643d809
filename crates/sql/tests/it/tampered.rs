//! Faults that are planted between client and server, and which oracle finds which.
//!
//! | fault | found by |
//! |---|---|
//! | a value of an answer is another one | serial |
//! | a row of an answer is missing | serial; predicate, if an UPDATE has the condition of the SELECT |
//! | an UPDATE is answered and not done | predicate, serial |
//! | a DELETE is answered and not done | predicate, serial |
//! | a COMMIT is answered and rolled back | serial (contents) |
//! | writes are visible before COMMIT | early; isolation, if an intermediate version was read |
//! | half of a transaction is visible | early; isolation, except at read committed |
//! | what was rolled back stays | isolation, serial; early, if it was read before the ROLLBACK |
//! | a transaction's reads do not come from one snapshot | isolation, at levels that promise one |
//! | reads are stale, and writes are not | torn (two statements overwrote one version) |
//!
//! *Early*: seen before COMMIT was sent. *Isolation*: the history of the case, at the level that is promised.
//!
//! A fault that shows in a transaction and outside of it alike is one of single statements: no order of statements differs
//! in it, and only the predicate oracle has a second way to ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use isolde_check::{Options, check};
use isolde_spec::Promise;
use isolde_sql::case::Case;
use isolde_sql::policy::policy;
use isolde_sql::work::{Suspect, Worked};
use isolde_target::{Console, Consoles, Datum, Failure, Offer, Said, Target, Waits};

use crate::common::{case, offer, server, worked_through};

/// How the session begins that a fault strikes.
const MARKED: &str = "begin marked";

/// What goes wrong in a marked session, and nowhere else.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    /// Nothing.
    None,
    /// The last value of the first row of the answer to this is another one.
    Swapped(&'static str),
    /// The first row of the answer to this is missing.
    Missing(&'static str),
    /// This is not sent, and answered as if it had changed a row.
    Lost(&'static str),
    /// COMMIT is sent as ROLLBACK.
    Uncommitted,
    /// There is no transaction: each statement is one.
    AtOnce,
    /// A SELECT that was sent before is answered as it was then.
    Stale,
}

/// Real consoles with a fault.
struct Tampered<'c> {
    inner: &'c dyn Consoles,
    fault: Fault,
    struck: Arc<AtomicUsize>,
}

impl Consoles for Tampered<'_> {
    fn make_room(&self) -> Result<String, Failure> {
        self.inner.make_room()
    }

    fn empty_room(&self, room: &str) -> Result<(), Failure> {
        self.inner.empty_room(room)
    }

    fn remove_room(&self, room: &str) -> Result<(), Failure> {
        self.inner.remove_room(room)
    }

    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure> {
        let inner = self.inner.console(offer, room)?;
        let (fault, struck) = (self.fault, Arc::clone(&self.struck));
        let answers = BTreeMap::new();
        Ok(Box::new(TamperedConsole { inner, fault, struck, marked: false, answers }))
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        self.inner.waits()
    }
}

struct TamperedConsole {
    inner: Box<dyn Console>,
    fault: Fault,
    struck: Arc<AtomicUsize>,
    /// Whether it is in a transaction that the fault strikes.
    marked: bool,
    answers: BTreeMap<String, Said>,
}

impl TamperedConsole {
    fn strike(&self) {
        self.struck.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a statement of a marked session.
    fn tampered(&mut self, statement: &str) -> Result<Said, Failure> {
        let ends = ["COMMIT", "ROLLBACK"].contains(&statement);
        match self.fault {
            Fault::Lost(lost) if lost == statement => {
                self.strike();
                return Ok(Said::Changed(1));
            }
            Fault::AtOnce if ends => {
                self.strike();
                return Ok(Said::Done);
            }
            Fault::Uncommitted if statement == "COMMIT" => {
                self.strike();
                return self.inner.run("ROLLBACK");
            }
            Fault::Stale if self.answers.contains_key(statement) => {
                self.strike();
                return Ok(self.answers[statement].clone());
            }
            _ => {}
        }
        let mut said = self.inner.run(statement)?;
        let first = match (self.fault, &mut said) {
            (Fault::Swapped(of), Said::Rows(set)) if of == statement => {
                if let Some(value) = set.rows.first_mut().and_then(|row| row.last_mut()) {
                    *value = Datum::Integer(77);
                }
                true
            }
            (Fault::Missing(of), Said::Rows(set)) if of == statement => {
                set.rows.remove(0);
                true
            }
            _ => false,
        };
        if first {
            self.strike();
        }
        if matches!(said, Said::Rows(_)) {
            self.answers.insert(statement.to_owned(), said.clone());
        }
        Ok(said)
    }
}

impl Console for TamperedConsole {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        if statement == MARKED {
            self.answers.clear();
            self.marked = true;
            return if self.fault == Fault::AtOnce {
                Ok(Said::Done)
            } else {
                self.inner.run("begin")
            };
        }
        let said = if self.marked { self.tampered(statement) } else { self.inner.run(statement) };
        if ["COMMIT", "ROLLBACK"].contains(&statement) {
            self.marked = false;
        }
        said
    }

    fn number(&self) -> u64 {
        self.inner.number()
    }
}

/// Which oracles have found something.
fn found(worked: &Worked, offer: &Offer) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for (suspect, _) in &worked.suspects {
        let name = match suspect {
            Suspect::Serial(_) => "serial",
            Suspect::Predicate(_) => "predicate",
            Suspect::Torn { .. } => "torn",
            Suspect::Early(_) => "early",
            other => panic!("{other:?}"),
        };
        found.push(name);
    }
    let history = worked.history.as_ref().unwrap();
    // Transactions of a case are sessions of their own, and there are no times.
    let promise = Promise { session_order: false, ..Promise::of(offer.promises) };
    let verdict = check(&history.0, promise, &Options::default());
    if verdict.holds() == Some(false) {
        found.push("isolation");
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A case, the transaction that is struck, and its fault.
struct Planted {
    name: &'static str,
    fault: Fault,
    marked: usize,
    case: &'static str,
}

impl Planted {
    fn case(&self) -> Case {
        let mut case = case(self.case);
        case.transactions[self.marked].begin = MARKED.to_owned();
        case
    }

    /// What is found on a target at a level, with the fault and without it.
    fn found(&self, target: &dyn Target, level: &str) -> Vec<&'static str> {
        let offer = offer(target, level);
        let policy = policy(target.name(), &offer).unwrap();
        let case = self.case();
        let with = |fault| {
            let struck = Arc::default();
            let tampered =
                Tampered { inner: target.sql().unwrap(), fault, struck: Arc::clone(&struck) };
            let worked = worked_through(&tampered, offer, &policy, &case);
            (found(&worked, &offer), worked, struck.load(Ordering::Relaxed))
        };
        let (found, worked, _) = with(Fault::None);
        let sound = (found, worked.reached > 0);
        assert_eq!(sound, (Vec::new(), true), "{} {level}: {:?}", self.name, worked.suspects);
        let (found, _, struck) = with(self.fault);
        assert!(struck > 0, "{} never struck at {level}", self.name);
        println!("{:30} {:10} {level:16} {}", self.name, target.name(), found.join(", "));
        found
    }
}

/// Works on a case on both servers at all levels, and compares what was found with what is expected at each.
fn check_on_all(planted: &Planted, expected: impl Fn(&str) -> Option<&'static [&'static str]>) {
    for (kind, levels) in [
        ("postgres", ["read-committed", "repeatable-read", "serializable"].as_slice()),
        ("sqlite", ["deferred", "immediate"].as_slice()),
    ] {
        let Some(target) = server(kind) else { continue };
        for level in levels {
            let Some(expected) = expected(level) else { continue };
            assert_eq!(planted.found(&*target, level), expected, "{} at {level}", planted.name);
        }
    }
}

const TWO_READERS: &str = "
    table t(pkey, vkey, c) (1,10,5),(2,11,6)
    T0 begin
    T0 update t set c = 8 version 20 where pkey = 2
    T0 commit
    T1 begin
    T1 select * from t where c > 5
    T1 select sum(c) from t
    T1 commit";

#[test]
fn a_swapped_value_is_found_by_the_serial_oracle() {
    let planted = |fault| Planted { name: "swapped value", fault, marked: 1, case: TWO_READERS };
    let fault = Fault::Swapped("select sum(c) from t");
    check_on_all(&planted(fault), |_| Some(&["serial"]));
    let fault = Fault::Swapped("select * from t where c > 5");
    check_on_all(&planted(fault), |_| Some(&["serial"]));
}

#[test]
fn a_missing_row_is_found_by_the_serial_oracle() {
    let fault = Fault::Missing("select * from t where c > 5");
    let planted = Planted { name: "missing row", fault, marked: 1, case: TWO_READERS };
    check_on_all(&planted, |_| Some(&["serial"]));
}

#[test]
fn a_missing_row_is_found_by_the_predicate_oracle_if_the_rows_are_written_then() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6),(3,12,7)
        T0 begin
        T0 select * from t where c > 5
        T0 update t set c = 0 version 20 where c > 5
        T0 commit";
    let fault = Fault::Missing("select * from t where c > 5");
    let planted = Planted { name: "missing row, then UPDATE", fault, marked: 0, case };
    check_on_all(&planted, |_| Some(&["predicate", "serial"]));
}

#[test]
fn a_lost_update_is_found_by_the_predicate_and_the_serial_oracle() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 8 version 20 where pkey = 2
        T0 commit
        T1 begin
        T1 select sum(c) from t
        T1 commit";
    let fault = Fault::Lost("UPDATE t SET c = 8, vkey = 20 WHERE pkey = 2");
    let planted = Planted { name: "lost UPDATE", fault, marked: 0, case };
    check_on_all(&planted, |_| Some(&["predicate", "serial"]));
}

#[test]
fn a_lost_delete_is_found_by_the_predicate_and_the_serial_oracle() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 delete t where pkey = 2
        T0 commit
        T1 begin
        T1 select count(*) from t
        T1 commit";
    let fault = Fault::Lost("DELETE FROM t WHERE pkey = 2");
    let planted = Planted { name: "lost DELETE", fault, marked: 0, case };
    check_on_all(&planted, |_| Some(&["predicate", "serial"]));
}

#[test]
fn a_lost_commit_is_found_by_the_serial_oracle() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 8 version 20 where pkey = 2
        T0 insert t (3,21,9)
        T0 commit";
    let planted = Planted { name: "lost COMMIT", fault: Fault::Uncommitted, marked: 0, case };
    check_on_all(&planted, |_| Some(&["serial"]));
}

#[test]
fn a_write_that_is_visible_too_early_is_found() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 7 version 20 where pkey = 1
        T1 begin
        T1 select * from t
        T1 commit
        T0 update t set c = 8 version 21 where pkey = 1
        T0 commit";
    let planted = Planted { name: "early write", fault: Fault::AtOnce, marked: 0, case };
    check_on_all(&planted, |_| Some(&["early", "isolation"]));
}

#[test]
fn half_of_a_transaction_is_found() {
    // T1 sees one of the two writes. As a history, that is lawful at read committed.
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 7 version 20 where pkey = 1
        T1 begin
        T1 select * from t
        T1 commit
        T0 update t set c = 8 version 21 where pkey = 2
        T0 commit";
    let planted = Planted { name: "half of a transaction", fault: Fault::AtOnce, marked: 0, case };
    check_on_all(&planted, |level| match level {
        "read-committed" => Some(&["early"]),
        _ => Some(&["early", "isolation"]),
    });
}

#[test]
fn a_rollback_that_undoes_nothing_is_found_by_both() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 7 version 20 where pkey = 1
        T0 rollback
        T1 begin
        T1 select * from t
        T1 commit";
    let planted = Planted { name: "ROLLBACK ignored", fault: Fault::AtOnce, marked: 0, case };
    check_on_all(&planted, |_| Some(&["isolation", "serial"]));
}

#[test]
fn what_is_read_before_its_rollback_is_found() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 update t set c = 7 version 20 where pkey = 1
        T1 begin
        T1 select * from t
        T1 commit
        T0 rollback";
    let planted = Planted { name: "read before ROLLBACK", fault: Fault::AtOnce, marked: 0, case };
    check_on_all(&planted, |_| Some(&["early", "isolation", "serial"]));
}

#[test]
fn a_snapshot_that_moves_on_is_found_by_the_history_where_one_is_promised() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T1 begin
        T1 select * from t
        T0 begin
        T0 update t set c = 7 version 20 where pkey = 1
        T0 commit
        T1 select * from t
        T1 commit";
    let planted = Planted { name: "moving snapshot", fault: Fault::AtOnce, marked: 0, case };
    check_on_all(&planted, |level| match level {
        "read-committed" => Some(&[]),
        _ => Some(&["isolation"]),
    });
}

#[test]
fn stale_reads_and_fresh_writes_are_found_by_what_they_overwrite() {
    let case = "
        table t(pkey, vkey, c) (1,10,5),(2,11,6)
        T0 begin
        T0 select * from t
        T1 begin
        T1 update t set c = c + 1 version 20 where pkey = 1
        T1 commit
        T0 update t set c = c + 1 version 30
        T0 commit";
    let planted = Planted { name: "stale reads", fault: Fault::Stale, marked: 0, case };
    // Elsewhere the UPDATE fails.
    check_on_all(&planted, |level| match level {
        "read-committed" => Some(&["torn"]),
        _ => None,
    });
}
