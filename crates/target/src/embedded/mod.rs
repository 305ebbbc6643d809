//! Engines that run inside this process: no server, no protocol, no network.
//!
//! Key-value engines stand behind [`engine::Engine`], and one adapter makes targets of them all;
//! SQLite is one itself, and so is the engine that is faulty on purpose.

#[cfg(feature = "key-value")]
mod adapter;
#[cfg(feature = "key-value")]
mod cells;
#[cfg(feature = "key-value")]
mod engine;
#[cfg(feature = "key-value")]
mod guard;
#[cfg(feature = "key-value")]
mod paths;

#[cfg(any(
    feature = "canopydb",
    feature = "fjall",
    feature = "mace-kv",
    feature = "redb",
    feature = "sqlite",
    feature = "surrealkv",
    feature = "tidesdb"
))]
mod scratch;

#[cfg(feature = "canopydb")]
pub(crate) mod canopydb;
#[cfg(feature = "faulty")]
pub(crate) mod faulty;
#[cfg(feature = "fjall")]
pub(crate) mod fjall;
#[cfg(feature = "grafeo")]
pub(crate) mod grafeo;
#[cfg(feature = "mace-kv")]
pub(crate) mod mace;
#[cfg(feature = "redb")]
pub(crate) mod redb;
#[cfg(feature = "skipdb")]
pub(crate) mod skipdb;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[cfg(feature = "stoolap")]
pub(crate) mod stoolap;
#[cfg(feature = "surrealkv")]
pub(crate) mod surrealkv;
#[cfg(feature = "surrealmx")]
pub(crate) mod surrealmx;
#[cfg(feature = "surrealmx-0-22")]
pub(crate) mod surrealmx_0_22;
#[cfg(any(feature = "surrealmx", feature = "surrealmx-0-22"))]
mod surrealmx_pair;
#[cfg(feature = "tidesdb")]
pub(crate) mod tidesdb;
