//! What client intervals show of a witness, row by row: the mechanism, what a read can have seen, what it saw, and when the
//! server did what.

use isolde_history::{History, OpId, TxnId, Value};
use isolde_spec::{Anomaly, Mechanism, Mirrored, Seen, Stretch, StretchOf, Witness};

use super::Fact;
use super::mirrored_story::{locked, version};
use super::moments::Moments;
use super::phrase::Phrases;
use super::sources::Sources;
use crate::wrap::number;

/// How many rows of a kind are shown.
const MOST: usize = 8;

/// The rows; none for a witness by anything else.
pub(super) fn of(
    history: &History,
    witness: &Witness,
    sources: &Sources<'_>,
    moments: &Moments,
) -> Vec<Fact> {
    let Some(mirrored) = &witness.mirrored else { return Vec::new() };
    let clerk = Clerk { p: Phrases { history, sources }, w: witness, m: mirrored, moments };
    let mechanism = mirrored.mechanism;
    let text = format!("{}: {}", mechanism.name(), rule(mechanism));
    let mut facts = vec![Fact { name: "mechanism", text }];
    clerk.versions(&mut facts);
    clerk.stretches(&mut facts);
    if !mirrored.semantic {
        let text =
            "intervals show it; whether what was read and written is allowed is another question"
                .to_owned();
        facts.push(Fact { name: "values", text });
    }
    facts
}

/// What is wrong with a transaction, in a few words, for a picture; nothing where a cycle shows it.
pub(super) fn in_short(p: &Phrases<'_>, witness: &Witness) -> Option<String> {
    let mirrored = witness.mirrored.as_ref().filter(|_| witness.steps.is_empty())?;
    Some(match (mirrored.mechanism, &mirrored.possible[..]) {
        (Mechanism::ConsistentRead, [only]) => {
            let op = *witness.ops.first()?;
            format!("could see {} only", version(p, mirrored.row, op, only))
        }
        (Mechanism::ConsistentRead, []) => "no one snapshot".to_owned(),
        (Mechanism::ConsistentRead, _) => "could not see that".to_owned(),
        (Mechanism::MutualExclusion, _) => "locked by both".to_owned(),
        (Mechanism::FirstUpdaterWins, _) => "both wrote".to_owned(),
        (Mechanism::Certifier, _) => "should have been refused".to_owned(),
    })
}

/// What a mechanism promises, in a sentence.
fn rule(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::ConsistentRead => {
            "a read sees a version that was there when its snapshot was taken, or when it had its lock"
        }
        Mechanism::MutualExclusion => {
            "two locks that exclude each other are not held at the same time"
        }
        Mechanism::FirstUpdaterWins => {
            "of two transactions that write a row one had committed before the other took its snapshot"
        }
        Mechanism::Certifier => "what would not be serializable does not commit",
    }
}

struct Clerk<'a> {
    p: Phrases<'a>,
    w: &'a Witness,
    m: &'a Mirrored,
    moments: &'a Moments,
}

impl Clerk<'_> {
    /// What a read can have seen, and what it saw.
    fn versions(&self, facts: &mut Vec<Fact>) {
        let Some(op) = self.w.ops.first().copied() else { return };
        let possible = self.m.possible.iter().take(MOST);
        facts.extend(possible.map(|seen| Fact { name: "possible", text: self.told(op, seen) }));
        let left = self.m.possible.len().saturating_sub(MOST);
        if left > 0 {
            let text = format!("and {} more versions", number(left));
            facts.push(Fact { name: "possible", text });
        }
        let read = self.m.read.iter();
        facts.extend(read.map(|seen| Fact { name: "read", text: self.told(op, seen) }));
    }

    /// "x = 2, written by T7 (committed between 10 and 11)".
    fn told(&self, op: OpId, seen: &Seen) -> String {
        let version = version(&self.p, self.m.row, op, seen);
        match seen.write {
            Some(write) if self.w.anomaly == Anomaly::ThinAirRead => {
                let writer = self.p.history.txn_of(write);
                format!("{version}, which {} wrote later", self.p.name(writer))
            }
            Some(write) => {
                let writer = self.p.history.txn_of(write);
                format!("{version}, written by {}{}", self.p.name(writer), self.committed(writer))
            }
            None if seen.initial => format!("{version}, the initial state"),
            None if self.w.anomaly == Anomaly::ThinAirRead && seen.value != Value::ABSENT => {
                format!("{version}, which no transaction wrote")
            }
            None => version,
        }
    }

    fn committed(&self, txn: TxnId) -> String {
        let commit = |it: &&Stretch| it.txn == txn && it.what == StretchOf::Commit;
        let commit = self.m.stretches.iter().find(commit);
        let when = commit.map(|commit| format!(" (committed {})", self.moments.within(commit)));
        when.unwrap_or_default()
    }

    /// When the server did what, as far as that is certain.
    fn stretches(&self, facts: &mut Vec<Fact>) {
        for stretch in self.m.stretches.iter().take(2 * MOST) {
            let who = self.p.name(stretch.txn);
            let text = match stretch.what {
                StretchOf::Snapshot | StretchOf::Commit => {
                    format!("{who}: {}", self.moments.within(stretch))
                }
                StretchOf::Held => {
                    let what = locked(&self.p, &self.m.stretches);
                    format!("{who}: {what} {}", self.moments.lasting(stretch))
                }
                StretchOf::Range => format!("{who}: {}", self.moments.lasting(stretch)),
                StretchOf::Open => {
                    format!("{who}: {}, from snapshot to COMMIT", self.moments.lasting(stretch))
                }
            };
            facts.push(Fact { name: stretch.what.name(), text });
        }
    }
}
