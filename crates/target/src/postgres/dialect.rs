//! PostgreSQL's statements, and the levels that it offers.

use std::sync::LazyLock;

use isolde_history::OpKind;
use isolde_spec::Level;

use crate::offer::Offer;
use crate::path::Path;
use crate::sql::{Paths, Way, way};

/// The levels, weakest first. READ UNCOMMITTED is another name for READ COMMITTED here.
pub(super) static OFFERS: [Offer; 3] = [
    Offer {
        name: "read-committed",
        promises: Level::ReadCommitted,
        remark: "each statement sees what was committed before it began",
    },
    Offer {
        name: "repeatable-read",
        promises: Level::SnapshotIsolation,
        remark: "snapshot isolation under another name: write skew is possible; not for workloads that delete \
                 a row and insert it again: a transaction may insert a row that another one deleted after its \
                 snapshot, which by values is a lost update (at serializable it is refused)",
    },
    Offer { name: "serializable", promises: Level::Serializable, remark: "" },
];

/// The same with a hot standby, over whose sessions a transaction may be spread. The two agree on the
/// commit order, but not on the moment from which each commit is seen: two readers, one here and one
/// there, may see two commits in opposite orders, which snapshot isolation forbids (a long fork).
pub(super) static PAIR_OFFERS: [Offer; 3] = [
    Offer {
        name: "read-committed",
        promises: Level::ReadCommitted,
        remark: "each statement sees what was committed before it began, on its node",
    },
    Offer {
        name: "repeatable-read",
        promises: Level::Causal,
        remark: "snapshots on either node; primary and standby may show two commits in opposite \
                 orders, so it is not snapshot isolation",
    },
    Offer {
        name: "serializable",
        promises: Level::Causal,
        remark: "on the primary; the standby has no SERIALIZABLE, its transactions run at \
                 REPEATABLE READ and are in no order with those of the primary",
    },
];

/// The statement that starts a transaction at an offer, on a node that can write or on one that cannot.
/// A standby takes every transaction for READ ONLY; saying so keeps the record honest.
pub(super) fn begin(offer: &Offer, only_reads: bool) -> Option<&'static str> {
    Some(match offer.name {
        "read-committed" if only_reads => "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
        "repeatable-read" | "serializable" if only_reads => {
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        }
        "read-committed" => "BEGIN ISOLATION LEVEL READ COMMITTED",
        "repeatable-read" => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        "serializable" => "BEGIN ISOLATION LEVEL SERIALIZABLE",
        _ => return None,
    })
}

const PK_READ: &[&str] = &["SELECT v FROM {t} WHERE k = $1"];
const INDEX_READ: &[&str] = &["SELECT v FROM {t} WHERE s = $1"];
const RANGE_READ: &[&str] = &["SELECT v FROM {t} WHERE k >= $1 AND k < $1 + 1"];

/// Every way to do every access.
///
/// A whole scan conflicts with every writer at SERIALIZABLE, so it is rare, and scans that write
/// are used only if asked for. So is `replace` (DELETE, then INSERT): at READ COMMITTED a statement that
/// waited for the DELETE finds no row, since the INSERT made another one. That is what
/// PostgreSQL documents, but to a checker it is a read of nothing that no transaction wrote.
pub(super) static WAYS: [Way; 25] = [
    way(OpKind::Read, Path::PrimaryKey, 10, PK_READ),
    way(OpKind::Read, Path::Index, 4, INDEX_READ),
    way(OpKind::Read, Path::Range, 3, RANGE_READ),
    way(OpKind::Read, Path::Scan, 1, &["SELECT v FROM {t} WHERE u = $1"]),
    way(OpKind::Read, Path::ForUpdate, 1, &["SELECT v FROM {t} WHERE k = $1 FOR UPDATE"]),
    way(OpKind::Read, Path::ForShare, 1, &["SELECT v FROM {t} WHERE k = $1 FOR SHARE"]),
    way(OpKind::Write, Path::PrimaryKey, 10, &["UPDATE {t} SET v = $2 WHERE k = $1"]),
    way(OpKind::Write, Path::Index, 4, &["UPDATE {t} SET v = $2 WHERE s = $1"]),
    way(OpKind::Write, Path::Range, 0, &["UPDATE {t} SET v = $2 WHERE k >= $1 AND k < $1 + 1"]),
    way(OpKind::Write, Path::Scan, 0, &["UPDATE {t} SET v = $2 WHERE u = $1"]),
    way(
        OpKind::Write,
        Path::Upsert,
        4,
        &["INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2) \
           ON CONFLICT (k) DO UPDATE SET v = excluded.v"],
    ),
    way(OpKind::Write, Path::Returning, 3, &["UPDATE {t} SET v = $2 WHERE k = $1 RETURNING v"]),
    way(
        OpKind::Write,
        Path::Replace,
        0,
        &["DELETE FROM {t} WHERE k = $1", "INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2)"],
    ),
    way(
        OpKind::Append,
        Path::Upsert,
        4,
        &["INSERT INTO {t} AS t (k, s, u, v) VALUES ($1, $1, $1, $2::text) \
           ON CONFLICT (k) DO UPDATE SET v = t.v || ',' || excluded.v"],
    ),
    way(
        OpKind::Append,
        Path::UpdateElseInsert,
        1,
        &[
            "UPDATE {t} SET v = v || ',' || $2::text WHERE k = $1",
            "INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2::text)",
        ],
    )
    .until_done(),
    way(OpKind::ListRead, Path::PrimaryKey, 10, PK_READ),
    way(OpKind::ListRead, Path::Index, 4, INDEX_READ),
    way(OpKind::ListRead, Path::Range, 3, RANGE_READ),
    way(OpKind::ListRead, Path::Scan, 0, &["SELECT v FROM {t} WHERE u = $1"]),
    way(OpKind::ListRead, Path::ForUpdate, 0, &["SELECT v FROM {t} WHERE k = $1 FOR UPDATE"]),
    way(OpKind::Cas, Path::PrimaryKey, 10, &["UPDATE {t} SET v = $2 WHERE k = $1 AND v = $3"]),
    way(OpKind::Cas, Path::Index, 4, &["UPDATE {t} SET v = $2 WHERE s = $1 AND v = $3"]),
    way(OpKind::Cas, Path::Scan, 1, &["UPDATE {t} SET v = $2 WHERE u = $1 AND v = $3"]),
    way(
        OpKind::InsertIfAbsent,
        Path::PrimaryKey,
        4,
        &["INSERT INTO {t} (k, s, u, v) VALUES ($1, $1, $1, $2) ON CONFLICT DO NOTHING"],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::find;

    /// A list is a text, and an upsert makes or lengthens it without a read.
    #[test]
    fn an_upsert_appends_to_a_text() {
        let way = find(&WAYS, OpKind::Append, Path::Upsert).unwrap();
        let upsert = "ON CONFLICT (k) DO UPDATE SET v = t.v || ',' || excluded.v";
        assert!(way.steps[0].ends_with(upsert), "{}", way.steps[0]);
        let others = WAYS.iter().filter(|w| w.kind == OpKind::Append && w.path != way.path);
        assert!(others.map(|w| w.weight).sum::<u32>() < way.weight, "it is the usual way");
    }
}
