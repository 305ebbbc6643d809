//! A database that runs transactions one after the other, and clients that run them concurrently.
//!
//! A transaction sees everything that had committed when it began, and commits only if nothing of what
//! it saw has changed since. So the order of commits is a serial execution, and each commit lies in the
//! interval of its transaction: the history is strictly serializable. All values are different.
//!
//! An anomaly is planted in one piece: no other transaction commits a key of it meanwhile, nor a
//! transaction of its sessions. Every dependency of the history then leads from what came before the
//! plant to the plant, and from there to what comes after it. So all that is wrong with the history is
//! wrong with the planted transactions alone.

use std::fmt::Write as _;

use super::plants::Plant;
use super::recipe::{Binding, Line};

use crate::twin::random::Rng;

/// What the transactions do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Mini-transactions: every write follows a read of its key.
    Mini,
    /// Appends to lists, and reads of them.
    Lists,
}

/// How large a history is made.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub style: Style,
    /// How many transactions commit.
    pub txns: usize,
    pub sessions: usize,
    /// How many keys are in use at a time.
    pub keys: usize,
}

impl Scene {
    /// A history with so many committed transactions, much of it concurrent.
    pub const fn of(style: Style, txns: usize) -> Scene {
        Scene { style, txns, sessions: 12, keys: 40 }
    }
}

/// Where an anomaly is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Soil {
    /// On keys that nobody else uses, in the midst of what others do.
    Fresh,
    /// On keys that others used before and use after.
    Used,
}

/// A history without a fault, in the notation.
pub fn clean(seed: u64, scene: &Scene) -> String {
    let mut clients = Clients::new(seed, scene);
    clients.run(scene.txns);
    clients.finish()
}

/// A history with one fault, somewhere in the middle. The planted transactions are called `P1`, `P2`
/// and so on, in the order of the recipe.
pub fn planted(seed: u64, scene: &Scene, plant: &Plant, soil: Soil) -> String {
    let mut clients = Clients::new(seed, scene);
    let before = scene.txns / 5 + clients.rng.below(scene.txns * 3 / 5);
    clients.run(before);
    clients.plant(plant, soil);
    clients.run(scene.txns);
    clients.finish()
}

/// How many elements a list gets before another one takes its place.
const LIST_LEN: usize = 12;

/// A transaction under way.
struct Running {
    begin: i64,
    ops: String,
    /// The keys it read, and how many versions they had.
    seen: Vec<(usize, usize)>,
    /// What it writes.
    writes: Vec<(usize, i64)>,
}

struct Clients<'s> {
    rng: Rng,
    scene: &'s Scene,
    time: i64,
    committed: usize,
    next_value: i64,
    /// The versions of every key, which are also the elements of a list.
    store: Vec<Vec<i64>>,
    /// The keys in use.
    active: Vec<usize>,
    running: Vec<Option<Running>>,
    /// Until when a session is busy with planted transactions.
    busy: Vec<i64>,
    text: String,
    /// Lines that stand at the end.
    orders: String,
}

impl<'s> Clients<'s> {
    fn new(seed: u64, scene: &'s Scene) -> Clients<'s> {
        let initial = if scene.style == Style::Mini { "initial 0\n" } else { "" };
        Clients {
            rng: Rng::new(seed),
            scene,
            time: 0,
            committed: 0,
            next_value: 1,
            store: vec![Vec::new(); scene.keys],
            active: (0..scene.keys).collect(),
            running: (0..scene.sessions).map(|_| None).collect(),
            busy: vec![0; scene.sessions],
            text: initial.to_owned(),
            orders: String::new(),
        }
    }

    fn fresh(&mut self) -> i64 {
        self.next_value += 1;
        self.next_value
    }

    /// Lets the clients work until so many transactions have committed.
    fn run(&mut self, until: usize) {
        while self.committed < until {
            self.time += 1;
            let session = self.rng.below(self.scene.sessions);
            if self.busy[session] >= self.time {
                continue;
            }
            match self.running[session].take() {
                Some(running) => self.end(session, &running),
                None => self.running[session] = Some(self.begin()),
            }
        }
    }

    fn begin(&mut self) -> Running {
        let (ops, seen, writes) = (String::new(), Vec::new(), Vec::new());
        let mut running = Running { begin: self.time, ops, seen, writes };
        let first = self.rng.below(self.scene.keys);
        let other = first + 1 + self.rng.below(self.scene.keys - 1);
        let keys = [first, other % self.scene.keys].map(|i| self.active[i]);
        for key in keys.into_iter().take(self.rng.between(1, 2)) {
            match self.scene.style {
                Style::Mini => self.mini(&mut running, key),
                Style::Lists => self.list(&mut running, key),
            }
        }
        running
    }

    /// A read, and perhaps a write.
    fn mini(&mut self, running: &mut Running, key: usize) {
        let versions = &self.store[key];
        let _ = write!(running.ops, " r(k{key},{})", versions.last().unwrap_or(&0));
        running.seen.push((key, versions.len()));
        if self.rng.percent(60) {
            let value = self.fresh();
            let _ = write!(running.ops, " w(k{key},{value})");
            running.writes.push((key, value));
        }
    }

    /// A read or an append or both, in either order.
    fn list(&mut self, running: &mut Running, key: usize) {
        let mut elements = self.store[key].clone();
        let (read_first, append) = (self.rng.percent(50), self.rng.percent(60));
        let value = self.fresh();
        if read_first || !append {
            running.seen.push((key, elements.len()));
            let _ = write!(running.ops, " list(k{key},{})", show(&elements));
        }
        if append {
            let _ = write!(running.ops, " append(k{key},{value})");
            running.writes.push((key, value));
        }
        if append && self.rng.percent(30) {
            running.seen.push((key, elements.len()));
            elements.push(value);
            let _ = write!(running.ops, " list(k{key},{})", show(&elements));
        }
    }

    fn end(&mut self, session: usize, running: &Running) {
        let current = |&(key, versions): &(usize, usize)| self.store[key].len() == versions;
        let valid = running.seen.iter().all(current);
        let (outcome, effective) = match self.rng.below(100) {
            _ if !valid => ("abort", false),
            0 => ("abort", false),
            1 => ("unknown", false),
            2..4 => ("unknown", true),
            _ => ("commit", true),
        };
        let end = if outcome == "unknown" && self.rng.percent(50) {
            "_".to_owned()
        } else {
            self.time.to_string()
        };
        let (ops, begin) = (&running.ops, running.begin);
        let _ = writeln!(self.text, "s{session}:{ops} {outcome} @[{begin},{end}]");
        if effective {
            self.committed += 1;
            for &(key, value) in &running.writes {
                self.store[key].push(value);
                self.retire(key);
            }
        }
    }

    /// Puts another list in the place of one that is long enough.
    fn retire(&mut self, key: usize) {
        let long = self.scene.style == Style::Lists && self.store[key].len() >= LIST_LEN;
        if let Some(at) = self.active.iter().position(|&k| long && k == key) {
            self.active[at] = self.store.len();
            self.store.push(Vec::new());
        }
    }

    fn finish(mut self) -> String {
        if self.scene.style == Style::Lists {
            self.read_all();
        }
        self.text + &self.orders
    }

    /// Reads every list at last: the order of elements that nobody saw would not be known.
    fn read_all(&mut self) {
        self.time = self.busy.iter().fold(self.time, |time, busy| time.max(*busy)) + 1;
        let used = |key: &usize| !self.store[*key].is_empty();
        let keys: Vec<usize> = (0..self.store.len()).filter(used).collect();
        for some in keys.chunks(20) {
            let ops = some.iter().map(|&key| format!(" list(k{key},{})", show(&self.store[key])));
            let ops: String = ops.collect();
            let _ = writeln!(self.text, "last:{ops} @[{},{}]", self.time, self.time + 1);
            self.time += 2;
        }
    }

    fn plant(&mut self, plant: &Plant, soil: Soil) {
        let lines = plant.lines();
        let sessions = self.choose_sessions(&lines);
        let binding = self.bind(&lines, soil);
        // Where others use the keys, the plant is over before they go on.
        let stretch = if soil == Soil::Fresh { self.rng.between(1, 60) as i64 } else { 1 };
        let (start, mut over) = (self.time + 1, self.time);
        let (mut number, mut homes) = (0, Vec::new());
        for line in &lines {
            let Line::Txn { session, ops, outcome, interval } = line else {
                let _ = writeln!(self.orders, "{}", binding.order(line));
                continue;
            };
            number += 1;
            let (begin, end) = (start + interval.0 * stretch, start + interval.1 * stretch);
            over = over.max(end);
            let (name, home) = &sessions[*session];
            let ops = binding.ops(ops);
            let _ = writeln!(self.text, "{name} P{number}:{ops} {outcome} @[{begin},{end}]");
            homes.extend(*home);
        }
        for home in homes {
            self.busy[home] = over;
        }
        for (key, versions) in binding.left_behind(&lines) {
            self.store[key] = versions;
            self.retire(key);
        }
        if soil == Soil::Used {
            self.time = over;
        }
    }

    /// The names of the sessions of a plant, and which of the clients they are, if any.
    fn choose_sessions(&mut self, lines: &[Line]) -> Vec<(String, Option<usize>)> {
        let count = lines.iter().filter_map(Line::session).max().map_or(0, |last| last + 1);
        if self.rng.percent(50) {
            return (0..count).map(|i| (format!("p{i}"), None)).collect();
        }
        let first = self.rng.below(self.scene.sessions);
        let homes: Vec<usize> = (0..count).map(|i| (first + i) % self.scene.sessions).collect();
        self.time += 1;
        for &home in &homes {
            // What it is doing now, it gives up.
            if let Some(running) = self.running[home].take() {
                let (ops, begin) = (running.ops, running.begin);
                let _ = writeln!(self.text, "s{home}:{ops} abort @[{begin},{}]", self.time);
            }
        }
        homes.into_iter().map(|home| (format!("s{home}"), Some(home))).collect()
    }

    /// Which keys and values stand for those of the recipe.
    fn bind(&mut self, lines: &[Line], soil: Soil) -> Binding {
        let mut binding = Binding::default();
        let first = self.rng.below(self.scene.keys);
        for (i, key) in Line::keys(lines).into_iter().enumerate() {
            let (name, home) = match soil {
                Soil::Fresh => (format!("p{key}"), None),
                Soil::Used => {
                    let home = self.active[(first + i) % self.scene.keys];
                    (format!("k{home}"), Some(home))
                }
            };
            let versions = home.map_or(Vec::new(), |home| self.store[home].clone());
            binding.key(key, name, home, versions);
        }
        for number in Line::numbers(lines) {
            let value = self.fresh();
            binding.value(number, value);
        }
        binding
    }
}

/// A list in the notation.
pub fn show(elements: &[i64]) -> String {
    let parts: Vec<String> = elements.iter().map(ToString::to_string).collect();
    format!("[{}]", parts.join(","))
}
