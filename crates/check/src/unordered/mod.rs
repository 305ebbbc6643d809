//! What is done where the order of versions is open.

pub(crate) mod ambiguous;
pub(crate) mod force;
pub(crate) mod inferences;
pub(crate) mod serial_try;
pub(crate) mod unordered_key;
pub(crate) mod unread;
