//! A history that can be asked about several promises: what they share is worked out once.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use isolde_history::{History, OpKind, Outcome};
use isolde_spec::{Answer, By, Level, Promise, Verdict, Witness};

use crate::graph::evidence::Evidence;
use crate::keys::findings::Doubt;
use crate::keys::origin::Choices;
use crate::limits::{Ended, Limit, Limits};
use crate::linear::{self, KeysApart};
use crate::options::{Method, Options};
use crate::plan::{Given, Levels, PLAN, Row, Try};
use crate::question::Question;
use crate::unordered::ambiguous::{self, WaysLeft};
use crate::{lattice, lost};
use crate::{snapshots, strong, timestamps, weak};

/// Decides whether a history keeps a promise.
pub fn check(history: &History, promise: Promise, options: &Options) -> Verdict {
    Checker::new(history, *options).check(promise)
}

/// A history under examination.
pub struct Checker<'h> {
    history: &'h History,
    options: Options,
    limits: Arc<Limits<'h>>,
    /// What the history shows, worked out when a promise by values is asked about.
    evidence: OnceCell<Evidence<'h>>,
    /// What the history shows of items, if that is not the same.
    of_items: OnceCell<Evidence<'h>>,
    weak: OnceCell<Result<weak::Base, Limit>>,
    /// Whether keys can be asked one by one, without session order and with it.
    apart: [OnceCell<KeysApart>; 2],
    /// What was decided already.
    decided: RefCell<Vec<Verdict>>,
    /// What stayed open when it was asked on its own behalf.
    open: RefCell<Vec<Verdict>>,
    /// The promises that are being decided, each on behalf of the one before it.
    asked: RefCell<Vec<Promise>>,
    ways_left: Rc<WaysLeft>,
}

/// From how many steps on causal consistency is asked about only if nothing faster decides it: half a
/// second.
const MANY_STEPS: u64 = 1 << 20;

impl<'h> Checker<'h> {
    /// Sorts a history by keys and finds out which of its transactions count.
    pub fn new(history: &'h History, options: Options) -> Checker<'h> {
        Checker::with_limits(history, options, Limits::default())
    }

    /// The same, of a check that may be ended.
    pub fn with_limits(history: &'h History, options: Options, limits: Limits<'h>) -> Checker<'h> {
        // A violation without any witness would be a bare no.
        let options = Options { witnesses: options.witnesses.max(1), ..options };
        Checker {
            history,
            options,
            limits: Arc::new(limits),
            evidence: OnceCell::new(),
            of_items: OnceCell::new(),
            weak: OnceCell::new(),
            apart: Default::default(),
            decided: RefCell::default(),
            open: RefCell::default(),
            asked: RefCell::default(),
            ways_left: Rc::default(),
        }
    }

    /// The same history, if some ambiguous reads are taken to be from certain writes.
    fn with_choices(&self, choices: Choices) -> Checker<'h> {
        let checker = Checker {
            history: self.history,
            options: self.options,
            limits: self.limits.clone(),
            evidence: OnceCell::new(),
            of_items: OnceCell::new(),
            weak: OnceCell::new(),
            apart: Default::default(),
            decided: RefCell::default(),
            open: RefCell::default(),
            asked: RefCell::default(),
            ways_left: self.ways_left.clone(),
        };
        checker.evidence.get_or_init(|| self.evidence().with_choices(choices));
        checker
    }

    /// What the history shows.
    fn evidence(&self) -> &Evidence<'h> {
        let evidence = || Evidence::new(self.history, self.options, self.limits.clone());
        self.evidence.get_or_init(evidence)
    }

    /// Decides whether the history keeps a promise. An answer stays open only if no other promise
    /// decides it: none that implies this one holds, and none that this one implies is violated.
    pub fn check(&self, promise: Promise) -> Verdict {
        if let Some(nothing) = self.nothing_committed(promise) {
            return nothing;
        }
        if let Some(unjudged) = self.rows_by_column(promise) {
            return lost::add(self.history, unjudged, self.options.witnesses);
        }
        lost::add(self.history, self.check_what_is_there(promise), self.options.witnesses)
    }

    /// The verdict without a look at commits that were lost.
    fn check_what_is_there(&self, promise: Promise) -> Verdict {
        self.ways_left.refill();
        let verdict = self.ask(promise);
        match verdict.holds() {
            // By timestamps and by snapshots, nothing follows from other promises.
            None if promise.by != By::Values => None,
            None => lattice::by_others(promise, &self.others(promise), |other| self.ask(other)),
            Some(_) => None,
        }
        .unwrap_or(verdict)
    }

    /// Whether a question may be asked for a mere remark. Causal consistency may not if there are many
    /// chains of transactions, as there are without session order: 100,000 transactions took 9 seconds.
    pub fn is_quick(&self, promise: Promise) -> bool {
        let question = Question::new(self.evidence(), promise);
        promise.level != Level::Causal || !self.has_many_chains(&question).unwrap_or(true)
    }

    /// The verdict of a promise by its own plan. Asked about a small history it has all the effort of
    /// one question; the questions about a large one that are asked on behalf of another share it.
    fn ask(&self, promise: Promise) -> Verdict {
        let open = self.open.borrow().iter().find(|v| v.promise == promise).cloned();
        open.unwrap_or_else(|| {
            if promise.by == By::Values && ambiguous::is_small(self.history) {
                self.ways_left.refill();
            }
            let verdict = self.decide(promise);
            if verdict.holds().is_none() {
                self.open.borrow_mut().push(verdict.clone());
            }
            verdict
        })
    }

    /// The promises that may decide another one. Nothing more is asked when the check has to end, and
    /// what speaks of real time cannot hold where real time is not known. Of a large history, no more is
    /// asked than one call may answer: levels with session order or levels without it, and no stronger
    /// ones where something else than the writer of a read is in doubt, which no level can settle.
    fn others(&self, promise: Promise) -> Vec<Promise> {
        if self.evidence().limits.go_on().is_err() {
            return Vec::new();
        }
        let in_time = self.evidence().real_time().complete;
        let small = ambiguous::is_small(self.evidence().history());
        let unsettled = |doubt: &Doubt| !matches!(doubt, Doubt::AmbiguousRead(_));
        let walk = self.evidence().walk();
        let doubtful = walk.is_ok_and(|walk| walk.findings.doubts.iter().any(unsettled));
        let may_decide = |other: &Promise| {
            let stronger = other.implies(promise) && !other.level.of_operations();
            small || (other.session_order == promise.session_order && !(stronger && doubtful))
        };
        let possible = |p: &Promise| in_time || !p.level.needs_real_time();
        Promise::all().filter(possible).filter(may_decide).collect()
    }

    /// The verdict on a history in which nothing is known to have committed: it shows nothing.
    fn nothing_committed(&self, promise: Promise) -> Option<Verdict> {
        if self.history.txn_outcomes().contains(&Outcome::Committed) {
            return None;
        }
        let reason = match self.history.txn_count() {
            0 => "the history has no transactions: there is nothing to check",
            _ => "no transaction of the history committed: there is nothing to check",
        };
        let question = Question::new(self.evidence(), promise);
        let procedure = question.procedure("none", Vec::new(), "no transaction committed");
        let answer = Answer::Unknown(reason.to_owned());
        Some(Verdict { promise, answer, counts: Vec::new(), notes: Vec::new(), procedure })
    }

    /// The verdict on a history whose operations speak of columns: what a read returned is no value that one
    /// transaction wrote, so that all procedures, which compare values, would report what is right.
    fn rows_by_column(&self, promise: Promise) -> Option<Verdict> {
        if !self.history.rows_by_column() {
            return None;
        }
        let reason = "values are rows by column, which only client intervals can judge";
        let question = Question::new(self.evidence(), promise);
        let procedure = question.procedure("none", Vec::new(), "no procedure compares columns");
        let answer = Answer::Unknown(reason.to_owned());
        Some(Verdict { promise, answer, counts: Vec::new(), notes: Vec::new(), procedure })
    }

    /// The verdict, unless it is being worked out already: a level may be asked about on behalf of
    /// another one that was asked about on its behalf.
    fn decide_for_another(&self, promise: Promise) -> Option<Verdict> {
        let asked = self.asked.borrow().contains(&promise);
        (!asked).then(|| self.decide(promise))
    }

    fn decide(&self, promise: Promise) -> Verdict {
        if let Some(verdict) = self.follows(promise) {
            return verdict;
        }
        self.asked.borrow_mut().push(promise);
        let verdict = self.untimed(promise).unwrap_or_else(|| self.by_plan(promise));
        self.asked.borrow_mut().pop();
        if verdict.holds().is_some() {
            self.decided.borrow_mut().push(verdict.clone());
        }
        verdict
    }

    /// The verdict of a promise that is known, or follows from one that holds.
    fn follows(&self, promise: Promise) -> Option<Verdict> {
        let decided = self.decided.borrow();
        let same = decided.iter().find(|v| v.promise == promise);
        let implies = |v: &&Verdict| v.holds() == Some(true) && v.promise.implies(promise);
        same.cloned().or_else(|| Some(lattice::implied(decided.iter().find(implies)?, promise)))
    }

    /// The verdict of a level that speaks of real time, on a history that says nothing of it: the same
    /// level without real time may be violated, and nothing else can be known.
    fn untimed(&self, promise: Promise) -> Option<Verdict> {
        let level = match promise.level {
            Level::StrictSerializable => Level::Serializable,
            Level::StrongSnapshotIsolation => Level::SnapshotIsolation,
            _ => return None,
        };
        let mut txns = self.evidence().history().txns();
        if txns.any(|txn| !txn.interval().is_empty()) {
            return None;
        }
        let verdict = self.decide_for_another(Promise { level, ..promise })?;
        let reason = || Question::new(self.evidence(), promise).real_time_is_incomplete();
        let answer = match verdict.holds() {
            Some(true) => Answer::Unknown(reason()?),
            _ => verdict.answer,
        };
        Some(Verdict { promise, answer, ..verdict })
    }

    /// What the history shows to a level. Cursor stability and repeatable read speak of items: a row
    /// that a predicate read did not return binds nothing there.
    fn evidence_for(&self, level: Level) -> &Evidence<'h> {
        let items = matches!(level, Level::CursorStability | Level::RepeatableRead);
        if items && !self.evidence().context.predicates.is_empty() {
            return self.of_items.get_or_init(|| self.evidence().of_items());
        }
        self.evidence()
    }

    /// By timestamps and by snapshots nothing has to be known of the keys at first.
    fn by_the_server(&self, attempt: Try, promise: Promise) -> Option<Verdict> {
        let (history, options, limits) = (self.history, &self.options, &self.limits);
        match attempt {
            Try::Timestamps => Some(timestamps::decide(history, promise, options, limits, &|_| {})),
            Try::Snapshots => Some(snapshots::decide(history, promise, options, limits)),
            _ => None,
        }
    }

    /// Tries the rows of the plan until one decides.
    fn by_plan(&self, promise: Promise) -> Verdict {
        let first = PLAN.iter().find(|row| row.levels.speak_of(promise));
        if let Some(verdict) = first.and_then(|row| self.by_the_server(row.attempt, promise)) {
            return verdict;
        }
        let question = Question::new(self.evidence_for(promise.level), promise);
        let mut open: Option<Verdict> = None;
        let mut only_inferred: Option<Verdict> = None;
        let serial = promise.level == Level::Sequential && !question.has_failed_operations();
        let speaks = |row: &&Row| {
            // Without failed operations, what serializability leaves open its procedures leave open.
            row.levels.speak_of(promise) && (!serial || row.levels == Levels::Sequential)
        };
        // A large history is not asked about everything in every way to match its ambiguous reads.
        let context = question.context();
        let hasty = !context.choices.is_empty() && !ambiguous::is_small(context.history);
        for row in PLAN.iter().filter(speaks) {
            if hasty && matches!(row.attempt, Try::Causality | Try::Stronger(_)) {
                continue;
            }
            // What was found rests on inferred edges: only rows that tell it in plainer words matter.
            if only_inferred.is_some() != (row.given == Given::OnlyInferred) {
                continue;
            }
            let given = self.is_given(row.given, &question);
            let (known, tried) = match given {
                Ok(true) => (true, self.attempt(row, &question)),
                Ok(false) => continue,
                Err(ended) => (false, Err(ended)),
            };
            match tried {
                Ok(Some(verdict)) if row.decides.is_final(verdict.holds()) => {
                    let plainer = Levels::AboveCausal.contain(promise.level);
                    if !(plainer && rests_on_the_unseen(&verdict)) {
                        return verdict;
                    }
                    only_inferred = Some(verdict);
                }
                Ok(Some(verdict)) if verdict.holds().is_none() => open = Some(verdict),
                Ok(_) => {}
                Err(ended) => {
                    let over = matches!(ended.limit, Limit::Time | Limit::Stopped);
                    let row = known.then_some(row);
                    let verdict = self.ended(row, &question, &ended);
                    if over {
                        return only_inferred.unwrap_or(verdict);
                    }
                    open = open.or(Some(verdict));
                }
            }
        }
        only_inferred.or(open).unwrap_or_else(|| {
            let doing = "choosing a procedure".to_owned();
            self.ended(None, &question, &Ended { limit: Limit::Steps, doing })
        })
    }

    /// What a row of the plan says; `None` if it has nothing to say.
    fn attempt(&self, row: &Row, question: &Question<'_, 'h>) -> Result<Option<Verdict>, Ended> {
        let why = row.why;
        let connected = || {
            let apart = self.apart(question);
            let why = apart.connected.map(|connected| why.replace("{connected}", connected));
            (apart, why.unwrap_or_else(|| why_of(row)))
        };
        match row.attempt {
            Try::Timestamps | Try::Snapshots => {
                Ok(self.by_the_server(row.attempt, question.promise))
            }
            Try::Axiom => weak::decide(question, self.weak()?).map(Some),
            Try::Causality => weak::by_causality(question, self.weak()?, why),
            Try::Graph => strong::decide(question, Method::Graph, why).map(Some),
            Try::Saturation => strong::decide(question, Method::Saturation, why).map(Some),
            Try::Choices => self.by_choices(question),
            Try::Contradictions => {
                let found = linear::contradicts_itself(question, why);
                found.map_err(|limit| question.evidence.ended_walk(limit))
            }
            Try::ByKeys => {
                Ok(question.of_operations(Some(linear::by_keys(question, &connected().1))))
            }
            Try::ByGroups => {
                let (apart, why) = connected();
                Ok(question.of_operations(Some(linear::by_groups(question, apart, &why))))
            }
            Try::ProgramOrder => {
                Ok(question.of_operations(linear::in_program_order(question, why)))
            }
            Try::Stronger(levels) => Ok(self.by_stronger(levels, question.promise)),
            Try::Is(level) => {
                let promise = Promise { level, ..question.promise };
                let verdict = self.decide_for_another(promise);
                Ok(verdict.map(|verdict| Verdict { promise: question.promise, ..verdict }))
            }
            Try::Same(level) => {
                let promise = Promise { level, ..question.promise };
                let verdict = self.decide_for_another(promise);
                // What stays open there stays open for a reason of that level.
                let verdict = verdict.filter(|verdict| verdict.holds().is_some());
                Ok(verdict.map(|verdict| Verdict { promise: question.promise, ..verdict }))
            }
        }
    }

    fn by_stronger(&self, levels: &[Level], promise: Promise) -> Option<Verdict> {
        let mut stronger = levels.iter().filter(|level| level.implies(promise.level));
        stronger.find_map(|level| {
            let verdict = self.decide_for_another(Promise { level: *level, ..promise })?;
            (verdict.holds() == Some(true)).then(|| lattice::implied(&verdict, promise))
        })
    }

    /// What the ways to match ambiguous reads say together.
    fn by_choices(&self, question: &Question<'_, 'h>) -> Result<Option<Verdict>, Ended> {
        let doubts = self.doubts(question)?;
        let check = |choices: Choices| self.with_choices(choices).decide(question.promise);
        Ok(ambiguous::decide(question.context(), &doubts, &self.ways_left, check))
    }

    /// What keeps a promise from being certain.
    fn doubts(&self, question: &Question<'_, 'h>) -> Result<Vec<Doubt>, Ended> {
        if Levels::Weak.contain(question.level()) {
            return Ok(weak::doubts(question, self.weak()?));
        }
        let walk = question.walk().map_err(|limit| self.evidence().ended_walk(limit))?;
        Ok(walk.findings.doubts.clone())
    }

    /// What the weak levels need.
    fn weak(&self) -> Result<&weak::Base, Ended> {
        let Evidence { context, limits, .. } = self.evidence();
        let base = || self.evidence().has_room().and_then(|()| weak::Base::new(context, limits));
        let base = self.weak.get_or_init(base).as_ref();
        base.map_err(|limit| self.evidence().ended_walk(*limit))
    }

    /// Whether the evidence is as a row wants it.
    fn is_given(&self, given: Given, question: &Question<'_, 'h>) -> Result<bool, Ended> {
        let walking = |limit: Limit| self.evidence().ended_walk(limit);
        let history = question.context().history;
        let apart = || self.apart(question);
        Ok(match given {
            // Whether something rests on inferred edges is known to the plan's reader.
            Given::Anything | Given::OnlyInferred => true,
            Given::Asked(method) => question.options().procedure == Some(method),
            Given::MoreThanGraph => question.options().procedure != Some(Method::Graph),
            Given::NotAsked => question.options().procedure.is_none(),
            Given::OrderKnown | Given::OrderKnownButUnread | Given::OrderOpen => {
                let open = strong::order_is_open(question).map_err(walking)?;
                let unread = !question.orders().map_err(walking)?.unread.is_empty();
                let is = match (open, unread) {
                    (true, _) => Given::OrderOpen,
                    (false, true) => Given::OrderKnownButUnread,
                    (false, false) => Given::OrderKnown,
                };
                question.options().procedure.is_none() && given == is
            }
            Given::ManyChains => self.has_many_chains(question)?,
            Given::CausalityOpen => {
                let stronger = [Level::Serializable, Level::SnapshotIsolation];
                let causal = self.causal(question);
                // With session order there are few chains: one a session.
                let in_sessions = || {
                    let verdict = self.decide_for_another(Promise::of(Level::Causal));
                    verdict.is_some_and(|verdict| verdict.holds() == Some(true))
                };
                let known = || {
                    (!causal.session_order && in_sessions())
                        || self.by_stronger(&stronger, causal).is_some()
                };
                let follows = self.follows(causal).and_then(|verdict| verdict.holds());
                follows != Some(true) && !(self.has_many_chains(question)? && known())
            }
            Given::AmbiguousReads => {
                let ambiguous = |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_));
                let only_known = question.options().procedure == Some(Method::Graph)
                    && !Levels::Weak.contain(question.level());
                !only_known && self.doubts(question)?.iter().any(ambiguous)
            }
            Given::NoFailures => !question.has_failed_operations(),
            Given::BeyondOperations => question.is_beyond_operations(),
            Given::ListsApart => history.has_ops(OpKind::ListRead) && apart().connected.is_none(),
            Given::KeysApart => apart().connected.is_none(),
            Given::KeysConnected => apart().connected.is_some(),
            Given::ConnectedWithoutFailures => {
                let apart = apart();
                apart.connected.is_some() && !apart.failed
            }
            Given::ConnectedSingle => {
                let apart = apart();
                apart.connected.is_some() && apart.single
            }
            Given::OnlyOperations => {
                question.promise.session_order
                    && !question.is_beyond_operations()
                    && history.meta().complete
                    && history.txns().all(|t| t.ops().len() <= 1)
            }
        })
    }

    /// Whether keys can be asked one by one.
    fn apart(&self, question: &Question<'_, 'h>) -> &KeysApart {
        let apart = &self.apart[usize::from(question.promise.session_order)];
        apart.get_or_init(|| KeysApart::of(question))
    }

    fn causal(&self, question: &Question<'_, 'h>) -> Promise {
        Promise { level: Level::Causal, ..question.promise }
    }

    fn has_many_chains(&self, question: &Question<'_, 'h>) -> Result<bool, Ended> {
        // A graph that cannot be built is no matter of chains.
        let steps = weak::causal_steps(question, self.weak()?).unwrap_or(0);
        Ok(steps > MANY_STEPS)
    }

    /// The verdict of a question that a limit ended, at a row of the plan or before one was chosen.
    fn ended(&self, row: Option<&Row>, question: &Question<'_, 'h>, ended: &Ended) -> Verdict {
        let evidence = vec!["values".to_owned()];
        let procedure = match row {
            Some(row) => question.procedure(row.attempt.name(), evidence, why_of(row)),
            None => question.procedure("none", evidence, "the check ended before one was chosen"),
        };
        let answer = Answer::Unknown(ended.reason(question.limits().bytes()));
        let promise = question.promise;
        Verdict { promise, answer, counts: Vec::new(), notes: Vec::new(), procedure }
    }
}

/// Why a row was chosen, without its figures.
fn why_of(row: &Row) -> String {
    row.why.replace("{keys}", "some keys").replace("{connected}", "keys are connected")
}

/// Whether all that was found needs an edge that no operation shows.
fn rests_on_the_unseen(verdict: &Verdict) -> bool {
    let inferred = |w: &Witness| w.steps.iter().any(|step| step.because.inferred);
    let witnesses = verdict.witnesses();
    !witnesses.is_empty() && witnesses.iter().all(inferred)
}
