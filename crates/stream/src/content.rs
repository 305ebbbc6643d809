//! Keys and values by their content, so that nothing has to be remembered of the names in an endless stream.
//!
//! Every batch has a pool of its own, and what it numbers is forgotten with it. What has to outlive a batch is a word:
//! an integer of up to 62 bits is its own word, as in a history; anything else is a hash of its content. Equal
//! contents have equal words. Different contents of one key have different words but for one chance in 2^62; keys
//! have 126 bits, since all keys of a stream are compared with all others.

use std::hash::{DefaultHasher, Hasher};

use isolde_history::{Datum, Pool, Value};

use crate::pack::packed;

/// A value by its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Word(pub(crate) u64);

/// A name by its content: of a key or of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NameId(pub(crate) u64, pub(crate) u64);

packed!(Word { 0 });
packed!(NameId { 0, 1 });

/// Mixes two words into one that is spread evenly.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    let folded = (product as u64) ^ (product >> 64) as u64;
    folded.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ (folded >> 32)
}

impl NameId {
    /// The word of the name itself, if no other name has it: of one that is not hashed.
    #[inline]
    pub(crate) fn bits(self) -> Option<u64> {
        (self.0 & HASHED == 0).then_some(self.0)
    }

    /// A hash of the name.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        mix(mix(self.0, self.1), 1)
    }

    /// The part of its hashes that is the same for all that is looked for.
    #[inline]
    pub(crate) fn mixed(self) -> MixedName {
        MixedName(mix(self.0, self.1))
    }
}

/// A name of which several hashes are wanted.
#[derive(Clone, Copy)]
pub(crate) struct MixedName(u64);

impl MixedName {
    /// A hash of the name as that of a key, of a session, or of a word of a key.
    #[inline]
    pub(crate) fn hash_as(self, what: What) -> u32 {
        let (kind, word) = match what {
            What::Key => (2, 0),
            What::Session => (3, 0),
            What::Word(word) => (4, word.0),
            What::Unsure(word) => (5, word.0),
        };
        (mix(self.0, mix(word, kind)) >> 32) as u32
    }
}

/// What is looked for in batches on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Whatever was done to a key.
    Key,
    /// The transactions of a session.
    Session,
    /// Writes of a word to a key.
    Word(Word),
    /// The same, by transactions of which it may not be known whether or when they committed.
    Unsure(Word),
}

/// The low bits of words that are hashes. Those of a history's own words are 0, 1 and 2.
const HASHED: u64 = 0b01;
const LIST: u64 = 0b11;

/// The word of a value.
#[inline]
pub(crate) fn word(pool: &Pool, value: Value) -> Word {
    let bits = value.to_bits();
    if bits & HASHED == 0 { Word(bits) } else { Word(hash(pool, value, 1) << 2 | HASHED) }
}

/// The word of a value in one column of a row.
pub(crate) fn cell_word(column: NameId, word: Word) -> Word {
    Word(mix(mix(column.0, column.1), word.0) << 2 | HASHED)
}

/// The identity of a name.
#[inline]
pub(crate) fn name_id(pool: &Pool, name: Value) -> NameId {
    let bits = name.to_bits();
    if bits & HASHED == 0 {
        return NameId(bits, 0);
    }
    NameId(hash(pool, name, 1) << 2 | HASHED, hash(pool, name, 2) | 1)
}

/// A hash of the content of a value that is not in its word. Parts of lists and rows are walked with a stack of our own:
/// no input can be nested so deeply that it matters.
#[cold]
fn hash(pool: &Pool, value: Value, seed: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(seed);
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        match pool.datum(value) {
            Datum::Absent | Datum::Null | Datum::Unobserved | Datum::Bool(_) => {
                hasher.write_u64(value.to_bits());
            }
            Datum::Int(i) => hasher.write_i128(i),
            Datum::Float(f) => tagged(&mut hasher, 3, &f.to_bits().to_le_bytes()),
            Datum::Text(text) => tagged(&mut hasher, 4, text.as_bytes()),
            Datum::Bytes(bytes) => tagged(&mut hasher, 5, bytes),
            Datum::Symbol(text) => tagged(&mut hasher, 6, text.as_bytes()),
            Datum::List(parts) => {
                tagged(&mut hasher, 7, &(parts.iter().count() as u64).to_le_bytes());
                todo.extend(parts.iter());
            }
            Datum::Row(parts) => {
                tagged(&mut hasher, 8, &(parts.iter().count() as u64).to_le_bytes());
                todo.extend(parts.iter());
            }
        }
    }
    hasher.finish()
}

fn tagged(hasher: &mut DefaultHasher, tag: u8, bytes: &[u8]) {
    hasher.write_u8(tag);
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// The elements of a list, one after another. Two lists are the same if their hashes are, and a list can be put together
/// from runs of elements without looking at them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListHash {
    hash: u64,
    /// The base to the power of the number of elements.
    power: u64,
}

/// A Mersenne prime: hashes are polynomials of the elements' words modulo this.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0123_4567_89ab_cdef % PRIME;

fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduce((product & u128::from(PRIME)) as u64 + (product >> 61) as u64)
}

fn reduce(n: u64) -> u64 {
    let n = (n & PRIME) + (n >> 61);
    if n >= PRIME { n - PRIME } else { n }
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut square, mut result) = (base, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        exponent >>= 1;
    }
    result
}

impl ListHash {
    /// A list without elements.
    pub(crate) const EMPTY: ListHash = ListHash { hash: 0, power: 1 };

    /// Elements in their order.
    pub(crate) fn of(words: impl Iterator<Item = Word>) -> ListHash {
        words.fold(ListHash::EMPTY, |list, word| {
            // Mixed first, so that small integers do not make a polynomial that others share.
            let mixed = (word.0 ^ (word.0 >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            list.then(ListHash { hash: reduce(mixed ^ (mixed >> 32)), power: BASE })
        })
    }

    /// This list and behind it another one.
    pub(crate) fn then(self, next: ListHash) -> ListHash {
        let hash = reduce(times(self.hash, next.power) + next.hash);
        ListHash { hash, power: times(self.power, next.power) }
    }

    /// What was there before the last elements.
    pub(crate) fn without(self, last: ListHash) -> ListHash {
        let inverse = power(last.power, PRIME - 2);
        let rest = reduce(self.hash + PRIME - last.hash);
        ListHash { hash: times(rest, inverse), power: times(self.power, inverse) }
    }

    /// The list as the word of a value.
    pub(crate) fn word(self) -> Word {
        Word((self.hash ^ self.power.rotate_left(31)) << 2 | LIST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_has_the_same_word_in_every_pool() {
        let (mut a, mut b) = (Pool::new(), Pool::new());
        b.text("something else");
        let (in_a, in_b) = (a.text("x"), b.text("x"));
        assert_ne!(in_a, in_b);
        assert_eq!(word(&a, in_a), word(&b, in_b));
        assert_eq!(name_id(&a, in_a), name_id(&b, in_b));
        let other = b.symbol("x");
        assert_ne!(word(&a, in_a), word(&b, other));
        let list = |pool: &mut Pool| {
            let parts = [pool.text("p"), Value::from_u32(1)];
            pool.list(&parts)
        };
        let (in_a, in_b) = (list(&mut a), list(&mut b));
        assert_eq!(word(&a, in_a), word(&b, in_b));
    }

    #[test]
    fn a_list_is_the_runs_that_it_is_made_of() {
        let words: Vec<Word> = (0..20).map(|i| Word(i * 4)).collect();
        let whole = ListHash::of(words.iter().copied());
        for cut in 0..=words.len() {
            let (a, b) = words.split_at(cut);
            let parts = ListHash::of(a.iter().copied()).then(ListHash::of(b.iter().copied()));
            assert_eq!(parts, whole);
            let last = ListHash::of(b.iter().copied());
            assert_eq!(whole.without(last), ListHash::of(a.iter().copied()));
        }
        let mut swapped = words.clone();
        swapped.swap(3, 4);
        assert_ne!(ListHash::of(swapped.into_iter()).word(), whole.word());
        assert_ne!(ListHash::of(words[1..].iter().copied()).word(), whole.word());
    }
}
