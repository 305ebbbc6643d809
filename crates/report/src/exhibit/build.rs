//! From a witness to an exhibit.

use std::collections::{HashMap, HashSet};

use isolde_history::{History, OpId, TxnId};
use isolde_spec::{
    Anomaly, Axiom, By, Edges, Finding, Mechanism, Mirrored, Promise, Step, Witness,
};

use super::moments::Moments;
use super::phrase::Phrases;
use super::sources::Sources;
use super::{Blamed, Exhibit, Fact, Link, Part, PartOp, Role, StuckOrder};
use super::{
    cited, lasting, mirrored_facts, mirrored_story, story, timed_facts, timed_story, timeline,
};
use crate::wrap::shorten;
use crate::{forced, handbook, names, sentence};

/// How many transactions of a cycle, and how many beside it, are shown.
const MOST_PARTS: usize = 40;
/// How many operations of a transaction are shown that show nothing.
const MOST_OPS: usize = 200;
/// How long an operation may be.
const OP_LEN: usize = 120;

impl Exhibit {
    /// The witness of that number, counted from 1, of a promise.
    pub fn new(history: &History, asked: Promise, number: usize, witness: &Witness) -> Exhibit {
        let sources = Sources::new(history, witness);
        let builder = Builder::new(history, witness, &sources);
        let links = builder.links();
        let timeline = timeline::of(history, asked.by, &builder.parts, &links, &sources);
        let moments = Moments::of(&timeline);
        let mut exhibit = Exhibit {
            id: format!("{}-{number}", asked.word()),
            asked,
            anomaly: witness.anomaly,
            title: title(witness, asked.by),
            meaning: meaning(witness, asked.by),
            story: timed_story::tell(history, asked, witness, &sources)
                .or_else(|| mirrored_story::tell(history, witness, &sources, &moments))
                .unwrap_or_else(|| story::tell_whole(history, witness, &sources)),
            promise: handbook::promise(asked),
            breach: breach(witness, asked.by).to_owned(),
            timeline,
            facts: facts(history, asked, witness, &sources, &moments),
            lasting: lasting::of(history, witness, &builder.at),
            blamed: builder.blamed(),
            links,
            stuck: builder.stuck(),
            left_out: builder.left_out(),
            steps_left_out: builder.steps_left_out(),
            parts: Vec::new(),
            position: witness.position(),
        };
        exhibit.parts = builder.parts;
        exhibit
    }
}

/// What timestamps, snapshots or client intervals show, row by row.
fn facts(
    history: &History,
    asked: Promise,
    witness: &Witness,
    sources: &Sources<'_>,
    moments: &Moments,
) -> Vec<Fact> {
    match &witness.mirrored {
        Some(_) => mirrored_facts::of(history, witness, sources, moments),
        None => timed_facts::of(history, asked, witness, sources),
    }
}

struct Builder<'a> {
    history: &'a History,
    witness: &'a Witness,
    sources: &'a Sources<'a>,
    parts: Vec<Part>,
    /// Where each transaction is among the parts.
    at: HashMap<TxnId, usize>,
    /// Where each operation is among those of its part.
    op_at: HashMap<OpId, usize>,
}

impl<'a> Builder<'a> {
    fn new(history: &'a History, witness: &'a Witness, sources: &'a Sources<'a>) -> Builder<'a> {
        let cited = cited::cited(witness, sources);
        let cycle: Vec<TxnId> = witness.steps.iter().map(|step| step.from).collect();
        let first = if cycle.is_empty() { witness.txns.clone() } else { cycle };
        let first = first.into_iter().take(MOST_PARTS).map(|txn| (txn, false));
        let others = witness.support.iter().take(MOST_PARTS).map(|txn| (*txn, true));
        let before = isolde_spec::aborted_before(history, witness);
        let before = before.into_iter().take(MOST_PARTS).map(|txn| (txn, true));
        let mut known = HashSet::new();
        let all = first.chain(others).chain(before).filter(|(txn, _)| known.insert(*txn));
        let parts: Vec<Part> =
            all.map(|(txn, support)| part(history, txn, support, &cited)).collect();
        let at = parts.iter().enumerate().map(|(at, part)| (part.txn, at)).collect();
        let ops = parts.iter().flat_map(|part| part.ops.iter().enumerate());
        let op_at = ops.map(|(at, op)| (op.op, at)).collect();
        Builder { history, witness, sources, parts, at, op_at }
    }

    /// The cycle, what shows why it must be, and where values came from.
    fn links(&self) -> Vec<Link> {
        let cycle = self.witness.steps.iter().enumerate();
        let mut links: Vec<Link> = cycle
            .filter_map(|(at, step)| {
                let reason = forced::reason(self.witness, at);
                let mut link = self.link(step, Role::Cycle)?;
                if let Some(reason) = reason {
                    link.sentence = sentence::plain_sentence(self.history, step);
                    link.because.push(forced::because(self.history, step, reason));
                    let path = reason.path.iter();
                    link.because.extend(path.map(|step| sentence::sentence(self.history, step)));
                }
                Some(link)
            })
            .collect();
        let mut known: HashSet<(usize, usize, Edges)> =
            links.iter().map(|link| (link.from, link.to, link.kind)).collect();
        let paths = self.witness.forced.iter().flat_map(|forced| &forced.path);
        let reasons = paths.filter_map(|step| self.link(step, Role::Reason));
        let sources = self.sources();
        let context = sources.iter().filter_map(|step| self.link(step, Role::Context));
        links.extend(
            reasons.chain(context).filter(|link| known.insert((link.from, link.to, link.kind))),
        );
        links
    }

    fn link(&self, step: &Step, role: Role) -> Option<Link> {
        let (from, to) = (*self.at.get(&step.from)?, *self.at.get(&step.to)?);
        let op = |op: Option<OpId>| op.and_then(|op| self.op_at.get(&op).copied());
        Some(Link {
            from,
            to,
            kind: step.kind,
            key: step.because.key.map(|key| shorten(&names::key(self.history, key), OP_LEN)),
            from_op: op(step.because.from_op),
            to_op: op(step.because.to_op),
            role,
            inferred: step.because.inferred,
            sentence: sentence::sentence(self.history, step),
            because: Vec::new(),
        })
    }

    /// The sources of the values that cited operations read, among the transactions that are shown.
    fn sources(&self) -> Vec<Step> {
        if self.witness.stuck.is_some() {
            return Vec::new();
        }
        let cited = self.parts.iter().flat_map(|part| part.ops.iter().filter(|op| op.cited));
        let from = |op: &PartOp| {
            let write = self.sources.of(op.op)?;
            let (from, to) = (self.history.txn_of(write), self.history.txn_of(op.op));
            let because = isolde_spec::Because {
                key: Some(self.history.op(op.op).key()),
                from_op: Some(write),
                to_op: Some(op.op),
                inferred: false,
            };
            Some(Step { from, to, kind: Edges::WR, because })
        };
        cited.filter_map(from).collect()
    }

    /// How many transactions of the witness are not shown.
    fn left_out(&self) -> usize {
        self.witness.involved().filter(|txn| !self.at.contains_key(txn)).count()
    }

    /// How many dependencies of the cycle go to or from a transaction that is not shown.
    fn steps_left_out(&self) -> usize {
        let shown = |txn: TxnId| self.at.contains_key(&txn);
        let steps = self.witness.steps.iter();
        steps.filter(|step| !shown(step.from) || !shown(step.to)).count()
    }

    /// Which transaction's timestamps do not fit, or with which one a mechanism failed.
    fn blamed(&self) -> Option<Blamed> {
        if let Some(mirrored) = &self.witness.mirrored {
            return self.failed(mirrored);
        }
        let timed = self.witness.timed.as_ref()?;
        let conflict = timed.axiom == Axiom::NoConflict;
        let other = timed.opponent.filter(|_| conflict).and_then(|txn| self.at.get(&txn).copied());
        let words = timed_facts::in_short(self.history, self.witness, self.sources)?;
        Some(Blamed { part: *self.at.get(&timed.txn)?, other, words })
    }

    /// With which transaction a mechanism failed; of two that do not go together, both.
    fn failed(&self, mirrored: &Mirrored) -> Option<Blamed> {
        let words = mirrored_facts::in_short(
            &Phrases { history: self.history, sources: self.sources },
            self.witness,
        )?;
        let both = mirrored.mechanism != Mechanism::ConsistentRead;
        let other = mirrored.opponent.filter(|_| both).and_then(|txn| self.at.get(&txn).copied());
        Some(Blamed { part: *self.at.get(&mirrored.txn)?, other, words })
    }

    fn stuck(&self) -> Option<StuckOrder> {
        let stuck = self.witness.stuck.as_ref()?;
        let part = |op: &OpId| self.at.get(&self.history.txn_of(*op)).copied();
        Some(StuckOrder {
            order: stuck.prefix.iter().filter_map(part).collect(),
            next: part(&stuck.op)?,
            why: stuck.why.clone(),
        })
    }
}

/// A transaction with what it did: what is cited, and so much of the rest as can be looked at.
fn part(history: &History, id: TxnId, support: bool, cited: &HashSet<OpId>) -> Part {
    let txn = history.txn(id);
    let shown = |(at, op): (usize, isolde_history::Op<'_>)| {
        let cited = cited.contains(&op.id());
        (cited || at < MOST_OPS).then(|| PartOp {
            op: op.id(),
            text: shorten(&names::op(history, op.id()), OP_LEN),
            key: op.kind().has_key().then(|| shorten(&names::key(history, op.key()), OP_LEN)),
            cited,
        })
    };
    let ops: Vec<PartOp> = txn.ops().enumerate().filter_map(shown).collect();
    let interval = txn.interval();
    Part {
        txn: id,
        name: names::txn(history, id),
        session: names::session(history, txn.session()),
        support,
        outcome: txn.outcome(),
        begin: interval.begin,
        end: interval.end,
        start_ts: txn.start_ts(),
        commit_ts: txn.commit_ts(),
        left_out: txn.ops().len() - ops.len(),
        ops,
    }
}

/// Whether it is a cycle of inferred orders. Such a cycle has its name from the level that leaves no
/// other order, not from how it looks.
fn is_unseen(witness: &Witness) -> bool {
    witness.steps.iter().any(|step| step.because.inferred) && witness.forced.is_empty()
}

/// The name of the anomaly; where it can be found by values, too, it says that it was not.
fn title(witness: &Witness, by: By) -> String {
    let name = sentence::variant(witness.anomaly, witness.needs);
    let finding = witness.anomaly.entry().finding;
    let only = match witness.mirrored {
        // What timestamps show and what intervals show may have the same name, and are not the same.
        Some(_) => finding == Finding::Intervals,
        None => {
            witness.timed.is_none() || matches!(finding, Finding::Timestamps | Finding::Snapshots)
        }
    };
    match !only {
        true => format!("{name} by {}", by.name()),
        false => name,
    }
}

/// What the anomaly means, in a line.
fn meaning(witness: &Witness, by: By) -> String {
    if is_of_session(witness) {
        let by = by.name();
        return format!("a transaction does not come, by {by}, after what its session did before");
    }
    if let Some((meaning, _)) = only_by_timestamps(witness).or_else(|| written_later(witness)) {
        return meaning.to_owned();
    }
    if let Some(meaning) = by_intervals(witness) {
        return meaning.to_owned();
    }
    let meaning = witness.anomaly.entry().meaning;
    if !is_unseen(witness) {
        return meaning.to_owned();
    }
    format!(
        "at this level no order of the versions explains what was read (it has the name of the most \
         general cycle that the level forbids: {meaning})"
    )
}

/// Whether timestamps alone show that a session is not in order: nothing need have been missed.
fn is_of_session(witness: &Witness) -> bool {
    witness.timed.as_ref().is_some_and(|timed| timed.axiom == Axiom::Session)
}

/// What something means, and where it breaks the promise, if timestamps give a name another meaning than values do.
fn only_by_timestamps(witness: &Witness) -> Option<(&'static str, &'static str)> {
    let timed = witness.timed.as_ref().filter(|timed| timed.axiom == Axiom::Ext)?;
    match witness.anomaly {
        // One read is enough: timestamps say what the order is.
        Anomaly::IncompatibleOrder => Some((
            "a list was read whose elements are not in the order of their commits",
            "the elements of a list have to be in the order of their commit timestamps, and these are not",
        )),
        Anomaly::ThinAirRead if timed.read.is_none() => Some((
            "an operation was refused although the key never held anything but what it asked for",
            "an operation is refused only if the key holds something else, and there never was anything else",
        )),
        _ => None,
    }
}

/// The same of a value that some transaction wrote, but certainly not by then.
fn written_later(witness: &Witness) -> Option<(&'static str, &'static str)> {
    let read = witness.mirrored.as_ref()?.read.as_ref();
    (witness.anomaly == Anomaly::ThinAirRead && read.is_some_and(|read| read.write.is_some())).then_some((
        "a transaction read a value that no transaction had written by then",
        "a value has to be written before it can be read, and this one certainly was only later",
    ))
}

/// What something means by intervals that the catalogue explains by the server's own word.
fn by_intervals(witness: &Witness) -> Option<&'static str> {
    witness.mirrored.as_ref()?;
    match witness.anomaly {
        Anomaly::StaleRead => {
            Some("a transaction read a version that had certainly been overwritten by then")
        }
        Anomaly::UncommittedVersionRead => {
            Some("a transaction read a version that cannot have been committed by then")
        }
        _ => None,
    }
}

/// Where that breaks the promise.
fn breach(witness: &Witness, by: By) -> &'static str {
    if is_of_session(witness) && by == By::Snapshots {
        return "by its snapshot a transaction need not see what its own session did before";
    }
    if is_of_session(witness) {
        return "by its timestamps a transaction need not see what its own session did before";
    }
    if let Some((_, breach)) = only_by_timestamps(witness).or_else(|| written_later(witness)) {
        return breach;
    }
    if is_unseen(witness) {
        return "whichever order is assumed for the versions that were written blindly, some transaction read what the level does not allow";
    }
    handbook::anomaly(witness.anomaly).breach
}
