//! Histories byte by byte, and there and back again.

use expect_test::{Expect, expect};

use super::*;
use crate::builder::HistoryBuilder;
use crate::history::History;
use crate::notation;
use crate::source::Input;

/// A file in the making.
#[derive(Clone, Default)]
struct File(Vec<u8>);

impl File {
    fn header() -> File {
        let file = File::default().numbers(&[0, 2, 10, 2, 3]).text("PostgreSQL");
        file.text("2022-07-22T23:12:34.386040722+08:00").text("2022-07-22T23:12:35+08:00")
    }

    fn numbers(mut self, numbers: &[u64]) -> File {
        self.0.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        self
    }

    fn text(self, text: &str) -> File {
        let mut file = self.numbers(&[text.len() as u64]);
        file.0.extend(text.bytes());
        file
    }

    fn event(mut self, write: u8, variable: u64, value: u64, success: u8) -> File {
        self.0.push(write);
        self = self.numbers(&[variable, value]);
        self.0.push(success);
        self
    }

    fn byte(mut self, byte: u8) -> File {
        self.0.push(byte);
        self
    }

    fn source(&self) -> Source {
        Source::File(Input::new("history.bincode", self.0.clone()))
    }
}

/// Two sessions with everything the format has.
fn sample() -> File {
    let file = File::header().numbers(&[3, 2]);
    let file = file.numbers(&[2]).event(1, 2355, 1, 1).event(0, 7, 0, 1).byte(1);
    let file = file.numbers(&[3]).event(1, 7, u64::MAX, 1).event(0, 7, 0, 0).event(1, 8, 3, 0);
    let file = file.byte(0).numbers(&[0, 2]);
    let file = file.numbers(&[2]).event(0, 2355, 1, 1).event(0, u64::MAX, 5, 0).byte(1);
    file.numbers(&[0]).byte(1)
}

fn dump(source: &Source) -> String {
    match FORMAT.load(source) {
        Ok(builder) => {
            let (history, warnings) = builder.finish_with_warnings();
            let mut out = notation::to_text(&history);
            for warning in warnings.kept {
                out += &format!("warning: {warning}\n");
            }
            out
        }
        Err(error) => format!("{error}\n"),
    }
}

fn check(file: &File, expected: &Expect) {
    expected.assert_eq(&dump(&file.source()));
}

fn written(history: &History) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    write::write(history, &mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

#[test]
fn everything_the_format_has() {
    check(
        &sample(),
        &expect![[r#"
        meta parameters {id:0,n_event:3,n_node:2,n_transaction:2,n_variable:10}
        meta server PostgreSQL
        meta start "2022-07-22T23:12:34.386040722+08:00"
        meta end "2022-07-22T23:12:35+08:00"
        initial 0
        0: w(2355,1) r(7,0)
        0: w(7,18446744073709551615) r!(7,_) w!(8,3) abort
        2: r(2355,1) r!(18446744073709551615,_){value=5}
        2:
    "#]],
    );
}

#[test]
fn written_as_it_was_read() {
    let file = sample();
    let history = FORMAT.load(&file.source()).unwrap().finish();
    assert_eq!(written(&history).unwrap(), file.0);
}

#[test]
fn an_explicit_write_of_the_initial_value_is_warned_about() {
    let file = File::header().numbers(&[1, 1, 1]).event(1, 7, 0, 1).byte(1);
    check(
        &file,
        &expect![[r#"
            meta parameters {id:0,n_event:3,n_node:2,n_transaction:2,n_variable:10}
            meta server PostgreSQL
            meta start "2022-07-22T23:12:34.386040722+08:00"
            meta end "2022-07-22T23:12:35+08:00"
            meta explicit-initial true
            initial 0
            0: w(7,0)
            warning: history.bincode: an explicit write of 0 is the initial write, because every key starts with 0
        "#]],
    );
}

#[test]
fn a_workload_that_was_never_run() {
    let file = File::header().numbers(&[1, 1, 1]).event(0, 7, 0, 0).byte(0);
    check(
        &file,
        &expect![[r#"
        meta parameters {id:0,n_event:3,n_node:2,n_transaction:2,n_variable:10}
        meta server PostgreSQL
        meta start "2022-07-22T23:12:34.386040722+08:00"
        meta end "2022-07-22T23:12:35+08:00"
        initial 0
        0: r!(7,_) abort
        warning: history.bincode: no transaction committed: this may be a workload that was generated and never run
    "#]],
    );
}

#[test]
fn complaints_name_the_byte() {
    let faults = [
        File::default(),
        File::default().numbers(&[0, 0, 0, 0, 0, 9]),
        File::default().numbers(&[0, 0, 0, 0, 0, 1]).byte(0xff).numbers(&[0; 9]),
        File::header(),
        File::header().numbers(&[u64::MAX]),
        File::header().numbers(&[1, 1 << 60]),
        File::header().numbers(&[1, 1, 1]).byte(1),
        File::header().numbers(&[1, 1, 1]).event(2, 7, 0, 1).byte(1),
        File::header().numbers(&[1, 1, 1]).event(1, 7, 0, 3).byte(1),
        File::header().numbers(&[1, 1, 1]).event(1, 7, 0, 1).byte(9),
        File::header().numbers(&[1, 1, 1]).event(1, 7, 0, 1),
        sample().byte(0),
    ];
    let all: String = faults.iter().map(|file| dump(&file.source())).collect();
    expect![[r#"
        history.bincode:byte 0: the file ends where id should be
          hint: the file is cut short
        history.bincode:byte 40: the length of "info" is 9, which does not fit into the 0 bytes left
          hint: the file is cut short, or it is no history of dbcop's
        history.bincode:byte 48: expected UTF-8 in "info", found '\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00…'
        history.bincode:byte 134: the file ends where the number of sessions should be
          hint: the file is cut short
        history.bincode:byte 134: the number of sessions is 18446744073709551615, which does not fit into the 0 bytes left
          hint: the file is cut short, or it is no history of dbcop's
        history.bincode:byte 142: the number of transactions is 1152921504606846976, which does not fit into the 0 bytes left
          hint: the file is cut short, or it is no history of dbcop's
        history.bincode:byte 150: the number of events is 1, which does not fit into the 1 bytes left
          hint: the file is cut short, or it is no history of dbcop's
        history.bincode:byte 158: expected an event's kind: 0 (read) or 1 (write), found the byte 2
        history.bincode:byte 175: expected an event's success: 0 or 1, found the byte 3
        history.bincode:byte 176: expected a transaction's success: 0 or 1, found the byte 9
        history.bincode:byte 176: the file ends where a transaction's success: 0 or 1 should be
          hint: the file is cut short
        history.bincode:byte 328: the history ends here, but 1 bytes follow
    "#]].assert_eq(&all);
}

#[test]
fn recognised_by_its_header() {
    assert!(looks_like(&sample().source()));
    assert!(looks_like(&File::header().source()));
    let no_time = File::default().numbers(&[0, 1, 1, 1, 1]).text("x").text("now").text("then");
    let huge = File::default().numbers(&[u64::MAX, 1, 1, 1, 1]).text("x");
    let huge = huge.text("2022-07-22T23:12:34Z").text("2022-07-22T23:12:34Z");
    for other in [no_time, huge, File(vec![0; 4096]), File(b"r 0 1\n".repeat(100))] {
        assert!(!looks_like(&other.source()));
    }
}

#[test]
fn cut_and_damaged_files_do_not_panic() {
    let file = sample();
    for at in 0..file.0.len() {
        let cut = File(file.0[..at].to_vec()).source();
        assert!((FORMAT.read)(&cut, &mut HistoryBuilder::new()).is_err());
        let _ = looks_like(&cut);
        for flip in [1, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged.0[at] ^= flip;
            let _ = (FORMAT.read)(&damaged.source(), &mut HistoryBuilder::new());
            let _ = looks_like(&damaged.source());
        }
    }
}

/// What comes back from a history in the notation, or why it cannot be written.
fn there_and_back(text: &str) -> String {
    let history = notation::parse(text).unwrap();
    match written(&history) {
        Ok(bytes) => dump(&File(bytes).source()),
        Err(error) => format!("{error}\n"),
    }
}

#[test]
fn histories_of_other_formats_get_plain_facts() {
    let text = "initial 0\na T1: r(1,0) w(2,3)\nb: r(2,3) w!(1,4) r(1,_) abort\na: r(1,0)\n";
    expect![[r#"
        meta parameters {id:0,n_event:3,n_node:2,n_transaction:2,n_variable:2}
        meta start "1970-01-01T00:00:00+00:00"
        meta end "1970-01-01T00:00:00+00:00"
        initial 0
        0: r(1,0) w(2,3)
        0: r(1,0)
        1: r(2,3) w!(1,4) r!(1,_) abort
    "#]]
    .assert_eq(&there_and_back(text));
}

#[test]
fn an_initial_value_of_its_own_is_written_as_zero() {
    expect![[r#"
        meta parameters {id:0,n_event:2,n_node:1,n_transaction:1,n_variable:1}
        meta start "1970-01-01T00:00:00+00:00"
        meta end "1970-01-01T00:00:00+00:00"
        initial 0
        0: r(1,0) w(1,2)
    "#]]
    .assert_eq(&there_and_back("initial absent\na: r(1,absent) w(1,2)\n"));
    expect![[r#"
        meta parameters {id:0,n_event:2,n_node:1,n_transaction:1,n_variable:1}
        meta start "1970-01-01T00:00:00+00:00"
        meta end "1970-01-01T00:00:00+00:00"
        initial 0
        0: r(1,0) w(1,2)
    "#]]
    .assert_eq(&there_and_back("initial none\ngiven 1 9\na: r(1,9) w(1,2)\n"));
}

#[test]
fn what_the_format_cannot_hold_is_refused_by_name() {
    let refused = [
        "initial 0\na: append(1,2)\n",
        "initial 0\na: list(1,[2])\n",
        "initial 0\na: delete(1)\n",
        "initial 0\na: cas(1,2,3)\n",
        "initial 0\na: r(1,0) unknown\n",
        "initial 0\na: w?(1,2)\n",
        "initial 0\na: r!(1,2)\n",
        "initial 0\na: r(x,0)\n",
        "initial 0\na: w(1,x)\n",
        "initial 0\na: w(1,-1)\n",
        "initial 0\na: w(1,2) @[5,9]\n",
        "initial 0\na: w(1,2) ts(3,8)\n",
        "initial 0\na: [w(1,2) w(2,3)]\n",
        "initial 0\na T5: w(1,2) {level=serializable}\n",
        "initial 0\na: w(1,2){path=index}\n",
        "initial 0\na: w(1,2){value=3}\n",
        "initial 0\norder 1: 1 2\na: w(1,2)\n",
        "initial 0\nevent partition @[5,9] {node:n1}\n",
        "initial 0\nmeta level serializable\n",
        "initial 0\nmeta start 5\n",
        "initial 0\nmeta parameters {id:x}\n",
        "initial 0\nincomplete\na: w(1,2)\n",
        "initial absent\na: w(1,0)\n",
        "initial 5\na: w(1,5)\n",
        "initial none\na: r(1,0)\n",
        "initial 0\ngiven 1 5\na: r(1,5) r(2,0)\n",
    ];
    let all: String = refused.iter().map(|text| there_and_back(text)).collect();
    expect![[r#"
        dbcop-bincode cannot hold it: an operation of the kind "append" (transaction number 0)
        dbcop-bincode cannot hold it: an operation of the kind "list read" (transaction number 0)
        dbcop-bincode cannot hold it: an operation of the kind "delete" (transaction number 0)
        dbcop-bincode cannot hold it: an operation of the kind "compare-and-set" (transaction number 0)
        dbcop-bincode cannot hold it: a transaction whose outcome is unknown (transaction number 0)
        dbcop-bincode cannot hold it: an operation that was undone, or may not have taken place (transaction number 0)
        dbcop-bincode cannot hold it: a read that failed and yet returned a value (transaction number 0)
        dbcop-bincode cannot hold it: a key that is no number of 64 bits without sign (transaction number 0)
        dbcop-bincode cannot hold it: a value that is no number of 64 bits without sign (transaction number 0)
        dbcop-bincode cannot hold it: a value that is no number of 64 bits without sign (transaction number 0)
        dbcop-bincode cannot hold it: when a transaction or statement began and ended (transaction number 0)
        dbcop-bincode cannot hold it: timestamps of the database (transaction number 0)
        dbcop-bincode cannot hold it: a statement of no or several operations (transaction number 0)
        dbcop-bincode cannot hold it: the attribute "level" of transactions
        dbcop-bincode cannot hold it: the attribute "path" of operations
        dbcop-bincode cannot hold it: the attribute "value" of such an operation (transaction number 0)
        dbcop-bincode cannot hold it: the order of a key's versions
        dbcop-bincode cannot hold it: faults and other events on the time line
        dbcop-bincode cannot hold it: the fact "level" of the run
        dbcop-bincode cannot hold it: a server or time that is no text
        dbcop-bincode cannot hold it: the parameter "id" with its value
        dbcop-bincode cannot hold it: that transactions are missing from the history
        dbcop-bincode cannot hold it: initial values other than 0 where 0, or the initial value, is used as well (transaction number 0)
        dbcop-bincode cannot hold it: initial values other than 0 where 0, or the initial value, is used as well (transaction number 0)
        dbcop-bincode cannot hold it: initial values other than 0 where 0, or the initial value, is used as well (transaction number 0)
        dbcop-bincode cannot hold it: initial values that differ from key to key
    "#]].assert_eq(&all);
}
