//! How fast sessions are: a read and an update by primary key in each transaction.
//!
//! `cargo run --release -p isolde-target --example rate -- KIND_OR_URL LEVEL SESSIONS SECONDS`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement, not a part of the tool"
)]

use std::thread;
use std::time::{Duration, Instant};

use isolde_history::OpKind;
use isolde_target::{Contents, OpenOptions, Path, Request, Session, Table, open};

const ROWS: u32 = 10_000;

fn main() {
    let mut words = std::env::args().skip(1);
    let spec = words.next().unwrap_or_else(|| "postgres".to_owned());
    let level = words.next().unwrap_or_else(|| "repeatable-read".to_owned());
    let mut number = |usual| words.next().map_or(usual, |w| w.parse::<u64>().expect("a number"));
    let (sessions, seconds) = (number(8), number(5));
    let since = Instant::now();
    let target = open(&spec, &OpenOptions::default()).unwrap();
    eprintln!("{} {} after {:?}", target.name(), target.version(), since.elapsed());
    let offer = target.offers().iter().find(|o| o.name == level).expect("no such level");
    let contents = Contents::Registers;
    target.create(&Table { number: 0, contents, rows: ROWS, filled: true }).unwrap();
    let end = Instant::now() + Duration::from_secs(seconds);
    let counts: Vec<(u64, u64)> = thread::scope(|scope| {
        let run = |n| {
            let mut session = target.connect(offer).unwrap();
            scope.spawn(move || work(session.as_mut(), n, end))
        };
        let running: Vec<_> = (0..sessions).map(run).collect();
        running.into_iter().map(|t| t.join().unwrap()).collect()
    });
    target.clean().unwrap();
    let committed: u64 = counts.iter().map(|c| c.0).sum();
    let failed: u64 = counts.iter().map(|c| c.1).sum();
    println!("{{\"transactions_per_second\":{},\"failed\":{failed}}}", committed / seconds);
}

fn work(session: &mut dyn Session, seed: u64, end: Instant) -> (u64, u64) {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut row = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % u64::from(ROWS)) as u32
    };
    let (mut committed, mut failed) = (0, 0);
    while Instant::now() < end {
        let at = |row, kind, value| Request {
            table: 0,
            row,
            kind,
            path: Path::PrimaryKey,
            value,
            expected: 0,
        };
        let done = session
            .begin()
            .and_then(|()| session.run(&at(row(), OpKind::Read, 0)))
            .and_then(|_| session.run(&at(row(), OpKind::Write, committed as i64 + 1)))
            .and_then(|_| session.commit());
        match done {
            Ok(_) => committed += 1,
            Err(_) => {
                failed += 1;
                session.rollback().unwrap();
            }
        }
    }
    (committed, failed)
}
