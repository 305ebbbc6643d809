use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::HistoryBuilder;
use crate::error::ReadError;
use crate::notation::to_text;

fn file(name: &str, text: &str) -> Input {
    Input::new(name, text)
}

fn folder(files: &[(&str, &str)]) -> Source {
    let files = files.iter().map(|(name, text)| file(name, text)).collect();
    Source::Folder { name: "logs".to_owned(), files }
}

fn load(source: &Source) -> Result<HistoryBuilder, ReadError> {
    FORMAT.load(source)
}

/// The history, and the warnings below it; or the error.
fn show(source: &Source) -> String {
    match load(source) {
        Err(error) => format!("{error}\n"),
        Ok(builder) => {
            let (history, warnings) = builder.finish_with_warnings();
            let mut text = to_text(&history);
            for warning in warnings.kept {
                text.push_str(&format!("# {warning}\n"));
            }
            text
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&show(&Source::File(file("logs/J1.log", text))));
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check_folder(files: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&show(&folder(files)));
}

/// One transaction with these operations.
fn check_ops(ops: &str, expected: Expect) {
    check(&format!("{{\"value\": [{ops}]}}\n"), expected);
}

#[test]
fn reads_and_writes() {
    check_ops(
        r#"["r", 1, 17, false], ["r", "x", 0, false], ["w", 2, -8964206372042397882, true]"#,
        expect![[r#"
            incomplete
            J1: r(1,17) r(x,absent) w(2,-8964206372042397882)
        "#]],
    );
}

#[test]
fn a_dead_read_of_a_live_value_is_told_with_its_line() {
    let warning = |text: &str| {
        let builder = load(&Source::File(file("logs/J1.log", text))).unwrap();
        let (_, warnings) = builder.finish_with_warnings();
        warnings.kept.first().map(ToString::to_string)
    };
    let text = "{\"value\": [[\"w\", 1, 17, true]]}\n{\"value\": [[\"r\", 1, 17, true]]}\n";
    assert_eq!(
        warning(text).unwrap(),
        "logs/J1.log:2:1: key 1 is read as dead, and with the identifier 17, which a live write has: it is \
         taken as a read of a deleted key"
    );
    // The identifier of a delete, of another key's write, and of a write that was not done.
    assert_eq!(
        warning(&text.replace("[\"w\", 1, 17, true]", "[\"d\", 1, 17, 5, false, true]")),
        None
    );
    assert_eq!(warning(&text.replace("\"w\", 1", "\"w\", 2")), None);
    assert_eq!(warning(&text.replace("17, true]]}\n{", "17, false]]}\n{")), None);
}

#[test]
fn a_dead_read_is_absent_and_keeps_its_tombstone() {
    check_ops(
        r#"["r", 1, 17, true], ["r", 2, 0, true], ["r", 3, null, false]"#,
        expect![[r#"
        incomplete
        J1: r(1,absent){tombstone=17} r(2,absent) r(3,absent)
    "#]],
    );
}

#[test]
fn a_write_that_was_not_done_has_failed() {
    check_ops(
        r#"["w", 1, 5, false]"#,
        expect![[r#"
        incomplete
        J1: w!(1,5)
    "#]],
    );
}

#[test]
fn an_insert_reads_first_and_takes_effect_only_if_the_key_is_absent() {
    check_ops(
        r#"["i", 1, 5, 0, false, true], ["i", 2, 6, 4, true, true], ["i", 3, 7, 4, false, false]"#,
        expect![[r#"
            incomplete
            J1: [r(1,absent) insert(1,5)] [r(2,absent){tombstone=4} insert(2,6)] [r(3,4) insert!(3,7)]
        "#]],
    );
}

#[test]
fn an_insert_over_a_live_value_is_a_write_and_one_warning_tells() {
    let line = "{\"value\": [[\"i\", 1, 5, 4, false, true], [\"i\", 2, 6, 4, false, true]]}\n";
    check(
        &format!("{{\"value\": []}}\n{line}{line}"),
        expect![[r#"
            incomplete
            J1:
            J1: [r(1,4) w(1,5)] [r(2,4) w(2,6)]
            J1: [r(1,4) w(1,5)] [r(2,4) w(2,6)]
            # logs/J1.log:2:1: inserts that were done although they saw a live value are read as writes; there are 4 in this file, the first in this line
        "#]],
    );
}

#[test]
fn a_delete_reads_first_and_leaves_a_tombstone() {
    check_ops(
        r#"["d", 1, 9, 5, false, true], ["d", 2, 10, 9, true, false], ["d", 3, 0, 1, false, true]"#,
        expect![[r#"
            incomplete
            J1: [r(1,5) delete(1){tombstone=9}] [r(2,absent){tombstone=9} delete!(2){tombstone=10}] [r(3,1) delete(3)]
        "#]],
    );
}

#[test]
fn a_range_returns_rows_and_knows_the_dead_ones() {
    check_ops(
        r#"["range", 1, "nil", [{"id": 2, "sk": 2, "val": 8}, {"val": 9, "id": 3}], []],
           ["range", "nil", 5, [], [{"id": 4, "sk": 4, "val": 7}]],
           ["range", "a", "c", [{"id": "b", "sk": "z", "val": 3}], [{"id": "c", "sk": 1, "val": 0}]]"#
            .replace('\n', " ")
            .as_str(),
        expect![[r#"
            incomplete
            J1: pred([range,1,absent],2=8,3=9) pred([range,absent,5]){dead=[[4,7]]} pred([range,a,c],b=3){dead=[[c,absent]],sk=[[b,z],[c,1]]}
        "#]],
    );
}

#[test]
fn operations_as_objects() {
    check_ops(
        r#"{"opType": "r", "key": 1, "value": 17, "isDead": false, "reqTS": 5, "resTS": 6},
           {"opType": "r", "key": 1, "value": 17, "isDead": true, "forUpdate": true},
           {"opType": "w", "succ": true, "key": "x", "value": 18, "isDead": false},
           {"opType": "i", "key": 3, "value": 19, "readValue": 0, "isDead": false, "succ": true},
           {"opType": "d", "key": 4, "value": 20, "readValue": 7, "isDead": false, "succ": true,
            "reqTS": 7, "resTS": 9},
           {"opType": "range", "key1": -9223372036854775808, "key2": 9223372036854775807,
            "liveKVs": [{"id": 2, "sk": 2, "val": 8}], "deadKVs": []}"#
            .replace('\n', " ")
            .as_str(),
        expect![[r#"
            incomplete
            J1: r(1,17)@[5000000,6000000] r(1,absent){tombstone=17,forUpdate=true} w(x,18){isDead=false} [r(3,absent) insert(3,19)] [r(4,7) delete(4){tombstone=20}]@[7000000,9000000] pred([range,absent,absent],2=8)
        "#]],
    );
}

#[test]
fn times_are_milliseconds_and_those_never_taken_are_left_out() {
    let times = |a: i64, b: i64, c: i64, d: i64| {
        format!(
            "{{\"preBeginTS\": {a}, \"postBeginTS\": {b}, \"preCommitTS\": {c}, \
             \"postCommitTS\": {d}, \"value\": [[\"r\", 1, 2, false]]}}\n"
        )
    };
    check(
        &(times(1, 2, 3, 4) + &times(0, 0, -1, 1_663_798_322_622)),
        expect![[r#"
        incomplete
        J1: r(1,2) @[1000000,4000000] {post-begin=2000000,pre-commit=3000000}
        J1: r(1,2) @[_,1663798322622000000]
    "#]],
    );
    check(
        &times(1, 2, 3, 9_300_000_000_000),
        expect![[r#"
        logs/J1.log:1:71: the time does not fit in 64 bits of nanoseconds
    "#]],
    );
    check(
        &times(5, 2, 3, 4),
        expect![[r#"
        logs/J1.log:1:1: the transaction ends before it begins
    "#]],
    );
}

#[test]
fn sessions_are_files_and_other_files_are_not() {
    check_folder(
        &[
            ("logs/J1.log", "{\"value\": [[\"w\", 1, 2, true]]}\n\n{\"value\": []}\r\n"),
            ("logs/J10.log", "{\"value\": [[\"r\", 1, 2, false]]}\n"),
            ("logs/J11.log", ""),
            ("logs/config.yaml", "threads: 3\n"),
        ],
        expect![[r#"
            incomplete
            J1: w(1,2)
            J1:
            J10: r(1,2)
            # logs/config.yaml: ignored: Viper's files are named J<thread>.log
        "#]],
    );
}

#[test]
fn the_initial_transaction_is_the_initial_state() {
    check_folder(
        &[
            ("J0.log", "{\"value\": [[\"w\",1,5,true],[\"w\",2,6,true]], \"isInitial\": true}\n"),
            (
                "J1.log",
                "{\"value\": [[\"r\",1,5,false]], \"isInitial\": false, \"isFinal\": true}\n",
            ),
        ],
        expect![[r#"
            incomplete
            given 1 5
            given 2 6
            J1: r(1,5) {final=true}
        "#]],
    );
    let range = r#"["range","nil","nil",[{"id":1,"sk":1,"val":5}],[{"id":2,"sk":2,"val":9}]]"#;
    let initial = format!("{{\"postCommitTS\": 7, \"value\": [{range}], \"isInitial\": true}}\n");
    let rest = "{\"value\": [[\"r\",2,9,true]]}\n";
    check_folder(
        &[("J0.log", &initial), ("J1.log", rest)],
        expect![[r#"
        meta initial-transaction {dead:[[2,9]],end:7000000}
        incomplete
        given 1 5
        J1: r(2,absent){tombstone=9}
    "#]],
    );
    check(
        &(initial + rest),
        expect![[r#"
        meta initial-transaction {dead:[[2,9]],end:7000000}
        incomplete
        given 1 5
        J1: r(2,absent){tombstone=9}
    "#]],
    );
}

#[test]
fn an_initial_transaction_that_says_something_else_is_refused() {
    let initial = |ops: &str| format!("{{\"isInitial\": true, \"value\": [{ops}]}}\n");
    check(
        &initial(r#"["r",1,5,false]"#),
        expect![[r#"
        logs/J1.log:1:1: the initial transaction does not say what was there
          hint: it has nothing but writes that were done, or one range from "nil" to "nil"
    "#]],
    );
    check(
        &initial(r#"["w",1,5,false]"#),
        expect![[r#"
        logs/J1.log:1:1: the initial transaction does not say what was there
          hint: it has nothing but writes that were done, or one range from "nil" to "nil"
    "#]],
    );
    check(
        &initial(r#"["range",1,"nil",[],[]]"#),
        expect![[r#"
        logs/J1.log:1:1: the initial transaction does not say what was there
          hint: it has nothing but writes that were done, or one range from "nil" to "nil"
    "#]],
    );
    check(
        &initial(r#"["w",1,5,true],["w",1,6,true]"#),
        expect![[r#"
        logs/J1.log:1:1: the initial transaction has a key twice
    "#]],
    );
    check(
        &("{\"value\": []}\n".to_owned() + &initial("")),
        expect![[r#"
        logs/J1.log:2:1: the initial transaction is not the first of its file
          hint: "isInitial" marks the one that says what was there before all others
    "#]],
    );
    check_folder(
        &[("J0.log", &initial("")), ("J1.log", &initial(""))],
        expect![[r#"
        J1.log:1:1: a second initial transaction
          hint: only one file may start with a transaction that has "isInitial": true
    "#]],
    );
    check(
        "{\"isInitial\": true, \"isFinal\": true, \"value\": []}\n",
        expect![[r#"
        logs/J1.log:1:1: the transaction is both the initial and the final one
    "#]],
    );
}

#[test]
fn what_the_initial_operations_carry_besides_is_warned_about() {
    let op = r#"{"opType":"w","key":1,"value":5,"succ":true,"reqTS":3,"resTS":4}"#;
    check(
        &format!("{{\"isInitial\":true,\"value\":[{op}]}}\n"),
        expect![[r#"
            incomplete
            given 1 5
            # logs/J1.log:1:1: times and further members of the initial transaction's operations are not kept
        "#]],
    );
}

#[test]
fn unknown_members_become_attributes() {
    check(
        "{\"size\": 3, \"value\": [], \"node\": {\"name\": \"n1\"}}\n",
        expect![[r#"
        incomplete
        J1: {size=3,node={name:n1}}
    "#]],
    );
    check(
        "{\"size\": 3, \"value\": [], \"size\": 4}\n",
        expect![[r#"
        logs/J1.log:1:1: a member's name is there twice
    "#]],
    );
}

#[test]
fn a_half_written_last_line_is_diagnosed() {
    check(
        "{\"value\": []}\n{\"value\": [[\"r\", 1,",
        expect![[r#"
        logs/J1.log:2:20: expected the end of the last line, found the end of the file
          hint: the recorder was stopped while it wrote this line; without it the file can be read
    "#]],
    );
}

#[test]
fn a_whole_last_line_needs_no_end() {
    check(
        "{\"value\": []}\n{\"value\": [[\"r\", 1, 1, false]]}",
        expect![[r#"
        incomplete
        J1:
        J1: r(1,1)
    "#]],
    );
}

#[test]
fn errors_say_what_was_expected() {
    let faults = [
        "",
        "[]\n",
        "{:type :ok, :f :txn, :value [[:r 1 2 false]]}\n",
        "{\"isFinal\": true}\n",
        "{\"value\": [], \"value\": []}\n",
        "{\"value\": [\"r\"]}\n",
        "{\"value\": [[]]}\n",
        "{\"value\": [[\"append\", 1, 2]]}\n",
        "{\"value\": [[\"r\", 1, 2]]}\n",
        "{\"value\": [[\"r\", 1, 2, 3]]}\n",
        "{\"value\": [[\"r\", 1, 2, false, 4]]}\n",
        "{\"value\": [[\"r\", 1.5, 2, false]]}\n",
        "{\"value\": [[\"r\", 1, \"2\", false]]}\n",
        "{\"value\": [[\"w\", 1, 0, true]]}\n",
        "{\"value\": [[\"range\", 1, 2, [{\"id\": 1, \"val\": 0}], []]]}\n",
        "{\"value\": [[\"range\", 1, 2, [{\"id\": 1}], []]]}\n",
        "{\"value\": [[\"range\", 1, 2, [{\"id\": 1, \"vol\": 0}], []]]}\n",
        "{\"value\": [[\"range\", 1, 2, []]]}\n",
        "{\"value\": [{\"key\": 1}]}\n",
        "{\"value\": [{\"opType\": \"r\", \"key\": 1, \"value\": 2}]}\n",
        "{\"value\": [{\"opType\": \"r\", \"key\": 1, \"key\": 2}]}\n",
        "{\"value\": [{\"opType\": \"range\", \"key1\": 1, \"key2\": 2, \"liveKVs\": []}]}\n",
        "{\"value\": []} {\"value\": []}\n",
    ];
    let shown: String = faults.iter().map(|f| show(&Source::File(file("J1.log", f)))).collect();
    expect![[r#"
        J1.log: there are no transactions
          hint: Viper's files are named J<thread>.log
        J1.log:1:1: expected a transaction, an object in one line, found '[]'
        J1.log:1:2: expected a member's name in quotes, found ':type :ok, :f :txn, :value [[:r 1 2 fals…'
          hint: this is EDN: try --format jepsen-edn
        J1.log:1:1: expected a transaction with a member "value", found '{"isFinal": true}'
        J1.log:1:24: the transaction has "value" twice
        J1.log:1:12: expected an operation, an array or an object, found '"r"]}'
        J1.log:1:13: expected an operation: "r", "w", "i", "d" or "range", found ']]}'
        J1.log:1:13: expected an operation: "r", "w", "i", "d" or "range", found '"append", 1, 2]]}'
        J1.log:1:22: expected true or false: whether the key was deleted, found ']]}'
        J1.log:1:24: expected true or false: whether the key was deleted, found '3]]}'
        J1.log:1:29: expected ']' after the operation, found ', 4]]}'
        J1.log:1:18: expected a key, an integer or a text, found '1.5, 2, false]]}'
        J1.log:1:21: expected a value, an integer, found '"2", false]]}'
        J1.log:1:21: the operation writes 0, which is Viper's null value
          hint: 0 says that the key does not exist; a read of 0 could not be told from that
        J1.log:1:29: a live row holds 0, which is Viper's null value
          hint: 0 says that the key does not exist; a read of 0 could not be told from that
        J1.log:1:29: expected a row with "id" and "val", found '{"id": 1}], []]]}'
        J1.log:1:46: a row has no member "vol"
          hint: it has "id", "sk" and "val"
        J1.log:1:30: expected the dead rows of the range, found ']]}'
        J1.log:1:12: expected an operation with a member "opType", found '{"key": 1}]}'
        J1.log:1:12: expected an operation with "isDead", found '{"opType": "r", "key": 1, "value": 2}]}'
        J1.log:1:45: the operation has "key" twice
        J1.log:1:12: expected a range with "deadKVs", found '{"opType": "range", "key1": 1, "key2": 2…'
        J1.log:1:15: expected the end of the line after the transaction, found '{"value": []}'
    "#]].assert_eq(&shown);
    check_folder(
        &[("J1.log", "{\"value\": []}\n"), ("J1.txt", "")],
        expect![[r#"
        J1.txt: two files have the same name but for their extensions
          hint: each file is a session, named after the file
    "#]],
    );
    check_folder(
        &[("T1.log", "S")],
        expect![[r#"
        logs: there are no transactions
          hint: Viper's files are named J<thread>.log
    "#]],
    );
}

#[test]
fn recognises_its_own_files_only() {
    let ours = [
        r#"{"value": [["r", 1, 1, true], ["w", 2, 1, true]]}"#,
        r#"{"preBeginTS": 1, "value": [["i", "x", 1, 0, false, true]]}"#,
        r#"{"value": [["range", "nil", "nil", [], []]], "isInitial": true, "isFinal": false}"#,
        r#"{"value": [{"opType": "r", "key": 1, "value": 2, "isDead": false}]}"#,
        r#"{"value": [["r", 1, 1, true], [oops"#,
        r#"{"value": []}"#,
    ];
    for text in ours {
        assert!(looks_like(&Source::File(file("any", text))), "{text}");
        assert!(looks_like(&folder(&[("J1.log", ""), ("J2.log", text), ("x", "y")])), "{text}");
        assert!(!looks_like(&folder(&[("T1.log", text)])), "{text}");
        let named = Format::recognise(&folder(&[("J1.log", text)])).unwrap();
        assert_eq!(named.name, "viper");
    }
    let others = [
        "",
        "{}",
        r#"{"type": "ok", "f": "txn", "value": [["r", 1, 1]], "process": 0}"#,
        r#"{"value": [["r", 1, 1, true]], "type": "ok"}"#,
        r#"{"value": [["r", 1, 1]]}"#,
        r#"{"value": [["append", 1, 1, true]]}"#,
        r#"{"value": 5}"#,
        r#"[{"value": [["r", 1, 1, true]]}]"#,
        r#"[{"tid": 1, "sid": 1, "sts": {"p": 1, "l": 0}, "cts": {"p": 1, "l": 0}, "ops": []}]"#,
        r#"{"params": {"id": 0}, "info": "", "start": "", "end": "", "data": []}"#,
        "{:type :ok, :value [[:r 1 2 false]]}",
        "1 2 3",
    ];
    for text in others {
        assert!(!looks_like(&Source::File(file("J1.log", text))), "{text}");
    }
    let long =
        format!("{{\"value\": [[\"w\", 1, 2, true]{}]}}", ", [\"w\", 3, 4, true]".repeat(9999));
    assert!(looks_like(&Source::File(file("J1.log", &long))));
}

/// A file with everything in it.
const WHOLE: &str = concat!(
    r#"{"value": [["w", 1, 5, true], ["w", "x\u00e9", 6, true]], "isInitial": true}"#,
    "\n",
    r#"{"preBeginTS": 1, "postBeginTS": 2, "preCommitTS": 3, "postCommitTS": 4, "value": [["#,
    r#""r", 1, 5, false], ["i", 2, 7, 3, true, true], ["d", 1, 9, 5, false, true]]}"#,
    "\n",
    r#"{"value": [["range", 1, "nil", [{"id": 2, "sk": 3, "val": 7}], [{"id": 1, "val": 9}]]]}"#,
    "\n",
    r#"{"value": [{"opType": "r", "key": 1, "value": 9, "isDead": true, "resTS": 4}], "odd": []}"#,
    "\n",
);

#[test]
fn a_truncated_file_is_read_only_at_the_ends_of_lines() {
    assert!(load(&Source::File(file("J1.log", WHOLE))).is_ok());
    for len in 0..WHOLE.len() {
        let text = &WHOLE.as_bytes()[..len];
        let source = Source::File(Input::new("J1.log", text));
        let line_end = text.last() == Some(&b'\n') || WHOLE.as_bytes()[len] == b'\n';
        assert_eq!(load(&source).is_ok(), line_end, "{}", text.escape_ascii());
        looks_like(&source);
    }
}

proptest! {
    #[test]
    fn damaged_files_do_not_panic(damage in damage(WHOLE.len())) {
        let source = Source::File(Input::new("J1.log", damaged(WHOLE.as_bytes(), &damage)));
        looks_like(&source);
        if let Ok(builder) = load(&source) {
            to_text(&builder.finish());
        }
    }
}

/// Some edits of a file: where, how many bytes to remove, what to put there.
pub(crate) fn damage(len: usize) -> impl Strategy<Value = Vec<(usize, usize, Vec<u8>)>> {
    let telling = prop::sample::select(b"[]{},:\"\\0-e.ntf \n\xff".to_vec());
    let bytes = prop::collection::vec(prop_oneof![telling, any::<u8>()], 0..4);
    prop::collection::vec((0..len, 0usize..6, bytes), 1..5)
}

pub(crate) fn damaged(bytes: &[u8], damage: &[(usize, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, remove, insert) in damage {
        let at = (*at).min(bytes.len());
        let end = (at + remove).min(bytes.len());
        bytes.splice(at..end, insert.iter().copied());
    }
    bytes
}
