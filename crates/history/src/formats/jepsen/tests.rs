use expect_test::{Expect, expect};

use super::*;
use crate::builder::{HistoryBuilder, Warnings};
use crate::history::History;
use crate::notation;
use crate::source::{Input, Source};

mod gaps;

fn load(format: &Format, text: &[u8]) -> Result<(History, Warnings), crate::ReadError> {
    let source = Source::File(Input::new("t", text));
    format.load(&source).map(HistoryBuilder::finish_with_warnings)
}

fn show(format: &Format, text: &[u8]) -> String {
    match load(format, text) {
        Ok((history, warnings)) => {
            let mut out = notation::to_text(&history);
            for warning in warnings.kept {
                out += &format!("warning: {warning}\n");
            }
            out
        }
        Err(error) => format!("{error}\n"),
    }
}

#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&show(&JEPSEN_EDN, text.as_bytes()));
}

#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn check_json(text: &str, expect: Expect) {
    expect.assert_eq(&show(&JEPSEN_JSON, text.as_bytes()));
}

#[test]
fn list_append_with_every_outcome() {
    check(
        "{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}
{:index 1, :time 6, :type :invoke, :process 1, :f :txn, :value [[:append 2 1] [:r 1 nil]]}
{:index 2, :time 7, :type :ok, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}
{:index 3, :time 8, :type :info, :process 1, :f :txn, :value [[:append 2 1] [:r 1 [9]]], :error :timeout}
{:index 4, :time 9, :type :invoke, :process 0, :f :txn, :value [[:append 1 2]]}
{:index 5, :time 10, :type :fail, :process 0, :f :txn, :value nil, :error [:conflict \"x\"], :node \"n1\"}
{:index 6, :time 11, :type :invoke, :process 2, :f :txn, :value [[:r 1 nil]]}
{:index 7, :time 12, :type :invoke, :process 0, :f :txn, :value [[:r 1 nil]]}
{:index 8, :time 13, :type :ok, :process 0, :f :txn, :value [[:r 1 [1]] [:r 2 []]]}
",
        expect![[r#"
            clock events
            0 2: append(1,1) list(2,[]) @[0,2] {wall-begin=5,wall-end=7}
            1 3: append(2,1) list(1,_) unknown @[1,_] {wall-begin=6,wall-end=8,error=:timeout}
            0 5: append(1,2) abort @[4,5] {wall-begin=9,wall-end=10,error=[:conflict,x],node=n1}
            0 8: list(1,[1]) list(2,[]) @[7,8] {wall-begin=12,wall-end=13}
            2 6: list(1,_) unknown @[6,_] {wall-begin=11}
        "#]],
    );
}

#[test]
fn any_key_order_comments_tags_lists_and_no_commas() {
    check(
        "; a comment\n(#jepsen.history.Op{:value [[:w :x 2]] :f :txn :process 0 :type :invoke} #_{:a 1}
 {:f :txn \"odd\" 7 :extra/key {:a 1} :type :ok, :value ([:w :x 2]), :process 0})",
        expect![[r#"
            clock events
            0: w(:x,2) @[0,1] {"\"odd\""=7,extra/key={:a:1}}
        "#]],
    );
}

#[test]
fn a_completion_that_writes_something_else_than_was_asked_is_told_with_its_line() {
    check(
        "{:type :invoke :process 0 :f :txn :value [[:w 1 1]]}\n\
         {:type :ok :process 0 :f :txn :value [[:w 2 2]]}",
        expect![[r#"
            clock events
            0: w(2,2) @[0,1]
            warning: t:2:1: the completion says something else than its invocation asked for: what the completion says is taken as done
        "#]],
    );
}

#[test]
fn registers_read_nil_as_absent_and_vectors_as_values() {
    check(
        "{:type :ok :process 0 :value [[:w 1 [7]] [:r 2 nil] [:r 1 [7]] [:w \"k\" 1.5]]}",
        expect![[r#"
            clock events
            0: w(1,[7]) r(2,absent) r(1,[7]) w(k,1.5) @[_,0]
        "#]],
    );
}

#[test]
fn reads_alone_show_whether_keys_hold_lists() {
    check(
        "{:type :ok :process 0 :value [[:r 1 nil] [:r 2 [3]]]}",
        expect![[r#"
        clock events
        0: list(1,[]) list(2,[3]) @[_,0]
    "#]],
    );
    check(
        "{:type :ok :process 0 :value [[:r 1 nil] [:r 2 3]]}",
        expect![[r#"
        clock events
        0: r(1,absent) r(2,3) @[_,0]
    "#]],
    );
}

#[test]
fn completions_alone_are_a_history() {
    check(
        "[{:type :ok :process 0 :value [[:append 1 1]]} {:type :fail :process 1 :value [[:append 1 2]]}
          {:type :info :process 2 :value [[:append 1 3] [:r 1 nil]]}]",
        expect![[r#"
            clock events
            0: append(1,1) @[_,0]
            1: append(1,2) abort @[_,1]
            2: append(1,3) list(1,_) unknown
        "#]],
    );
}

#[test]
fn operations_without_a_process_are_sessions_of_their_own() {
    check(
        "[{:type :invoke, :f :read, :value [[:r 0 nil]]}, {:type :ok, :f :read, :value [[:r 0 1]]},
          {:type :ok, :f :read, :value [[:r 0 1]]} {:type :invoke, :f :read, :value [[:r 0 nil]]}]",
        expect![[r#"
            clock events
            :"none-0": r(0,1) @[0,1] {f=:read}
            :"none-1": r(0,1) @[_,2] {f=:read}
            :"none-2": r(0,_) unknown @[3,_] {f=:read}
            warning: t:1:2: operations without a process: each is taken as a session of its own, so nothing is known of the order in which a client ran them
        "#]],
    );
}

#[test]
fn a_process_may_go_on_after_an_unknown_outcome() {
    check(
        "{:type :invoke :process 0 :value [[:w 1 1]]} {:type :info :process 0}
         {:type :invoke :process 0 :value [[:r 1 nil]]} {:type :ok :process 0 :value [[:r 1 1]]}",
        expect![[r#"
            clock events
            0: w(1,1) unknown @[0,_]
            0: r(1,1) @[2,3]
        "#]],
    );
}

#[test]
fn the_nemesis_is_on_the_time_line() {
    check(
        "{:type :info :process :nemesis :f :start :value nil}
         {:type :ok :process 0 :value []}
         {:type :info :process :nemesis :f :start :value \"cut\" :time 5 :clock {:a 1}}",
        expect![[r#"
            clock events
            event :start @[0,_]
            event :start @[2,_] {clock:{:a:1},time:5,value:cut}
            0: @[_,1]
        "#]],
    );
}

#[test]
fn single_objects_without_a_name() {
    check(
        "[{:process 0 :type :invoke :f :write :value 3} {:process 1 :type :invoke :f :cas :value [1 2]}
          {:process 0 :type :ok :f :write :value 3} {:process 1 :type :fail :f :cas :value [1 2]}
          {:process 0 :type :invoke :f :read :value nil} {:process 0 :type :ok :f :read :value 3}
          {:process 0 :type :invoke :f :read :value nil} {:process 0 :type :fail :f :read :value nil}
          {:process 0 :type :invoke :f :cas :value [3 4]} {:process 0 :type :ok :f :cas :value [3 4]}
          {:process 0 :type :invoke :f :cas :value [4 5]} {:process 0 :type :info :f :cas :value :timed-out}
          {:process 1 :type :invoke :f :read} {:process 1 :type :ok :f :read :value nil}]",
        expect![[r#"
            clock events
            0: w(register,3) @[0,2]
            1: cas!(register,1,2) abort @[1,3]
            0: r(register,3) @[4,5]
            0: r(register,_) abort @[6,7]
            0: cas(register,3,4) @[8,9]
            0: cas?(register,4,5) unknown @[10,_]
            1: r(register,absent) @[12,13]
        "#]],
    );
}

#[test]
fn single_objects_with_a_name() {
    check(
        "{:type :invoke, :f :cas, :value [0 [0 1]], :time 49, :process 3, :index 2}
         {:type :ok, :f :cas, :value [0 [0 1]], :time 50, :process 3, :index 3}
         {:type :invoke, :f :read, :value [7 nil], :process 4}
         {:type :ok, :f :read, :value #clojure.lang.MapEntry[7 1], :process 4}
         {:type :invoke, :f :write, :value [7 2], :process 4}",
        expect![[r#"
            clock events
            3 3: cas(0,0,1) @[0,1] {wall-begin=49,wall-end=50}
            4: r(7,1) @[2,3]
            4: w(7,2) unknown @[4,_]
        "#]],
    );
}

#[test]
fn a_mutex_is_compared_and_set() {
    check(
        "{:process 0, :type :invoke, :f :acquire, :value nil}
{:process 1, :type :invoke, :f :acquire}
{:process 0, :type :ok, :f :acquire, :value nil}
{:process 1, :type :fail, :f :acquire, :value :timeout}
{:process 0, :type :invoke, :f :release, :value nil}
{:process 0, :type :ok, :f :release, :value nil}
{:process 2, :type :invoke, :f :acquire, :value nil}
{:process 2, :type :info, :f :acquire, :value nil}
",
        expect![[r#"
            meta model mutex
            clock events
            given mutex free
            0: cas(mutex,free,held) @[0,2]
            1: cas!(mutex,free,held) abort @[1,3]
            0: cas(mutex,held,free) @[4,5]
            2: cas?(mutex,free,held) unknown @[6,_]
        "#]],
    );
}

#[test]
fn mutexes_with_a_name() {
    check(
        "{:process 0, :type :invoke, :f :acquire, :value [3 nil]}
{:process 0, :type :ok, :f :acquire, :value [3 nil]}
{:process 0, :type :invoke, :f :release, :value [3 nil]}
",
        expect![[r#"
            meta model mutex
            clock events
            given 3 free
            0: cas(3,free,held) @[0,1]
            0: cas?(3,held,free) unknown @[2,_]
        "#]],
    );
}

#[test]
fn several_registers_at_once() {
    check(
        "{:process 0, :type :invoke, :f :txn, :value [[:read :x nil] [:write :y 2]]}
{:process 0, :type :ok, :f :txn, :value [[:read :x 1] [:write :y 2]]}
",
        expect![[r#"
            clock events
            0: r(:x,1) w(:y,2) @[0,1]
        "#]],
    );
}

#[test]
fn single_objects_must_agree_on_whether_they_have_names() {
    check(
        "{:type :invoke, :f :read, :value nil, :process 3} {:type :ok, :f :write, :value [1 2], :process 4}",
        expect![[r#"
            t:1:81: this operation names its object, earlier ones do not
              hint: either every read, write and cas is [key value], [key [old new]], or none is
        "#]],
    );
    check(
        "{:type :ok, :f :cas, :value [1 2], :process 3} {:type :ok, :f :cas, :value [1 [2 3]], :process 4}",
        expect![[r#"
            t:1:76: this operation names its object, earlier ones do not
              hint: either every read, write and cas is [key value], [key [old new]], or none is
        "#]],
    );
    check(
        "{:type :ok, :f :write, :value [1 2], :process 4} {:type :ok, :f :read, :value 5, :process 3}",
        expect![[r#"
            t:1:79: this operation names no object, earlier ones do
              hint: either every read, write and cas is [key value], [key [old new]], or none is
        "#]],
    );
}

#[test]
fn predicates_inserts_and_deletes() {
    check(
        "{:f :init :value {1 10, 2 20}}
         {:type :invoke :process 0 :value [[:insert 3 30] [:delete 1] [:rp [:= 5] nil] [:w 2 5] [:r 2 nil]]}
         {:type :ok :process 0 :value [[:insert 3 30] [:delete 1] [:rp [:= 5] {2 5, 3 30}] [:w 2 5] [:r 2 5]]}
         {:type :invoke :process 0 :value [[:insert 4 40] [:delete 2] [:rp :true nil]]}",
        expect![[r#"
            clock events
            given 1 10
            given 2 20
            0: insert(3,30) delete(1) pred([:":=",5],2=5,3=30) w(2,5) r(2,5) @[1,2]
            0: insert?(4,40) delete?(2) pred(:":true",_) unknown @[3,_]
        "#]],
    );
}

#[test]
fn json_says_the_same_as_edn() {
    check_json(
        r#"[{"index":0,"process":1,"type":"invoke","f":"txn","value":[["append","x",1],["r",2,null]]},
{"index":1,"process":1,"type":"ok","f":"txn","value":[["append","x",1],["r",2,null]],"node":"n1"},
{"type":"info","process":"nemesis","f":"kill","value":["n1"]},
{"process":1,"type":"ok","value":[["r","x",[1]]]}]"#,
        expect![[r#"
            clock events
            event kill @[2,_] [n1]
            1 1: append(x,1) list(2,[]) @[0,1] {node=n1}
            1: list(x,[1]) @[_,3]
        "#]],
    );
    check_json(
        "{\"type\":\"invoke\",\"f\":\"cas\",\"value\":[1,2],\"process\":0}
{\"type\":\"fail\",\"f\":\"cas\",\"value\":[1,2],\"process\":0}
{\"type\":\"ok\",\"f\":\"read\",\"value\":null,\"process\":0}\n",
        expect![[r#"
            clock events
            0: cas!(register,1,2) abort @[0,1]
            0: r(register,absent) @[_,2]
        "#]],
    );
    check_json(
        r#"{"type":"ok","process":0,"value":[["rp","true",{"1":2}]]}"#,
        expect![[r#"
        t:1:49: is "1" the key "1" or 1?
          hint: JSON cannot tell; give the history as EDN
    "#]],
    );
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, expect) in [
        (
            "{:type :ok :process 0 :f :transfer :value {:from 1}}",
            expect![[r#"
            t:1:26: operations of kind :transfer are not supported yet
              hint: transactions of micro-operations, and read, write, cas, acquire and release are
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :read :value {1 10}}",
            expect![[r#"
                t:1:39: objects that hold maps (banks) are not supported yet
                  hint: registers that are read, written and compared are
            "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[:inc 1 1]]}",
            expect![[r#"
            t:1:40: micro-operations :inc are not supported
              hint: append, r, w, insert, delete and rp are
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[:append 1]]}",
            expect![[r#"
            t:1:49: expected the value to append, found ']]}'
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[:append 1 2 3]]}",
            expect![[r#"
            t:1:52: expected the end of the micro-operation, ']', found '3]]}'
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[:append 1 2] [:w 1 2]]}",
            expect![[r#"
            t:1:54: the history has both :append and :w micro-operations
              hint: whether nil means an empty list or no value cannot be told in such a mixture
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[:append 1 2] [:r 1 2]]}",
            expect![[r#"
            t:1:59: expected the list that was read, or nil, found '2]]}'
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value [[]]}",
            expect![[r#"
            t:1:39: expected the name of a micro-operation in it, found '[]]}'
        "#]],
        ),
        (
            "{:type :ok :process 0 :f :txn :value nil}",
            expect![[r#"
                t:1:38: the operation does not say what it did
            "#]],
        ),
        (
            "{:type :ok :process 0 :f :cas :value 1}",
            expect![[r#"
            t:1:38: expected the old and the new value, [old new], found '1}'
        "#]],
        ),
        (
            "{:type :okay :process 0 :f :txn :value []}",
            expect![[r#"
            t:1:8: expected :invoke, :ok, :fail or :info, found ':okay :process 0 :f :txn :value []}'
        "#]],
        ),
        (
            "{:process 0 :f :txn :value []}",
            expect![[r#"
            t:1:1: the operation has no :type
        "#]],
        ),
        (
            "{:type :ok :type :ok :process 0 :value []}",
            expect![[r#"
            t:1:18: the operation has :type twice
        "#]],
        ),
        (
            "{:type :ok :process 0 :value []} 7",
            expect![[r#"
            t:1:34: expected an operation, '{', found '7'
        "#]],
        ),
        (
            "[{:type :ok :process 0 :value []}] 7",
            expect![[r#"
            t:1:36: expected the end of the file, found '7'
        "#]],
        ),
        (
            "[{:type :ok :process 0 :value []}",
            expect![[r#"
            t:1:34: expected ']', found the end of the file
              hint: the file ends in the middle: was it cut off?
        "#]],
        ),
        (
            "{:type :ok :process 0 :value [[:append 1 2]",
            expect![[r#"
            t:1:44: expected ']', found the end of the file
              hint: the file ends in the middle: was it cut off?
        "#]],
        ),
        (
            "",
            expect![[r#"
            t:1:1: expected an operation, found the end of the file
              hint: the file ends in the middle: was it cut off?
        "#]],
        ),
        (
            "{:type :fail :f :init :value {1 2}}",
            expect![[r#"
                t:1:1: it is not known whether the initial state was written
            "#]],
        ),
    ] {
        check(text, expect);
    }
}

#[test]
fn pairing_contradictions_are_explained() {
    check(
        "{:type :invoke :process 3 :index 7 :value []} {:type :invoke :process 3 :value []}",
        expect![[r#"
            t:1:47: process 3 invokes an operation while its previous one is still open
              hint: the open one stands at byte 0 (index 7); a completion is the next event of the same process
        "#]],
    );
    check(
        "{:type :invoke :value []} {:type :invoke :value []}",
        expect![[r#"
            t:1:27: an operation without a process is invoked while the one before is still open
              hint: the open one stands at byte 0; a completion is the next event of the same process
        "#]],
    );
    check(
        "{:type :invoke :process 3 :f :read} {:type :ok :process 3 :f :write :value 3}",
        expect![[r#"
            t:1:37: the completion is of another operation than the invocation
              hint: the process invoked :read at byte 0
        "#]],
    );
}

#[test]
fn an_index_that_does_not_ascend_is_warned_about() {
    check(
        "{:type :ok :process 3 :index 7 :value []}\n{:type :ok :process 3 :index 7 :value []}",
        expect![[r#"
            clock events
            3 7: @[_,0]
            3 7: @[_,1]
            warning: t:2:1: the index of this operation is not larger than the one before; the order of the file counts
        "#]],
    );
}

#[test]
fn recognition() {
    let file = |text: &str| Source::File(Input::new("t", text));
    let name = |text: &str| Format::recognise(&file(text)).map_or("none", |f| f.name);
    assert_eq!(name("; x\n[{:type :ok"), "jepsen-edn");
    assert_eq!(name("#jepsen.history.Op{:index 0, :type :ok}"), "jepsen-edn");
    assert_eq!(name("{:type :ok :f :get :key 1}"), "porcupine-kv");
    assert_eq!(name("[{\"type\":\"ok\",\"value\":[]}]"), "jepsen-json");
    assert_eq!(name("{\"index\":0,\"process\":1,\"type\":\"invoke\",\"val"), "jepsen-json");
    assert!(!(JEPSEN_JSON.looks_like)(&file("[{\"type\":\"w\",\"value\":[]}]")));
    assert!(!(JEPSEN_EDN.looks_like)(&file("[[1 2]]")));
}

const SAMPLE: &str = "; c
{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}
{:index 1, :type :info, :process :nemesis, :f :kill, :value {:a [\"x\"]}}
{:index 2, :time 7, :type :ok, :process 0, :f :txn, :value [[:append 1 1] [:r 2 [-1 :x]]], :error \"e\\\"\"}
{:index 3, :type :ok, :process 1, :f :read, :value [7 8]}";

#[test]
fn hostile_bytes_never_panic() {
    let json =
        br#"[{"index":0,"process":1,"type":"ok","f":"txn","value":[["append",1,1],["r",2,[3]]]}]"#;
    for (format, sample) in [(&JEPSEN_EDN, SAMPLE.as_bytes()), (&JEPSEN_JSON, json)] {
        for end in 0..sample.len() {
            let _ = load(format, &sample[..end]);
            for byte in [0, b' ', b'"', b':', b'#', b'[', b'}', b'9', 0xff] {
                let mut changed = sample.to_vec();
                changed[end] = byte;
                let _ = load(format, &changed);
                let _ = (format.looks_like)(&Source::File(Input::new("t", changed)));
            }
        }
    }
}

#[test]
fn many_cores_read_the_same_as_one() {
    let mut text = String::from("; many\n{:type :info :process :nemesis :f :go}\n");
    for i in 0..200 {
        let (p, k, kind) = (i % 7, i % 5, ["invoke", "ok", "invoke", "info"][i / 7 % 4]);
        let value = format!("[[:append {k} \"v{i}\"] [:r :k{k} [{i}]]]");
        let error = if i % 11 == 0 { ":error \"\n {\"" } else { "" };
        text += &format!("{{:type :{kind} :time {i} :process {p} :value {value} {error}}}\n");
    }
    let source = Source::File(Input::new("t", text.as_bytes()));
    let mut plain = HistoryBuilder::new();
    (JEPSEN_EDN.read)(&source, &mut plain).unwrap();
    let plain = plain.finish();
    let many = JEPSEN_EDN.load(&source).unwrap().finish();
    assert_eq!(plain.txn_count(), 102);
    assert_eq!(notation::to_text(&plain), notation::to_text(&many));
    assert_eq!(plain.pool().session_names(), many.pool().session_names());
    plain.same_as(&many).unwrap();

    // A string that looks like the beginning of an operation must not mislead.
    let trap = text.replace("\n {", "\n{:type :ok :process 1}");
    assert_ne!(trap, text);
    let source = Source::File(Input::new("t", trap));
    let mut plain = HistoryBuilder::new();
    (JEPSEN_EDN.read)(&source, &mut plain).unwrap();
    plain.finish().same_as(&JEPSEN_EDN.load(&source).unwrap().finish()).unwrap();
}
