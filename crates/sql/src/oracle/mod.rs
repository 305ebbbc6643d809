//! What a database has to answer, and what it answered instead.

pub mod early;
pub mod predicate;
pub mod rows;
pub mod serial;
pub mod words;
