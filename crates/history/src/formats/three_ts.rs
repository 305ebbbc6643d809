//! The schedule notation of 3TS (and of textbooks): one line says which transaction read and wrote
//! which item.
//!
//! ```text
//! R0a W0a R0b W1b C1 R2a C0 R2b A2
//! ```
//!
//! `R0a` is transaction 0 reading item `a`, `W1b` transaction 1 writing `b`, `C1` the commit and
//! `A2` the abort of a transaction. White space separates, ends of lines included: a file is one
//! schedule.
//!
//! A schedule has no values; it is taken as one over *single-version* data, where the order of the
//! operations says which write a read returns: the latest one before it of that item. A write
//! whose transaction has aborted before the read is undone and no longer counts; one whose
//! transaction aborts later is read all the same, which is a dirty read. What `W0a` writes is
//! called `a0`, and `a0'2` when the transaction writes the item for the second time. A read before
//! any write finds nothing. The order of the writes of an item is its version order: of each
//! transaction that has not aborted, the last write counts.
//!
//! Each transaction is a session of its own. Its interval runs from its first operation to its
//! commit or abort, as positions in the schedule from 0; each operation has its position, too.
//! Without a commit or an abort the outcome is unknown.

use hashbrown::{HashMap, HashSet};

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::{Interval, Outcome};
use crate::format::Format;
use crate::ids::Key;
use crate::meta::{Clock, InitialState};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Cursor;
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "3ts",
    title: "schedules of 3TS, as in textbooks",
    example: "R0a W0a R1a C0 A1",
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

/// What one step of the schedule does.
enum ScheduleStep<'a> {
    Read(&'a str),
    Write(&'a str),
    Commit,
    Abort,
}

/// How many steps recognition looks at.
const STEPS_TO_RECOGNISE: usize = 8;

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let mut cursor = Cursor::new(&input.bytes);
    cursor.skip_space();
    let mut steps = 0;
    while !cursor.at_end() && steps < STEPS_TO_RECOGNISE {
        if step(&mut cursor).is_err() {
            return false;
        }
        steps += 1;
    }
    steps > 0
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::every(Value::ABSENT);
    sink.meta().clock = Clock::Events;
    let mut schedule = Schedule::default();
    let steps = schedule.run(&input.bytes, sink.pool());
    let result = steps.and_then(|()| schedule.deliver(sink));
    result.map_err(|fault| input.text_error(fault))?;
    if !schedule.txns.is_empty() && schedule.txns.iter().all(|running| !running.ended) {
        sink.warn(
            input.warning(
                "no transaction commits: of unknown outcomes, hardly any can break a level",
            ),
        );
    }
    Ok(())
}

fn step<'a>(cursor: &mut Cursor<'a>) -> Result<(u64, ScheduleStep<'a>), Fault> {
    let Some(letter @ (b'R' | b'W' | b'C' | b'A')) = cursor.peek() else {
        return Err(cursor.expected("an operation such as R0a, W0a, C0 or A0"));
    };
    cursor.pos += 1;
    let txn = cursor.unsigned("the number of a transaction")?;
    let step = match letter {
        b'R' => ScheduleStep::Read(item(cursor)?),
        b'W' => ScheduleStep::Write(item(cursor)?),
        b'C' => ScheduleStep::Commit,
        _ => ScheduleStep::Abort,
    };
    let end = cursor.pos;
    cursor.skip_space();
    if cursor.pos == end && !cursor.at_end() {
        return Err(Fault::expected(end, "a space before the next operation"));
    }
    Ok((txn, step))
}

fn item<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Fault> {
    let at = cursor.pos;
    let letters = cursor.take_while(|b| b.is_ascii_alphabetic());
    match std::str::from_utf8(letters) {
        Ok(name) if !name.is_empty() => Ok(name),
        _ => {
            let fault = Fault::expected(at, "the letters of an item");
            let cut = cursor.at_end();
            Err(if cut { fault.hint("the schedule is probably cut off") } else { fault })
        }
    }
}

/// A schedule as far as it has run.
#[derive(Default)]
struct Schedule {
    /// In the order of their first steps.
    txns: Vec<Running>,
    by_number: HashMap<u64, usize>,
    /// The versions of each item, latest last: what was written, and by which transaction.
    versions: HashMap<Key, Vec<(Value, usize)>>,
    /// How often a transaction has written an item.
    counts: HashMap<(usize, Key), u64>,
}

/// A transaction while the schedule runs.
struct Running {
    txn: TxnDraft,
    /// Where its first step stands.
    offset: usize,
    ended: bool,
}

impl Schedule {
    fn run(&mut self, bytes: &[u8], pool: &mut Pool) -> Result<(), Fault> {
        let mut cursor = Cursor::new(bytes);
        cursor.skip_space();
        let mut position = 0;
        while !cursor.at_end() {
            let offset = cursor.pos;
            let (number, step) = step(&mut cursor)?;
            let at = self.transaction(number, position, offset, pool)?;
            match step {
                ScheduleStep::Read(item) => self.read(at, pool.text_key(item), position),
                ScheduleStep::Write(item) => self.write(at, number, item, position, pool),
                ScheduleStep::Commit => self.end(at, Outcome::Committed, position),
                ScheduleStep::Abort => self.end(at, Outcome::Aborted, position),
            }
            position += 1;
        }
        Ok(())
    }

    /// The transaction of that number, which must not have ended.
    fn transaction(
        &mut self,
        number: u64,
        position: i64,
        offset: usize,
        pool: &mut Pool,
    ) -> Result<usize, Fault> {
        let at = *self.by_number.entry(number).or_insert_with(|| {
            let name = pool.uint(number);
            let mut txn = TxnDraft::default();
            txn.reset(pool.session(name));
            txn.outcome = Outcome::Unknown;
            txn.label = Some(name);
            txn.interval.begin = Some(position);
            self.txns.push(Running { txn, offset, ended: false });
            self.txns.len() - 1
        });
        if self.txns[at].ended {
            let end = self.txns[at].txn.outcome.name();
            return Err(Fault::wrong(offset, "an operation of a transaction that has ended")
                .hint(format_args!("transaction {number} has {end} before")));
        }
        Ok(at)
    }

    fn read(&mut self, at: usize, key: Key, position: i64) {
        let versions = self.versions.entry(key).or_default();
        // The versions of aborted transactions are undone, and never come back.
        while let Some(&(_, writer)) = versions.last()
            && self.txns[writer].txn.outcome == Outcome::Aborted
        {
            versions.pop();
        }
        let value = versions.last().map_or(Value::ABSENT, |&(value, _)| value);
        let txn = &mut self.txns[at].txn;
        txn.read(key, value);
        txn.statement_interval(Interval::new(position, position));
    }

    fn write(&mut self, at: usize, number: u64, item: &str, position: i64, pool: &mut Pool) {
        let key = pool.text_key(item);
        let count = self.counts.entry((at, key)).or_insert(0);
        *count += 1;
        let value = match count {
            1 => pool.text(&format!("{item}{number}")),
            n => pool.text(&format!("{item}{number}'{n}")),
        };
        self.versions.entry(key).or_default().push((value, at));
        let txn = &mut self.txns[at].txn;
        txn.write(key, value);
        txn.statement_interval(Interval::new(position, position));
    }

    fn end(&mut self, at: usize, outcome: Outcome, position: i64) {
        let running = &mut self.txns[at];
        running.txn.outcome = outcome;
        running.txn.interval.end = Some(position);
        running.ended = true;
    }

    fn deliver(&self, sink: &mut dyn Sink) -> Result<(), Fault> {
        for running in &self.txns {
            let result = sink.transaction(&running.txn);
            result.map_err(|error| Fault::sink(running.offset, &error))?;
        }
        let mut keys: Vec<Key> = self.versions.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            let order = self.order(key);
            if order.len() > 1 {
                sink.version_order(key, &order).map_err(|error| Fault::sink(0, &error))?;
            }
        }
        Ok(())
    }

    /// The versions that transactions leave behind, oldest first.
    fn order(&self, key: Key) -> Vec<Value> {
        let mut seen = HashSet::new();
        let versions = self.versions.get(&key).map_or(&[][..], Vec::as_slice);
        let last = |&&(_, txn): &&(Value, usize)| {
            self.txns[txn].txn.outcome != Outcome::Aborted && seen.insert(txn)
        };
        let mut order: Vec<Value> =
            versions.iter().rev().filter(last).map(|&(value, _)| value).collect();
        order.reverse();
        order
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::formats::plume::check::{recognises, shown, survives_damage};

    fn check(text: &str, expected: &Expect) {
        expected.assert_eq(&shown(&FORMAT, text));
    }

    #[test]
    fn reads_return_the_latest_write_before_them() {
        check(
            "R0a W0a R0b W1b C1 R2a C0 R2b A2\n",
            &expect![[r#"
            clock events
            0 0: r(a,absent)@[0,0] w(a,a0)@[1,1] r(b,absent)@[2,2] @[0,6]
            1 1: w(b,b1)@[3,3] @[3,4]
            2 2: r(a,a0)@[5,5] r(b,b1)@[7,7] abort @[5,8]
        "#]],
        );
    }

    #[test]
    fn a_second_write_of_an_item_has_a_value_of_its_own() {
        check(
            "W0a R1a W0a R1a C0 C1",
            &expect![[r#"
            clock events
            0 0: w(a,a0)@[0,0] w(a,"a0'2")@[2,2] @[0,4]
            1 1: r(a,a0)@[1,1] r(a,"a0'2")@[3,3] @[1,5]
        "#]],
        );
    }

    /// Without the order, nothing would say that these writes cannot be serialised.
    #[test]
    fn writes_are_versions_in_their_order() {
        check(
            "W0a W1a W1b W0b C0 C1",
            &expect![[r#"
            clock events
            0 0: w(a,a0)@[0,0] w(b,b0)@[3,3] @[0,4]
            1 1: w(a,a1)@[1,1] w(b,b1)@[2,2] @[1,5]
            order a: a0 a1
            order b: b1 b0
        "#]],
        );
        check(
            "W0a W1a W2a W0a A1 C0 C2",
            &expect![[r#"
            clock events
            0 0: w(a,a0)@[0,0] w(a,"a0'2")@[3,3] @[0,5]
            1 1: w(a,a1)@[1,1] abort @[1,4]
            2 2: w(a,a2)@[2,2] @[2,6]
            order a: a2 "a0'2"
        "#]],
        );
    }

    #[test]
    fn an_abort_undoes_its_writes() {
        check(
            "W0a W1a A1 R2a C0 C2",
            &expect![[r#"
            clock events
            0 0: w(a,a0)@[0,0] @[0,4]
            1 1: w(a,a1)@[1,1] abort @[1,2]
            2 2: r(a,a0)@[3,3] @[3,5]
        "#]],
        );
        check(
            "W0a W1a A0 R2a A1 R2a C2",
            &expect![[r#"
            clock events
            0 0: w(a,a0)@[0,0] abort @[0,2]
            1 1: w(a,a1)@[1,1] abort @[1,4]
            2 2: r(a,a1)@[3,3] r(a,absent)@[5,5] @[3,6]
        "#]],
        );
    }

    #[test]
    fn without_an_end_the_outcome_is_unknown() {
        check(
            "R0a\nW12item\n\tC7  ",
            &expect![[r#"
            clock events
            0 0: r(a,absent)@[0,0] unknown @[0,_]
            12 12: w(item,item12)@[1,1] unknown @[1,_]
            7 7: @[2,2]
        "#]],
        );
    }

    #[test]
    fn a_schedule_without_any_end_is_warned_about() {
        check(
            "R0a R1a W0a W1a",
            &expect![[r#"
            clock events
            0 0: r(a,absent)@[0,0] w(a,a0)@[2,2] unknown @[0,_]
            1 1: r(a,absent)@[1,1] w(a,a1)@[3,3] unknown @[1,_]
            order a: a0 a1
            warning: file: no transaction commits: of unknown outcomes, hardly any can break a level
        "#]],
        );
    }

    #[test]
    fn what_is_no_schedule_is_an_error() {
        check(
            "R0a X0a",
            &expect![[r#"
            file:1:5: expected an operation such as R0a, W0a, C0 or A0, found 'X0a'
        "#]],
        );
        check(
            "R0a,W0a",
            &expect![[r#"
            file:1:4: expected a space before the next operation, found ',W0a'
        "#]],
        );
        check(
            "# R0a",
            &expect![[r#"
            file:1:1: expected an operation such as R0a, W0a, C0 or A0, found '# R0a'
        "#]],
        );
        check(
            "Ra",
            &expect![[r#"
            file:1:2: expected the number of a transaction, found 'a'
        "#]],
        );
        check(
            "R0 C0",
            &expect![[r#"
            file:1:3: expected the letters of an item, found ' C0'
        "#]],
        );
        check(
            "R0a C0 W0a",
            &expect![[r#"
            file:1:8: an operation of a transaction that has ended
              hint: transaction 0 has committed before
        "#]],
        );
        check(
            "A3 C3",
            &expect![[r#"
            file:1:4: an operation of a transaction that has ended
              hint: transaction 3 has aborted before
        "#]],
        );
        check(
            "R0a W0",
            &expect![[r#"
            file:1:7: expected the letters of an item, found the end of the file
              hint: the schedule is probably cut off
        "#]],
        );
    }

    #[test]
    fn damage_never_panics() {
        survives_damage(&FORMAT, "R0a W0a R0b W1b C1 R2a C0 R2b A2\n");
    }

    #[test]
    fn only_its_own_files_are_recognised() {
        recognises(&FORMAT, &["R0a C0", "\n W1b\nC1 R2a C0 R2b A2"]);
    }
}
