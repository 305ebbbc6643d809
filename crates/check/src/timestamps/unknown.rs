//! Transactions of unknown outcome: which of them committed, and when.
//!
//! The answer to their COMMIT was lost, and with it, as a rule, their commit timestamp. Such a transaction may
//! be left out unless a transaction that counts read from it. If it counts, it committed at its timestamp,
//! or, without one, at some point after its start. A history is right if some choice contradicts nothing.
//!
//! Points between two timestamps that matter to the keys of a transaction are all alike, so one of each gap is
//! tried. Transactions that share no key do not matter to each other; the others are tried together, the one
//! that was read first first, and a choice is given up as soon as it contradicts something. The number of
//! steps is limited; beyond it, the answer is unknown.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Effect, OpId, SessionId, TxnId, Value};
use isolde_spec::Axiom;

use crate::keys::standing::Standing;
use crate::limits::{Limit, Limits};
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::{TimedDoubt, TimedFinding, TimedFindings};
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::moments::Moment;
use crate::timestamps::rules::Ordering;
use crate::timestamps::sessions;
use crate::timestamps::supply::wrote;

/// A commit point that was assumed: between the two moments, if there are such.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssumedPoint {
    pub(crate) txn: TxnId,
    pub(crate) after: Option<Moment>,
    pub(crate) until: Option<Moment>,
}

/// What became of the transactions of unknown outcome.
#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) assumed: Vec<AssumedPoint>,
    pub(crate) doubts: Vec<TimedDoubt>,
    /// How many choices were tried.
    pub(crate) tried: u64,
}

/// A transaction of unknown outcome that may have been read.
struct Candidate {
    txn: TxnId,
    /// Whether it has to count: a transaction that counts has read from it, and can have read from no other.
    proved: bool,
    /// The keys that it touched, ascending.
    keys: Vec<usize>,
    /// After which moment it committed, if there is such a bound, and by which it had.
    after: Option<Moment>,
    until: Option<Moment>,
    /// The moments that matter to its keys, ascending.
    events: Vec<Moment>,
}

/// What is wrong with a key whatever became of the candidates.
#[derive(Default)]
struct Certain {
    reads: HashSet<OpId>,
    conflicts: HashSet<TxnId>,
    /// The values that candidates may have left under the key.
    values: HashMap<Value, Vec<TxnId>>,
}

/// Decides about all transactions of unknown outcome, and says in the case which committed when.
pub(crate) fn settle(case: &mut TimedCase<'_>, limits: &Limits<'_>) -> Result<Settled, Limit> {
    let mut settled = Settled::default();
    let unknown: Vec<TxnId> = unknown(case);
    if unknown.is_empty() {
        return Ok(settled);
    }
    let mut search = Search::new(case, &unknown);
    for candidate in &search.candidates {
        limits.go_on()?;
        let start = case.moments.start_of(candidate.txn);
        if candidate.proved && case.ordering == Ordering::Snapshots && start == Moment::NEVER {
            settled.doubts.push(TimedDoubt::NoStart(candidate.txn));
        }
    }
    for group in search.groups() {
        match search.solve(case, &group, limits)? {
            Solved::Found => {}
            Solved::Impossible => search.as_read(case, &group),
            Solved::TooMany => {
                let txns = group.iter().map(|at| search.candidates[*at].txn);
                case.open.extend(txns);
                case.open.sort_unstable();
                let first = search.candidates[group[0]].txn;
                settled.doubts.push(TimedDoubt::NotTried(first));
            }
        }
    }
    settled.tried = search.tried;
    settled.assumed = search.assumed;
    Ok(settled)
}

/// The transactions of unknown outcome that wrote, and of which it is open whether or when they committed.
/// What became of those that only read does not matter.
fn unknown(case: &TimedCase<'_>) -> Vec<TxnId> {
    let history = case.keys.history;
    let unknown = |txn: &TxnId| {
        let open = match case.standings[txn.index()] {
            Standing::Unproved => true,
            // What was read of it may be of a transaction that is missing.
            Standing::Proved => !case.complete || case.moments.commit_of(*txn) == Moment::NEVER,
            Standing::Committed | Standing::RolledBack => false,
        };
        open && wrote(&history.txn(*txn))
    };
    (0..history.txn_count() as u32).map(TxnId).filter(unknown).collect()
}

/// After all.
const LATEST: Moment = Moment(i64::MAX);

enum Solved {
    Found,
    Impossible,
    TooMany,
}

struct Search {
    candidates: Vec<Candidate>,
    certain: HashMap<usize, Certain>,
    key: JudgedKey,
    tried: u64,
    assumed: Vec<AssumedPoint>,
    /// Whether a gap was too narrow for one more point.
    squeezed: bool,
}

impl Search {
    fn new(case: &mut TimedCase<'_>, unknown: &[TxnId]) -> Search {
        let proved: Vec<bool> = unknown
            .iter()
            .map(|txn| std::mem::replace(&mut case.standings[txn.index()], Standing::Unproved))
            .map(|standing| standing == Standing::Proved && case.complete)
            .collect();
        let candidates = unknown.iter().zip(proved);
        let candidates = candidates.map(|(txn, proved)| candidate(case, *txn, proved)).collect();
        let mut search = Search {
            candidates,
            certain: HashMap::new(),
            key: JudgedKey::default(),
            tried: 0,
            assumed: Vec::new(),
            squeezed: false,
        };
        search.look_at_keys(case);
        // What nobody can have read is left out.
        search.candidates.retain(|c| c.proved || c.until.is_some());
        search
    }

    /// Finds out what is certain of the keys of candidates, and bounds for the candidates.
    fn look_at_keys(&mut self, case: &mut TimedCase<'_>) {
        let mut at_key: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            candidate.keys.iter().for_each(|key| at_key.entry(*key).or_default().push(at));
        }
        let mut keys: Vec<usize> = at_key.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.look_at(case, key, &at_key[&key]);
        }
        for candidate in &mut self.candidates {
            candidate.events.sort_unstable();
            candidate.events.dedup();
        }
    }

    fn look_at(&mut self, case: &mut TimedCase<'_>, key: usize, here: &[usize]) {
        let mut found = TimedFindings::default();
        self.key.judge(case, key, &mut found);
        let JudgedKey { facts, timeline, .. } = &self.key;
        let mut certain = Certain::default();
        for write in facts.writes.iter().filter(|w| w.standing == Standing::Unproved) {
            // Every element of a list can be read, of a register only the last value.
            if write.may_have_happened() && (write.last || facts.is_list) {
                certain.values.entry(write.value).or_default().push(write.txn);
            }
        }
        let values = &certain.values;
        for finding in &found.findings {
            match (finding.axiom, finding.op) {
                (Axiom::Ext, Some(op)) if !may_be_from(case, op, values, |_| true) => {
                    certain.reads.insert(op);
                }
                (Axiom::NoConflict, _) => {
                    certain.conflicts.insert(finding.txn);
                }
                _ => {}
            }
        }
        let mut events: Vec<Moment> = Vec::new();
        for version in &timeline.versions {
            events.extend(version.start.known().into_iter().chain([version.commit]));
        }
        // One candidate may have to commit before another one starts.
        let others = values.values().flatten().map(|txn| case.moments.start_of(*txn));
        events.extend(others.filter_map(Moment::known));
        let mut until: HashMap<TxnId, Moment> = HashMap::new();
        let mut read_by = |writer: TxnId, place: Moment| {
            let earliest = until.entry(writer).or_insert(place);
            *earliest = place.min(*earliest);
        };
        let reads = facts.reads.iter().map(|r| (r.txn, r.op));
        for (txn, op) in reads.chain(facts.list_reads.iter().map(|r| (r.txn, r.op))) {
            // A writer that reads sees what comes before its own commit.
            let place = case.exclusive_place(txn).unwrap_or(case.limit(txn));
            events.extend(place.known());
            for value in values_read(case, op) {
                let Some(writers) = values.get(&value) else { continue };
                // It binds only if there is no other way to have read it.
                let only = writers.len() == 1
                    && case.counts(txn)
                    && value != case.keys.first_value(key)
                    && facts.writes.iter().filter(|w| w.value == value).count() == 1;
                let place = if only { place } else { LATEST };
                writers.iter().filter(|w| **w != txn).for_each(|w| read_by(*w, place));
            }
        }
        // What a refused operation saw may be anything.
        events.extend(
            facts
                .refused
                .iter()
                .filter_map(|(_, txn)| case.exclusive_place(*txn).or(case.limit(*txn).known())),
        );
        if !facts.refused.is_empty() {
            values.values().flatten().for_each(|writer| read_by(*writer, LATEST));
        }
        for at in here {
            let candidate = &mut self.candidates[*at];
            candidate.events.extend(&events);
            if let Some(place) = until.get(&candidate.txn) {
                // What was not proved may be left out, so that no reader binds it.
                let place = if candidate.proved { *place } else { LATEST };
                candidate.until = Some(candidate.until.map_or(place, |until| until.min(place)));
            }
        }
        self.certain.insert(key, certain);
    }

    /// Candidates that share keys, the one that was read first first.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut group_of: Vec<usize> = (0..self.candidates.len()).collect();
        let mut first_at: HashMap<usize, usize> = HashMap::new();
        let find = |group_of: &Vec<usize>, mut at: usize| {
            while group_of[at] != at {
                at = group_of[at];
            }
            at
        };
        for (at, candidate) in self.candidates.iter().enumerate() {
            for key in &candidate.keys {
                let other = *first_at.entry(*key).or_insert(at);
                let (a, b) = (find(&group_of, at), find(&group_of, other));
                group_of[a.max(b)] = a.min(b);
            }
        }
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in 0..self.candidates.len() {
            groups.entry(find(&group_of, at)).or_default().push(at);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_unstable();
        for group in &mut groups {
            group.sort_by_key(|at| (self.candidates[*at].until, *at));
        }
        groups
    }

    /// Tries the commit points of a group, one transaction after another.
    fn solve(
        &mut self,
        case: &mut TimedCase<'_>,
        group: &[usize],
        limits: &Limits<'_>,
    ) -> Result<Solved, Limit> {
        let mut left = limits.steps();
        self.squeezed = false;
        let commits: Vec<Moment> =
            group.iter().map(|at| case.moments.commit_of(self.candidates[*at].txn)).collect();
        let mut choices: Vec<Vec<Option<Moment>>> = vec![self.choices(case, group, 0, &commits)];
        while let Some(open) = choices.last_mut() {
            let choice = open.pop();
            let depth = choices.len() - 1;
            let at = group[depth];
            let Some(choice) = choice else {
                self.choose(case, at, None, commits[depth]);
                choices.pop();
                continue;
            };
            limits.go_on()?;
            self.tried += 1;
            self.choose(case, at, choice, commits[depth]);
            let Some(rest) = self.contradicts_nothing(case, group, depth, &mut left) else {
                let txns = group.iter().enumerate();
                txns.for_each(|(i, at)| self.choose(case, *at, None, commits[i]));
                return Ok(Solved::TooMany);
            };
            if !rest {
                continue;
            }
            if depth + 1 == group.len() {
                self.remember(case, group, &commits);
                return Ok(Solved::Found);
            }
            let next = self.choices(case, group, depth + 1, &commits);
            choices.push(next);
        }
        Ok(if self.squeezed { Solved::TooMany } else { Solved::Impossible })
    }

    /// Takes a transaction to have committed at a moment, or to be left out.
    fn choose(&self, case: &mut TimedCase<'_>, at: usize, choice: Option<Moment>, stamp: Moment) {
        let txn = self.candidates[at].txn;
        let standing = if choice.is_some() { Standing::Proved } else { Standing::Unproved };
        case.standings[txn.index()] = standing;
        case.set_commit(txn, choice.unwrap_or(stamp));
    }

    /// What a transaction may have done, the most likely last: left out if that is allowed, else committed in
    /// some gap, early ones first.
    fn choices(
        &mut self,
        case: &TimedCase<'_>,
        group: &[usize],
        depth: usize,
        commits: &[Moment],
    ) -> Vec<Option<Moment>> {
        let at = group[depth];
        let candidate = &self.candidates[at];
        let mut choices: Vec<Option<Moment>> = Vec::new();
        if let Some(stamp) = commits[depth].known() {
            choices.push(Some(stamp));
        } else {
            let mut events = candidate.events.clone();
            let placed = group[..depth].iter().map(|other| self.candidates[*other].txn);
            let placed =
                placed.filter(|txn| case.counts(*txn)).map(|txn| case.moments.commit_of(txn));
            events.extend(placed.filter_map(Moment::known));
            events.sort_unstable();
            events.dedup();
            let until = candidate.until.unwrap_or(LATEST);
            let (gaps, squeezed) = gaps(&events, candidate.after, until);
            self.squeezed |= squeezed;
            choices.extend(gaps.into_iter().rev().map(Some));
        }
        if !candidate.proved {
            choices.push(None);
        }
        choices
    }

    /// Whether the keys of the last transaction that was chosen show nothing that is wrong because of the
    /// choices so far. `None`: the steps are used up.
    fn contradicts_nothing(
        &mut self,
        case: &TimedCase<'_>,
        group: &[usize],
        depth: usize,
        left: &mut u64,
    ) -> Option<bool> {
        let candidate = &self.candidates[group[depth]];
        if case.counts(candidate.txn)
            && !candidate.proved
            && breaks_rules_alone(case, candidate.txn)
        {
            return Some(false);
        }
        let undecided: HashSet<TxnId> =
            group[depth + 1..].iter().map(|at| self.candidates[*at].txn).collect();
        let of_group: HashSet<TxnId> = group.iter().map(|at| self.candidates[*at].txn).collect();
        for at in 0..candidate.keys.len() {
            let key = self.candidates[group[depth]].keys[at];
            let mut found = TimedFindings::default();
            self.key.judge(case, key, &mut found);
            let facts = &self.key.facts;
            let steps = facts.reads.len() + facts.writes.len() + facts.list_reads.len() + 1;
            *left = left.checked_sub(steps as u64)?;
            let certain = &self.certain[&key];
            let wrong = |f: &TimedFinding| match (f.axiom, f.op) {
                (Axiom::Ext, Some(op)) => {
                    !certain.reads.contains(&op)
                        && !may_be_from(case, op, &certain.values, |txn| undecided.contains(txn))
                }
                (Axiom::NoConflict, _) => !certain.conflicts.contains(&f.txn),
                (Axiom::Int, _) => of_group.contains(&f.txn) && !self.is_proved(f.txn),
                (Axiom::Stamps, _) => of_group.contains(&f.txn),
                _ => false,
            };
            if found.findings.iter().any(wrong) {
                return Some(false);
            }
        }
        Some(true)
    }

    fn is_proved(&self, txn: TxnId) -> bool {
        self.candidates.iter().any(|c| c.txn == txn && c.proved)
    }

    /// Nothing explains a group: each transaction that was read is taken to have committed just before its
    /// first reader, so that what is wrong shows there.
    fn as_read(&mut self, case: &mut TimedCase<'_>, group: &[usize]) {
        let mut commits = Vec::new();
        for at in group {
            let candidate = &self.candidates[*at];
            let stamp = case.moments.commit_of(candidate.txn);
            commits.push(stamp);
            let latest =
                gaps(&candidate.events, candidate.after, candidate.until.unwrap_or(LATEST));
            let after = candidate.after.map(|after| Moment(after.0 + 1));
            let point = stamp.known().or(latest.0.last().copied()).or(after);
            let point = if candidate.proved { point } else { None };
            self.choose(case, *at, point, stamp);
        }
        self.remember(case, group, &commits);
    }

    /// Keeps what was assumed.
    fn remember(&mut self, case: &TimedCase<'_>, group: &[usize], commits: &[Moment]) {
        for (at, stamp) in group.iter().zip(commits) {
            let candidate = &self.candidates[*at];
            if !case.counts(candidate.txn) || *stamp != Moment::NEVER {
                continue;
            }
            let point = case.moments.commit_of(candidate.txn);
            let stamps = |m: &&Moment| case.moments.timestamp(**m).is_some();
            let before = candidate.events.iter().filter(|e| **e < point).rfind(stamps);
            let next = candidate.events.iter().filter(|e| **e > point).find(stamps);
            self.assumed.push(AssumedPoint {
                txn: candidate.txn,
                after: before.copied().max(candidate.after),
                until: next.copied(),
            });
        }
    }
}

/// Whether a transaction that may be left out breaks a rule on its own account.
fn breaks_rules_alone(case: &TimedCase<'_>, txn: TxnId) -> bool {
    let bad = case.ordering == Ordering::Snapshots && sessions::has_bad_timestamps(case, txn);
    let late = case.promise.session_order
        && session_bound(case, txn).is_some_and(|bound| !sessions::comes_after(case, bound, txn));
    bad || late
}

fn candidate(case: &TimedCase<'_>, txn: TxnId, proved: bool) -> Candidate {
    let history = case.keys.history;
    let keys = history.txn(txn).ops().map(|op| op.key().index());
    let mut keys: Vec<usize> = keys.filter(|key| *key < history.key_count()).collect();
    keys.sort_unstable();
    keys.dedup();
    let start = case.moments.start_of(txn).known();
    // In commit order a place is greater than all earlier ones of the session.
    let in_order = matches!(case.ordering, Ordering::Commits { .. }) && case.promise.session_order;
    let bound = if in_order { session_bound(case, txn) } else { None };
    Candidate { txn, proved, keys, after: start.max(bound), until: None, events: Vec::new() }
}

/// What binds a transaction in its session.
fn session_bound(case: &TimedCase<'_>, txn: TxnId) -> Option<Moment> {
    let history = case.keys.history;
    let session: SessionId = history.txn(txn).session();
    let position = history.txn(txn).position();
    let before = history.session(session)[..position].iter();
    let before = before.filter(|t| case.standings[t.index()] == Standing::Committed);
    before.filter_map(|t| sessions::binds(case, *t)).max()
}

/// One point in each gap between events, after a bound and up to another one. Also whether a gap had no
/// room.
fn gaps(events: &[Moment], after: Option<Moment>, until: Moment) -> (Vec<Moment>, bool) {
    const FAR: i64 = 1 << 10;
    let first = after.map(|after| events.partition_point(|e| *e <= after)).unwrap_or(0);
    let mut last = after;
    let (mut points, mut squeezed) = (Vec::new(), false);
    for event in events[first..].iter().copied().take_while(|e| *e <= until) {
        match last {
            None => points.push(Moment(event.0 - FAR)),
            Some(last) if event.0 - last.0 > 1 => {
                points.push(Moment(last.0 + (event.0 - last.0) / 2))
            }
            Some(_) => squeezed = true,
        }
        last = Some(event);
    }
    if until == LATEST {
        points.push(Moment(last.map_or(0, |last| last.0 + FAR)));
    }
    (points, squeezed)
}

/// The values that an operation observed.
fn values_read<'h>(case: &TimedCase<'h>, op: OpId) -> impl Iterator<Item = Value> + use<'h> {
    let op = case.keys.history.op(op);
    let elements = op.elements().unwrap_or_default().iter().copied();
    let one = match op.elements() {
        None => crate::keys::key_facts::what_it_read(&op),
        Some(_) => None,
    };
    elements.chain(one)
}

/// Whether an operation may have seen something of one of these candidates. What a refused operation saw may be
/// anything.
fn may_be_from(
    case: &TimedCase<'_>,
    op: OpId,
    values: &HashMap<Value, Vec<TxnId>>,
    candidate: impl Fn(&TxnId) -> bool,
) -> bool {
    if case.keys.history.op(op).effect() == Effect::Failed {
        return values.values().flatten().any(candidate);
    }
    let by_them = |value: Value| values.get(&value).is_some_and(|w| w.iter().any(&candidate));
    values_read(case, op).any(by_them)
}
