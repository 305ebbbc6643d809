//! Logs made by hand, and what becomes of them.

use expect_test::{Expect, expect};

use super::*;
use crate::builder::HistoryBuilder;
use crate::source::Input;

const INIT: i64 = 0xBEBE_EBEE;
const NULL: i64 = 0xDEAD_BEEF;
const DELETE: i64 = 0xABCD_EFAB;
const MISSING: i64 = 0xADEA_FBEE;
const GC_TRUE: i64 = 0x2333_2333;
const GC_FALSE: i64 = 0x6666_6666;
const UNKNOWN: i64 = 0xABDD_EFEE;

/// A log in the making.
#[derive(Clone, Default)]
struct Log {
    bytes: Vec<u8>,
    time: Option<i64>,
}

impl Log {
    fn record(mut self, tag: u8, fields: &[i64]) -> Log {
        self.bytes.push(tag);
        for field in fields {
            self.bytes.extend(field.to_be_bytes());
        }
        self
    }

    fn timed(time: i64) -> Log {
        Log { time: Some(time), ..Log::default() }
    }

    fn edge(mut self, tag: u8, txn: i64) -> Log {
        let Some(time) = self.time else { return self.record(tag, &[txn]) };
        self.time = Some(time + 1);
        self.record(tag, &[txn, time])
    }

    fn start(self, txn: i64) -> Log {
        self.edge(b'S', txn)
    }

    fn commit(self, txn: i64) -> Log {
        self.edge(b'C', txn)
    }

    fn write(self, id: i64, key: i64, hash: i64) -> Log {
        self.record(b'W', &[id, key, hash])
    }

    fn read(self, writer: i64, id: i64, key: i64, hash: i64) -> Log {
        self.record(b'R', &[writer, id, key, hash])
    }

    fn text_key(mut self, key: &[u8], hash: i64) -> Log {
        self.bytes.extend((key.len() as u32).to_be_bytes());
        self.bytes.extend(key);
        self.bytes.extend(hash.to_be_bytes());
        self
    }
}

fn folder(logs: &[Log]) -> Source {
    let files = logs.iter().enumerate();
    let files = files.map(|(i, log)| Input::new(format!("run/T{i}.log"), log.bytes.clone()));
    Source::Folder { name: "run".to_owned(), files: files.collect() }
}

fn dump(source: &Source) -> String {
    let mut builder = HistoryBuilder::new();
    if let Err(error) = (FORMAT.read)(source, &mut builder) {
        return format!("{error}\n");
    }
    let (history, warnings) = builder.finish_with_warnings();
    let mut out = crate::notation::to_text(&history);
    for warning in warnings.kept {
        out += &format!("warning: {warning}\n");
    }
    out
}

fn check(logs: &[Log], expected: &Expect) {
    let source = folder(logs);
    expected.assert_eq(&dump(&source));
}

fn log() -> Log {
    Log::default()
}

#[test]
fn reads_find_the_writes_of_other_logs() {
    let one = log().start(1).read(2, 20, 7, 99).commit(1);
    let two = log().start(2).write(20, 7, 99).commit(2).start(3).commit(3);
    let source = folder(&[one.clone(), two.clone()]);
    assert!(looks_like(&source));
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1: r(7,20)
            T1 2: w(7,20)
            T1 3:
        "#]],
    );
}

#[test]
fn what_was_there_before_the_run() {
    let one = log().start(1).read(INIT, INIT, 7, 99).read(NULL, NULL, 8, 0).commit(1);
    check(
        &[one],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            given 7 :"init"
            T0 1: r(7,:"init") r(8,absent)
        "#]],
    );
}

#[test]
fn reads_that_disagree_on_what_was_there_before_the_run() {
    let one = log().start(1).read(INIT, INIT, 7, 99).read(NULL, NULL, 7, 0).commit(1);
    let two = log().start(2).read(NULL, NULL, 7, 0).read(5, INIT, 7, 98).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            given 7 :"init"
            T0 1: r(7,:"init") r(7,absent)
            T1 2: r(7,absent) r(7,[:"init",98]){writer=5}
            warning: run/T0.log:byte 42: reads disagree on whether this key existed before the run, or with what
            warning: run/T1.log:byte 42: a read saw the hash 98 where another read has 99: the value is taken for one that no transaction wrote
            warning: run/T1.log:byte 42: a read names transaction 5 as the writer of what was there before the run
        "#]],
    );
}

#[test]
fn deletes_leave_nothing_to_read() {
    let one = log().start(1).write(DELETE, 7, 0).commit(1);
    let two = log().start(2).read(1, DELETE, 7, 0).read(MISSING, MISSING, 8, 0).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1: delete(7)
            T1 2: r(7,absent){writer=1} r(8,:"missing")
        "#]],
    );
}

#[test]
fn fences_are_told_apart_by_their_writer() {
    let one = log().start(1).read(INIT, GC_FALSE, 7, 0).write(GC_TRUE, 7, 1).commit(1);
    let two = log().start(2).read(1, GC_TRUE, 7, 1).write(GC_TRUE, 7, 1).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            given 7 [:"gc-false",:"init"]
            T0 1: r(7,[:"gc-false",:"init"]) w(7,[:"gc-true",1])
            T1 2: r(7,[:"gc-true",1]) w(7,[:"gc-true",2])
        "#]],
    );
}

#[test]
fn a_read_with_another_hash_than_its_write_is_a_read_of_nothing_known() {
    let one = log().start(1).write(10, 7, 99).commit(1);
    let two = log().start(2).read(1, 10, 7, 98).read(5, 50, 7, 1).read(5, 50, 7, 2).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1: w(7,10)
            T1 2: r(7,[10,98]) r(7,50){writer=5} r(7,[50,2]){writer=5}
            warning: run/T1.log:byte 9: a read saw the hash 98 where its writer has 99: the value is taken for one that no transaction wrote
            warning: run/T1.log:byte 75: a read saw the hash 2 where another read has 1: the value is taken for one that no transaction wrote
        "#]],
    );
}

#[test]
fn a_read_that_names_the_wrong_writer() {
    let one = log().start(1).write(10, 7, 99).commit(1);
    let two = log().start(2).read(3, 10, 7, 99).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1: w(7,10)
            T1 2: r(7,10){writer=3}
            warning: run/T1.log:byte 9: a read says that transaction 3 made write 10, but transaction 1 did
        "#]],
    );
}

#[test]
fn identifiers_that_are_used_twice() {
    let one = log().start(1).write(10, 7, 99).commit(1);
    let two = log().start(1).write(10, 7, 98).commit(1).start(2).read(1, 10, 7, 1).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1: w(7,10)
            T1 1: w(7,10)
            T1 2: r(7,10){writer=1}
            warning: run/T1.log:byte 0: transaction 1 starts a second time; it has started in run/T0.log
            warning: run/T1.log:byte 9: write 10 of the same key was made by transaction 1 already
        "#]],
    );
}

/// The recorder logs NULL for every read that finds nothing, deleted keys included.
#[test]
fn absence_after_a_delete_contradicts_no_initial_value() {
    let one = log().start(1).read(INIT, INIT, 7, 5).write(DELETE, 7, 9).commit(1);
    let two = log().start(2).read(NULL, NULL, 7, 0).commit(2);
    check(
        &[one, two],
        &expect![[r#"
        meta cobra-variant plain
        incomplete
        given 7 :"init"
        T0 1: r(7,:"init") delete(7)
        T1 2: r(7,absent)
    "#]],
    );
}

#[test]
fn intervals_go_from_the_commit_before_to_the_start_after() {
    let one = Log::timed(1_700_000_000_000).start(1).write(10, 7, 99).commit(1).start(2).commit(2);
    assert!(looks_like(&folder(std::slice::from_ref(&one))));
    check(
        &[one],
        &expect![[r#"
            meta cobra-variant timestamps
            incomplete
            T0 1: w(7,10) @[_,1700000000002000000] {start-time=1700000000000000000,commit-time=1700000000001000000}
            T0 2: @[1700000000001000000,_] {start-time=1700000000002000000,commit-time=1700000000003000000}
        "#]],
    );
    let backwards = log().record(b'S', &[1, 5]).record(b'C', &[1, 4]);
    check(
        &[backwards],
        &expect![[r#"
            meta cobra-variant timestamps
            incomplete
            T0 1: {start-time=5000000,commit-time=4000000}
            warning: run/T0.log:byte 17: transaction 1 commits before it starts
        "#]],
    );
    let late = log().record(b'S', &[1, i64::MAX]).record(b'C', &[1, 4]);
    check(
        &[late],
        &expect![[r#"
        run/T0.log:byte 0: the time 9223372036854775807 ms does not fit into 64-bit nanoseconds
    "#]],
    );
}

#[test]
fn keys_that_are_texts() {
    let one = log().start(1).record(b'W', &[10]).text_key(b"key:1", 99).commit(1);
    let two = log().start(2).record(b'R', &[1, 10]).text_key(b"key:1", 99);
    let two = two.record(b'R', &[NULL, NULL]).text_key(b"\xff", 0).commit(2);
    assert!(looks_like(&folder(&[one.clone(), two.clone()])));
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant string-keys
            incomplete
            T0 1: w("key:1",10)
            T1 2: r("key:1",10) r(0xff,absent)
        "#]],
    );
    let timed = Log::timed(5).start(1).record(b'W', &[10]).text_key(b"key:1", 99).commit(1);
    check(
        &[timed],
        &expect![[r#"
            meta cobra-variant string-keys-timestamps
            incomplete
            T0 1: w("key:1",10) {start-time=5000000,commit-time=6000000}
        "#]],
    );
}

#[test]
fn values_are_hashes_where_the_writer_is_unknown() {
    let one = log().start(1).write(UNKNOWN, 7, 99).write(11, 8, 98).write(11, 8, 97).commit(1);
    let two = log().start(2).read(UNKNOWN, UNKNOWN, 7, 99).read(INIT, INIT, 9, 5).commit(2);
    check(
        &[one, two],
        &expect![[r#"
            meta cobra-variant unknown-writer
            incomplete
            given 9 :"init"
            T0 1: w(7,99) w(8,98){write-id=11} w(8,97){write-id=11}
            T1 2: r(7,99) r(9,:"init")
        "#]],
    );
}

#[test]
fn a_transaction_that_was_still_running_has_an_unknown_outcome() {
    check(
        &[log().start(1).commit(1).start(2).write(10, 7, 99)],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1:
            T0 2: w(7,10) unknown
            warning: run/T0.log:byte 27: transaction 2 has not committed when the log ends: its outcome is unknown
        "#]],
    );
}

#[test]
fn a_record_that_was_half_written_is_an_error() {
    let mut cut = log().start(1).write(10, 7, 99).commit(1);
    cut.bytes.pop();
    assert!(!looks_like(&folder(std::slice::from_ref(&cut))));
    check(
        &[log().start(2).commit(2), cut],
        &expect![[r#"
        run/T1.log:byte 34: the file ends within the last record ('C', 8 bytes)
          hint: if the client was killed while it wrote, cut the file to its first 34 bytes
    "#]],
    );
}

#[test]
fn records_that_do_not_nest() {
    check(
        &[log().start(1).write(1, 1, 1).start(2)],
        &expect![[r#"
        run/T0.log:byte 34: transaction 2 starts before transaction 1 has committed
    "#]],
    );
    check(
        &[log().start(1).write(1, 1, 1).commit(2)],
        &expect![[r#"
        run/T0.log:byte 34: transaction 2 commits, but transaction 1 is the one that runs
    "#]],
    );
    check(
        &[log().start(1).write(1, 1, 1).commit(1).commit(1)],
        &expect![[r#"
        run/T0.log:byte 43: transaction 1 commits without having started
    "#]],
    );
    check(
        &[log().start(1).write(1, 1, 1).commit(1).write(1, 1, 1)],
        &expect![[r#"
        run/T0.log:byte 43: an operation outside of any transaction
    "#]],
    );
    check(
        &[log().start(1).write(1, 1, 1).record(b'A', &[1])],
        &expect![[r#"
            run/T0.log:byte 34: expected a record: one of the letters S, R, W, C, found 'A\x00\x00\x00\x00\x00\x00\x00\x01'
              hint: 'A' would be an abort; Cobra logs only transactions that committed
        "#]],
    );
    check(
        &[log().start(1).write(INIT, 1, 1).commit(1)],
        &expect![[r#"
        run/T0.log:byte 9: a write cannot have the identifier 0xBEBEEBEE
          hint: it stands for what was or was not there before the run
    "#]],
    );
}

#[test]
fn empty_logs_and_logs_without_operations_are_read_as_plain_ones() {
    check(
        &[log(), log()],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
        "#]],
    );
    check(
        &[log().start(1).commit(1)],
        &expect![[r#"
            meta cobra-variant plain
            incomplete
            T0 1:
        "#]],
    );
    check(
        &[],
        &expect![[r#"
            run: no log to read
        "#]],
    );
}

#[test]
fn logs_that_fit_two_layouts_are_refused() {
    // A start and a read, or a start with a time and a write: both take 42 bytes.
    let mut bytes = log().start(1).read(2, 20, 7, 99).bytes;
    bytes[17] = b'W';
    let source = Source::File(Input::new("a.log", bytes));
    expect![[r#"
        a.log: the logs can be read in more than one layout: plain, timestamps
          hint: Cobra logs do not say which; a longer log would decide it
    "#]]
    .assert_eq(&dump(&source));
}

#[test]
fn other_files_are_not_taken_for_logs() {
    for text in
        ["", "S", "Some text that starts with an S\n", "SELECT 1;\nCOMMIT;\n", "{\"value\": []}"]
    {
        assert!(!looks_like(&Source::File(Input::new("a.log", text))), "{text}");
    }
    let other = Input::new("b.log", "text");
    let log = Input::new("a.log", log().start(1).commit(1).bytes);
    assert!(looks_like(&Source::File(log.clone())));
    let mixed = Source::Folder { name: "run".to_owned(), files: vec![log, other] };
    assert!(!looks_like(&mixed));
}

#[test]
fn a_first_transaction_longer_than_the_look_is_recognised() {
    let long = (0..5000).fold(log().start(1), |log, i| log.write(i, i, i)).commit(1);
    assert!(looks_like(&folder(&[long])));
}

/// Neither cut nor damaged logs may panic, whatever else they do.
#[test]
fn damaged_logs_do_not_panic() {
    let text = log().start(1).record(b'W', &[10]).text_key(b"key:1", 99).commit(1);
    let plain = log().start(1).read(INIT, INIT, 7, 1).write(10, 7, 99).commit(1).start(2);
    let timed = Log::timed(5).start(1).write(10, 7, 99).commit(1);
    for log in [text, plain, timed] {
        for len in 0..log.bytes.len() {
            let source = Source::File(Input::new("a.log", &log.bytes[..len]));
            let _ = (looks_like(&source), dump_quietly(&source));
        }
        for at in 0..log.bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = log.bytes.clone();
                bytes[at] ^= flip;
                let source = Source::File(Input::new("a.log", bytes));
                let _ = (looks_like(&source), dump_quietly(&source));
            }
        }
    }
}

fn dump_quietly(source: &Source) -> bool {
    (FORMAT.read)(source, &mut HistoryBuilder::new()).is_ok()
}

/// The sample folders, where they are at hand.
#[test]
#[cfg(feature = "files")]
fn sample_folders_load() {
    let shared = std::env::var("ISOLDE_SHARED").unwrap_or_else(|_| "../../../shared".to_owned());
    let expected = [("chengRW-100", 100, 800), ("chengRW-1000", 961, 7688), ("cock-G2", 446, 1338)];
    for (name, txns, ops) in expected {
        let path = std::path::Path::new(&shared).join("histories/cobra").join(name);
        if !path.exists() {
            return;
        }
        let source = Source::open(&path).unwrap();
        assert_eq!(Format::recognise(&source).unwrap().name, "cobra");
        let mut builder = HistoryBuilder::new();
        (FORMAT.read)(&source, &mut builder).unwrap();
        let (history, warnings) = builder.finish_with_warnings();
        assert_eq!((history.txn_count(), history.op_count(), warnings.count), (txns, ops, 0));
    }
}
