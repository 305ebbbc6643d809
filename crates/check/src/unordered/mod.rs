//! What is done where the version order is open: edges that every explanation must have, orders
//! that are chosen or tried, and ambiguous reads.

pub(crate) mod ambiguous;
pub(crate) mod choose;
pub(crate) mod completion;
pub(crate) mod cursor_order;
pub(crate) mod force;
pub(crate) mod inferences;
pub(crate) mod question_graph;
pub(crate) mod serial_search;
pub(crate) mod serial_try;
pub(crate) mod unordered_key;
pub(crate) mod unread;
