//! Where each statement has a snapshot of its own, all that one statement returned is of one instant; and no snapshot shows
//! half of a commit.

use crate::asked::{asked, check, figure};

const RC: &str = "postgresql/read-committed";

/// Two writers of two rows, of which the first one had certainly committed before the second one could.
const TWO: &str = "initial 0\n\
    a T1: w(x,1)@[10,20] @[10,110] {end-sent=100}\n\
    b T2: w(y,2)@[10,20] @[10,210] {end-sent=200}\n";

const TORN: &str = "consistent read: TornSnapshot by R on x y";

/// A transaction of these statements, while both commit.
fn of(stmts: &str) -> String {
    format!("{TWO}r R: {stmts} @[50,320] {{end-sent=310}}\n")
}

#[test]
fn one_statement_has_one_snapshot() {
    let servers = ["postgresql", "mariadb", "mariadb-myrocks", "tidb"];
    for level in servers.map(|server| format!("{server}/read-committed")) {
        let check =
            |ops: &str, found: &[&str]| check(&of(&format!("[{ops}]@[50,300]")), &level, found);
        check("r(x,0) r(y,2)", &[TORN]);
        check("r(x,0) r(y,0)", &[]);
        check("r(x,1) r(y,2)", &[]);
        check("r(x,1) r(y,0)", &[]);
        check("pred(p,x=0,y=2)", &["consistent read: TornSnapshot by R on p"]);
        check("pred(p,x=1,y=2)", &[]);
    }
}

#[test]
fn each_statement_has_its_own() {
    check(&of("r(x,0)@[50,300] r(y,2)@[50,300]"), RC, &[]);
    check(&of("[r(x,0) r(y,0)]@[50,300] [r(x,1) r(y,2)]@[50,300]"), RC, &[]);
    check(&of("[r(x,0) r(y,2)]@[50,300] [r(x,0) r(y,2)]@[50,300]"), RC, &[TORN, TORN]);
}

/// A statement that locks or writes looks again at rows that others have changed meanwhile: what it returns may be of several
/// times. Nor is anything held against reads that may see what is not committed.
#[test]
fn a_statement_that_locks_or_writes_may_return_rows_of_several_times() {
    let plain = "[r(x,0) r(y,2)]@[50,300]";
    check(&of(plain), RC, &[TORN]);
    for stmt in [
        format!("{plain}{{read-mode=locking}}"),
        format!("{plain}{{read-mode=uncommitted}}"),
        format!("{plain}{{lock=key-share}}"),
        "[r(x,0) r(y,2) w(z,1)]@[50,300]".to_owned(),
    ] {
        check(&of(&stmt), RC, &[]);
    }
    check(&of(plain), "mariadb/read-uncommitted", &[]);
}

/// What one row says of the snapshot of a statement narrows what its other rows can be.
#[test]
fn the_snapshot_of_a_statement_is_known_better_after_each_row() {
    // The value 0 is there before T1, and again after T2: only the other row says which it is.
    let text = "initial 0\n\
        a T1: w(x,1)@[10,20] @[10,110] {end-sent=100}\n\
        b T2: w(x,0)@[120,130] @[120,210] {end-sent=200}\n\
        c T3: w(y,3)@[220,230] @[220,250] {end-sent=240}\n";
    let read = |reads: &str| {
        text.to_owned() + &format!("r R: [{reads}]@[50,300] @[50,320] {{end-sent=310}}\n")
    };
    let figures = |text: &str| {
        let asked = asked(text, RC);
        ["reads", "reads decided"].map(|name| figure(&asked, name))
    };
    assert_eq!(figures(&read("r(x,0)")), [1, 0]);
    assert_eq!(figures(&read("r(x,0) r(y,3)")), [2, 2]);
}

/// While its COMMIT is under way a transaction may be seen or not, but not one of its rows without the other.
#[test]
fn no_snapshot_shows_half_of_a_commit() {
    let text = |reads: &str| {
        format!(
            "initial 0\n\
             a T1: w(x,1)@[10,20] w(y,1)@[30,40] @[10,300] {{end-sent=50}}\n\
             r R: {reads} @[60,90] {{end-sent=80}}\n"
        )
    };
    let torn = "consistent read: TornSnapshot by R on x y";
    for (one, two) in [(0, 1), (1, 0)] {
        check(&text(&format!("[r(x,{one}) r(y,{two})]@[60,70]")), RC, &[torn]);
        let apart = text(&format!("r(x,{one})@[60,70] r(y,{two})@[71,75]"));
        check(&apart, "postgresql/repeatable-read", &[torn]);
        // A certifier finds it as a cycle, and once.
        let cycle = asked(&apart, "postgresql/serializable").lines;
        let is_cycle = cycle.len() == 1 && cycle[0].starts_with("serialization certifier: ");
        assert!(is_cycle, "{cycle:?}");
    }
    check(&text("[r(x,1) r(y,1)]@[60,70]"), RC, &[]);
    check(&text("[r(x,0) r(y,0)]@[60,70]"), RC, &[]);
}
