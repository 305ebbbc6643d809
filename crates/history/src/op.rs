//! Operations: what a transaction did to one key.

use crate::ids::{Key, OpId};
use crate::value::Value;

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum OpKind {
    /// Read of a key: [`Op::value`] is what came back.
    Read = 0,
    /// Write of a key: [`Op::value`] is what was written.
    Write = 1,
    /// Append of [`Op::value`] to the list under the key.
    Append = 2,
    /// Read of the list under the key: [`Op::elements`] is what came back.
    ListRead = 3,
    /// Compare-and-set from [`Op::expected`] to [`Op::value`].
    Cas = 4,
    /// Insert of [`Op::value`] that takes effect only if the key is absent.
    InsertIfAbsent = 5,
    /// Removal of the key.
    Delete = 6,
    /// Read of all rows that satisfy a predicate: [`Op::value`] is the predicate as the source
    /// wrote it, [`Op::result_set`] the keys and values that came back.
    PredicateRead = 7,
    /// A savepoint named [`Op::value`].
    Savepoint = 8,
    /// Rollback to the savepoint named [`Op::value`]; the writes since then are [`Op::undone`].
    RollbackTo = 9,
    /// Release of the savepoint named [`Op::value`].
    Release = 10,
}

impl OpKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [OpKind; 11] = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Append,
        OpKind::ListRead,
        OpKind::Cas,
        OpKind::InsertIfAbsent,
        OpKind::Delete,
        OpKind::PredicateRead,
        OpKind::Savepoint,
        OpKind::RollbackTo,
        OpKind::Release,
    ];

    /// The name used in reports, in `.jsonl` and in the notation.
    pub const fn name(self) -> &'static str {
        match self {
            OpKind::Read => "r",
            OpKind::Write => "w",
            OpKind::Append => "append",
            OpKind::ListRead => "list",
            OpKind::Cas => "cas",
            OpKind::InsertIfAbsent => "insert",
            OpKind::Delete => "delete",
            OpKind::PredicateRead => "pred",
            OpKind::Savepoint => "savepoint",
            OpKind::RollbackTo => "rollback",
            OpKind::Release => "release",
        }
    }

    /// The kind of that [`name`](OpKind::name).
    pub fn from_name(name: &[u8]) -> Option<OpKind> {
        OpKind::ALL.into_iter().find(|k| k.name().as_bytes() == name)
    }

    /// The kind in plain words, for tables.
    pub const fn title(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Append => "append",
            OpKind::ListRead => "list read",
            OpKind::Cas => "compare-and-set",
            OpKind::InsertIfAbsent => "insert-if-absent",
            OpKind::Delete => "delete",
            OpKind::PredicateRead => "predicate read",
            OpKind::Savepoint => "savepoint",
            OpKind::RollbackTo => "rollback to savepoint",
            OpKind::Release => "release savepoint",
        }
    }

    /// Whether the operation can change what is under its key.
    pub const fn writes(self) -> bool {
        matches!(
            self,
            OpKind::Write | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent | OpKind::Delete
        )
    }

    /// Whether the operation names a key.
    pub const fn has_key(self) -> bool {
        !matches!(
            self,
            OpKind::PredicateRead | OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release
        )
    }

    /// Whether the payload is a run of elements rather than one value.
    pub(crate) const fn has_elements(self) -> bool {
        matches!(self, OpKind::ListRead | OpKind::Cas | OpKind::PredicateRead)
    }
}

/// Whether an operation had its effect. In a committed transaction, what is not [`Effect::Done`]
/// still says something: a failed compare-and-set has seen another value, a failed insert has seen
/// the key. In an aborted one it says nothing: the connection may have been refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Effect {
    /// It did what it was asked to.
    #[default]
    Done,
    /// It answered that it did nothing: the comparison failed, the key existed, an error came back.
    Failed,
    /// The client does not know.
    Unknown,
}

/// Kind and flags of an operation in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct OpCode(pub(crate) u8);

impl OpCode {
    const KIND: u8 = 0x0f;
    const FAILED: u8 = 0x20;
    const UNKNOWN: u8 = 0x40;
    const UNDONE: u8 = 0x80;

    #[inline]
    pub(crate) const fn new(kind: OpKind, effect: Effect) -> OpCode {
        let flag = match effect {
            Effect::Done => 0,
            Effect::Failed => OpCode::FAILED,
            Effect::Unknown => OpCode::UNKNOWN,
        };
        OpCode(kind as u8 | flag)
    }

    /// A byte from a file: `None` unless it is one that this version can mean.
    #[inline]
    pub(crate) fn from_byte(byte: u8) -> Option<OpCode> {
        let known = (byte & OpCode::KIND) < OpKind::ALL.len() as u8;
        let flags = byte & !OpCode::KIND;
        let sound = flags & 0x10 == 0 && flags & 0x60 != 0x60;
        (known && sound).then_some(OpCode(byte))
    }

    #[inline]
    pub(crate) fn kind(self) -> OpKind {
        // Codes are only made by `new` and `from_byte`, so the index is in range.
        OpKind::ALL[usize::from(self.0 & OpCode::KIND)]
    }

    /// Whether the kind is this one. It needs no table, so that many can be asked at once.
    #[inline]
    pub(crate) const fn is(self, kind: OpKind) -> bool {
        self.0 & OpCode::KIND == kind as u8
    }

    #[inline]
    pub(crate) const fn effect(self) -> Effect {
        if self.0 & OpCode::FAILED != 0 {
            Effect::Failed
        } else if self.0 & OpCode::UNKNOWN != 0 {
            Effect::Unknown
        } else {
            Effect::Done
        }
    }

    #[inline]
    pub(crate) const fn undone(self) -> bool {
        self.0 & OpCode::UNDONE != 0
    }

    pub(crate) const fn with_undone(self) -> OpCode {
        OpCode(self.0 | OpCode::UNDONE)
    }
}

/// A run of elements, packed into the payload word of its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) len: u32,
}

impl Run {
    const LEN_BITS: u32 = 28;
    /// The longest list that one read may return.
    pub(crate) const MAX_LEN: usize = (1 << Run::LEN_BITS) - 1;
    /// How many elements one history may hold (36 bits, less the word of [`Run::UNOBSERVED`]).
    pub(crate) const MAX_START: u64 = (1 << (64 - Run::LEN_BITS)) - 2;
    /// The payload of a list or predicate read whose result the client never learned.
    pub(crate) const UNOBSERVED: u64 = u64::MAX;

    #[inline]
    pub(crate) const fn pack(self) -> u64 {
        (self.start << Run::LEN_BITS) | self.len as u64
    }

    #[inline]
    pub(crate) const fn unpack(word: u64) -> Run {
        Run { start: word >> Run::LEN_BITS, len: (word & ((1 << Run::LEN_BITS) - 1)) as u32 }
    }

    #[inline]
    pub(crate) const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// One operation of a history.
#[derive(Clone, Copy)]
pub struct Op<'h> {
    pub(crate) id: OpId,
    pub(crate) code: OpCode,
    pub(crate) key: Key,
    pub(crate) payload: u64,
    pub(crate) elements: &'h [Value],
}

impl<'h> Op<'h> {
    /// Its identifier.
    #[inline]
    pub const fn id(&self) -> OpId {
        self.id
    }

    /// What it does.
    #[inline]
    pub fn kind(&self) -> OpKind {
        self.code.kind()
    }

    /// Whether it had its effect.
    #[inline]
    pub const fn effect(&self) -> Effect {
        self.code.effect()
    }

    /// Whether a rollback to a savepoint took its effect back.
    #[inline]
    pub const fn undone(&self) -> bool {
        self.code.undone()
    }

    /// Its key; [`Key::NONE`] for savepoints and predicate reads.
    #[inline]
    pub const fn key(&self) -> Key {
        self.key
    }

    /// The value it read or wrote; for a compare-and-set the new one, for a predicate read the
    /// predicate, for a savepoint its name. [`Value::UNOBSERVED`] for list reads and deletes.
    #[inline]
    pub fn value(&self) -> Value {
        match self.kind() {
            OpKind::ListRead | OpKind::Delete => Value::UNOBSERVED,
            OpKind::Cas => self.run().get(1).copied().unwrap_or(Value::UNOBSERVED),
            OpKind::PredicateRead => self.run().first().copied().unwrap_or(Value::UNOBSERVED),
            _ => Value::from_trusted_bits(self.payload),
        }
    }

    /// What a compare-and-set compared with.
    pub fn expected(&self) -> Option<Value> {
        (self.kind() == OpKind::Cas).then(|| self.run().first().copied()).flatten()
    }

    /// The elements that a list read returned; `None` if it is no list read, or the client never
    /// learned the result.
    #[inline]
    pub fn elements(&self) -> Option<&'h [Value]> {
        let observed = self.kind() == OpKind::ListRead && self.payload != Run::UNOBSERVED;
        observed.then(|| self.run())
    }

    /// The rows that a predicate read returned; `None` if it is no predicate read, or the client
    /// never learned the result.
    pub fn result_set(&self) -> Option<impl ExactSizeIterator<Item = (Key, Value)> + 'h> {
        let run = (self.kind() == OpKind::PredicateRead).then(|| self.run())?;
        // The predicate, then key and value in turn; a lone word after it says that the result is
        // missing, which an empty result is not.
        let rows = run.get(1..).filter(|rows| rows.len() % 2 == 0)?;
        Some(rows.chunks_exact(2).map(|row| (Key(row[0].to_bits() as u32), row[1])))
    }

    fn run(&self) -> &'h [Value] {
        if self.payload == Run::UNOBSERVED {
            return &[];
        }
        self.elements.get(Run::unpack(self.payload).range()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_number_and_its_name() {
        for (i, kind) in OpKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(OpKind::from_name(kind.name().as_bytes()), Some(kind));
        }
    }

    #[test]
    fn codes_round_trip_and_odd_bytes_are_refused() {
        for kind in OpKind::ALL {
            for effect in [Effect::Done, Effect::Failed, Effect::Unknown] {
                let code = OpCode::new(kind, effect);
                assert_eq!((code.kind(), code.effect()), (kind, effect));
                assert_eq!(OpCode::from_byte(code.0), Some(code));
            }
        }
        assert_eq!(OpCode::from_byte(0x0f), None);
        assert_eq!(OpCode::from_byte(0x60), None);
        assert_eq!(OpCode::from_byte(0x10), None);
    }

    #[test]
    fn runs_pack_into_a_word() {
        let run = Run { start: Run::MAX_START, len: Run::MAX_LEN as u32 };
        assert_eq!(Run::unpack(run.pack()), run);
        assert_ne!(run.pack(), Run::UNOBSERVED);
    }
}
