//! All tests of what the checker answers from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod against_twin;
mod anomalies;
mod by_snapshots;
mod by_timestamps;
mod decided;
mod excerpts;
mod labelled;
mod lattice;
mod limits;
mod linear_limits;
mod linear_twin;
mod linear_witness;
mod lost_updates;
mod made;
mod metamorphic;
mod own_verdicts;
mod planted;
mod rows_by_column;
mod settled;
mod snapshot_twin;
mod snapshot_twin_selftest;
mod snapshots_against_twin;
mod timed_against_twin;
mod timed_twin;
mod twin;
mod twin_labelled;
mod twin_predicates;
mod twin_properties;
mod twin_selftest;
mod weak_axioms;
mod weak_regressions;
