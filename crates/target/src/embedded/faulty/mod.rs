//! An engine that is faulty on purpose: no database, but a measure for this tool.
//!
//! It is a small multi-version store in memory, right at each of its levels ([`store`], [`txn`]), with a
//! switch for each of the fourteen anomalies of mini-transactions ([`director`], [`scene`], [`alone`]).
//! With a switch on, it runs at its strongest level and now and then breaks just that rule, so that
//! the anomaly is found under its name, at the levels that forbid it and at no other.
//!
//! It tells when its transactions started and committed, and always tells the truth: a checker that goes
//! by timestamps sees the same faults. So it does with its snapshots, if it is asked for them, unless
//! lies are planted: then it tells an older snapshot, now and then, than the one that it reads from.

mod alone;
mod director;
mod numbers;
mod scene;
mod session;
mod store;
mod txn;

use std::sync::{Arc, Mutex, PoisonError};

use isolde_history::OpKind;
use isolde_spec::{Anomaly, Level};

use self::director::{Director, PLANTABLE};
use self::session::{FaultySession, Shared, Telling};
use self::txn::Mode;
use crate::failure::{After, Failure};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::shown::Show;
use crate::target::{Contents, OpenError, Session, Table, Target};
use crate::timestamps::{CommitOrder, ReadsAt};

const SERIALIZABLE: &str = "serializable";

const OFFERS: &[Offer] = &[
    Offer {
        name: "read-committed",
        promises: Level::ReadCommitted,
        remark: "no database; every statement sees what is committed by then, the last writer wins",
    },
    Offer {
        name: "snapshot",
        promises: Level::StrongSnapshotIsolation,
        remark: "no database; all reads see one snapshot, the first writer of a row wins",
    },
    Offer {
        name: SERIALIZABLE,
        promises: Level::StrictSerializable,
        remark: "no database; a writer must have read what is still there at commit; planted \
                 anomalies (--fault) are planted here",
    },
];

/// The one way to reach a row.
const WAYS: &[(Path, u32)] = &[(Path::PrimaryKey, 1)];

/// The engine.
struct Faulty {
    shared: Arc<Shared>,
    planted: Vec<Anomaly>,
    tables: Mutex<Vec<u32>>,
}

/// Makes an engine in memory.
pub(crate) fn open(
    _url: Option<&str>,
    options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let planted = options.planted.clone();
    let shows = options.show == Some(Show::Snapshots);
    let (lies, acted): (Vec<Anomaly>, Vec<Anomaly>) =
        planted.iter().partition(|anomaly| **anomaly == Anomaly::StaleSnapshot);
    if let Some(other) = acted.iter().find(|anomaly| !PLANTABLE.contains(anomaly)) {
        let names: Vec<&str> = PLANTABLE.iter().map(|anomaly| anomaly.name()).collect();
        return Err(OpenError::new(format!("{other} cannot be planted"))
            .hint(format!("these can: {}", names.join(", "))));
    }
    if !lies.is_empty() && !shows {
        return Err(OpenError::new("StaleSnapshot can be planted only where snapshots are shown")
            .hint("--evidence snapshots shows them"));
    }
    let telling = Telling { snapshots: shows, lies: !lies.is_empty() };
    let shared = Arc::new(Shared::new(Director::new(&acted), telling));
    Ok(Box::new(Faulty { shared, planted, tables: Mutex::default() }))
}

impl Target for Faulty {
    fn name(&self) -> &'static str {
        "faulty-on-purpose"
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn facts(&self) -> Vec<(String, String)> {
        let what = "no database, but an engine of Isolde's own to measure it with";
        let names: Vec<&str> = self.planted.iter().map(|anomaly| anomaly.name()).collect();
        let planted = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        vec![("engine".to_owned(), what.to_owned()), ("planted".to_owned(), planted)]
    }

    fn offers(&self) -> &'static [Offer] {
        // What goes wrong at a weaker level need not be what was planted.
        if self.planted.is_empty() { OFFERS } else { &OFFERS[OFFERS.len() - 1..] }
    }

    fn tells_timestamps(&self) -> bool {
        true
    }

    fn commit_order(&self, offer: &Offer) -> CommitOrder {
        // A writer commits only if all that it read is still there, and nothing comes between that look and
        // its commit; all that a reader saw is of its snapshot.
        match offer.name {
            SERIALIZABLE => CommitOrder::Serial(ReadsAt::Start),
            _ => CommitOrder::Unsaid,
        }
    }

    fn shows(&self, show: Show) -> Result<(), String> {
        match show {
            Show::Snapshots => Ok(()),
            Show::Versions => {
                Err("the faulty engine keeps no versions; it shows snapshots".to_owned())
            }
        }
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        match kind {
            OpKind::Read
            | OpKind::Write
            | OpKind::ListRead
            | OpKind::Append
            | OpKind::Cas
            | OpKind::InsertIfAbsent => WAYS,
            _ => &[],
        }
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.contains(&table.number) {
            let message = format!("table {} is there already", table.number);
            return Err(Failure::new(After::Open, "table", message));
        }
        tables.push(table.number);
        if table.filled && table.contents == Contents::Registers {
            let zeros = (0..table.rows).map(|row| ((table.number, row), Some(vec![0])));
            self.shared.lock().store.install(zeros);
        }
        Ok(())
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        let mode = match offer.name {
            "read-committed" => Mode::ReadCommitted,
            "snapshot" => Mode::Snapshot,
            SERIALIZABLE => Mode::Serializable,
            other => {
                let message = format!("the faulty engine does not offer {other}");
                return Err(Failure::new(After::Lost, "offer", message));
            }
        };
        Ok(Box::new(FaultySession::new(Arc::clone(&self.shared), mode)))
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).retain(|n| *n != number);
        self.shared.lock().store.forget(&[number]);
        Ok(())
    }

    fn clean(&self) -> Result<(), Failure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.lock().store.forget(&tables);
        tables.clear();
        Ok(())
    }
}
