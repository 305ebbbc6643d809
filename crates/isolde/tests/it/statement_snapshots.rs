//! Statements that return several rows, on real servers at read committed, while others write all of these rows at once: what
//! one statement returned is of one snapshot, and what several returned often is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use isolde_check::Options;
use isolde_history::notation::parse;
use isolde_spec::{Answer, Profile, Verdict};
use isolde_stream::intervals::decide;
use isolde_target::{Console, Consoles, Datum, OpenOptions, Said, open};

use crate::common::{has_mariadb, has_postgres};

/// How long each run takes.
const LASTS: Duration = Duration::from_millis(600);
const ROWS: [i64; 3] = [1, 2, 3];

/// Ways to ask one statement for all rows.
const AT_ONCE: [&str; 4] = [
    "select id, value from test order by id",
    "select id, value from test where id in (1, 2, 3)",
    "select id, value from test where id = 1 union all select id, value from test where id = 2 \
     union all select id, value from test where id = 3",
    "select a.id, a.value from test a join test b on a.id = b.id where b.id between 1 and 3",
];

/// One client, what it has done, and when.
struct Client<'c> {
    console: Box<dyn Console>,
    name: usize,
    clock: Instant,
    fresh: &'c AtomicI64,
    text: String,
}

impl Client<'_> {
    fn now(&self) -> i64 {
        i64::try_from(self.clock.elapsed().as_nanos()).unwrap()
    }

    /// Runs a statement, and says when it was sent and answered.
    fn run(&mut self, sql: &str) -> (Said, [i64; 2]) {
        let sent = self.now();
        let said = self.console.run(sql).unwrap_or_else(|why| panic!("{sql}: {why:?}"));
        (said, [sent, self.now()])
    }

    /// The rows that a query returned, as reads.
    fn rows(&mut self, sql: &str) -> (String, [i64; 2]) {
        let (said, times) = self.run(sql);
        let Said::Rows(rows) = said else { panic!("{said:?}") };
        let read = |row: &Vec<Datum>| match &row[..] {
            [Datum::Integer(id), Datum::Integer(value)] => format!("r({id},{value})"),
            other => panic!("{other:?}"),
        };
        (rows.rows.iter().map(read).collect::<Vec<_>>().join(" "), times)
    }

    /// Notes a transaction of these statements, from BEGIN to COMMIT.
    fn note(&mut self, stmts: &str, began: i64, [sent, ended]: [i64; 2]) {
        let name = self.name;
        writeln!(self.text, "s{name}:{stmts} @[{began},{ended}] {{end-sent={sent}}}").unwrap();
    }

    /// Writes all rows in one transaction: with one statement each, or with one for all.
    fn write(&mut self, together: bool) {
        let value = self.fresh.fetch_add(1, Ordering::Relaxed);
        let (_, [began, _]) = self.run("begin");
        let mut stmts = String::new();
        if together {
            // All writers begin with the same row, so that none waits for one that waits for it.
            let lock = "select id, value from test where id = 1 for update";
            let (reads, [sent, answered]) = self.rows(lock);
            write!(stmts, " [{reads}]@[{sent},{answered}]{{lock=exclusive}}").unwrap();
            let (_, [sent, answered]) = self.run(&format!("update test set value = {value}"));
            let ops = ROWS.map(|row| format!("w({row},{value})")).join(" ");
            write!(stmts, " [{ops}]@[{sent},{answered}]").unwrap();
        } else {
            for row in ROWS {
                let sql = format!("update test set value = {value} where id = {row}");
                let (_, [sent, answered]) = self.run(&sql);
                write!(stmts, " w({row},{value})@[{sent},{answered}]").unwrap();
            }
        }
        let (_, ending) = self.run("commit");
        self.note(&stmts, began, ending);
    }

    /// Reads all rows with one statement, or with several that are passed off as one.
    fn read(&mut self, number: usize, at_once: bool) {
        let (_, [began, _]) = self.run("begin");
        let (reads, [sent, answered]) = match at_once {
            true => self.rows(AT_ONCE[number % AT_ONCE.len()]),
            false => {
                let one = |row| format!("select id, value from test where id = {row}");
                let parts = ROWS.map(|row| self.rows(&one(row)));
                let reads = parts.each_ref().map(|(reads, _)| reads.clone()).join(" ");
                (reads, [parts[0].1[0], parts[2].1[1]])
            }
        };
        let (_, ending) = self.run("commit");
        self.note(&format!(" [{reads}]@[{sent},{answered}]"), began, ending);
    }
}

/// Writers and readers of a few rows for a while, and what the profile of the level says of it.
fn played(
    consoles: &dyn Consoles,
    offer: &isolde_target::Offer,
    profile: &Profile,
    at_once: bool,
) -> Verdict {
    let room = consoles.make_room().unwrap();
    let open = || consoles.console(offer, &room).unwrap();
    let mut setup = open();
    setup.run("create table test (id int primary key, value int)").unwrap();
    setup.run("insert into test (id, value) values (1, 0), (2, 0), (3, 0)").unwrap();
    let (clock, fresh) = (Instant::now(), AtomicI64::new(1));
    let mut text = "initial 0\n".to_owned();
    thread::scope(|scope| {
        let started = (0..5).map(|name| {
            let text = String::new();
            let mut client = Client { console: open(), name, clock, fresh: &fresh, text };
            scope.spawn(move || {
                for number in 0.. {
                    match name {
                        0 | 1 => client.write((number + name) % 2 == 0),
                        _ => client.read(number + name, at_once),
                    }
                    if clock.elapsed() > LASTS {
                        break;
                    }
                }
                client.text
            })
        });
        let started: Vec<_> = started.collect();
        started.into_iter().for_each(|client| text += &client.join().unwrap());
    });
    drop(setup);
    consoles.remove_room(&room).unwrap();
    let history = parse(&text).unwrap();
    decide(&history, profile, &Options::default(), 0.9)
}

/// At each of the levels; where each statement has a snapshot, several statements are no one statement.
#[track_caller]
fn is_kept(kind: &str, levels: &[(&str, &str)]) {
    let server = open(kind, &OpenOptions::default()).unwrap();
    let consoles = server.consoles().unwrap();
    for (level, profile) in levels {
        let offer = server.offers().iter().find(|offer| offer.name == *level).unwrap();
        let profile = Profile::named(profile).unwrap();
        let verdict = played(consoles, offer, profile, true);
        let Answer::NoViolation { of, enough: true, .. } = verdict.answer else {
            panic!("{kind} {level}: {verdict:#?}");
        };
        assert!(of > 500, "{kind} {level}: {of}");
        if *level != "read-committed" {
            continue;
        }
        let verdict = played(consoles, offer, profile, false);
        let torn = verdict.counts.iter().find(|counted| counted.anomaly.name() == "TornSnapshot");
        assert!(torn.is_some_and(|torn| torn.count > 0), "{kind} {level}: {:?}", verdict.counts);
        assert_eq!(verdict.counts.len(), 1, "{kind} {level}: {:?}", verdict.counts);
        println!("{kind} {level}: {of} of one statement; {} of several torn", torn.unwrap().count);
    }
}

#[test]
fn what_one_statement_of_postgres_returns_is_of_one_snapshot() {
    if !has_postgres() {
        return;
    }
    // At repeatable read writers would be refused.
    is_kept("postgres", &[("read-committed", "postgresql/read-committed")]);
}

#[test]
fn what_one_statement_of_mariadb_returns_is_of_one_snapshot() {
    if !has_mariadb() {
        return;
    }
    let (rc, rr) = ("mariadb/read-committed", "mariadb/repeatable-read");
    is_kept("mariadb", &[("read-committed", rc), ("repeatable-read", rr)]);
}

#[test]
fn what_one_statement_of_myrocks_returns_is_of_one_snapshot() {
    if !has_mariadb() {
        return;
    }
    is_kept("mariadb-rocksdb", &[("read-committed", "mariadb-myrocks/read-committed")]);
}
