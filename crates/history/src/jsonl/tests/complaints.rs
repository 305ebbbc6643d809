//! What the reader says about lines that are wrong.

use expect_test::{Expect, expect};

use super::{check_error, load};

#[test]
fn complaints_about_lines() {
    check_error(
        "{\"session\":1,\"ops\":[]}\n[1]\n",
        expect![[r#"
        h.jsonl:2:1: expected a JSON object, found '[1]'
    "#]],
    );
    check_error(
        "\u{feff}{\"session\":1}\n",
        expect![[r#"
            h.jsonl:1:1: expected a JSON object, found '﻿{"session":1}'
              hint: the file starts with a byte order mark: write it as UTF-8 without one
        "#]],
    );
    check_error(
        "{\"session\":1,\"ops\":[]}\n{\"isolde\":1}\n",
        expect![[r#"
        h.jsonl:2:1: a header ("isolde") can only be the first line
          hint: if files were joined, read them one by one
    "#]],
    );
    check_error(
        "{\"meta\":{}}\n \n {\"session\":1}\n",
        expect![[r#"
        h.jsonl:3:1: nothing may follow the line of "meta"
          hint: if files were joined, read them one by one
    "#]],
    );
    check_error(
        "{\"isolde\":2}\n",
        expect![[r#"
        h.jsonl:1:11: the file has version 2 of the format
          hint: this program reads version 1: use a newer one
    "#]],
    );
    check_error(
        "{\"isolde\":0}\n",
        expect![[r#"
        h.jsonl:1:11: expected version 1 of the format, found '0}'
    "#]],
    );
    check_error(
        "{\"isolde\":1,\"clock\":\"sundial\"}\n",
        expect![[r#"
            h.jsonl:1:21: expected "nanoseconds" or "events", found '"sundial"}'
        "#]],
    );
    check_error(
        "{\"isolde\":1,\"initial\":{\"x\":1}}\n",
        expect![[r#"
            h.jsonl:1:24: expected "default" or "keys", found '"x":1}}'
        "#]],
    );
    check_error(
        "{\"isolde\":1,\"initial\":{\"keys\":[[1,2],[1,2]]}}\n",
        expect![[r#"
        h.jsonl:1:38: the key has an initial value already
    "#]],
    );
    check_error(
        "{\"isolde\":1,\"seed\":1,\"info\":{\"seed\":1}}\n",
        expect![[r#"
        h.jsonl:1:30: the fact is given twice
    "#]],
    );
    check_error(
        "{\"meta\":{\"isolde\":1}}\n",
        expect![[r#"
        h.jsonl:1:10: the version of the format belongs into the header
    "#]],
    );
    check_error(
        "{\"event\":1,\"node\":2}\n",
        expect![[r#"
            h.jsonl:1:12: expected "event", "begin", "end" or "detail", found '"node":2}'
              hint: what else is known of an event belongs into "detail", a transaction's attribute named "event" into "attrs"
        "#]],
    );
    check_error(
        "{\"session\":1,\"order\":2}\n",
        expect![[r#"
            h.jsonl:1:2: expected "order" or "versions", found '"session":1,"order":2}'
              hint: a transaction's attribute named "order" belongs into "attrs"
        "#]],
    );
    check_error(
        "{\"order\":2,\"versions\":[1]}\n{\"order\":1,\"versions\":[]}\n{\"versions\":[1],\"order\":2}\n",
        expect![[r#"
            h.jsonl:3:1: the key has a version order already
        "#]],
    );
    check_error(
        "{\"order\":2}\n",
        expect![[r#"
        h.jsonl:1:1: the order has no "versions"
          hint: an order lists its key's versions, oldest first
    "#]],
    );
}

#[test]
fn complaints_about_transactions() {
    check_error(
        "{\"session\":1,\"ops\":[]}\n{\"txn\":1,\"ops\":[]}\n",
        expect![[r#"
        h.jsonl:2:1: the transaction has no "session"
          hint: "session" says which client ran it: its transactions are in the order of their lines
    "#]],
    );
    check_error(
        "{\"session\":1,\"txn\":1}\n",
        expect![[r#"
        h.jsonl:1:1: the transaction has neither "ops" nor "stmts"
          hint: an empty transaction has "ops":[]
    "#]],
    );
    check_error(
        "{\"session\":1,\"session\":2}\n",
        expect![[r#"
        h.jsonl:1:14: the object names "session" twice
    "#]],
    );
    check_error(
        "{\"session\":1,\"a\":2,\"a\":3}\n",
        expect![[r#"
        h.jsonl:1:20: the attribute is given twice
    "#]],
    );
    check_error(
        "{\"session\":1,\"a\":2,\"attrs\":{\"a\":3}}\n",
        expect![[r#"
        h.jsonl:1:29: the attribute is given twice
    "#]],
    );
    check_error(
        "{\"session\":1,\"outcome\":\"ok\"}\n",
        expect![[r#"
            h.jsonl:1:24: expected "committed", "aborted" or "unknown", found '"ok"}'
        "#]],
    );
    check_error(
        "{\"session\":1,\"txn\":{\"$\":\"unobserved\"}}\n",
        expect![[r#"
            h.jsonl:1:20: expected the transaction's name, found '{"$":"unobserved"}}'
              hint: a transaction without a name has no member "txn"
        "#]],
    );
    check_error(
        "{\"session\":1,\"interval\":[1]}\n",
        expect![[r#"
        h.jsonl:1:25: expected an interval [begin,end], found '[1]}'
    "#]],
    );
    check_error(
        "{\"session\":1,\"interval\":[1,-9223372036854775808]}\n",
        expect![[r#"
        h.jsonl:1:28: -9223372036854775808 is no time
          hint: a time that is not known is null
    "#]],
    );
    check_error(
        "{\"session\":1,\"ts\":[1,[2,null]]}\n",
        expect![[r#"
        h.jsonl:1:25: expected a number, found 'null]]}'
    "#]],
    );
    check_error(
        "{\"session\":1,\"ops\":[],\"stmts\":[]}\n",
        expect![[r#"
        h.jsonl:1:23: the transaction has both "ops" and "stmts"
          hint: "ops" is short for statements of one operation each
    "#]],
    );
    check_error(
        "{\"session\":1,\"stmts\":[[]]}\n",
        expect![[r#"
        h.jsonl:1:23: expected '{', found '[]]}'
    "#]],
    );
    check_error(
        "{\"session\":1,\"ops\":[]} x\n",
        expect![[r#"
        h.jsonl:1:24: expected the end, found 'x'
    "#]],
    );
}

#[test]
fn complaints_about_operations() {
    let complaint = |op: &str, expected: Expect| {
        check_error(
            &format!("{{\"session\":1,\"ops\":[]}}\n{{\"session\":1,\"ops\":[{op}]}}\n"),
            expected,
        );
    };
    complaint(
        "7",
        expect![[r#"
        h.jsonl:2:21: expected an operation such as ["r","x",1], found '7]}'
    "#]],
    );
    complaint(
        "[]",
        expect![[r#"
        h.jsonl:2:22: expected the kind of the operation, found ']]}'
    "#]],
    );
    complaint(
        "[\"read\",1]",
        expect![[r#"
            h.jsonl:2:22: expected the kind of an operation, found '"read",1]]}'
              hint: r, w, append, list, cas, insert, delete, pred, savepoint, rollback, release; with ! if it failed, with ? if the outcome is unknown
        "#]],
    );
    complaint(
        "[\"r\"]",
        expect![[r#"
        h.jsonl:2:25: expected the key of the operation, found ']]}'
    "#]],
    );
    complaint(
        "[\"w\",1]",
        expect![[r#"
        h.jsonl:2:27: expected the value that was written, found ']]}'
    "#]],
    );
    complaint(
        "[\"cas\",1,2]",
        expect![[r#"
        h.jsonl:2:31: expected the value to set, found ']]}'
    "#]],
    );
    complaint(
        "[\"r\",1,2,3]",
        expect![[r#"
        h.jsonl:2:30: expected ']' or an object of attributes, found '3]]}'
    "#]],
    );
    complaint(
        "[\"r\",1,2,{},3]",
        expect![[r#"
        h.jsonl:2:32: expected ']', found ',3]]}'
    "#]],
    );
    complaint(
        "[\"r\",1,2,{\"a\":1,\"a\":2}]",
        expect![[r#"
        h.jsonl:2:37: the attribute is given twice
    "#]],
    );
    complaint(
        "[\"list\",1,null]",
        expect![[r#"
        h.jsonl:2:31: expected the list that was read, in brackets, found 'null]]}'
          hint: [] if there was nothing; leave it out if the client never learned the result
    "#]],
    );
    complaint(
        "[\"pred\",1,[[2]]]",
        expect![[r#"
        h.jsonl:2:32: expected a row [key,value], found '[2]]]]}'
    "#]],
    );
    complaint(
        "[\"rollback\",1]",
        expect![[r#"
        h.jsonl:2:33: expected the name of a savepoint that this transaction has, found '1]]}'
          hint: a release, and a rollback to an earlier one, forget the savepoints since
    "#]],
    );
    complaint(
        "[\"r\",01,2]",
        expect![[r#"
        h.jsonl:2:26: expected a number, found '01,2]]}'
    "#]],
    );
    complaint(
        "[\"r\",1,{\"$wat\":2}]",
        expect![[r#"
        h.jsonl:2:28: "$wat" is no special value
          hint: "$", "$bytes", "$symbol", "$float" and "$row" are
    "#]],
    );
}

#[test]
fn a_half_written_last_line_is_an_error_that_says_so() {
    check_error(
        "{\"session\":1,\"ops\":[]}\n{\"session\":2,\"ops\":[[\"r\",1,2",
        expect![[r#"
        h.jsonl:2:29: expected ',' or ']', found the end of the file
          hint: the file ends in the middle of its last line: the recorder was probably killed; cut the last line off and set "complete":false to read the rest
    "#]],
    );
    check_error(
        "{\"session\":1,\"ops\":[]}\n{\"session\":2,\"txn\":\"ab",
        expect![[r#"
            h.jsonl:2:20: expected a string that ends with '"', found '"ab'
              hint: the file ends in the middle of its last line: the recorder was probably killed; cut the last line off and set "complete":false to read the rest
        "#]],
    );
    // Whole, but wrong: not the recorder's death.
    check_error(
        "{\"session\":1,\"ops\":[]}\n{\"txn\":2}",
        expect![[r#"
        h.jsonl:2:1: the transaction has no "session"
          hint: "session" says which client ran it: its transactions are in the order of their lines
    "#]],
    );
}

#[test]
fn names_must_be_there() {
    for line in [
        r#"{"session":1,"ops":[["r",{"$":"unobserved"},1]]}"#,
        r#"{"session":1,"ops":[["pred","p",[[{"$":"unobserved"},1]]]]}"#,
        r#"{"order":{"$":"unobserved"},"versions":[]}"#,
        r#"{"isolde":1,"initial":{"keys":[[{"$":"unobserved"},1]]}}"#,
    ] {
        let error = load(line).map(drop).unwrap_err().to_string();
        assert!(error.ends_with(": a key must have a name"), "{error}");
    }
    check_error(
        r#"{"session":{"$":"unobserved"},"ops":[]}"#,
        expect![[r#"
        h.jsonl:1:12: a session must have a name
    "#]],
    );
}
