use expect_test::{Expect, expect};

use super::*;
use crate::builder::HistoryBuilder;
use crate::source::Input;

fn source(text: &str) -> Source {
    Source::File(Input::new("a.hist", text))
}

fn dump(text: &str) -> String {
    match FORMAT.load(&source(text)) {
        Ok(builder) => crate::notation::to_text(&builder.finish()),
        Err(error) => format!("{error}\n"),
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&dump(text));
}

const EXAMPLE: &str = "// Session 1\n[x:=1 y:=2] [y==2 x:=3]\n---\n[x==1 y:=4]\n";

#[test]
fn sessions_transactions_and_events() {
    check(
        EXAMPLE,
        &expect![[r#"
        0: w(x,1) w(y,2)
        0: r(y,2) w(x,3)
        1: r(x,1) w(y,4)
    "#]],
    );
}

#[test]
fn uncommitted_transactions_and_reads_of_nothing() {
    check(
        "[x:=1]! []\n[_a1==? 0:=7]",
        &expect![[r#"
            0: w(x,1) abort
            0:
            0: r(_a1,absent) w("0",7)
        "#]],
    );
}

/// As in dbcop's own tests of version 0: `x==0` is `x==?`, unless there is an `x:=0` somewhere.
#[test]
fn version_0_that_nobody_writes_is_the_initial_state() {
    check(
        "[x==0 x:=1 y==0]\n---\n[x==0 y:=0]! [x==?]",
        &expect![[r#"
        0: r(x,absent) w(x,1) r(y,0)
        1: r(x,absent) w(y,0) abort
        1: r(x,absent)
    "#]],
    );
}

#[test]
fn comments_and_line_ends_may_stand_anywhere_between() {
    let text = "[ x:=1 // one\r\n  y==18446744073709551615 ]// two\r\n -- // three\r\n[]\r\n";
    check(
        text,
        &expect![[r#"
        0: w(x,1) r(y,18446744073709551615)
        1:
    "#]],
    );
}

#[test]
fn sessions_without_transactions_keep_their_place() {
    check(
        "---\n[x:=1]\n---\n---\n[x==1]\n---\n",
        &expect![[r#"
        1: w(x,1)
        3: r(x,1)
    "#]],
    );
}

#[test]
fn complaints_say_what_was_expected() {
    let faults = [
        "[x:=1",
        "[x:=1]\n[x=1]",
        "[x:=?]",
        "[x==]",
        "[x:=18446744073709551616]",
        "[x:=-1]",
        "[x:=1y:=2]",
        "[+:=2]",
        "x:=1",
        "[x:=1] --- [x==1]",
        "---x\n",
        "[x:=1 ---\n]",
        "[x:=1] !",
    ];
    let all: String = faults.iter().map(|text| dump(text)).collect();
    expect![[r#"
        a.hist:1:1: the transaction that starts here has no ']'
          hint: the file may be cut short
        a.hist:2:3: expected ':=' or '==', found '=1]'
        a.hist:1:5: expected the number to write, found '?]'
        a.hist:1:5: expected the number that was read, or '?', found ']'
        a.hist:1:5: expected the number to write of at most 64 bits, found '18446744073709551616]'
        a.hist:1:5: expected the number to write, found '-1]'
        a.hist:1:6: expected a space before the next event, found 'y:=2]'
        a.hist:1:2: expected an event such as x:=1, x==1 or x==?, or ']', found '+:=2]'
        a.hist:1:1: expected a transaction in brackets, or a line of dashes, found 'x:=1'
        a.hist:1:8: expected a line of dashes alone between two sessions, found '--- [x==1]'
        a.hist:1:1: expected a line of dashes alone between two sessions, found '---x'
        a.hist:1:7: expected an event such as x:=1, x==1 or x==?, or ']', found '---'
        a.hist:1:8: expected a transaction in brackets, or a line of dashes, found '!'
    "#]]
    .assert_eq(&all);
}

#[test]
fn recognised_by_its_first_event() {
    for text in [EXAMPLE, "[]! ", "// c\n[]", "[]\n---\n", "---\n[x==?]", "[] [x:=1]"] {
        assert!(looks_like(&source(text)), "{text}");
    }
    let others = [
        "",
        "[]",
        "[] []",
        "---\n",
        "// c",
        "[[{\"events\": []}]]",
        "[:x 1]",
        "[{:type :ok}]",
        "[x y]",
        "[x := 1]",
        "[x:=a]",
        "r 0 1\n---\n",
        "[\"x\"]",
        "[1,2]",
    ];
    for text in others {
        assert!(!looks_like(&source(text)), "{text}");
    }
}

#[test]
fn cut_and_damaged_texts_do_not_panic() {
    for at in 0..EXAMPLE.len() {
        let cut = source(&EXAMPLE[..at]);
        let _ = (looks_like(&cut), (FORMAT.read)(&cut, &mut HistoryBuilder::new()).is_ok());
        for byte in [0, b'[', b']', b'-', b'/', b'x', 0xff] {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            bytes[at] = byte;
            let damaged = Source::File(Input::new("a.hist", bytes));
            let _ = (FORMAT.read)(&damaged, &mut HistoryBuilder::new());
            let _ = looks_like(&damaged);
        }
    }
}
