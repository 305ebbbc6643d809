//! Jepsen's histories, in EDN and in JSON: a log of operations that processes invoke and complete.
//!
//! ```text
//! {:index 0, :time 10, :type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil]]}
//! {:index 1, :time 25, :type :ok,     :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]]]}
//! ```
//!
//! The file is a stream of such maps, or one vector or list of them; as JSON, an array of objects or
//! one object after another, with strings for keywords. A completion is the next event of the same
//! process: `:ok` has taken effect, `:fail` has not; of `:info` and of what never completes it is not
//! known. The position in the log is the clock, since `:time` may be missing or coarse; it is kept
//! as the attributes `wall-begin` and `wall-end`. A process that is not a number is no client, and
//! what it does becomes an event on the time line.
//!
//! Values are transactions (Elle's list-append and read-write registers, and the operations with
//! predicates), or `:read`, `:write` and `:cas` of a single object (Knossos), whose key is then
//! called `register`, or of one of several objects (`[k v]`), or `:acquire` and `:release` of a mutex,
//! whose key is called `mutex`. Knossos' `:read` and `:write` are also read as micro-operations.

mod answer;
mod event;
mod fast;
mod interpret;
mod keys;
mod load;
mod mutex;
mod notation;
mod operations;
mod pairing;
mod read;
mod scan;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use event::{Function, LogEvent, Phase, Process};
pub(crate) use interpret::LogReader;
pub(crate) use notation::Notation;
pub(crate) use operations::{Dialect, Standard, unusual_keys};
pub(crate) use read::{each_event, edn_holds_lists, explain, head, is_key_value};

use crate::format::Format;

pub(crate) static JEPSEN_EDN: Format = Format {
    name: "jepsen-edn",
    title: "Jepsen, Elle and Knossos: a log of operations in EDN",
    example: "{:type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]]]}",
    looks_like: read::looks_like_edn,
    read: read::read_edn,
    load: Some(load::load_edn),
    write: Some(write::write),
    write_folder: None,
};

pub(crate) static JEPSEN_JSON: Format = Format {
    name: "jepsen-json",
    title: "Elle's histories in JSON",
    example: r#"{"type":"ok","process":0,"f":"txn","value":[["append",5,1],["r",5,[1]]]}"#,
    looks_like: read::looks_like_json,
    read: read::read_json,
    load: None,
    write: None,
    write_folder: None,
};
