use expect_test::{Expect, expect};

use super::*;
use crate::builder::HistoryBuilder;
use crate::source::Input;

fn source(text: &str) -> Source {
    Source::File(Input::new("history.json", text))
}

fn dump(text: &str) -> String {
    match FORMAT.load(&source(text)) {
        Ok(builder) => {
            let (history, warnings) = builder.finish_with_warnings();
            let mut out = crate::notation::to_text(&history);
            for warning in warnings.kept {
                out += &format!("warning: {warning}\n");
            }
            out
        }
        Err(error) => format!("{error}\n"),
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&dump(text));
}

const EXAMPLE: &str = r#"{"params": {"id": 0, "n_node": 2, "n_variable": 2, "n_transaction": 1, "n_event": 2},
 "info": "PostgreSQL", "start": "2022-07-22T23:12:34+08:00", "end": "2022-07-22T23:12:35+08:00",
 "data": [[{"events": [{"write": true, "variable": 1, "value": 7, "success": true},
                       {"write": false, "variable": 2, "value": 0, "success": true}],
            "success": true}],
          [],
          [{"events": [{"write": false, "variable": 1, "value": 7, "success": true},
                       {"write": false, "variable": 2, "value": 0, "success": false},
                       {"write": true, "variable": 2, "value": 9, "success": false}],
            "success": false}]]}
"#;

#[test]
fn everything_the_format_has() {
    check(
        EXAMPLE,
        &expect![[r#"
        meta parameters {id:0,n_event:2,n_node:2,n_transaction:1,n_variable:2}
        meta server PostgreSQL
        meta start "2022-07-22T23:12:34+08:00"
        meta end "2022-07-22T23:12:35+08:00"
        initial 0
        0: w(1,7) r(2,0)
        2: r(1,7) r!(2,_) w!(2,9) abort
    "#]],
    );
}

#[test]
fn members_in_any_order_and_members_nobody_knows() {
    let text = r#"{"data": [[{"note": [1], "success": true, "events":
        [{"success": true, "latency": 5, "value": 18446744073709551615, "variable": 1, "write": true}]}]],
        "seed": 5, "server": "x", "params": {"n_node": 1, "more": true}, "info": ""}"#;
    check(
        text,
        &expect![[r#"
        meta parameters {more:true,n_node:1}
        meta seed 5
        meta dbcop-server x
        initial 0
        0: w(1,18446744073709551615){latency=5} {note=[1]}
    "#]],
    );
}

#[test]
fn complaints_say_where_and_what() {
    let event = r#"{"write": true, "variable": 1, "value": 7, "success": true}"#;
    let faults = [
        "{}".to_owned(),
        "[]".to_owned(),
        r#"{"data": []} x"#.to_owned(),
        r#"{"data": [], "data": []}"#.to_owned(),
        r#"{"data": [], "info": "a", "info": "b"}"#.to_owned(),
        r#"{"data": [], "x": 1, "x": 2}"#.to_owned(),
        r#"{"data": [], "params": 5}"#.to_owned(),
        r#"{"data": [{}]}"#.to_owned(),
        r#"{"data": [[{"events": []}]]}"#.to_owned(),
        r#"{"data": [[{"success": true}]]}"#.to_owned(),
        r#"{"data": [[{"events": [], "success": 1}]]}"#.to_owned(),
        r#"{"data": [[{"events": [{"write": true, "variable": 1}], "success": true}]]}"#.to_owned(),
        r#"{"data": [[{"events": [{"write": true, "variable": -1}], "success": true}]]}"#
            .to_owned(),
        r#"{"data": [[{"events": [{"value": "7"}], "success": true}]]}"#.to_owned(),
        r#"{"data": [[{"events": [{"value": 7, "value": 7}], "success": true}]]}"#.to_owned(),
        format!(r#"{{"data": [[{{"events": [{event}"#),
    ];
    let all: String = faults.iter().map(|text| dump(text)).collect();
    expect![[r#"
        history.json:1:1: expected an object with a member "data", found '{}'
        history.json:1:1: expected '{', found '[]'
        history.json:1:14: expected the end, found 'x'
        history.json:1:22: the object names "data" twice
        history.json:1:35: the object names "info" twice
        history.json:1:27: the object names "x" twice
        history.json:1:24: expected an object with the parameters, found '5}'
        history.json:1:11: expected '[', found '{}]}'
        history.json:1:12: expected an object with a member "success", found '{"events": []}]]}'
        history.json:1:12: expected an object with a member "events", found '{"success": true}]]}'
        history.json:1:38: expected true or false, found '1}]]}'
        history.json:1:24: expected an object with a member "value", found '{"write": true, "variable": 1}], "succes…'
        history.json:1:52: expected a variable, a whole number of 64 bits without sign, found '-1}], "success": true}]]}'
        history.json:1:34: expected a value, a whole number of 64 bits without sign, found '"7"}], "success": true}]]}'
        history.json:1:46: the object names "value" twice
        history.json:1:83: expected ',' or ']', found the end of the file
    "#]].assert_eq(&all);
}

#[test]
fn too_many_unknown_members_are_refused() {
    let members: String = (0..100).map(|i| format!(r#""m{i}": 0, "#)).collect();
    check(
        &format!(r#"{{{members}"data": []}}"#),
        &expect![[r#"
        history.json:1:639: more than 64 unknown members
    "#]],
    );
}

#[test]
fn recognised_by_the_names_of_its_members() {
    let others = [
        "",
        "{}",
        "[]",
        r#"{"data": []}"#,
        r#"{"params": {}}"#,
        r#"[[{"events": [], "success": true}]]"#,
        r#"{"data": [[{"events": [], "committed": true}]]}"#,
        r#"{"data": [[{"events": [{"Read": {}}]}]]}"#,
        r#"{"value": [["r", 1, 1, true]]}"#,
        r#"[{"tid": 1, "sid": 1}]"#,
    ];
    for text in others {
        assert!(!(FORMAT.looks_like)(&source(text)), "{text}");
    }
    let mine = [
        EXAMPLE,
        r#"{"params": {"id": 0}, "data": []}"#,
        r#"{"data": [[], [{"events": [], "success": true}]]}"#,
        r#"{"data": [[{"x": 1, "events": [{"y": 1, "variable": 1"#,
    ];
    for text in mine {
        assert!((FORMAT.looks_like)(&source(text)), "{text}");
    }
}

#[test]
fn cut_and_damaged_texts_do_not_panic() {
    for at in 0..EXAMPLE.len() {
        let cut = source(&EXAMPLE[..at]);
        let whole = EXAMPLE[at..].trim().is_empty();
        assert_eq!((FORMAT.read)(&cut, &mut HistoryBuilder::new()).is_ok(), whole);
        let _ = (FORMAT.looks_like)(&cut);
        for byte in [0, b'"', b'[', b'}', b'7', 0xff] {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            bytes[at] = byte;
            let damaged = Source::File(Input::new("history.json", bytes));
            let _ = (FORMAT.read)(&damaged, &mut HistoryBuilder::new());
            let _ = (FORMAT.looks_like)(&damaged);
        }
    }
}
