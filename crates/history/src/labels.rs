//! What the source called its transactions, in four bytes each where that is enough.

use crate::lazy::Lazy;
use crate::value::Value;

/// The labels of transactions: most sources number them, and most numbers fit in 32 bits.
#[derive(Clone, Debug)]
pub(crate) enum Labels {
    Small(Lazy<u32>),
    Wide(Lazy<u64>),
}

const NO_SMALL: u32 = u32::MAX;
const NO_WIDE: u64 = Value::UNOBSERVED.to_bits();

impl Default for Labels {
    fn default() -> Labels {
        Labels::Small(Lazy::new(NO_SMALL))
    }
}

fn small(label: Value) -> Option<u32> {
    u32::try_from(label.as_int()?).ok().filter(|&n| n != NO_SMALL)
}

impl Labels {
    #[inline]
    pub(crate) fn push_at(&mut self, index: usize, label: Option<Value>) {
        let Some(label) = label else { return };
        match (&mut *self, small(label)) {
            (Labels::Small(column), Some(n)) => column.push_at(index, n),
            (Labels::Wide(column), _) => column.push_at(index, label.to_bits()),
            (Labels::Small(_), None) => {
                self.widen();
                self.push_at(index, Some(label));
            }
        }
    }

    fn widen(&mut self) {
        if let Labels::Small(narrow) = self {
            let mut wide = Lazy::new(NO_WIDE);
            for (i, n) in narrow.iter() {
                wide.push_at(i, Value::from_u32(n).to_bits());
            }
            *self = Labels::Wide(wide);
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Value> {
        match self {
            Labels::Small(column) => {
                let n = column.get(index);
                (n != NO_SMALL).then(|| Value::from_u32(n))
            }
            Labels::Wide(column) => {
                let bits = column.get(index);
                (bits != NO_WIDE).then(|| Value::from_trusted_bits(bits))
            }
        }
    }

    pub(crate) fn append(&mut self, base: usize, other: &Labels, map: impl Fn(Value) -> Value) {
        if let (Labels::Small(mine), Labels::Small(theirs)) = (&mut *self, other) {
            mine.append(base, theirs);
            return;
        }
        self.widen();
        let mut theirs = other.clone();
        theirs.widen();
        if let (Labels::Wide(mine), Labels::Wide(theirs)) = (self, &mut theirs) {
            theirs.map_present(|bits| map(Value::from_trusted_bits(bits)).to_bits());
            mine.append(base, theirs);
        }
    }

    pub(crate) fn reserve_total(&mut self, total: usize) {
        match self {
            Labels::Small(c) => c.reserve_total(total),
            Labels::Wide(c) => c.reserve_total(total),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Labels::Small(c) => c.is_empty(),
            Labels::Wide(c) => c.is_empty(),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Labels::default();
    }

    pub(crate) fn shrink(&mut self) {
        match self {
            Labels::Small(c) => c.shrink(),
            Labels::Wide(c) => c.shrink(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Labels::Small(c) => c.heap_bytes(),
            Labels::Wide(c) => c.heap_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_widen_when_they_must() {
        let mut labels = Labels::default();
        labels.push_at(1, Some(Value::from_u32(7)));
        labels.push_at(3, Value::small_int(-5));
        assert!(matches!(labels, Labels::Wide(_)));
        let all: Vec<_> = (0..5).map(|i| labels.get(i).and_then(Value::as_int)).collect();
        assert_eq!(all, [None, Some(7), None, Some(-5), None]);
    }
}
