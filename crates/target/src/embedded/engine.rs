//! What a key-value engine has to do to become a target.

use crate::offer::Offer;

/// What went wrong inside an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Another transaction was in the way. Nothing of this one takes effect, also at commit.
    Conflict(String),
    /// Anything else. At commit it is unknown whether the transaction took effect.
    Other(String),
}

impl Fault {
    /// A conflict, in the engine's words.
    #[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
    pub(crate) fn conflict(error: impl ToString) -> Fault {
        Fault::Conflict(error.to_string())
    }

    /// Anything else, in the engine's words.
    #[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
    pub(crate) fn other(error: impl ToString) -> Fault {
        Fault::Other(error.to_string())
    }
}

/// What is known of an engine before it runs.
pub(crate) struct EngineAbout {
    /// The name of the database system.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The levels that it offers, weakest first.
    pub(crate) offers: &'static [Offer],
    /// Whether [`Engine::scan`] is there.
    pub(crate) scans: bool,
    /// Whether [`Engine::get_for_update`] differs from `get`.
    pub(crate) locks: bool,
    /// Facts for the record.
    pub(crate) facts: &'static [(&'static str, &'static str)],
}

/// A pair of key and value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// A key-value engine with transactions.
///
/// A transaction is given back to the engine with every call, so that engines whose transactions
/// borrow from tables can open those anew. Whatever is not committed is undone when dropped.
pub(crate) trait Engine: Send + Sync + 'static {
    /// What is known of it.
    const ABOUT: EngineAbout;

    /// A transaction on its way.
    type Txn: Send;

    /// Makes room for a key, before any session is there. For engines that could otherwise make
    /// two of what is meant to be one.
    fn prepare(&self, _key: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    /// Starts a transaction at the offer of that name.
    fn begin(&self, offer: &str) -> Result<Self::Txn, Fault>;

    /// The value of a key.
    fn get(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault>;

    /// The value of a key that the transaction is going to write, in the engine's own way.
    fn get_for_update(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.get(txn, key)
    }

    /// All pairs from one key up to but without another.
    fn scan(&self, txn: &mut Self::Txn, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault>;

    /// Sets the value of a key, whether it has one or not.
    fn put(&self, txn: &mut Self::Txn, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Removes a key that is there.
    fn delete(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<(), Fault>;

    /// Commits.
    fn commit(&self, txn: Self::Txn) -> Result<(), Fault>;

    /// Gives the transaction up.
    fn rollback(&self, txn: Self::Txn) -> Result<(), Fault> {
        drop(txn);
        Ok(())
    }
}
