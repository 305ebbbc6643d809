//! Values: what is read and written, as one machine word each.

use std::fmt;

/// A value of a [`Pool`](crate::Pool), as one word.
///
/// Two values of the same pool are equal if and only if their words are equal: integers up to 62
/// bits are stored in the word itself, everything else once in the pool. Most histories hold
/// nothing but such integers, and never touch the pool at all.
///
/// ```
/// use isolde_history::{Datum, Pool, Value};
/// let mut pool = Pool::new();
/// let seven = pool.int(7);
/// assert_eq!(seven.as_int(), Some(7));
/// assert_eq!(pool.text("x"), pool.text("x"));
/// assert_eq!(pool.datum(Value::ABSENT), Datum::Absent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Value(u64);

/// The low two bits say how to read the other 62.
const TAG_BITS: u32 = 2;
const TAG_MASK: u64 = 0b11;
const TAG_INT: u64 = 0b00;
const TAG_POOLED: u64 = 0b01;
const TAG_SPECIAL: u64 = 0b10;

/// The largest integer that fits in the word.
const INT_MAX: i64 = (1 << 61) - 1;
/// The smallest integer that fits in the word.
const INT_MIN: i64 = -(1 << 61);

impl Value {
    /// There is nothing under the key: it was never written, or it was deleted.
    pub const ABSENT: Value = Value::special(0);
    /// The key exists and holds SQL's NULL.
    pub const NULL: Value = Value::special(1);
    /// A read whose result the client never learned (the transaction failed before).
    pub const UNOBSERVED: Value = Value::special(2);
    /// The truth value true.
    pub const TRUE: Value = Value::special(3);
    /// The truth value false.
    pub const FALSE: Value = Value::special(4);

    const fn special(n: u64) -> Value {
        Value((n << TAG_BITS) | TAG_SPECIAL)
    }

    /// The integer as a word, if it fits in 62 bits; [`Pool::int`](crate::Pool::int) takes any.
    #[inline]
    pub const fn small_int(i: i64) -> Option<Value> {
        if i >= INT_MIN && i <= INT_MAX { Some(Value((i as u64) << TAG_BITS)) } else { None }
    }

    /// A 32-bit integer, which always fits.
    #[inline]
    pub const fn from_u32(i: u32) -> Value {
        Value((i as u64) << TAG_BITS)
    }

    /// The integer, if this value is one that fits in the word.
    #[inline]
    pub const fn as_int(self) -> Option<i64> {
        if self.0 & TAG_MASK == TAG_INT { Some((self.0 as i64) >> TAG_BITS) } else { None }
    }

    /// The truth value, if this value is one.
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Value::TRUE => Some(true),
            Value::FALSE => Some(false),
            _ => None,
        }
    }

    /// The truth value as a word.
    pub const fn from_bool(b: bool) -> Value {
        if b { Value::TRUE } else { Value::FALSE }
    }

    #[inline]
    pub(crate) const fn pooled(index: u32) -> Value {
        Value(((index as u64) << TAG_BITS) | TAG_POOLED)
    }

    #[inline]
    pub(crate) const fn pool_index(self) -> Option<u32> {
        if self.0 & TAG_MASK == TAG_POOLED { Some((self.0 >> TAG_BITS) as u32) } else { None }
    }

    /// The word itself, for files and hash tables.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// A word read back from a file: `None` unless it is one that this version can mean, with
    /// pool indices below `pool_len`.
    #[inline]
    pub const fn from_bits(bits: u64, pool_len: u32) -> Option<Value> {
        match bits & TAG_MASK {
            TAG_INT => Some(Value(bits)),
            TAG_POOLED if (bits >> TAG_BITS) < pool_len as u64 => Some(Value(bits)),
            TAG_SPECIAL if (bits >> TAG_BITS) <= 4 => Some(Value(bits)),
            _ => None,
        }
    }

    /// A word that is known to come from [`Value::to_bits`] of the same pool.
    #[inline]
    pub(crate) const fn from_trusted_bits(bits: u64) -> Value {
        Value(bits)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::ABSENT => f.write_str("absent"),
            Value::NULL => f.write_str("null"),
            Value::UNOBSERVED => f.write_str("_"),
            Value::TRUE => f.write_str("true"),
            Value::FALSE => f.write_str("false"),
            v => match (v.as_int(), v.pool_index()) {
                (Some(i), _) => write!(f, "{i}"),
                (_, Some(p)) => write!(f, "#{p}"),
                _ => write!(f, "Value({:#x})", v.0),
            },
        }
    }
}

/// What a [`Value`] means, borrowed from the pool that holds it.
///
/// The parts of lists and rows are values again; [`Pool::datum`](crate::Pool::datum) looks one up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'p> {
    /// Nothing under the key (see [`Value::ABSENT`]).
    Absent,
    /// SQL's NULL.
    Null,
    /// The client never learned it.
    Unobserved,
    /// A truth value.
    Bool(bool),
    /// An integer of up to 128 bits: every 64-bit format fits, signed or not.
    Int(i128),
    /// A floating-point number; compared by its bits, so that NaN equals itself.
    Float(f64),
    /// Text.
    Text(&'p str),
    /// Bytes that are no text.
    Bytes(&'p [u8]),
    /// An atom of the source's language that is neither text nor number, kept word for word:
    /// Clojure's `:x`, `foo`, `#inst "2026-01-01"`, `1/2`.
    Symbol(&'p str),
    /// A list of values.
    List(Values<'p>),
    /// A row: column and value in turn, sorted by column.
    Row(Values<'p>),
}

/// The parts of a list or row value.
#[derive(Clone, Copy, PartialEq)]
pub struct Values<'p>(pub(crate) &'p [u8]);

impl<'p> Values<'p> {
    /// How many values there are (a row counts columns and values).
    pub const fn len(self) -> usize {
        self.0.len() / 8
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The values, in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Value> + 'p {
        let (words, _) = self.0.as_chunks::<8>();
        words.iter().map(|w| Value(u64::from_le_bytes(*w)))
    }

    /// The columns of a row with their values.
    pub fn pairs(self) -> impl Iterator<Item = (Value, Value)> + 'p {
        let (pairs, _) = self.0.as_chunks::<16>();
        pairs.iter().map(|p| {
            let word = |at: usize| {
                let mut w = [0; 8];
                w.copy_from_slice(&p[at..at + 8]);
                Value(u64::from_le_bytes(w))
            };
            (word(0), word(8))
        })
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_at_the_edge_of_the_word() {
        for i in [0, 1, -1, INT_MAX, INT_MIN] {
            assert_eq!(Value::small_int(i).unwrap().as_int(), Some(i));
        }
        assert_eq!(Value::small_int(INT_MAX + 1), None);
        assert_eq!(Value::small_int(INT_MIN - 1), None);
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        assert_eq!(Value::from_bits(Value::pooled(3).to_bits(), 3), None);
        assert!(Value::from_bits(Value::pooled(2).to_bits(), 3).is_some());
        assert_eq!(Value::from_bits((99 << TAG_BITS) | TAG_SPECIAL, 0), None);
        assert_eq!(Value::from_bits(0b11, 9), None);
    }
}
