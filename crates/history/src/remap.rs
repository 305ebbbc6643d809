//! Identifiers of one pool, as another pool has them.

use crate::ids::{Key, SessionId};
use crate::op::{OpCode, OpKind, Run};
use crate::value::Value;

/// How the identifiers of one pool read in another. Identifiers beyond a table are the same.
#[derive(Default)]
pub(crate) struct Remap {
    /// By pool index.
    pub(crate) values: Vec<Value>,
    pub(crate) keys: Vec<Key>,
    pub(crate) sessions: Vec<SessionId>,
}

impl Remap {
    #[inline]
    pub(crate) fn value(&self, value: Value) -> Value {
        let mapped = value.pool_index().and_then(|i| self.values.get(i as usize));
        mapped.copied().unwrap_or(value)
    }

    #[inline]
    pub(crate) fn key(&self, key: Key) -> Key {
        self.keys.get(key.index()).copied().unwrap_or(key)
    }

    /// Maps the elements that the operations of one part refer to.
    pub(crate) fn elements(&self, codes: &[OpCode], payloads: &[u64], elements: &mut [Value]) {
        if self.values.is_empty() && self.keys.is_empty() {
            return;
        }
        for (&code, &word) in codes.iter().zip(payloads) {
            if !code.kind().has_elements() || word == Run::UNOBSERVED {
                continue;
            }
            let run = &mut elements[Run::unpack(word).range()];
            let rows = code.kind() == OpKind::PredicateRead && run.len() % 2 == 1;
            for (i, word) in run.iter_mut().enumerate() {
                // In a result set every other word after the predicate is a key.
                if rows && i % 2 == 1 {
                    let key = self.key(Key(word.to_bits() as u32));
                    *word = Value::from_trusted_bits(u64::from(key.0));
                } else {
                    *word = self.value(*word);
                }
            }
        }
    }
}
