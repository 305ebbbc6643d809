//! Whether any server that keeps a profile's promises can have given a trace: every instant inside the intervals is tried.

use std::collections::HashSet;

use isolde_history::LockMode;
use isolde_spec::{Certifier, PlainReads, Profile};

use super::script::{Act, End, Event, Held, LIST, Made, MadeOp, ROWS, Script};
use super::world::{Acting, Choices, Logged, NOBODY, World, rollback};

/// More states than this are not looked at.
const MOST: usize = 150_000;

/// Whether a trace can be explained; nothing if that would take too long.
pub(crate) fn is_explained(script: &Script, profile: &Profile) -> Option<bool> {
    let mut gave_up = false;
    for choice in 0..8 {
        let choices = Choices {
            idle_vanish: choice & 1 > 0,
            resets: choice & 2 > 0,
            finds_by_snapshot: choice & 4 > 0,
        };
        let is_idle = choices.idle_vanish && !profile.idle_updates_vanish;
        let savepoints = script.txns.iter().flat_map(|txn| &txn.stmts).flat_map(|stmt| &stmt.ops);
        let has_savepoints = savepoints.into_iter().any(|op| matches!(op.act, Act::Savepoint(_)));
        let locks = script.txns.iter().flat_map(|txn| &txn.stmts);
        let has_locks = locks.into_iter().any(|stmt| stmt.lock != LockMode::None);
        if is_idle
            || (choices.resets && !has_savepoints)
            || (choices.finds_by_snapshot && !has_locks)
        {
            continue;
        }
        match (Search { script, profile, choices }).run() {
            Some(true) => return Some(true),
            Some(false) => {}
            None => gave_up = true,
        }
    }
    (!gave_up).then_some(false)
}

struct Search<'s> {
    script: &'s Script,
    profile: &'s Profile,
    choices: Choices,
}

/// How far each transaction is, and what the server is like.
type State = (Vec<u8>, World);

impl Search<'_> {
    fn run(&self) -> Option<bool> {
        let events: Vec<Vec<Event>> = self.script.txns.iter().map(Made::events).collect();
        let mut seen: HashSet<State> = HashSet::new();
        let begin = (vec![0; events.len()], World::new(self.script));
        let mut todo: Vec<State> = vec![begin];
        while let Some((progress, world)) = todo.pop() {
            if self.is_over(&events, &progress) && is_lawful(self.profile, self.script, &world) {
                return Some(true);
            }
            if seen.len() > MOST {
                return None;
            }
            for next in self.nexts(&events, &progress, &world) {
                if seen.insert(next.clone()) {
                    todo.push(next);
                }
            }
        }
        Some(false)
    }

    /// Everything has happened that certainly has.
    fn is_over(&self, events: &[Vec<Event>], progress: &[u8]) -> bool {
        let each = self.script.txns.iter().zip(events).zip(progress);
        let mut left = each.map(|((txn, events), done)| (txn, &events[usize::from(*done)..]));
        left.all(|(txn, left)| left.is_empty() || (txn.end == End::Unknown && left.len() == 1))
    }

    /// What can happen next, each with what comes of it.
    fn nexts(&self, events: &[Vec<Event>], progress: &[u8], world: &World) -> Vec<State> {
        let txns = &self.script.txns;
        let head = |no: usize| events[no].get(usize::from(progress[no])).copied();
        // It is at least as late as everything was sent that has happened.
        let done = (0..txns.len()).flat_map(|no| {
            events[no][..usize::from(progress[no])]
                .iter()
                .map(move |event| txns[no].window(*event).0)
        });
        let now = done.max().unwrap_or(i64::MIN);
        let latest = (0..txns.len())
            .filter_map(|no| head(no).map(|event| txns[no].window(event).1))
            .min()
            .unwrap_or(i64::MAX);
        let mut all = Vec::new();
        for no in 0..txns.len() {
            let Some(event) = head(no) else { continue };
            let sent = now.max(txns[no].window(event).0);
            if sent > latest {
                continue;
            }
            let mut progress = progress.to_vec();
            progress[no] += 1;
            if event == Event::End && txns[no].end != End::Committed {
                let mut without = world.clone();
                rollback(&mut without, no as u8);
                all.push((progress.clone(), without));
            }
            if event == Event::End && txns[no].end == End::Aborted {
                continue;
            }
            let mut world = world.clone();
            let acting = Acting {
                profile: self.profile,
                choices: self.choices,
                by_column: self.script.by_column,
            };
            if let Ok(seen) = acting.step(&mut world, no as u8, &txns[no], event)
                && self.is_as_seen(&txns[no], event, seen)
            {
                all.push((progress, world));
            }
        }
        all
    }

    /// Whether an operation returned what the client saw.
    fn is_as_seen(&self, txn: &Made, event: Event, seen: Option<Held>) -> bool {
        let Event::Op(stmt, op) = event else { return true };
        let (lock, op) = (txn.stmts[stmt].lock, &txn.stmts[stmt].ops[op]);
        let row = match op.act {
            Act::Read(row) => row,
            Act::Look => ROWS.len(),
            _ => return true,
        };
        let is_free = self.profile.reads == PlainReads::Uncommitted && lock == LockMode::None;
        let (Some(saw), Some(seen)) = (&op.saw, seen) else { return true };
        is_free || is_same(self.script.by_column, row, op, saw, &seen)
    }
}

/// Whether a client that asked for some columns sees no difference.
fn is_same(by_column: bool, row: usize, op: &MadeOp, saw: &Held, seen: &Held) -> bool {
    match (saw, seen) {
        (Held::Row(a), Held::Row(b)) if by_column => {
            let asked = if op.asked == [false, false] { [true; 2] } else { op.asked };
            (0..2).all(|column| !asked[column] || a[column] == b[column])
        }
        (Held::Row(a), Held::Row(b)) => a[0] == b[0],
        // An empty list and none look the same.
        (Held::List(list), Held::Absent) | (Held::Absent, Held::List(list)) => {
            row == LIST && list.is_empty()
        }
        _ => saw == seen,
    }
}

/// An edge between committed transactions; the third says whether it is an anti-dependency.
type Edge = (u8, u8, bool);

/// Whether the certifier lets all that committed commit.
pub(crate) fn is_lawful(profile: &Profile, script: &Script, world: &World) -> bool {
    if profile.certifier == Certifier::None {
        return true;
    }
    let edges = edges(world);
    let at = |what: Logged| world.log.iter().rposition(|logged| *logged == what);
    match profile.certifier {
        Certifier::TimestampOrder => {
            edges.iter().all(|(from, to, _)| at(Logged::Began(*from)) < at(Logged::Began(*to)))
        }
        Certifier::Ssi => is_acyclic(&edges, script.txns.len()) && !has_dangerous(&edges, world),
        _ => is_acyclic(&edges, script.txns.len()),
    }
}

fn edges(world: &World) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut add = |from: u8, to: u8, anti: bool| {
        if from != NOBODY && to != NOBODY && from != to {
            edges.push((from, to, anti));
        }
    };
    for versions in &world.rows {
        versions.windows(2).for_each(|pair| add(pair[0].0, pair[1].0, false));
    }
    for (reader, reads) in &world.committed {
        for (row, version) in reads {
            let versions = &world.rows[usize::from(*row)];
            let version = usize::from(*version);
            add(versions[version].0, *reader, false);
            if let Some((next, _)) = versions.get(version + 1) {
                add(*reader, *next, true);
            }
        }
    }
    edges
}

fn is_acyclic(edges: &[Edge], txns: usize) -> bool {
    let mut left: Vec<u8> = (0..txns as u8).collect();
    loop {
        let before = left.len();
        let all = left.clone();
        left.retain(|no| edges.iter().any(|(from, to, _)| to == no && all.contains(from)));
        if left.is_empty() {
            return true;
        }
        if left.len() == before {
            return false;
        }
    }
}

/// Whether there are two anti-dependencies in a row that PostgreSQL would not have let commit.
fn has_dangerous(edges: &[Edge], world: &World) -> bool {
    let at = |what: Logged| world.log.iter().rposition(|logged| *logged == what);
    let commit = |no: u8| at(Logged::Committed(no));
    let snapshot = |no: u8| at(Logged::Snapshot(no));
    let wrote = |no: u8| world.rows.iter().flatten().any(|(writer, _)| *writer == no);
    let overlap = |a: u8, b: u8| snapshot(a) < commit(b) && snapshot(b) < commit(a);
    let antis = || edges.iter().filter(|edge| edge.2);
    antis().any(|(one, two, _)| {
        antis().filter(|(from, ..)| from == two).any(|(_, three, _)| {
            overlap(*one, *two)
                && overlap(*two, *three)
                && commit(*three) < commit(*two)
                && (one == three || commit(*three) < commit(*one))
                && (wrote(*one) || commit(*three) < snapshot(*one))
        })
    })
}
