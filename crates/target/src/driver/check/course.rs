//! The ordinary course: what one session after another does.

use isolde_history::OpKind;

use super::super::talk::Talk;
use super::bench::{Bench, request, same, wrong};
use super::found::Found;
use super::words::InWords as _;
use crate::request::{Answer, Request};
use crate::target::{Contents, Session as _, Target};

pub(super) fn create(bench: &Bench) -> Result<(), Found> {
    bench.table().map(drop)
}

pub(super) fn open(bench: &Bench) -> Result<(), Found> {
    for offer in bench.driver.offers() {
        let mut client = bench.session_at(offer.name)?;
        client.begin()?;
        client.commit()?;
    }
    Ok(())
}

pub(super) fn fresh(bench: &Bench) -> Result<(), Found> {
    let (table, initial) = (bench.table()?, bench.initial()?);
    let mut client = bench.session()?;
    client.begin()?;
    for row in 0..10 {
        same(&format!("row {row}"), client.get(table, row)?, initial.clone())?;
    }
    client.commit()?;
    if bench.needs(&[OpKind::Read]).is_err() {
        return Ok(());
    }
    let table = bench.make(Contents::Registers, false)?;
    client.begin()?;
    let read = client.run(&request(OpKind::Read, table, 3, 0))?;
    same("a row of a table that was not filled", read, Answer::Value(None))?;
    client.commit()
}

pub(super) fn own_writes(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let mut client = bench.session()?;
    client.begin()?;
    client.put(table, 0, 7)?;
    same("row 0", client.get(table, 0)?, vec![7])?;
    same("row 1", client.get(table, 1)?, bench.initial()?)?;
    client.commit()
}

pub(super) fn commit(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let mut client = bench.session()?;
    client.begin()?;
    client.put(table, 2, 11)?;
    client.put(table, 4, 12)?;
    client.commit()?;
    same("row 2", bench.look(table, 2)?, vec![11])?;
    same("row 4", bench.look(table, 4)?, vec![12])
}

pub(super) fn rollback(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let mut client = bench.session()?;
    client.begin()?;
    client.put(table, 0, 5)?;
    client.rollback()?;
    same("row 0", bench.look(table, 0)?, bench.initial()?)?;
    // And the session goes on.
    client.begin()?;
    same("row 0, in the same session", client.get(table, 0)?, bench.initial()?)?;
    client.put(table, 1, 6)?;
    client.commit()?;
    same("row 1", bench.look(table, 1)?, vec![6])
}

pub(super) fn many(bench: &Bench) -> Result<(), Found> {
    let (table, mut client) = (bench.table()?, bench.session()?);
    for number in 0..100 {
        client.begin()?;
        client.get(table, number % 10)?;
        client.commit()?;
    }
    Ok(())
}

pub(super) fn read_only(bench: &Bench) -> Result<(), Found> {
    let (table, mut client) = (bench.table()?, bench.session()?);
    client.session.begin_reading().map_err(wrong)?;
    same("row 0", client.get(table, 0)?, bench.initial()?)?;
    client.commit()?;
    client.begin()?;
    client.put(table, 0, 5)?;
    client.commit()?;
    same("row 0", bench.look(table, 0)?, vec![5])
}

pub(super) fn apart(bench: &Bench) -> Result<(), Found> {
    let (one, other) = (bench.table()?, bench.table()?);
    let mut client = bench.session()?;
    client.begin()?;
    client.put(one, 0, 9)?;
    client.commit()?;
    same("row 0 of the other table", bench.look(other, 0)?, bench.initial()?)
}

pub(super) fn write(bench: &Bench) -> Result<(), Found> {
    bench.needs(&[OpKind::Write, OpKind::Read])?;
    let table = bench.make(Contents::Registers, true)?;
    let mut client = bench.session()?;
    for value in [3, 4] {
        client.begin()?;
        client.put(table, 0, value)?;
        client.commit()?;
    }
    same("row 0", bench.look(table, 0)?, vec![4])
}

pub(super) fn append(bench: &Bench) -> Result<(), Found> {
    bench.needs(&[OpKind::Append, OpKind::ListRead])?;
    let table = bench.make(Contents::Lists, false)?;
    let mut client = bench.session()?;
    let read = request(OpKind::ListRead, table, 0, 0);
    client.begin()?;
    let nothing = client.run(&read)?;
    if !matches!(&nothing, Answer::List(None)) && nothing != Answer::List(Some(Vec::new())) {
        return Err(Found::Wrong(format!("a list that is not there: {}", nothing.words())));
    }
    for value in [5, 3] {
        let done = client.run(&request(OpKind::Append, table, 0, value))?;
        same("the answer to 'append'", done, Answer::Done(true))?;
    }
    same("in the same transaction", client.run(&read)?, Answer::List(Some(vec![5, 3])))?;
    client.commit()?;
    client.begin()?;
    client.run(&request(OpKind::Append, table, 0, 4))?;
    client.commit()?;
    let mut other = bench.session()?;
    other.begin()?;
    same("in another session", other.run(&read)?, Answer::List(Some(vec![5, 3, 4])))?;
    other.commit()
}

pub(super) fn cas(bench: &Bench) -> Result<(), Found> {
    bench.needs(&[OpKind::Cas, OpKind::Read])?;
    let table = bench.make(Contents::Registers, true)?;
    let mut client = bench.session()?;
    let set = |expected, value| Request { expected, ..request(OpKind::Cas, table, 0, value) };
    for (expected, value, done) in [(0, 5, true), (0, 6, false), (5, 7, true)] {
        client.begin()?;
        let what = format!("'cas' from {expected} to {value}");
        same(&what, client.run(&set(expected, value))?, Answer::Done(done))?;
        client.commit()?;
    }
    client.begin()?;
    let read = client.run(&request(OpKind::Read, table, 0, 0))?;
    same("what is there in the end", read, Answer::Value(Some(7)))?;
    client.commit()?;
    let empty = bench.make(Contents::Registers, false)?;
    client.begin()?;
    let absent = Request { table: empty, ..set(0, 5) };
    same("'cas' of an absent row", client.run(&absent)?, Answer::Done(false))?;
    client.commit()
}

pub(super) fn insert(bench: &Bench) -> Result<(), Found> {
    bench.needs(&[OpKind::InsertIfAbsent, OpKind::Read])?;
    let table = bench.make(Contents::Registers, false)?;
    let mut client = bench.session()?;
    for (value, done) in [(5, true), (6, false)] {
        client.begin()?;
        let answer = client.run(&request(OpKind::InsertIfAbsent, table, 0, value))?;
        same(&format!("'insert' of {value}"), answer, Answer::Done(done))?;
        client.commit()?;
    }
    client.begin()?;
    let read = client.run(&request(OpKind::Read, table, 0, 0))?;
    same("what is there in the end", read, Answer::Value(Some(5)))?;
    client.commit()
}

pub(super) fn values(bench: &Bench) -> Result<(), Found> {
    let (table, mut client) = (bench.table()?, bench.session()?);
    let whole = 1_i64 << 53;
    for (row, value) in (0..).zip([1, 10, i64::from(u32::MAX) + 1, whole - 1, whole]) {
        client.begin()?;
        client.put(table, row, value)?;
        client.commit()?;
        same("a value", bench.look(table, row)?, vec![value])?;
    }
    Ok(())
}

/// A value that is too large may be refused, but not changed.
pub(super) fn large(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    for (row, value) in (0..).zip([(1_i64 << 53) + 1, i64::MAX, -1, i64::MIN]) {
        let mut client = bench.session()?;
        client.begin()?;
        if client.put(table, row, value).is_err() || client.commit().is_err() {
            continue;
        }
        same("a value", bench.look(table, row)?, vec![value])?;
    }
    Ok(())
}

pub(super) fn order(bench: &Bench) -> Result<(), Found> {
    let (_, get) = bench.way()?;
    let table = bench.table()?;
    let mut talk = bench.talk()?;
    let level = bench.driver.offers().last().map_or("", |offer| offer.name);
    bench.driver.open_at(&mut talk, level).map_err(wrong)?;
    talk.ask("begin", format_args!("")).map_err(wrong)?;
    let verb = if get == OpKind::Read { "read" } else { "list" };
    let ask = |talk: &mut Talk, row: u32| {
        talk.post(verb, format_args!(r#","table":{table},"row":{row}"#)).map_err(wrong)
    };
    ask(&mut talk, 0)?;
    ask(&mut talk, 1)?;
    let last = talk.last_id();
    talk.answer_to(last - 1).map_err(wrong)?;
    talk.answer_to(last).map_err(wrong)?;
    talk.ask("commit", format_args!("")).map(drop).map_err(wrong)
}

pub(super) fn drop_table(bench: &Bench) -> Result<(), Found> {
    let (table, other) = (bench.table()?, bench.table()?);
    let mut client = bench.session()?;
    client.begin()?;
    client.put(other, 0, 8)?;
    client.commit()?;
    bench.driver.drop_table(table).map_err(wrong)?;
    same("row 0 of another table", bench.look(other, 0)?, vec![8])
}
