//! Which batches on disk have to do with a key, with a value of a key, or with a session: sorted files of hashes.
//!
//! An entry is a hash of 32 bits and the number of a batch, in one word, so that entries sort by hash and then by batch.
//! What is written at once is one run; eight runs of a size are merged into one of the next, so that there are few of
//! them however long the stream. Every 128th hash of a run is in memory: finding an entry takes one read a run. Different
//! things of one hash only make us look into a batch in vain.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::batch_files::{open_again, open_new};
use crate::error::StreamError;
use crate::pack::packed;

/// How many runs of a size are merged.
const FAN: usize = 8;
/// How many entries there are for each hash in memory.
const FENCE: usize = 128;
const ENTRY: usize = 8;

/// The runs.
pub(crate) struct SortedRuns {
    folder: PathBuf,
    /// The larger ones first.
    runs: Vec<Run>,
    next_name: u32,
    gathered: Vec<u64>,
    /// Room for sorting.
    scratch: Vec<u64>,
    /// Runs that go with the next checkpoint, if there are any: until then the last one needs them.
    condemned: Option<Vec<u32>>,
}

struct Run {
    name: u32,
    file: File,
    count: usize,
    /// The last batch.
    last: u32,
    /// How often what is in it has been merged.
    level: u32,
    fences: Vec<u32>,
}

/// What a checkpoint says of the runs: name, entries, last batch, how often they were merged, and the hashes in memory.
pub(crate) struct SavedRuns {
    runs: Vec<(u32, usize, u32, u32, Vec<u32>)>,
    next_name: u32,
}

packed!(SavedRuns { runs, next_name });

impl SavedRuns {
    /// The names of the files.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.runs.iter().map(|(name, ..)| file_name(*name))
    }
}

impl SortedRuns {
    /// No runs yet, in a folder that has to be there.
    pub(crate) fn new(folder: PathBuf) -> SortedRuns {
        let (gathered, scratch) = (Vec::new(), Vec::new());
        SortedRuns { folder, runs: Vec::new(), next_name: 0, gathered, scratch, condemned: None }
    }

    /// Something of this hash is in a batch.
    #[inline]
    pub(crate) fn note(&mut self, hash: u32, batch: u32) {
        self.gathered.push(u64::from(hash) << 32 | u64::from(batch));
    }

    /// Makes a run of what was noted; batches before the first that is kept go when runs are merged.
    pub(crate) fn freeze(&mut self, first_kept: u32) -> Result<(), StreamError> {
        let mut entries = std::mem::take(&mut self.gathered);
        sort_by_hash(&mut entries, &mut self.scratch);
        entries.dedup();
        let run = self.write(0, entries.drain(..).map(Ok));
        entries.clear();
        self.gathered = entries;
        let run = run.map_err(|error| self.error(error))?;
        self.runs.push(run);
        self.merge(first_kept).map_err(|error| self.error(error))
    }

    /// Adds the batches, from the first that is kept on, that have to do with a hash.
    pub(crate) fn find(
        &self,
        hash: u32,
        first_kept: u32,
        found: &mut Vec<u32>,
    ) -> Result<(), StreamError> {
        for run in 0..self.runs.len() {
            self.find_in(run, hash, found)?;
        }
        found.retain(|batch| *batch >= first_kept);
        found.sort_unstable();
        found.dedup();
        Ok(())
    }

    /// How many runs there are. The batches of each come after those of all before it.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The last batch of a run.
    pub(crate) fn last_of(&self, run: usize) -> Option<u32> {
        self.runs.get(run).map(|run| run.last)
    }

    /// Adds the batches that have to do with a hash, as one run says: ascending.
    pub(crate) fn find_in(
        &self,
        run: usize,
        hash: u32,
        found: &mut Vec<u32>,
    ) -> Result<(), StreamError> {
        let Some(run) = self.runs.get(run) else { return Ok(()) };
        run.find(hash, found).map_err(|error| self.error(error))
    }

    /// The bytes in memory.
    pub(crate) fn heap_bytes(&self) -> usize {
        let fences: usize = self.runs.iter().map(|run| run.fences.capacity() * 4).sum();
        fences + (self.gathered.capacity() + self.scratch.capacity()) * ENTRY
    }

    /// The bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| (run.count * ENTRY) as u64).sum()
    }

    /// From now on checkpoints say which runs are needed.
    pub(crate) fn stay(&mut self) {
        self.condemned.get_or_insert_default();
    }

    /// What a checkpoint says of the runs. All that was written is safe then.
    pub(crate) fn save(&self) -> Result<SavedRuns, StreamError> {
        let mut runs = Vec::new();
        for run in &self.runs {
            run.file.sync_data().map_err(|error| self.error(error))?;
            runs.push((run.name, run.count, run.last, run.level, run.fences.clone()));
        }
        Ok(SavedRuns { runs, next_name: self.next_name })
    }

    /// The checkpoint is there.
    pub(crate) fn saved(&mut self) {
        let condemned = self.condemned.iter_mut().flat_map(std::mem::take);
        condemned.for_each(|name| remove(&self.folder, name));
    }

    /// The runs as a checkpoint says.
    pub(crate) fn restore(&mut self, saved: SavedRuns) -> Result<(), StreamError> {
        self.stay();
        for (name, count, last, level, fences) in saved.runs {
            let file = open_again(&path(&self.folder, name)).map_err(|error| self.error(error))?;
            self.runs.push(Run { name, file, count, last, level, fences });
        }
        self.next_name = saved.next_name;
        Ok(())
    }

    fn merge(&mut self, first_kept: u32) -> io::Result<()> {
        while let Some(last) = self.runs.last()
            && let level = last.level
            && let same = self.runs.iter().rev().take_while(|run| run.level == level).count()
            && same >= FAN
        {
            let old = self.runs.split_off(self.runs.len() - same);
            let mut sources = Vec::new();
            for run in &old {
                sources.push(Entries::new(run)?);
            }
            let merged = Merged { sources, first_kept };
            let run = self.write(level + 1, merged);
            let run = match run {
                Ok(run) => run,
                Err(error) => {
                    self.runs.extend(old);
                    return Err(error);
                }
            };
            self.runs.push(run);
            let old = old.iter().map(|run| run.name);
            match &mut self.condemned {
                Some(condemned) => condemned.extend(old),
                None => old.for_each(|name| remove(&self.folder, name)),
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        level: u32,
        entries: impl Iterator<Item = io::Result<u64>>,
    ) -> io::Result<Run> {
        let name = self.next_name;
        self.next_name += 1;
        let file = open_new(&path(&self.folder, name))?;
        let mut out = BufWriter::with_capacity(256 << 10, &file);
        let (mut count, mut last, mut fences) = (0, 0, Vec::new());
        for entry in entries {
            let entry = entry?;
            if count % FENCE == 0 {
                fences.push((entry >> 32) as u32);
            }
            out.write_all(&entry.to_le_bytes())?;
            last = last.max(entry as u32);
            count += 1;
        }
        out.flush()?;
        drop(out);
        fences.shrink_to_fit();
        Ok(Run { name, file, count, last, level, fences })
    }

    fn error(&self, error: io::Error) -> StreamError {
        StreamError::Spill { folder: self.folder.display().to_string(), error }
    }
}

impl Drop for SortedRuns {
    fn drop(&mut self) {
        if self.condemned.is_none() {
            self.runs.iter().for_each(|run| remove(&self.folder, run.name));
        }
    }
}

impl Run {
    fn find(&self, hash: u32, found: &mut Vec<u32>) -> io::Result<()> {
        // The first entry of the hash may stand in the piece before the first that begins with it.
        let mut piece = self.fences.partition_point(|fence| *fence < hash).saturating_sub(1);
        let mut bytes = [0; FENCE * ENTRY];
        while piece < self.fences.len() && self.fences[piece] <= hash {
            let from = piece * FENCE;
            let count = (self.count - from).min(FENCE);
            let bytes = &mut bytes[..count * ENTRY];
            self.file.read_exact_at(bytes, (from * ENTRY) as u64)?;
            let (entries, _) = bytes.as_chunks::<ENTRY>();
            let entry = |at: usize| u64::from_le_bytes(entries[at]);
            let start = partition(count, |at| (entry(at) >> 32) < u64::from(hash));
            let of_hash = (start..count).map(entry);
            let before = found.len();
            found.extend(of_hash.take_while(|e| e >> 32 == u64::from(hash)).map(|e| e as u32));
            if found.len() - before < count - start {
                return Ok(());
            }
            piece += 1;
        }
        Ok(())
    }
}

/// Sorts entries that are in the order of their batches, digit by digit of their hashes: there are hundreds of thousands of
/// them at once, and they are spread evenly.
fn sort_by_hash(entries: &mut Vec<u64>, other: &mut Vec<u64>) {
    const DIGIT: u32 = 11;
    other.resize(entries.len(), 0);
    for shift in [32, 32 + DIGIT, 32 + 2 * DIGIT] {
        let digit = |entry: u64| (entry >> shift) as usize & ((1 << DIGIT) - 1);
        let mut ends = [0_usize; 1 << DIGIT];
        entries.iter().for_each(|entry| ends[digit(*entry)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        for entry in &*entries {
            let end = &mut ends[digit(*entry)];
            other[*end] = *entry;
            *end += 1;
        }
        std::mem::swap(entries, other);
    }
}

/// The first index of which something does not hold any more.
fn partition(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        match holds(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// The entries of a run, one after another.
struct Entries<'r> {
    input: BufReader<At<'r>>,
    next: Option<u64>,
}

/// A file read from its beginning, whatever others do with it.
struct At<'r> {
    file: &'r File,
    at: u64,
}

impl io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read_at(buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

impl<'r> Entries<'r> {
    fn new(run: &'r Run) -> io::Result<Entries<'r>> {
        let input = BufReader::with_capacity(64 << 10, At { file: &run.file, at: 0 });
        let mut entries = Entries { input, next: None };
        entries.advance()?;
        Ok(entries)
    }

    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = [0; ENTRY];
        self.next = match self.input.read_exact(&mut bytes) {
            Ok(()) => Some(u64::from_le_bytes(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }
}

/// The entries of several runs in their order, without those of batches that are gone.
struct Merged<'r> {
    sources: Vec<Entries<'r>>,
    first_kept: u32,
}

impl Iterator for Merged<'_> {
    type Item = io::Result<u64>;

    fn next(&mut self) -> Option<io::Result<u64>> {
        loop {
            let next = self.sources.iter().filter_map(|source| source.next).min()?;
            for source in self.sources.iter_mut().filter(|source| source.next == Some(next)) {
                if let Err(error) = source.advance() {
                    return Some(Err(error));
                }
            }
            if next as u32 >= self.first_kept {
                return Some(Ok(next));
            }
        }
    }
}

fn file_name(name: u32) -> String {
    format!("keys-{name:06}")
}

fn path(folder: &Path, name: u32) -> PathBuf {
    folder.join(file_name(name))
}

fn remove(folder: &Path, name: u32) {
    let _ = fs::remove_file(path(folder, name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_batch_of_a_hash_is_found_however_often_runs_were_merged() {
        let folder = std::env::temp_dir().join(format!("isolde-runs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut runs = SortedRuns::new(folder.clone());
        for batch in 0..600_u32 {
            // Hash 7 is in every batch, the others in one each.
            for hash in [7, 1_000 + batch, u32::MAX - batch] {
                runs.note(hash, batch);
                runs.note(hash, batch);
            }
            if batch % 5 == 4 {
                runs.freeze(0).unwrap();
            }
        }
        let find = |runs: &SortedRuns, hash, first| {
            let mut found = Vec::new();
            runs.find(hash, first, &mut found).unwrap();
            found
        };
        assert_eq!(find(&runs, 7, 0), (0..600).collect::<Vec<u32>>());
        assert_eq!(find(&runs, 7, 597), [597, 598, 599]);
        for batch in 0..600 {
            assert_eq!(find(&runs, 1_000 + batch, 0), [batch]);
            assert_eq!(find(&runs, u32::MAX - batch, 0), [batch]);
        }
        assert_eq!(find(&runs, 8, 0), [] as [u32; 0]);
        assert!(runs.runs.len() < 3 * FAN, "{}", runs.runs.len());
        drop(runs);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(folder).unwrap();
    }
}
