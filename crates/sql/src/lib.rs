//! Random SQL transactions, and what a database makes of them.
//!
//! A [`Case`](case::Case) is a small database, a few transactions and one interleaving of their statements, as SQL. It is
//! run with reads in between that show which versions of which rows each statement used; from these follow the
//! dependencies of the statements, and from them a serial order that must give the same results.

pub mod case;
pub mod decycle;
pub mod dependencies;
pub mod dialect;
pub mod generate;
pub mod instrument;
pub mod json;
pub mod observation;
pub mod oracle;
pub mod plan;
pub mod policy;
pub mod print;
pub mod runner;
pub mod schema;
pub mod settle;
pub mod signature;
pub mod story;
pub mod tree;
pub mod versions;
pub mod work;
pub mod written;
