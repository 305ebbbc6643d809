//! Where to run: databases, the levels they offer and what each really promises, and throwaway
//! servers.
//!
//! A [`Target`] makes tables and [`Session`]s; a session runs one transaction after another, on one
//! thread. Everything that depends on the database is behind these two traits; what a failure
//! means for the transaction is decided here ([`Failure`]), because only the protocol can say it.

mod catalogue;
mod console;
#[cfg(feature = "drivers")]
mod driver;
mod embedded;
#[cfg(feature = "etcd")]
mod etcd;
mod failure;
mod leftover;
#[cfg(feature = "mysql")]
mod mysql;
mod nearest;
mod node;
mod offer;
mod open;
mod path;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg_attr(
    not(any(feature = "postgres", feature = "mysql", feature = "etcd")),
    allow(dead_code, reason = "nothing to relay to without servers")
)]
mod relay;
mod request;
#[cfg(any(feature = "mysql", feature = "etcd"))]
mod row_versions;
mod rows;
mod secret;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "etcd"))]
mod server;
mod shown;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod sql;
mod target;
mod timestamps;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "drivers", feature = "etcd"))]
mod unique;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod url;

pub use catalogue::{FAULTY, KINDS, Kind, NONE, open};
pub use console::{Console, Consoles, Said, Waiting, Waits};
#[cfg(feature = "drivers")]
pub use driver::{Check, CheckStep, Found, check_driver};
pub use failure::{After, Failure};
pub use leftover::Leftover;
pub use nearest::nearest;
pub use node::{Mishap, Node};
pub use offer::Offer;
pub use open::{Open, OpenOptions};
pub use path::Path;
pub use relay::Relay;
pub use request::{Answer, Request};
pub use rows::{Column, ColumnKind, Datum, ResultSet};
pub use secret::without_password;
pub use shown::{
    InDoubt, ResolvedOutcome, RowVersions, ServerTxn, Show, SnapshotOf, TableVersions,
    TakenSnapshot, Written,
};
pub use target::{Contents, Ended, OpenError, Session, Table, Target, Throwaway};
pub use timestamps::{CommitOrder, ReadsAt, Timestamps};
