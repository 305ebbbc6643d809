//! Tiny histories with snapshots: run by a tiny server, then disturbed.

mod disturb;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use isolde_workload::Random;

/// The history of a seed, in the text notation: with snapshots of transactions, or of statements.
pub fn text(seed: u64, by_statement: bool) -> String {
    let mut random = Random::stream(seed, 7 + u64::from(by_statement));
    let shape = Shape::new(&mut random, by_statement);
    let mut server = Server::new(shape, random);
    server.run();
    server.disturb();
    server.text()
}

struct Shape {
    by_statement: bool,
    sessions: u64,
    txns: u64,
    keys: u64,
    lists: bool,
    conditional: bool,
    savepoints: bool,
    unique: bool,
    initial: bool,
    restarts: bool,
    unknown: u64,
    aborted: u64,
    /// How many of a hundred checks for conflicts the server forgets, and reads it gets wrong.
    careless: u64,
    mutations: u64,
    incomplete: bool,
    numbered: bool,
    events: bool,
    locks: bool,
    /// How many of a hundred pieces of evidence are missing.
    missing: u64,
}

impl Shape {
    fn new(random: &mut Random, by_statement: bool) -> Shape {
        let often = |random: &mut Random, percent| random.below(100) < percent;
        let calm = often(random, 35);
        let lists = often(random, 30);
        Shape {
            by_statement,
            sessions: 2 + random.below(3),
            txns: 3 + random.below(4),
            keys: 1 + random.below(3),
            lists,
            conditional: often(random, 50),
            savepoints: often(random, 15),
            unique: often(random, 60),
            initial: often(random, 40),
            restarts: often(random, 20),
            unknown: if often(random, 40) { 25 } else { 0 },
            aborted: if often(random, 40) { 20 } else { 0 },
            careless: if calm || often(random, 50) { 0 } else { 15 },
            mutations: match () {
                () if calm => 0,
                () if often(random, 10) => 4 + random.below(6),
                () => 1 + random.below(2),
            },
            incomplete: !lists && often(random, 8),
            numbered: often(random, 15),
            events: often(random, 20),
            locks: often(random, 60),
            missing: if often(random, 10) { 10 } else { 0 },
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Snap {
    xmin: i64,
    xmax: i64,
    xip: Vec<i64>,
}

impl Snap {
    fn shows(&self, xid: i64) -> bool {
        xid < self.xmin || (xid < self.xmax && !self.xip.contains(&xid))
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Read,
    Write,
    Delete,
    Insert,
    Cas,
    Append,
    List,
    Savepoint,
    Rollback,
}

#[derive(Clone, Debug)]
struct Act {
    kind: Kind,
    key: u64,
    seen: Option<i64>,
    value: i64,
    refused: bool,
    list: Vec<i64>,
}

#[derive(Clone, Debug)]
struct Statement {
    acts: Vec<Act>,
    locks: bool,
    snap: Option<Snap>,
    begin: Option<i64>,
    end: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Running,
    Committed,
    Aborted,
    /// The answer was lost; the flag says whether it did commit.
    Unknown,
}

#[derive(Clone, Debug)]
struct Run {
    session: u64,
    state: State,
    xid: Option<i64>,
    restart: i64,
    snap: Option<Snap>,
    stmts: Vec<Statement>,
    begin: Option<i64>,
    end: Option<i64>,
    sent: Option<i64>,
    left: u64,
    own: Vec<(u64, Option<i64>)>,
    saved: Option<usize>,
    waits: u64,
    pending: Option<Statement>,
}

/// A version, or an element of a list.
#[derive(Clone, Copy, Debug)]
struct Version {
    xid: i64,
    restart: i64,
    value: Option<i64>,
}

struct Server {
    shape: Shape,
    random: Random,
    clock: i64,
    restart: i64,
    next_xid: i64,
    next_value: i64,
    /// The versions of each key, as they were committed.
    store: BTreeMap<u64, Vec<Version>>,
    runs: Vec<Run>,
    current: Vec<Option<usize>>,
}

impl Server {
    fn new(shape: Shape, random: Random) -> Server {
        let sessions = shape.sessions as usize;
        Server {
            shape,
            random,
            clock: 0,
            restart: 0,
            next_xid: 10,
            next_value: 0,
            store: BTreeMap::new(),
            runs: Vec::new(),
            current: vec![None; sessions],
        }
    }

    fn often(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pick(&mut self, len: usize) -> usize {
        self.random.below(len as u64) as usize
    }

    fn tick(&mut self) -> i64 {
        self.clock += 1 + self.random.below(2) as i64;
        self.clock
    }

    fn fresh(&mut self) -> i64 {
        self.next_value += 1;
        if self.shape.unique { self.next_value } else { 1 + self.random.below(3) as i64 }
    }

    fn is_list(&self, key: u64) -> bool {
        self.shape.lists && key == 0
    }

    fn run(&mut self) {
        for _ in 0..400 {
            let session = self.random.below(self.shape.sessions) as usize;
            if self.shape.restarts && self.often(4) {
                self.crash();
            }
            match self.current[session] {
                Some(t) => self.step(t),
                None if (self.runs.len() as u64) < self.shape.txns => self.begin(session),
                None if self.current.iter().all(Option::is_none) => return,
                None => {}
            }
        }
        for t in 0..self.runs.len() {
            if self.runs[t].state == State::Running {
                self.end(t, State::Aborted);
            }
        }
    }

    fn begin(&mut self, session: usize) {
        let begin = Some(self.tick());
        let left = 1 + self.random.below(4);
        let run = Run {
            session: session as u64,
            state: State::Running,
            xid: None,
            restart: self.restart,
            snap: None,
            stmts: Vec::new(),
            begin,
            end: None,
            sent: None,
            left,
            own: Vec::new(),
            saved: None,
            waits: 0,
            pending: None,
        };
        self.current[session] = Some(self.runs.len());
        self.runs.push(run);
        if self.often(10) {
            self.number(self.runs.len() - 1);
        }
    }

    /// All that runs is lost; numbers may be used again.
    fn crash(&mut self) {
        for t in 0..self.runs.len() {
            if self.runs[t].state == State::Running {
                let unknown = self.often(30) && !self.runs[t].stmts.is_empty();
                if unknown && self.random.coin() {
                    self.apply(t);
                }
                self.end(t, if unknown { State::Unknown } else { State::Aborted });
            }
        }
        self.restart += 1;
        if self.random.coin() {
            self.next_xid -= self.random.below(4) as i64;
        }
    }

    fn number(&mut self, t: usize) {
        if self.runs[t].xid.is_none() {
            self.runs[t].xid = Some(self.next_xid);
            self.next_xid += 1;
        }
    }

    fn snap(&mut self) -> Snap {
        let running = |run: &&Run| run.state == State::Running && run.restart == self.restart;
        let mut xip: Vec<i64> =
            self.runs.iter().filter(running).filter_map(|run| run.xid).collect();
        xip.sort_unstable();
        let xmin = xip.first().copied().unwrap_or(self.next_xid);
        Snap { xmin, xmax: self.next_xid, xip }
    }

    fn shows(snap: &Snap, restart: i64, version: &Version) -> bool {
        version.restart < restart || (version.restart == restart && snap.shows(version.xid))
    }

    /// Whether another running transaction has written the key.
    fn locked(&self, t: usize, key: u64) -> bool {
        let others = self.runs.iter().enumerate().filter(|(o, _)| *o != t);
        let mut running = others.filter(|(_, run)| run.state == State::Running);
        running.any(|(_, run)| run.own.iter().any(|(k, _)| *k == key))
    }

    fn step(&mut self, t: usize) {
        if self.runs[t].left == 0 && self.runs[t].pending.is_none() {
            self.commit(t);
            return;
        }
        let mut stmt = match self.runs[t].pending.take() {
            Some(stmt) => stmt,
            None => {
                self.runs[t].left -= 1;
                self.plan(t)
            }
        };
        let key = stmt.acts[0].key;
        let kind = stmt.acts[0].kind;
        let writes =
            matches!(kind, Kind::Write | Kind::Delete | Kind::Insert | Kind::Cas | Kind::Append);
        if writes {
            self.number(t);
        }
        let careless = self.often(self.shape.careless);
        if (writes || stmt.locks) && self.locked(t, key) && !careless {
            self.runs[t].waits += 1;
            if self.runs[t].waits > 8 {
                self.end(t, State::Aborted);
            } else {
                self.runs[t].pending = Some(stmt);
            }
            return;
        }
        let snap =
            if self.shape.by_statement { stmt.snap.clone() } else { self.runs[t].snap.clone() };
        let snap = snap.unwrap_or_default();
        let restart = self.runs[t].restart;
        let own = self.runs[t].own.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| *v);
        // By transaction: the first writer wins.
        let late = self.store.get(&key).into_iter().flatten();
        let late = late.filter(|v| !Server::shows(&snap, restart, v)).count() > 0;
        let updates = matches!(kind, Kind::Write | Kind::Delete | Kind::Cas | Kind::Append);
        let clash = late && own.is_none() && !self.shape.by_statement && !careless;
        if clash && (updates || stmt.locks) {
            self.end(t, State::Aborted);
            return;
        }
        let current = self.shape.by_statement && (writes || stmt.locks);
        for act in &mut stmt.acts {
            self.act(t, act, &snap, current || act.kind == Kind::Insert);
        }
        stmt.end = Some(self.tick());
        self.runs[t].stmts.push(stmt);
    }

    /// The next statement: what it does, and the snapshot that it takes now.
    fn plan(&mut self, t: usize) -> Statement {
        let begin = Some(self.tick());
        let key = self.random.below(self.shape.keys);
        let mut value = self.fresh();
        let savepoint = self.shape.savepoints && self.often(30);
        let kind = match self.random.below(10) {
            _ if savepoint && self.runs[t].saved.is_none() => Kind::Savepoint,
            _ if savepoint => Kind::Rollback,
            0..4 if self.is_list(key) => Kind::List,
            _ if self.is_list(key) => Kind::Append,
            0..4 => Kind::Read,
            4..=6 => Kind::Write,
            _ if !self.shape.conditional => Kind::Write,
            7 => Kind::Delete,
            8 => Kind::Insert,
            _ => Kind::Cas,
        };
        let reads = matches!(kind, Kind::Read | Kind::List);
        if !reads && !matches!(kind, Kind::Savepoint | Kind::Rollback) && self.often(50) {
            self.number(t);
        }
        let locks =
            reads && self.shape.locks && self.often(if self.shape.by_statement { 40 } else { 10 });
        let snap = self.snap();
        if self.runs[t].snap.is_none() {
            self.runs[t].snap = Some(snap.clone());
        }
        let mut acts = Vec::new();
        if kind == Kind::Cas {
            value = self.fresh();
        }
        acts.push(Act { kind, key, seen: None, value, refused: false, list: Vec::new() });
        if reads && self.often(15) {
            let key = self.random.below(self.shape.keys);
            if !self.is_list(key) && !locks {
                let kind = Kind::Read;
                acts.push(Act { kind, key, seen: None, value, refused: false, list: Vec::new() });
            }
        }
        Statement { acts, locks, snap: Some(snap), begin, end: None }
    }

    fn act(&mut self, t: usize, act: &mut Act, snap: &Snap, current: bool) {
        let restart = self.runs[t].restart;
        let key = act.key;
        match act.kind {
            Kind::Savepoint => {
                self.runs[t].saved = Some(self.runs[t].own.len());
                return;
            }
            Kind::Rollback => {
                let len = self.runs[t].saved.take().unwrap_or(0);
                self.runs[t].own.truncate(len);
                return;
            }
            _ => {}
        }
        let versions = self.store.get(&key).cloned().unwrap_or_default();
        let visible: Vec<Version> =
            versions.into_iter().filter(|v| current || Server::shows(snap, restart, v)).collect();
        let own: Vec<Option<i64>> =
            self.runs[t].own.iter().filter(|(k, _)| *k == key).map(|(_, v)| *v).collect();
        act.list =
            visible.iter().filter_map(|v| v.value).chain(own.iter().flatten().copied()).collect();
        let initial = self.shape.initial.then_some(0);
        let mut seen = own.last().copied().unwrap_or(visible.last().map_or(initial, |v| v.value));
        if self.often(self.shape.careless / 3) {
            seen = Some(1 + self.random.below(self.next_value as u64 + 1) as i64);
            act.list.pop();
        }
        act.seen = seen;
        let left = match act.kind {
            Kind::Write | Kind::Append => Some(Some(act.value)),
            Kind::Delete => Some(None),
            Kind::Insert => {
                act.refused = seen.is_some();
                (!act.refused).then_some(Some(act.value))
            }
            Kind::Cas => {
                if self.often(25) {
                    act.seen = Some(1 + self.random.below(4) as i64);
                }
                act.refused = act.seen != seen;
                (!act.refused).then_some(Some(act.value))
            }
            _ => None,
        };
        if let Some(left) = left {
            self.runs[t].own.push((key, left));
        }
    }

    fn commit(&mut self, t: usize) {
        self.runs[t].sent = Some(self.tick());
        if self.often(self.shape.aborted) {
            self.end(t, State::Aborted);
        } else if self.often(self.shape.unknown) {
            if self.random.coin() {
                self.apply(t);
            }
            self.end(t, State::Unknown);
        } else {
            self.apply(t);
            self.end(t, State::Committed);
        }
    }

    fn apply(&mut self, t: usize) {
        let run = self.runs[t].clone();
        let mut last: BTreeMap<u64, Option<i64>> = BTreeMap::new();
        let xid = run.xid.unwrap_or(0);
        for (key, value) in run.own {
            if self.is_list(key) {
                let version = Version { xid, restart: run.restart, value };
                self.store.entry(key).or_default().push(version);
            } else {
                last.insert(key, value);
            }
        }
        for (key, value) in last {
            self.store.entry(key).or_default().push(Version { xid, restart: run.restart, value });
        }
    }

    fn end(&mut self, t: usize, state: State) {
        let at = self.tick();
        let run = &mut self.runs[t];
        run.state = state;
        run.end = (state != State::Unknown).then_some(at);
        self.current[run.session as usize] = None;
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.shape.initial {
            text.push_str("initial 0\n");
        }
        if self.shape.events {
            text.push_str("clock events\n");
        }
        if self.shape.incomplete && !self.shape.numbered {
            text.push_str("incomplete\n");
        }
        let time = |at: Option<i64>| at.map_or("_".to_owned(), |at| at.to_string());
        let show = |snap: &Snap| {
            let xip: Vec<String> = snap.xip.iter().map(i64::to_string).collect();
            format!("snapshot={{xmin:{},xmax:{},xip:[{}]}}", snap.xmin, snap.xmax, xip.join(","))
        };
        let mut numbers = vec![0; self.shape.sessions as usize];
        for (t, run) in self.runs.iter().enumerate() {
            _ = write!(text, "s{} T{t}:", run.session);
            for stmt in &run.stmts {
                let acts: Vec<String> = stmt.acts.iter().map(act_text).collect();
                _ = write!(text, " [{}]", acts.join(" "));
                if stmt.begin.is_some() || stmt.end.is_some() {
                    _ = write!(text, "@[{},{}]", time(stmt.begin), time(stmt.end));
                }
                let mut attrs = Vec::new();
                // PostgreSQL lists all that runs but the transaction that asks.
                let mut snap = stmt.snap.clone().filter(|_| self.shape.by_statement);
                snap.iter_mut().for_each(|snap| snap.xip.retain(|id| Some(*id) != run.xid));
                attrs.extend(snap.as_ref().map(show));
                attrs.extend(stmt.locks.then(|| "lock=exclusive".to_owned()));
                if !attrs.is_empty() {
                    _ = write!(text, "{{{}}}", attrs.join(","));
                }
            }
            text.push_str(match run.state {
                State::Committed | State::Running => "",
                State::Aborted => " abort",
                State::Unknown => " unknown",
            });
            if run.begin.is_some() || run.end.is_some() {
                _ = write!(text, " @[{},{}]", time(run.begin), time(run.end));
            }
            let mut attrs = Vec::new();
            attrs.extend(run.xid.map(|xid| format!("xid={xid}")));
            attrs.extend((run.restart != 0).then(|| format!("restart={}", run.restart)));
            attrs.extend(run.snap.as_ref().filter(|_| !self.shape.by_statement).map(show));
            attrs.extend(run.sent.map(|sent| format!("end-sent={sent}")));
            let number = &mut numbers[run.session as usize];
            *number += 1;
            let gap = i64::from(self.shape.incomplete && *number > 1);
            attrs.extend(self.shape.numbered.then(|| format!("seq={}", *number + gap)));
            if !attrs.is_empty() {
                _ = write!(text, " {{{}}}", attrs.join(","));
            }
            text.push('\n');
        }
        text
    }
}

fn act_text(act: &Act) -> String {
    let key = ["x", "y", "z"][act.key as usize];
    let seen = act.seen.map_or("absent".to_owned(), |v| v.to_string());
    let (value, sign) = (act.value, if act.refused { "!" } else { "" });
    match act.kind {
        Kind::Read => format!("r({key},{seen})"),
        Kind::Write => format!("w({key},{value})"),
        Kind::Delete => format!("delete({key})"),
        Kind::Insert => format!("insert{sign}({key},{value})"),
        Kind::Cas => format!("cas{sign}({key},{seen},{value})"),
        Kind::Append => format!("append({key},{value})"),
        Kind::List => {
            let list: Vec<String> = act.list.iter().map(i64::to_string).collect();
            format!("list({key},[{}])", list.join(","))
        }
        Kind::Savepoint => "savepoint(s)".to_owned(),
        Kind::Rollback => "rollback(s)".to_owned(),
    }
}
