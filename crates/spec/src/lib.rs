//! The vocabulary of promises: which isolation levels there are, what each forbids, and what can be
//! said about a history.
//!
//! This crate decides nothing. It holds the lattice of [`Level`]s, the catalogue of [`Anomaly`]s as
//! data, the kinds of dependency between transactions ([`Edges`]), and the [`Verdict`] with its
//! [`Witness`]es that every procedure returns and every report shows, and the [`Summary`] of several; and, as data, the
//! mechanisms by which servers keep their levels ([`Profile`]).

mod anomaly;
mod edge;
mod excerpt;
mod level;
mod mirrored;
mod pattern;
mod profile;
mod summary;
mod timed;
mod verdict;

pub use anomaly::{Anomaly, CATALOGUE, Catalogued, Finding};
pub use edge::Edges;
pub use excerpt::{aborted_before, excerpt};
pub use level::{By, Level, Promise};
pub use mirrored::{Mechanism, Mirrored, Stretch, StretchOf};
pub use pattern::{Pattern, Reads};
pub use profile::{
    Certifier, KnownBy, LockModes, LockScope, LockingReads, PlainReads, Profile, ProfileError,
    ProfileProblem, SnapshotAt, UnknownProfile,
};
pub use summary::{How, Standing, Summary};
pub use timed::{Assumed, Axiom, Seen, Timed};
pub use verdict::{Answer, Because, Counted, Forced, Procedure, Step, Stuck, Verdict, Witness};
