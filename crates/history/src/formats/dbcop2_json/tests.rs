use expect_test::{Expect, expect};

use super::*;
use crate::builder::HistoryBuilder;
use crate::source::Input;

fn source(text: &str) -> Source {
    Source::File(Input::new("history.json", text))
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

const EXAMPLE: &str = r#"{"params": {"id": 0, "n_node": 2, "n_variable": 2, "n_transaction": 1, "n_event": 2},
 "info": "", "start": "2025-01-01T00:00:00Z", "end": "2025-01-01T00:00:01Z",
 "data": [[{"events": [{"Read": {"variable": 0, "version": null}},
                       {"Write": {"variable": 0, "version": 1}}],
            "committed": true}],
          [{"events": [{"Read": {"version": 1, "variable": 0}}], "committed": false}]]}
"#;

const BARE: &str =
    r#"[[], [{"committed": true, "events": [{"Write": {"variable": 1, "version": 2}}]}]]"#;

#[test]
fn a_whole_document() {
    check(
        EXAMPLE,
        &expect![[r#"
        meta parameters {id:0,n_event:2,n_node:2,n_transaction:1,n_variable:2}
        meta start "2025-01-01T00:00:00Z"
        meta end "2025-01-01T00:00:01Z"
        0: r(0,absent) w(0,1)
        1: r(0,1) abort
    "#]],
    );
}

#[test]
fn version_0_that_nobody_writes_is_the_initial_state() {
    check(
        r#"[[{"events": [{"Read": {"variable": 0, "version": 0}},
                      {"Read": {"variable": 1, "version": 0}}], "committed": true}],
            [{"events": [{"Write": {"variable": 1, "version": 0}}], "committed": true}]]"#,
        &expect![[r#"
            0: r(0,absent) r(1,0)
            1: w(1,0)
        "#]],
    );
}

#[test]
fn variables_may_be_words() {
    check(
        r#"[[{"events": [{"Write": {"variable": "x", "version": 1}}], "committed": true}]]"#,
        &expect![[r#"
            0: w(x,1)
        "#]],
    );
}

#[test]
fn the_sessions_alone() {
    check(
        BARE,
        &expect![[r#"
        1: w(1,2)
    "#]],
    );
}

#[test]
fn members_nobody_knows() {
    let text = r#"{"data": [[{"events": [{"Read": {"variable": 1, "at": 5}}], "committed": true,
        "id": 9}]], "tool": "dbcop"}"#;
    check(
        text,
        &expect![[r#"
        meta tool dbcop
        0: r(1,absent){at=5} {id=9}
    "#]],
    );
}

#[test]
fn complaints_say_where_and_what() {
    let faults = [
        "5",
        "[{}]",
        "[[{}]]",
        r#"[[{"events": []}]]"#,
        r#"[[{"events": [{}], "committed": true}]]"#,
        r#"[[{"events": [{"Append": {}}], "committed": true}]]"#,
        r#"[[{"events": [{"Write": {"variable": 1, "version": null}}], "committed": true}]]"#,
        r#"[[{"events": [{"Write": {"variable": 1}}], "committed": true}]]"#,
        r#"[[{"events": [{"Read": {"version": 1}}], "committed": true}]]"#,
        r#"[[{"events": [{"Read": {"variable": 1}, "Write": {}}], "committed": true}]]"#,
        r#"[[]] []"#,
        r#"[[{"events": [], "committed": true}"#,
    ];
    let all: String = faults.iter().map(|text| dump(text)).collect();
    expect![[r#"
        history.json:1:1: expected an object with "data", or an array of sessions, found '5'
        history.json:1:2: expected '[', found '{}]'
        history.json:1:3: expected an object with a member "events", found '{}]]'
        history.json:1:3: expected an object with a member "committed", found '{"events": []}]]'
        history.json:1:15: expected an object with one member, "Read" or "Write", found '{}], "committed": true}]]'
        history.json:1:15: expected an object with one member, "Read" or "Write", found '{"Append": {}}], "committed": true}]]'
        history.json:1:52: expected a version, a whole number of 64 bits without sign, found 'null}}], "committed": true}]]'
        history.json:1:25: expected an object with a member "version", found '{"variable": 1}}], "committed": true}]]'
        history.json:1:24: expected an object with a member "variable", found '{"version": 1}}], "committed": true}]]'
        history.json:1:15: expected an object with one member, "Read" or "Write", found '{"Read": {"variable": 1}, "Write": {}}],…'
        history.json:1:6: expected the end, found '[]'
        history.json:1:36: expected ',' or ']', found the end of the file
    "#]].assert_eq(&all);
}

#[test]
fn recognised_by_the_names_of_its_members() {
    let others = [
        "[]",
        "[[]]",
        "[[1]]",
        r#"{"params": {"id": 0}, "data": []}"#,
        r#"{"params": {}, "data": [[{"events": [{"write": true}], "success": true}]]}"#,
        r#"[{"type": "ok", "value": []}]"#,
    ];
    for text in others {
        assert!(!(FORMAT.looks_like)(&source(text)), "{text}");
    }
    for text in [EXAMPLE, BARE, r#"[[{"events": [{"Read": {"#] {
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
