//! What traces cannot say, and that what can be read can be written.

use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::{comes_back, load, operations, slice, written};
use crate::notation::parse;

#[test]
fn what_traces_cannot_say_is_refused_by_name() {
    let refused = |text: &str, want: Expect| {
        let history = parse(&format!("meta rows by-column\n{text}")).unwrap();
        want.assert_eq(&written(&history).map(|_| ()).unwrap_err());
    };
    let ended = "@[1,9] {end-sent=8}";
    expect!["leopard cannot hold it: operations on whole values, for its rows are told by column"]
        .assert_eq(&written(&parse("a: w(x,1)").unwrap()).map(|_| ()).unwrap_err());
    refused(
        "a: w([t,1],{v:1})",
        expect![
            "leopard cannot hold it: the transaction at position 1: it has committed, but when COMMIT was sent and answered is not said"
        ],
    );
    refused(
        "a: [w([t,1],{v:1})]@[2,3] @[1,9]",
        expect![
            "leopard cannot hold it: the transaction at position 1: it has committed, but when COMMIT was sent and answered is not said"
        ],
    );
    refused(
        "a: [w([t,1],{v:1})]@[2,3] abort @[1,9]",
        expect![
            "leopard cannot hold it: the transaction at position 1: it has aborted, but when ROLLBACK was sent is not said"
        ],
    );
    refused(
        "a: [w([t,1],{v:1})]@[2,3] unknown @[1,9]",
        expect![
            "leopard cannot hold it: the transaction at position 1: it has an answer, but not what that said"
        ],
    );
    refused(
        "a: [w([t,1],{v:1})]@[2,3] @[1,9] ts(1,2) {end-sent=8}",
        expect![
            "leopard cannot hold it: the transaction at position 1: timestamps of the database"
        ],
    );
    refused(
        &format!("a: w([t,1],{{v:1}}) {ended}"),
        expect![
            "leopard cannot hold it: the transaction at position 1: when its UPDATE was sent is not known"
        ],
    );
    for (ops, want) in [
        (
            "append([t,1],{v:1})",
            expect!["leopard cannot hold it: the transaction at position 1: its append"],
        ),
        (
            "cas([t,1],{v:1},{v:2})",
            expect!["leopard cannot hold it: the transaction at position 1: its compare-and-set"],
        ),
        (
            "pred(p,[t,1]={v:1})",
            expect!["leopard cannot hold it: the transaction at position 1: its predicate read"],
        ),
        (
            "w(x,{v:1})",
            expect![
                "leopard cannot hold it: the transaction at position 1: the key x, which is not a table and a primary key"
            ],
        ),
        (
            "w([t,1],1)",
            expect![
                "leopard cannot hold it: the transaction at position 1: the value 1, which is no row of columns"
            ],
        ),
        (
            "w([t,1],{v:[1]})",
            expect![
                "leopard cannot hold it: the transaction at position 1: the column value [1], which is no whole number, and no text that does not read as one"
            ],
        ),
        (
            "w([t,1],{v:\"1\"})",
            expect![[
                r#"leopard cannot hold it: the transaction at position 1: the column value "1", which is no whole number, and no text that does not read as one"#
            ]],
        ),
        (
            "w([t,\"1\"],{v:1})",
            expect![[
                r#"leopard cannot hold it: the transaction at position 1: the primary key "1", which is no whole number, and no text that does not read as one"#
            ]],
        ),
        (
            "w([table1,1],{v:1})",
            expect![
                "leopard cannot hold it: the transaction at position 1: the key [table1,1], which is not a table and a primary key"
            ],
        ),
        (
            "w([t,1],{1:1})",
            expect![
                "leopard cannot hold it: the transaction at position 1: the value {1:1}, which is no row of columns"
            ],
        ),
        (
            "w!([t,1],{v:1})",
            expect![
                "leopard cannot hold it: the transaction at position 1: its write that did nothing, or perhaps nothing, but only with an error do all writes of a statement fail"
            ],
        ),
        (
            "w([t,1],{v:1}) r([t,1],{v:1})",
            expect![
                "leopard cannot hold it: the transaction at position 1: its read after something else in one statement"
            ],
        ),
        (
            "w([t,1],{v:1}) delete([t,1])",
            expect![
                "leopard cannot hold it: the transaction at position 1: its delete after something else in one statement"
            ],
        ),
        (
            "w([t,1],{v:1}) savepoint(s)",
            expect![
                "leopard cannot hold it: the transaction at position 1: its savepoint that is not a statement of its own"
            ],
        ),
        (
            "r([t,1],{v:1}){table=1}",
            expect![
                "leopard cannot hold it: the transaction at position 1: the attribute table, which is a member of its own"
            ],
        ),
    ] {
        refused(&format!("a: [{ops}]@[2,3] {ended}"), want);
    }
    refused(
        "a: []@[2,3]{kind=select} @[1,9] {end-sent=8}",
        expect![
            "leopard cannot hold it: the transaction at position 1: a statement of kind select"
        ],
    );
    refused(
        "a: []@[2,3]{kind=start} @[1,9] {end-sent=8}",
        expect!["leopard cannot hold it: the transaction at position 1: a statement of kind start"],
    );
    refused(
        "a: []@[2,3]{threadID=1} @[1,9] {end-sent=8}",
        expect![
            "leopard cannot hold it: the transaction at position 1: the attribute threadID, which is a member of its own"
        ],
    );
    refused(
        "a: []@[5,6] []@[2,3] @[1,9] {end-sent=8}",
        expect![
            "leopard cannot hold it: the transaction at position 1: the operation is started before an earlier one of its thread"
        ],
    );
    refused(
        "a: @[1,9] {end-sent=8,threadID=1}",
        expect![
            "leopard cannot hold it: the transaction at position 1: the attribute threadID, which is a member of its own"
        ],
    );
    refused(
        "a: @[1,9] {end-sent=8,traceLockMode=1}",
        expect![
            "leopard cannot hold it: the transaction at position 1: the attribute traceLockMode, which is a member of its own"
        ],
    );
    refused(
        "a: @[1,9] {end-sent=8,ending=1}",
        expect![
            "leopard cannot hold it: the transaction at position 1: its attribute ending, which is no row"
        ],
    );
    refused(
        "a T: @[1,9] {end-sent=8}\na: @[11,19] {end-sent=18}",
        expect![
            "leopard cannot hold it: the transaction at position 2: it has no name, but others have"
        ],
    );
    refused(
        "a T: @[1,9] {end-sent=8}\na T: @[11,19] {end-sent=18}",
        expect!["leopard cannot hold it: transaction T: another transaction has the same name"],
    );
    refused(
        "event kill @[1,2] n1",
        expect![
            "leopard cannot hold it: the event kill: it is none of ddl, distribute-schedule and fault"
        ],
    );
    refused(
        "event fault @[1,2] n1",
        expect!["leopard cannot hold it: the event fault: its detail is no row"],
    );
    refused("meta server x", expect!["leopard cannot hold it: the fact server about the run"]);
    refused("clock events", expect!["leopard cannot hold it: times that count events"]);
    refused("incomplete", expect!["leopard cannot hold it: that the history is incomplete"]);
    refused("initial 0", expect!["leopard cannot hold it: keys that are not absent at first"]);
    refused(
        "given x {v:1}",
        expect![
            "leopard cannot hold it: the initial row x: its name is not a table and a primary key"
        ],
    );
    refused(
        "given [t,1] 1",
        expect!["leopard cannot hold it: the initial row [t,1]: its value is no row of columns"],
    );
    refused(
        "given [t,1] {v:1}\ngiven [t,2] {w:1}",
        expect![
            "leopard cannot hold it: the initial row [t,2]: another row of the table has other columns"
        ],
    );
    refused(
        "given [\"../t\",1] {v:1}",
        expect![[r#"leopard cannot hold it: the initial row ["../t",1]: no file has such a name"#]],
    );
    refused(
        "order [t,1]: {v:1} {v:2}",
        expect!["leopard cannot hold it: the order of the versions of key [t,1]"],
    );
}

/// An operation of one of two transactions, with members that may mean anything.
fn any_operation() -> impl Strategy<Value = String> {
    let kinds = prop_oneof![
        4 => Just("SELECT"), 3 => Just("UPDATE"), 2 => Just("INSERT"), 2 => Just("DELETE"),
        2 => Just("START"), 2 => Just("COMMIT"), 2 => Just("ROLLBACK"), 1 => Just("SET_SNAPSHOT"),
        1 => Just("FAULT"),
    ];
    let member = prop_oneof![
        Just("\"traceLockMode\":\"NON_LOCK\""),
        Just("\"traceLockMode\":\"EXCLUSIVE_LOCK\""),
        Just("\"readMode\":\"LOCKING_READ\""),
        Just("\"predicateLock\":\"v > 1\""),
        Just("\"exception\":\"40001\""),
        Just("\"savepoint\":\"s\""),
        Just("\"isolationLevel\":\"SERIALIZABLE\""),
        Just("\"operationID\":\"0,1\""),
        Just("\"isWhereValid\":true"),
        Just("\"sql\":\"SELECT 1\""),
        Just(
            "\"readTupleList\":[{\"table\":\"0\",\"primaryKey\":\"1\",\"valueMap\":{\"v\":\"1\"}}]"
        ),
        Just("\"readTupleList\":[{\"valueMap\":{\"SNAPSHOT\":\"1,2\"}}]"),
        Just("\"readTupleList\":[{\"table\":\"0\"}]"),
        Just(
            "\"writeTupleList\":[{\"table\":\"0\",\"primaryKey\":\"x\",\"valueMap\":{\"v\":null},\"more\":1}]"
        ),
    ];
    let members = proptest::collection::hash_set(member, 0..4);
    (kinds, 0..3u8, members, any::<bool>()).prop_map(|(kind, txn, members, answered)| {
        let members: Vec<&str> = members.into_iter().collect();
        format!("{kind}:{txn}:#:{} {}", if answered { "#" } else { "" }, members.join(","))
    })
}

proptest::proptest! {
    /// Whatever is read is written, and read again as it was: traces are built as long as they can be read.
    #[test]
    fn what_is_read_comes_back(
        candidates in proptest::collection::vec(any_operation(), 0..40),
        damage in (0.0..1.0f64, any::<u8>()),
    ) {
        let mut lines: Vec<String> = Vec::new();
        for candidate in candidates {
            let at = lines.len();
            lines.push(candidate.replacen('#', &(10 * at).to_string(), 1).replace('#', &(10 * at + 5).to_string()));
            let text = operations(&lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>());
            if load(&slice(&text)).is_err() {
                lines.pop();
            }
        }
        let mut text = operations(&lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>());
        comes_back(&load(&slice(&text)).unwrap());
        let at = (damage.0 * text.len() as f64) as usize;
        text.replace_range(at..=at, &char::from(damage.1 & 0x7f).to_string());
        if let Ok(history) = load(&slice(&text)) {
            let _ = written(&history);
        }
    }
}
