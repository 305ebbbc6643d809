//! Small traces with client intervals, each of which has one right answer: what a server with these mechanisms can have done,
//! and what it cannot. Times are written as tenths, so that something fits between two of them.

use crate::asked::{asked, check, figure};

const RC: &str = "postgresql/read-committed";
const RR: &str = "postgresql/repeatable-read";
const SER: &str = "postgresql/serializable";

/// A transaction that reads at one time only.
fn reader(reads: &str, (sent, answered): (i64, i64)) -> String {
    let (end, ended) = (answered + 1, answered + 2);
    format!("r R: [{reads}]@[{sent},{answered}] @[{sent},{ended}] {{end-sent={end}}}\n")
}

// ---- consistent read ----

/// COMMIT was sent at 100 and answered at 200.
const ONE_WRITE: &str = "initial 0\na T1: w(x,1)@[10,20] @[10,200] {end-sent=100}\n";

#[test]
fn a_read_sees_what_may_have_been_committed_and_not_overwritten() {
    let read = |value: i64, at| ONE_WRITE.to_owned() + &reader(&format!("r(x,{value})"), at);
    for (value, at) in [(0, (120, 140)), (1, (120, 140)), (1, (50, 105)), (0, (50, 105))] {
        check(&read(value, at), RC, &[]);
    }
    let stale = "consistent read: StaleRead by R on x: 0, possible 1";
    check(&read(0, (210, 220)), RC, &[stale]);
    check(&read(0, (210, 220)), RR, &[stale]);
    let future = "consistent read: UncommittedVersionRead by R on x: 1, possible 0";
    check(&read(1, (50, 90)), RC, &[future]);
    check(&read(1, (50, 90)), RR, &[future]);
}

#[test]
fn at_read_uncommitted_a_read_may_see_anything() {
    let early = ONE_WRITE.to_owned() + &reader("r(x,1)", (50, 90));
    check(&early, "mariadb/read-uncommitted", &[]);
    check(
        &early,
        "mariadb/read-committed",
        &["consistent read: UncommittedVersionRead by R on x: 1, possible 0"],
    );
}

#[test]
fn the_last_version_that_was_certainly_committed_hides_those_before_it() {
    let three = "initial 0\n\
        a T1: w(x,1)@[10,20] @[10,200] {end-sent=100}\n\
        b T2: w(x,2)@[30,140] @[30,300] {end-sent=150}\n\
        c T3: w(x,3)@[30,380] @[30,500] {end-sent=400}\n";
    let four = three.to_owned() + "d T4: w(x,4)@[40,440] @[40,700] {end-sent=450}\n";
    let read =
        |text: &str, value: i64| text.to_owned() + &reader(&format!("r(x,{value})"), (600, 610));
    check(&read(three, 3), RC, &[]);
    check(&read(three, 2), RC, &["consistent read: StaleRead by R on x: 2, possible 3"]);
    check(&read(&four, 3), RC, &[]);
    check(&read(&four, 4), RC, &[]);
    check(&read(&four, 2), RC, &["consistent read: StaleRead by R on x: 2, possible 4 3"]);
}

/// Two commits that overlap. Where writers lock, the second one had its lock after the first had let go of it.
#[test]
fn of_two_commits_that_overlap_locks_know_the_order() {
    let two = "initial 0\n\
        a T1: w(x,1)@[10,20] @[10,200] {end-sent=100}\n\
        b T2: w(x,2)@[30,140] @[30,250] {end-sent=150}\n";
    let read = |value: i64| two.to_owned() + &reader(&format!("r(x,{value})"), (300, 310));
    check(&read(2), RC, &[]);
    check(&read(1), RC, &["consistent read: StaleRead by R on x: 1, possible 2"]);
    // Where nothing is locked, and neither has read, either may be the last.
    for server in ["occ/serializable", "timestamp-order/serializable"] {
        check(&read(1), server, &[]);
        check(&read(2), server, &[]);
        check(&read(0), server, &["consistent read: StaleRead by R on x: 0, possible 2 1"]);
    }
}

/// A statement that commits by itself: its answer says that it has its lock no more. Which of two came first is open.
#[test]
fn of_two_statements_that_commit_by_themselves_either_may_be_the_first() {
    let two = "initial 0\n\
        a T1: w(x,1)@[10,100] @[10,100] {end-sent=10}\n\
        b T2: w(x,2)@[20,90] @[20,90]\n";
    let read = |value: i64, at| two.to_owned() + &reader(&format!("r(x,{value})"), at);
    for server in [RC, RR, SER, "mariadb/repeatable-read", "mariadb/serializable"] {
        for value in [1, 2] {
            check(&read(value, (200, 210)), server, &[]);
        }
        // T2 may have committed before its answer came.
        check(&read(2, (30, 40)), server, &[]);
        let stale = asked(&read(0, (200, 210)), server).lines;
        assert_eq!(stale, ["consistent read: StaleRead by R on x: 0, possible 1 2"], "{server}");
    }
    // One that is later than both hides them.
    let third =
        two.to_owned() + "c T3: w(x,3)@[110,120] @[110,120]\n" + &reader("r(x,1)", (200, 210));
    check(&third, RC, &["consistent read: StaleRead by R on x: 1, possible 3"]);
    // Before or after a transaction that has the row locked meanwhile.
    let long = "initial 0\n\
        a T1: w(x,1)@[10,100] @[10,100]\n\
        b T2: w(x,2)@[20,30] @[20,160] {end-sent=150}\n";
    check(&(long.to_owned() + &reader("r(x,2)", (200, 210))), RC, &[]);
}

#[test]
fn one_snapshot_has_to_explain_all_reads_together() {
    let two = "initial 0\n\
        a T1: w(x,1)@[10,20] @[10,110] {end-sent=100}\n\
        b T2: w(y,2)@[10,20] @[10,210] {end-sent=200}\n";
    let read = |reads: &str| two.to_owned() + &reader(reads, (50, 300));
    for alone in ["r(x,0)", "r(y,2)", "r(x,1) r(y,2)", "r(x,1) r(y,0)", "r(x,0) r(y,0)"] {
        check(&read(alone), RR, &[]);
    }
    let torn = "consistent read: TornSnapshot by R on x y";
    check(&read("r(x,0) r(y,2)"), RR, &[torn]);
    // Statements with snapshots of their own may differ; one statement has one.
    let apart = two.to_owned() + "r R: r(x,0)@[50,300] r(y,2)@[310,320] @[50,340] {end-sent=330}\n";
    check(&apart, RC, &[]);
    check(&apart, RR, &[torn]);
}

/// What a read shows of the snapshot narrows what other reads can have seen.
#[test]
fn a_snapshot_is_known_better_after_each_read() {
    let two = "initial 0\n\
        a T1: w(x,1)@[10,20] @[10,110] {end-sent=100}\n\
        b T2: w(x,2)@[130,140] @[130,210] {end-sent=200}\n\
        c T3: w(y,3)@[160,170] @[160,190] {end-sent=180}\n";
    let read = |reads: &str| two.to_owned() + &reader(reads, (50, 300));
    // x = 1 is over at 210 at the latest, and y = 3 is there from 190 on at the latest, from 180 on at the earliest.
    check(&read("r(x,1) r(y,3)"), RR, &[]);
    check(&read("r(x,0) r(y,3)"), RR, &["consistent read: TornSnapshot by R on x y"]);
    check(&read("r(x,2) r(y,0)"), RR, &["consistent read: TornSnapshot by R on x y"]);
}

/// PostgreSQL's SELECT 1 takes the snapshot, and nothing but its text says so; a query after it does not take another one.
#[test]
fn a_statement_that_touches_no_row_may_have_taken_the_snapshot() {
    let text = |first: &str| {
        format!(
            "initial 0\n\
             r R: []@[10,20]{{sql=\"{first}\"}} [r(x,0)]@[210,220]{{sql=\"SELECT v FROM t\"}} @[5,240] {{end-sent=230}}\n\
             a T1: w(x,1)@[30,40] @[30,110] {{end-sent=100}}\n"
        )
    };
    check(&text("SELECT 1"), RR, &[]);
    check(&text("SET TIME ZONE UTC"), RR, &[]);
    check(&text("SELECT 1"), RC, &["consistent read: StaleRead by R on x: 0, possible 1"]);
}

#[test]
fn a_commit_without_an_answer_may_have_taken_effect_at_any_time_or_never() {
    let unknown = "initial 0\na T1: w(x,1)@[10,20] unknown @[10,_] {end-sent=100}\n";
    let read = |value: i64, at| unknown.to_owned() + &reader(&format!("r(x,{value})"), at);
    for (value, at) in [(0, (50, 60)), (0, (900, 910)), (1, (110, 120)), (1, (900, 910))] {
        check(&read(value, at), RC, &[]);
    }
    // Before COMMIT was sent it had not taken effect.
    check(
        &read(1, (50, 60)),
        RC,
        &["consistent read: UncommittedVersionRead by R on x: 1, possible 0"],
    );
}

#[test]
fn equal_times_may_be_in_either_order() {
    let read = |value: i64, at| ONE_WRITE.to_owned() + &reader(&format!("r(x,{value})"), at);
    check(&read(0, (200, 210)), RC, &[]);
    check(&read(1, (90, 100)), RC, &[]);
    check(&read(0, (201, 210)), RC, &["consistent read: StaleRead by R on x: 0, possible 1"]);
    check(
        &read(1, (90, 99)),
        RC,
        &["consistent read: UncommittedVersionRead by R on x: 1, possible 0"],
    );
    // A lock that is there when another one goes.
    let second = |answered: i64| {
        ONE_WRITE.to_owned() + &format!("b T2: w(x,2)@[30,{answered}] @[30,400] {{end-sent=300}}\n")
    };
    check(&second(100), RC, &[]);
    check(&second(99), RC, &["mutual exclusion: BrokenLock by T2 T1 on x"]);
    // A snapshot that is taken when another transaction commits.
    let late = |taken: i64| {
        format!(
            "{ONE_WRITE}b T2: r(y,0)@[30,{taken}] w(x,2)@[190,210] @[30,400] {{end-sent=300}}\n"
        )
    };
    check(&late(100), RR, &[]);
    check(&late(99), RR, &["first updater wins: ConcurrentWrites by T2 T1 on x"]);
}

#[test]
fn two_versions_that_look_alike_are_no_dependency() {
    let text = |last: i64| {
        format!(
            "initial 0\n\
             a T1: w(x,7)@[10,20] @[10,200] {{end-sent=100}}\n\
             b T2: w(x,{last})@[30,140] w(y,1)@[141,142] @[30,250] {{end-sent=150}}\n\
             r R: [r(x,{last}) r(y,0)]@[160,170] @[160,400] {{end-sent=390}}\n"
        )
    };
    // What is read may be of T1, and then nothing is wrong.
    check(&text(7), SER, &[]);
    assert_eq!(figure(&asked(&text(7), SER), "reads decided"), 1);
    check(&text(8), SER, &["serialization certifier: FracturedRead by R T2 on y x"]);
}

// ---- own writes ----

/// A row with two columns.
const COLUMNS: &str = "meta rows by-column\ngiven x {a:0,b:0}\n";

#[test]
fn a_transaction_sees_the_columns_that_it_wrote() {
    let read = |row: &str| {
        format!("{COLUMNS}a T1: w(x,{{a:1}})@[10,20] r(x,{row})@[30,40] @[10,60] {{end-sent=50}}\n")
    };
    for server in [RC, RR, SER, "mariadb/repeatable-read", "mariadb/serializable"] {
        check(&read("{a:1,b:0}"), server, &[]);
        check(&read("{b:0}"), server, &[]);
        let own = "consistent read: NotMyOwnWrite by T1 on x";
        check(&read("{a:0,b:0}"), server, &[own]);
        check(&read("{a:0}"), server, &[own]);
        check(&read("absent"), server, &[own]);
    }
}

#[test]
fn columns_that_others_wrote_are_seen_with_the_own_ones() {
    let text = |b: i64| {
        format!(
            "{COLUMNS}a T1: w(x,{{b:5}})@[10,20] @[10,60] {{end-sent=50}}\n\
             b T2: w(x,{{a:1}})@[70,80] r(x,{{a:1,b:{b}}})@[90,100] @[70,120] {{end-sent=110}}\n"
        )
    };
    for server in [RC, RR, SER, "mariadb/repeatable-read", "mariadb/serializable"] {
        check(&text(5), server, &[]);
        check(&text(0), server, &["consistent read: NotMyOwnWrite by T2 on x"]);
    }
}

/// PostgreSQL shows a row of the snapshot beside one that was inserted after it had been deleted.
#[test]
fn a_deleted_row_of_the_snapshot_may_be_seen_beside_the_own_one() {
    let read = |seen: &str| {
        format!(
            "initial 0\n\
             b T2: r(x,0)@[10,20] insert(x,2)@[120,130] [{seen}]@[140,150] @[10,170] {{end-sent=160}}\n\
             a T1: delete(x)@[30,40] @[30,110] {{end-sent=100}}\n"
        )
    };
    check(&read("r(x,0) r(x,2)"), RR, &[]);
    let own = "consistent read: NotMyOwnWrite by T2 on x";
    check(&read("r(x,1)"), RR, &[own]);
    check(&read("r(x,absent)"), RR, &[own]);
    // At read committed, nothing of the deleted row is left.
    check(&read("r(x,0) r(x,2)"), RC, &[own]);
}

/// Another session has written the same to a column meanwhile: an update that changes nothing may leave no version, and then
/// the transaction goes on to see what it saw before.
#[test]
fn an_update_that_changes_nothing_may_leave_no_version() {
    for version in ["w(x,{a:1})", "w(x,{a:1,b:5})"] {
        let text = format!(
            "{COLUMNS}b T2: r(x,{{a:0,b:0}})@[1,4] w(x,{{a:1}})@[70,80] r(x,{{a:0,b:0}})@[90,100] @[1,120] {{end-sent=110}}\n\
             a T1: {version}@[10,20] @[10,60] {{end-sent=50}}\n"
        );
        for server in ["mariadb/repeatable-read", "tidb/repeatable-read"] {
            check(&text, server, &[]);
            let changed = text.replace("w(x,{a:1})@[70", "w(x,{a:2})@[70");
            check(&changed, server, &["consistent read: NotMyOwnWrite by T2 on x"]);
        }
    }
}

// ---- mutual exclusion ----

/// Locked at 30 by the latest, until 100 at the earliest.
const HOLDER: &str = "initial 0\na T0: w(x,1)@[10,30] @[10,120] {end-sent=100}\n";

#[test]
fn locks_that_were_certainly_there_at_the_same_time() {
    let other = |(sent, answered), (end, ended)| {
        format!("{HOLDER}b T1: w(x,2)@[{sent},{answered}] @[{sent},{ended}] {{end-sent={end}}}\n")
    };
    check(&other((20, 50), (80, 90)), RC, &["mutual exclusion: BrokenLock by T0 T1 on x"]);
    // It waited until T0 committed.
    check(&other((20, 110), (200, 210)), RC, &[]);
    check(&other((40, 105), (200, 210)), RC, &[]);
    assert_eq!(figure(&asked(&other((40, 105), (200, 210)), RC), "adjacent versions decided"), 1);
}

#[test]
fn locks_that_go_together() {
    let reader = |mode: &str| {
        format!("{HOLDER}b T1: [r(x,0)]@[40,50]{{lock={mode}}} @[40,90] {{end-sent=80}}\n")
    };
    // An UPDATE that leaves the key as it is goes together with what foreign keys ask for.
    check(&reader("key-share"), RC, &[]);
    let broken = "mutual exclusion: BrokenLock by T0 T1 on x";
    for mode in ["share", "no-key-update", "exclusive"] {
        // Once it has the lock, it sees what T0 wrote, and T0 had not committed.
        let verdict = asked(&reader(mode), RC);
        assert!(verdict.lines.iter().any(|line| line == broken), "{mode}: {verdict:?}");
    }
    let two = "initial 0\n\
        a T0: [r(x,0)]@[10,30]{lock=share} @[10,120] {end-sent=100}\n\
        b T1: [r(x,0)]@[40,50]{lock=share} @[40,90] {end-sent=80}\n";
    check(two, RC, &[]);
    check(
        &two.replacen("share", "exclusive", 1),
        RC,
        &["mutual exclusion: BrokenLock by T0 T1 on x"],
    );
}

/// A lock that was only taken is no write: it holds others off, and wins nothing.
#[test]
fn a_lock_without_a_write_is_no_update() {
    let text = "initial 0\n\
        a T0: [r(x,0)]@[10,30]{lock=exclusive} @[10,120] {end-sent=100}\n\
        b T1: r(y,0)@[20,25] w(x,2)@[40,110] @[20,190] {end-sent=180}\n";
    check(text, RR, &[]);
    check(text, SER, &[]);
}

/// The server has ended T0 when it answers with an error; the client says ROLLBACK much later.
#[test]
fn locks_of_what_the_server_ended_are_gone() {
    let other = "b T1: w(x,2)@[70,80] @[70,310] {end-sent=300}\n";
    let ended = |how: &str, attrs: &str| {
        format!(
            "initial 0\n{other}a T0: w(x,1)@[10,20] []@[50,60]{how} abort @[10,510] {{end-sent=500{attrs}}}\n"
        )
    };
    let broken = &["mutual exclusion: BrokenLock by T0 T1 on x"][..];
    for server in [RR, "mariadb/repeatable-read"] {
        check(&ended("", ",server-ended-at=1"), server, &[]);
        // A record that says only which error it was.
        let code = if server == RR { "40001" } else { "1213" };
        check(&ended("", &format!(",error=\"{code}\"")), server, &[]);
        check(&ended(&format!("{{error=\"{code}\"}}"), ""), server, &[]);
        check(&ended("", ""), server, broken);
    }
    // After 1205 the transaction of InnoDB goes on, with its locks.
    check(&ended("{error=\"1205\"}", ""), "mariadb/repeatable-read", broken);
}

#[test]
fn savepoints_release_locks_where_they_do() {
    let text = |did: &str| {
        format!(
            "initial 0\n\
             a T0: w(y,1)@[1,2] savepoint(s)@[3,4] {did}@[10,30] rollback(s)@[32,34] @[1,120] {{end-sent=100}}\n\
             b T1: w(x,2)@[40,50] @[40,90] {{end-sent=80}}\n"
        )
    };
    check(&text("delete(x)"), RC, &[]);
    let broken = ["mutual exclusion: BrokenLock by T0 T1 on x"];
    check(&text("delete(x)"), "mariadb/read-committed", &broken);
    // It may have inserted the row: then the row is gone, and the lock with it.
    check(&text("w(x,1)"), "mariadb/read-committed", &[]);
}

#[test]
fn one_database_has_one_writer() {
    let text = |x: &str, (sent, answered): (i64, i64)| {
        format!("{HOLDER}b T1: w({x},2)@[{sent},{answered}] @[{sent},210] {{end-sent=200}}\n")
    };
    for server in ["sqlite/deferred", "sqlite/immediate"] {
        check(&text("y", (130, 140)), server, &[]);
    }
    let both = text("y", (40, 50));
    check(
        &both,
        "sqlite/deferred",
        &[
            "first updater wins: ConcurrentWrites by T1 T0 on y x",
            "mutual exclusion: BrokenLock by T1 T0 on y x",
        ],
    );
    check(&both, "sqlite/immediate", &["mutual exclusion: BrokenLock by T1 T0 on "]);
    // Readers do not wait for the writer, except after BEGIN IMMEDIATE.
    let read = HOLDER.to_owned() + &reader("r(y,0)", (40, 50));
    check(&read, "sqlite/deferred", &[]);
    let alone = asked(&read, "sqlite/immediate");
    assert!(alone.lines.iter().any(|line| line.contains("BrokenLock")), "{alone:?}");
    // What was read before somebody else wrote cannot be followed by a write.
    let stale =
        HOLDER.to_owned() + "b T1: r(y,0)@[40,50] w(y,2)@[130,140] @[40,210] {end-sent=200}\n";
    check(&stale, "sqlite/deferred", &["first updater wins: ConcurrentWrites by T1 T0 on y x"]);
}

// ---- first updater wins ----

#[test]
fn of_two_writers_one_had_committed_before_the_other_began() {
    let text = |(sent, taken): (i64, i64)| {
        format!(
            "initial 0\n\
             a T0: w(x,1)@[10,20] @[10,110] {{end-sent=100}}\n\
             b T1: r(y,0)@[{sent},{taken}] w(x,2)@[106,120] @[{sent},210] {{end-sent=200}}\n"
        )
    };
    let broken = &["first updater wins: ConcurrentWrites by T1 T0 on x"][..];
    for server in [RR, SER, "mariadb/repeatable-read-snapshot", "mariadb-myrocks/repeatable-read"] {
        check(&text((30, 40)), server, broken);
        check(&text((30, 105)), server, &[]);
    }
    for server in [RC, "mariadb/repeatable-read", "tidb/repeatable-read"] {
        check(&text((30, 40)), server, &[]);
    }
    // The first one has read nothing, and so has no snapshot there; what counts is that of the second.
    let read = text((30, 40))
        .replace("a T0: ", "a T0: r(v,0)@[11,12] ")
        .replace("w(x,1)@[10,20]", "w(x,1)@[14,20]");
    check(&read, "mariadb/repeatable-read-snapshot", broken);
    // If it is the second that has none, its write succeeds.
    let blind = text((30, 40)).replace("r(y,0)@[30,40] ", "");
    check(&blind, "mariadb/repeatable-read-snapshot", &[]);
}

/// PostgreSQL lets a row be inserted that was deleted after the snapshot.
#[test]
fn an_insert_after_a_delete_is_no_second_update() {
    let text = "initial 0\n\
        a T0: delete(x)@[10,20] @[10,110] {end-sent=100}\n\
        b T1: r(y,0)@[30,40] insert(x,2)@[106,120] @[30,210] {end-sent=200}\n";
    check(text, RR, &[]);
    check(text, SER, &[]);
    let updates = text.replace("delete(x)", "w(x,1)").replace("insert(x,2)", "w(x,2)");
    check(&updates, RR, &["first updater wins: ConcurrentWrites by T1 T0 on x"]);
}

/// The rule of optimistic transactions (Percolator): no lock, and START takes the snapshot.
#[test]
fn optimistic_writers_conflict_from_their_start_on() {
    let text = |start: &str| {
        format!(
            "initial 0\n\
             a T0: w(x,1)@[10,20] @[10,110] {{end-sent=100}}\n\
             b T1: r(y,0)@[120,130] w(x,2)@[140,150] @[{start}] {{end-sent=200,begin-answered=95}}\n"
        )
    };
    let optimistic = "tidb/repeatable-read-optimistic";
    check(&text("90,210"), optimistic, &["first updater wins: ConcurrentWrites by T1 T0 on x"]);
    // BEGIN was answered after T0 may have committed.
    check(&text("90,210").replace("=95", "=105"), optimistic, &[]);
    // Both write before either commits: nothing is locked.
    let overlap = "initial 0\n\
        a T0: w(x,1)@[10,20] abort @[10,110] {end-sent=100}\n\
        b T1: w(x,2)@[30,40] @[30,90] {end-sent=80}\n";
    check(overlap, optimistic, &[]);
}

// ---- serialization certifier ----

/// `T1` reads what `T2` overwrites, and `T2` reads what `T3` overwrites. All begin at once, and commit at these times.
fn chain(writes: &str, commits: [(i64, i64); 3]) -> String {
    let [(c1, d1), (c2, d2), (c3, d3)] = commits;
    format!(
        "initial 0\n\
         a T1: r(x,0)@[10,20] {writes} @[10,{d1}] {{end-sent={c1}}}\n\
         b T2: r(y,0)@[10,20] w(x,2)@[22,24] @[10,{d2}] {{end-sent={c2}}}\n\
         c T3: r(z,0)@[10,20] w(y,3)@[22,24] @[10,{d3}] {{end-sent={c3}}}\n"
    )
}

#[test]
fn two_anti_dependencies_are_refused_if_the_last_commits_first() {
    let dangerous = &["serialization certifier: DangerousStructure by T1 T2 T3 on x y"][..];
    let writer = "w(v,1)@[22,24]";
    let (first, second, third) = ((50, 60), (70, 80), (90, 100));
    check(&chain(writer, [third, second, first]), SER, dangerous);
    check(&chain(writer, [second, third, first]), SER, dangerous);
    // Any other order commits: T1 before T2 before T3, or T2 before T3.
    for commits in [[first, second, third], [second, first, third], [third, first, second]] {
        check(&chain(writer, commits), SER, &[]);
    }
    check(&chain(writer, [first, third, second]), SER, &[]);
    // Whether T3 was before T2, or before T1, is not certain.
    check(&chain(writer, [third, (55, 80), first]), SER, &[]);
    check(&chain(writer, [(55, 100), second, first]), SER, &[]);
    // Snapshot isolation allows it.
    check(&chain(writer, [third, second, first]), RR, &[]);
}

#[test]
fn a_first_that_only_reads_is_exempt_unless_its_snapshot_shows_the_last() {
    let commits = [(90, 100), (70, 80), (50, 60)];
    check(&chain("", commits), SER, &[]);
    check(&chain("r(v,0)@[22,24]", commits), SER, &[]);
    let late = chain("", commits).replace("r(x,0)@[10,20]", "r(x,0)@[62,64]");
    let late = late.replace("@[10,100]", "@[62,100]");
    check(&late, SER, &["serialization certifier: DangerousStructure by T1 T2 T3 on x y"]);
    // One that says it only reads, and one of which that is not known, are the same.
    check(
        &late.replace("{end-sent=90", "{read-only=true,end-sent=90"),
        SER,
        &["serialization certifier: DangerousStructure by T1 T2 T3 on x y"],
    );
}

/// The three have to overlap: a snapshot that was taken after the other's commit, or about then, is no conflict.
#[test]
fn transactions_one_after_the_other_are_no_dangerous_structure() {
    let text = |t1: (i64, i64)| {
        format!(
            "initial 0\n\
             c T3: w(y,3)@[10,14] @[10,60] {{end-sent=50}}\n\
             b T2: [r(y,0) r(x,0)]@[10,20] w(x,2)@[22,24] @[10,80] {{end-sent=70}}\n\
             a T1: [r(x,0)]@[{},{}] w(v,1)@[90,92] @[60,110] {{end-sent=100}}\n",
            t1.0, t1.1
        )
    };
    check(
        &text((61, 66)),
        SER,
        &["serialization certifier: DangerousStructure by T1 T2 T3 on x y"],
    );
    // The answer came after T2 may have committed.
    check(&text((61, 75)), SER, &[]);
}

/// The first and the last may be one transaction: write skew.
#[test]
fn write_skew_is_a_cycle_and_a_dangerous_structure() {
    let text = "initial 0\n\
        a T1: [r(x,0) r(y,0)]@[10,20] w(x,1)@[22,24] @[10,60] {end-sent=50}\n\
        b T2: [r(x,0) r(y,0)]@[10,20] w(y,2)@[22,24] @[10,80] {end-sent=70}\n";
    check(
        text,
        SER,
        &[
            "serialization certifier: WriteSkew by T1 T2 on y x",
            "serialization certifier: DangerousStructure by T1 T2 on y x",
        ],
    );
    check(text, RR, &[]);
    check(text, "mariadb/repeatable-read-snapshot", &[]);
}

#[test]
fn cycles_of_certain_dependencies() {
    let skew = "initial 0\n\
        a T1: r(x,0)@[10,20] @[10,200] {end-sent=190}\n\
        b T2: w(x,1)@[30,40] @[30,60] {end-sent=50}\n\
        c T3: r(x,1)@[70,80] w(y,1)@[82,84] @[70,100] {end-sent=90}\n\
        d T4: r(y,1)@[110,120] w(z,1)@[122,124] @[110,140] {end-sent=130}\n";
    let closed = skew.replace("r(x,0)@[10,20] @", "r(x,0)@[10,20] r(z,1)@[150,160] @");
    // Two-phase locking: T1 keeps its lock on x, and T2 cannot write before T1 ends.
    let server = "mariadb/serializable";
    let found = asked(&closed, server).lines;
    assert!(found.contains(&"mutual exclusion: BrokenLock by T1 T2 on x".to_owned()), "{found:?}");
    let cycle = "serialization certifier: CausalityViolation by T4 T1 T2 T3 on z x y";
    assert!(found.contains(&cycle.to_owned()), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    // Where the statement has the snapshot, this is what read committed allows.
    check(&closed, RC, &[]);
}

#[test]
fn backward_validation_refuses_what_was_overwritten() {
    let text = |(sent, ended): (i64, i64)| {
        format!(
            "initial 0\n\
             a T1: r(x,0)@[20,30] w(y,1)@[32,34] @[10,110] {{begin-answered=15,end-sent=100}}\n\
             b T2: w(x,1)@[22,24] @[10,{ended}] {{begin-answered=15,end-sent={sent}}}\n"
        )
    };
    let occ = "occ/serializable";
    let refused = &["serialization certifier: SkippedValidation by T1 T2 on x"][..];
    check(&text((50, 60)), occ, refused);
    // T1 may have been first.
    check(&text((90, 105)), occ, &[]);
    check(&text((120, 130)), occ, &[]);
}

#[test]
fn timestamp_order_goes_from_older_to_newer() {
    let text = |(sent, answered): (i64, i64)| {
        format!(
            "initial 0\n\
             a T1: w(x,1)@[40,50] @[10,70] {{begin-answered=20,end-sent=60}}\n\
             b T2: r(x,0)@[32,34] w(y,1)@[36,38] @[{sent},90] {{begin-answered={answered},end-sent=80}}\n"
        )
    };
    let order = "timestamp-order/serializable";
    // T2 read what T1 overwrote, so that it has to come first, but it has the later timestamp.
    let refused = "serialization certifier: SkippedValidation by T2 T1 on x";
    check(&text((21, 30)), order, &[refused]);
    // Which of them began first is not certain.
    check(&text((20, 30)), order, &[]);
    check(&text((5, 8)), order, &[]);
}
