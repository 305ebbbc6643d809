//! The ways to do an access in a key-value engine.

use isolde_history::OpKind;

use crate::path::Path;

/// Ways with their weights.
type Ways = &'static [(Path, u32)];

/// Ways to find a row; the whole table is read only if asked for.
const FIND: Ways = &[(Path::PrimaryKey, 1)];
const FIND_SCAN: Ways = &[(Path::PrimaryKey, 3), (Path::Range, 1), (Path::Scan, 0)];
const FIND_SCAN_LOCK: Ways =
    &[(Path::PrimaryKey, 6), (Path::Range, 2), (Path::ForUpdate, 1), (Path::Scan, 0)];

/// Ways to set a row without looking: `Replace` removes it first if it is there.
const SET: Ways = &[(Path::PrimaryKey, 7), (Path::Replace, 1)];

/// The ways of an engine that has iterators and locking reads or not.
pub(crate) fn ways(kind: OpKind, scans: bool, locks: bool) -> Ways {
    match kind {
        OpKind::Write => SET,
        OpKind::Read | OpKind::ListRead | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent => {
            match (scans, locks) {
                (true, true) => FIND_SCAN_LOCK,
                (true, false) => FIND_SCAN,
                (false, _) => FIND,
            }
        }
        _ => &[],
    }
}
