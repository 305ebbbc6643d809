//! What is known of keys: operations sorted by key, which transactions count, what was done to one key,
//! and the write that each read returned.

pub(crate) mod accesses;
pub(crate) mod context;
pub(crate) mod findings;
pub(crate) mod index;
pub(crate) mod key_facts;
pub(crate) mod origin;
pub(crate) mod outcomes;
pub(crate) mod predicates;
pub(crate) mod provenance;
pub(crate) mod savepoints;
pub(crate) mod sorted_keys;
pub(crate) mod standing;
pub(crate) mod value_table;
pub(crate) mod wording;
