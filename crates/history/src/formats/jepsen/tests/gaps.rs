//! Logs that leave something out, or say more than usual.

use super::*;

#[test]
fn the_nemesis_keeps_its_time_and_whatever_is_unusual() {
    check(
        "{:type :info :process :nemesis :f :start :time 12 :index 0}
         {:type :invoke :process :nemesis :f :stop :value [:n1] :time 13 :index 7}
         {:type :ok :process :nemesis :f :stop :value [:n1] :time -1 :index 2}",
        expect![[r#"
            clock events
            event :start @[0,_] {time:12,value:absent}
            event :stop @[1,_] {index:7,time:13,type:invoke,value:[:n1]}
            event :stop @[2,_] {type:ok,value:[:n1]}
            warning: t:3:10: the index of this operation is not larger than the one before; the order of the file counts
        "#]],
    );
}

#[test]
fn clients_without_a_number_do_not_vanish_in_silence() {
    check_json(
        r#"[{"type":"ok","process":"0","value":[["w",1,1]]}]"#,
        expect![[r#"
            clock events
            event absent @[0,_] {type:ok,value:[[w,1,1]]}
            warning: t:1:2: the process of this operation is no number, so it is taken for an event and not for a transaction: only processes with numbers are clients
        "#]],
    );
}

#[test]
fn an_invocation_that_says_nothing_leaves_it_to_the_completion() {
    check(
        "{:type :invoke :process 0 :f :txn :value nil}
         {:type :info :process 0 :f :txn :value [[:append 1 1] [:r 1 nil]]}
         {:type :invoke :process 1 :f :txn}
         {:type :fail :process 1 :f :txn :value [[:append 1 2]] :error :conflict}
         {:type :ok :process 2 :f :txn :value [[:r 1 [1]]]}",
        expect![[r#"
            clock events
            0: append(1,1) list(1,_) unknown @[0,_]
            1: append(1,2) abort @[2,3] {error=:conflict}
            2: list(1,[1]) @[_,4]
        "#]],
    );
}

#[test]
fn what_nobody_can_tell_makes_the_history_incomplete() {
    check(
        "{:type :invoke :process 0 :f :txn :value nil}
         {:type :info :process 0 :f :txn :value :timed-out}
         {:type :invoke :process 1 :f :txn :value nil}
         {:type :fail :process 1 :f :txn}
         {:type :ok :process 2 :f :txn :value [[:r 1 [1]]]}",
        expect![[r#"
            clock events
            incomplete
            0: unknown @[0,_]
            1: abort @[2,3]
            2: list(1,[1]) @[_,4]
            warning: t:1:1: the outcome of this operation is unknown, and so is what it did: the history is taken as incomplete
        "#]],
    );
}

#[test]
fn reads_of_an_invocation_may_leave_the_result_out() {
    check(
        "{:process 1, :type :invoke, :value [[:r x] [:append x 1]]} {:process 1, :type :info}
         {:process 2, :type :invoke, :value [[:r x]]} {:process 2, :type :ok, :value [[:r x [1]]]}",
        expect![[r#"
            clock events
            1: list(:"x",_) append(:"x",1) unknown @[0,_]
            2: list(:"x",[1]) @[2,3]
        "#]],
    );
    check(
        "{:process 1, :type :invoke, :value [[:rp :true] [:r x] [:w x 1]]}",
        expect![[r#"
            clock events
            1: pred(:":true",_) r(:"x",_) w(:"x",1) unknown @[0,_]
        "#]],
    );
}

#[test]
fn a_write_that_was_done_wrote_what_it_was_asked_to() {
    check(
        "{:process 0 :type :invoke :f :write :value [7 3]} {:process 0 :type :ok :f :write}
         {:process 0 :type :invoke :f :cas :value [7 [3 4]]} {:process 0 :type :ok :f :cas :value nil}",
        expect![[r#"
            clock events
            0: w(7,3) @[0,1]
            0: cas(7,3,4) @[2,3]
        "#]],
    );
}

#[test]
fn collections_are_no_values_of_registers() {
    check(
        "{:process 1 :type :ok :f :write :value 4}\n{:process 0 :type :ok :f :read :value #{2 4}}",
        expect![[r#"
            t:2:39: objects that hold sets are not supported yet
              hint: registers that are read, written and compared are
        "#]],
    );
    check(
        "{:process 1 :type :ok :f :write :value [7 4]}\n{:process 0 :type :ok :f :read :value [7 #{4}]}",
        expect![[r#"
            t:2:42: objects that hold sets are not supported yet
              hint: registers that are read, written and compared are
        "#]],
    );
    check_json(
        r#"[{"process":1,"type":"ok","f":"write","value":4},{"process":0,"type":"ok","f":"read","value":[2,4,5]}]"#,
        expect![[r#"
            t:1:94: objects that hold lists (sets, queues, logs) are not supported yet
              hint: registers that are read, written and compared are
        "#]],
    );
}

#[test]
fn initial_states_add_up() {
    check(
        "{:f :init :value {1 10, 2 20}} {:f :init :value {2 21, 3 30}}",
        expect![[r#"
            clock events
            given 1 10
            given 2 21
            given 3 30
        "#]],
    );
}

#[test]
fn unreadable_objects_are_kept_word_for_word() {
    check(
        "{:process 0 :type :ok :value [[:w 1 0x1F]] :error #object[java.lang.X 0x12ab \"X\"]}",
        expect![[r##"
            clock events
            0: w(1,31) @[_,0] {error=:"#object[java.lang.X 0x12ab \"X\"]"}
        "##]],
    );
}
