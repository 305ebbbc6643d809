use expect_test::{Expect, expect};

use super::FORMAT;
use crate::formats::plume::check::{recognises, shown, survives_damage};

fn check(text: &str, expected: Expect) {
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
        expect![[""]],
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
        expect![[""]],
    );
}

#[test]
fn a_writer_may_come_later_in_the_file() {
    check("READ KEY[x] Txn(2, 0) From(1, 0)\nWRITE KEY[x] Txn(1, 0)\n", expect![[""]]);
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
        expect![[""]],
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
        expect![[""]],
    );
    check("WRITE KEY[x] Txn(0, 0)\nREAD KEY[y] Txn(0, 0) From(0, 0)\n", expect![[""]]);
}

#[test]
fn messages_of_the_recorder_are_left_out_with_a_warning() {
    check(
        "WRITE KEY[x] Txn(1, 0)\n\
         REPLAY matched 1/1 at Session 1. Total matches: 1/1\n\
         REPLAY KEY[Set(1:2)] fallback\n",
        expect![[""]],
    );
}

#[test]
fn names_are_numbers_only_if_spelled_so() {
    check(
        "WRITE KEY[7] Txn(1, 0)\nWRITE KEY[07] Txn(1, 0)\nWRITE KEY[+7] Txn(1, 0)\n\
         WRITE KEY[99999999999999999999] Txn(1, 0)\nWRITE KEY[a b(c)] Txn(1, 0)\n",
        expect![[""]],
    );
}

#[test]
fn contradictions_are_errors() {
    check("WRITE KEY[x] Txn(1, 1)\nWRITE KEY[x] Txn(1, 0)\n", expect![[""]]);
    check("WRITE KEY[y] Txn(1, 0)\nREAD KEY[x] Txn(2, 0) From(1, 0)\n", expect![[""]]);
    check("READ KEY[x] Txn(2, 0) From(3, 1)\n", expect![[""]]);
}

#[test]
fn what_is_no_line_is_an_error() {
    check("UPDATE KEY[x] Txn(1, 0)\n", expect![[""]]);
    check("WRITE x Txn(1, 0)\n", expect![[""]]);
    check("WRITE KEY[] Txn(1, 0)\n", expect![[""]]);
    check("WRITE KEY[x\n] Txn(1, 0)\n", expect![[""]]);
    check("WRITE KEY[x] Txn(-1, 0)\n", expect![[""]]);
    check("WRITE KEY[x] Txn(1, 0) From(1, 0)\n", expect![[""]]);
    check("READ KEY[x] Txn(1, 0) Txn(1, 0)\n", expect![[""]]);
    check("INSERT[x] in Set[1] Txn(1, 0)\n", expect![[""]]);
    check("INSERT[x] to [1] Txn(1, 0)\n", expect![[""]]);
}

#[test]
fn a_last_line_that_is_cut_off_is_an_error() {
    check("READ KEY[x] Txn(1, 0)", expect![[""]]);
    check("READ KEY[x] Txn(1, ", expect![[""]]);
    check("WRITE KEY[x]", expect![[""]]);
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
