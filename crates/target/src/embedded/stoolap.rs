//! Stoolap: SQL in memory. Its rows are used as keys and values: what matters here is how its
//! transactions see each other, not how well it speaks SQL.

use isolde_spec::Level;
use stoolap::api::{Database, Transaction};
use stoolap::{Error, IsolationLevel};

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

/// Remarks quote docs/_docs/sql-features/transactions.md and
/// docs/_docs/architecture/transaction-isolation.md of the crate.
const OFFERS: &[Offer] = &[
    Offer {
        name: "read-committed",
        promises: Level::ReadCommitted,
        remark: "transactions.md: 'each statement sees data committed before the statement began'; \
                 the default",
    },
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "transactions.md: 'the entire transaction sees a consistent snapshot from when it \
                 began'; transaction-isolation.md: 'write-write conflict detection to prevent lost \
                 updates'; 0.4.2 loses some, as a snapshot that is taken during a commit moves; \
                 REPEATABLE READ and SERIALIZABLE are accepted and mean this",
    },
];

/// The database.
struct Stoolap(Database);

/// Opens a database in memory.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let db = Database::open_in_memory().map_err(cannot)?;
    db.execute("CREATE TABLE cells (k INTEGER PRIMARY KEY, v TEXT NOT NULL)", ())
        .map_err(cannot)?;
    Ok(Box::new(Embedded::new(Stoolap(db))))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("Stoolap does not open: {}", error.to_string()))
}

/// There is no error of its own for conflicts: they are internal errors, told by what they say. A
/// primary key that is there already is one too, as rows are only inserted that were not seen.
fn fault(error: Error) -> Fault {
    let conflict = match &error {
        // The one at read committed, the other at snapshot.
        Error::PrimaryKeyConstraint { .. } | Error::UniqueConstraint { .. } => true,
        Error::Internal { message } => {
            message.starts_with("write conflict") || message.contains("has uncommitted changes")
        }
        _ => false,
    };
    if conflict { Fault::conflict(error) } else { Fault::other(error) }
}

/// Keys of eight bytes are integers to SQL; tables have numbers below 2^31.
fn number(key: &[u8]) -> Result<i64, Fault> {
    key.try_into().map(i64::from_be_bytes).map_err(|_| Fault::other("a key of other than 8 bytes"))
}

/// Values are text, as there is no type for bytes.
fn text(value: &[u8]) -> String {
    value.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>, Fault> {
    let digits = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap_or_default());
    let bytes: Result<Vec<u8>, _> = digits.map(|pair| u8::from_str_radix(pair, 16)).collect();
    bytes.map_err(|_| Fault::other(format!("'{text}', which no transaction wrote")))
}

impl Engine for Stoolap {
    const ABOUT: EngineAbout = EngineAbout {
        name: "Stoolap",
        version: env!("VERSION_STOOLAP"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("storage", "memory")],
    };

    type Txn = Transaction;

    fn begin(&self, offer: &str) -> Result<Transaction, Fault> {
        let level = match offer {
            "snapshot" => IsolationLevel::SnapshotIsolation,
            _ => IsolationLevel::ReadCommitted,
        };
        self.0.begin_with_isolation(level).map_err(fault)
    }

    fn get(&self, txn: &mut Transaction, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let sql = "SELECT v FROM cells WHERE k = $1";
        let value: Option<String> = txn.query_opt(sql, (number(key)?,)).map_err(fault)?;
        value.map(|v| bytes(&v)).transpose()
    }

    fn scan(&self, txn: &mut Transaction, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let sql = "SELECT k, v FROM cells WHERE k >= $1 AND k < $2";
        let rows = txn.query(sql, (number(from)?, number(to)?)).map_err(fault)?;
        rows.map(|row| {
            let row = row.map_err(fault)?;
            let key: i64 = row.get(0).map_err(fault)?;
            let value: String = row.get(1).map_err(fault)?;
            Ok((key.to_be_bytes().to_vec(), bytes(&value)?))
        })
        .collect()
    }

    fn put(&self, txn: &mut Transaction, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (key, value) = (number(key)?, text(value));
        let update = "UPDATE cells SET v = $2 WHERE k = $1";
        if txn.execute(update, (key, value.as_str())).map_err(fault)? == 0 {
            let insert = "INSERT INTO cells (k, v) VALUES ($1, $2)";
            txn.execute(insert, (key, value.as_str())).map_err(fault)?;
        }
        Ok(())
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8]) -> Result<(), Fault> {
        let sql = "DELETE FROM cells WHERE k = $1";
        txn.execute(sql, (number(key)?,)).map(|_| ()).map_err(fault)
    }

    fn commit(&self, mut txn: Transaction) -> Result<(), Fault> {
        txn.commit().map_err(fault)
    }

    fn rollback(&self, mut txn: Transaction) -> Result<(), Fault> {
        txn.rollback().map_err(fault)
    }
}
