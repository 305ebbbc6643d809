//! The shapes of mini-transactions, as data.
//!
//! A mini-transaction has one or two reads and up to two writes, and each write follows a read of its
//! key. With the key that is read first called x and the other one y, there are twenty. A test
//! compares the table with everything that the definition allows.

/// One operation of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Whether it writes; otherwise it reads.
    pub(crate) writes: bool,
    /// Which key: 0 for x, 1 for y.
    pub(crate) key: usize,
}

/// A shape of mini-transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Its operations in order, such as `RxRyWx`.
    pub name: &'static str,
    /// How many of a hundred transactions have it, unless an anomaly is favoured.
    pub weight: u32,
}

const fn shape(name: &'static str, weight: u32) -> Shape {
    Shape { name, weight }
}

/// All shapes. The weights make reads and single updates the rule, as they are in applications, and
/// leave none out: each shape is the only one that can show some anomaly.
pub static SHAPES: [Shape; 20] = [
    shape("Rx", 12),
    shape("RxRx", 2),
    shape("RxRy", 18),
    shape("RxWx", 14),
    shape("RxRxWx", 2),
    shape("RxWxRx", 2),
    shape("RxRyWx", 9),
    shape("RxRyWy", 9),
    shape("RxWxRy", 8),
    shape("RxWxWx", 2),
    shape("RxRxWxWx", 1),
    shape("RxRyWxWx", 1),
    shape("RxRyWxWy", 6),
    shape("RxRyWyWx", 4),
    shape("RxRyWyWy", 1),
    shape("RxWxRxWx", 1),
    shape("RxWxRyWx", 1),
    shape("RxWxRyWy", 5),
    shape("RxWxWxRx", 1),
    shape("RxWxWxRy", 1),
];

impl Shape {
    /// Its operations.
    pub(crate) fn parts(self) -> impl Iterator<Item = Part> {
        let pairs = self.name.as_bytes().chunks_exact(2);
        pairs.map(|pair| Part { writes: pair[0] == b'W', key: usize::from(pair[1] == b'y') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the definition allows, made up of up to four operations on two keys.
    fn allowed() -> Vec<String> {
        let words = ["Rx", "Ry", "Wx", "Wy"];
        let mut all = vec![vec![]];
        let mut found = Vec::new();
        for _ in 0..4 {
            let longer = |txn: &Vec<&'static str>| words.map(|word| [&txn[..], &[word]].concat());
            all = all.iter().flat_map(longer).collect();
            found.extend(all.iter().filter(|txn| is_mini(txn)).map(|txn| txn.concat()));
        }
        found
    }

    fn is_mini(txn: &[&str]) -> bool {
        let count = |kind| txn.iter().filter(|word| word.starts_with(kind)).count();
        let follows = |at: usize| match txn[at] {
            "Wx" => txn[..at].contains(&"Rx"),
            "Wy" => txn[..at].contains(&"Ry"),
            _ => true,
        };
        // The key that is read first is called x.
        txn[0] == "Rx"
            && (1..=2).contains(&count('R'))
            && count('W') <= 2
            && (0..txn.len()).all(follows)
    }

    #[test]
    fn the_table_has_every_shape_once() {
        let mut expected = allowed();
        let mut names: Vec<String> = SHAPES.iter().map(|s| s.name.to_owned()).collect();
        expected.sort();
        names.sort();
        assert_eq!(names, expected);
        assert_eq!(SHAPES.iter().map(|s| s.weight).sum::<u32>(), 100);
        assert!(SHAPES.iter().all(|s| s.weight > 0));
    }
}
