//! Stoolap: SQL in memory. Its rows are used as keys and values: what matters here is how its
//! transactions see each other, not how well it speaks SQL.

use isolde_spec::Level;
use stoolap::{Database, Error, IsolationLevel, Transaction};

use crate::catalogue::OpenOptions;
use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{About, Engine, Fault, Pair};
use crate::offer::Offer;
use crate::target::{OpenError, Target};

const OFFERS: &[Offer] = &[
    Offer {
        name: "read-committed",
        promises: Level::Pl2,
        remark: "'transactions see only committed data' (core/types.rs); no more is promised",
    },
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "'transactions see a consistent snapshot from the start' (core/types.rs), 'write \
                 conflicts are detected at commit time' (transactions.md); SERIALIZABLE is accepted \
                 and means this",
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

fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("Stoolap does not open: {}", error.to_string()))
}

/// The engine has no error of its own for conflicts: they are told by what they say.
fn fault(error: Error) -> Fault {
    let message = error.to_string();
    let conflict = matches!(error, Error::TransactionAborted | Error::PrimaryKeyConstraint { .. })
        || message.to_lowercase().contains("conflict");
    if conflict { Fault::Conflict(message) } else { Fault::Other(message) }
}

/// Keys of eight bytes are integers to SQL; tables have numbers below 2^31.
fn number(key: &[u8]) -> Result<i64, Fault> {
    key.try_into().map(i64::from_be_bytes).map_err(|_| Fault::other("a key of other than 8 bytes"))
}

fn text(value: &[u8]) -> String {
    value.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>, Fault> {
    let digits = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap_or_default());
    let bytes: Result<Vec<u8>, _> = digits.map(|pair| u8::from_str_radix(pair, 16)).collect();
    bytes.map_err(|_| Fault::other(format!("'{text}', which nobody wrote")))
}

impl Engine for Stoolap {
    const ABOUT: About = About {
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
        let key = number(key)?;
        let value: Option<String> =
            txn.query_opt("SELECT v FROM cells WHERE k = $1", (key,)).map_err(fault)?;
        value.map(|v| bytes(&v)).transpose()
    }

    fn scan(&self, txn: &mut Transaction, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let (from, to) = (number(from)?, number(to)?);
        let sql = "SELECT k, v FROM cells WHERE k >= $1 AND k < $2";
        let rows = txn.query(sql, (from, to)).map_err(fault)?;
        let mut pairs = Vec::new();
        for row in rows {
            let row = row.map_err(fault)?;
            let key: i64 = row.get(0).map_err(fault)?;
            let value: String = row.get(1).map_err(fault)?;
            pairs.push((key.to_be_bytes().to_vec(), bytes(&value)?));
        }
        Ok(pairs)
    }

    fn put(&self, txn: &mut Transaction, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (key, value) = (number(key)?, text(value));
        let sql = "UPDATE cells SET v = $2 WHERE k = $1";
        if txn.execute(sql, (key, value.as_str())).map_err(fault)? == 0 {
            let sql = "INSERT INTO cells (k, v) VALUES ($1, $2)";
            txn.execute(sql, (key, value.as_str())).map_err(fault)?;
        }
        Ok(())
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8]) -> Result<(), Fault> {
        let key = number(key)?;
        txn.execute("DELETE FROM cells WHERE k = $1", (key,)).map(|_| ()).map_err(fault)
    }

    fn commit(&self, mut txn: Transaction) -> Result<(), Fault> {
        txn.commit().map_err(fault)
    }

    fn rollback(&self, mut txn: Transaction) -> Result<(), Fault> {
        txn.rollback().map_err(fault)
    }
}
