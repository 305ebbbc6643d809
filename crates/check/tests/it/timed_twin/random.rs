//! Tiny histories with timestamps: run by a correct database, then disturbed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use isolde_workload::Random;

/// What a history may have.
struct Shape {
    txns: u64,
    sessions: u64,
    lists: bool,
    /// Whether timestamps may be equal.
    collide: bool,
    hybrid: bool,
    unique: bool,
    savepoints: bool,
    conditional: bool,
    /// Whether there are predicate reads: scans of all rows.
    scans: bool,
    unknown: u64,
    aborted: bool,
    serial: bool,
    reads_at_commit: bool,
    incomplete: bool,
    /// Whether transactions have sequence numbers, with a gap if the history is incomplete.
    numbered: bool,
    /// How many of a hundred reads return something else, and how many timestamps are moved.
    disturbed: u64,
    moved: u64,
    initial: bool,
}

impl Shape {
    fn new(random: &mut Random) -> Shape {
        let often = |random: &mut Random, percent| random.below(100) < percent;
        let calm = often(random, 40);
        let lists = often(random, 30);
        let savepoints = often(random, 25);
        let incomplete = !lists && often(random, 15);
        Shape {
            txns: 1 + random.below(6),
            sessions: 1 + random.below(4),
            lists,
            collide: often(random, 30),
            hybrid: often(random, 20),
            unique: often(random, 60),
            savepoints,
            conditional: often(random, 30),
            scans: !lists && !savepoints && !incomplete && often(random, 25),
            unknown: if often(random, 40) { 25 } else { 0 },
            aborted: often(random, 30),
            serial: often(random, 50),
            reads_at_commit: often(random, 30),
            incomplete,
            numbered: often(random, 20),
            disturbed: if calm { 0 } else { 12 },
            moved: if calm { 0 } else { 8 },
            initial: often(random, 50),
        }
    }
}

#[derive(Clone, Default)]
struct Planned {
    session: u64,
    start: i64,
    commit: i64,
    outcome: u64,
    text: String,
    writes: Vec<(u64, Option<i64>)>,
    reads: bool,
}

const COMMITTED: u64 = 0;
const ABORTED: u64 = 1;
const UNKNOWN_DONE: u64 = 2;
const UNKNOWN_LOST: u64 = 3;

/// The history of a seed, in the text notation.
pub fn text(seed: u64) -> String {
    let mut random = Random::stream(seed, 1);
    let shape = Shape::new(&mut random);
    let mut maker = Maker { shape, random, state: BTreeMap::new(), next: 0 };
    maker.text()
}

struct Maker {
    shape: Shape,
    random: Random,
    /// Every version of every key: when it was committed, and what it is. Lists keep elements.
    state: BTreeMap<u64, Vec<(i64, Option<i64>)>>,
    next: i64,
}

impl Maker {
    fn often(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn text(&mut self) -> String {
        let mut txns = self.times();
        // In the order in which they see each other.
        let serial = self.shape.serial;
        let mut order: Vec<usize> = (0..txns.len()).collect();
        order.sort_by_key(|t| if serial { txns[*t].commit } else { txns[*t].start });
        for t in order {
            let mut txn = txns[t].clone();
            self.fill(&mut txn);
            txns[t] = txn;
        }
        let mut text = String::new();
        if self.shape.initial {
            text.push_str("initial 0\n");
        }
        if serial {
            text.push_str("meta commit-order serial\n");
        }
        if self.shape.reads_at_commit {
            text.push_str("meta reads-at commit\n");
        }
        if self.shape.incomplete && !self.shape.numbered {
            text.push_str("incomplete\n");
        }
        // Mostly in the order in which sessions ran them.
        if !self.often(10) {
            txns.sort_by_key(|t| t.start);
        }
        let mut numbers = vec![0; self.shape.sessions as usize];
        for txn in &txns {
            let number = &mut numbers[txn.session as usize];
            *number += 1;
            // What is missing came first, after the first transaction of a session.
            let missing = i64::from(self.shape.incomplete && *number > 1);
            let seq = self.shape.numbered.then_some(*number + missing);
            self.line(txn, seq, &mut text);
        }
        text
    }

    /// Sessions run one transaction after another.
    fn times(&mut self) -> Vec<Planned> {
        let mut clock: Vec<i64> = (0..self.shape.sessions).map(|_| 1).collect();
        let mut used: Vec<i64> = Vec::new();
        let mut txns = Vec::new();
        for _ in 0..self.shape.txns {
            let session = self.random.below(self.shape.sessions);
            let from = clock[session as usize];
            let start = self.free(from, &mut used);
            let commit = self.free(start + 1, &mut used);
            let unknown = self.often(self.shape.unknown);
            let outcome = match () {
                () if unknown && self.random.coin() => UNKNOWN_DONE,
                () if unknown => UNKNOWN_LOST,
                () if self.shape.aborted && self.often(20) => ABORTED,
                () => COMMITTED,
            };
            clock[session as usize] = commit;
            txns.push(Planned { session, start, commit, outcome, ..Planned::default() });
        }
        txns
    }

    fn free(&mut self, from: i64, used: &mut Vec<i64>) -> i64 {
        let mut at = from + self.random.below(4) as i64;
        while !self.shape.collide && used.contains(&at) {
            at += 1;
        }
        used.push(at);
        at
    }

    fn fresh(&mut self) -> i64 {
        self.next += 1;
        if self.shape.unique { self.next } else { 1 + self.random.below(3) as i64 }
    }

    /// What a transaction does, and what it sees.
    fn fill(&mut self, txn: &mut Planned) {
        let count = 1 + self.random.below(4);
        let at = if self.shape.serial { txn.commit - 1 } else { txn.start };
        let mut own: Vec<(u64, Option<i64>)> = Vec::new();
        let mut saved: Option<usize> = None;
        for _ in 0..count {
            let key = self.random.below(3);
            if self.shape.savepoints && self.often(25) {
                match saved.take() {
                    None => {
                        saved = Some(own.len());
                        txn.text.push_str(" savepoint(s)");
                    }
                    Some(len) => {
                        own.truncate(len);
                        txn.text.push_str(" rollback(s)");
                    }
                }
                continue;
            }
            if self.shape.lists && key == 2 {
                self.list_op(txn, at, &mut own);
            } else if self.shape.scans && self.often(25) {
                self.scan(txn, at, &own);
            } else {
                self.op(txn, key, at, &mut own);
            }
        }
        // With snapshots, a correct database lets the first writer win.
        let clash = |key: &u64, state: &BTreeMap<u64, Vec<(i64, Option<i64>)>>| {
            state.get(key).is_some_and(|v| v.iter().any(|(c, _)| *c > txn.start))
        };
        let keys: Vec<u64> = own.iter().map(|(key, _)| *key).collect();
        let conflict = keys.iter().any(|key| clash(key, &self.state));
        if conflict && txn.outcome == COMMITTED && !self.shape.serial && !self.often(15) {
            txn.outcome = ABORTED;
        }
        txn.reads = own.is_empty();
        txn.writes = own;
        if matches!(txn.outcome, COMMITTED | UNKNOWN_DONE) {
            let list = self.shape.lists;
            let mut last: BTreeMap<u64, Option<i64>> = BTreeMap::new();
            for (key, value) in &txn.writes {
                if list && *key == 2 {
                    self.state.entry(2).or_default().push((txn.commit, *value));
                } else {
                    last.insert(*key, *value);
                }
            }
            for (key, value) in last {
                self.state.entry(key).or_default().push((txn.commit, value));
            }
            self.state.values_mut().for_each(|versions| versions.sort_by_key(|v| v.0));
        }
    }

    fn visible(&self, key: u64, at: i64) -> Option<i64> {
        let initial = self.shape.initial.then_some(0);
        let mut versions = self.state.get(&key).into_iter().flatten();
        versions.rfind(|(commit, _)| *commit <= at).map_or(initial, |(_, value)| *value)
    }

    fn op(&mut self, txn: &mut Planned, key: u64, at: i64, own: &mut Vec<(u64, Option<i64>)>) {
        let seen = own.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let mut seen = seen.unwrap_or_else(|| self.visible(key, at));
        if self.often(self.shape.disturbed) {
            let any = self.random.below(self.next as u64 + 3) as i64;
            seen = (any > 0).then_some(any - 1);
        }
        let name = ["x", "y", "z"][key as usize];
        let show = |value: Option<i64>| value.map_or("absent".to_owned(), |v| v.to_string());
        let text = &mut String::new();
        match self.random.below(10) {
            0..4 => _ = write!(text, " r({name},{})", show(seen)),
            4..7 => {
                let value = self.fresh();
                _ = write!(text, " w({name},{value})");
                own.push((key, Some(value)));
            }
            _ if !self.shape.conditional => {
                let value = self.fresh();
                _ = write!(text, " r({name},{}) w({name},{value})", show(seen));
                own.push((key, Some(value)));
            }
            7 => {
                _ = write!(text, " delete({name})");
                own.push((key, None));
            }
            8 => {
                let value = self.fresh();
                if seen.is_none() {
                    _ = write!(text, " insert({name},{value})");
                    own.push((key, Some(value)));
                } else {
                    _ = write!(text, " insert!({name},{value})");
                }
            }
            _ => {
                let value = self.fresh();
                let expected =
                    if self.often(70) { seen } else { Some(self.random.below(4) as i64) };
                if seen == expected {
                    _ = write!(text, " cas({name},{},{value})", show(expected));
                    own.push((key, Some(value)));
                } else {
                    _ = write!(text, " cas!({name},{},{value})", show(expected));
                }
            }
        }
        txn.text.push_str(text);
    }

    /// A predicate read of all rows.
    fn scan(&mut self, txn: &mut Planned, at: i64, own: &[(u64, Option<i64>)]) {
        txn.text.push_str(" pred(p");
        for key in 0..3 {
            let seen = own.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| *v);
            let mut seen = seen.unwrap_or_else(|| self.visible(key, at));
            if self.often(self.shape.disturbed) {
                let any = self.random.below(self.next as u64 + 3) as i64;
                seen = (any > 0).then_some(any - 1);
            }
            if let Some(value) = seen {
                _ = write!(txn.text, ",{}={value}", ["x", "y", "z"][key as usize]);
            }
        }
        txn.text.push(')');
    }

    fn list_op(&mut self, txn: &mut Planned, at: i64, own: &mut Vec<(u64, Option<i64>)>) {
        if self.random.coin() {
            let value = self.fresh();
            _ = write!(txn.text, " append(l,{value})");
            own.push((2, Some(value)));
            return;
        }
        let versions = self.state.get(&2).into_iter().flatten();
        let mut list: Vec<i64> =
            versions.filter(|(commit, _)| *commit <= at).filter_map(|(_, v)| *v).collect();
        list.extend(own.iter().filter(|(k, _)| *k == 2).filter_map(|(_, v)| *v));
        if self.often(self.shape.disturbed) && !list.is_empty() {
            match self.random.below(4) {
                0 => _ = list.pop(),
                1 => list.reverse(),
                2 => _ = list.remove(0),
                _ => list.push(self.random.below(self.next as u64 + 2) as i64),
            }
        }
        let elements: Vec<String> = list.iter().map(i64::to_string).collect();
        _ = write!(txn.text, " list(l,[{}])", elements.join(","));
    }

    fn line(&mut self, txn: &Planned, seq: Option<i64>, text: &mut String) {
        let outcome = match txn.outcome {
            COMMITTED => "",
            ABORTED => " abort",
            _ => " unknown",
        };
        let (mut start, mut commit) = (txn.start, txn.commit);
        if self.often(self.shape.moved) {
            match self.random.below(4) {
                0 => start += self.random.below(7) as i64 - 3,
                1 => commit += self.random.below(7) as i64 - 3,
                2 => std::mem::swap(&mut start, &mut commit),
                _ => start = commit,
            }
        }
        // Hybrid ones: the same order, in two parts.
        let hybrid = self.shape.hybrid;
        let show = |at: i64| {
            if hybrid {
                format!("{}.{}", at.div_euclid(3), at.rem_euclid(3))
            } else {
                at.to_string()
            }
        };
        let lost = matches!(txn.outcome, UNKNOWN_DONE | UNKNOWN_LOST);
        let no_commit = match () {
            () if lost => !self.often(25),
            () if txn.outcome == ABORTED => true,
            () => txn.reads && !self.shape.reads_at_commit && self.often(40),
        };
        let serial = self.shape.serial;
        let no_start = serial && ((lost && self.often(30)) || (!txn.reads && self.often(20)));
        let start = if no_start { "_".to_owned() } else { show(start) };
        let commit = if no_commit { "_".to_owned() } else { show(commit) };
        let body = if txn.text.is_empty() { " r(x,absent)" } else { &txn.text };
        let seq = seq.map_or(String::new(), |seq| format!(" {{seq={seq}}}"));
        _ = writeln!(text, "s{}:{body}{outcome} ts({start},{commit}){seq}", txn.session);
    }
}
