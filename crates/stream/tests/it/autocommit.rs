//! Statements that are transactions of their own: COMMIT happens within them, so that nothing is locked when they are
//! answered, and two of them that overlap may be in either order.

use crate::seen_on_servers::found;

const RC: &str = "postgresql/read-committed";
const SER: &str = "mariadb/serializable";

#[test]
fn a_commit_within_a_statement_is_seen_before_its_answer() {
    // Nothing says when COMMIT was sent: it went with the statement.
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,10] @[1,10]\n\
        b: r(x,1)@[4,5] @[4,6] {end-sent=6}\n";
    assert_eq!(found(RC, text), [""; 0]);
    let text = text.replace("@[1,10]\nb", "@[1,10] {end-sent=1}\nb");
    assert_eq!(found(RC, &text), [""; 0]);
    // A COMMIT that was answered later was sent later, too.
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,10] @[1,12]\n\
        b: r(x,1)@[4,5] @[4,6] {end-sent=6}\n";
    assert_eq!(found(RC, text), ["UncommittedVersionRead"]);
}

#[test]
fn transactions_without_times_of_their_statements_commit_at_any_time() {
    let text = "clock events\ngiven x 0\n\
        a: w(x,1) @[1,10]\n\
        b: r(x,1)@[4,5] @[4,6] {end-sent=6}\n";
    assert_eq!(found(RC, text), [""; 0]);
}

#[test]
fn writes_that_overlap_are_in_either_order() {
    for newest in [1, 2] {
        for profile in [RC, SER] {
            let text = format!(
                "clock events\ngiven x 0\n\
                a: w(x,1)@[1,9] @[1,9] {{end-sent=1}}\n\
                b: w(x,2)@[2,10] @[2,10] {{end-sent=2}}\n\
                c: r(x,{newest})@[20,21] @[20,30] {{end-sent=25}}\n"
            );
            assert_eq!(found(profile, &text), [""; 0], "{profile} {newest}");
        }
    }
    // Before the first of them had been sent, and where one is certainly later, there is nothing to choose.
    let stale = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,9] @[1,9] {end-sent=1}\n\
        b: w(x,2)@[11,12] @[11,12] {end-sent=11}\n\
        c: r(x,1)@[20,21] @[20,30] {end-sent=25}\n";
    for profile in [RC, SER] {
        assert_eq!(found(profile, stale), ["StaleRead"], "{profile}");
    }
}

#[test]
fn a_read_that_locks_nothing_may_miss_what_is_committed_before_its_answer() {
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[2,4] @[2,6] {end-sent=5}\n\
        b: r(x,0)@[1,9] @[1,9] {end-sent=1}\n";
    assert_eq!(found(SER, text), [""; 0]);
    // With the lock it had it before the other one, or waited for it.
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[2,4] @[2,6] {end-sent=5}\n\
        b: r(x,0)@[1,9] @[1,12] {end-sent=11}\n";
    assert_eq!(found(SER, text), ["StaleRead"]);
}

#[test]
fn a_lock_that_was_taken_after_one_of_two_writes_sees_either() {
    for newest in [1, 2] {
        let text = format!(
            "clock events\ngiven x 0\n\
            a: w(x,1)@[1,9] @[1,9] {{end-sent=1}}\n\
            b: w(x,2)@[2,20] @[2,20] {{end-sent=2}}\n\
            c: r(x,{newest})@[10,12] @[10,30] {{end-sent=25}}\n"
        );
        assert_eq!(found(SER, &text), [""; 0], "{newest}");
    }
}

#[test]
fn a_snapshot_may_show_the_earlier_of_two_answers_for_long() {
    // What a wrote is the newest, if it was written after what b did.
    let text = "clock events\ngiven x 0\ngiven y 0\n\
        a: w(x,1)@[1,9] @[1,9] {end-sent=1}\n\
        b: w(x,2)@[2,10] @[2,10] {end-sent=2}\n\
        d: w(y,1)@[12,13] @[12,15] {end-sent=14}\n\
        c: r(y,1)@[11,21] r(x,1)@[22,23] @[11,30] {end-sent=25}\n";
    assert_eq!(found("postgresql/repeatable-read", text), [""; 0]);
}

#[test]
fn no_cycle_hangs_on_an_order_that_is_not_certain() {
    let text = "clock events\ngiven x 0\ngiven y 0\n\
        a: w(x,1)@[1,9] @[1,9] {end-sent=1}\n\
        b: w(x,2)@[2,10] @[2,10] {end-sent=2}\n\
        c: r(x,1)@[3,5] w(y,1)@[6,7] @[3,40] {end-sent=35}\n\
        d: r(y,0)@[3,4] r(x,2)@[22,23] @[3,30] {end-sent=25}\n";
    assert_eq!(found("sqlite/deferred", text), [""; 0]);
}

/// Seen on MariaDB whose connections were cut: the answers still came, but the server had let go of the locks.
#[test]
fn an_answer_that_came_after_the_connection_was_lost_says_nothing_of_a_lock() {
    let text = "clock events\ngiven x 0\n\
        a: r(x,0)@[1,3] r(x,0)@[4,20] unknown @[1,_]\n\
        b: w(x,1)@[2,8] @[2,10] {end-sent=9}\n";
    assert_eq!(found(SER, text), [""; 0]);
    // Where it was asked for something more, the connection was there.
    let text = "clock events\ngiven x 0\n\
        a: r(x,0)@[1,3] r(x,0)@[4,20] r(x,0)@[21,22] unknown @[1,_]\n\
        b: w(x,1)@[2,8] @[2,10] {end-sent=9}\n";
    assert!(found(SER, text).contains(&"BrokenLock"));
}
