//! Members with a meaning of their own: an attribute or a fact about the run that has one of these
//! names stands in `attrs` or `info` instead.

/// The version of the format that this program reads and writes.
pub(super) const VERSION: i64 = 1;

/// Of a transaction.
pub(super) const TRANSACTION: &[&str] =
    &["session", "txn", "outcome", "interval", "ts", "ops", "stmts", "attrs"];

/// Of a transaction, and what would make the line something else.
#[rustfmt::skip]
pub(super) const LINE: &[&str] = &[
    "session", "txn", "outcome", "interval", "ts", "ops", "stmts", "attrs",
    "event", "order", "isolde", "meta",
];

/// Of a header or trailer, beside those of any line.
pub(super) const HEADER: &[&str] = &["clock", "complete", "initial", "info"];

/// Of a statement.
pub(super) const STATEMENT: &[&str] = &["ops", "interval", "attrs"];

/// Of an attribute object: attributes whose names cannot be a member's stand there, in pairs.
pub(super) const PAIRS: &str = "$row";
