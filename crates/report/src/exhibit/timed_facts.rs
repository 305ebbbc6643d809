//! What timestamps or snapshots show of a witness, row by row: the rule, what should have been read, what was read, and who
//! wrote both.

use isolde_history::{History, TxnId};
use isolde_spec::{Anomaly, Axiom, By, Level, Promise, Seen, Timed, Witness};

use super::phrase::Phrases;
use super::sources::Sources;
use super::timed_story::{taken, wrote_anything};
use super::{Fact, snapshot_story};
use crate::{names, stamps};

/// The rows; none for a witness by values.
pub(super) fn of(
    history: &History,
    asked: Promise,
    witness: &Witness,
    sources: &Sources<'_>,
) -> Vec<Fact> {
    let Some(timed) = &witness.timed else { return Vec::new() };
    let p = Phrases { history, sources };
    let wrote = wrote_anything(history, timed.txn);
    let rule = format!("{}: {}", timed.axiom.name(), rule(asked, timed, witness.anomaly, wrote));
    let mut facts = vec![Fact { name: "rule", text: rule }];
    if let Some(op) = witness.ops.first().copied() {
        let seen =
            |seen: &Seen| format!("{}{}", p.version(op, seen), origin(history, asked.by, seen));
        let expected = timed.expected.iter().map(|it| Fact { name: "expected", text: seen(it) });
        facts.extend(expected);
        facts.extend(timed.read.iter().map(|it| Fact { name: "read", text: seen(it) }));
    }
    for assumed in &timed.assumed {
        let name = names::txn(history, assumed.txn);
        let text =
            format!("{name}, whose outcome is unknown and which was read, {}", taken(assumed));
        facts.push(Fact { name: "assumed", text });
    }
    facts
}

/// Who wrote a version, and when: ", written by T2 (start 4, commit 5)".
fn origin(history: &History, by: By, seen: &Seen) -> String {
    match seen.write {
        Some(write) => {
            let writer: TxnId = history.txn_of(write);
            let last = if seen.list.is_some() { "whose last element is of" } else { "written by" };
            let when = match by {
                By::Snapshots => snapshot_story::shown(history, writer),
                _ => stamps::both(history, writer),
            };
            format!(", {last} {} ({when})", names::txn(history, writer))
        }
        None if seen.initial => ", the initial state".to_owned(),
        None => ", which no transaction wrote".to_owned(),
    }
}

/// The rule that was broken, in a sentence. In commit order it matters whether the transaction wrote.
fn rule(asked: Promise, timed: &Timed, anomaly: Anomaly, wrote: bool) -> &'static str {
    if asked.by == By::Snapshots {
        return snapshot_story::rule(timed.axiom, asked.level == Level::ReadCommitted);
    }
    let serial = asked.level == Level::Serializable;
    match timed.axiom {
        Axiom::Fresh | Axiom::Snapshots => snapshot_story::rule(timed.axiom, false),
        Axiom::Session if serial => "commit order keeps the order of each session",
        Axiom::Session => {
            "a transaction starts at or after the commit of every earlier one of its session"
        }
        Axiom::Int => "a transaction reads what it wrote or read before",
        Axiom::Ext if serial && wrote => {
            "a transaction that wrote reads the newest version that committed before it"
        }
        Axiom::Ext if serial => {
            "a transaction that only read reads the newest version that committed at or before its place in \
             commit order"
        }
        Axiom::Ext => {
            "a transaction reads the newest version that committed at or before its start"
        }
        Axiom::NoConflict => {
            "of two transactions that wrote a key, one commits at or before the start of the other"
        }
        Axiom::Stamps if anomaly == Anomaly::TimestampTie => {
            "no two transactions that wrote a key commit at the same time"
        }
        Axiom::Stamps => {
            "a transaction that wrote commits after its start, any other not before it"
        }
    }
}

/// What is wrong with the transaction to blame, in a few words for a picture.
pub(super) fn in_short(
    history: &History,
    witness: &Witness,
    sources: &Sources<'_>,
) -> Option<String> {
    let timed = witness.timed.as_ref()?;
    let p = Phrases { history, sources };
    let opponent = timed.opponent.map(|txn| names::txn(history, txn));
    let opponent = opponent.unwrap_or_else(|| "another one".to_owned());
    Some(match (timed.axiom, witness.anomaly) {
        (Axiom::Ext, _) => {
            let op = *witness.ops.first()?;
            format!("expected {}", p.version(op, timed.expected.first()?))
        }
        (Axiom::Int, _) => "contradicts itself".to_owned(),
        (Axiom::Fresh, _) => format!("misses {opponent}"),
        (Axiom::Snapshots, _) if timed.apart.is_some() => format!("contradicts {opponent}"),
        (Axiom::Snapshots, _) => "shows itself".to_owned(),
        (Axiom::NoConflict, _) => "overlap".to_owned(),
        (Axiom::Session, _) => format!("not after {opponent}"),
        (Axiom::Stamps, Anomaly::TimestampTie) => format!("the same commit as {opponent}"),
        (Axiom::Stamps, _) => {
            let txn = history.txn(timed.txn);
            let same = txn.start_ts() == txn.commit_ts();
            let words = if same { "started just then" } else { "committed before it started" };
            words.to_owned()
        }
    })
}
