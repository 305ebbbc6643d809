//! The pool: every name and value of a history once, with dense identifiers for keys and sessions.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::ids::{Key, SessionId};
use crate::value::{Datum, Value, Values};

/// Names and values of one history.
///
/// Readers intern at the edge and pass on identifiers; reports ask the pool what they meant. The
/// hash tables are seeded at random, so that no file can be made to collide on purpose; nothing
/// ever iterates over them, so results do not depend on the seed.
#[derive(Default)]
pub struct Pool {
    entries: Entries,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    keys: Names,
    sessions: Names,
    /// Scratch for composite values.
    scratch: Vec<u8>,
}

/// The pooled values: one kind and one run of bytes each.
#[derive(Clone, Default)]
pub(crate) struct Entries {
    kinds: Vec<EntryKind>,
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

/// What the bytes of a pooled value mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum EntryKind {
    BigInt = 0,
    Float = 1,
    Text = 2,
    Bytes = 3,
    Symbol = 4,
    List = 5,
    Row = 6,
}

impl EntryKind {
    /// Whether it is made of other values.
    pub(crate) const fn has_parts(self) -> bool {
        matches!(self, EntryKind::List | EntryKind::Row)
    }

    pub(crate) const fn from_u8(n: u8) -> Option<EntryKind> {
        Some(match n {
            0 => EntryKind::BigInt,
            1 => EntryKind::Float,
            2 => EntryKind::Text,
            3 => EntryKind::Bytes,
            4 => EntryKind::Symbol,
            5 => EntryKind::List,
            6 => EntryKind::Row,
            _ => return None,
        })
    }
}

impl Entries {
    pub(crate) fn len(&self) -> u32 {
        self.kinds.len() as u32
    }

    pub(crate) fn get(&self, index: u32) -> (EntryKind, &[u8]) {
        let i = index as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        (self.kinds[i], &self.bytes[start..self.ends[i] as usize])
    }

    fn push(&mut self, kind: EntryKind, bytes: &[u8]) -> u32 {
        let index = self.len();
        self.bytes.extend_from_slice(bytes);
        self.kinds.push(kind);
        self.ends.push(self.bytes.len() as u64);
        index
    }

    fn heap_bytes(&self) -> usize {
        self.kinds.capacity() + self.ends.capacity() * 8 + self.bytes.capacity()
    }
}

/// More values or keys than 32-bit identifiers can name: the pool is full.
pub(crate) const POOL_LIMIT: u32 = u32::MAX - 1;

impl Pool {
    /// An empty pool.
    pub fn new() -> Pool {
        Pool::default()
    }

    // ---- values ----

    /// The value of an integer.
    #[inline]
    pub fn int(&mut self, i: i64) -> Value {
        match Value::small_int(i) {
            Some(v) => v,
            None => self.entry(EntryKind::BigInt, &i128::from(i).to_le_bytes()),
        }
    }

    /// The value of an unsigned integer.
    #[inline]
    pub fn uint(&mut self, u: u64) -> Value {
        match i64::try_from(u) {
            Ok(i) => self.int(i),
            Err(_) => self.entry(EntryKind::BigInt, &i128::from(u).to_le_bytes()),
        }
    }

    /// The value of a wide integer.
    pub fn big(&mut self, i: i128) -> Value {
        match i64::try_from(i) {
            Ok(i) => self.int(i),
            Err(_) => self.entry(EntryKind::BigInt, &i.to_le_bytes()),
        }
    }

    /// The value of a floating-point number. Whole floats stay floats: `1.0` is not `1`.
    pub fn float(&mut self, f: f64) -> Value {
        let f = if f.is_nan() { f64::NAN } else { f };
        self.entry(EntryKind::Float, &f.to_bits().to_le_bytes())
    }

    /// The value of a text.
    pub fn text(&mut self, text: &str) -> Value {
        self.entry(EntryKind::Text, text.as_bytes())
    }

    /// The value of a run of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Value {
        self.entry(EntryKind::Bytes, bytes)
    }

    /// The value of an atom of the source's language (see [`Datum::Symbol`]).
    pub fn symbol(&mut self, source: &str) -> Value {
        self.entry(EntryKind::Symbol, source.as_bytes())
    }

    /// The value of a list.
    pub fn list(&mut self, parts: &[Value]) -> Value {
        self.composite(EntryKind::List, parts.iter().copied())
    }

    /// The value of a row; the order of the columns does not matter.
    pub fn row(&mut self, columns: &[(Value, Value)]) -> Value {
        let mut sorted = columns.to_vec();
        sorted.sort_by(|a, b| self.column_order(a.0, b.0));
        self.composite(EntryKind::Row, sorted.iter().flat_map(|&(c, v)| [c, v]))
    }

    /// The value that a datum of the same pool means.
    pub fn value_of(&mut self, datum: Datum<'_>) -> Value {
        match datum {
            Datum::Absent => Value::ABSENT,
            Datum::Null => Value::NULL,
            Datum::Unobserved => Value::UNOBSERVED,
            Datum::Bool(b) => Value::from_bool(b),
            Datum::Int(i) => self.big(i),
            Datum::Float(f) => self.float(f),
            Datum::Text(t) => self.text(t),
            Datum::Bytes(b) => self.bytes(b),
            Datum::Symbol(s) => self.symbol(s),
            Datum::List(parts) => self.composite(EntryKind::List, parts.iter()),
            Datum::Row(parts) => self.composite(EntryKind::Row, parts.iter()),
        }
    }

    /// Columns sort by a rule that does not depend on the order of interning, so that a row means
    /// the same in every pool: integers first, then by kind and bytes. (Composite column names
    /// compare by their length only beyond that; no format has them.)
    fn column_order(&self, a: Value, b: Value) -> std::cmp::Ordering {
        match (a.pool_index(), b.pool_index()) {
            (Some(a), Some(b)) => {
                let ((ka, ba), (kb, bb)) = (self.entries.get(a), self.entries.get(b));
                let flat = !matches!(ka, EntryKind::List | EntryKind::Row);
                (ka as u8)
                    .cmp(&(kb as u8))
                    .then_with(|| if flat { ba.cmp(bb) } else { ba.len().cmp(&bb.len()) })
            }
            (None, None) => (a.to_bits() as i64).cmp(&(b.to_bits() as i64)),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    fn composite(&mut self, kind: EntryKind, parts: impl Iterator<Item = Value>) -> Value {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for part in parts {
            scratch.extend_from_slice(&part.to_bits().to_le_bytes());
        }
        let value = self.entry(kind, &scratch);
        self.scratch = scratch;
        value
    }

    pub(crate) fn entry(&mut self, kind: EntryKind, bytes: &[u8]) -> Value {
        let hash = hash_entry(&self.hasher, kind, bytes);
        let entries = &mut self.entries;
        let found = self.index.entry(
            hash,
            |&i| entries.get(i) == (kind, bytes),
            |&i| {
                let (kind, bytes) = entries.get(i);
                hash_entry(&self.hasher, kind, bytes)
            },
        );
        let index = match found {
            hashbrown::hash_table::Entry::Occupied(o) => *o.get(),
            hashbrown::hash_table::Entry::Vacant(v) => {
                let index = entries.push(kind, bytes);
                v.insert(index);
                index
            }
        };
        Value::pooled(index)
    }

    /// Appends an entry read from a native file, which numbers them itself. `None` if the pool
    /// already holds it: the file's numbering is then wrong.
    pub(crate) fn entry_at_end(&mut self, kind: EntryKind, bytes: &[u8]) -> Option<Value> {
        let before = self.entries.len();
        let value = self.entry(kind, bytes);
        (self.entries.len() > before).then_some(value)
    }

    /// What a value of this pool means.
    ///
    /// # Panics
    /// If the value belongs to another, larger pool.
    pub fn datum(&self, value: Value) -> Datum<'_> {
        if let Some(i) = value.as_int() {
            return Datum::Int(i128::from(i));
        }
        match value {
            Value::ABSENT => Datum::Absent,
            Value::NULL => Datum::Null,
            Value::UNOBSERVED => Datum::Unobserved,
            Value::TRUE => Datum::Bool(true),
            Value::FALSE => Datum::Bool(false),
            _ => self.pooled_datum(value),
        }
    }

    fn pooled_datum(&self, value: Value) -> Datum<'_> {
        let Some(index) = value.pool_index() else { return Datum::Unobserved };
        let (kind, bytes) = self.entries.get(index);
        // The writers of entries guarantee the lengths and the UTF-8; a damaged entry shows as bytes.
        match kind {
            EntryKind::BigInt => {
                bytes.try_into().map_or(Datum::Bytes(bytes), |b| Datum::Int(i128::from_le_bytes(b)))
            }
            EntryKind::Float => bytes.try_into().map_or(Datum::Bytes(bytes), |b| {
                Datum::Float(f64::from_bits(u64::from_le_bytes(b)))
            }),
            EntryKind::Text => std::str::from_utf8(bytes).map_or(Datum::Bytes(bytes), Datum::Text),
            EntryKind::Bytes => Datum::Bytes(bytes),
            EntryKind::Symbol => {
                std::str::from_utf8(bytes).map_or(Datum::Bytes(bytes), Datum::Symbol)
            }
            EntryKind::List => Datum::List(Values(bytes)),
            EntryKind::Row => Datum::Row(Values(bytes)),
        }
    }

    /// The text of a text value.
    pub fn as_text(&self, value: Value) -> Option<&str> {
        match self.datum(value) {
            Datum::Text(t) => Some(t),
            _ => None,
        }
    }

    /// The integer, whether it fits in the word or not.
    pub fn as_wide_int(&self, value: Value) -> Option<i128> {
        match self.datum(value) {
            Datum::Int(i) => Some(i),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    // ---- keys and sessions ----

    /// The key of that name; a new name gets the next identifier.
    #[inline]
    pub fn key(&mut self, name: Value) -> Key {
        Key(self.keys.intern(name))
    }

    /// The session of that name; a new name gets the next identifier.
    #[inline]
    pub fn session(&mut self, name: Value) -> SessionId {
        SessionId(self.sessions.intern(name))
    }

    /// The key with an integer name.
    #[inline]
    pub fn int_key(&mut self, i: i64) -> Key {
        let name = self.int(i);
        self.key(name)
    }

    /// The key with a text name.
    pub fn text_key(&mut self, text: &str) -> Key {
        let name = self.text(text);
        self.key(name)
    }

    /// The name of a key.
    #[inline]
    pub fn key_name(&self, key: Key) -> Value {
        self.keys.names[key.index()]
    }

    /// The name of a session.
    #[inline]
    pub fn session_name(&self, session: SessionId) -> Value {
        self.sessions.names[session.index()]
    }

    /// The names of all keys; the index is the [`Key`].
    pub fn key_names(&self) -> &[Value] {
        &self.keys.names
    }

    /// The names of all sessions; the index is the [`SessionId`].
    pub fn session_names(&self) -> &[Value] {
        &self.sessions.names
    }

    /// The key of that name, if there is one. A scan over all names: for people who ask for one
    /// key, not for loops.
    pub fn find_key(&self, name: Value) -> Option<Key> {
        self.keys.names.iter().position(|&n| n == name).map(|i| Key(i as u32))
    }

    /// Whether one more name or value would not fit in 32 bits.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= POOL_LIMIT
            || self.keys.names.len() >= POOL_LIMIT as usize
            || self.sessions.names.len() >= POOL_LIMIT as usize
    }

    /// Frees what is only needed to add names: a finished history does not grow.
    pub(crate) fn freeze(&mut self) {
        self.entries.kinds.shrink_to_fit();
        self.entries.ends.shrink_to_fit();
        self.entries.bytes.shrink_to_fit();
        self.index = HashTable::new();
        self.scratch = Vec::new();
        self.keys.freeze();
        self.sessions.freeze();
    }

    /// A copy that can grow: every identifier keeps its meaning.
    pub(crate) fn thawed(&self) -> Pool {
        let mut copy = Pool::new();
        for i in 0..self.entries.len() {
            let (kind, bytes) = self.entries.get(i);
            copy.entry(kind, bytes);
        }
        for &name in &self.keys.names {
            copy.key(name);
        }
        for &name in &self.sessions.names {
            copy.session(name);
        }
        copy
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.heap_bytes()
            + self.index.allocation_size()
            + self.keys.heap_bytes()
            + self.sessions.heap_bytes()
    }
}

fn hash_entry(hasher: &DefaultHashBuilder, kind: EntryKind, bytes: &[u8]) -> u64 {
    let mut h = hasher.build_hasher();
    kind.hash(&mut h);
    h.write(bytes);
    h.finish()
}

/// Names with dense identifiers, in order of first appearance.
#[derive(Clone, Default)]
struct Names {
    names: Vec<Value>,
    index: HashMap<Value, u32>,
    /// Identifiers of small non-negative integer names, plus one: the common case without hashing.
    small: Vec<u32>,
}

impl Names {
    #[inline]
    fn intern(&mut self, name: Value) -> u32 {
        if let Some(i) = name.as_int()
            && let Some(&id) = self.small.get(i as usize)
            && id != 0
        {
            return id - 1;
        }
        self.intern_slow(name)
    }

    fn intern_slow(&mut self, name: Value) -> u32 {
        if let Some(at) = self.small_slot(name) {
            if self.small.len() <= at {
                let len = (at + 1).next_power_of_two();
                self.small.resize(len, 0);
                self.adopt_hashed(len);
            }
            if self.small[at] == 0 {
                self.names.push(name);
                self.small[at] = self.names.len() as u32;
            }
            return self.small[at] - 1;
        }
        *self.index.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        })
    }

    /// Names that were hashed because the direct table did not reach so far move into it when it
    /// grows past them: a name lives in exactly one of the two.
    fn adopt_hashed(&mut self, len: usize) {
        let moved = self.index.extract_if(|name, _| {
            name.as_int().is_some_and(|i| usize::try_from(i).is_ok_and(|i| i < len))
        });
        for (name, id) in moved {
            if let Some(i) = name.as_int() {
                self.small[i as usize] = id + 1;
            }
        }
    }

    /// The direct table serves names below a bound that grows with the number of names, so that a
    /// file with one huge key cannot make it large.
    fn small_slot(&self, name: Value) -> Option<usize> {
        let i = usize::try_from(name.as_int()?).ok()?;
        (i < self.small.len() || i < 64 + 8 * self.names.len()).then_some(i)
    }

    fn freeze(&mut self) {
        self.names.shrink_to_fit();
        self.index = HashMap::new();
        self.small = Vec::new();
    }

    fn heap_bytes(&self) -> usize {
        self.names.capacity() * 8 + self.index.allocation_size() + self.small.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_is_the_same_word() {
        let mut p = Pool::new();
        let a = p.text("a");
        let b = p.text("b");
        assert_ne!(a, b);
        assert_eq!(p.text("a"), a);
        assert_ne!(p.symbol("a"), a);
        assert_eq!(p.float(f64::NAN), p.float(-f64::NAN));
        assert_ne!(p.float(1.0), p.int(1));
        let ab = p.list(&[a, b]);
        assert_eq!(p.list(&[a, b]), ab);
        assert_ne!(p.list(&[b, a]), ab);
    }

    #[test]
    fn rows_do_not_depend_on_the_order_of_columns() {
        let mut p = Pool::new();
        let (a, b) = (p.text("a"), p.text("b"));
        let (one, two) = (p.int(1), p.int(2));
        assert_eq!(p.row(&[(a, one), (b, two)]), p.row(&[(b, two), (a, one)]));
    }

    #[test]
    fn wide_integers_keep_every_bit() {
        let mut p = Pool::new();
        for i in [i128::from(u64::MAX), i128::from(i64::MIN), i128::MAX, i128::MIN, 1 << 61] {
            let v = p.big(i);
            assert_eq!(p.datum(v), Datum::Int(i));
        }
        assert_eq!(p.uint(5), p.int(5));
    }

    #[test]
    fn keys_are_dense_whatever_their_names() {
        let mut p = Pool::new();
        // 5000 is beyond the direct table at first and inside it later.
        let names = [5000, 3, -1, 7];
        let ids: Vec<_> = names.iter().map(|&i| p.int_key(i)).collect();
        assert_eq!(ids, [Key(0), Key(1), Key(2), Key(3)]);
        for i in 0..6000 {
            p.int_key(i);
        }
        let again: Vec<_> = names.iter().map(|&i| p.int_key(i)).collect();
        assert_eq!(again, ids);
        assert_eq!(p.key_names().len(), 6001);
        assert_eq!(p.find_key(Value::from_u32(5000)), Some(Key(0)));
    }

    #[test]
    fn one_huge_key_does_not_make_a_huge_table() {
        let mut p = Pool::new();
        p.int_key(1 << 40);
        assert!(p.heap_bytes() < 10_000);
    }
}
