//! A counting sort, so that what belongs together lies together.

use std::ops::Range;

/// A permutation of items that puts those of each key next to each other, in their old order.
///
/// # Examples
///
/// ```
/// use isolde_graph::Groups;
///
/// let words = ["to", "be", "or", "not", "to"];
/// let by_length = Groups::new(words.len(), 4, |i| words[i].len());
/// assert_eq!(by_length.of(2), [0, 1, 2, 4]);
/// assert_eq!(by_length.of(3), [3]);
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    rows: Rows<u32>,
}

impl Groups {
    /// Groups `count` items by their keys, which are below `keys`.
    pub fn new(count: usize, keys: usize, key_of: impl Fn(usize) -> usize) -> Groups {
        let mut items = vec![0u32; count];
        let ends = sort(count, keys, key_of, |at, item| items[at] = item as u32);
        Groups { rows: Rows { items, ends } }
    }

    /// Where the items of a key are.
    #[inline]
    pub fn range(&self, key: usize) -> Range<usize> {
        self.rows.range(key)
    }

    /// The items of a key, by their indices.
    #[inline]
    pub fn of(&self, key: usize) -> &[u32] {
        self.rows.of(key)
    }

    /// The items of all keys, by their indices.
    #[inline]
    pub fn items(&self) -> &[u32] {
        self.rows.items()
    }
}

/// What belongs to each of many rows, one after another.
///
/// # Examples
///
/// ```
/// use isolde_graph::Rows;
///
/// let mut rows = Rows::new();
/// rows.push('a');
/// rows.push('b');
/// rows.end_row();
/// rows.end_row();
/// rows.extend(['c']);
/// rows.end_row();
/// assert_eq!(rows.row_count(), 3);
/// assert_eq!(rows.of(0), ['a', 'b']);
/// assert_eq!(rows.of(1), []);
/// assert_eq!(rows.of(2), ['c']);
/// ```
#[derive(Clone, Debug)]
pub struct Rows<T> {
    items: Vec<T>,
    /// Where each row ends.
    ends: Vec<u32>,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> Rows<T> {
    /// No row.
    pub fn new() -> Rows<T> {
        Rows::default()
    }

    /// Puts each item into its row, of so many rows. Those of one row keep their order.
    pub fn sorted(items: &[T], rows: usize, row: impl Fn(&T) -> usize) -> Rows<T>
    where
        T: Copy,
    {
        let Some(&any) = items.first() else {
            return Rows { items: Vec::new(), ends: vec![0; rows] };
        };
        let mut sorted = vec![any; items.len()];
        let row_of = |i: usize| row(&items[i]);
        let ends = sort(items.len(), rows, row_of, |at, item| sorted[at] = items[item]);
        Rows { items: sorted, ends }
    }

    /// Adds an item to the row that has not ended yet.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends a row: what is pushed next belongs to the next one.
    #[inline]
    pub fn end_row(&mut self) {
        debug_assert!(self.items.len() <= u32::MAX as usize);
        self.ends.push(self.items.len() as u32);
    }

    /// Adds the rows of another one behind the own ones, all of which have ended.
    pub fn append(&mut self, mut other: Rows<T>) {
        debug_assert!(self.items.len() + other.items.len() <= u32::MAX as usize);
        debug_assert_eq!(self.ends.last().map_or(0, |end| *end as usize), self.items.len());
        let before = self.items.len() as u32;
        self.items.append(&mut other.items);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    /// The same rows with something else in the place of each item.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Rows<U> {
        Rows { items: self.items.into_iter().map(change).collect(), ends: self.ends }
    }

    /// Where the items of a row are.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        range(&self.ends, row)
    }

    /// The items of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[T] {
        &self.items[self.range(row)]
    }

    /// The items of all rows.
    #[inline]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// How many rows have ended.
    #[inline]
    pub fn row_count(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes of memory the rows hold, without what their items hold.
    pub fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.ends.capacity() * size_of::<u32>()
    }
}

impl<T> Extend<T> for Rows<T> {
    /// Adds items to the row that has not ended yet.
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items);
    }
}

/// Where the items of a row are, by the ends of all rows.
#[inline]
pub(crate) fn range(ends: &[u32], row: usize) -> Range<usize> {
    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
    start..ends[row] as usize
}

/// Where each row starts, instead of how many items it has.
#[inline]
pub(crate) fn starts(counts: &mut [u32], first: u32) {
    let mut sum = first;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Tells each item its place, and returns where the rows end.
#[inline]
fn sort(
    count: usize,
    rows: usize,
    row_of: impl Fn(usize) -> usize,
    mut put: impl FnMut(usize, usize),
) -> Vec<u32> {
    debug_assert!(count <= u32::MAX as usize);
    let mut ends = vec![0u32; rows];
    for item in 0..count {
        ends[row_of(item)] += 1;
    }
    starts(&mut ends, 0);
    for item in 0..count {
        // A row's start becomes its end while the row fills up.
        let at = &mut ends[row_of(item)];
        put(*at as usize, item);
        *at += 1;
    }
    ends
}
