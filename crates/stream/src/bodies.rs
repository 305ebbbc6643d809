//! The transactions themselves, in the batches in which they came: in memory, and on disk once memory is short.

use std::collections::VecDeque;
use std::sync::Arc;

use isolde_history::{History, TxnId};

use crate::error::StreamError;
use crate::spill::{Place, Spill};

/// A transaction of the stream: its batch, and its place there. The order is that of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TxnRef(u64);

impl TxnRef {
    pub(crate) fn new(batch: u32, txn: TxnId) -> TxnRef {
        TxnRef(u64::from(batch) << 32 | u64::from(txn.0))
    }

    pub(crate) fn batch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn txn(self) -> TxnId {
        TxnId(self.0 as u32)
    }
}

/// How many batches that were read again are kept at hand.
const AT_HAND: usize = 8;

/// The batches of a stream.
#[derive(Default)]
pub(crate) struct Bodies {
    /// Where the others are on disk, by their numbers.
    places: Vec<Place>,
    /// Those that are in memory, from the first of them on.
    live: VecDeque<Arc<History>>,
    first: u32,
    live_bytes: usize,
    at_hand: VecDeque<(u32, Arc<History>)>,
    spill: Option<Spill>,
    pub(crate) reloads: u64,
    /// Why something could not be written or read again.
    error: Option<StreamError>,
}

impl Bodies {
    /// Batches that go to disk when memory is short.
    pub(crate) fn new(spill: Option<Spill>) -> Bodies {
        Bodies { spill, ..Bodies::default() }
    }

    /// Keeps a batch, and says its number.
    pub(crate) fn add(&mut self, batch: History) -> (u32, Arc<History>) {
        let batch = Arc::new(batch);
        let number = self.next();
        self.live_bytes += bytes_of(&batch);
        self.live.push_back(batch.clone());
        (number, batch)
    }

    /// The number of the next batch.
    pub(crate) fn next(&self) -> u32 {
        self.first + self.live.len() as u32
    }

    /// A batch, from wherever it is. `None` if it is not kept any more.
    pub(crate) fn get(&mut self, batch: u32) -> Option<Arc<History>> {
        if let Some(live) = batch.checked_sub(self.first) {
            return self.live.get(live as usize).cloned();
        }
        if let Some((_, found)) = self.at_hand.iter().find(|(number, _)| *number == batch) {
            return Some(found.clone());
        }
        let place = *self.places.get(batch as usize)?;
        self.reloads += 1;
        match self.spill.as_mut()?.read(place) {
            Ok(history) => {
                let history = Arc::new(history?);
                if self.at_hand.len() == AT_HAND {
                    self.at_hand.pop_front();
                }
                self.at_hand.push_back((batch, history.clone()));
                Some(history)
            }
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    /// Puts the oldest batches on disk until so many bytes of batches are in memory.
    pub(crate) fn shrink(&mut self, most: usize) -> Result<(), StreamError> {
        while self.live_bytes > most && self.live.len() > 1 && self.spill.is_some() {
            let (Some(spill), Some(oldest)) = (&mut self.spill, self.live.front()) else { break };
            self.places.push(spill.write(oldest)?);
            self.live_bytes -= bytes_of(oldest);
            self.live.pop_front();
            self.first += 1;
        }
        Ok(())
    }

    /// What went wrong, if anything has.
    pub(crate) fn take_error(&mut self) -> Result<(), StreamError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let at_hand: usize = self.at_hand.iter().map(|(_, batch)| bytes_of(batch)).sum();
        self.live_bytes + self.places.capacity() * size_of::<Place>() + at_hand
    }

    /// The bytes on disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::bytes)
    }
}

fn bytes_of(batch: &History) -> usize {
    batch.heap_bytes() + size_of::<History>()
}
