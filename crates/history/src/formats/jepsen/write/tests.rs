use expect_test::{Expect, expect};

use crate::evidence::Outcome;
use crate::formats::jepsen::JEPSEN_EDN;
use crate::history::History;
use crate::notation::{parse, to_text};
use crate::source::{Input, Source};

fn write(history: &History) -> String {
    let mut out = Vec::new();
    match super::write(history, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => format!("{error}\n"),
    }
}

fn read(text: &str) -> History {
    let source = Source::File(Input::new("t", text));
    JEPSEN_EDN.load(&source).unwrap_or_else(|e| panic!("{e}\n{text}")).finish()
}

#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn check(notation: &str, expect: Expect) {
    expect.assert_eq(&write(&parse(notation).unwrap()));
}

/// What was written reads back as the same.
fn round_trip(edn: &str) {
    let history = read(edn);
    let again = read(&write(&history));
    if let Err(difference) = history.same_as(&again) {
        panic!("{difference}\n{}\n{}\n{}", to_text(&history), write(&history), to_text(&again));
    }
}

#[test]
fn a_session_that_goes_on_after_an_unknown_outcome_stays_one_process() {
    // The completion of what is unknown comes before the session's next line, even where other
    // transactions end later or everything happens at once.
    for notation in [
        "b: w(y,1) @[0,90]\na: w(x,1) @[1,2]\na: w(x,2) unknown @[3,_]\na: r(x,1) @[5,6]",
        "a: w(x,1) @[5,5]\na: w(x,2) unknown @[5,_]\na: w(x,3) unknown @[5,_]\na: r(x,1) @[5,5]",
        "a: w(x,2) unknown\na: w(x,3) unknown\na: r(x,1) @[5,5]\nb: r(x,1) @[4,5]",
    ] {
        let history = parse(notation).unwrap();
        let again = read(&write(&history));
        assert_eq!(again.session_count(), history.session_count(), "{notation}");
        let continued = |history: &History| {
            let session = history.txns().find(|txn| txn.outcome() == Outcome::Unknown);
            let session = history.session(session.unwrap().session());
            let values = |&id| history.txn(id).ops().map(|op| op.value()).collect::<Vec<_>>();
            session.iter().map(values).collect::<Vec<_>>()
        };
        assert_eq!(continued(&again), continued(&history), "{notation}");
    }
}

#[test]
fn the_time_of_a_fault_comes_back_as_it_was() {
    let edn = "{:index 0, :time 12, :type :info, :process :nemesis, :f :start, :value nil}
{:index 1, :time 13, :type :ok, :process 0, :f :txn, :value [[:w 1 1]]}\n";
    assert_eq!(write(&read(edn)), edn);
    round_trip(
        "{:type :invoke, :process :nemesis, :f :start, :time 3, :index 9 :value {\"time\" 5}}",
    );
    round_trip("{:type :info, :process :nemesis, :f :start, :value {\"time\" 5}}");
}

#[test]
fn lists_with_unknown_outcomes_and_faults_round_trip() {
    round_trip(
        "{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}
{:index 1, :time 6, :type :invoke, :process 1, :f :txn, :value [[:append 2 1] [:r 1 nil]]}
{:index 2, :time 7, :type :ok, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}
{:index 3, :type :info, :process :nemesis, :f :kill, :value {:a [\"x\" #{1}]}}
{:index 4, :time 8, :type :invoke, :process 5, :f :txn, :value [[:append 1 5]]}
{:index 5, :time 8, :type :info, :process 1, :f :txn, :value [[:append 2 1] [:r 1 nil]], :error :timeout}
{:index 6, :time 9, :type :ok, :process 5, :f :txn, :value [[:append 1 5]], :node \"n1\"}
{:index 7, :time 9, :type :invoke, :process 0, :f :txn, :value [[:append 1 2]]}
{:index 8, :time 10, :type :fail, :process 0, :f :txn, :value nil, :error [:conflict \"x\"]}
{:index 9, :time 11, :type :invoke, :process 2, :f :txn, :value [[:r 1 nil]]}
{:index 10, :time 12, :type :ok, :process 7, :f :txn, :value [[:r 1 [1]] [:r 2 []]]}",
    );
}

#[test]
fn registers_and_odd_values_round_trip() {
    round_trip(
        "{:type :invoke, :process 0, :f :read, :value [[:w :x 1.5] [:w \"a\\n\" \\a] [:r 1/2 nil]]}
{:type :ok, :process 0, :f :read, :value [[:w :x 1.5] [:w \"a\\n\" \\a] [:r 1/2 {:a [nil true]}]]}
{:type :ok, :process 1, :index 17, :value [[:w 1 ##Inf] [:w 2 170141183460469231731687303715884105728]]}
{:type :ok, :process 1, :value []}",
    );
}

#[test]
fn single_objects_round_trip() {
    round_trip(
        "{:process 0 :type :invoke :f :write :value 3} {:process 1 :type :invoke :f :cas :value [1 2]}
         {:process 0 :type :ok :f :write :value 3} {:process 1 :type :fail :f :cas :value [1 2]}
         {:process 0 :type :invoke :f :read :value nil} {:process 0 :type :ok :f :read :value nil}
         {:process 0 :type :invoke :f :cas :value [3 4]} {:process 0 :type :info :f :cas :value [3 4]}",
    );
    round_trip(
        "{:process 0 :type :fail :f :cas :value [:k [1 [2 3]]]}
         {:process 1 :type :ok :f :read :value [\"register\" [2 3]]}",
    );
}

#[test]
fn completions_alone_round_trip() {
    round_trip(
        "{:process 0 :type :ok :value [[:append 1 1]]} {:process 1 :type :info :value [[:append 1 2]]}
         {:process 2 :type :fail :value [[:append 1 3]]} {:process 3 :type :info :value [[:append 1 4]]}",
    );
}

#[test]
fn without_intervals_there_are_completions_only() {
    check(
        "a: append(x,1) list(y,[])\nb: append(x,2) unknown\nb: list(x,[1,2])",
        expect![[r#"
            {:type :ok, :process 0, :f :txn, :value [[:append "x" 1] [:r "y" []]]}
            {:type :info, :process 1, :f :txn, :value [[:append "x" 2]]}
            {:type :ok, :process 1, :f :txn, :value [[:r "x" [1 2]]]}
        "#]],
    );
}

#[test]
fn nanoseconds_give_the_order_of_the_lines() {
    check(
        "1: w(x,1) @[10,20]\n2: w(x,2) @[15,30]\n1: r(x,1) @[20,20]\n3: w(x,3) unknown @[16,_]\n3: w(x,4) @[40,50]",
        expect![[r#"
            {:type :invoke, :process 1, :f :txn, :value [[:w "x" 1]]}
            {:type :invoke, :process 2, :f :txn, :value [[:w "x" 2]]}
            {:type :invoke, :process 3, :f :txn, :value [[:w "x" 3]]}
            {:type :ok, :process 1, :f :txn, :value [[:w "x" 1]]}
            {:type :invoke, :process 1, :f :txn, :value [[:r "x" nil]]}
            {:type :ok, :process 1, :f :txn, :value [[:r "x" 1]]}
            {:type :ok, :process 2, :f :txn, :value [[:w "x" 2]]}
            {:type :info, :process 3, :f :txn, :value [[:w "x" 3]]}
            {:type :invoke, :process 3, :f :txn, :value [[:w "x" 4]]}
            {:type :ok, :process 3, :f :txn, :value [[:w "x" 4]]}
        "#]],
    );
}

#[test]
fn what_jepsen_cannot_say_is_refused_by_name() {
    for (text, expect) in [
        (
            "initial 0\na: w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: an initial state other than absent
            "#]],
        ),
        (
            "given x 5\na: w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: an initial state other than absent
            "#]],
        ),
        (
            "meta server pg\na: w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: "server", a fact about the whole run
            "#]],
        ),
        (
            "incomplete\na: w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: that the history is incomplete
            "#]],
        ),
        (
            "order x: 1\na: w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: version orders
            "#]],
        ),
        (
            "a: w(x,1) ts(1,2)",
            expect![[r#"
                jepsen-edn cannot hold it: timestamps of the database
            "#]],
        ),
        (
            "a: [w(x,1) w(y,1)]",
            expect![[r#"
                jepsen-edn cannot hold it: statements with an interval or with several operations
            "#]],
        ),
        (
            "a: [w(x,1)]{affected=1}",
            expect![[r#"
                jepsen-edn cannot hold it: attributes of statements
            "#]],
        ),
        (
            "a: w(x,1){path=p}",
            expect![[r#"
                jepsen-edn cannot hold it: attributes of operations
            "#]],
        ),
        (
            "a: w(x,1) append(y,1)",
            expect![[r#"
                jepsen-edn cannot hold it: lists and registers in one history
            "#]],
        ),
        (
            "a: delete(x)",
            expect![[r#"
                jepsen-edn cannot hold it: operations of the kind delete
            "#]],
        ),
        (
            "a: pred(p,x=1)",
            expect![[r#"
                jepsen-edn cannot hold it: operations of the kind predicate read
            "#]],
        ),
        (
            "a: savepoint(s)",
            expect![[r#"
                jepsen-edn cannot hold it: operations of the kind savepoint
            "#]],
        ),
        (
            "a: r(x,_) w(x,1)",
            expect![[r#"
                jepsen-edn cannot hold it: a read of transaction number 0, which committed, whose result was never learned
            "#]],
        ),
        (
            "a: r(x,1) w(x,1) abort",
            expect![[r#"
                jepsen-edn cannot hold it: what a read of transaction number 0 returned, which did not commit
            "#]],
        ),
        (
            "a: w(x,null)",
            expect![[r#"
                jepsen-edn cannot hold it: the value NULL
            "#]],
        ),
        (
            "a: w(x,0x00)",
            expect![[r#"
                jepsen-edn cannot hold it: a value of bytes
            "#]],
        ),
        (
            "a: cas!(x,1,2)",
            expect![[r#"
                jepsen-edn cannot hold it: a compare-and-set of transaction number 0 whose effect differs from the transaction's outcome
            "#]],
        ),
        (
            "a: cas(x,1,2) w(x,3)",
            expect![[r#"
                jepsen-edn cannot hold it: compare-and-sets in transactions of several operations
            "#]],
        ),
        (
            "a: list(x,_) abort",
            expect![[r#"
                jepsen-edn cannot hold it: whether reads are of lists, since nothing is written
            "#]],
        ),
        (
            "a: w(x,1) {\"a b\"=1}",
            expect![[r#"
                jepsen-edn cannot hold it: the attribute "a b" of a transaction
            "#]],
        ),
        (
            "a: w(x,1) @[1,5]\na: w(x,2) @[3,7]",
            expect![[r#"
                jepsen-edn cannot hold it: transaction number 1, which overlaps the one before it in its session
            "#]],
        ),
        (
            "a: w(x,1) @[1,5]\nb: w(x,2)",
            expect![[r#"
                jepsen-edn cannot hold it: the interval of transaction number 1, which does not fit its outcome
            "#]],
        ),
        (
            "event e @[1,5]\na: w(x,1) @[1,5]",
            expect![[r#"
                jepsen-edn cannot hold it: events that last, or that have no time
            "#]],
        ),
    ] {
        check(text, expect);
    }
}
