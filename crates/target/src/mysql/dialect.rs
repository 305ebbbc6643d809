//! Statements for MariaDB, MySQL and TiDB.

use std::sync::LazyLock;

use isolde_history::OpKind;

use crate::path::Path;
use crate::sql::{Paths, Way, way};

const PK_READ: &[&str] = &["SELECT v FROM {t} WHERE k = $1"];
const INDEX_READ: &[&str] = &["SELECT v FROM {t} FORCE INDEX (s) WHERE s = $1"];
const RANGE_READ: &[&str] =
    &["SELECT v FROM {t} FORCE INDEX (PRIMARY) WHERE k >= $1 AND k < $1 + 1"];

/// Every way to do every access. Scans lock all rows at the stronger levels, so they are used only if
/// asked for.
pub(super) static WAYS: [Way; 24] = [
    way(OpKind::Read, Path::PrimaryKey, 10, PK_READ),
    way(OpKind::Read, Path::Index, 4, INDEX_READ),
    way(OpKind::Read, Path::Range, 3, RANGE_READ),
    way(OpKind::Read, Path::Scan, 0, &["SELECT v FROM {t} WHERE u = $1"]),
    way(OpKind::Read, Path::ForUpdate, 1, &["SELECT v FROM {t} WHERE k = $1 FOR UPDATE"]),
    way(OpKind::Read, Path::ForShare, 1, &["SELECT v FROM {t} WHERE k = $1 LOCK IN SHARE MODE"]),
    way(OpKind::Write, Path::PrimaryKey, 10, &["UPDATE {t} SET v = $2 WHERE k = $1"]),
    way(OpKind::Write, Path::Index, 4, &["UPDATE {t} FORCE INDEX (s) SET v = $2 WHERE s = $1"]),
    way(OpKind::Write, Path::Range, 0, &["UPDATE {t} SET v = $2 WHERE k >= $1 AND k < $1 + 1"]),
    way(OpKind::Write, Path::Scan, 0, &["UPDATE {t} SET v = $2 WHERE u = $1"]),
    way(
        OpKind::Write,
        Path::Upsert,
        4,
        &["INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2) \
           ON DUPLICATE KEY UPDATE v = VALUES(v)"],
    ),
    way(
        OpKind::Write,
        Path::Replace,
        1,
        &["REPLACE INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2)"],
    ),
    way(
        OpKind::Append,
        Path::Upsert,
        4,
        &["INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2) \
           ON DUPLICATE KEY UPDATE v = CONCAT(v, ',', VALUES(v))"],
    ),
    way(
        OpKind::Append,
        Path::UpdateElseInsert,
        1,
        &[
            "UPDATE {t} SET v = CONCAT(v, ',', $2) WHERE k = $1",
            "INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2)",
        ],
    )
    .until_done(),
    way(OpKind::ListRead, Path::PrimaryKey, 10, PK_READ),
    way(OpKind::ListRead, Path::Index, 4, INDEX_READ),
    way(OpKind::ListRead, Path::Range, 3, RANGE_READ),
    way(OpKind::ListRead, Path::Scan, 0, &["SELECT v FROM {t} WHERE u = $1"]),
    way(OpKind::ListRead, Path::ForUpdate, 0, &["SELECT v FROM {t} WHERE k = $1 FOR UPDATE"]),
    way(OpKind::Cas, Path::PrimaryKey, 10, &["UPDATE {t} SET v = $2 WHERE k = $1 AND v = $3"]),
    way(
        OpKind::Cas,
        Path::Index,
        4,
        &["UPDATE {t} FORCE INDEX (s) SET v = $2 WHERE s = $1 AND v = $3"],
    ),
    way(OpKind::Cas, Path::Scan, 0, &["UPDATE {t} SET v = $2 WHERE u = $1 AND v = $3"]),
    way(
        OpKind::InsertIfAbsent,
        Path::PrimaryKey,
        4,
        &["INSERT IGNORE INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2)"],
    ),
    way(
        OpKind::InsertIfAbsent,
        Path::PlainInsert,
        1,
        &["INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2)"],
    ),
];

/// The same, by kind of access.
pub(super) static PATHS: LazyLock<Paths> = LazyLock::new(|| Paths::of(&WAYS, &[]));

/// The same for TiDB, which refuses `LOCK IN SHARE MODE`.
pub(super) static TIDB_PATHS: LazyLock<Paths> =
    LazyLock::new(|| Paths::of(&WAYS, &[Path::ForShare]));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::find;

    /// A list is a text, and an upsert makes or lengthens it without a read.
    #[test]
    fn an_upsert_appends_to_a_text() {
        let way = find(&WAYS, OpKind::Append, Path::Upsert).unwrap();
        let upsert = "ON DUPLICATE KEY UPDATE v = CONCAT(v, ',', VALUES(v))";
        assert!(way.steps[0].ends_with(upsert), "{}", way.steps[0]);
        let others = WAYS.iter().filter(|w| w.kind == OpKind::Append && w.path != way.path);
        assert!(others.map(|w| w.weight).sum::<u32>() < way.weight, "it is the usual way");
    }
}
