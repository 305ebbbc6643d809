//! Where to run: databases, the levels they offer and what each really promises, and throwaway
//! servers.
//!
//! A [`Target`] makes tables and [`Session`]s; a session runs one transaction after another, on one
//! thread. Everything that depends on the database is behind these two traits; what a failure
//! means for the transaction is decided here ([`Failure`]), because only the protocol can say it.

mod catalogue;
mod console;
mod embedded;
mod failure;
#[cfg(feature = "mysql")]
mod mysql;
mod node;
mod offer;
mod path;
#[cfg(feature = "postgres")]
mod postgres;
mod relay;
mod request;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod sql;
mod target;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod unique;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod url;

pub use catalogue::{FAULTY, KINDS, Kind, Open, OpenOptions, open};
pub use console::{Console, Consoles, Datum, Said, Waits};
pub use failure::{After, Failure};
pub use node::{Mishap, Node};
pub use offer::Offer;
pub use path::Path;
pub use relay::Relay;
pub use request::{Answer, Request};
pub use target::{Contents, Ended, OpenError, Session, Table, Target, Throwaway};
