//! Rows of tables as keys and values of bytes.

/// A key: the number of the table and the row, in the order in which they count.
pub(crate) fn key(table: u32, row: u32) -> [u8; 8] {
    ((u64::from(table) << 32) | u64::from(row)).to_be_bytes()
}

/// The first key after a given one, which ends a range of one row.
pub(crate) fn after(key: [u8; 8]) -> [u8; 8] {
    u64::from_be_bytes(key).wrapping_add(1).to_be_bytes()
}

/// Integers as bytes: a register is one, a list any number.
pub(crate) fn encode(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_be_bytes()).collect()
}

/// The integers of a value; `None` if it is not a whole number of them, which an engine that
/// tears values would show.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<i64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| words.iter().map(|word| i64::from_be_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_rows_do() {
        let rows = [(0, 0), (0, 1), (0, 256), (0, u32::MAX), (1, 0), (7, 3)];
        assert!(rows.is_sorted_by_key(|(table, row)| key(*table, *row)));
        assert_eq!(after(key(0, u32::MAX)), key(1, 0));
    }

    #[test]
    fn numbers_come_back() {
        for numbers in [&[][..], &[0], &[-1, i64::MAX, i64::MIN]] {
            assert_eq!(decode(&encode(numbers)).as_deref(), Some(numbers));
        }
        assert_eq!(decode(&[1, 2, 3]), None);
    }
}
