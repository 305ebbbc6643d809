//! What a correct PostgreSQL shows by its snapshots, and what must be no alarm: exact interleavings on the real server,
//! written down as its sessions tell them, and checked.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use isolde_check::{Options, check};
use isolde_history::notation::parse;
use isolde_history::{OpKind, Snapshot};
use isolde_spec::{Level, Promise};
use isolde_target::{
    Answer, Console, Contents, Datum, Ended, Mishap, OpenOptions, Path, Request, Said, Session,
    Show, SnapshotOf, Table, Target, open,
};

use crate::common::has_postgres;

/// A server that shows its snapshots, with a table of registers.
fn server(settings: &[(&str, &str)]) -> Option<Box<dyn Target>> {
    if !has_postgres() {
        return None;
    }
    let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let show = Some(Show::Snapshots);
    let target =
        open("postgres", &OpenOptions { show, settings, ..OpenOptions::default() }).unwrap();
    let table = Table { number: 0, contents: Contents::Registers, rows: 10, filled: true };
    target.create(&table).unwrap();
    Some(target)
}

/// A session, and the line of the transaction that it is in.
struct Scribe {
    name: &'static str,
    session: Box<dyn Session>,
    began: Instant,
    begin: u128,
    stmts: Vec<String>,
    attrs: Vec<String>,
}

fn told(snapshot: &Snapshot) -> String {
    let running: Vec<String> = snapshot.in_progress.iter().map(i64::to_string).collect();
    format!(
        "snapshot={{xmin:{},xmax:{},xip:[{}]}}",
        snapshot.xmin,
        snapshot.xmax,
        running.join(",")
    )
}

impl Scribe {
    fn new(target: &dyn Target, level: &str, name: &'static str, began: Instant) -> Scribe {
        let offer = *target.offers().iter().find(|offer| offer.name == level).unwrap();
        let session = target.connect(&offer).unwrap();
        Scribe { name, session, began, begin: 0, stmts: Vec::new(), attrs: Vec::new() }
    }

    fn now(&self) -> u128 {
        self.began.elapsed().as_nanos()
    }

    fn begin(&mut self) {
        self.begin = self.now();
        self.session.begin().unwrap();
    }

    /// Does one access and writes it down.
    fn run(&mut self, kind: OpKind, path: Path, row: u32, value: i64) -> Answer {
        let begin = self.now();
        let request = Request { table: 0, row, kind, path, value, expected: 0 };
        let answer = self.session.run(&request).unwrap();
        let end = self.now();
        let op = match &answer {
            Answer::Value(Some(value)) => format!("r(k{row},{value})"),
            Answer::Value(None) => format!("r(k{row},absent)"),
            _ => format!("w(k{row},{value})"),
        };
        let mut attrs = Vec::new();
        if let Some(taken) = self.session.snapshot() {
            match taken.of {
                SnapshotOf::Statement => attrs.push(told(&taken.snapshot)),
                SnapshotOf::Transaction => self.attrs.push(told(&taken.snapshot)),
            }
            if taken.restart > 0 && !self.attrs.iter().any(|attr| attr.starts_with("restart")) {
                self.attrs.push(format!("restart={}", taken.restart));
            }
        }
        if path == Path::ForUpdate {
            attrs.push("lock=exclusive".to_owned());
        }
        self.stmts.push(format!("[{op}]@[{begin},{end}]{{{}}}", attrs.join(",")));
        answer
    }

    fn read(&mut self, row: u32) -> Option<i64> {
        match self.run(OpKind::Read, Path::PrimaryKey, row, 0) {
            Answer::Value(value) => value,
            other => panic!("{other:?}"),
        }
    }

    fn write(&mut self, row: u32, value: i64) {
        let done = self.run(OpKind::Write, Path::PrimaryKey, row, value);
        assert_eq!(done, Answer::Done(true));
    }

    /// The line of the transaction, however it ended.
    fn line(&mut self, outcome: &str) -> String {
        let end = self.now();
        self.attrs.extend(self.session.server_txn().map(|txn| format!("xid={}", txn.id)));
        let (stmts, attrs) = (self.stmts.join(" "), self.attrs.join(","));
        let line = format!("{}: {stmts}{outcome} @[{},{end}] {{{attrs}}}\n", self.name, self.begin);
        self.stmts.clear();
        self.attrs.clear();
        line
    }

    fn commit(&mut self) -> String {
        assert_eq!(self.session.commit().unwrap(), Ended::Committed);
        self.line("")
    }
}

#[track_caller]
fn holds(text: &str, promises: &[Promise]) {
    let history = parse(text).unwrap();
    for promise in promises {
        let verdict = check(&history, *promise, &Options::default());
        assert_eq!(verdict.holds(), Some(true), "{promise}: {:?}\n{text}", verdict.answer);
    }
}

/// An UPDATE that waited for another writer replaces a version that its own snapshot does not show, and so does a locking
/// read see it. A plain read right after sees both.
#[test]
fn an_update_after_a_lock_wait_at_read_committed() {
    let Some(target) = server(&[]) else { return };
    let began = Instant::now();
    let scribe = |name| Scribe::new(&*target, "read-committed", name, began);
    let (mut first, mut second, mut third) = (scribe("a"), scribe("b"), scribe("c"));
    let mut text = "initial 0\n".to_owned();
    first.begin();
    first.write(1, 11);
    let (sent, arrived) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            second.begin();
            second.write(1, 12);
            third.begin();
            assert_eq!(third.read(1), Some(11));
            sent.send(second.commit() + &third.commit()).unwrap();
        });
        thread::sleep(Duration::from_millis(300));
        text += &first.commit();
    });
    text += &arrived.recv().unwrap();
    let mut last = scribe("d");
    last.begin();
    assert_eq!(last.read(1), Some(12));
    let locked = last.run(OpKind::Read, Path::ForUpdate, 1, 0);
    assert_eq!(locked, Answer::Value(Some(12)));
    text += &last.commit();
    // The waiting statement's own snapshot does not show the writer that it waited for.
    let history = parse(&text).unwrap();
    let writers: Vec<_> = history.txns().filter(|txn| txn.xid().is_some()).collect();
    let waited = writers[1].stmts().next().unwrap().snapshot().unwrap();
    assert!(!waited.shows(writers[0].xid().unwrap()), "it did not wait\n{text}");
    let rc = Level::ReadCommitted;
    holds(&text, &[Promise::by_snapshots(rc), Promise::of(rc)]);
}

/// T1 reads what T2 overwrites, and commits after it: T1 comes first in every serial order, and last by commit.
#[test]
fn a_serial_order_that_is_not_commit_order() {
    let Some(target) = server(&[]) else { return };
    let began = Instant::now();
    let scribe = |name| Scribe::new(&*target, "serializable", name, began);
    let (mut first, mut second, mut third) = (scribe("a"), scribe("b"), scribe("c"));
    first.begin();
    assert_eq!(first.read(1), Some(0));
    second.begin();
    second.write(1, 21);
    let mut text = "initial 0\n".to_owned() + &second.commit();
    first.write(2, 12);
    text += &first.commit();
    third.begin();
    assert_eq!((third.read(1), third.read(2)), (Some(21), Some(12)));
    text += &third.commit();
    let si = Promise::by_snapshots(Level::SnapshotIsolation);
    holds(&text, &[si, Promise::of(Level::Serializable)]);
    // As commit order it would be wrong.
    let places = text.replace("initial 0\n", "initial 0\nmeta commit-order serial\n");
    let places: Vec<String> = places
        .lines()
        .enumerate()
        .map(|(at, line)| match line.starts_with(['a', 'b', 'c']) {
            true => line.replace("] {", &format!("] ts({at},{at}) {{")),
            false => line.to_owned(),
        })
        .collect();
    let history = parse(&places.join("\n")).unwrap();
    let by_commits = Promise::by_timestamps(Level::Serializable);
    assert_eq!(check(&history, by_commits, &Options::default()).holds(), Some(false));
}

/// What a query of one row and one column says.
fn ask(console: &mut dyn Console, query: &str) -> String {
    match console.run(query).unwrap() {
        Said::Rows(set) => match &set.rows[0][0] {
            Datum::Text(text) => text.clone(),
            Datum::Integer(number) => number.to_string(),
            other => panic!("{other:?}"),
        },
        other => panic!("{query}: {other:?}"),
    }
}

/// `100:105:101,102` as an attribute.
fn snapshot(text: &str) -> String {
    let parts: Vec<&str> = text.split(':').collect();
    format!("snapshot={{xmin:{},xmax:{},xip:[{}]}}", parts[0], parts[1], parts[2])
}

/// A row that was deleted after the snapshot may be inserted again, though the snapshot still has it.
#[test]
fn a_row_that_was_deleted_meanwhile_is_inserted_again() {
    let Some(target) = server(&[]) else { return };
    let offer = *target.offers().iter().find(|offer| offer.name == "repeatable-read").unwrap();
    let console = || target.consoles().unwrap().console(&offer, "public").unwrap();
    let (mut a, mut b) = (console(), console());
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    a.run("CREATE TABLE again (k bigint PRIMARY KEY, v bigint)").unwrap();
    a.run("INSERT INTO again VALUES (1, 0)").unwrap();
    a.run(begin).unwrap();
    let of_a = snapshot(&ask(&mut *a, "SELECT pg_current_snapshot()::text"));
    assert_eq!(ask(&mut *a, "SELECT v::text FROM again WHERE k = 1"), "0");
    b.run(begin).unwrap();
    let of_b = snapshot(&ask(&mut *b, "SELECT pg_current_snapshot()::text"));
    b.run("DELETE FROM again WHERE k = 1").unwrap();
    let deleter = ask(&mut *b, "SELECT pg_current_xact_id()::text");
    b.run("COMMIT").unwrap();
    a.run("INSERT INTO again VALUES (1, 5)").unwrap();
    let inserter = ask(&mut *a, "SELECT pg_current_xact_id()::text");
    a.run("COMMIT").unwrap();
    assert_eq!(ask(&mut *b, "SELECT v::text FROM again"), "5");
    a.run("DROP TABLE again").unwrap();
    let text = format!(
        "initial 0\n\
         b: delete(x) {{xid={deleter},{of_b}}}\n\
         a: r(x,0) insert(x,5) {{xid={inserter},{of_a}}}\n"
    );
    holds(&text, &[Promise::by_snapshots(Level::SnapshotIsolation)]);
    // With two updates it would be a conflict, and the server refuses that.
    let updates = text.replace("delete(x)", "w(x,4)").replace("insert(x,5)", "w(x,5)");
    let verdict = check(
        &parse(&updates).unwrap(),
        Promise::by_snapshots(Level::SnapshotIsolation),
        &Options::default(),
    );
    assert_eq!(verdict.holds(), Some(false));
}

/// A number whose record was never written is given again after `kill -9`: the restart tells the two apart.
#[test]
fn a_number_that_is_used_again_after_a_crash() {
    let Some(target) = server(&[("wal_writer_delay", "10s"), ("autovacuum", "off")]) else {
        return;
    };
    let began = Instant::now();
    let mut old = Scribe::new(&*target, "repeatable-read", "a", began);
    {
        let offer = *target.offers().iter().find(|o| o.name == "read-committed").unwrap();
        let mut console = target.consoles().unwrap().console(&offer, "public").unwrap();
        console.run("CHECKPOINT").unwrap();
    }
    old.begin();
    old.write(1, 11);
    let number = old.session.server_txn().unwrap();
    target.nodes()[0].harm(Mishap::Kill).unwrap();
    target.nodes()[0].mend().unwrap();
    assert!(old.session.commit().is_err());
    let mut text = "initial 0\n".to_owned() + &old.line(" unknown");
    let mut new = Scribe::new(&*target, "repeatable-read", "b", began);
    let mut again = false;
    for value in 20..220 {
        new.begin();
        new.read(1);
        new.write(1, value);
        text += &new.commit();
        let txn = new.session.server_txn().unwrap();
        again = txn.id == number.id;
        if txn.id >= number.id {
            break;
        }
    }
    assert!(again, "the number {number:?} did not come again\n{text}");
    new.begin();
    new.read(1);
    text += &new.commit();
    let si = Level::SnapshotIsolation;
    holds(&text, &[Promise::by_snapshots(si), Promise::of(si)]);
    // Without the restart nothing can be said.
    let merged = text.replace("restart=1,", "").replace(",restart=1", "");
    let verdict = check(&parse(&merged).unwrap(), Promise::by_snapshots(si), &Options::default());
    assert_eq!(verdict.holds(), None, "{:?}", verdict.answer);
}
