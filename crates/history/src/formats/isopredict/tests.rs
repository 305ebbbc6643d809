use expect_test::{Expect, expect};

use super::FORMAT;
use crate::formats::plume::check::{recognises, shown, survives_damage};

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&shown(&FORMAT, text));
}

#[test]
fn reads_return_what_names_the_writer() {
    check(
        "WRITE KEY[x] Txn(1, 0)\n\
         READ KEY[x] Txn(2, 0) From(1, 0)\n\
         READ KEY[17] Txn(2,0) From(0, 0)\r\n\
         \n\
         READ KEY[17] Txn(2, 5) From(-1, -1)",
        &expect![[r#"
            1 "1.0": w(x,"1.0")
            2 "2.0": r(x,"1.0") r(17,absent)
            2 "2.5": r(17,absent)
        "#]],
    );
}

#[test]
fn sets_are_keys_of_set_and_member() {
    check(
        "INSERT[5] to Set[3] Txn(1, 0)\n\
         CONTAINS[5] in Set[3] From(1, 0) Txn(2, 0)\n\
         DELETE KEY[5] From Set(3) Txn(1, 1)\n\
         DELETE[6] from Set[3] Txn(1, 2)\n\
         CONTAINS[5] in Set[3] From(1, 1) Txn(2, 1)\n\
         CONTAINS[5] in Set[3] From(0, 0) Txn(2, 2)\n\
         CONTAINS[7] in Set[3] From(0, 0) Txn(2, 2)\n",
        &expect![[r#"
            1 "1.0": w([3,5],"1.0")
            2 "2.0": r([3,5],"1.0")
            1 "1.1": w([3,5],"1.1"){deletes=true}
            1 "1.2": w([3,6],"1.2"){deletes=true}
            2 "2.1": r([3,5],"1.1")
            2 "2.2": r([3,5],absent) r([3,7],absent)
        "#]],
    );
}

#[test]
fn a_writer_may_come_later_in_the_file() {
    check(
        "READ KEY[x] Txn(2, 0) From(1, 0)\nWRITE KEY[x] Txn(1, 0)\n",
        &expect![[r#"
        2 "2.0": r(x,"1.0")
        1 "1.0": w(x,"1.0")
    "#]],
    );
}

#[test]
fn only_the_transaction_itself_reads_its_earlier_writes() {
    check(
        "READ KEY[x] Txn(1, 0) From(1, 0)\n\
         WRITE KEY[x] Txn(1, 0)\n\
         READ KEY[x] Txn(1, 0) From(1, 0)\n\
         WRITE KEY[x] Txn(1, 0)\n\
         READ KEY[x] Txn(1, 0) From(1, 0)\n\
         READ KEY[x] Txn(2, 0) From(1, 0)\n",
        &expect![[r#"
            1 "1.0": r(x,"1.0") w(x,"1.0'1") r(x,"1.0'1") w(x,"1.0") r(x,"1.0")
            2 "2.0": r(x,"1.0")
        "#]],
    );
}

#[test]
fn the_initial_transaction_is_the_initial_state() {
    check(
        "WRITE KEY[x] Txn(0, 0)\n\
         WRITE KEY[x] Txn(0, 0)\n\
         INSERT[1] to Set[s] Txn(0, 0)\n\
         DELETE[1] from Set[s] Txn(0, 0)\n\
         WRITE KEY[x] Txn(0, 1)\n\
         READ KEY[x] Txn(1, 0) From(0, 0)\n\
         READ KEY[y] Txn(1, 0) From(0, 0)\n",
        &expect![[r#"
            given x "0.0"
            given [s,1] "0.0"
            0 "0.1": w(x,"0.1")
            1 "1.0": r(x,"0.0") r(y,absent)
        "#]],
    );
    check(
        "WRITE KEY[x] Txn(0, 0)\nREAD KEY[y] Txn(0, 0) From(0, 0)\n",
        &expect![[r#"
        0 "0.0": w(x,"0.0") r(y,absent)
        warning: file:2:1: Txn(0, 0) reads, so it is taken for a transaction like the others, not for the initial state
    "#]],
    );
}

#[test]
fn messages_of_the_recorder_are_left_out_with_a_warning() {
    check(
        "WRITE KEY[x] Txn(1, 0)\n\
         REPLAY matched 1/1 at Session 1. Total matches: 1/1\n\
         REPLAY KEY[Set(1:2)] fallback\n",
        &expect![[r#"
            1 "1.0": w(x,"1.0")
            warning: file:2:1: REPLAY messages of the recorder are left out
        "#]],
    );
}

#[test]
fn names_are_numbers_only_if_spelled_so() {
    check(
        "WRITE KEY[7] Txn(1, 0)\nWRITE KEY[07] Txn(1, 0)\nWRITE KEY[+7] Txn(1, 0)\n\
         WRITE KEY[99999999999999999999] Txn(1, 0)\nWRITE KEY[a b(c)] Txn(1, 0)\n",
        &expect![[r#"
            1 "1.0": w(7,"1.0") w("07","1.0") w("+7","1.0") w("99999999999999999999","1.0") w("a b(c)","1.0")
        "#]],
    );
}

#[test]
fn contradictions_are_errors() {
    check(
        "WRITE KEY[x] Txn(1, 1)\nWRITE KEY[x] Txn(1, 0)\n",
        &expect![[r#"
        file:2:1: the transactions of a session are out of order
          hint: Txn(1, 0) comes after Txn(1, 1)
    "#]],
    );
    check(
        "WRITE KEY[y] Txn(1, 0)\nREAD KEY[x] Txn(2, 0) From(1, 0)\n",
        &expect![[r#"
        file:2:1: the transaction that is read from does not write the key
          hint: the file has no write of it in Txn(1, 0); the initial state is From(0, 0)
    "#]],
    );
    check(
        "READ KEY[x] Txn(2, 0) From(3, 1)\n",
        &expect![[r#"
        file:1:1: the transaction that is read from does not write the key
          hint: the file has no write of it in Txn(3, 1); the initial state is From(0, 0)
    "#]],
    );
}

#[test]
fn what_is_no_line_is_an_error() {
    check(
        "UPDATE KEY[x] Txn(1, 0)\n",
        &expect![[r#"
        file:1:1: expected READ, WRITE, INSERT, CONTAINS or DELETE, found 'UPDATE KEY[x] Txn(1, 0)'
    "#]],
    );
    check(
        "WRITE x Txn(1, 0)\n",
        &expect![[r#"
        file:1:7: expected a key in brackets, found 'x Txn(1, 0)'
    "#]],
    );
    check(
        "WRITE KEY[] Txn(1, 0)\n",
        &expect![[r#"
        file:1:11: expected a key, found '] Txn(1, 0)'
    "#]],
    );
    check(
        "WRITE KEY[x\n] Txn(1, 0)\n",
        &expect![[r#"
        file:1:12: expected ']' after a key, found the end of the line
    "#]],
    );
    check(
        "WRITE KEY[x] Txn(-1, 0)\n",
        &expect![[r#"
        file:1:17: expected a transaction with numbers from 0 on, found '(-1, 0)'
    "#]],
    );
    check(
        "WRITE KEY[x] Txn(1, 0) From(1, 0)\n",
        &expect![[r#"
        file:1:24: expected the end of the line, found 'From(1, 0)'
    "#]],
    );
    check(
        "READ KEY[x] Txn(1, 0) Txn(1, 0)\n",
        &expect![[r#"
        file:1:23: expected From(session, number), found 'Txn(1, 0)'
    "#]],
    );
    check(
        "INSERT[x] in Set[1] Txn(1, 0)\n",
        &expect![[r#"
        file:1:11: expected 'to Set[...]', found 'in Set[1] Txn(1, 0)'
    "#]],
    );
    check(
        "INSERT[x] to [1] Txn(1, 0)\n",
        &expect![[r#"
        file:1:14: expected 'Set[...]', found '[1] Txn(1, 0)'
    "#]],
    );
}

#[test]
fn a_last_line_that_is_cut_off_is_an_error() {
    check(
        "READ KEY[x] Txn(1, 0)",
        &expect![[r#"
        file:1:22: expected From(session, number), found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
    check(
        "READ KEY[x] Txn(1, ",
        &expect![[r#"
        file:1:20: expected the number of a transaction, found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
    check(
        "WRITE KEY[x]",
        &expect![[r#"
        file:1:13: expected Txn(session, number), found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
}

#[test]
fn damage_never_panics() {
    survives_damage(
        &FORMAT,
        "WRITE KEY[x] Txn(1, 0)\n\
         READ KEY[x] Txn(2, 0) From(1, 0)\n\
         INSERT[5] to Set[3] Txn(1, 1)\n\
         CONTAINS[5] in Set[3] From(1, 1) Txn(2, 1)\n\
         DELETE KEY[5] From Set(3) Txn(1, 2)\n",
    );
}

#[test]
fn only_its_own_files_are_recognised() {
    recognises(
        &FORMAT,
        &["WRITE KEY[x] Txn(1, 0)\n", "REPLAY x\n\nCONTAINS[5] in Set[3] From(1, 1) Txn(2, 1)\n"],
    );
}

/// The trace says that the last question saw the initial state, and not the delete before it.
#[test]
fn reads_of_nothing_are_told_apart() {
    check(
        "INSERT[5] to Set[3] Txn(1, 0)\n\
         DELETE[5] from Set[3] Txn(1, 1)\n\
         CONTAINS[5] in Set[3] From(1, 1) Txn(1, 2)\n\
         CONTAINS[5] in Set[3] From(0, 0) Txn(1, 3)\n",
        &expect![[r#"
            1 "1.0": w([3,5],"1.0")
            1 "1.1": w([3,5],"1.1"){deletes=true}
            1 "1.2": r([3,5],"1.1")
            1 "1.3": r([3,5],absent)
        "#]],
    );
}
