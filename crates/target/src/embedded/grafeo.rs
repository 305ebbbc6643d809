//! Grafeo: a graph in memory. Each row is a node with a value: what matters here is how its
//! transactions see each other, not how well it walks graphs.

use std::collections::HashMap;

use grafeo::{Error, GrafeoDB, QueryResult, Session, Value};
use isolde_spec::Level;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

/// Remarks quote the documentation of `IsolationLevel` (grafeo-engine, transaction/manager.rs).
const OFFERS: &[Offer] = &[
    Offer {
        name: "read-committed",
        promises: Level::Pl2,
        remark: "'sees only committed data, but may see different versions of the same row'",
    },
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "'each transaction sees a consistent snapshot as of transaction start'; the default",
    },
    Offer {
        name: "serializable",
        promises: Level::Serializable,
        remark: "'prevents all anomalies including write skew'; in 0.5.44 no query records its \
                 reads, so that it does not",
    },
];

/// The database.
struct Grafeo(GrafeoDB);

/// Opens a database in memory.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let db = GrafeoDB::new_in_memory();
    db.create_property_index("k");
    Ok(Box::new(Embedded::new(Grafeo(db))))
}

fn fault(error: Error) -> Fault {
    match error {
        Error::Transaction(_) => Fault::conflict(error),
        other => Fault::other(other),
    }
}

/// Keys of eight bytes are integers; tables have numbers below 2^31.
fn number(key: &[u8]) -> Result<Value, Fault> {
    let key = key.try_into().map(i64::from_be_bytes);
    key.map(Value::Int64).map_err(|_| Fault::other("a key of other than 8 bytes"))
}

/// Runs a statement with parameters `a` and `b`.
fn run(session: &Session, gql: &str, a: Value, b: Value) -> Result<Vec<Vec<Value>>, Fault> {
    let parameters = HashMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
    session.execute_with_params(gql, parameters).map(QueryResult::into_rows).map_err(fault)
}

/// The value of a node, if it has one.
fn bytes(value: &Value) -> Result<Option<Vec<u8>>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Bytes(bytes) => Ok(Some(bytes.to_vec())),
        other => Err(Fault::other(format!("{other:?}, which no transaction wrote"))),
    }
}

impl Engine for Grafeo {
    const ABOUT: EngineAbout = EngineAbout {
        name: "Grafeo",
        version: env!("VERSION_GRAFEO"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("storage", "memory"), ("interface", "GQL")],
    };

    type Txn = Session;

    fn prepare(&self, key: &[u8]) -> Result<(), Fault> {
        // Two transactions that make a node for the same row would make two nodes.
        let gql = "INSERT (:Cell {k: $a})";
        run(&self.0.session(), gql, number(key)?, Value::Null).map(|_| ())
    }

    fn begin(&self, offer: &str) -> Result<Session, Fault> {
        let session = self.0.session();
        let level = match offer {
            "read-committed" => "READ COMMITTED",
            "snapshot" => "SNAPSHOT ISOLATION",
            _ => "SERIALIZABLE",
        };
        session
            .execute(&format!("START TRANSACTION ISOLATION LEVEL {level}"))
            .map_err(Fault::other)?;
        Ok(session)
    }

    fn get(&self, txn: &mut Session, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let rows = run(txn, "MATCH (c:Cell {k: $a}) RETURN c.v", number(key)?, Value::Null)?;
        rows.first().and_then(|row| row.first()).map_or(Ok(None), bytes)
    }

    fn scan(&self, txn: &mut Session, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let gql = "MATCH (c:Cell) WHERE c.k >= $a AND c.k < $b RETURN c.k, c.v";
        let mut pairs = Vec::new();
        for row in run(txn, gql, number(from)?, number(to)?)? {
            if let [Value::Int64(key), value] = row.as_slice()
                && let Some(value) = bytes(value)?
            {
                pairs.push((key.to_be_bytes().to_vec(), value));
            }
        }
        Ok(pairs)
    }

    fn put(&self, txn: &mut Session, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let gql = "MATCH (c:Cell {k: $a}) SET c.v = $b RETURN c.k";
        let rows = run(txn, gql, number(key)?, Value::from(value))?;
        if rows.len() == 1 { Ok(()) } else { Err(Fault::other("the node is not there once")) }
    }

    fn delete(&self, txn: &mut Session, key: &[u8]) -> Result<(), Fault> {
        run(txn, "MATCH (c:Cell {k: $a}) REMOVE c.v", number(key)?, Value::Null).map(|_| ())
    }

    fn commit(&self, mut txn: Session) -> Result<(), Fault> {
        txn.commit().map_err(fault)
    }

    fn rollback(&self, mut txn: Session) -> Result<(), Fault> {
        txn.rollback().map_err(fault)
    }
}
