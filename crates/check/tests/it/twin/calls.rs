//! Random tiny histories of single operations, and of transactions on several registers: what a right
//! object would have answered, then spoiled here and there.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::swarm::Rng;

/// What the keys hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// Registers that are only read and written.
    Plain,
    Register,
    Mutex,
    Text,
    List,
    Several,
}

impl Object {
    pub const ALL: [Object; 6] = [
        Object::Plain,
        Object::Register,
        Object::Mutex,
        Object::Text,
        Object::List,
        Object::Several,
    ];
}

/// How often things happen, in percent.
struct Chances {
    unknown: usize,
    aborted: usize,
    unsure: usize,
    spoil: usize,
    missing: usize,
    reads: usize,
    values: usize,
    long: usize,
}

struct Maker {
    rng: Rng,
    object: Object,
    chances: Chances,
    keys: usize,
    /// What each key holds: nothing, a number, or a list of numbers.
    store: HashMap<usize, Vec<usize>>,
    fresh: usize,
    /// What keys held before.
    past: Vec<(usize, Vec<usize>)>,
}

/// The history of a seed in the notation.
pub fn text(seed: u64, object: Object) -> String {
    let mut rng = Rng::new(seed ^ 0xca11);
    let mut chance = |high: usize| if rng.percent(50) { 0 } else { rng.between(1, high) };
    let chances = Chances {
        unknown: chance(40),
        aborted: chance(15),
        unsure: chance(10),
        spoil: chance(50),
        missing: chance(8),
        reads: 20 + chance(40),
        values: chance(100),
        long: chance(12),
    };
    let keys = if object == Object::Several { rng.between(2, 3) } else { rng.between(1, 2) };
    let store = HashMap::new();
    Maker { rng, object, chances, keys, store, fresh: 0, past: Vec::new() }.make()
}

impl Maker {
    fn make(mut self) -> String {
        let mut text = match self.object {
            Object::Text => "meta model string-append\ninitial \"\"\n".to_owned(),
            Object::Mutex => "meta model mutex\ninitial free\n".to_owned(),
            _ if self.rng.percent(30) => "initial 0\n".to_owned(),
            _ => String::new(),
        };
        if text == "initial 0\n" && self.object != Object::List {
            (0..self.keys).for_each(|key| drop(self.store.insert(key, vec![0])));
        } else if text.starts_with("initial") {
            text.clear();
        }
        if self.rng.percent(30) {
            text.push_str("clock events\n");
        }
        let (count, sessions) = (self.rng.between(2, 7), self.rng.between(1, 4));
        // The moments at which operations take effect, in order; answers follow from them.
        let mut moments: Vec<usize> = (0..count).map(|_| self.rng.below(40)).collect();
        moments.sort_unstable();
        let mut free = vec![0usize; sessions];
        for moment in moments {
            let session = self.rng.below(sessions);
            let moment = moment.max(free[session]);
            let begin = self.rng.between(free[session].max(moment.saturating_sub(12)), moment);
            let end = moment + self.rng.below(2 + self.chances.long);
            // Mostly there is a moment between two operations of a session, but not always.
            free[session] = end + usize::from(self.rng.percent(90));
            let line = self.transaction();
            let side = |maker: &mut Maker, at: usize| {
                if maker.rng.percent(maker.chances.missing) {
                    "_".to_owned()
                } else {
                    at.to_string()
                }
            };
            let (begin, end) = (side(&mut self, begin), side(&mut self, end));
            let _ = writeln!(text, "s{session}: {line} @[{begin},{end}]");
        }
        text
    }

    /// One line without its interval.
    fn transaction(&mut self) -> String {
        let many = self.object == Object::Several && self.rng.percent(60);
        let count = if many { self.rng.between(2, 3) } else { 1 };
        let outcome = self.rng.below(100);
        let unknown = outcome < self.chances.unknown;
        let aborted = !unknown && outcome < self.chances.unknown + self.chances.aborted;
        let before = self.store.clone();
        let mut line = String::new();
        for _ in 0..count {
            let op = self.operation(unknown || aborted);
            let _ = write!(line, "{op} ");
        }
        if aborted || (unknown && self.rng.percent(50)) {
            self.store = before;
        }
        line + if unknown {
            "unknown"
        } else if aborted {
            "abort"
        } else {
            "commit"
        }
    }

    fn value(&mut self) -> usize {
        if self.rng.percent(self.chances.values) {
            return self.rng.below(3);
        }
        self.fresh += 1;
        self.fresh + 10
    }

    fn operation(&mut self, silent: bool) -> String {
        let key = self.rng.below(self.keys);
        let read = self.rng.percent(self.chances.reads);
        match self.object {
            Object::Mutex => self.lock(key, silent),
            Object::Text | Object::List if read => self.read_whole(key, silent),
            Object::Text | Object::List => self.grow(key),
            Object::Plain | Object::Register | Object::Several if read => {
                let seen = self.seen(key);
                if silent { format!("r(k{key},_)") } else { format!("r(k{key},{})", one(&seen)) }
            }
            Object::Plain => {
                let value = self.value();
                self.store.insert(key, vec![value]);
                format!("w(k{key},{value})")
            }
            Object::Register | Object::Several => self.change(key, silent),
        }
    }

    /// What a read returns: what is there, or something else.
    fn seen(&mut self, key: usize) -> Vec<usize> {
        let held = self.store.get(&key).cloned().unwrap_or_default();
        self.past.push((key, held.clone()));
        if self.rng.percent(self.chances.spoil) {
            let past: Vec<_> = self.past.iter().filter(|(k, _)| *k == key).cloned().collect();
            return match self.rng.below(8) {
                0 => Vec::new(),
                1 => vec![self.rng.below(3)],
                2 => vec![11 + self.rng.below(self.fresh + 1)],
                _ => past[self.rng.below(past.len())].1.clone(),
            };
        }
        held
    }

    fn lock(&mut self, key: usize, silent: bool) -> String {
        let held = !self.store.get(&key).cloned().unwrap_or_default().is_empty();
        let spoiled = self.rng.percent(self.chances.spoil);
        let release = if spoiled { self.rng.percent(50) } else { held };
        self.store.insert(key, if release { Vec::new() } else { vec![1] });
        let (from, to) = if release { ("held", "free") } else { ("free", "held") };
        let mark = if !silent && self.rng.percent(self.chances.unsure) { "?" } else { "" };
        format!("cas{mark}(k{key},{from},{to})")
    }

    fn grow(&mut self, key: usize) -> String {
        let value = self.value();
        let held = self.store.entry(key).or_default();
        if self.object == Object::Text && self.rng.percent(25) {
            *held = vec![value];
            return format!("w(k{key},\"{value}.\")");
        }
        held.push(value);
        if self.object == Object::Text {
            format!("append(k{key},\"{value}.\")")
        } else {
            format!("append(k{key},{value})")
        }
    }

    fn read_whole(&mut self, key: usize, silent: bool) -> String {
        let mut seen = self.store.get(&key).cloned().unwrap_or_default();
        if self.rng.percent(self.chances.spoil) {
            match self.rng.below(3) {
                0 => drop(seen.pop()),
                1 => seen.reverse(),
                _ => seen.push(11 + self.rng.below(self.fresh + 1)),
            }
        }
        if self.object == Object::Text {
            let all: String = seen.iter().map(|value| format!("{value}.")).collect();
            return if silent { format!("r(k{key},_)") } else { format!("r(k{key},\"{all}\")") };
        }
        let all: Vec<String> = seen.iter().map(ToString::to_string).collect();
        if silent { format!("list(k{key},_)") } else { format!("list(k{key},[{}])", all.join(",")) }
    }

    fn change(&mut self, key: usize, silent: bool) -> String {
        let value = self.value();
        let held = self.seen(key);
        let really = self.store.get(&key).cloned().unwrap_or_default();
        let mark = |maker: &mut Maker| {
            if !silent
                && maker.object == Object::Register
                && maker.rng.percent(maker.chances.unsure)
            {
                "?"
            } else {
                ""
            }
        };
        match self.rng.below(10) {
            0 => {
                self.store.insert(key, Vec::new());
                format!("delete(k{key})")
            }
            1 | 2 if really.is_empty() || silent => {
                self.store.insert(key, vec![value]);
                format!("insert{}(k{key},{value})", mark(self))
            }
            1 | 2 => format!("insert!(k{key},{value})"),
            3..=5 if self.rng.percent(30) && !silent => {
                let other = self.rng.below(3);
                format!("cas!(k{key},{other},{value})")
            }
            3..=5 => {
                self.store.insert(key, vec![value]);
                format!("cas{}(k{key},{},{value})", mark(self), one(&held))
            }
            _ => {
                self.store.insert(key, vec![value]);
                format!("w(k{key},{value})")
            }
        }
    }
}

fn one(held: &[usize]) -> String {
    held.first().map_or_else(|| "absent".to_owned(), ToString::to_string)
}
