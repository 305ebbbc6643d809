//! Violations that were told, as long as something that comes later might explain them.

use crate::bodies::TxnRef;
use crate::content::NameId;
use isolde_spec::Anomaly;

/// A violation that rests on everything having come that matters.
#[derive(Clone, Debug)]
pub(super) struct StandingBreach {
    pub(super) anomaly: Anomaly,
    pub(super) txn: TxnRef,
    /// What the transaction and the key were called.
    pub(super) name: String,
    pub(super) key: Option<String>,
    /// The rows that it is about.
    pub(super) rows: Box<[NameId]>,
    /// When the last of its transactions had ended.
    pub(super) ended: i64,
}

/// Those that stand.
#[derive(Default)]
pub(super) struct StandingBreaches {
    all: Vec<StandingBreach>,
    text: usize,
}

impl StandingBreaches {
    pub(super) fn add(&mut self, stands: StandingBreach) {
        self.text += stands.name.len() + stands.key.as_ref().map_or(0, String::len);
        self.text += size_of_val::<[NameId]>(&stands.rows);
        self.all.push(stands);
    }

    /// Takes out all that something explains.
    pub(super) fn take(
        &mut self,
        is_explained: impl Fn(&StandingBreach) -> bool,
    ) -> Vec<StandingBreach> {
        self.all.extract_if(.., |stands| is_explained(stands)).collect()
    }

    /// The bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.all.capacity() * size_of::<StandingBreach>() + self.text
    }
}
