//! State as bytes: numbers of fixed length, lists with their length before them. What is read is believed only as far as
//! it is there.

use std::collections::VecDeque;

use isolde_history::Timestamp;
use isolde_spec::{Anomaly, CATALOGUE};

/// What can be written as bytes and read again.
pub(crate) trait Pack: Sized {
    /// Appends the bytes.
    fn pack(&self, out: &mut Vec<u8>);
    /// Takes it from the front; `None` if it is not there.
    fn unpack(input: &mut &[u8]) -> Option<Self>;

    /// The bytes.
    fn packed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.pack(&mut out);
        out
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Pack for $number {
            fn pack(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(<$number>::from_le_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8, u32, u64, i64);

/// A structure of parts that can be written: each after the other, in the order of this list.
macro_rules! packed {
    ($name:ident { $($part:tt),* }) => {
        impl $crate::pack::Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                $($crate::pack::Pack::pack(&self.$part, out);)*
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Some($name { $($part: $crate::pack::Pack::unpack(input)?),* })
            }
        }
    };
}
pub(crate) use packed;

packed!(Timestamp { physical, logical });

impl Pack for Anomaly {
    fn pack(&self, out: &mut Vec<u8>) {
        self.name().to_owned().pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Anomaly> {
        let name = String::unpack(input)?;
        CATALOGUE.iter().find(|entry| entry.name == name).map(|entry| entry.anomaly)
    }
}

impl Pack for usize {
    fn pack(&self, out: &mut Vec<u8>) {
        (*self as u64).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<usize> {
        usize::try_from(u64::unpack(input)?).ok()
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Vec<u8>) {
        u8::from(*self).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<bool> {
        match u8::unpack(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(input: &mut &[u8]) -> Option<Option<T>> {
        match bool::unpack(input)? {
            false => Some(None),
            true => T::unpack(input).map(Some),
        }
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.len().pack(out);
        self.iter().for_each(|item| item.pack(out));
    }

    fn unpack(input: &mut &[u8]) -> Option<Vec<T>> {
        let len = usize::unpack(input)?;
        // Not more than could be there: every item has a byte at least.
        let mut list = Vec::with_capacity(len.min(input.len()));
        for _ in 0..len {
            list.push(T::unpack(input)?);
        }
        Some(list)
    }
}

impl<T: Pack> Pack for VecDeque<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.len().pack(out);
        self.iter().for_each(|item| item.pack(out));
    }

    fn unpack(input: &mut &[u8]) -> Option<VecDeque<T>> {
        Vec::unpack(input).map(VecDeque::from)
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Vec<u8>) {
        self.as_bytes().to_vec().pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<String> {
        String::from_utf8(Vec::unpack(input)?).ok()
    }
}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Pack),*> Pack for ($($name,)*) {
            fn pack(&self, out: &mut Vec<u8>) {
                $(self.$at.pack(out);)*
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Some(($($name::unpack(input)?,)*))
            }
        }
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_was_cut_is_not() {
        type All = (Vec<(u32, Option<i64>)>, String, VecDeque<bool>, (Timestamp, u8));
        let all: All = (
            vec![(7, Some(-1)), (8, None)],
            "wörd".to_owned(),
            VecDeque::from([true, false]),
            (Timestamp { physical: -5, logical: 9 }, 3),
        );
        let mut bytes = Vec::new();
        all.pack(&mut bytes);
        assert_eq!(All::unpack(&mut &bytes[..]), Some(all));
        for end in 0..bytes.len() {
            assert_eq!(All::unpack(&mut &bytes[..end]), None);
        }
        let huge = u64::MAX.to_le_bytes();
        assert_eq!(Vec::<u8>::unpack(&mut &huge[..]), None);
    }
}
