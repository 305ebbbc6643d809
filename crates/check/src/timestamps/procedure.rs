//! From a promise by timestamps to a verdict.

use std::sync::{Arc, Mutex, PoisonError};

use isolde_graph::parallel::{self, Work};
use isolde_history::{History, Key, Outcome, TxnId};
use isolde_spec::{Answer, By, Counted, Level, Procedure, Promise, Verdict, Witness};

use crate::keys::index::Touch;
use crate::keys::origin::Choices;
use crate::keys::outcomes;
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::{self, Standing};
use crate::keys::wording::Wording;
use crate::limits::{Ended, Held, Limit, Limits};
use crate::options::Options;
use crate::timestamps::case::{Places, TimedCase};
use crate::timestamps::explain::TimedExplainer;
use crate::timestamps::finding::{TimedDoubt, TimedFinding, TimedFindings};
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::supply::Supply;
use crate::timestamps::sweep::{self, Course, Sorted};
use crate::timestamps::ticks::Ticks;
use crate::timestamps::unknown::{self, Settled};
use crate::timestamps::{gaps, sessions};

/// A stage of the work, told when it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Timestamps are put in order.
    Sort,
    /// Operations are compared with them.
    Check,
    /// What is wrong is told in full.
    Explain,
    /// Memory that is not needed any more is given back.
    Collect,
}

/// A question by timestamps, with what is needed to answer it.
pub(crate) struct ByTimestamps<'q, 'h> {
    pub(crate) history: &'h History,
    pub(crate) promise: Promise,
    pub(crate) options: &'q Options,
    pub(crate) limits: &'q Limits<'h>,
    /// Is told which stage begins.
    pub(crate) stage: &'q dyn Fn(Stage),
}

/// Decides a promise by the timestamps of a history, and tells each stage of the work as it begins.
///
/// ```
/// use isolde_check::{Limits, Options, timestamps};
/// use isolde_spec::{Level, Promise};
/// let history = isolde_history::notation::parse("a: w(x,1) ts(1,2)\nb: r(x,1) ts(3,_)").unwrap();
/// let promise = Promise::by_timestamps(Level::SnapshotIsolation);
/// let (options, limits) = (Options::default(), Limits::default());
/// let verdict = timestamps::decide(&history, promise, &options, &limits, &|stage| println!("{stage:?}"));
/// assert_eq!(verdict.holds(), Some(true));
/// ```
pub fn decide<'h>(
    history: &'h History,
    promise: Promise,
    options: &Options,
    limits: &Limits<'h>,
    stage: &dyn Fn(Stage),
) -> Verdict {
    let question = ByTimestamps { history, promise, options, limits, stage };
    question.decide().unwrap_or_else(|limit| question.ended(limit))
}

/// A piece of the work.
enum TimedPiece<'s> {
    Sessions,
    Keys(&'s [u32]),
}

impl<'h> ByTimestamps<'_, 'h> {
    fn decide(&self) -> Result<Verdict, Limit> {
        let history = self.history;
        let supply = Supply::of(history, self.promise.level);
        if supply != Supply::Whole {
            return Ok(self.unknown(supply.reason(self.promise.level)));
        }
        self.limits.go_on()?;
        (self.stage)(Stage::Sort);
        let places = || Places::new(history, self.promise);
        self.decide_at(places, |_, _| {})
    }

    /// The same of places from elsewhere, and of what else is wrong with them.
    pub(crate) fn decide_at(
        &self,
        places: impl FnOnce() -> Places,
        also: impl FnOnce(&TimedCase<'h>, &mut TimedFindings),
    ) -> Result<Verdict, Limit> {
        let history = self.history;
        let txns = history.txn_count();
        let bytes = history.heap_bytes() + Ticks::bytes(txns) + Sorted::bytes(txns);
        let _held = self.limits.hold(bytes)?;
        let places = places();
        let suspects = self.suspects(&places)?;
        let mut groups = self.groups(suspects).into_iter();
        let has_one_group = groups.len() <= 1;
        let first = groups.next().unwrap_or_default();
        let (keys, mut held) = self.keys(&first)?;
        let standings = standing::at_first(history);
        let standings = match standings.contains(&Standing::Unproved) {
            // Then every key is in the first group.
            true => outcomes::prove(&keys, &Choices::new()).standings,
            false => standings,
        };
        let gap = gaps::first_gap(history);
        let complete = history.meta().complete && gap.is_none();
        let mut case = TimedCase::new(keys, self.promise, standings, places, complete);
        let settled = unknown::settle(&mut case, self.limits)?;
        let mut found = judge(&case, &first, true, self.limits)?;
        for group in groups {
            (self.stage)(Stage::Collect);
            case.keys = Arc::new(SortedKeys::of_some(history, &[]));
            drop(held);
            (self.stage)(Stage::Check);
            (case.keys, held) = self.keys(&group)?;
            found.append(judge(&case, &group, false, self.limits)?);
        }
        also(&case, &mut found);
        found.doubts.splice(0..0, settled.doubts.iter().copied());
        found.findings.sort_unstable_by_key(TimedFinding::place);
        (self.stage)(Stage::Explain);
        Ok(self.verdict(&mut case, has_one_group, &found, &settled, gap))
    }

    /// The keys that have to be looked at one by one.
    fn suspects(&self, places: &Places) -> Result<Vec<u32>, Limit> {
        let history = self.history;
        // So few operations are compared at once in less time than the sweep needs to begin.
        const FEW: usize = 256;
        let all = 0..history.key_count() as u32;
        if history.op_count() <= FEW || !sweep::may_sweep(history, self.promise.by) {
            (self.stage)(Stage::Check);
            return Ok(all.collect());
        }
        let _held = self.limits.hold(sweep::bytes(history))?;
        let course = Course {
            history,
            ordering: places.ordering,
            limits: places.limits(),
            starts: &places.ticks.start,
            commits: &places.ticks.commit,
        };
        let sorted = Sorted::new(&course);
        (self.stage)(Stage::Check);
        let suspects = sweep::suspects(&course, &sorted, self.limits)?;
        Ok(all.filter(|key| suspects[*key as usize]).collect())
    }

    /// The suspects in groups of about as many operations, which are looked at one after another. What is of
    /// unknown outcome connects keys, so that there is one group then.
    fn groups(&self, suspects: Vec<u32>) -> Vec<Vec<u32>> {
        let unknown = self.history.txn_outcomes().contains(&Outcome::Unknown);
        let count = if unknown { 1 } else { self.options.key_groups.max(1) };
        if count == 1 || suspects.is_empty() {
            return vec![suspects];
        }
        let mut ops = vec![0_usize; self.history.key_count()];
        for key in self.history.op_keys() {
            ops.get_mut(key.index()).into_iter().for_each(|count| *count += 1);
        }
        // How many operations lie before each suspect.
        let mut before = vec![0];
        for key in &suspects {
            before.push(before[before.len() - 1] + ops[*key as usize]);
        }
        let cuts = parallel::cut(suspects.len(), count, |at| before[at]);
        cuts.into_iter().map(|cut| suspects[cut].to_vec()).collect()
    }

    /// The operations on some keys.
    fn keys(&self, group: &[u32]) -> Result<(Arc<SortedKeys<'h>>, Held), Limit> {
        let count = self.history.key_count();
        if count > 0 && group.len() == count {
            let held = self.limits.hold(self.history.op_count() * size_of::<Touch>())?;
            return Ok((Arc::new(SortedKeys::new(self.history)), held));
        }
        let mut wanted = vec![false; count];
        group.iter().for_each(|key| wanted[*key as usize] = true);
        let is_wanted = |key: &&Key| wanted.get(key.index()) == Some(&true);
        let touches = match group.len() {
            0 => 0,
            _ => self.history.op_keys().iter().filter(is_wanted).count(),
        };
        let held = self.limits.hold(touches * size_of::<Touch>())?;
        Ok((Arc::new(SortedKeys::of_some(self.history, &wanted)), held))
    }

    fn verdict(
        &self,
        case: &mut TimedCase<'h>,
        has_all_keys: bool,
        found: &TimedFindings,
        settled: &Settled,
        gap: Option<TxnId>,
    ) -> Verdict {
        let words = Wording(self.history);
        let counts = counts(self.history, &found.findings);
        let kept = self.witnesses(case, has_all_keys, &found.findings, settled);
        let answer = match (kept.is_empty(), found.doubts.first()) {
            (false, _) => Answer::Violated(kept),
            (true, None) => Answer::Holds,
            (true, Some(first)) => Answer::Unknown(doubts(&words, first, &found.doubts)),
        };
        let mut notes = Vec::new();
        if let Some(txn) = gap {
            notes.push(format!(
                "the sequence numbers of sessions have gaps, the first before transaction {}: the history \
                 is taken to be incomplete",
                words.txn(txn)
            ));
        }
        notes.extend(said_of_assumed(&words, settled));
        notes.extend(words.unsaid(found.unsaid));
        let mut procedure = self.procedure();
        if settled.tried > 0 {
            procedure.figures.push(("commit points tried", settled.tried));
        }
        Verdict { promise: self.promise, answer, counts, notes, procedure }
    }

    /// The first findings of each kind in full. Only their keys are needed for that, which may all be there still.
    fn witnesses(
        &self,
        case: &mut TimedCase<'h>,
        has_all_keys: bool,
        findings: &[TimedFinding],
        settled: &Settled,
    ) -> Vec<Witness> {
        let same = findings.chunk_by(|a, b| a.anomaly == b.anomaly);
        let kept: Vec<&TimedFinding> =
            same.flat_map(|same| same.iter().take(self.options.witnesses.max(1))).collect();
        if kept.is_empty() {
            return Vec::new();
        }
        if !has_all_keys {
            let mut wanted = vec![false; self.history.key_count()];
            for key in kept.iter().filter_map(|finding| finding.key) {
                wanted[key.index()] = true;
            }
            case.keys = Arc::new(SortedKeys::of_some(self.history, &wanted));
        }
        // Key by key, since what is known of a key is made only once then.
        let mut explainer = TimedExplainer::new(case, &settled.assumed);
        let mut by_key: Vec<usize> = (0..kept.len()).collect();
        by_key.sort_by_key(|at| kept[*at].key);
        let told = by_key.into_iter().map(|at| (at, explainer.witness(kept[at])));
        let mut told: Vec<(usize, Witness)> = told.collect();
        told.sort_unstable_by_key(|(at, _)| *at);
        told.into_iter().map(|(_, witness)| witness).collect()
    }

    /// The verdict that stays open for a reason.
    pub(crate) fn unknown(&self, reason: String) -> Verdict {
        let (answer, procedure) = (Answer::Unknown(reason), self.procedure());
        let promise = self.promise;
        Verdict { promise, answer, counts: Vec::new(), notes: Vec::new(), procedure }
    }

    pub(crate) fn ended(&self, limit: Limit) -> Verdict {
        let (ops, keys) = (self.history.op_count(), self.history.key_count());
        let by = self.promise.by.name();
        let doing = format!("comparing {ops} operations on {keys} keys with {by}");
        self.unknown(Ended { limit, doing }.reason(self.limits.bytes()))
    }

    pub(crate) fn procedure(&self) -> Procedure {
        let history = self.history;
        let (evidence, why) = match (self.promise.by, self.promise.level) {
            (By::Snapshots, _) => {
                ("snapshots", "snapshots say which versions each transaction sees")
            }
            (_, Level::Serializable) => (
                "commit timestamps",
                "commit order is said to be the serial order, so it can be replayed",
            ),
            _ => (
                "start and commit timestamps",
                "timestamps say which versions each transaction sees",
            ),
        };
        let figures = vec![
            ("transactions", history.txn_count() as u64),
            ("operations", history.op_count() as u64),
            ("keys", history.key_count() as u64),
        ];
        let evidence = vec![evidence.to_owned()];
        let name = if self.promise.by == By::Snapshots { "snapshots" } else { "timestamps" };
        Procedure { name, evidence, why: why.to_owned(), figures, places: Vec::new() }
    }
}

/// Holds the rules against some keys, on all cores, and against sessions if that is still to do.
fn judge(
    case: &TimedCase<'_>,
    keys: &[u32],
    sessions: bool,
    limits: &Limits<'_>,
) -> Result<TimedFindings, Limit> {
    let index = &case.keys.index;
    let count = if index.size == Work::Small { 1 } else { 8 * parallel::cores() };
    let before = |at: usize| keys.get(at).map_or(usize::MAX, |key| index.before(*key as usize));
    let total = keys.last().map_or(0, |last| index.before(*last as usize + 1));
    let cuts = parallel::cut(keys.len(), count, |at| before(at).min(total));
    let of_keys = cuts.into_iter().map(|cut| TimedPiece::Keys(&keys[cut]));
    let first = sessions.then_some(TimedPiece::Sessions);
    let pieces: Vec<TimedPiece<'_>> = first.into_iter().chain(of_keys).collect();
    // The memory of one piece is used for the next.
    let spare: Mutex<Vec<JudgedKey>> = Mutex::default();
    let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let size = Work::of(case.keys.history.op_count());
    let parts = parallel::map(size, &pieces, |piece| {
        limits.go_on()?;
        let mut found = TimedFindings::default();
        match piece {
            TimedPiece::Sessions => sessions::judge(case, &mut found),
            TimedPiece::Keys(keys) => {
                let mut judged = lock().pop().unwrap_or_default();
                keys.iter().for_each(|key| judged.judge(case, *key as usize, &mut found));
                lock().push(judged);
            }
        }
        Ok(found)
    });
    let mut all = TimedFindings::default();
    for part in parts {
        all.append(part?);
    }
    Ok(all)
}

/// How many findings there are of each kind.
pub(crate) fn counts(history: &History, findings: &[TimedFinding]) -> Vec<Counted> {
    let of_op = |op| history.txn_of(op).0 + 1;
    let visible = |f: &TimedFinding| {
        let others = [f.op.map(of_op), f.other.map(of_op), f.opponent.map(|txn| txn.0 + 1)];
        others.into_iter().flatten().chain([f.txn.0 + 1]).max().unwrap_or(0)
    };
    let counted = |same: &[TimedFinding]| {
        let mut positions: Vec<u32> = same.iter().map(visible).collect();
        positions.sort_unstable();
        let (anomaly, count) = (same[0].anomaly, same.len() as u64);
        Counted { anomaly, count, at_least: false, positions }
    };
    findings.chunk_by(|a, b| a.anomaly == b.anomaly).map(counted).collect()
}

/// Which transactions of unknown outcome are taken to have committed.
fn said_of_assumed(words: &Wording<'_>, settled: &Settled) -> Option<String> {
    let first = words.txn(settled.assumed.first()?.txn);
    Some(match settled.assumed.len() {
        1 => format!(
            "the outcome of transaction {first} is unknown, and it was read: it is taken to have committed"
        ),
        count => format!(
            "the outcomes of {count} transactions that were read are unknown: they are taken to have committed \
             (the first is {first})"
        ),
    })
}

/// Why an answer stays open, in words.
pub(crate) fn doubts(words: &Wording<'_>, first: &TimedDoubt, all: &[TimedDoubt]) -> String {
    let kind = std::mem::discriminant(first);
    let same = all.iter().filter(|d| std::mem::discriminant(*d) == kind).count();
    let more = if same > 1 { format!(" (and {} more like it)", same - 1) } else { String::new() };
    let key = |key: &Key| words.key(*key);
    let first = match first {
        TimedDoubt::Of(doubt) => words.doubt(doubt),
        TimedDoubt::Tie(a, b, at) => format!(
            "transactions {} and {} have the same commit timestamp, and one wrote key {} that the other \
             read or wrote (TimestampTie): their order is open",
            words.txn(*a),
            words.txn(*b),
            key(at)
        ),
        TimedDoubt::NoStart(txn) => format!(
            "transaction {} was read, its outcome is unknown, and no timestamp says when it started",
            words.txn(*txn)
        ),
        TimedDoubt::NotTried(txn) => format!(
            "the limit of steps was reached while looking for the time when transaction {}, whose outcome is \
             unknown, committed (--order-steps allows more)",
            words.txn(*txn)
        ),
        TimedDoubt::NoRoom(txn) => format!(
            "too many transactions of unknown outcome may have committed between the same two timestamps, \
             transaction {} among them, to try all their orders",
            words.txn(*txn)
        ),
        TimedDoubt::GivenOrder(at) => format!(
            "the recorded version order of key {} is not the order of commit timestamps",
            key(at)
        ),
    };
    first + &more
}
