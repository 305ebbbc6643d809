//! What a server says of itself: that it has made a mistake, that it is damaged, or nothing any more.

use isolde_history::ErrorClass;
use isolde_target::{After, Failure};

/// What a failure says of the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Complaint {
    /// It has found a mistake of its own: an internal error, a failed assertion.
    Internal,
    /// Its data is damaged.
    Damaged,
    /// It has no memory left.
    OutOfMemory,
    /// The connection was lost.
    Lost,
}

/// The codes by which servers say so, and words where a code stands for many things.
const CODES: [(&str, Complaint); 10] = [
    ("XX000", Complaint::Internal),
    ("XX001", Complaint::Damaged),
    ("XX002", Complaint::Damaged),
    ("53200", Complaint::OutOfMemory),
    // MariaDB: out of memory, incorrect key file, internal error, got an error from the storage engine.
    ("1037", Complaint::OutOfMemory),
    ("1034", Complaint::Damaged),
    ("1815", Complaint::Internal),
    ("1030", Complaint::Internal),
    ("SQLITE_INTERNAL", Complaint::Internal),
    ("SQLITE_NOMEM", Complaint::OutOfMemory),
];

/// What a failure says of the server itself; most say something of the statement.
pub fn complaint(failure: &Failure) -> Option<Complaint> {
    if failure.code == Failure::IMPOSSIBLE {
        return Some(Complaint::Damaged);
    }
    if let Some((_, complaint)) = CODES.iter().find(|(code, _)| *code == failure.code) {
        return Some(*complaint);
    }
    let lost = failure.after == After::Lost && failure.class == ErrorClass::ConnectionLost;
    lost.then_some(Complaint::Lost)
}
