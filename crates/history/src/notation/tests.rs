#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::{Expect, expect};

use super::{parse, to_text};

/// Reads, writes, and reads again: the second text must be the first.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let written = to_text(&parse(text).unwrap());
    expected.assert_eq(&written);
    assert_eq!(to_text(&parse(&written).unwrap()), written, "not stable");
}

#[track_caller]
fn fails(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text).err().unwrap().to_string());
}

#[test]
fn transactions_with_their_outcomes() {
    check(
        "# a comment\ninitial 0\n\n a: r(x, 0)  w(x,1) # another\nb T2: r(x,0) w(x,2) abort\n\
         a: commit\n3 -4: w(x,1) unknown",
        expect![[r#"
            initial 0
            a: r(x,0) w(x,1)
            b T2: r(x,0) w(x,2) abort
            a:
            3 -4: w(x,1) unknown
        "#]],
    );
}

#[test]
fn every_operation() {
    check(
        "a: append(l,1) list(l,[1,2]) list(l,[]) list(l,_) cas(x,1,2) cas!(x,1,2) cas?(x,1,2) \
         insert(x,1) insert!(x,1) delete(x) pred(\"v > 3\",x=1,y=2) pred(p) pred(p,_) r(x,_) w!(x,1)",
        expect![[r#"
            a: append(l,1) list(l,[1,2]) list(l,[]) list(l,_) cas(x,1,2) cas!(x,1,2) cas?(x,1,2) insert(x,1) insert!(x,1) delete(x) pred("v > 3",x=1,y=2) pred(p) pred(p,_) r(x,_) w!(x,1)
        "#]],
    );
}

#[test]
fn savepoints_undo_what_follows_them() {
    let text = "a: w(x,1) savepoint(s) w(x,2) r(x,2) rollback(s) w(y,1) release(s)\n";
    check(
        text,
        expect![[r#"
        a: w(x,1) savepoint(s) w(x,2) r(x,2) rollback(s) w(y,1) release(s)
    "#]],
    );
    let history = parse(text).unwrap();
    let undone: Vec<bool> = history.ops().map(|op| op.undone()).collect();
    assert_eq!(undone, [false, false, true, true, false, false, false]);
    let nested = "a: savepoint(s) w(x,1) savepoint(t) w(x,2) rollback(t) w(x,3) rollback(s) w(x,4)";
    let undone: Vec<bool> = parse(nested).unwrap().ops().map(|op| op.undone()).collect();
    assert_eq!(undone, [false, true, true, true, true, true, false, false]);
    assert!(parse("a: savepoint(s) release(s) rollback(s)").is_err());
    assert!(parse("a: savepoint(s) savepoint(t) rollback(s) rollback(t)").is_err());
}

#[test]
fn every_value() {
    check(
        r##"a: w(1,-5) w("1",1.0) w(x,1e300) w(x,nan) w(x,-inf) w(x,"a b\n\"") w(x,"true") w(x,true)
            b: w(x,absent) w(x,null) w(x,0x00ff) w(x,:k) w(x,:"#inst \"2026\"") w(x,18446744073709551615)"##,
        expect![[r##"
            a: w(1,-5) w("1",1.0) w(x,1e300) w(x,nan) w(x,-inf) w(x,"a b\n\"") w(x,"true") w(x,true)
            b: w(x,absent) w(x,null) w(x,0x00ff) w(x,:k) w(x,:"#inst \"2026\"") w(x,18446744073709551615)
        "##]],
    );
    check(
        "a: w(x,[]) w(x,[1,[2,[]],{}]) w(x,{b:2,a:[1]}) w([t,1],{a:{b:1}})",
        expect![[r#"
            a: w(x,[]) w(x,[1,[2,[]],{}]) w(x,{a:[1],b:2}) w([t,1],{a:{b:1}})
        "#]],
    );
}

#[test]
fn every_evidence() {
    check(
        "clock events\nincomplete\nmeta server \"postgres 15\"\nmeta parameters {keys:5}\n\
         initial none\ngiven x 5\nevent partition @[5,_] {node:n1}\nevent heal\n\
         a: [r(x,1) w(x,2)]@[1,2]{affected=1,lock=exclusive} r(y,1)@[3,4] [] r(z,1){path=index} \
         @[_,9] ts(5.1,9) {level=serializable,read-only=true,snapshot={xmin:1,xmax:5,xip:[2]}}\n\
         \"order\": r(x,1) ts(_,3)\n\
         order x: 1 2 3",
        expect![[r#"
            meta server "postgres 15"
            meta parameters {keys:5}
            clock events
            incomplete
            initial none
            given x 5
            event partition @[5,_] {node:n1}
            event heal
            a: [r(x,1) w(x,2)]@[1,2]{affected=1,lock=exclusive} r(y,1)@[3,4] [] r(z,1){path=index} @[_,9] ts(5.1,9) {level=serializable,read-only=true,snapshot={xip:[2],xmax:5,xmin:1}}
            "order": r(x,1) ts(_,3)
            order x: 1 2 3
        "#]],
    );
}

#[test]
fn views_give_the_evidence_back() {
    let h = parse(
        "a: [r(x,1)]@[1,2]{lock=share,affected=3} @[0,9] ts(5.1,9) {read-only=true,snapshot={xmin:1,xmax:5,xip:[2]}}",
    )
    .unwrap();
    let txn = h.txns().next().unwrap();
    assert_eq!(txn.read_only(), Some(true));
    assert_eq!(txn.snapshot().unwrap().in_progress, [2]);
    assert_eq!(txn.start_ts().unwrap().logical, 1);
    let stmt = txn.stmts().next().unwrap();
    assert_eq!((stmt.lock(), stmt.affected()), (Some(crate::LockMode::Share), Some(3)));
    assert_eq!(stmt.interval(), crate::Interval::new(1, 2));
}

#[test]
fn errors_say_what_was_expected() {
    fails(
        "a r(x,1)",
        expect![[
            r#"<text>:1:4: expected ':' after the session (and the transaction's name), found '(x,1)'"#
        ]],
    );
    fails(
        "a: q(x,1)",
        expect![[r#"
        <text>:1:4: expected an operation, found 'q(x,1)'
          hint: operations are r, w, append, list, cas, insert, delete, pred, savepoint, rollback, release"#]],
    );
    fails(
        "a: r(x,1)\nb: r(x",
        expect!["<text>:2:7: expected ',' and a value, found the end of the file"],
    );
    fails("a: rollback(s)", expect!["<text>:1:4: the transaction has no savepoint of that name"]);
    fails(
        "a: w(x,5x)",
        expect![[r#"
        <text>:1:8: expected a number, found '5x)'
          hint: a text that starts with a digit is written in quotes"#]],
    );
    fails("a: w(x,{a:1,a:2})", expect!["<text>:1:8: the row names a column twice"]);
    fails(
        &format!("a: w(x,{})", "[".repeat(100)),
        expect!["<text>:1:72: values nest more than 64 deep"],
    );
    fails(
        "a: w(x,1) nonsense",
        expect!["<text>:1:11: expected the end of the line, found 'nonsense'"],
    );
}

#[test]
fn names_must_be_there() {
    for key in
        ["r(_,1)", "delete( _)", "list(_,[])", "cas(_,1,2)", "pred(p,x=1,_=2)", "pred(p,_=2)"]
    {
        let error = parse(&format!("a: {key}")).map(drop).unwrap_err().to_string();
        assert!(error.ends_with(": a key must have a name"), "{error}");
    }
    fails("order _: 1", expect!["<text>:1:7: a key must have a name"]);
    fails("given _ 1", expect!["<text>:1:7: a key must have a name"]);
    fails("_: r(x,1)", expect!["<text>:1:1: a session must have a name"]);
    fails("a _: r(x,1)", expect!["<text>:1:3: a labelled transaction must have a name"]);
}

/// Found by fuzzing: such a history could not be written as jsonl.
#[test]
fn what_is_said_twice_is_an_error() {
    fails("given x 1\ngiven x 2", expect!["<text>:2:7: the key has an initial value already"]);
    fails(
        "order x: 1 2\norder y: 1\n order  x: 1 2",
        expect!["<text>:3:9: the key has a version order already"],
    );
    fails("meta a 1\nmeta a 1", expect!["<text>:2:6: the fact has been said already"]);
}

/// The examples of the documentation are histories.
#[test]
fn the_examples_of_the_documentation_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/notation.md");
    let page = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<&str> = page.split("```notation\n").skip(1).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        let text = block.split("```").next().unwrap();
        parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

#[test]
fn what_would_fool_a_terminal_is_escaped_and_comes_back() {
    let text = "a: w(\"\\u001b[2J\\u009b\\u202e\\u2066\\u2028\\ufeff\",\"é漢🙂\")\n";
    let history = parse(text).unwrap();
    let written = to_text(&history);
    assert!(written.contains("\\u001b[2J\\u009b\\u202e\\u2066\\u2028\\ufeff"), "{written}");
    assert!(written.contains("é漢🙂"), "{written}");
    assert_eq!(to_text(&parse(&written).unwrap()), written);
}

#[test]
fn people_are_not_told_what_other_evidence_says() {
    let text = "a: [r(x,1){path=for-update}]@[2,3]{lock=exclusive} [r(y,1)]{lock=share} @[1,9] {end-sent=7,seq=1}";
    let history = parse(text).unwrap();
    let txn = history.txns().next().unwrap();
    let (mut whole, mut brief) = (String::new(), String::new());
    crate::notation::write_txn(&history, txn, &mut whole);
    crate::notation::write_txn_briefly(&history, txn, &mut brief);
    assert_eq!(whole, text);
    assert_eq!(brief, "a: r(x,1){path=for-update} [r(y,1)]{lock=share} @[1,9] {seq=1}");
}
