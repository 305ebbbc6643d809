//! Small histories with snapshots: a tiny server with one lock runs transactions at the same time, then what it said is
//! disturbed here and there.

use std::fmt::Write as _;

use crate::made::Random;

/// A snapshot: the next number, and what was running.
#[derive(Clone, Default)]
struct Snap {
    next: i64,
    running: Vec<i64>,
}

/// A transaction, under way or not.
#[derive(Clone)]
struct Run {
    session: u64,
    ops: Vec<String>,
    end: &'static str,
    number: Option<i64>,
    restart: i64,
    snap: Snap,
    times: (i64, i64),
    /// What it has written: key and value, `absent` if it deleted the row.
    own: Vec<(usize, String)>,
    left: u64,
}

/// A version of a key: its writer, after how many starts of the server, and what it left.
type Version = (i64, i64, String);

struct Server {
    random: Random,
    clock: i64,
    next: i64,
    restart: i64,
    fresh: u64,
    /// How many of a hundred conflicts it forgets, and reads it gets wrong.
    careless: u64,
    keys: u64,
    store: [Vec<Version>; 3],
    open: Vec<Run>,
    done: Vec<Run>,
}

const KEYS: [&str; 3] = ["x", "y", "l"];

/// The history of a seed, in the text notation.
pub(crate) fn text(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0xc0ffee);
    let (sessions, count) = (1 + random.below(4), 2 + random.below(11) as usize);
    let careless = if random.chance(60) { 0 } else { random.below(25) };
    let (keys, unknown) = (1 + random.below(3), if random.chance(25) { 15 } else { 0 });
    let mut server = Server {
        careless,
        keys,
        random,
        clock: 0,
        next: 10,
        restart: 0,
        fresh: 0,
        store: Default::default(),
        open: Vec::new(),
        done: Vec::new(),
    };
    let restarts = server.random.chance(15);
    while server.done.len() < count {
        let session = server.random.below(sessions);
        if restarts && server.random.chance(3) {
            server.crash();
        }
        match server.open.iter().position(|run| run.session == session) {
            None => server.begin(session),
            Some(at) if server.open[at].left == 0 => server.commit(at, unknown),
            Some(at) => server.step(at),
        }
    }
    if server.random.chance(50) {
        server.disturb();
    }
    server.text()
}

impl Server {
    fn tick(&mut self) -> i64 {
        self.clock += 1 + self.random.below(3) as i64;
        self.clock
    }

    fn begin(&mut self, session: u64) {
        let times = (self.tick(), 0);
        let mut running: Vec<i64> = self.open.iter().filter_map(|run| run.number).collect();
        running.sort_unstable();
        let snap = Snap { next: self.next, running };
        let (left, restart) = (1 + self.random.below(4), self.restart);
        let (ops, own) = (Vec::new(), Vec::new());
        self.open.push(Run {
            session,
            ops,
            end: "",
            number: None,
            restart,
            snap,
            times,
            own,
            left,
        });
    }

    /// All that runs is lost, and numbers may be given again.
    fn crash(&mut self) {
        while !self.open.is_empty() {
            self.end(0, "abort ");
        }
        self.restart += 1;
        self.next -= self.random.below(3) as i64;
    }

    /// Whether a transaction sees a version.
    fn sees(run: &Run, version: &Version) -> bool {
        let (number, restart, _) = version;
        let now = *number < run.snap.next && !run.snap.running.contains(number);
        *restart < run.restart || (*restart == run.restart && now)
    }

    /// What a transaction sees of a key: its own last write, else the newest version that its snapshot shows.
    fn seen(&self, at: usize, key: usize) -> String {
        let run = &self.open[at];
        let shown = self.store[key].iter().filter(|v| Server::sees(run, v)).map(|v| &v.2);
        let own = run.own.iter().filter(|(k, _)| *k == key).map(|(_, value)| value);
        if key == 2 {
            let all: Vec<&str> = shown.chain(own).map(String::as_str).collect();
            return all.join(",");
        }
        shown.chain(own).last().cloned().unwrap_or_else(|| "0".into())
    }

    fn step(&mut self, at: usize) {
        self.open[at].left -= 1;
        let key = self.random.below(self.keys) as usize;
        let mut seen = self.seen(at, key);
        if self.random.chance(self.careless / 2) {
            seen = self.random.below(self.fresh + 2).to_string();
        }
        self.fresh += 1;
        let any =
            if self.random.chance(70) { self.fresh } else { self.random.below(4) }.to_string();
        let (name, kind) = (KEYS[key], self.random.below(12));
        let (op, left) = match kind {
            _ if key == 2 && kind < 6 => (format!("list(l,[{seen}])"), None),
            _ if key == 2 => (format!("append(l,{any})"), Some(any)),
            0..5 => (format!("r({name},{seen})"), None),
            5..9 => (format!("w({name},{any})"), Some(any)),
            9 => (format!("delete({name})"), Some("absent".into())),
            10 => self.insert(at, key, &any),
            _ if any == seen => (format!("cas!({name},{},7)", self.fresh + 100), None),
            _ => (format!("cas({name},{seen},{any})"), Some(any)),
        };
        if left.is_some() && self.open[at].number.is_none() {
            self.open[at].number = Some(self.next);
            self.next += 1;
        }
        if let Some(left) = left {
            if self.is_taken(at, key, kind == 10) && !self.random.chance(self.careless) {
                return self.end(at, "abort ");
            }
            self.open[at].own.push((key, left));
        }
        self.open[at].ops.push(op);
    }

    /// An insert looks at the row as it is now, whatever the snapshot shows.
    fn insert(&self, at: usize, key: usize, any: &str) -> (String, Option<String>) {
        let own = self.open[at].own.iter().filter(|(k, _)| *k == key).map(|(_, value)| value);
        let now = self.store[key].iter().map(|v| &v.2).chain(own).last();
        match now.is_some_and(|value| value == "absent") {
            true => (format!("insert({},{any})", KEYS[key]), Some(any.to_owned())),
            false => (format!("r({},{})", KEYS[key], self.seen(at, key)), None),
        }
    }

    /// Whether another transaction has written the row, or one that the snapshot does not show: the first writer wins.
    fn is_taken(&self, at: usize, key: usize, inserts: bool) -> bool {
        let others = self.open.iter().enumerate().filter(|(other, _)| *other != at);
        let locked = others.flat_map(|(_, run)| &run.own).any(|(k, _)| *k == key);
        let own = self.open[at].own.iter().any(|(k, _)| *k == key);
        let newer = self.store[key].iter().any(|v| !Server::sees(&self.open[at], v));
        locked || (newer && !own && !inserts)
    }

    fn commit(&mut self, at: usize, unknown: u64) {
        match self.random.below(100) {
            n if n < unknown => {
                if self.random.chance(50) {
                    self.apply(at);
                }
                self.end(at, "unknown ");
            }
            n if n > 90 => self.end(at, "abort "),
            _ => {
                self.apply(at);
                self.end(at, "");
            }
        }
    }

    fn apply(&mut self, at: usize) {
        let run = self.open[at].clone();
        let Some(number) = run.number else { return };
        for (i, (key, value)) in run.own.iter().enumerate() {
            let later = run.own[i + 1..].iter().any(|(other, _)| other == key);
            if *key == 2 || !later {
                self.store[*key].push((number, run.restart, value.clone()));
            }
        }
    }

    fn end(&mut self, at: usize, end: &'static str) {
        let mut run = self.open.remove(at);
        run.times.1 = self.tick();
        run.end = end;
        self.done.push(run);
    }

    /// Makes something wrong of what the server said.
    fn disturb(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            let pick = |random: &mut Random, len: usize| random.below(len as u64) as usize;
            let (a, b) =
                (pick(&mut self.random, self.done.len()), pick(&mut self.random, self.done.len()));
            let by = self.random.below(9) as i64 - 4;
            let (first, second) = (self.done[a].clone(), self.done[b].clone());
            match self.random.below(8) {
                0 | 1 => self.done[a].snap = second.snap,
                2 => (self.done[a].snap, self.done[b].snap) = (second.snap, first.snap),
                3 => self.done[a].snap.next += by,
                4 => self.done[a].snap.running.extend(second.number),
                5 => self.done[a].times.0 += 4 * by,
                6 => self.done[a].session = second.session,
                _ => {
                    (self.done[a].number, self.done[b].number) =
                        (second.number.or(first.number), first.number.or(second.number));
                }
            }
        }
    }

    fn text(&self) -> String {
        let mut text = "initial 0\nclock events\n".to_owned();
        for (t, run) in self.done.iter().enumerate().filter(|(_, run)| !run.ops.is_empty()) {
            let (begin, end) = (run.times.0, run.times.1);
            let end = if run.end.starts_with('u') { "_".into() } else { end.to_string() };
            let (ops, outcome) = (run.ops.join(" "), run.end);
            _ = write!(text, "s{} T{t}: {ops} {outcome}@[{begin},{end}] {{", run.session);
            run.number.iter().for_each(|number| _ = write!(text, "xid={number},"));
            if run.restart > 0 {
                _ = write!(text, "restart={},", run.restart);
            }
            let least = run.snap.running.iter().min().copied().unwrap_or(run.snap.next);
            let running: Vec<String> = run.snap.running.iter().map(i64::to_string).collect();
            let (next, running) = (run.snap.next, running.join(","));
            _ = writeln!(text, "snapshot={{xmin:{least},xmax:{next},xip:[{running}]}}}}");
        }
        text
    }
}
