//! What traces mean, what is refused and where, and that they come back as they were.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::{FORMAT, looks_like};
use crate::formats::Format;
use crate::history::History;
use crate::notation::{parse, to_text};
use crate::source::{Input, Source};

fn folder(files: &[(&str, &str)]) -> Source {
    let files = files.iter().map(|(name, text)| Input::new(*name, *text)).collect();
    Source::Folder { name: "trace".to_owned(), files }
}

fn load(source: &Source) -> Result<History, String> {
    FORMAT.load(source).map(|builder| builder.finish()).map_err(|error| error.to_string())
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
fn check(lines: &[&str], want: Expect) {
    let history = load(&slice(&operations(lines))).unwrap_or_else(|error| panic!("{error}"));
    want.assert_eq(&to_text(&history));
    comes_back(&history);
}

#[track_caller]
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
