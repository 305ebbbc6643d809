//! Rows that predicate reads return, and rows that they do not.

use crate::asked::check;

const RC: &str = "postgresql/read-committed";
const RR: &str = "postgresql/repeatable-read";
const SER: &str = "postgresql/serializable";

/// Two rows satisfy p at first, as L shows; then T1 deletes x and T2 inserts z, which L2 shows to satisfy p, too.
const ROWS: &str = "given x 1\ngiven y 1\n\
    l L: pred(p,x=1,y=1)@[1,2] @[1,4] {end-sent=3}\n\
    a T1: delete(x)@[10,20] @[10,40] {end-sent=30}\n\
    b T2: insert(z,5)@[50,60] @[50,80] {end-sent=70}\n\
    l L2: pred(p,y=1,z=5)@[90,91] @[90,94] {end-sent=93}\n";

fn looks(rows: &str, (sent, answered): (i64, i64)) -> String {
    let (end, ended) = (answered + 1, answered + 2);
    format!("{ROWS}r R: pred(p{rows})@[{sent},{answered}] @[{sent},{ended}] {{end-sent={end}}}\n")
}

#[test]
fn rows_that_must_be_there_are_missed() {
    for level in [RC, RR, SER] {
        check(&looks(",y=1,z=5", (100, 110)), level, &[]);
        check(
            &looks(",z=5", (100, 110)),
            level,
            &["consistent read: ThinAirRead by R on p: absent, possible 1"],
        );
        check(
            &looks(",y=1", (100, 110)),
            level,
            &["consistent read: StaleRead by R on p: absent, possible 5"],
        );
    }
}

#[test]
fn a_row_that_may_be_there_may_be_missed() {
    // T1 commits between 30 and 40.
    for rows in [",y=1", ",x=1,y=1"] {
        check(&(ROWS.to_owned() + &looks_early(rows)), RR, &[]);
    }
}

fn looks_early(rows: &str) -> String {
    format!("r R: pred(p{rows})@[32,38] @[32,95] {{end-sent=94}}\n")
}

#[test]
fn a_row_that_cannot_be_there_any_more_is_found() {
    check(
        &looks(",x=1,y=1,z=5", (100, 110)),
        RC,
        &["consistent read: StaleRead by R on p: 1, possible absent"],
    );
}

/// Of z = 6 it is not known whether it satisfies p.
#[test]
fn a_row_in_another_state_may_be_missed() {
    let text = ROWS.to_owned()
        + "c T3: w(z,6)@[100,110] @[100,130] {end-sent=120}\n\
           r R: pred(p,y=1)@[140,150] @[140,170] {end-sent=160}\n";
    check(&text, RC, &[]);
}

#[test]
fn a_snapshot_has_to_explain_what_is_missing_and_what_is_read() {
    let text = "given x 1\ngiven y 1\n\
        l L: pred(p,x=1)@[1,2] @[1,4] {end-sent=3}\n\
        a T1: delete(x)@[10,20] @[10,50] {end-sent=40}\n\
        b T2: w(y,2)@[60,70] @[60,90] {end-sent=80}\n\
        r R: pred(p)@[30,100] r(y,1)@[110,120] @[30,140] {end-sent=130}\n\
        s S: pred(p,x=1)@[30,100] r(y,2)@[110,120] @[30,140] {end-sent=130}\n";
    check(text, RR, &["consistent read: TornSnapshot by S on y"]);
}
