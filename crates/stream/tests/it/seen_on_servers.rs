//! What servers were seen to do that keep their promises. Each of these was a false alarm once.

use isolde_check::Options;
use isolde_history::notation::parse;
use isolde_spec::{Answer, Profile};
use isolde_stream::intervals::decide;

/// What is found, by name.
pub(crate) fn found(profile: &str, text: &str) -> Vec<&'static str> {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let profile = Profile::named(profile).unwrap_or_else(|e| panic!("{e:?}"));
    match decide(&history, profile, &Options::default(), 0.0).answer {
        Answer::Violated(all) => all.iter().map(|witness| witness.anomaly.name()).collect(),
        _ => Vec::new(),
    }
}

const RC: &str = "postgresql/read-committed";
const RR: &str = "postgresql/repeatable-read";
const ROCKS: &str = "mariadb-myrocks/repeatable-read";

/// PostgreSQL: SAVEPOINT takes no snapshot, but SELECT 1 does, and what is only known by its text may.
#[test]
fn a_savepoint_takes_no_snapshot() {
    let reader = |first: &str| {
        format!(
            "clock events\ngiven x 0\n\
            a: {first}@[1,2] r(x,1)@[10,12] @[1,20] {{end-sent=15}}\n\
            b: w(x,1)@[4,5] @[4,8] {{end-sent=6}}\n"
        )
    };
    assert_eq!(found(RR, &reader("savepoint(s)")), [""; 0]);
    assert_eq!(found(RR, &reader("[]")), [""; 0]);
    // Where more is asked for afterwards, it may have been the first all the same.
    let twice = reader("[]").replace("[]@[1,2]", "[]@[1,7] []@[8,9]{sql=\"SELECT v FROM t\"}");
    assert_eq!(found(RR, &twice), [""; 0]);
    assert_eq!(found(RR, &reader("r(y,absent)")), ["UncommittedVersionRead"]);
}

/// PostgreSQL: an error lets go of the locks since the savepoint, before ROLLBACK TO is sent.
#[test]
fn a_statement_that_fails_lets_go_of_locks_before_the_client_goes_back() {
    let text = |error: &str| {
        format!(
            "clock events\ngiven x 0\ngiven y 0\n\
            a: r(y,0)@[1,2] savepoint(s)@[3,4] w(x,1)@[5,6] []@[7,8]{error} rollback(s)@[20,21] @[1,30] {{end-sent=25}}\n\
            b: w(x,2)@[7,10] @[7,14] {{end-sent=12}}\n"
        )
    };
    assert_eq!(found(RC, &text("{error=\"23505\"}")), [""; 0]);
    assert_eq!(found(RC, &text("")), ["BrokenLock"]);
}

/// PostgreSQL: going back to a savepoint mends what an error broke, and what is done after that counts.
#[test]
fn an_error_before_a_savepoint_is_gone_back_to_does_not_end_the_transaction() {
    let text = "clock events\ngiven x 0\n\
        a: w(x,1)@[1,2] savepoint(s)@[3,4] []@[5,6]{error=\"23505\"} rollback(s)@[7,8] w(x,2)@[9,10] r(x,2)@[11,12] \
        abort @[1,20] {end-sent=15}\n\
        b: w(x,3)@[13,14] @[13,19] {end-sent=18}\n";
    assert_eq!(found(RC, text), ["BrokenLock"]);
}

/// PostgreSQL: a key that was deleted after the snapshot can be inserted, and the snapshot shows the old row beside it.
#[test]
fn a_snapshot_goes_on_to_show_a_row_beside_the_one_that_was_inserted_again() {
    let text = |old: u32| {
        format!(
            "clock events\ngiven x 7\n\
            a: r(y,absent)@[1,2] insert(x,1)@[10,11] r(x,{old})@[12,13] r(x,1)@[12,13] @[1,20] {{end-sent=15}}\n\
            b: delete(x)@[4,5] @[4,8] {{end-sent=6}}\n"
        )
    };
    assert_eq!(found(RR, &text(7)), [""; 0]);
    assert_eq!(found(RR, &text(5)), ["NotMyOwnWrite"]);
}

/// PostgreSQL: FOR KEY SHARE does not wait for an update, and reads what was there before.
#[test]
fn a_weak_lock_does_not_wait_for_an_update() {
    let text = |lock: &str| {
        format!(
            "clock events\ngiven x 0\n\
            a: w(x,1)@[1,3] @[1,22] {{end-sent=20}}\n\
            b: r(x,0)@[5,8]{{lock={lock}}} @[5,12] {{end-sent=10}}\n"
        )
    };
    assert_eq!(found(RC, &text("key-share")), [""; 0]);
    assert!(found(RC, &text("share")).contains(&"StaleRead"));
}

/// MyRocks: a transaction that begins with a write has no snapshot now and then, until it reads.
#[test]
fn a_write_may_take_no_snapshot() {
    let text = |first: &str| {
        format!(
            "clock events\ngiven x 0\ngiven y 0\n\
            a: {first}@[1,2] r(x,1)@[10,12] @[1,20] {{end-sent=15}}\n\
            b: w(x,1)@[4,5] @[4,8] {{end-sent=6}}\n"
        )
    };
    assert_eq!(found(ROCKS, &text("w(y,1)")), [""; 0]);
    assert_eq!(found(ROCKS, &text("r(y,0)")), ["UncommittedVersionRead"]);
    // Nor does it refuse to write.
    let writer = "clock events\ngiven x 0\ngiven y 0\n\
        a: w(y,1)@[1,2] w(x,2)@[10,12] @[1,20] {end-sent=15}\n\
        b: r(x,0)@[3,4] w(x,1)@[4,5] @[3,8] {end-sent=6}\n";
    assert_eq!(found(ROCKS, writer), [""; 0]);
    assert_eq!(found(ROCKS, &writer.replace("a: w(y,1)", "a: r(y,0)")), ["ConcurrentWrites"]);
}

/// MariaDB: an insert that is a transaction of its own has let go of its row when the answer comes.
#[test]
fn an_insert_with_autocommit_saw_nothing_at_some_instant() {
    let text = "clock events\n\
        a: insert(x,1)@[1,20] @[1,20] {end-sent=1}\n\
        b: w(x,2)@[4,5] @[4,25] {end-sent=24}\n";
    assert_eq!(found("mariadb/read-committed", text), [""; 0]);
}

/// MariaDB, serializable: going back to a savepoint before everything else is as good as ROLLBACK and BEGIN.
#[test]
fn what_was_read_before_everything_was_undone_does_not_count() {
    let text = |savepoint: &str| {
        format!(
            "clock events\ngiven x 0\ngiven y 0\n\
            a: {savepoint} r(x,0)@[3,4] rollback(s)@[5,6] r(y,1)@[20,22] @[1,30] {{end-sent=25}}\n\
            b: w(x,1)@[8,9] w(y,1)@[10,11] @[8,14] {{end-sent=12}}\n"
        )
    };
    let ser = "mariadb/serializable";
    assert_eq!(found(ser, &text("savepoint(s)@[1,2]")), [""; 0]);
    // Here the lock is kept.
    assert!(!found(ser, &text("r(z,absent)@[1,2] savepoint(s)@[2,3]")).is_empty());
}

/// What was seen of a row is put together from what several wrote: that no one wrote all of it says nothing.
#[test]
fn a_row_of_several_writers_is_not_from_nowhere() {
    let text = |seen: &str| {
        format!(
            "meta rows by-column\nclock events\ngiven x {{a:0,b:0}}\n\
            w: w(x,{{a:1}})@[1,2] @[1,4] {{end-sent=3}}\n\
            w: w(x,{{b:2}})@[5,6] @[5,8] {{end-sent=7}}\n\
            w: w(x,{{a:3}})@[9,10] @[9,12] {{end-sent=11}}\n\
            r: r(x,{seen})@[20,21] @[20,23] {{end-sent=22}}\n\
            w: w(x,{{b:4}})@[15,31] @[15,33] {{end-sent=32}}\n"
        )
    };
    assert_eq!(found(RC, &text("{a:3,b:2}")), [""; 0]);
    assert_eq!(found(RC, &text("{a:1,b:2}")), ["StaleRead"]);
    assert_eq!(found(RC, &text("{a:3,b:4}")), ["UncommittedVersionRead"]);
    assert_eq!(found(RC, &text("{a:3,b:9}")), ["ThinAirRead"]);
}
