//! What happened, in one or two sentences with the real keys, values and transactions.
//!
//! Each anomaly has its own way to be told; where a witness does not look as its name suggests, the
//! cycle is told as it is.

use isolde_history::{Effect, History, Op, OpId, OpKind, Outcome, TxnId, Value};
use isolde_spec::{Anomaly, Edges, Step, Witness};

use super::phrase::Phrases;
use super::sources::Sources;
use crate::{forced, names};

/// How many steps of a cycle are told one by one.
const MOST: usize = 4;

/// The story of a witness by values: what happened, and why transactions count whose outcomes are unknown.
pub(super) fn tell_whole(history: &History, witness: &Witness, sources: &Sources<'_>) -> String {
    tell(history, witness, sources) + &unknown_outcomes(history, witness, sources)
}

/// " The outcome of T1 is unknown, but T2 read x = 3, which T1 wrote: so T1 has committed."
fn unknown_outcomes(history: &History, witness: &Witness, sources: &Sources<'_>) -> String {
    let p = Phrases { history, sources };
    let mut unknown: Vec<TxnId> = witness.steps.iter().map(|step| step.from).collect();
    unknown.retain(|txn| history.txn(*txn).outcome() == Outcome::Unknown);
    unknown.sort_unstable();
    unknown.dedup();
    let told = unknown.into_iter().take(MOST).filter_map(|txn| {
        let (read, write) = read_of(history, witness, sources, txn)?;
        let (name, reader) = (p.name(txn), p.whose(read));
        let (read, wrote) = (p.read(read), p.wrote(write));
        Some(match history.op(write).kind() {
            OpKind::Append => format!(
                " The outcome of {name} is unknown, but {reader} {read}, and {name} {wrote}: so {name} has committed."
            ),
            _ => format!(
                " The outcome of {name} is unknown, but {reader} {read}, which {name} wrote: so {name} has committed."
            ),
        })
    });
    told.collect()
}

/// A committed transaction's read of what a transaction wrote, among those of the witness.
fn read_of(
    history: &History,
    witness: &Witness,
    sources: &Sources<'_>,
    writer: TxnId,
) -> Option<(OpId, OpId)> {
    let mut readers: Vec<TxnId> = witness.involved().filter(|txn| *txn != writer).collect();
    readers.sort_unstable();
    readers.dedup();
    readers.retain(|txn| history.txn(*txn).outcome() == Outcome::Committed);
    let reads = readers.into_iter().flat_map(|txn| history.txn(txn).ops());
    reads.filter(|op| op.kind() != OpKind::PredicateRead).find_map(|op| {
        let own = sources.all_of(op.id());
        let write = own.into_iter().find(|write| history.txn_of(*write) == writer)?;
        Some((op.id(), write)).filter(|_| stands(&history.op(write)))
    })
}

/// What happened.
pub(super) fn tell(history: &History, witness: &Witness, sources: &Sources<'_>) -> String {
    let teller = Teller { p: Phrases { history, sources }, w: witness };
    let own = match witness.anomaly {
        Anomaly::LostUpdate => teller.lost_update().or_else(|| teller.missed()),
        Anomaly::WriteSkew => teller.write_skew(),
        Anomaly::LongFork => teller.long_fork(),
        Anomaly::NotLinearizable => teller.stuck(),
        Anomaly::LostCommit => teller.lost_commit(),
        _ if witness.steps.is_empty() => teller.local(),
        _ => teller.missed(),
    };
    own.or_else(|| teller.forced()).unwrap_or_else(|| teller.cycle())
}

struct Teller<'a> {
    p: Phrases<'a>,
    w: &'a Witness,
}

impl Teller<'_> {
    /// The operations that show a step, where both are known and the step was not inferred.
    fn ops(step: &Step) -> Option<(OpId, OpId)> {
        let because = step.because;
        Some((because.from_op?, because.to_op?)).filter(|_| !because.inferred)
    }

    // ---- what the server itself says ----

    /// "The server confirmed the commit of T1 (number 10), which wrote x = 1, and lost it: ..."
    fn lost_commit(&self) -> Option<String> {
        let (p, txn) = (&self.p, *self.w.txns.first()?);
        let of = p.history.txn(txn);
        let number = of.xid().map(|xid| format!(" (number {xid})")).unwrap_or_default();
        let wrote = self.w.ops.first().map(|op| format!(", which {}", p.wrote(*op)));
        Some(format!(
            "The server confirmed the commit of {}{number}{}; asked for it later, the server knew nothing of it.",
            p.name(txn),
            wrote.unwrap_or_default(),
        ))
    }

    // ---- cycles with a name ----

    fn lost_update(&self) -> Option<String> {
        self.both_overwrote().or_else(|| self.overwritten())
    }

    /// Two read the same version, and both overwrote it.
    fn both_overwrote(&self) -> Option<String> {
        let [a, b] = self.w.steps[..] else { return None };
        let (p, (a_from, _), (b_from, _)) = (&self.p, Self::ops(&a)?, Self::ops(&b)?);
        if (a.kind, b.kind) != (Edges::RW, Edges::RW) || !self.same_version(a_from, b_from) {
            return None;
        }
        Some(format!(
            "{} and {} both {}{} and both wrote {}: one update is lost.",
            p.name(a.from),
            p.name(b.from),
            p.read(a_from),
            closed(&p.origin(a_from)),
            p.key(a_from),
        ))
    }

    /// A transaction read a version and wrote the key, over what another transaction had written
    /// meanwhile. The other one came first by whatever else binds the two.
    fn overwritten(&self) -> Option<String> {
        let (p, steps) = (&self.p, &self.w.steps);
        let mut anti = (0..steps.len()).filter(|at| steps[*at].kind == Edges::RW);
        let (at, None) = (anti.next()?, anti.next()) else { return None };
        let (read, lost) = Self::ops(&steps[at])?;
        let winner = self.own_write_after(read)?.id();
        let path: Vec<&Step> = steps[at + 1..].iter().chain(&steps[..at]).collect();
        let same_key = |step: &Step| step.because.key == steps[at].because.key;
        let direct = matches!(path[..], [only] if only.kind == Edges::WW && same_key(only));
        let way: Vec<String> = path.iter().rev().take(MOST).map(|step| self.clause(step)).collect();
        let first = format!(" ({} came first: {})", p.whose(lost), way.join("; "));
        let grew = p.history.op(winner).kind() == OpKind::Append;
        let end = if grew { "it had not seen that" } else { "that update is lost" };
        Some(format!(
            "{} {}{} and then {}, though {} {} in between{}: {end}.",
            p.whose(read),
            p.read(read),
            closed(&p.origin(read)),
            p.wrote(winner),
            p.whose(lost),
            p.wrote(lost),
            if direct { "" } else { &first },
        ))
    }

    /// The next write of a reader to what it read; a compare-and-set is both.
    fn own_write_after(&self, read: OpId) -> Option<Op<'_>> {
        let history = self.p.history;
        let key = history.op(read).key();
        let own = history.txn(history.txn_of(read)).ops().filter(|op| op.id() >= read);
        own.filter(|op| op.kind().writes() && op.key() == key).find(stands)
    }

    fn same_version(&self, a: OpId, b: OpId) -> bool {
        let (a, b) = (self.p.history.op(a), self.p.history.op(b));
        let seen = |op: &Op<'_>| match op.kind() {
            OpKind::Cas => op.expected(),
            // Both took effect, so both found nothing.
            OpKind::InsertIfAbsent => Some(Value::ABSENT),
            _ => Some(op.value()),
        };
        a.kind() == b.kind() && a.key() == b.key() && seen(&a) == seen(&b)
    }

    fn write_skew(&self) -> Option<String> {
        let [a, b] = self.w.steps[..] else { return None };
        let (p, [(a_from, a_to), (b_from, b_to)]) = (&self.p, [Self::ops(&a)?, Self::ops(&b)?]);
        if (a.kind, b.kind) != (Edges::RW, Edges::RW) {
            return None;
        }
        Some(format!(
            "{} {} and {}, while {} {} and {}: each overwrote what the other had read, so neither can \
             have come first.",
            p.name(a.from),
            p.read(a_from),
            p.wrote(b_to),
            p.name(b.from),
            p.read(b_from),
            p.wrote(a_to),
        ))
    }

    /// Two readers, each with what it saw and what it missed.
    fn long_fork(&self) -> Option<String> {
        let steps = &self.w.steps;
        let at = steps.iter().position(|step| step.kind == Edges::WR)?;
        let turned: Vec<&Step> = steps[at..].iter().chain(&steps[..at]).collect();
        let [wr, rw, other_wr, other_rw] = turned[..] else { return None };
        let view = |saw: &Step, missed: &Step| {
            let ((write, read), (old, new)) = (Self::ops(saw)?, Self::ops(missed)?);
            let p = &self.p;
            (saw.kind == Edges::WR && missed.kind == Edges::RW).then(|| {
                let saw = format!("{} {} of {}", p.whose(read), p.read(read), p.whose(write));
                format!("{saw}, but {}, {}", p.read(old), p.replaced(old, new))
            })
        };
        Some(format!(
            "{}; {}: they disagree about which came first.",
            view(wr, rw)?,
            view(other_wr, other_rw)?
        ))
    }

    /// Cycles with one anti-dependency: a reader missed a version that it had to see.
    fn missed(&self) -> Option<String> {
        let steps = &self.w.steps;
        let mut anti = (0..steps.len()).filter(|at| steps[*at].kind == Edges::RW);
        let (at, None) = (anti.next()?, anti.next()) else { return None };
        let (old, new) = Self::ops(&steps[at])?;
        let path: Vec<&Step> = steps[at + 1..].iter().chain(&steps[..at]).collect();
        let p = &self.p;
        let reader = p.name(steps[at].from);
        let it = format!("{}{}, {}", p.read(old), p.origin(old), p.replaced(old, new));
        if path.iter().any(|step| step.because.inferred) {
            return None;
        }
        let way: Vec<String> = path.iter().rev().map(|step| self.clause(step)).collect();
        let writer = p.name(steps[at].to);
        Some(match (&path[..], self.w.anomaly) {
            ([only], Anomaly::NonMonotonicRead) => {
                let (_, saw) = Self::ops(only)?;
                format!("{reader} first {} of {writer}, and then {it}.", p.read(saw))
            }
            ([only], _) if only.kind == Edges::WR => {
                let (_, saw) = Self::ops(only)?;
                let same = p.history.op(saw).key() == p.history.op(old).key();
                let end = if same { "both before and after" } else { "one part of" };
                let rest = if same { "" } else { " and not the other" };
                format!(
                    "{reader} {} of {writer}, but {it}: it saw {end} {writer}{rest}.",
                    p.read(saw)
                )
            }
            ([only], _) if only.kind == Edges::SO => {
                format!("{reader} came after {writer} in the same session, and yet it {it}.")
            }
            ([only], _) if only.kind == Edges::RT => {
                format!("{reader} began after {writer} had ended, and yet it {it}.")
            }
            _ if way.len() <= MOST => {
                format!(
                    "{}. So {reader} had to see what {writer} wrote, and yet it {it}.",
                    joined(&way)
                )
            }
            _ => format!(
                "{reader} depends on {writer} by way of {} other transactions, and yet it {it}.",
                path.len() - 1
            ),
        })
    }

    /// What a step says, as a clause: "T2 read x = 1 of T1".
    fn clause(&self, step: &Step) -> String {
        let p = &self.p;
        let (from, to) = (p.name(step.from), p.name(step.to));
        let ops = step.because.from_op.zip(step.because.to_op);
        match (step.kind, ops) {
            (Edges::SO, _) => format!("{to} came after {from} in its session"),
            (Edges::RT, _) => format!("{to} began after {from} had ended"),
            (Edges::WR, Some((_, read))) => format!("{to} {} of {from}", p.read(read)),
            (Edges::WR, None) => format!("{to} read from {from}"),
            (Edges::WW, Some((old, new))) => {
                format!("{to} {} after {from} {}", p.wrote(new), p.wrote(old))
            }
            (Edges::WW, None) => format!("{to} wrote after {from}"),
            (_, Some((old, new))) => {
                format!("{from} {}, {}", p.read(old), p.replaces(old, new))
            }
            _ => format!("{to} overwrote a version that {from} read"),
        }
    }

    /// Inferred dependencies, each with the read that forces it.
    fn forced(&self) -> Option<String> {
        let (p, w) = (&self.p, self.w);
        let steps = w.steps.iter().enumerate();
        let said: Vec<String> = steps
            .take(MOST + 1)
            .map(|(at, step)| match forced::reason(w, at) {
                Some(reason) if step.kind == Edges::WW => {
                    let (from, to) = (p.name(step.from), p.name(step.to));
                    let read = format!("{} {} of {to}", p.whose(reason.read), p.read(reason.read));
                    format!("{read} although it had seen {from}, so {from} came before {to}")
                }
                _ => self.clause(step),
            })
            .collect();
        (!w.forced.is_empty() && said.len() <= MOST)
            .then(|| format!("{}: no order of them does all that.", joined(&said)))
    }

    /// Any cycle.
    fn cycle(&self) -> String {
        let told = self.each_before_the_next();
        if self.w.steps.iter().any(|step| step.because.inferred) {
            return format!(
                "The version order was not observed, but the reads leave only \
                 this: {told}"
            );
        }
        told
    }

    fn each_before_the_next(&self) -> String {
        let steps = &self.w.steps;
        let said: Vec<String> = steps.iter().take(MOST).map(|step| self.clause(step)).collect();
        let names: Vec<TxnId> = steps.iter().map(|step| step.from).collect();
        match steps.len() {
            0 => capitalised(self.w.anomaly.entry().meaning),
            2 => format!(
                "{}: each of {} must come before the other.",
                said.join("; "),
                self.p.names(&names)
            ),
            1..=MOST => format!(
                "{}: each of {} must come before the next, and the last before the first.",
                said.join("; "),
                self.p.names(&names)
            ),
            n => format!(
                "{n} transactions each must come before the next, and the last before the first. It starts with: {}.",
                said.join("; ")
            ),
        }
    }

    // ---- without a cycle ----

    fn stuck(&self) -> Option<String> {
        let stuck = self.w.stuck.as_ref()?;
        let (p, op) = (&self.p, self.p.history.op(stuck.op));
        let did = match (op.kind().writes(), op.effect()) {
            (true, Effect::Done) => p.wrote(stuck.op),
            (true, Effect::Failed) => format!("failed at {}", names::op(p.history, stuck.op)),
            (true, Effect::Unknown) => format!("tried {}", names::op(p.history, stuck.op)),
            (false, _) => p.read(stuck.op),
        };
        Some(format!("{} {did}, and no order explains that: {}.", p.whose(stuck.op), stuck.why))
    }

    fn local(&self) -> Option<String> {
        let (p, w) = (&self.p, self.w);
        let op = |at: usize| w.ops.get(at).map(|op| p.history.op(*op));
        let (first, second) = (op(0)?, op(1));
        let all = [Some(first), second];
        let reads = |op: &&Op<'_>| !op.kind().writes() || op.kind() == OpKind::Cas;
        let thin_air = w.anomaly == Anomaly::ThinAirRead;
        let read = all.iter().flatten().rfind(reads).filter(|_| !thin_air);
        let read = read.map_or(first.id(), Op::id);
        let write = all.iter().flatten().find(|op| op.kind().writes() && op.id() != read);
        let write = write.copied().or_else(|| self.own_write_before(read));
        match (w.anomaly, write, second) {
            (Anomaly::NonRepeatableReads | Anomaly::IncompatibleOrder, _, Some(second)) => {
                Some(self.two_reads(first.id(), second.id()))
            }
            (Anomaly::ThinAirRead, ..) => {
                let rows = p.history.op(read).kind() == OpKind::PredicateRead;
                let which = match second {
                    _ if rows => "which no state of the rows gives".to_owned(),
                    Some(tried) => format!(
                        "which no transaction wrote: {} of {} failed",
                        names::op(p.history, tried.id()),
                        p.whose(tried.id())
                    ),
                    None => "which no transaction wrote".to_owned(),
                };
                Some(format!("{} {}, {which}.", p.whose(read), p.read(read)))
            }
            (_, Some(write), _) => self.read_of(&write, read),
            _ => None,
        }
    }

    /// What was wrong with reading what a write left.
    fn read_of(&self, write: &Op<'_>, read: OpId) -> Option<String> {
        let p = &self.p;
        let (reader, did) = (p.whose(read), p.read(read));
        let (writer, wrote) = (p.whose(write.id()), p.wrote(write.id()));
        Some(match self.w.anomaly {
            Anomaly::AbortedRead if self.undone(write) => {
                format!(
                    "{reader} {did}, which {writer} had written and taken back (to a savepoint)."
                )
            }
            Anomaly::AbortedRead if self.began_after(write.id(), read) => format!(
                "{reader} {did}. Only {writer} wrote that, and {writer} was rolled back; but it began \
                 after {reader} had ended. So the value came from nowhere, or a clock is wrong."
            ),
            Anomaly::AbortedRead => format!("{reader} {did} of {writer}, which was rolled back."),
            Anomaly::IntermediateRead => {
                let last = self.last_write(write);
                format!("{reader} {did} of {writer}, which {last} before it committed.")
            }
            Anomaly::FutureRead => format!("{reader} {did} before it {wrote}."),
            Anomaly::NotMyLastWrite | Anomaly::NotMyOwnWrite => {
                format!("{reader} {wrote} and then {did}.")
            }
            Anomaly::DuplicateElements => format!("{writer} {wrote} once, but {reader} {did}."),
            Anomaly::DirtyUpdate => format!(
                "{writer} {wrote} and was rolled back, but {reader} {did}: a committed element \
                 stands on top of it."
            ),
            _ => return None,
        })
    }

    /// Whether the transaction of one operation began after that of another one had ended.
    fn began_after(&self, later: OpId, earlier: OpId) -> bool {
        let history = self.p.history;
        let interval = |op: OpId| history.txn(history.txn_of(op)).interval();
        match (interval(later).begin, interval(earlier).end) {
            (Some(begin), Some(end)) => begin > end,
            _ => false,
        }
    }

    fn two_reads(&self, first: OpId, second: OpId) -> String {
        let p = &self.p;
        let (a, b) = (p.read(first), p.read(second));
        if self.w.anomaly == Anomaly::IncompatibleOrder {
            let (who, other) = (p.whose(first), p.whose(second));
            return format!("{who} {a}, and {other} {b}: neither list grew out of the other.");
        }
        let txn = p.history.txn(p.history.txn_of(first));
        let holds = |op: OpId| txn.stmts().position(|stmt| stmt.ops().any(|o| o.id() == op));
        let when = if holds(first) == holds(second) { "in the same statement" } else { "later" };
        format!("{} {a}, and {when} {b}.", p.whose(first))
    }

    /// The last write of a reader to what it reads, before it does.
    fn own_write_before(&self, read: OpId) -> Option<Op<'_>> {
        let history = self.p.history;
        let key = history.op(read).key();
        let own = history.txn(history.txn_of(read)).ops().filter(|op| op.id() < read);
        own.filter(|op| op.kind().writes() && op.key() == key && stands(op)).last()
    }

    /// Whether a write was taken back by a transaction that committed.
    fn undone(&self, write: &Op<'_>) -> bool {
        let txn = self.p.history.txn(self.p.history.txn_of(write.id()));
        write.undone() && txn.outcome() != Outcome::Aborted
    }

    /// What became of a write in its own transaction: "overwrote it with 2".
    fn last_write(&self, write: &Op<'_>) -> String {
        let txn = self.p.history.txn(self.p.history.txn_of(write.id()));
        let same = |op: &Op<'_>| op.kind().writes() && op.key() == write.key() && stands(op);
        let last = txn.ops().filter(same).last().filter(|last| last.id() > write.id());
        match last {
            Some(last) if last.value() != Value::UNOBSERVED && last.kind() == OpKind::Write => {
                format!("overwrote it with {}", self.p.value(last.value()))
            }
            Some(_) => "went on to change it".to_owned(),
            None => "did not leave it so".to_owned(),
        }
    }
}

/// Whether a write took effect and was not taken back.
pub(super) fn stands(op: &Op<'_>) -> bool {
    op.effect() == Effect::Done && !op.undone()
}

/// "a", "a, and b", "a, b, and c".
fn joined(clauses: &[String]) -> String {
    match clauses {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}

/// An aside with the comma that ends it.
fn closed(aside: &str) -> String {
    if aside.is_empty() { String::new() } else { format!("{aside},") }
}

/// A clause as a sentence.
fn capitalised(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(['.']).collect()
}
