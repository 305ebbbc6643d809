use expect_test::{Expect, expect};

use super::FORMAT;
use super::check::{Random, loaded, recognises, shown, shown_builder, source, survives_damage};
use super::read::{load_split, read_split};
use super::scan::Split;
use crate::builder::HistoryBuilder;
use crate::notation::parse;
use crate::source::Input;

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&shown(&FORMAT, text));
}

/// What the writer makes of a history in the notation.
fn check_written(notation: &str, expected: &Expect) {
    let mut out = Vec::new();
    let history = parse(notation).unwrap();
    let written = match (FORMAT.write.unwrap())(&history, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => {
            assert!(out.is_empty(), "half a file");
            format!("{error}\n")
        }
    };
    expected.assert_eq(&written);
}

#[test]
fn every_kind_of_line() {
    check(
        "w(0,3,1,2)\nw(0,4,1,2)\nr(0,4,1,3)\nr(0,4,2,8)\nw(7,9,0,-1)\n",
        &expect![[r#"
        initial 0
        1 2: w(0,3) w(0,4)
        1 3: r(0,4)
        2 8: r(0,4)
        0: w(7,9) abort
    "#]],
    );
}

#[test]
fn line_ends_of_windows_and_no_line_end_at_the_end() {
    check(
        "w(0,3,1,2)\r\nr(0,3,1,3)\r\n\r\n",
        &expect![[r#"
        initial 0
        1 2: w(0,3)
        1 3: r(0,3)
    "#]],
    );
    check(
        "w(0,3,1,2)\nr(0,3,1,3)",
        &expect![[r#"
        initial 0
        1 2: w(0,3)
        1 3: r(0,3)
    "#]],
    );
    check(
        "w(0,3,1,2)\nr(0,3,1,3)\r",
        &expect![[r#"
        initial 0
        1 2: w(0,3)
        1 3: r(0,3)
    "#]],
    );
}

#[test]
fn numbers_of_64_bits() {
    check(
        "w(18446744073709551615,18446744073709551615,18446744073709551615,9223372036854775807)\n\
         w(9223372036854775807,0000000000000000000007,0,4)\n",
        &expect![[r#"
            initial 0
            18446744073709551615 9223372036854775807: w(18446744073709551615,18446744073709551615)
            0 4: w(9223372036854775807,7)
        "#]],
    );
    check(
        "w(18446744073709551616,1,1,1)\n",
        &expect![[r#"
        file:1:3: expected a key, a number of at most 64 bits, found '18446744073709551616,1,1,1)'
    "#]],
    );
    check(
        "w(1,1,1,9223372036854775808)\n",
        &expect![[r#"
        file:1:9: expected a transaction, a number of at most 64 bits, found '9223372036854775808)'
    "#]],
    );
}

#[test]
fn sessions_may_interleave_inside_transactions() {
    check(
        "w(0,1,1,5)\nw(0,2,2,6)\nr(0,2,1,5)\nr(0,1,2,6)\nr(0,1,1,7)\n",
        &expect![[r#"
        initial 0
        1 5: w(0,1) r(0,2)
        2 6: w(0,2) r(0,1)
        1 7: r(0,1)
    "#]],
    );
}

#[test]
fn aborted_lines_of_a_session_in_a_row_are_one_transaction() {
    check(
        "w(0,1,1,-1)\nw(0,2,2,4)\nw(0,3,1,-1)\nw(0,4,1,5)\nw(0,5,1,-1)\nw(0,6,2,-1)\n",
        &expect![[r#"
            initial 0
            1: w(0,1) w(0,3) abort
            2 4: w(0,2)
            1 5: w(0,4)
            1: w(0,5) abort
            2: w(0,6) abort
        "#]],
    );
}

#[test]
fn explicit_writes_of_zero_are_kept_with_one_warning() {
    check(
        "r(1,0,1,1)\nw(0,0,1,1)\nw(1,0,1,1)\n",
        &expect![[r#"
            meta explicit-initial true
            initial 0
            1 1: r(1,0) w(0,0) w(1,0)
            warning: file:2:1: an explicit write of 0 is the initial write, because every key starts with 0
        "#]],
    );
}

#[test]
fn a_transaction_in_two_sessions_is_an_error() {
    check(
        "w(0,1,1,12)\nw(0,2,3,12)\n",
        &expect![[r#"
        file:2:1: the number of this transaction is taken by another session
          hint: transaction 12 appears in sessions 1 and 3
    "#]],
    );
    check(
        "w(0,1,1,99999999999)\nw(0,2,3,99999999999)\n",
        &expect![[r#"
        file:2:1: the number of this transaction is taken by another session
          hint: transaction 99999999999 appears in sessions 1 and 3
    "#]],
    );
}

#[test]
fn a_transaction_that_comes_back_goes_on_with_one_warning() {
    check(
        "w(0,1,1,12)\nw(0,2,1,13)\nw(0,3,1,12)\nw(0,4,1,13)\nw(0,5,1,14)\n",
        &expect![[r#"
        initial 0
        1 12: w(0,1) w(0,3)
        1 13: w(0,2) w(0,4)
        1 14: w(0,5)
        warning: file:3:1: transaction 12 comes back after transaction 13: its lines are taken as one transaction
    "#]],
    );
    check(
        "w(0,1,1,12)\nw(0,2,1,-1)\nw(0,3,1,12)\nw(0,4,1,-1)\n",
        &expect![[r#"
        initial 0
        1 12: w(0,1) w(0,3)
        1: w(0,2) abort
        1: w(0,4) abort
        warning: file:3:1: transaction 12 comes back after an aborted one: its lines are taken as one transaction
    "#]],
    );
    check(
        "w(0,1,1,12)\nw(0,2,1,99999999999)\nw(0,3,2,7)\nw(0,4,1,12)\n",
        &expect![[r#"
        initial 0
        1 12: w(0,1) w(0,4)
        1 99999999999: w(0,2)
        2 7: w(0,3)
        warning: file:4:1: transaction 12 comes back after transaction 99999999999: its lines are taken as one transaction
    "#]],
    );
}

#[test]
fn what_is_no_line_is_an_error() {
    check(
        "w(0,1,1,1)\nx(0,1,1,1)\n",
        &expect![[r#"
        file:2:1: expected r(key,value,session,txn) or w(...), found 'x(0,1,1,1)'
    "#]],
    );
    check(
        "w(0,1,1,1)\n\nw(0,1,1,1)\n",
        &expect![[r#"
        file:2:1: expected r(key,value,session,txn) or w(...), found the end of the line
          hint: only the end of the file may have empty lines
    "#]],
    );
    check(
        "w(0,1,1,1) \n",
        &expect![[r#"
        file:1:11: expected the end of the line, found ' '
    "#]],
    );
    check(
        "w(0,-1,1,1)\n",
        &expect![[r#"
        file:1:5: expected a value, a number, found '-1,1,1)'
    "#]],
    );
    check(
        "w(0,1,1,-2)\n",
        &expect![[r#"
        file:1:9: expected the number of a transaction, or -1, found '-2)'
          hint: -1 marks aborted operations; no other negative number means anything
    "#]],
    );
    check(
        "# comment\n",
        &expect![[r#"
        file:1:1: expected r(key,value,session,txn) or w(...), found '# comment'
    "#]],
    );
}

#[test]
fn a_last_line_that_is_cut_off_is_an_error() {
    check(
        "w(0,1,1,1)\nw(0,1,",
        &expect![[r#"
        file:2:7: expected a session, a number, found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
    check(
        "w(0,1,1,1)\nw(0,1,1,1",
        &expect![[r#"
        file:2:10: expected ')' after the transaction, found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
    check(
        "w(0,1,1,1)\nw",
        &expect![[r#"
        file:2:2: expected '(' after the r or w, found the end of the file
          hint: the file ends in the middle of a line: it was probably cut off
    "#]],
    );
}

#[test]
fn damage_never_panics() {
    survives_damage(&FORMAT, "w(0,3,1,2)\nr(0,4,1,3)\r\nw(7,9,0,-1)\nr(0,4,2,8)\n");
}

#[test]
fn only_its_own_files_are_recognised() {
    recognises(&FORMAT, &["r(1,2,3,4)\n", "w(0,3,1,"]);
}

/// A few sessions, transactions that interleave and come back now and then, aborts, and sometimes
/// a torn end.
fn random_file(random: &mut Random) -> String {
    let mut text = String::new();
    let mut next = 0;
    let mut open = [-1i64; 4];
    let calm = random.below(2) == 0;
    let wide = random.below(4) == 0;
    let mut seen: Vec<(usize, i64)> = Vec::new();
    let comebacks = random.below(4) == 0;
    for _ in 0..random.below(60) {
        let session = random.below(open.len());
        if random.below(3) == 0 || calm {
            next += if wide { 1 << 40 } else { 1 };
            open[session] = if random.below(5) == 0 { -1 } else { next };
            seen.push((session, open[session]));
        }
        if comebacks && !seen.is_empty() && random.below(3) == 0 {
            let (session, txn) = seen[random.below(seen.len())];
            open[session] = txn;
        }
        for _ in 0..=random.below(3) {
            let letter = if random.below(2) == 0 { 'r' } else { 'w' };
            let (key, value) = (random.below(5) as u64, random.below(50) as u64);
            let key = if wide { key + u64::MAX / 2 } else { key };
            let value = if wide { u64::MAX - value } else { value };
            let txn = open[session];
            text.push_str(&format!("{letter}({key},{value},{session},{txn})\n"));
        }
    }
    if random.below(10) == 0 {
        text.truncate(random.below(text.len() + 1));
    }
    text
}

#[test]
fn parts_of_any_size_read_as_the_whole_does() {
    let mut random = Random(42);
    for _ in 0..300 {
        let text = random_file(&mut random);
        let input = Input::new("file", text.as_bytes());
        let whole = Split { threads: 1, least: 1 << 20, most: 1 << 20 };
        let mut builder = HistoryBuilder::new();
        let expected = read_split(&input, whole, &mut builder)
            .map(|()| shown_builder(builder))
            .map_err(|error| error.to_string());
        for (threads, size) in [(1, 1), (1, 7), (2, 1), (3, 40), (2, 200), (1, 1 << 20)] {
            let split = Split { threads, least: size, most: size };
            let loaded = load_split(&input, split);
            let loaded = loaded.map(shown_builder).map_err(|error| error.to_string());
            assert_eq!(loaded, expected, "{threads} threads, {size} bytes:\n{text}");
        }
    }
}

#[test]
fn parts_learn_names_in_the_order_of_the_file() {
    let mut random = Random(3);
    for _ in 0..50 {
        let text = random_file(&mut random);
        let input = Input::new("file", text.as_bytes());
        let load = |size| load_split(&input, Split { threads: 2, least: size, most: size });
        let (Ok(one), Ok(many)) = (load(1 << 20), load(1)) else { continue };
        assert_eq!(one.pool.key_names(), many.pool.key_names());
        assert_eq!(one.pool.session_names(), many.pool.session_names());
        assert_eq!(one.columns.payloads, many.columns.payloads);
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    let mut random = Random(11);
    let mut count = 0;
    for _ in 0..100 {
        let text = random_file(&mut random);
        let Ok(builder) = FORMAT.load(&source(text.as_bytes())) else { continue };
        let history = builder.finish();
        let mut out = Vec::new();
        if (FORMAT.write.unwrap())(&history, &mut out).is_ok() {
            let again = loaded(&FORMAT, std::str::from_utf8(&out).unwrap());
            history.same_as(&again).unwrap();
            count += 1;
        }
    }
    assert!(count > 20);
}

#[test]
fn transactions_without_numbers_are_counted() {
    check_written(
        "initial 0\n1: r(0,0) w(0,1)\n2: w(0,2) abort\n1: r(0,1)\n",
        &expect![[r#"
        r(0,0,1,0)
        w(0,1,1,0)
        w(0,2,2,-1)
        r(0,1,1,2)
    "#]],
    );
    check_written(
        "initial 0\n1 8: r(0,0)\n1 8: r(0,0)\n",
        &expect![[r#"
        r(0,0,1,0)
        r(0,0,1,1)
    "#]],
    );
    check_written(
        "initial 0\n1 8: r(0,0)\n1 9: r(0,0)\n",
        &expect![[r#"
        r(0,0,1,8)
        r(0,0,1,9)
    "#]],
    );
}

#[test]
fn another_initial_value_is_written_as_zero() {
    check_written(
        "initial absent\n1: r(0,absent) w(0,1)\n",
        &expect![[r#"
        r(0,0,1,0)
        w(0,1,1,0)
    "#]],
    );
    check_written(
        "initial 7\n1: r(0,7) w(0,1)\n",
        &expect![[r#"
        r(0,0,1,0)
        w(0,1,1,0)
    "#]],
    );
    check_written(
        "initial none\ngiven 0 7\ngiven 1 7\n1: r(0,7) r(1,7)\n",
        &expect![[r#"
        r(0,0,1,0)
        r(1,0,1,0)
    "#]],
    );
    check_written(
        "initial none\n1: w(0,7)\n",
        &expect![[r#"
        w(0,7,1,0)
    "#]],
    );
}

#[test]
fn an_initial_state_that_zero_cannot_stand_for_is_refused() {
    check_written(
        "initial 7\n1: r(0,7) w(0,7)\n",
        &expect![[r#"
            plume cannot hold it: operation 1 writes what every key starts with, which has no counterpart
        "#]],
    );
    check_written(
        "initial 7\n1: r(0,7) w(0,0)\n",
        &expect![[r#"
            plume cannot hold it: 0, the value of operation 1, would be what every key starts with
        "#]],
    );
    check_written(
        "initial none\n1: w(0,0)\n",
        &expect![[r#"
            plume cannot hold it: 0, the value of operation 0, would be what every key starts with
        "#]],
    );
    check_written(
        "initial 0\ngiven 1 7\n1: r(0,0) r(1,7)\n",
        &expect![[r#"
            plume cannot hold it: keys that start with different values (key 0 is one) have no counterpart
        "#]],
    );
}

#[test]
fn operations_without_a_counterpart_are_refused() {
    check_written(
        "1: w(0,1) append(0,1)\n",
        &expect![[r#"
            plume cannot hold it: operation 1 (append) has no counterpart
        "#]],
    );
    check_written(
        "1: list(0,[1])\n",
        &expect![[r#"
            plume cannot hold it: operation 0 (list read) has no counterpart
        "#]],
    );
    check_written(
        "1: delete(0)\n",
        &expect![[r#"
            plume cannot hold it: operation 0 (delete) has no counterpart
        "#]],
    );
    check_written(
        "1: savepoint(a) w(0,1)\n",
        &expect![[r#"
            plume cannot hold it: operation 0 (savepoint) has no counterpart
        "#]],
    );
    check_written(
        "1: w!(0,1)\n",
        &expect![[r#"
            plume cannot hold it: operation 0 (write), which did not take effect, has no counterpart
        "#]],
    );
    check_written(
        "1: r(0,_)\n",
        &expect![[r#"
            plume cannot hold it: operation 0, a read whose result is unknown, has no counterpart
        "#]],
    );
    check_written(
        "1: [w(0,1) w(1,1)]\n",
        &expect![[r#"
            plume cannot hold it: statement 0, of 2 operations, has no counterpart
        "#]],
    );
}

#[test]
fn names_and_values_that_are_no_numbers_are_refused() {
    check_written(
        "1: w(x,1)\n",
        &expect![[r#"
            plume cannot hold it: key x of operation 0 has no counterpart: only numbers from 0 to 2^63 - 1 can name one
        "#]],
    );
    check_written(
        "1: w(0,x)\n",
        &expect![[r#"
            plume cannot hold it: x, the value of operation 0, has no counterpart: only numbers from 0 to 2^63 - 1 are values
        "#]],
    );
    check_written(
        "1: w(0,-1)\n",
        &expect![[r#"
            plume cannot hold it: -1, the value of operation 0, has no counterpart: only numbers from 0 to 2^63 - 1 are values
        "#]],
    );
    check_written(
        "1: w(9223372036854775808,1)\n",
        &expect![[r#"
            plume cannot hold it: key 9223372036854775808 of operation 0 has no counterpart: only numbers from 0 to 2^63 - 1 can name one
        "#]],
    );
    check_written(
        "a: w(0,1)\n",
        &expect![[r#"
            plume cannot hold it: session a has no counterpart: only numbers from 0 to 2^63 - 1 can name one
        "#]],
    );
}

#[test]
fn transactions_without_a_counterpart_are_refused() {
    check_written(
        "1: w(0,1) unknown\n",
        &expect![[r#"
            plume cannot hold it: transaction 0, whose outcome is unknown, has no counterpart
        "#]],
    );
    check_written(
        "1: w(0,1) abort\n2: w(0,2)\n1: w(0,3) abort\n",
        &expect![[r#"
            plume cannot hold it: two aborted transactions of a session in a row (0 and 2) cannot be told apart
        "#]],
    );
    check_written(
        "1:\n",
        &expect![[r#"
            plume cannot hold it: transaction 0 has no operation, and so no line
        "#]],
    );
}

#[test]
fn evidence_without_a_counterpart_is_refused() {
    check_written(
        "1: w(0,1) @[5,9]\n",
        &expect![[r#"
            plume cannot hold it: intervals of transactions have no counterpart
        "#]],
    );
    check_written(
        "1: [w(0,1)]@[5,9]\n",
        &expect![[r#"
            plume cannot hold it: intervals of statements have no counterpart
        "#]],
    );
    check_written(
        "1: w(0,1) ts(3,8)\n",
        &expect![[r#"
            plume cannot hold it: start timestamps have no counterpart
        "#]],
    );
    check_written(
        "1: w(0,1) {level=serializable}\n",
        &expect![[r#"
            plume cannot hold it: the attribute 'level' has no counterpart
        "#]],
    );
    check_written(
        "1: w(0,1)\norder 0: 1\n",
        &expect![[r#"
            plume cannot hold it: version orders have no counterpart
        "#]],
    );
    check_written(
        "1: w(0,1)\nevent partition @[5,9]\n",
        &expect![[r#"
            plume cannot hold it: events have no counterpart
        "#]],
    );
    check_written(
        "incomplete\n1: w(0,1)\n",
        &expect![[r#"
            plume cannot hold it: that the history is incomplete cannot be said
        "#]],
    );
    check_written(
        "meta server postgres\n1: w(0,1)\n",
        &expect![[r#"
            plume cannot hold it: the fact server about the run has no counterpart
        "#]],
    );
}
