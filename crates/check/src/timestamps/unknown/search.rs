//! Commit points, tried one transaction after another.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use isolde_history::TxnId;
use isolde_spec::Axiom;

use super::candidates::{Candidate, Candidates, may_be_from, session_bound};
use super::points::{self, AssumedPoint, LATEST, Points};
use crate::keys::standing::Standing;
use crate::limits::{Held, Limit, Limits};
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedFindings;
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::rules::Ordering;
use crate::timestamps::sessions;
use crate::timestamps::ticks::Tick;

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Solved {
    /// With points that contradict nothing.
    Found,
    /// There are none.
    Impossible,
    /// Not all could be tried within the limit of steps.
    TooMany,
    /// Not all could be tried, since a gap was too narrow.
    NoRoom,
}

/// What a choice costs before it is tried: it is found, sorted and kept.
const STEPS_A_CHOICE: u64 = 2;

/// The search for commit points.
pub(super) struct Search {
    candidates: Candidates,
    proved: HashSet<TxnId>,
    key: JudgedKey,
    /// How many choices were tried.
    pub(super) tried: u64,
    pub(super) assumed: Vec<AssumedPoint>,
    /// Whether a gap was too narrow for one more point.
    squeezed: bool,
    /// The keys whose events matter, if not only those of each transaction do.
    wide: Vec<usize>,
    /// The transactions of groups that are settled.
    decided: HashSet<TxnId>,
}

impl Search {
    pub(super) fn new(candidates: Candidates) -> Search {
        let proved = candidates.all.iter().filter(|c| c.proved).map(|c| c.txn).collect();
        Search {
            candidates,
            proved,
            key: JudgedKey::default(),
            tried: 0,
            assumed: Vec::new(),
            squeezed: false,
            wide: Vec::new(),
            decided: HashSet::new(),
        }
    }

    fn candidate(&self, at: usize) -> &Candidate {
        &self.candidates.all[at]
    }

    /// The transactions of a group.
    pub(super) fn txns(&self, group: &[usize]) -> impl Iterator<Item = TxnId> {
        group.iter().map(|at| self.candidate(*at).txn)
    }

    /// Lets every transaction of a group commit in every gap between timestamps that matter to any of them.
    pub(super) fn widen(&mut self, group: &[usize]) {
        self.wide = self.keys(group);
    }

    /// Each transaction only in gaps between timestamps that matter to its own keys, as before.
    pub(super) fn narrow(&mut self) {
        self.wide.clear();
    }

    /// The gaps in which a transaction may have committed; some others have found theirs already.
    fn points(&self, at: usize, placed: &[Tick]) -> Points {
        let candidate = self.candidate(at);
        let until = candidate.until.unwrap_or(LATEST);
        let keys = if self.wide.is_empty() { &candidate.keys } else { &self.wide };
        let mut events = self.candidates.events(keys, candidate.after, until);
        events.extend(placed);
        events.sort_unstable();
        events.dedup();
        points::between(&events, candidate.after, until)
    }

    /// Tries the commit points of a group, one transaction after another.
    pub(super) fn solve(
        &mut self,
        case: &mut TimedCase<'_>,
        group: &[usize],
        limits: &Limits<'_>,
    ) -> Result<Solved, Limit> {
        let mut left = limits.steps();
        self.squeezed = false;
        let commits = self.commits(case, group);
        let position: HashMap<TxnId, usize> = self.txns(group).zip(0..).collect();
        // The memory of all choices but the first.
        let mut held: Vec<Held> = Vec::new();
        let mut choices: Vec<Vec<Option<Tick>>> = vec![self.choices(case, group, 0, &commits)];
        while let Some(open) = choices.last_mut() {
            let choice = open.pop();
            let depth = choices.len() - 1;
            let at = group[depth];
            let Some(choice) = choice else {
                self.choose(case, at, None, commits[depth]);
                choices.pop();
                held.pop();
                continue;
            };
            limits.go_on()?;
            self.tried += 1;
            self.choose(case, at, choice, commits[depth]);
            let Some(rest) = self.contradicts_nothing(case, at, &position, &mut left) else {
                self.leave_out(case, group, &commits);
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
            // They take time and memory as well.
            let Some(after) = left.checked_sub(STEPS_A_CHOICE * (next.len() + depth) as u64) else {
                self.leave_out(case, group, &commits);
                return Ok(Solved::TooMany);
            };
            left = after;
            held.push(limits.hold(size_of_val(&next[..]))?);
            choices.push(next);
        }
        Ok(if self.squeezed { Solved::NoRoom } else { Solved::Impossible })
    }

    /// Takes a transaction to have committed at a tick, or to be left out.
    fn choose(&self, case: &mut TimedCase<'_>, at: usize, choice: Option<Tick>, stamp: Tick) {
        let txn = self.candidate(at).txn;
        let standing = if choice.is_some() { Standing::Proved } else { Standing::Unproved };
        case.standings[txn.index()] = standing;
        case.set_commit(txn, choice.unwrap_or(stamp));
    }

    /// What a transaction may have done, the most likely last: left out if that is allowed, else committed in
    /// some gap. Just before its first reader is the likeliest: no transaction looked in between.
    fn choices(
        &mut self,
        case: &TimedCase<'_>,
        group: &[usize],
        depth: usize,
        commits: &[Tick],
    ) -> Vec<Option<Tick>> {
        let at = group[depth];
        let candidate = self.candidate(at);
        let mut choices: Vec<Option<Tick>> = Vec::new();
        let proved = candidate.proved;
        if let Some(stamp) = commits[depth].known() {
            choices.push(Some(stamp));
        } else {
            let placed = self.txns(&group[..depth]).filter(|txn| case.counts(*txn));
            let placed = placed.filter_map(|txn| case.ticks.commit_of(txn).known());
            let points = self.points(at, &placed.collect::<Vec<Tick>>());
            self.squeezed |= points.squeezed;
            choices.extend(points.all.into_iter().map(Some));
        }
        choices.extend((!proved).then_some(None));
        choices
    }

    /// Whether the keys of the transaction that was chosen last show nothing that is wrong because of the choices
    /// so far. `position` says which transactions of the group come when. `None`: the steps are used up.
    fn contradicts_nothing(
        &mut self,
        case: &TimedCase<'_>,
        last: usize,
        position: &HashMap<TxnId, usize>,
        left: &mut u64,
    ) -> Option<bool> {
        let candidate = self.candidate(last);
        if case.counts(candidate.txn)
            && !candidate.proved
            && breaks_rules_alone(case, candidate.txn)
        {
            return Some(false);
        }
        let depth = position[&candidate.txn];
        for at in 0..candidate.keys.len() {
            let key = self.candidate(last).keys[at];
            let undecided = |txn: &TxnId| match position.get(txn) {
                Some(at) => *at > depth,
                None => !self.decided.contains(txn),
            };
            let mut found = TimedFindings::default();
            self.key.judge(case, key, &mut found);
            let chosen = |txn: &TxnId| position.contains_key(txn);
            let wrong = self.is_any_wrong(case, key, &found, undecided, chosen);
            let facts = &self.key.facts;
            let steps = facts.reads.len() + facts.writes.len() + facts.list_reads.len() + 1;
            *left = left.checked_sub(steps as u64)?;
            if wrong {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether choices are to blame for something that was found wrong with a key: it is not certain anyway, and
    /// no transaction that is still undecided may explain it. What is wrong inside a transaction counts if
    /// it was chosen to commit and need not have.
    fn is_any_wrong(
        &self,
        case: &TimedCase<'_>,
        key: usize,
        found: &TimedFindings,
        undecided: impl Fn(&TxnId) -> bool,
        chosen: impl Fn(&TxnId) -> bool,
    ) -> bool {
        let certain = &self.candidates.certain[&key];
        found.findings.iter().any(|f| match (f.axiom, f.op) {
            (Axiom::Ext, Some(op)) => {
                !certain.reads.contains(&op)
                    && !may_be_from(case, (op, key), &certain.values, &undecided)
            }
            (Axiom::NoConflict, _) => !certain.conflicts.contains(&f.txn),
            (Axiom::Int, _) => chosen(&f.txn) && !self.proved.contains(&f.txn),
            (Axiom::Stamps, _) => chosen(&f.txn),
            _ => false,
        })
    }

    /// Takes the likeliest choice for every transaction at once, and looks at each key once. Nearly always
    /// nothing is wrong then. Returns the groups that have to be searched.
    pub(super) fn guess(
        &mut self,
        case: &mut TimedCase<'_>,
        groups: Vec<Vec<usize>>,
        limits: &Limits<'_>,
    ) -> Result<Vec<Vec<usize>>, Limit> {
        let mut guessed: Vec<(Vec<usize>, Vec<Tick>)> = Vec::new();
        let mut to_search = Vec::new();
        let mut keys: Vec<usize> = Vec::new();
        for group in groups {
            let commits = self.commits(case, &group);
            let mut placed = BTreeSet::new();
            let all = group.iter().zip(&commits).all(|(at, commit)| {
                let Some(choice) = self.likeliest(*at, *commit, &placed) else { return false };
                placed.extend(choice);
                self.choose(case, *at, choice, *commit);
                true
            });
            if all {
                keys.extend(self.keys(&group));
                guessed.push((group, commits));
            } else {
                self.leave_out(case, &group, &commits);
                to_search.push(group);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let chosen: HashSet<TxnId> =
            guessed.iter().flat_map(|(group, _)| self.txns(group)).collect();
        let mut wrong: HashSet<usize> = HashSet::new();
        for key in keys {
            limits.go_on()?;
            let mut found = TimedFindings::default();
            self.key.judge(case, key, &mut found);
            let undecided = |txn: &TxnId| !chosen.contains(txn);
            if self.is_any_wrong(case, key, &found, undecided, |txn| chosen.contains(txn)) {
                wrong.insert(key);
            }
        }
        self.tried += chosen.len() as u64;
        for (group, commits) in guessed {
            if self.keys(&group).iter().any(|key| wrong.contains(key)) {
                self.leave_out(case, &group, &commits);
                to_search.push(group);
            } else {
                self.remember(case, &group, &commits);
            }
        }
        to_search.sort_unstable();
        Ok(to_search)
    }

    /// The last of the choices of a transaction, found without making all of them.
    fn likeliest(&self, at: usize, stamp: Tick, placed: &BTreeSet<Tick>) -> Option<Option<Tick>> {
        let candidate = self.candidate(at);
        if !candidate.proved {
            return Some(None);
        }
        if stamp != Tick::NEVER {
            return Some(Some(stamp));
        }
        let last_before = |end: Tick, inclusive: bool| {
            let events = self.candidates.last_event(&candidate.keys, end, inclusive);
            let placed = match inclusive {
                true => placed.range(..=end).next_back(),
                false => placed.range(..end).next_back(),
            };
            events.max(placed.copied()).filter(|event| candidate.after.is_none_or(|a| *event > a))
        };
        let until = candidate.until.unwrap_or(LATEST);
        let last = last_before(until, true);
        let events: Vec<Tick> = match last {
            // The one before it is the other end of the gap, unless that is the bound.
            Some(last) => last_before(last, false).into_iter().chain([last]).collect(),
            None => Vec::new(),
        };
        let points = points::between(&events, candidate.after, until);
        points.all.last().filter(|_| !points.squeezed).copied().map(Some)
    }

    /// The commit timestamps of a group, as far as they are known.
    fn commits(&self, case: &TimedCase<'_>, group: &[usize]) -> Vec<Tick> {
        self.txns(group).map(|txn| case.ticks.commit_of(txn)).collect()
    }

    fn leave_out(&self, case: &mut TimedCase<'_>, group: &[usize], commits: &[Tick]) {
        group.iter().zip(commits).for_each(|(at, commit)| self.choose(case, *at, None, *commit));
    }

    /// Nothing explains a group: each transaction that was read is taken to have committed just before its
    /// first reader, so that what is wrong shows there.
    pub(super) fn as_read(&mut self, case: &mut TimedCase<'_>, group: &[usize]) {
        let (mut commits, mut placed) = (Vec::new(), Vec::new());
        for at in group {
            let candidate = self.candidate(*at);
            let stamp = case.ticks.commit_of(candidate.txn);
            commits.push(stamp);
            // No two at one point: that would be a tie, which leaves it open.
            let points = self.points(*at, &placed).all;
            let after = candidate.after.map(|after| Tick(after.0 + 1));
            let point = stamp.known().or(points.last().copied()).or(after);
            let point = if candidate.proved { point } else { None };
            placed.extend(point);
            self.choose(case, *at, point, stamp);
        }
        self.remember(case, group, &commits);
        // Other groups are not to blame for what is wrong now.
        let keys = self.keys(group);
        let decided = &self.decided;
        self.candidates.settle_for(case, &mut self.key, &keys, |txn| !decided.contains(txn));
    }

    /// The keys of a group, ascending.
    fn keys(&self, group: &[usize]) -> Vec<usize> {
        let keys = group.iter().flat_map(|at| self.candidate(*at).keys.iter().copied());
        let mut keys: Vec<usize> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Keeps what was assumed of a group, which is decided now.
    fn remember(&mut self, case: &TimedCase<'_>, group: &[usize], commits: &[Tick]) {
        let txns: Vec<TxnId> = self.txns(group).collect();
        self.decided.extend(txns);
        for (at, stamp) in group.iter().zip(commits) {
            let candidate = self.candidate(*at);
            if !case.counts(candidate.txn) || *stamp != Tick::NEVER {
                continue;
            }
            let point = case.ticks.commit_of(candidate.txn);
            let is_stamp = |tick: Tick| case.ticks.timestamp(tick).is_some();
            let (before, next) = self.candidates.around(&candidate.keys, point, is_stamp);
            self.assumed.push(AssumedPoint {
                txn: candidate.txn,
                after: before.max(candidate.after),
                until: next,
                reader: candidate.reader,
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
