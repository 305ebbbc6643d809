//! One column of a block: numbers, as they are or as differences, whichever is shorter.

use crate::lazy::Lazy;
use crate::native::varint::{self, VarintReader, unzigzag, zigzag};

/// How the numbers of a column are written.
const PLAIN: u8 = 0;
const DELTA: u8 = 1;

/// Appends a column: the encoding, then one number an entry (at least a byte each, so that a count
/// can be checked against the bytes that are there).
pub(crate) fn put(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64> + Clone) {
    let (mut plain, mut delta, mut last) = (0usize, 0usize, 0u64);
    for n in numbers.clone() {
        plain += varint::len(n);
        delta += varint::len(zigzag(n.wrapping_sub(last) as i64));
        last = n;
    }
    if plain <= delta {
        out.push(PLAIN);
        numbers.for_each(|n| varint::put(out, n));
        return;
    }
    out.push(DELTA);
    let mut last = 0u64;
    for n in numbers {
        varint::put(out, zigzag(n.wrapping_sub(last) as i64));
        last = n;
    }
}

/// Reads a column of `count` numbers; each is mapped, and refused if the map says `None`.
#[inline]
pub(crate) fn get<T>(
    reader: &mut VarintReader<'_>,
    count: usize,
    map: impl Fn(u64) -> Option<T>,
) -> Option<Vec<T>> {
    let encoding = reader.take(1)?[0];
    if count > reader.bytes.len() - reader.pos {
        return None;
    }
    let mut column = Vec::with_capacity(count);
    match encoding {
        PLAIN => {
            for _ in 0..count {
                column.push(map(reader.get()?)?);
            }
        }
        DELTA => {
            let mut last = 0u64;
            for _ in 0..count {
                last = last.wrapping_add(unzigzag(reader.get()?) as u64);
                column.push(map(last)?);
            }
        }
        _ => return None,
    }
    Some(column)
}

/// Appends a column with gaps: how many values there are, which ones unless it is all, the values.
pub(crate) fn put_lazy(out: &mut Vec<u8>, column: &Lazy<i64>, count: usize) {
    let present = column.iter().count();
    varint::put(out, present as u64);
    if present == 0 {
        return;
    }
    if present < count {
        put(out, column.iter().map(|(i, _)| i as u64));
    }
    put(out, column.iter().map(|(_, v)| zigzag(v)));
}

/// Reads a column with gaps into an empty one.
pub(crate) fn get_lazy(
    reader: &mut VarintReader<'_>,
    count: usize,
    column: &mut Lazy<i64>,
) -> Option<()> {
    let present = usize::try_from(reader.get()?).ok()?;
    if present == 0 {
        return Some(());
    }
    if present == count {
        let values = get(reader, count, |n| Some(unzigzag(n)))?;
        return column.fill(values);
    }
    let ids = get_ids(reader, present, count)?;
    let values = get(reader, present, |n| Some(unzigzag(n)))?;
    for (id, value) in ids.into_iter().zip(values) {
        column.push_at(id as usize, value);
    }
    Some(())
}

/// Reads strictly ascending indices below `count`.
pub(crate) fn get_ids(
    reader: &mut VarintReader<'_>,
    present: usize,
    count: usize,
) -> Option<Vec<u32>> {
    let ids = get(reader, present, |n| u32::try_from(n).ok())?;
    let sound =
        ids.windows(2).all(|w| w[0] < w[1]) && ids.last().is_none_or(|&i| (i as usize) < count);
    sound.then_some(ids)
}
