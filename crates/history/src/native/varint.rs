//! Numbers in as few bytes as they need: seven bits a byte, low bits first.

/// Appends a number.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// How many bytes a number takes.
#[inline]
pub(crate) const fn len(n: u64) -> usize {
    (70 - (n | 1).leading_zeros() as usize) / 7
}

/// Signed numbers as unsigned ones, small in either direction.
#[inline]
pub(crate) const fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) const fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Reads numbers from bytes; `None` at the end, or where a number is longer than 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct VarintReader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
}

impl<'a> VarintReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> VarintReader<'a> {
        VarintReader { bytes, pos: 0 }
    }

    /// The next number. Up to eight bytes are read at once: where the first byte without its top
    /// bit stands tells the length, three shifts squeeze the top bits out.
    #[inline]
    pub(crate) fn get(&mut self) -> Option<u64> {
        let Some(word) = self.bytes.get(self.pos..self.pos + 8) else { return self.get_slow() };
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        let word = u64::from_le_bytes(eight);
        if word & 0x80 == 0 {
            self.pos += 1;
            return Some(word & 0x7f);
        }
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.get_slow();
        }
        let bits = ends.trailing_zeros();
        self.pos += (bits / 8 + 1) as usize;
        let x = word & (u64::MAX >> (63 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
        let x = ((x & 0x7f00_7f00_7f00_7f00) >> 1) | (x & 0x007f_007f_007f_007f);
        let x = ((x & 0x3fff_0000_3fff_0000) >> 2) | (x & 0x0000_3fff_0000_3fff);
        Some(((x & 0x0fff_ffff_0000_0000) >> 4) | (x & 0x0fff_ffff))
    }

    #[cold]
    fn get_slow(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.pos)?;
            self.pos += 1;
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                return None;
            }
            n |= low << shift;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    /// A number that must fit in 32 bits.
    pub(crate) fn get_u32(&mut self) -> Option<u32> {
        self.get().and_then(|n| u32::try_from(n).ok())
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.pos.checked_add(len)?;
        let bytes = self.bytes.get(self.pos..end)?;
        self.pos = end;
        Some(bytes)
    }

    /// A length and as many bytes.
    pub(crate) fn take_counted(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.get()?).ok()?;
        self.take(len)
    }

    pub(crate) fn at_end(&self) -> bool {
        self.pos == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers: Vec<u64>, shifts in prop::collection::vec(0u32..64, 0..50)) {
            let all: Vec<u64> =
                numbers.iter().copied().chain(shifts.iter().map(|s| u64::MAX >> s)).collect();
            let mut bytes = Vec::new();
            for &n in &all {
                let before = bytes.len();
                put(&mut bytes, n);
                prop_assert_eq!(bytes.len() - before, len(n));
            }
            let mut reader = VarintReader::new(&bytes);
            for &n in &all {
                prop_assert_eq!(reader.get(), Some(n));
            }
            prop_assert!(reader.at_end() && reader.get().is_none());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut reader = VarintReader::new(&bytes);
            while reader.get().is_some() {}
        }

        #[test]
        fn zigzag_is_one_to_one(n: i64) {
            prop_assert_eq!(unzigzag(zigzag(n)), n);
        }
    }
}
