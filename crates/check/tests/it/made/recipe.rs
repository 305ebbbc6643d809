//! The recipes of anomalies: the notation, with placeholders.
//!
//! - Keys `x`, `y`, `z` stand for other keys.
//! - In a read or write of a key, `0` stands for the value that the key has when the anomaly is
//!   planted, any other number for a value that is used nowhere else.
//! - In a list, `*` stands for the elements that it has when the anomaly is planted.
//! - Intervals count from the planting; a transaction without one has [`WHOLE`], which overlaps
//!   everything else that is planted.

use std::collections::{BTreeMap, BTreeSet};

use super::simulate::show;

/// The interval of a transaction that says nothing of it.
pub const WHOLE: (i64, i64) = (0, 9);

/// A line of a recipe.
#[derive(Clone, Debug)]
pub enum Line {
    Txn {
        /// The session, from 0 in the order of the alphabet.
        session: usize,
        ops: Vec<Op>,
        outcome: &'static str,
        interval: (i64, i64),
    },
    /// The order of versions of a key.
    Order(char, Vec<i64>),
}

/// An operation of a recipe.
#[derive(Clone, Debug)]
pub struct Op {
    pub kind: String,
    pub key: char,
    pub argument: Argument,
}

/// What an operation wrote or read.
#[derive(Clone, Debug)]
pub enum Argument {
    One(i64),
    /// The elements of a list after those that were there before.
    List(Vec<i64>),
}

impl Line {
    pub fn parse(text: &str) -> Line {
        let (head, rest) = text.split_once(':').unwrap_or_else(|| panic!("no colon: {text}"));
        let words = rest.split_whitespace();
        if let Some(key) = head.strip_prefix("order ") {
            return Line::Order(only_char(key), words.map(number).collect());
        }
        let session = only_char(head) as usize - 'a' as usize;
        let (mut ops, mut outcome, mut interval) = (Vec::new(), "commit", WHOLE);
        for word in words {
            match word.strip_prefix("@[").and_then(|w| w.strip_suffix(']')) {
                Some(sides) => {
                    let sides = sides.split_once(',').unwrap_or_else(|| panic!("{text}"));
                    interval = (number(sides.0), number(sides.1));
                }
                None if word == "abort" => outcome = "abort",
                None if word == "unknown" => outcome = "unknown",
                None => ops.push(Op::parse(word)),
            }
        }
        Line::Txn { session, ops, outcome, interval }
    }

    /// The session of a transaction.
    pub fn session(&self) -> Option<usize> {
        match self {
            Line::Txn { session, .. } => Some(*session),
            Line::Order(..) => None,
        }
    }

    fn ops(&self) -> &[Op] {
        match self {
            Line::Txn { ops, .. } => ops,
            Line::Order(..) => &[],
        }
    }

    /// All keys of a recipe.
    pub fn keys(lines: &[Line]) -> BTreeSet<char> {
        lines.iter().flat_map(Line::ops).map(|op| op.key).collect()
    }

    /// All values of a recipe, with their keys.
    pub fn numbers(lines: &[Line]) -> BTreeSet<(char, i64)> {
        let of = |op: &Op| {
            let numbers = match &op.argument {
                Argument::One(value) => vec![*value],
                Argument::List(values) => values.clone(),
            };
            let key = op.key;
            numbers.into_iter().map(move |n| (key, n))
        };
        lines.iter().flat_map(Line::ops).flat_map(of).filter(|(_, n)| *n != 0).collect()
    }
}

impl Op {
    fn parse(word: &str) -> Op {
        let bad = || panic!("not an operation: {word}");
        let (kind, rest) = word.split_once('(').unwrap_or_else(bad);
        let (key, value) = rest.split_once(',').unwrap_or_else(bad);
        let value = value.strip_suffix(')').unwrap_or_else(|| panic!("{word}"));
        let argument = match value.strip_prefix("[*").and_then(|v| v.strip_suffix(']')) {
            Some(list) => {
                Argument::List(list.split(',').filter(|n| !n.is_empty()).map(number).collect())
            }
            None => Argument::One(number(value)),
        };
        Op { kind: kind.to_owned(), key: only_char(key), argument }
    }

    fn is_write(&self) -> bool {
        self.kind == "w" || self.kind == "append"
    }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn only_char(text: &str) -> char {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => c,
        _ => panic!("not one letter: {text}"),
    }
}

/// What the placeholders of a recipe stand for.
#[derive(Default)]
pub struct Binding {
    keys: BTreeMap<char, Bound>,
    values: BTreeMap<(char, i64), i64>,
}

struct Bound {
    name: String,
    /// The key of the simulation, if it is one.
    home: Option<usize>,
    /// The versions it had before.
    versions: Vec<i64>,
}

impl Binding {
    pub fn key(&mut self, key: char, name: String, home: Option<usize>, versions: Vec<i64>) {
        self.keys.insert(key, Bound { name, home, versions });
    }

    pub fn value(&mut self, number: (char, i64), value: i64) {
        self.values.insert(number, value);
    }

    fn number(&self, key: char, number: i64) -> i64 {
        match number {
            0 => self.keys[&key].versions.last().copied().unwrap_or(0),
            _ => self.values[&(key, number)],
        }
    }

    fn list(&self, key: char, numbers: &[i64]) -> Vec<i64> {
        let mut elements = self.keys[&key].versions.clone();
        elements.extend(numbers.iter().map(|&n| self.number(key, n)));
        elements
    }

    /// The operations in the notation.
    pub fn ops(&self, ops: &[Op]) -> String {
        let show_op = |op: &Op| {
            let argument = match &op.argument {
                Argument::One(n) => self.number(op.key, *n).to_string(),
                Argument::List(numbers) => show(&self.list(op.key, numbers)),
            };
            format!(" {}({},{argument})", op.kind, self.keys[&op.key].name)
        };
        ops.iter().map(show_op).collect()
    }

    /// The order of versions in the notation.
    pub fn order(&self, line: &Line) -> String {
        let Line::Order(key, numbers) = line else { panic!("not an order: {line:?}") };
        let values: Vec<String> =
            numbers.iter().map(|&n| self.number(*key, n).to_string()).collect();
        format!("order {}: {}", self.keys[key].name, values.join(" "))
    }

    /// The versions of the keys of the simulation after the recipe. What committed stands in the order
    /// of the lines, unless the recipe itself reads a list that has all of it.
    pub fn left_behind(&self, lines: &[Line]) -> Vec<(usize, Vec<i64>)> {
        let homes = self.keys.iter().filter_map(|(key, bound)| Some((*key, bound.home?)));
        homes.map(|(key, home)| (home, self.list(key, &last_versions(lines, key)))).collect()
    }
}

fn last_versions(lines: &[Line], key: char) -> Vec<i64> {
    let committed = lines.iter().filter(|l| matches!(l, Line::Txn { outcome: "commit", .. }));
    let ops: Vec<&Op> = committed.flat_map(Line::ops).filter(|op| op.key == key).collect();
    let written = ops.iter().filter(|op| op.is_write()).map(|op| match op.argument {
        Argument::One(value) => value,
        Argument::List(_) => panic!("a list was written"),
    });
    let written: Vec<i64> = written.collect();
    if written.is_empty() {
        return written;
    }
    let mut reads = ops.iter().filter_map(|op| match &op.argument {
        Argument::List(list) => Some(list),
        Argument::One(_) => None,
    });
    // A list with an element twice is one that never was.
    let once = |list: &[i64]| list.iter().collect::<BTreeSet<_>>().len() == list.len();
    let all = |list: &&Vec<i64>| written.iter().all(|v| list.contains(v)) && once(list);
    reads.find(all).cloned().unwrap_or(written)
}
