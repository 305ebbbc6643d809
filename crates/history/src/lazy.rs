//! Columns that cost nothing until their first value arrives.

/// A column in which a value may be missing; the missing values before the first and after the
/// last are not stored, so that evidence which a history does not have takes no memory.
///
/// Invariant: the last stored value is not the missing one. Two columns that mean the same are
/// therefore equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lazy<T> {
    data: Vec<T>,
    missing: T,
}

impl<T: Copy + PartialEq> Lazy<T> {
    pub(crate) const fn new(missing: T) -> Lazy<T> {
        Lazy { data: Vec::new(), missing }
    }

    /// Sets the value at an index at or beyond the end.
    #[inline]
    pub(crate) fn push_at(&mut self, index: usize, value: T) {
        if value == self.missing {
            return;
        }
        if self.data.len() < index {
            self.data.resize(index, self.missing);
        }
        self.data.push(value);
    }

    /// Takes a column in which no value is missing; `None` if one is.
    pub(crate) fn fill(&mut self, values: Vec<T>) -> Option<()> {
        if values.contains(&self.missing) {
            return None;
        }
        self.data = values;
        Some(())
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> T {
        self.data.get(index).copied().unwrap_or(self.missing)
    }

    /// Whether no value is present at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Appends the values of a column whose index 0 is `base` here.
    pub(crate) fn append(&mut self, base: usize, other: &Lazy<T>) {
        if other.data.is_empty() {
            return;
        }
        self.data.resize(base, self.missing);
        self.data.extend_from_slice(&other.data);
    }

    /// Makes room for so many values in all, if there are any.
    pub(crate) fn reserve_total(&mut self, total: usize) {
        if !self.data.is_empty() {
            self.data.reserve_exact(total.saturating_sub(self.data.len()));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.data.clear();
    }

    /// The present values, with their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, T)> + Clone + '_ {
        self.data.iter().copied().enumerate().filter(|(_, v)| *v != self.missing)
    }

    pub(crate) fn map_present(&mut self, f: impl Fn(T) -> T) {
        for v in &mut self.data {
            if *v != self.missing {
                *v = f(*v);
            }
        }
    }

    pub(crate) fn shrink(&mut self) {
        self.data.shrink_to_fit();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.data.capacity() * size_of::<T>()
    }
}

/// A time that is not known.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// Times with gaps.
pub(crate) type Times = Lazy<i64>;

impl Times {
    pub(crate) const fn none() -> Times {
        Lazy::new(NO_TIME)
    }

    #[inline]
    pub(crate) fn time(&self, index: usize) -> Option<i64> {
        let t = self.get(index);
        (t != NO_TIME).then_some(t)
    }

    #[inline]
    pub(crate) fn push_time(&mut self, index: usize, time: Option<i64>) {
        self.push_at(index, time.unwrap_or(NO_TIME));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_at_the_end_are_not_stored() {
        let mut a = Times::none();
        a.push_time(3, Some(7));
        a.push_time(4, None);
        let mut b = Times::none();
        b.push_time(0, None);
        b.push_time(3, Some(7));
        assert_eq!(a, b);
        assert_eq!((a.time(2), a.time(3), a.time(9)), (None, Some(7), None));
    }

    #[test]
    fn appending_shifts() {
        let mut a = Times::none();
        a.push_time(0, Some(1));
        let mut b = Times::none();
        b.push_time(1, Some(2));
        a.append(5, &b);
        assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 1), (6, 2)]);
    }
}
