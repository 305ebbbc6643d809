//! Ranges of keys that a statement has locked: nobody inserts there, in servers that have such locks.

use crate::asked::check;

/// SELECT ... FOR UPDATE of the keys 3 to 9 of a table, from 20 (its answer) to 100 (COMMIT sent).
fn locked(lock: &str) -> String {
    format!("a T1: []@[10,20]{{{lock}range=[[t,3],[t,9]]}} @[10,200] {{end-sent=100}}\n")
}

/// An INSERT that is answered at a time, and committed at once.
fn insert(key: &str, answered: i64) -> String {
    let (end, ended) = (answered + 20, answered + 30);
    format!("b T2: insert({key},1)@[15,{answered}] @[15,{ended}] {{end-sent={end}}}\n")
}

const RR: &str = "mariadb/repeatable-read";
const SER: &str = "mariadb/serializable";
const BROKEN: &str = "mutual exclusion: BrokenLock by T1 T2 on [t,5]";

#[test]
fn nothing_is_inserted_into_a_range_while_it_is_locked() {
    let text = locked("lock=exclusive,") + &insert("[t,5]", 50);
    check(&text, RR, &[BROKEN]);
    check(&text, SER, &[BROKEN]);
}

#[test]
fn an_insert_that_waited_for_the_range_is_lawful() {
    check(&(locked("lock=exclusive,") + &insert("[t,5]", 110)), RR, &[]);
}

#[test]
fn what_is_inserted_elsewhere_is_lawful() {
    for key in ["[t,2]", "[t,10]", "[u,5]", "5", "[t,x]"] {
        check(&(locked("lock=exclusive,") + &insert(key, 50)), RR, &[]);
    }
}

#[test]
fn only_servers_that_lock_ranges_are_held_to_it() {
    let text = locked("lock=exclusive,") + &insert("[t,5]", 50);
    for server in
        ["mariadb/read-committed", "postgresql/serializable", "mariadb-myrocks/repeatable-read"]
    {
        check(&text, server, &[]);
    }
}

#[test]
fn a_plain_read_locks_its_range_only_where_it_locks_rows() {
    let text = locked("") + &insert("[t,5]", 50);
    check(&text, RR, &[]);
    check(&text, SER, &[BROKEN]);
}

#[test]
fn locks_of_ranges_and_new_rows_are_gone_after_a_rollback_to_a_savepoint() {
    let back = "a T1: savepoint(s)@[1,2] []@[10,20]{lock=exclusive,range=[[t,3],[t,9]]} rollback(s)@[22,24] \
        @[1,200] {end-sent=100}\n";
    check(&(back.to_owned() + &insert("[t,5]", 50)), RR, &[]);
    let inserted = "a T1: savepoint(s)@[1,2] insert([t,5],2)@[10,20] rollback(s)@[22,24] @[1,200] {end-sent=100}\n";
    check(&(inserted.to_owned() + &insert("[t,5]", 50)), RR, &[]);
}
