//! What is on disk of the batches: the batches themselves, and which of them have to do with what.
//!
//! Writing takes a fifth of the time. The caller may have it done elsewhere ([`Elsewhere`]), on a thread of its own: then the disk is
//! lent to the job that writes, and whatever asks it waits until the job is done. So answers do not depend on it.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use isolde_history::{
    Datum, Effect, History, Key, Op, OpKind, Outcome, Pool, Timestamp, Txn, Value,
};

use crate::batch_files::{BatchFiles, Written};
use crate::content::{MixedName, What, Word, cell_word, name_id, word};
use crate::error::StreamError;
use crate::sorted_runs::SortedRuns;
use crate::unsure::UnsureWords;

/// Does a job, at once or later, here or on another thread. Jobs have to be done in their order.
pub type Elsewhere = Box<dyn FnMut(Box<dyn FnOnce() + Send>) + Send>;

/// The files.
pub(crate) struct Disk {
    pub(crate) files: BatchFiles,
    pub(crate) runs: SortedRuns,
}

impl Disk {
    /// Files in a folder, with no more than so many bytes.
    pub(crate) fn new(folder: PathBuf, keep: u64) -> Disk {
        Disk { files: BatchFiles::new(folder.clone(), keep), runs: SortedRuns::new(folder) }
    }

    /// Writes the next batches.
    pub(crate) fn write(&mut self, batches: &[Written]) -> Result<(), StreamError> {
        for batch in batches {
            self.files.write(batch)?;
            note_all(batch, &mut self.runs);
        }
        self.runs.freeze(self.files.first())?;
        self.files.forget_oldest(self.runs.bytes());
        Ok(())
    }
}

/// The disk, which may be lent to a job.
#[derive(Default)]
pub(crate) struct LentDisk {
    here: Option<Disk>,
    away: Option<Receiver<(Disk, Result<(), StreamError>)>>,
    elsewhere: Option<Elsewhere>,
    /// The bytes in memory and on disk when it was here last.
    bytes: (usize, u64),
    /// The latest timestamp in any batch that is or will be on it, but for those that lie far beyond all others.
    newest: Option<Timestamp>,
    /// What transactions wrote, in any batch that is or was on it, of which it may not be known if or when they committed.
    pub(crate) unsure: UnsureWords,
    pub(crate) error: Option<StreamError>,
}

impl LentDisk {
    pub(crate) fn new(disk: Option<Disk>) -> LentDisk {
        let mut lent = LentDisk::default();
        lent.here = disk;
        lent
    }

    /// From now on what need not be waited for is done elsewhere.
    pub(crate) fn lend_to(&mut self, elsewhere: Elsewhere) {
        self.elsewhere = Some(elsewhere);
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.here.is_some() || self.away.is_some()
    }

    /// The disk, once the job that has it is done.
    pub(crate) fn get(&mut self) -> Option<&mut Disk> {
        if let Some(away) = self.away.take() {
            match away.recv() {
                Ok(back) => self.came_back(back),
                Err(_) => self.is_lost(),
            }
        }
        self.here.as_mut()
    }

    /// Writes batches; if it need not be known at once whether that went well, perhaps later.
    pub(crate) fn write(
        &mut self,
        mut batches: Vec<Written>,
        later: bool,
    ) -> Result<(), StreamError> {
        let Some(disk) = self.get() else { return Ok(()) };
        batches.iter_mut().for_each(|batch| disk.files.mark(batch));
        for batch in &batches {
            note_unsure(batch, &mut self.unsure);
        }
        let (Some(elsewhere), true) = (&mut self.elsewhere, later) else {
            return self.here.as_mut().map_or(Ok(()), |disk| disk.write(&batches));
        };
        let Some(mut disk) = self.here.take() else { return Ok(()) };
        self.newest = Some(disk.files.newest());
        self.bytes = (disk.runs.heap_bytes(), disk.files.bytes() + disk.runs.bytes());
        let (back, away) = channel();
        self.away = Some(away);
        elsewhere(Box::new(move || {
            let result = disk.write(&batches);
            // If nobody waits for it any more, its files go with it.
            let _ = back.send((disk, result));
        }));
        Ok(())
    }

    /// The bytes that it has in memory and on disk, as far as that is known here.
    pub(crate) fn bytes(&self) -> (usize, u64) {
        match &self.here {
            Some(disk) => (disk.runs.heap_bytes(), disk.files.bytes() + disk.runs.bytes()),
            None => self.bytes,
        }
    }

    /// The latest timestamp in any batch that is or will be on it, but for those that lie far beyond all others.
    pub(crate) fn newest(&self) -> Option<Timestamp> {
        self.here.as_ref().map(|disk| disk.files.newest()).or(self.newest)
    }

    /// What went wrong, if that is known.
    pub(crate) fn take_error(&mut self) -> Result<(), StreamError> {
        match self.away.as_ref().map(Receiver::try_recv) {
            Some(Ok(back)) => {
                self.away = None;
                self.came_back(back);
            }
            Some(Err(TryRecvError::Disconnected)) => {
                self.away = None;
                self.is_lost();
            }
            Some(Err(TryRecvError::Empty)) | None => {}
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn came_back(&mut self, (disk, result): (Disk, Result<(), StreamError>)) {
        self.here = Some(disk);
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    fn is_lost(&mut self) {
        let error = std::io::Error::other("what should have been written was not");
        self.error.get_or_insert(StreamError::Spill { folder: "the disk".to_owned(), error });
    }
}

impl Drop for LentDisk {
    fn drop(&mut self) {
        // Its files go before the folder does.
        self.get();
    }
}

/// Notes the keys, the sessions and the writes of a batch.
fn note_all(batch: &Written, runs: &mut SortedRuns) {
    let Written { history, number, .. } = batch;
    let pool = history.pool();
    for session in pool.session_names() {
        runs.note(name_id(pool, *session).mixed().hash_as(What::Session), *number);
    }
    let names = pool.key_names().iter().map(|name| name_id(pool, *name).mixed());
    let names: Vec<MixedName> = names.collect();
    for name in &names {
        runs.note(name.hash_as(What::Key), *number);
    }
    each_word(history, &names, |hash| runs.note(hash, *number));
    let unsure = |hash| runs.note(hash, *number);
    each_unsure(batch, unsure);
}

/// The hashes of what the operations of a batch wrote.
fn each_word(history: &History, names: &[MixedName], mut each: impl FnMut(u32)) {
    let (pool, by_column) = (history.pool(), history.rows_by_column());
    for op in history.ops().filter(writes) {
        let name = names[op.key().index()];
        each(name.hash_as(What::Word(written(pool, &op))));
        // Who reads a row may ask for some of its columns.
        if by_column && let Datum::Row(row) = pool.datum(op.value()) {
            let cells = row
                .pairs()
                .map(|(column, value)| cell_word(name_id(pool, column), word(pool, value)));
            cells.for_each(|cell| each(name.hash_as(What::Word(cell))));
        }
    }
}

/// The same, in order, each once.
pub(crate) fn words_of(history: &History) -> Vec<u32> {
    let pool = history.pool();
    let names = pool.key_names().iter().map(|name| name_id(pool, *name).mixed());
    let (names, mut words): (Vec<MixedName>, Vec<u32>) = (names.collect(), Vec::new());
    each_word(history, &names, |hash| words.push(hash));
    words.sort_unstable();
    words.dedup();
    words.shrink_to_fit();
    words
}

/// Notes what a batch wrote without its being known if or when that was committed.
fn note_unsure(batch: &Written, to: &mut UnsureWords) {
    each_unsure(batch, |hash| to.add(hash));
}

/// The hashes of what a batch wrote without its being known if or when that was committed.
fn each_unsure(batch: &Written, mut each: impl FnMut(u32)) {
    let pool = batch.history.pool();
    for txn in batch.history.txns().filter(|txn| is_unsure(txn, batch)) {
        for op in txn.ops().filter(writes) {
            let name = name_id(pool, pool.key_name(op.key())).mixed();
            each(name.hash_as(What::Unsure(written(pool, &op))));
        }
    }
}

fn writes(op: &Op<'_>) -> bool {
    op.kind().writes() && op.effect() != Effect::Failed && op.key() != Key::NONE
}

fn written(pool: &Pool, op: &Op<'_>) -> Word {
    match op.kind() {
        OpKind::Delete => word(pool, Value::ABSENT),
        _ => word(pool, op.value()),
    }
}

/// Whether it may not be known if or when a transaction committed.
fn is_unsure(txn: &Txn<'_>, batch: &Written) -> bool {
    if let Some(places) = &batch.places {
        let given = places.get(txn.id().index());
        return txn.outcome() != Outcome::Aborted && given.is_none_or(|g| g.commit.is_none());
    }
    match txn.outcome() {
        Outcome::Unknown => true,
        Outcome::Committed => {
            txn.commit_ts().is_none() || (batch.needs_start && txn.start_ts().is_none())
        }
        _ => false,
    }
}
