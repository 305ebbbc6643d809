//! Traces of servers acted out that once raised an alarm, by their seeds.

use isolde_spec::Profile;

use super::acted::{Size, acted};
use super::twin::alarms_of;

#[track_caller]
fn check(profile: &str, seed: u64) {
    let profile = Profile::named(profile).unwrap();
    let size = Size { sessions: 2 + (seed % 6) as usize, txns: 30, stmts: 4 };
    let script = acted(profile, seed, size);
    let alarms = alarms_of(&script, profile);
    assert!(alarms.is_empty(), "{}\n{alarms:#?}", script.text());
}

/// A DELETE that commits by itself stands between two writers, though its answer came after that of the second one.
#[test]
fn a_row_that_may_have_been_deleted_between_is_another_row() {
    check("mariadb/repeatable-read-snapshot", 300_406);
}

/// Nothing is locked, and a transaction that is not decided yet wrote what its snapshot had held: nothing. Columns of later
/// versions are not those of its write.
#[test]
fn an_update_that_may_have_changed_nothing_gives_no_columns() {
    check("tidb/repeatable-read-optimistic", 205_709);
}
