//! The records of a log, and the layouts they may have.

use crate::error::Fault;

/// What a log does not say about itself: whether starts and commits carry a time, and whether keys
/// are hashes or texts. Both were settings of the recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) timestamps: bool,
    pub(super) text_keys: bool,
}

impl Layout {
    /// Every layout, the most common one first.
    pub(super) const ALL: [Layout; 4] = [
        Layout { timestamps: false, text_keys: false },
        Layout { timestamps: true, text_keys: false },
        Layout { timestamps: false, text_keys: true },
        Layout { timestamps: true, text_keys: true },
    ];

    /// The name used in messages and in the history's metadata.
    pub(super) const fn name(self) -> &'static str {
        match (self.timestamps, self.text_keys) {
            (false, false) => "plain",
            (true, false) => "timestamps",
            (false, true) => "string-keys",
            (true, true) => "string-keys-timestamps",
        }
    }
}

/// What VeriStrong's logs say in place of a transaction or write that is not known.
pub(super) const UNKNOWN_WRITER: i64 = 0xABDD_EFEE;

/// A key as the log names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum KeyName<'a> {
    Hash(i64),
    Text(&'a [u8]),
}

/// The version of a key that a read saw or a write made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version<'a> {
    pub(super) write_id: i64,
    pub(super) key: KeyName<'a>,
    /// The hash of the value.
    pub(super) hash: i64,
}

/// One record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record<'a> {
    /// A transaction begins, at a time in milliseconds.
    Start(i64, Option<i64>),
    /// It commits.
    Commit(i64, Option<i64>),
    Write(Version<'a>),
    /// A read names the transaction that wrote what it saw.
    Read(i64, Version<'a>),
}

impl Record<'_> {
    pub(super) const fn is_operation(&self) -> bool {
        matches!(self, Record::Write(_) | Record::Read(..))
    }

    pub(super) const fn has_unknown_writer(&self) -> bool {
        match self {
            Record::Start(..) | Record::Commit(..) => false,
            Record::Write(version) => version.write_id == UNKNOWN_WRITER,
            Record::Read(writer, version) => {
                *writer == UNKNOWN_WRITER || version.write_id == UNKNOWN_WRITER
            }
        }
    }
}

/// Walks over the records of one file and checks that they nest: start, operations, commit of the
/// same transaction, and so on. Nothing is allocated.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    pos: usize,
    layout: Layout,
    /// The transaction that has started and not committed yet.
    pub(super) open: Option<i64>,
}

impl<'a> Records<'a> {
    pub(super) const fn new(bytes: &'a [u8], layout: Layout) -> Records<'a> {
        Records { bytes, pos: 0, layout, open: None }
    }

    /// The next record and the byte at which it starts, or `None` at the end of the file. Faults
    /// stand at the start of the record that does not fit.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(usize, Record<'a>)>, Fault> {
        let at = self.pos;
        let Some(&tag) = self.bytes.get(at) else { return Ok(None) };
        if !matches!(tag, b'S' | b'C' | b'W' | b'R') {
            return Err(no_record(at, tag));
        }
        self.pos += 1;
        let record = self.fields(tag).ok_or_else(|| self.does_not_fit(at, tag))?;
        self.nest(at, record)?;
        Ok(Some((at, record)))
    }

    fn fields(&mut self, tag: u8) -> Option<Record<'a>> {
        Some(match tag {
            b'S' => Record::Start(self.long()?, self.time()?),
            b'C' => Record::Commit(self.long()?, self.time()?),
            b'W' => Record::Write(self.version()?),
            _ => Record::Read(self.long()?, self.version()?),
        })
    }

    fn version(&mut self) -> Option<Version<'a>> {
        Some(Version { write_id: self.long()?, key: self.key()?, hash: self.long()? })
    }

    fn key(&mut self) -> Option<KeyName<'a>> {
        if !self.layout.text_keys {
            return self.long().map(KeyName::Hash);
        }
        let len = i32::from_be_bytes(self.take()?);
        let end = self.pos.checked_add(usize::try_from(len).ok()?)?;
        let text = self.bytes.get(self.pos..end)?;
        self.pos = end;
        Some(KeyName::Text(text))
    }

    /// `Some(None)` if this layout has no times, `None` if the file ends before it.
    fn time(&mut self) -> Option<Option<i64>> {
        if self.layout.timestamps { self.long().map(Some) } else { Some(None) }
    }

    #[inline]
    fn long(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.bytes.get(self.pos..)?.first_chunk::<N>()?;
        self.pos += N;
        Some(bytes)
    }

    fn nest(&mut self, at: usize, record: Record<'_>) -> Result<(), Fault> {
        let fault = match (record, self.open) {
            (Record::Start(txn, _), None) => {
                self.open = Some(txn);
                return Ok(());
            }
            (Record::Commit(txn, _), Some(open)) if txn == open => {
                self.open = None;
                return Ok(());
            }
            (Record::Write(_) | Record::Read(..), Some(_)) => return Ok(()),
            (Record::Start(txn, _), Some(open)) => {
                format!("transaction {txn} starts before transaction {open} has committed")
            }
            (Record::Commit(txn, _), Some(open)) => {
                format!("transaction {txn} commits, but transaction {open} is the one that runs")
            }
            (Record::Commit(txn, _), None) => {
                format!("transaction {txn} commits without having started")
            }
            (Record::Write(_) | Record::Read(..), None) => {
                "an operation outside of any transaction".to_owned()
            }
        };
        Err(Fault::wrong(at, fault))
    }

    #[cold]
    fn does_not_fit(&self, at: usize, tag: u8) -> Fault {
        let tag = char::from(tag);
        let left = self.bytes.len() - at;
        Fault::wrong(at, format!("the file ends within the last record ('{tag}', {left} bytes)"))
            .hint(format!(
                "if the client was killed while it wrote, cut the file to its first {at} bytes"
            ))
    }
}

#[cold]
fn no_record(at: usize, tag: u8) -> Fault {
    let fault = Fault::expected(at, "a record: one of the letters S, R, W, C");
    if tag == b'A' {
        return fault.hint("'A' would be an abort; Cobra logs only transactions that committed");
    }
    fault
}
