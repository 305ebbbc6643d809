//! Random tiny histories: executions that are right under some way of running transactions, then
//! spoiled here and there.
//!
//! Each seed picks its own [`Weights`], with about half of the features switched off ("swarm"):
//! rare combinations come up more often than if everything were always a little bit on.
//!
//! Predicate reads are on in few histories, which then have no lists.

mod rows;

use std::fmt::Write as _;

use isolde_history::{History, notation};

pub use super::swarm::{Rng, View, Weights};

/// The history of a seed.
pub fn history(seed: u64, weights: &Weights) -> History {
    let text = text(seed, weights);
    notation::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"))
}

/// The history of a seed in the notation.
pub fn text(seed: u64, weights: &Weights) -> String {
    let mut maker = Maker::new(seed, weights);
    for _ in 0..weights.txns {
        maker.transaction();
    }
    maker.mutate();
    if weights.predicates > 0 && maker.rng.percent(75) {
        maker.witness();
    }
    maker.render()
}

const KEYS: [&str; 3] = ["x", "y", "z"];
const SESSIONS: [&str; 4] = ["a", "b", "c", "d"];
/// A value that nobody writes.
const THIN_AIR: i64 = 99;

#[derive(Clone, PartialEq)]
enum Cell {
    Absent,
    Value(i64),
    List(Vec<i64>),
}

enum Made {
    Read(usize, Cell),
    Rows(rows::Rows),
    Other(String),
}

struct MadeTxn {
    session: usize,
    ops: Vec<Made>,
    /// Whether each operation is in one statement with the one before it.
    joined: Vec<bool>,
    outcome: &'static str,
    interval: String,
}

struct Maker<'w> {
    rng: Rng,
    weights: &'w Weights,
    initial: Vec<Cell>,
    initial_lines: String,
    /// What each transaction that took effect wrote.
    effects: Vec<Vec<Option<Cell>>>,
    /// The session of each of them, and what it saw.
    causes: Vec<(usize, Vec<bool>)>,
    txns: Vec<MadeTxn>,
    /// The keys and values of all writes to registers.
    written: Vec<(usize, i64)>,
    next_value: i64,
    /// Operations without an answer so far: the twin tries both for each.
    unsure: usize,
}

/// A transaction that runs.
struct Running {
    session: usize,
    /// The effects that it sees.
    sees: Vec<bool>,
    /// Its own writes; elements for lists.
    own: Vec<Option<Cell>>,
    made: Vec<Made>,
    joined: Vec<bool>,
}

impl<'w> Maker<'w> {
    fn new(seed: u64, weights: &'w Weights) -> Maker<'w> {
        let mut rng = Rng::new(seed);
        let mut initial_lines = String::new();
        let plain = if rng.percent(weights.initial) {
            initial_lines.push_str(["initial 0\n", "initial none\n"][rng.below(4) / 3]);
            if initial_lines.contains('0') { Cell::Value(0) } else { Cell::Absent }
        } else {
            Cell::Absent
        };
        let mut initial = vec![plain; weights.keys];
        for (k, cell) in initial.iter_mut().enumerate() {
            if weights.predicates == 0 && rng.percent(weights.lists) {
                *cell = Cell::List(Vec::new());
            } else if rng.percent(weights.initial / 3) {
                *cell = Cell::Value(50);
                let _ = writeln!(initial_lines, "given {} 50", KEYS[k]);
            }
        }
        Maker {
            rng,
            weights,
            initial,
            initial_lines,
            effects: Vec::new(),
            causes: Vec::new(),
            txns: Vec::new(),
            written: Vec::new(),
            next_value: 1,
            unsure: 0,
        }
    }

    fn fresh(&mut self) -> i64 {
        if self.next_value > 1 && self.rng.percent(self.weights.duplicates) {
            return self.rng.between(0, self.next_value as usize - 1) as i64;
        }
        self.next_value += 1;
        self.next_value - 1
    }

    fn transaction(&mut self) {
        let session = self.rng.below(self.weights.sessions);
        let sees = self.choose_view(session);
        let own = vec![None; self.weights.keys];
        let mut run = Running { session, sees, own, made: Vec::new(), joined: Vec::new() };
        if self.wants_predicates() {
            self.look_and_change(&mut run);
        } else if self.rng.percent(self.weights.mini) {
            let key = self.rng.below(self.weights.keys);
            self.read(&mut run, key);
            self.write(&mut run, key);
        } else if self.rng.percent(self.weights.scans) {
            for key in 0..self.weights.keys {
                self.read(&mut run, key);
            }
            if self.rng.percent(self.weights.writes) {
                let key = self.rng.below(self.weights.keys);
                self.write(&mut run, key);
            }
        } else {
            for _ in 0..self.rng.between(1, self.weights.ops) {
                self.operation(&mut run);
            }
        }
        let joined = (0..run.made.len()).map(|_| self.rng.percent(self.weights.statements));
        run.joined = joined.collect();
        self.finish(run);
    }

    /// Nothing is drawn where predicates are off.
    fn wants_predicates(&mut self) -> bool {
        self.weights.predicates > 0 && self.rng.percent(self.weights.predicates)
    }

    /// Which effects a new transaction sees.
    fn choose_view(&mut self, session: usize) -> Vec<bool> {
        let top = self.effects.len();
        let prefix = match self.weights.view {
            View::Serial => top,
            _ => self.rng.between(top.saturating_sub(2), top),
        };
        let mut sees: Vec<bool> = (0..top).map(|i| i < prefix).collect();
        if let View::Scattered | View::Causal = self.weights.view {
            sees = (0..top).map(|_| self.rng.percent(50)).collect();
        }
        if let View::Causal = self.weights.view {
            let sessions = self.causes.iter().map(|c| c.0);
            sees.iter_mut().zip(sessions).for_each(|(s, other)| *s |= other == session);
            for i in (0..top).rev() {
                if sees[i] {
                    let (session, saw) = &self.causes[i];
                    for (j, sees) in sees[..i].iter_mut().enumerate() {
                        *sees |= saw.get(j) == Some(&true) || self.causes[j].0 == *session;
                    }
                }
            }
        }
        sees
    }

    fn operation(&mut self, run: &mut Running) {
        let key = self.rng.below(self.weights.keys);
        if self.rng.percent(self.weights.savepoints) {
            self.undone_write(run, key);
        } else if !self.rng.percent(self.weights.writes) {
            if self.wants_predicates() {
                self.predicate_read(run);
            } else {
                self.read(run, key);
            }
        } else {
            self.change(run, key);
        }
    }

    /// Some kind of write.
    fn change(&mut self, run: &mut Running, key: usize) {
        let w = self.weights;
        if matches!(self.initial[key], Cell::List(_)) {
            self.write(run, key);
        } else if self.rng.percent(w.deletes) {
            run.made.push(Made::Other(format!("delete({})", KEYS[key])));
            run.own[key] = Some(Cell::Absent);
        } else if self.rng.percent(w.cas) {
            self.compare_and_set(run, key);
        } else if self.rng.percent(w.inserts) {
            self.insert(run, key);
        } else {
            self.write(run, key);
        }
    }

    /// What the transaction sees under the key.
    fn see(&mut self, run: &mut Running, key: usize) -> Cell {
        self.look_again(run);
        self.content(run, key)
    }

    /// Moves what the transaction sees, in views where it moves.
    fn look_again(&mut self, run: &mut Running) {
        let top = self.effects.len();
        let low = match self.weights.view {
            View::Serial | View::Snapshot | View::Scattered | View::Causal => None,
            View::Statement => Some(run.sees.iter().filter(|s| **s).count()),
            View::Any => Some(0),
        };
        if let Some(low) = low {
            let prefix = self.rng.between(low, top);
            run.sees = (0..top).map(|i| i < prefix).collect();
        }
    }

    fn content(&self, run: &Running, key: usize) -> Cell {
        let mut cell = self.initial[key].clone();
        for (effect, seen) in self.effects.iter().zip(&run.sees) {
            // A list without some of its elements would be no list that ever was.
            if !seen && effect[key].is_some() && matches!(cell, Cell::List(_)) {
                break;
            }
            if *seen {
                apply(&mut cell, effect[key].as_ref());
            }
        }
        apply(&mut cell, run.own[key].as_ref());
        cell
    }

    fn read(&mut self, run: &mut Running, key: usize) {
        let cell = self.see(run, key);
        run.made.push(Made::Read(key, cell));
    }

    fn write(&mut self, run: &mut Running, key: usize) {
        let value = self.fresh();
        let mark = self.answer();
        let name = KEYS[key];
        if let Cell::List(_) = self.initial[key] {
            run.made.push(Made::Other(format!("append{}({name},{value})", mark.0)));
            if mark.1 {
                let own = run.own[key].get_or_insert(Cell::List(Vec::new()));
                if let Cell::List(list) = own {
                    list.push(value);
                }
            }
        } else {
            run.made.push(Made::Other(format!("w{}({name},{value})", mark.0)));
            self.written.push((key, value));
            if mark.1 {
                run.own[key] = Some(Cell::Value(value));
            }
        }
    }

    /// The mark of an operation, and whether it takes effect.
    fn answer(&mut self) -> (&'static str, bool) {
        if self.unsure < 3 && self.rng.percent(self.weights.unsure) {
            self.unsure += 1;
            return ("?", self.rng.percent(50));
        }
        ("", true)
    }

    fn compare_and_set(&mut self, run: &mut Running, key: usize) {
        let seen = self.see(run, key);
        let new = self.fresh();
        if self.rng.percent(30) {
            run.made.push(Made::Other(format!("cas!({},{THIN_AIR},{new})", KEYS[key])));
            return;
        }
        run.made.push(Made::Other(format!("cas({},{},{new})", KEYS[key], show(&seen))));
        self.written.push((key, new));
        run.own[key] = Some(Cell::Value(new));
    }

    fn insert(&mut self, run: &mut Running, key: usize) {
        let seen = self.see(run, key);
        let new = self.fresh();
        if seen == Cell::Absent {
            run.made.push(Made::Other(format!("insert({},{new})", KEYS[key])));
            self.written.push((key, new));
            run.own[key] = Some(Cell::Value(new));
        } else {
            run.made.push(Made::Other(format!("insert!({},{new})", KEYS[key])));
        }
    }

    fn undone_write(&mut self, run: &mut Running, key: usize) {
        let own = run.own.clone();
        run.made.push(Made::Other("savepoint(p)".to_owned()));
        self.write(run, key);
        if self.rng.percent(50) {
            self.read(run, key);
        }
        run.made.push(Made::Other("rollback(p)".to_owned()));
        run.own = own;
    }

    fn finish(&mut self, run: Running) {
        let w = self.weights;
        let writes_over = |(effect, seen): (&Vec<Option<Cell>>, &bool)| {
            !seen && effect.iter().zip(&run.own).any(|(a, b)| a.is_some() && b.is_some())
        };
        let conflict = w.conflicts && self.effects.iter().zip(&run.sees).any(writes_over);
        let (outcome, effective) = if conflict {
            ("abort", false)
        } else if self.rng.percent(w.aborted) {
            ("abort", self.rng.percent(w.leak))
        } else if self.rng.percent(w.unknown) {
            ("unknown", self.rng.percent(50))
        } else {
            ("commit", true)
        };
        if effective {
            self.effects.push(run.own);
            self.causes.push((run.session, run.sees));
        }
        let interval = self.interval();
        let (session, ops, joined) = (run.session, run.made, run.joined);
        self.txns.push(MadeTxn { session, ops, joined, outcome, interval });
    }

    fn interval(&mut self) -> String {
        let w = self.weights;
        if !self.rng.percent(w.intervals) {
            return String::new();
        }
        let now = 10 * self.txns.len() as i64;
        let side = |rng: &mut Rng, time: i64| {
            if rng.percent(w.missing_sides) { "_".to_owned() } else { time.to_string() }
        };
        let (early, late) = (self.rng.below(15) as i64, self.rng.below(12) as i64);
        // A reader of the notation wants at least one side.
        let begin = side(&mut self.rng, now - early);
        let end = side(&mut self.rng, now + late);
        if begin == "_" && end == "_" { String::new() } else { format!(" @[{begin},{end}]") }
    }

    /// Spoils some reads.
    fn mutate(&mut self) {
        let (values, chance) = (self.next_value as usize, self.weights.mutations);
        let mut last: Option<Cell> = None;
        for txn in &mut self.txns {
            for op in &mut txn.ops {
                if let Made::Rows(rows) = op
                    && self.rng.percent(chance)
                {
                    rows.spoil(&mut self.rng, values, &self.initial);
                }
                let Made::Read(key, cell) = op else { continue };
                let before = cell.clone();
                if self.rng.percent(chance) {
                    match cell {
                        Cell::List(list) => spoil_list(&mut self.rng, list, values),
                        _ => *cell = other_value(&mut self.rng, values, &self.initial[*key], &last),
                    }
                }
                if !matches!(before, Cell::List(_)) {
                    last = Some(before);
                }
            }
        }
        if self.rng.percent(self.weights.shuffle) {
            let (a, b) = (self.rng.below(self.txns.len()), self.rng.below(self.txns.len()));
            self.txns.swap(a, b);
        }
    }

    fn render(mut self) -> String {
        let mut text = std::mem::take(&mut self.initial_lines);
        if self.rng.percent(self.weights.incomplete) {
            text.push_str("incomplete\n");
        }
        for txn in &self.txns {
            let _ = write!(text, "{}:", SESSIONS[txn.session]);
            for (i, op) in txn.ops.iter().enumerate() {
                let joined = |i: usize| txn.joined.get(i).copied().unwrap_or(false);
                let begins = joined(i + 1) && (i == 0 || !joined(i));
                let ends = joined(i) && i > 0 && !joined(i + 1);
                let open = if begins { " [" } else { " " };
                let _ = write!(text, "{open}{}{}", show_op(op), if ends { "]" } else { "" });
            }
            let _ = writeln!(text, " {}{}", txn.outcome, txn.interval);
        }
        for key in 0..self.weights.keys {
            if self.rng.percent(self.weights.orders) {
                self.render_order(key, &mut text);
            }
        }
        text
    }

    /// The order of versions as they were installed, now and then with two of them exchanged.
    fn render_order(&mut self, key: usize, text: &mut String) {
        let mut versions: Vec<String> = Vec::new();
        let initial = Some(&self.initial[key]);
        for cell in initial.into_iter().chain(self.effects.iter().filter_map(|e| e[key].as_ref())) {
            let version = match cell {
                Cell::List(list) => list.last().map(ToString::to_string),
                cell => Some(show(cell)),
            };
            versions.extend(version.filter(|v| !versions.contains(v)));
        }
        if versions.len() > 1 && self.rng.percent(20) {
            let at = self.rng.below(versions.len() - 1);
            versions.swap(at, at + 1);
        }
        if !versions.is_empty() {
            let _ = writeln!(text, "order {}: {}", KEYS[key], versions.join(" "));
        }
    }
}

/// Puts a write on top of what is under a key.
fn apply(cell: &mut Cell, write: Option<&Cell>) {
    match (cell, write) {
        (Cell::List(list), Some(Cell::List(more))) => list.extend(more),
        (cell, Some(value)) => *cell = value.clone(),
        (_, None) => {}
    }
}

/// Another value: a written one, the initial one, one that another read returned, or thin air.
fn other_value(rng: &mut Rng, values: usize, initial: &Cell, last: &Option<Cell>) -> Cell {
    match rng.below(8) {
        0 => Cell::Value(THIN_AIR),
        1 => initial.clone(),
        2 => Cell::Absent,
        3 => last.clone().unwrap_or(Cell::Absent),
        _ => Cell::Value(rng.between(1, values) as i64),
    }
}

fn spoil_list(rng: &mut Rng, list: &mut Vec<i64>, values: usize) {
    match rng.below(5) {
        0 => list.clear(),
        1 => list.truncate(list.len().saturating_sub(1)),
        2 => list.push(rng.between(1, values) as i64),
        3 if list.len() > 1 => {
            let at = rng.below(list.len() - 1);
            list.swap(at, at + 1);
        }
        _ if list.is_empty() => list.push(THIN_AIR),
        _ => {
            let at = rng.below(list.len());
            list.remove(at);
        }
    }
}

fn show_op(op: &Made) -> String {
    match op {
        Made::Read(key, cell @ Cell::List(_)) => format!("list({},{})", KEYS[*key], show(cell)),
        Made::Read(key, cell) => format!("r({},{})", KEYS[*key], show(cell)),
        Made::Rows(rows) => rows.show(),
        Made::Other(text) => text.clone(),
    }
}

fn show(cell: &Cell) -> String {
    match cell {
        Cell::Absent => "absent".to_owned(),
        Cell::Value(v) => v.to_string(),
        Cell::List(list) => {
            let parts: Vec<String> = list.iter().map(ToString::to_string).collect();
            format!("[{}]", parts.join(","))
        }
    }
}
