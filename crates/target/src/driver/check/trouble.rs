//! What is not the ordinary course: conflicts, mistakes, and ends.

use isolde_history::ErrorClass;
use isolde_spec::Level;

use super::super::DriverSession;
use super::bench::{Actor, Bench, Fate, STEPS, request, same, wrong};
use super::found::Found;
use super::words::InWords;
use crate::failure::{After, Failure};
use crate::request::Answer;
use crate::target::{Ended, Session, Target};

/// Both read the row, then both overwrite it.
pub(super) fn conflict(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let one = Actor::new(bench.session()?, table, 101, true);
    let other = Actor::new(bench.session()?, table, 102, true);
    for _ in 0..STEPS {
        one.step();
        other.step();
    }
    let fates = [(101, one.fate()?), (102, other.fate()?)];
    outcomes(&fates)?;
    let seen = bench.look(table, 0)?;
    let committed: Vec<i64> = committed(&fates);
    for value in [101, 102] {
        if seen.contains(&value) && !committed.contains(&value) {
            return Err(Found::Wrong(format!("{value} was not committed, and is there")));
        }
    }
    if seen != bench.initial()? && committed.is_empty() {
        return Err(Found::Wrong(format!(
            "nothing was committed, and the row holds {}",
            seen.words()
        )));
    }
    if committed.iter().all(|value| !seen.contains(value)) && !committed.is_empty() {
        return Err(Found::Wrong(format!(
            "{} were committed, and none is there",
            committed.words()
        )));
    }
    let promises = bench.driver.offers().last().map(|offer| offer.promises);
    let forbidden = promises.is_some_and(|p| p.implies(Level::SnapshotIsolation));
    let both_read_the_same = fates[0].1.read == fates[1].1.read;
    if forbidden && committed.len() == 2 && both_read_the_same {
        let both = "both were committed, and one of them overwrote what the other had not read";
        return Err(Found::Wrong(both.to_owned()));
    }
    Ok(())
}

/// One holds the row, the other wants it.
pub(super) fn waiting(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let one = Actor::new(bench.session()?, table, 101, false);
    let other = Actor::new(bench.session()?, table, 102, false);
    // Begin, no read, write.
    (0..STEPS - 1).for_each(|_| one.step());
    (0..STEPS).for_each(|_| other.step());
    one.step();
    let fates = [(101, one.fate()?), (102, other.fate()?)];
    outcomes(&fates)?;
    if committed(&fates).is_empty() {
        return Err(Found::Wrong("neither of the two was committed".to_owned()));
    }
    Ok(())
}

fn committed(fates: &[(i64, Fate)]) -> Vec<i64> {
    let done = fates.iter().filter(|(_, fate)| matches!(fate.end, Ok(Ended::Committed)));
    done.map(|(value, _)| *value).collect()
}

/// A session that was lost had no outcome. A refused one belongs to the course of things, and has to say
/// so.
fn outcomes(fates: &[(i64, Fate)]) -> Result<(), Found> {
    for (_, fate) in fates {
        match &fate.end {
            Err(failure) if failure.after == After::Lost => {
                return Err(Found::Wrong(format!("a session was lost: {failure}")));
            }
            Err(failure) if !failure.expected => {
                return Err(Found::Wrong(format!("a conflict that is not 'expected': {failure}")));
            }
            Err(failure) if failure.class == ErrorClass::ConnectionLost => {
                let class = failure.class.name();
                return Err(Found::Wrong(format!("a conflict of class '{class}': {failure}")));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn unknown_request(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let mut talk = bench.talk()?;
    let level = bench.driver.offers().last().map_or("", |offer| offer.name);
    bench.driver.open_at(&mut talk, level).map_err(wrong)?;
    refused("'dance'", talk.ask("dance", format_args!("")))?;
    let mut session = DriverSession::new(talk);
    session.begin().map_err(wrong)?;
    session.run(&request(bench.way()?.1, table, 0, 0)).map_err(wrong)?;
    session.commit().map(drop).map_err(wrong)
}

/// An error that leaves the process alive.
fn refused<T: InWords>(what: &str, answer: Result<T, Failure>) -> Result<(), Found> {
    match answer {
        Err(failure) if failure.after != After::Lost => Ok(()),
        Err(failure) => Err(Found::Wrong(format!("{what}: {failure}"))),
        Ok(answer) => Err(Found::Wrong(format!("{what} was answered by {}", answer.words()))),
    }
}

pub(super) fn no_table(bench: &Bench) -> Result<(), Found> {
    let mut client = bench.session()?;
    client.begin()?;
    // Some have no tables, only rows that are not there.
    match client.session.run(&request(bench.way()?.1, 1_000_000, 0, 0)) {
        Ok(Answer::Value(None) | Answer::List(None)) => client.commit(),
        Ok(Answer::List(Some(list))) if list.is_empty() => client.commit(),
        Ok(other) => Err(Found::Wrong(format!("a row of an unknown table: {}", other.words()))),
        Err(failure) if failure.after == After::Lost => Err(wrong(failure)),
        Err(failure) if failure.after == After::Open => client.rollback(),
        Err(_) => match client.session.commit() {
            Ok(Ended::Committed) => {
                let found = "an aborted transaction was committed".to_owned();
                Err(Found::Wrong(found))
            }
            Err(failure) if failure.after == After::Lost => Err(wrong(failure)),
            _ => Ok(()),
        },
    }
}

pub(super) fn no_transaction(bench: &Bench) -> Result<(), Found> {
    let mut client = bench.session()?;
    refused("'commit'", client.session.commit())?;
    client.begin()?;
    client.commit()
}

pub(super) fn no_level(bench: &Bench) -> Result<(), Found> {
    let mut talk = bench.talk()?;
    // A session that cannot be opened may as well end.
    match bench.driver.open_at(&mut talk, "no-such-level") {
        Ok(()) => Err(Found::Wrong("the level 'no-such-level' was opened".to_owned())),
        Err(failure) if failure.code == Failure::IMPOSSIBLE || failure.code == "timeout" => {
            Err(wrong(failure))
        }
        Err(_) => Ok(()),
    }
}

pub(super) fn cut_off(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let mut client = bench.session()?;
    client.begin()?;
    client.put(table, 0, 5)?;
    drop(client);
    same("row 0", bench.look(table, 0)?, bench.initial()?)
}

pub(super) fn end_of_input(bench: &Bench) -> Result<(), Found> {
    ends(bench, false)
}

pub(super) fn close(bench: &Bench) -> Result<(), Found> {
    ends(bench, true)
}

fn ends(bench: &Bench, told: bool) -> Result<(), Found> {
    let mut talk = bench.talk()?;
    let level = bench.driver.offers().last().map_or("", |offer| offer.name);
    bench.driver.open_at(&mut talk, level).map_err(wrong)?;
    match talk.end(told) {
        true => Ok(()),
        false => Err(Found::Wrong("it had to be killed after 2 s".to_owned())),
    }
}
