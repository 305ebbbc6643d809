use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::error::ReadError;
use crate::formats::viper::tests::{damage, damaged};
use crate::notation::{parse, to_text};
use crate::{History, Input};

fn load(bytes: &[u8]) -> Result<History, ReadError> {
    let source = Source::File(Input::new("h.json", bytes));
    FORMAT.load(&source).map(crate::HistoryBuilder::finish)
}

fn show(text: &str) -> String {
    load(text.as_bytes()).map_or_else(|error| format!("{error}\n"), |history| to_text(&history))
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&show(text));
}

/// What is written for a history in the notation, or why it is refused.
fn written(notation: &str) -> String {
    let mut out = Vec::new();
    let write = FORMAT.write.unwrap();
    match write(&parse(notation).unwrap(), &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => format!("{error}\n"),
    }
}

/// A transaction with these operations.
fn txn(ops: &str) -> String {
    format!(
        r#"{{"tid": 1, "sid": 7, "sts": {{"p": 3, "l": 0}}, "cts": {{"p": 5, "l": 1}}, "ops": [{ops}]}}"#
    )
}

#[test]
fn a_history_of_plain_values() {
    check(
        r#"[
          {"tid": 1, "sid": 0, "sts": {"p": 100, "l": 0}, "cts": {"p": 120, "l": 2},
           "ops": [{"t": "r", "k": 5, "v": null}, {"t": "read", "k": 6}, {"t": "w", "k": 5, "v": 42},
                   {"t": "write", "k": -9223372036854775808, "v": 9223372036854775807}], "rtts": 33},
          {"tid": 2, "sid": 1, "sts": {"p": 130, "l": 0}, "cts": {"p": 130, "l": 0}, "ops": []}
        ]"#,
        expect![[r#"
            0 1: r(5,absent) r(6,absent) w(5,42) w(-9223372036854775808,9223372036854775807) ts(100,120.2) {arrival-ms=33}
            1 2: ts(130,130)
        "#]],
    );
}

/// As in TimeKiller's own `format-kv.json`, which is checked with `--initial_value 0`.
#[test]
fn zeros_that_nobody_writes_are_the_initial_value() {
    let zeros = r#"{"t":"r","k":1,"v":0},{"t":"w","k":2,"v":0},{"t":"r","k":2,"v":0}"#;
    check(
        &format!("[{}]", txn(zeros)),
        expect![[r#"
        initial 0
        7 1: r(1,0) w(2,0) r(2,0) ts(3,5.1)
    "#]],
    );
    let bytes = format!("[{}]", txn(zeros));
    let source = Source::File(Input::new("h.json", bytes.as_bytes()));
    let (_, warnings) = FORMAT.load(&source).unwrap().finish_with_warnings();
    assert!(warnings.kept[0].to_string().contains("start with 0"));
    // Where some key is read as null, or the zeros have their writers, nothing is 0 at first.
    let null = r#"{"t":"r","k":3,"v":null}"#;
    check(
        &format!("[{}]", txn(&format!("{zeros},{null}"))),
        expect![[r#"
        7 1: r(1,0) w(2,0) r(2,0) r(3,absent) ts(3,5.1)
    "#]],
    );
    check(
        &format!("[{}]", txn(r#"{"t":"w","k":1,"v":0},{"t":"r","k":1,"v":0}"#)),
        expect![[r#"
        7 1: w(1,0) r(1,0) ts(3,5.1)
    "#]],
    );
}

#[test]
fn the_initial_value_is_written_only_if_it_is_read_back() {
    let mut shown = written("initial 0\n0 1: r(1,0) ts(1,2)\n");
    shown += &written("initial 0\n0 1: r(1,5) ts(1,2)\n");
    shown += &written("0 1: r(1,0) ts(1,2)\n");
    expect![[r#"
        [
        {"tid":1,"sid":0,"sts":{"p":1,"l":0},"cts":{"p":2,"l":0},"ops":[{"t":"r","k":1,"v":0}]}
        ]
        timekiller cannot hold it: keys that are not absent at first
        timekiller cannot hold it: reads of 0 without a writer, for they say that every key is 0 at first
    "#]].assert_eq(&shown);
}

/// TimeKiller reads `"5"` and 5 as the same key, and as the same value.
#[test]
fn numbers_in_quotes_are_numbers() {
    let ops = r#"{"t":"w","k":"5","v":"7"},{"t":"r","k":5,"v":7},{"t":"w","k":"05","v":"x"}"#;
    check(
        &format!("[{}]", txn(ops)),
        expect![[r#"
        7 1: w(5,7) r(5,7) w("05",x) ts(3,5.1)
    "#]],
    );
}

#[test]
fn actions_in_capitals_and_writes_of_null() {
    let ops = r#"{"t":"W","k":1,"v":null},{"t":"Read","k":1},{"t":"WRITE","k":1}"#;
    check(
        &format!("[{}]", txn(ops)),
        expect![[r#"
        7 1: delete(1) r(1,absent) delete(1) ts(3,5.1)
    "#]],
    );
    expect![[r#"
        [
        {"tid":1,"sid":0,"sts":{"p":1,"l":0},"cts":{"p":2,"l":0},"ops":[{"t":"w","k":1,"v":null},{"t":"r","k":1,"v":null}]}
        ]
    "#]].assert_eq(&written("0 1: delete(1) r(1,absent) ts(1,2)\n"));
}

#[test]
fn a_history_of_lists_reads_nothing_as_the_empty_list() {
    check(
        &format!(
            "[{}]",
            txn(r#"{"t":"r","k":1,"v":null},{"t":"r","k":1},{"t":"a","k":1,"v":4},
                   {"t":"append","k":1,"v":5},{"v":[4,5],"k":1,"t":"r"},{"t":"r","k":2,"v":[]}"#)
        ),
        expect![[r#"
            7 1: list(1,[]) list(1,[]) append(1,4) append(1,5) list(1,[4,5]) list(2,[]) ts(3,5.1)
        "#]],
    );
    check(
        &format!("[{}]", txn(r#"{"t":"r","k":1},{"t":"r","k":2,"v":[]}"#)),
        expect![[r#"
        7 1: list(1,[]) list(2,[]) ts(3,5.1)
    "#]],
    );
    check(
        &format!("[{}]", txn(r#"{"t":"r","k":1},{"v":5,"k":2,"t":"a"}"#)),
        expect![[r#"
        7 1: list(1,[]) append(2,5) ts(3,5.1)
    "#]],
    );
    check(
        &format!("[{}]", txn(r#"{"t":"r","k":1}"#)),
        expect![[r#"
        7 1: r(1,absent) ts(3,5.1)
    "#]],
    );
}

#[test]
fn members_come_in_any_order_and_numbers_in_quotes() {
    check(
        r#"[{"ops":[{"v":"42","k":"5","t":"w"}],"rtts":"9","cts":{"l":"1","p":"320316486"},
             "sts":{"p":"320316485"},"sid":"12","tid":"t-1"},
            {"tid":"07","sid":12,"sts":7,"cts":"8","ops":[],"rtts":null}]"#,
        expect![[r#"
            12 t-1: w(5,42) ts(320316485,320316486.1) {arrival-ms=9}
            12 "07": ts(7,8)
        "#]],
    );
}

#[test]
fn unknown_members_become_attributes() {
    check(
        r#"[{"tid":1,"sid":2,"sts":3,"cts":4,"ops":[{"t":"w","k":5,"v":6,"table":"x"}],"node":[1]}]"#,
        expect![[r#"
            2 1: w(5,6){table=x} ts(3,4) {node=[1]}
        "#]],
    );
}

#[test]
fn an_empty_array_is_an_empty_history() {
    check("[]\n", expect![[""]]);
}

#[test]
fn errors_say_what_was_expected() {
    let mut shown = String::new();
    for text in [
        "",
        "{}",
        "[5]",
        "[{}]",
        r#"[{"tid":1,"sid":2,"sts":3,"cts":4}]"#,
        r#"[{"tid":1,"tid":2}]"#,
        r#"[{"tid":1.5}]"#,
        r#"[{"tid":null}]"#,
        r#"[{"sts":{"p":1,"q":2}}]"#,
        r#"[{"sts":{"p":1,"p":2}}]"#,
        r#"[{"sts":{"l":1}}]"#,
        r#"[{"sts":{"p":"1.5","l":1}}]"#,
        r#"[{"sts":{"p":9223372036854775808,"l":1}}]"#,
        r#"[{"sts":true}]"#,
        r#"[{"rtts":"soon"}]"#,
        r#"[{"x":1,"tid":1,"sid":2,"sts":3,"cts":4,"ops":[],"x":2}]"#,
        r#"[{"tid":1,"sid":2,"sts":3,"cts":4,"ops":[]},{"tid":"1","sid":3,"sts":3,"cts":4,"ops":[]}]"#,
        r#"[{"tid":1,"sid":2,"sts":3,"cts":4,"ops":[]}] 5"#,
        r#"[{"tid":1,"sid":2,"sts":3,"cts":4,"ops":[]},]"#,
    ] {
        shown += &show(text);
    }
    expect![[r#"
        h.json:1:1: expected an array of transactions, found the end of the file
        h.json:1:1: expected an array of transactions, found '{}'
        h.json:1:2: expected a transaction, an object, found '5]'
        h.json:1:2: expected a transaction with a member "tid", found '{}]'
        h.json:1:2: expected a transaction with a member "ops", found '{"tid":1,"sid":2,"sts":3,"cts":4}]'
        h.json:1:17: the transaction has "tid" twice
        h.json:1:9: expected a name, an integer or a text, found '1.5}]'
        h.json:1:9: expected a name, an integer or a text, found 'null}]'
        h.json:1:20: a timestamp has no "q"
        h.json:1:20: the timestamp has "p" twice
        h.json:1:9: expected a timestamp, {"p": integer, "l": integer}, found '{"l":1}}]'
        h.json:1:14: expected a part of a timestamp, an integer, found '"1.5","l":1}}]'
        h.json:1:14: expected a part of a timestamp of at most 64 bits, found '9223372036854775808,"l":1}}]'
        h.json:1:9: expected a timestamp, {"p": integer, "l": integer}, found 'true}]'
        h.json:1:10: expected a time in milliseconds, an integer, found '"soon"}]'
        h.json:1:2: a member's name is there twice
        h.json:1:45: transaction 1 is there twice
          hint: the first is in session 2
        h.json:1:46: expected the end of the file after the array of transactions, found '5'
        h.json:1:45: expected a value after ',', found ']'
    "#]].assert_eq(&shown);
}

#[test]
fn errors_of_operations() {
    let mut shown = String::new();
    for ops in [
        "5",
        r#"{"k":1,"v":2}"#,
        r#"{"t":"w","v":2}"#,
        r#"{"t":"a","k":2}"#,
        r#"{"t":"a","k":2,"v":null}"#,
        r#"{"t":"w","k":2,"v":[1]}"#,
        r#"{"t":"x","k":2,"v":1}"#,
        r#"{"t":"r","k":2,"v":1.5}"#,
        r#"{"t":"r","k":null,"v":1}"#,
        r#"{"t":"r","k":1,"v":[[1]]}"#,
        r#"{"t":"r","k":1,"k":2}"#,
        r#"{"t":"r","k":1,"x":2,"x":3}"#,
        r#"{"t":"w","k":1,"v":1},{"t":"a","k":1,"v":2}"#,
        r#"{"t":"w","k":1,"v":1},{"t":"r","k":1,"v":[2]}"#,
        r#"{"t":"a","k":1,"v":1},{"t":"r","k":1,"v":2}"#,
        r#"{"t":"a","k":1,"v":1},{"t":"w","k":1,"v":2}"#,
    ] {
        shown += &show(&format!("[{}]", txn(ops)));
    }
    expect![[r#"
        h.json:1:81: expected an operation, an object, found '5]}]'
        h.json:1:81: expected an operation with "t", found '{"k":1,"v":2}]}]'
        h.json:1:81: expected an operation with "k", found '{"t":"w","v":2}]}]'
        h.json:1:81: expected an operation with the value that it writes, found '{"t":"a","k":2}]}]'
        h.json:1:81: expected an operation with the value that it writes, found '{"t":"a","k":2,"v":null}]}]'
        h.json:1:100: expected the value that is written, an integer, found '[1]}]}]'
        h.json:1:86: expected "r", "w" or "a" (read, write, append), found '"x","k":2,"v":1}]}]'
        h.json:1:100: expected a value: an integer, a text, an array or null, found '1.5}]}]'
        h.json:1:94: expected a key, an integer or a text, found 'null,"v":1}]}]'
        h.json:1:101: expected an element, an integer or a text, found '[1]]}]}]'
        h.json:1:100: the operation has "k" twice
        h.json:1:81: a member's name is there twice
        h.json:1:122: an operation on a list in a history of plain values
          hint: TimeKiller's histories are of one kind; the first operation with a value tells which
        h.json:1:122: an operation on a list in a history of plain values
          hint: TimeKiller's histories are of one kind; the first operation with a value tells which
        h.json:1:122: an operation on a plain value in a history of lists
          hint: TimeKiller's histories are of one kind; the first operation with a value tells which
        h.json:1:122: an operation on a plain value in a history of lists
          hint: TimeKiller's histories are of one kind; the first operation with a value tells which
    "#]].assert_eq(&shown);
}

#[test]
fn timestamps_may_contradict_each_other() {
    let text = r#"[{"tid":"a","sid":2,"sts":{"p":3,"l":1},"cts":{"p":3,"l":0},"ops":[]}]"#;
    check(text, expect!["2 a: ts(3.1,3)\n"]);
}

#[test]
fn writes_one_transaction_a_line() {
    expect![[r#"
        [
        {"tid":1,"sid":"a","sts":{"p":100,"l":1},"cts":{"p":120,"l":0},"ops":[{"t":"r","k":5,"v":null},{"t":"w","k":5,"v":42}],"rtts":33},
        {"tid":2,"sid":"b\"","sts":{"p":130,"l":0},"cts":{"p":130,"l":0},"ops":[{"t":"r","k":5,"v":42}]}
        ]
    "#]].assert_eq(&written(
        "a 1: r(5,absent) w(5,42) ts(100.1,120) {arrival-ms=33}\n\
         \"b\\\"\" 2: r(5,42) ts(130,130)\n",
    ));
    expect![[r#"
        [
        {"tid":1,"sid":1,"sts":{"p":1,"l":0},"cts":{"p":2,"l":0},"ops":[{"t":"r","k":5,"v":[]},{"t":"a","k":5,"v":1}]},
        {"tid":2,"sid":2,"sts":{"p":3,"l":0},"cts":{"p":4,"l":0},"ops":[{"t":"r","k":5,"v":[1]}]}
        ]
    "#]]
        .assert_eq(&written("1: list(5,[]) append(5,1) ts(1,2)\n2: list(5,[1]) ts(3,4)\n"));
}

#[test]
fn refuses_by_name_what_it_cannot_express() {
    let mut shown = String::new();
    for text in [
        "initial 0\na: ts(1,2)",
        "initial none\na: ts(1,2)",
        "given 1 5\na: ts(1,2)",
        "meta server postgres\na: ts(1,2)",
        "incomplete\na: ts(1,2)",
        "event partition\na: ts(1,2)",
        "order 1: 1 2\na: ts(1,2)",
        "a T7: abort ts(1,2)",
        "a T7: unknown ts(1,2)",
        "a: @[1,2] ts(1,2)",
        "a: w(1,2)",
        "a: ts(1,2) {node=5}",
        "a: ts(1,2) {arrival-ms=soon}",
        "a T1: ts(1,2)\na: ts(3,4)",
        "a T1: ts(1,2)\nb T1: ts(3,4)",
        "a \"5\": ts(1,2)",
        "1.5: ts(1,2)",
        "a: w(x,1) ts(1,2)",
        "a: w(1,x) ts(1,2)",
        "a: w(1,absent) ts(1,2)",
        "a: r(1,_) ts(1,2)",
        "a: r(1,null) ts(1,2)",
        "a: list(1,_) ts(1,2)",
        "a: list(1,[x]) ts(1,2)",
        "a: w!(1,2) ts(1,2)",
        "a: cas(1,2,3) ts(1,2)",
        "a: insert(1,2) ts(1,2)",
        "a: pred(all,1=2) ts(1,2)",
        "a: savepoint(s) ts(1,2)",
        "a: [r(1,2) w(1,3)] ts(1,2)",
        "a: [r(1,2)]@[1,2] ts(1,2)",
        "a: [r(1,2)]{affected=1} ts(1,2)",
        "a: r(1,2){path=index} ts(1,2)",
        "a: w(1,2) append(2,3) ts(1,2)",
    ] {
        shown += &written(text);
    }
    expect![[r#"
        timekiller cannot hold it: keys that are not absent at first
        timekiller cannot hold it: keys that are not absent at first
        timekiller cannot hold it: the initial value of key 1
        timekiller cannot hold it: the fact server about the run
        timekiller cannot hold it: that the history is incomplete
        timekiller cannot hold it: the event partition
        timekiller cannot hold it: the order of the versions of key 1
        timekiller cannot hold it: transaction T7: its outcome is aborted
        timekiller cannot hold it: transaction T7: its outcome is unknown
        timekiller cannot hold it: the transaction at position 1: the client's interval
        timekiller cannot hold it: the transaction at position 1: it has no start timestamp
        timekiller cannot hold it: the transaction at position 1: its attribute node
        timekiller cannot hold it: the transaction at position 1: its arrival soon, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 2: it has no name, but others have
        timekiller cannot hold it: transaction T1: another transaction has the same name
        timekiller cannot hold it: transaction "5": its name, the text "5" that reads as a number
        timekiller cannot hold it: the transaction at position 1: its session 1.5, which is neither integer nor text
        timekiller cannot hold it: the transaction at position 1: the key x, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: the write of x, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: the write of absent, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: the read of _, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: the read of null, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: a read whose result was never learned
        timekiller cannot hold it: the transaction at position 1: the element x, which is no 64-bit integer
        timekiller cannot hold it: the transaction at position 1: its write that had no effect, or perhaps none
        timekiller cannot hold it: the transaction at position 1: its compare-and-set
        timekiller cannot hold it: the transaction at position 1: its insert-if-absent
        timekiller cannot hold it: the transaction at position 1: its predicate read
        timekiller cannot hold it: the transaction at position 1: its savepoint
        timekiller cannot hold it: the transaction at position 1: a statement of 2 operations
        timekiller cannot hold it: the transaction at position 1: the interval of a statement
        timekiller cannot hold it: the transaction at position 1: the attribute affected of a statement
        timekiller cannot hold it: the transaction at position 1: the attribute path of an operation
        timekiller cannot hold it: the transaction at position 1: operations on lists and on plain values in one history
    "#]].assert_eq(&shown);
}

fn any_history() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        (-9i64..9).prop_map(|i| i.to_string()),
        any::<i64>().prop_map(|i| i.to_string())
    ];
    let plain = prop_oneof![
        (0i64..5, value.clone()).prop_map(|(k, v)| format!("w({k},{v})")),
        (any::<i64>(), value.clone()).prop_map(|(k, v)| format!("r({k},{v})")),
        (0i64..5).prop_map(|k| format!("r({k},absent)")),
        (0i64..5).prop_map(|k| format!("delete({k})")),
    ];
    let list = prop_oneof![
        (0i64..5, value.clone()).prop_map(|(k, v)| format!("append({k},{v})")),
        (0i64..5, prop::collection::vec(value, 0..4))
            .prop_map(|(k, v)| format!("list({k},[{}])", v.join(","))),
    ];
    let times = (0i64..99, 0i64..3, -9i64..9)
        .prop_map(|(p, l, more)| format!("ts({p}.{l},{}.{l})", p + more));
    let txns = |op: BoxedStrategy<String>| {
        prop::collection::vec(
            (0..4, prop::collection::vec(op, 0..5), times.clone(), any::<bool>()),
            0..9,
        )
    };
    prop_oneof![txns(plain.boxed()), txns(list.boxed())].prop_map(|txns| {
        let line =
            |(i, (session, ops, times, arrived)): (usize, (i32, Vec<String>, String, bool))| {
                let arrival = if arrived { format!("{{arrival-ms={i}}}") } else { String::new() };
                format!("s{session} {i}: {} {times} {arrival}\n", ops.join(" "))
            };
        txns.into_iter().enumerate().map(line).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(text in any_history()) {
        let history = parse(&text).unwrap();
        let json = written(&text);
        // Zeros that nobody wrote would be the initial value, so they are refused.
        prop_assume!(!json.contains("reads of 0 without a writer"));
        let back = load(json.as_bytes()).unwrap();
        prop_assert_eq!(back.same_as(&history), Ok(()), "{}", json);
        // An independent judge of whether it is JSON.
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let source = Source::File(Input::new("h.json", json));
        prop_assert_eq!(looks_like(&source), history.txn_count() > 0);
    }

    #[test]
    fn damaged_files_do_not_panic(damage in damage(WHOLE.len())) {
        let bytes = damaged(WHOLE.as_bytes(), &damage);
        looks_like(&Source::File(Input::new("h.json", &*bytes)));
        if let Ok(history) = load(&bytes) {
            to_text(&history);
            // Whatever was read is written again or refused.
            let _ = write::write(&history, &mut Vec::new());
        }
    }
}

/// A file with everything in it.
const WHOLE: &str = r#"[{"tid": 1, "sid": "s\u00e9", "sts": {"p": "3", "l": 0}, "cts": {"p": 5, "l": 1},
 "ops": [{"t": "r", "k": 5, "v": null}, {"t": "r", "k": 6, "v": [1, 2]}, {"t": "a", "k": 6, "v": 3}],
 "rtts": 33}, {"x": {"y": [true, 1.5e3]}, "tid": 2, "sid": 1, "sts": 7, "cts": 7, "ops": []}]
"#;

#[test]
fn a_truncated_file_is_an_error_at_every_byte() {
    let end = WHOLE.trim_end().len();
    for len in 0..=WHOLE.len() {
        let result = load(&WHOLE.as_bytes()[..len]);
        assert_eq!(result.is_ok(), len >= end, "{len}");
        if let Err(error) = result
            && len > 0
        {
            assert!(error.hint.is_some_and(|hint| hint.contains("cut off")), "{len}");
        }
    }
}

#[test]
fn recognises_its_own_files_only() {
    let is = |text: &str| looks_like(&Source::File(Input::new("h.json", text)));
    assert!(is(WHOLE));
    let source = Source::File(Input::new("h.json", WHOLE));
    assert_eq!(Format::recognise(&source).unwrap().name, "timekiller");
    assert!(is(r#"[{"cts":1,"ops":[],"sts":2,"#));
    let long = txn(&vec![r#"{"t":"w","k":1,"v":2}"#; 9999].join(","));
    assert!(is(&format!("[{long}]")));
    for text in [
        "",
        "[]",
        "[{}]",
        "[[]]",
        r#"[{"type":"ok","f":"txn","process":0,"value":[["r",1,2]]}]"#,
        r#"[[{"events":[],"committed":true}]]"#,
        r#"{"value": [["r", 1, 1, true]]}"#,
        r#"{"tid":1,"sid":2,"sts":3,"cts":4,"ops":[]}"#,
        r#"[{"threadID":"0","transactionID":"0","operationID":"1","startTimestamp":1}]"#,
        "[x:=1 y:=2]",
    ] {
        assert!(!is(text), "{text}");
    }
    let files = vec![Input::new("h.json", WHOLE)];
    assert!(!looks_like(&Source::Folder { name: "x".to_owned(), files }));
}
