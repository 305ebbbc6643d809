//! What traces mean, what is refused and where, and that they come back as they were.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use expect_test::{Expect, expect};

use super::{FORMAT, looks_like};
use crate::builder::HistoryBuilder;
use crate::formats::Format;
use crate::history::History;
use crate::notation::to_text;
use crate::source::{Input, Source};

mod writing;

fn folder(files: &[(&str, &str)]) -> Source {
    let files = files.iter().map(|(name, text)| Input::new(*name, *text)).collect();
    Source::Folder { name: "trace".to_owned(), files }
}

fn load(source: &Source) -> Result<History, String> {
    FORMAT.load(source).map(HistoryBuilder::finish).map_err(|error| error.to_string())
}

fn slice(text: &str) -> Source {
    Source::File(Input::new("loader-0.0.json", text))
}

/// Operations of thread 0, with the members that all of them have left out where `:` stands.
fn operations(lines: &[&str]) -> String {
    let operation = |line: &&str| {
        let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
        let parts: Vec<&str> = head.split(':').collect();
        let [kind, txn, begin, end] = parts[..] else { panic!("{line}") };
        let end =
            if end.is_empty() { String::new() } else { format!(",\"finishTimestamp\":{end}") };
        let rest = if rest.is_empty() { String::new() } else { format!(",{rest}") };
        format!(
            "{{\"threadID\":\"0\",\"transactionID\":\"{txn}\",\"operationTraceType\":\"{kind}\",\
             \"startTimestamp\":{begin}{end}{rest}}}"
        )
    };
    format!("[{}]", lines.iter().map(operation).collect::<Vec<_>>().join(",\n"))
}

#[track_caller]
#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn check(lines: &[&str], want: Expect) {
    let history = load(&slice(&operations(lines))).unwrap_or_else(|error| panic!("{error}"));
    want.assert_eq(&to_text(&history));
    comes_back(&history);
}

#[track_caller]
#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn fails(text: &str, want: Expect) {
    want.assert_eq(&load(&slice(text)).map(|history| to_text(&history)).unwrap_err());
}

/// A folder in memory.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<BTreeMap<String, Vec<u8>>>>);

struct MemoryFile(Memory, String);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.0.0.borrow_mut();
        files.entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(history: &History) -> Result<Source, String> {
    let memory = Memory::default();
    let mut make = |name: &str| -> io::Result<Box<dyn Write>> {
        memory.0.borrow_mut().insert(name.to_owned(), Vec::new());
        Ok(Box::new(MemoryFile(memory.clone(), name.to_owned())))
    };
    FORMAT.write_folder.unwrap()(history, &mut make).map_err(|error| error.to_string())?;
    let files = memory.0.take().into_iter().map(|(name, bytes)| Input::new(name, bytes)).collect();
    Ok(Source::Folder { name: "written".to_owned(), files })
}

/// Written and read again, as a folder, and as one slice if there are no initial rows.
#[track_caller]
fn comes_back(history: &History) {
    let source = written(history).unwrap();
    assert!(looks_like(&source));
    let back = load(&source).unwrap_or_else(|error| panic!("{error}"));
    history.same_as(&back).unwrap();
    let mut bytes = Vec::new();
    let one = FORMAT.write.unwrap()(history, &mut bytes);
    if !history.meta().initial.given.is_empty() {
        let error = one.unwrap_err().to_string();
        assert!(error.contains("the initial row"), "{error}");
        return;
    }
    one.unwrap();
    let back = load(&Source::File(Input::new("one", bytes))).unwrap();
    history.same_as(&back).unwrap();
}

fn sample() -> Source {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../histories/leopard/two-threads");
    Source::open(std::path::Path::new(path)).unwrap()
}

#[test]
fn a_folder_is_recognised_and_means_what_it_says() {
    let source = sample();
    assert_eq!(Format::recognise(&source).unwrap().name, "leopard");
    let history = load(&source).unwrap();
    assert!(history.rows_by_column());
    expect![[r#"
        meta rows by-column
        given [0,0] {name:ann,v:10}
        given [0,1] {name:"bob, or \"bo\"",v:20}
        given [0,2] {name:null,v:30}
        event fault @[1390,1395] {fault:"kill -9",threadID:"0-0-1"}
        "0-0-0" "0-0-0,0": [r([0,0],{v:10})]@[1110,1200]{lock=none,read-mode=consistent,sql="SELECT v FROM table0 WHERE pkId = 0"} [r([0,0],{v:10}) w([0,0],{v:11}){real-values={v:11}}]@[1210,1300]{lock=exclusive,read-mode=locking} @[1000,1400] {level="repeatable read",traceLockMode=EXCLUSIVE_LOCK,readMode=CONSISTENT_READ,end-sent=1310,begin-answered=1100}
        "0-0-0" "0-0-0,1": [insert([0,3],{name:dee,v:40})]@[1560,1600]{lock=exclusive,read-mode=locking} savepoint(s1)@[1610,1620] [delete([0,2])]@[1630,1640]{lock=exclusive,read-mode=locking} rollback(s1)@[1650,1660] @[1500,1700] {level="repeatable read",end-sent=1670,begin-answered=1550}
        "0-0-1" "0-0-1,0": []@[1160,1170]{snapshot-interval=[1000,1100]} [r([0,1],{name:"bob, or \"bo\"",v:20}) r([0,2],{name:null,v:30})]@[1180,1250]{lock=share,read-mode=locking,predicate="v > 15"} [w!([0,0],{v:12})]@[1260,1360]{lock=exclusive,read-mode=locking,error="ERROR: could not serialize access due to concurrent update"} abort @[1050,1380] {level="repeatable read",end-sent=1370,begin-answered=1150}
        "0-0-1" "0-0-1,1": [r([0,2],{v:30}) r([0,9],absent)]@[1740,1760]{lock=none,read-mode=consistent} unknown @[1720,_] {level="read committed",end-sent=1770,begin-answered=1730}
    "#]].assert_eq(&to_text(&history));
    comes_back(&history);
}

#[test]
fn natives_keep_all_of_it() {
    let history = load(&sample()).unwrap();
    for name in ["isolde", "jsonl", "notation"] {
        let native = Format::named(name).unwrap();
        let mut bytes = Vec::new();
        native.write.unwrap()(&history, &mut bytes).unwrap();
        let back = native.load(&Source::File(Input::new(name, bytes))).unwrap().finish();
        history.same_as(&back).unwrap();
        comes_back(&back);
    }
}

#[test]
fn how_transactions_begin_and_end() {
    check(
        &[
            // No START: it begins with its first statement. Without an end nobody knows.
            r#"UPDATE:a:10:20 "writeTupleList":[{"table":"t","primaryKey":1,"valueMap":{"v":1.50,"w":true}}]"#,
            "START:b:30:40",
            "COMMIT:b:50:60 \"exception\":\"lost\"",
            // A COMMIT that failed, and then a ROLLBACK.
            "START:c:70:80 \"isolationLevel\":\"Odd Level\",\"wall\":5,\"exception\":\"slow\"",
            "COMMIT:c:90:100 \"exception\":\"40001\",\"sql\":\"COMMIT\"",
            "ROLLBACK:c:110:120 \"readMode\":\"UNCOMMITTED_READ\",\"operationID\":\"c,2\"",
            "ROLLBACK:d:130: \"exception\":\"gone\"",
            // BEGIN is answered with the first statement, which goes without saying.
            "START:e:140:160",
            "SELECT:e:145:160",
            "COMMIT:e:170:180",
        ],
        expect![[r#"
            meta rows by-column
            0 a: w([t,1],{v:"1.50",w:true})@[10,20] unknown @[10,_]
            0 b: unknown @[30,60] {end-sent=50,error=lost,begin-answered=40}
            0 c: []@[90,100]{kind=commit,error="40001",sql=COMMIT} abort @[70,120] {end-sent=110,begin-answered=80,level="Odd Level",exception=slow,wall=5,ending={readMode:UNCOMMITTED_READ}}
            0 d: abort @[130,_] {end-sent=130,error=gone}
            0 e: []@[145,160] @[140,180] {end-sent=170}
        "#]],
    );
}

#[test]
fn what_statements_are() {
    check(
        &[
            "START:a:1:2",
            r#"UPDATE:a:3:4 "predicateLock":"v > 1","traceLockMode":"SHARE_LOCK""#,
            r#"DELETE:a:5:6 "readTupleList":[{"table":"table3"},{"table":3,"primaryKey":"007","valueMap":{}}],"writeTupleList":[{"table":"3","primaryKey":"007","valueMap":{"v":null},"note":[1,{"x":null}]}]"#,
            r#"INSERT:a:7:8 "readTupleList":[{"table":3,"primaryKey":"x,1"}],"isWhereValid":true"#,
            r#"START:a:9:10 "savepoint":1"#,
            r#"START:a:11:12 "savepoint":2,"exception":"no""#,
            r#"ROLLBACK:a:13:14 "savepoint":1"#,
            r#"COMMIT:a:15:16 "savepoint":1"#,
            r#"SELECT:a:17:18 "savepoint":"s","exception":"","operationID":"a,99""#,
            r#"SET_SNAPSHOT:a:19:20 "savepoint":1,"writeTupleList":[{"table":"0","valueMap":{"SNAPSHOT":"-5, 7"}}]"#,
            r#"SELECT:a:21: "sql":{"$":"unobserved"}"#,
        ],
        expect![[r#"
            meta rows by-column
            0 a: []@[3,4]{kind=update,lock=share,predicate="v > 1"} [r([3,"007"],{}) delete([3,"007"]){values={v:null},note=[1,{x:absent}]}]@[5,6]{locked-tables=[3]} [r([3,"x,1"],_)]@[7,8]{kind=insert,isWhereValid=true} savepoint(1)@[9,10] []@[11,12]{kind=start,error=no,savepoint=2} rollback(1)@[13,14] release(1)@[15,16] []@[17,18]{savepoint=s,operationID="a,99"} []@[19,20]{savepoint=1,snapshot-interval=[-5,7],snapshot-of=[0,absent]} []@[21,_]{sql=_} unknown @[1,_] {begin-answered=2}
        "#]],
    );
}

#[test]
fn events_have_all_that_was_said() {
    let text = r#"[{"startTimestamp":5,"operationTraceType":"DDL","sql":"CREATE","readTupleList":3,"finishTimestamp":9},
        {"operationTraceType":"DistributeSchedule","startTimestamp":1}]"#;
    let history = load(&slice(text)).unwrap();
    expect![[r#"
        meta rows by-column
        event ddl @[5,9] {readTupleList:3,sql:CREATE}
        event distribute-schedule @[1,_]
    "#]]
    .assert_eq(&to_text(&history));
    comes_back(&history);
}

#[test]
fn what_is_torn_or_contradicts_itself_is_refused_where_it_does() {
    let op = |lines: &[&str]| operations(lines);
    fails("", expect!["loader-0.0.json:1:1: expected '[', found the end of the file"]);
    fails(
        "[{\"threadID\":1",
        expect!["loader-0.0.json:1:15: expected ',' or '}', found the end of the file"],
    );
    fails(
        "[{}]",
        expect![[
            r#"loader-0.0.json:1:2: expected an object with a member "operationTraceType", found '{}]'"#
        ]],
    );
    fails("[] x", expect!["loader-0.0.json:1:4: expected the end, found 'x'"]);
    fails("[3]", expect!["loader-0.0.json:1:2: expected '{', found '3]'"]);
    fails(
        &op(&["LOOK:a:1:2"]),
        expect![[
            r#"loader-0.0.json:1:59: expected one of SELECT, UPDATE, INSERT, DELETE, START, COMMIT, ROLLBACK, SET_SNAPSHOT, DDL, DistributeSchedule, FAULT, found '"LOOK","startTimestamp":1,"finishTimesta…'"#
        ]],
    );
    fails(
        &op(&["SELECT:a:2:1"]),
        expect!["loader-0.0.json:1:2: the operation is finished before it is started"],
    );
    fails(
        &op(&["SELECT:a:3:9", "SELECT:a:2:9"]),
        expect![
            "loader-0.0.json:2:1: the operation is started before an earlier one of its thread"
        ],
    );
    fails(
        &op(&["SELECT:a:3:9", "SELECT:a:4:8"]),
        expect![
            "loader-0.0.json:2:1: the operation is finished before an earlier one of its thread"
        ],
    );
    fails(
        &op(&["START:a:1:2", "START:a:3:4"]),
        expect!["loader-0.0.json:2:1: the transaction is started twice"],
    );
    fails(
        &op(&["COMMIT:a:1:2", "SELECT:a:3:4"]),
        expect![
            "loader-0.0.json:2:1: the transaction was over: it had ended, or another one had begun"
        ],
    );
    fails(
        &op(&["SELECT:a:1:2", "SELECT:b:3:4", "SELECT:a:5:6"]),
        expect![
            "loader-0.0.json:3:1: the transaction was over: it had ended, or another one had begun"
        ],
    );
    fails(
        &op(&["COMMIT:a:1:2 \"exception\":\"x\"", "SELECT:a:3:4"]),
        expect!["loader-0.0.json:2:1: after a COMMIT that failed, only ROLLBACK can follow"],
    );
    fails(
        &op(&["START:a:1:2 \"savepoint\":\"s\""]),
        expect!["loader-0.0.json:1:2: a savepoint outside of a transaction"],
    );
    fails(
        &op(&["SELECT:a:1:2", "ROLLBACK:a:3:4 \"savepoint\":\"s\""]),
        expect!["loader-0.0.json:2:1: the transaction has no such savepoint"],
    );
    fails(
        &op(&["SELECT:a:1:2 \"traceLockMode\":\"LOCK\""]),
        expect![[
            r#"loader-0.0.json:1:123: expected one of NON_LOCK, SHARE_LOCK, EXCLUSIVE_LOCK, found '"LOCK"}]'"#
        ]],
    );
    fails(
        &op(&["SELECT:a:1:2 \"readMode\":7"]),
        expect!["loader-0.0.json:1:118: expected a word, found '7}]'"],
    );
    fails(
        &op(&["SELECT:a:1:2 \"sql\":1,\"sql\":2"]),
        expect![[r#"loader-0.0.json:1:121: the object names "sql" twice"#]],
    );
    fails(
        &op(&["SELECT:a:1:2 \"sql\":1,\"error\":2,\"exception\":3"]),
        expect!["loader-0.0.json:1:2: two members say the same thing"],
    );
    fails(
        &op(&["SET_SNAPSHOT:a:1:2"]),
        expect![[
            r#"loader-0.0.json:1:2: expected one tuple with "valueMap": {"SNAPSHOT": "start,finish"}, found '{"threadID":"0","transactionID":"a","ope…'"#
        ]],
    );
    fails(
        &op(&["SELECT:a:-9223372036854775808:2"]),
        expect![[
            r#"loader-0.0.json:1:85: expected a time above -2^63, found '-9223372036854775808,"finishTimestamp":2…'"#
        ]],
    );
    let row = |kind: &str, list: &str, tuple: &str| {
        operations(&[&format!("{kind}:a:1:2 \"{list}TupleList\":[{tuple}]")])
    };
    fails(
        &row("SELECT", "write", r#"{"table":1,"primaryKey":2,"valueMap":{}}"#),
        expect!["loader-0.0.json:1:125: a SELECT writes no row"],
    );
    fails(
        &row("COMMIT", "read", r#"{"table":1,"primaryKey":2,"valueMap":{}}"#),
        expect!["loader-0.0.json:1:124: COMMIT has no rows"],
    );
    fails(
        &row("UPDATE", "write", r#"{"table":1,"primaryKey":2}"#),
        expect![[
            r#"loader-0.0.json:1:125: expected a row with the columns that were written, found '{"table":1,"primaryKey":2}]}]'"#
        ]],
    );
    fails(
        &row("UPDATE", "write", r#"{"table":1,"valueMap":{}}"#),
        expect![[
            r#"loader-0.0.json:1:125: expected a row with "table" and "primaryKey", found '{"table":1,"valueMap":{}}]}]'"#
        ]],
    );
    fails(
        &row("SELECT", "read", r#"{"primaryKey":2,"valueMap":{}}"#),
        expect![[
            r#"loader-0.0.json:1:124: expected a row with "table" and "primaryKey", found '{"primaryKey":2,"valueMap":{}}]}]'"#
        ]],
    );
    fails(
        &row("SELECT", "read", r#"{"table":1,"valueMap":{"a":1}}"#),
        expect!["loader-0.0.json:1:124: columns of a row that has no primary key"],
    );
    fails(
        &row("SELECT", "read", r#"{"table":1,"primaryKey":[]}"#),
        expect![
            "loader-0.0.json:1:148: expected the name of a row, a text or a number, found '[]}]}]'"
        ],
    );
    fails(
        &row("SELECT", "read", r#"{"table":1,"primaryKey":2,"valueMap":{"a":[1]}}"#),
        expect![
            "loader-0.0.json:1:166: expected a text, a number, true, false or null, found '[1]}}]}]'"
        ],
    );
    fails(
        &row("SELECT", "read", r#"{"table":1,"primaryKey":2,"valueMap":{"a":1,"a":1}}"#),
        expect!["loader-0.0.json:1:161: the row names a column twice"],
    );
}

#[test]
fn folders_that_are_torn_or_contradict_themselves_are_refused() {
    let one = operations(&["SELECT:a:1:2"]);
    let other = operations(&["SELECT:b:3:4"]);
    let refused = |files: &[(&str, &str)], want: Expect| {
        want.assert_eq(&load(&folder(files)).map(|history| to_text(&history)).unwrap_err());
    };
    let table = "pkId,v\n1,2\n";
    refused(
        &[("T0.log", &one)],
        expect!["trace: expected slices named loader-<thread>.<slice>.json"],
    );
    refused(
        &[("loader-0.0.json", &one), ("loader-0.2.json", &other)],
        expect!["loader-0.2.json: slice 1 of thread 0 is missing"],
    );
    refused(
        &[("loader-0.0.json", &one), ("loader-0.00.json.gz", &other)],
        expect!["loader-0.00.json.gz: another file is the same slice of its thread"],
    );
    refused(
        &[("loader-0.0.json", &one), ("loader-1.0.json", &other)],
        expect![[r#"
        loader-1.0.json:1:2: the operations of a thread do not stand together
          hint: each thread has slices of its own, loader-<thread>.<slice>.json"#]],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "id,v\n")],
        expect!["i/table0.csv:1:1: expected the header pkId,<column>,..., found 'id,v'"],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "")],
        expect![
            "i/table0.csv:1:1: expected the header pkId,<column>,..., found the end of the file"
        ],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "pkId,v,v\n")],
        expect!["i/table0.csv:1:8: the header names a column twice"],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "pkId,v\n1,2\n2\n")],
        expect!["i/table0.csv:3:2: expected ',' and the next column, found the end of the line"],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "pkId,v\n1,2,3\n")],
        expect!["i/table0.csv:2:4: expected the end of the row, found ',3'"],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "pkId,v\n1,2\n1,3\n")],
        expect!["i/table0.csv:3:1: the table has another row of this primary key"],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("i/table0.csv", "pkId,v\n1,\"2\n")],
        expect![[r#"i/table0.csv:2:3: expected a field that ends with '"', found '"2'"#]],
    );
    refused(
        &[("loader-0.0.json", "[]"), ("table0.csv", table), ("0.csv", table)],
        expect!["0.csv:2:1: the table has another row of this primary key"],
    );
    let spans = folder(&[
        ("loader-10.0.json", &operations(&[]).replace("\"0\"", "\"10\"")),
        ("loader-2.1.json", &operations(&["COMMIT:a:3:4"])),
        ("loader-2.0.json", &one),
        ("notes.txt", "x"),
        ("people.csv", "pkId,\"a,b\"\r\n1,\"\"\r\n2,\"NULL\"\r\n3,null\r\n"),
    ]);
    let (history, warnings) = FORMAT.load(&spans).unwrap().finish_with_warnings();
    assert_eq!(warnings.count, 1);
    expect![[r#"
        meta rows by-column
        given [people,1] {"a,b":""}
        given [people,2] {"a,b":NULL}
        given [people,3] {"a,b":null}
        0 a: []@[1,2] @[1,4] {end-sent=3}
    "#]]
    .assert_eq(&to_text(&history));
    comes_back(&history);
}
