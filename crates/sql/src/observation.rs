//! What was observed of a case that was run.

use std::collections::{BTreeMap, BTreeSet};

use isolde_probe::{Happened, Played};
use isolde_target::{Datum, Failure, ResultSet, Said};

use crate::case::{Case, Does};
use crate::instrument::{Part, Script};
use crate::plan::{At, Plan, Step, Turn};

/// A row: its values from left to right.
pub type Row = Vec<Datum>;

/// The primary key and the version key of each row.
pub fn versions_in(rows: &[Row]) -> impl Iterator<Item = (i128, i128)> {
    rows.iter().filter_map(|row| match row.as_slice() {
        [Datum::Integer(key), Datum::Integer(version), ..] => Some((*key, *version)),
        _ => None,
    })
}

/// What was observed of a statement.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// All rows of each table that it may look at.
    pub version_sets: Vec<(usize, Vec<Row>)>,
    /// The rows that it was going to write.
    pub before: Option<Vec<Row>>,
    /// What it was answered; none if it was not sent, or never answered.
    pub answer: Option<Result<Said, Failure>>,
    /// The rows that it wrote; after DELETE, the rows that are left.
    pub after: Option<Vec<Row>>,
    /// What failed of the reads around it.
    pub read_failed: Option<Failure>,
}

impl Seen {
    /// Whether it was done, and so were the reads around it.
    pub fn succeeded(&self) -> bool {
        self.read_failed.is_none() && matches!(self.answer, Some(Ok(_)))
    }

    /// The rows of its table that it overwrote or deleted, with the versions that they had: those that were there before, and
    /// have its version or are gone after it. They are not taken from the read with its condition, which may be what is wrong.
    pub fn overwritten(&self, does: &Does) -> Vec<(i128, i128)> {
        let Some(target) = does.target() else { return Vec::new() };
        let set = self.version_sets.iter().find(|(table, _)| *table == target);
        let (Some((_, before)), Some(after)) = (set, &self.after) else { return Vec::new() };
        let after: BTreeSet<i128> = versions_in(after).map(|(key, _)| key).collect();
        let is_gone = matches!(does, Does::Delete { .. });
        let is_overwritten = |(key, _): &(i128, i128)| after.contains(key) != is_gone;
        match does {
            Does::Update { .. } | Does::Delete { .. } => {
                versions_in(before).filter(is_overwritten).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The keys of the rows that it wrote.
    pub fn written(&self, does: &Does) -> Vec<i128> {
        match does {
            Does::Delete { .. } => self.overwritten(does).into_iter().map(|(key, _)| key).collect(),
            _ => {
                versions_in(self.after.as_deref().unwrap_or_default()).map(|(key, _)| key).collect()
            }
        }
    }

    /// What failed first, of it or of the reads around it.
    pub fn failure(&self) -> Option<&Failure> {
        self.read_failed.as_ref().or(match &self.answer {
            Some(Err(failure)) => Some(failure),
            _ => None,
        })
    }
}

/// How a transaction ended.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Fate {
    /// It has no statements, or never came to its end.
    #[default]
    Open,
    /// It committed.
    Committed,
    /// It rolled back, as it was told to.
    RolledBack,
    /// Its COMMIT failed.
    Refused(Failure),
}

/// What was observed of a case.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Observation {
    /// Of each statement of each transaction.
    pub seen: Vec<Vec<Seen>>,
    /// Transactions that did not begin, and why: what they did then was done without one.
    pub not_begun: BTreeMap<usize, Failure>,
    /// How each transaction ended.
    pub fates: Vec<Fate>,
    /// The steps in the order in which they were through.
    pub order: Vec<Turn>,
    /// The steps that had to wait, or of which a read around them had to.
    pub waited: Vec<Turn>,
    /// A step that was never answered.
    pub silent: Option<Turn>,
}

impl Observation {
    /// From what a schedule brought.
    pub fn new(case: &Case, script: &Script, played: &Played) -> Observation {
        let seen = case.transactions.iter().map(|t| vec![Seen::default(); t.statements.len()]);
        let mut observation = Observation {
            seen: seen.collect(),
            fates: vec![Fate::Open; case.transactions.len()],
            ..Observation::default()
        };
        for event in &played.events {
            let Some(sent) = script.sent.get(event.step) else { continue };
            match &event.happened {
                Happened::Blocked => observation.waited.push(sent.turn),
                Happened::Silent => {
                    observation.silent.get_or_insert(sent.turn);
                }
                Happened::Answered(said) => {
                    observation.answered(case, sent.turn, sent.part, Ok(said));
                }
                Happened::Failed(failure) => {
                    observation.answered(case, sent.turn, sent.part, Err(failure));
                }
            }
        }
        observation
    }

    fn answered(&mut self, case: &Case, turn: Turn, part: Part, said: Result<&Said, &Failure>) {
        if part == Part::Itself {
            self.order.push(turn);
        }
        let statement = match turn.step {
            Step::Statement(statement) => statement,
            Step::End => {
                self.fates[turn.txn] = match said {
                    Err(failure) => Fate::Refused(failure.clone()),
                    Ok(Said::RolledBack) => Fate::RolledBack,
                    Ok(_) if case.transactions[turn.txn].commits => Fate::Committed,
                    Ok(_) => Fate::RolledBack,
                };
                return;
            }
            Step::Begin => {
                if let Err(failure) = said {
                    self.not_begun.insert(turn.txn, failure.clone());
                }
                return;
            }
        };
        let seen = &mut self.seen[turn.txn][statement];
        let rows = |said: &Said| match said {
            Said::Rows(ResultSet { rows, .. }) => rows.clone(),
            _ => Vec::new(),
        };
        match (part, said) {
            (Part::Itself, said) => {
                seen.answer = Some(said.cloned().map_err(Clone::clone));
            }
            (_, Err(failure)) => {
                seen.read_failed.get_or_insert_with(|| failure.clone());
            }
            (Part::VersionSet(table), Ok(said)) => seen.version_sets.push((table, rows(said))),
            (Part::BeforeWrite, Ok(said)) => seen.before = Some(rows(said)),
            (Part::AfterWrite, Ok(said)) => seen.after = Some(rows(said)),
        }
    }

    /// What was observed of a statement.
    pub fn of(&self, (txn, statement): At) -> &Seen {
        &self.seen[txn][statement]
    }

    /// Whether a transaction committed.
    pub fn committed(&self, txn: usize) -> bool {
        self.fates.get(txn) == Some(&Fate::Committed)
    }

    /// The first statement of each transaction that failed, or of which a read around it did.
    pub fn failed(&self, plan: &Plan) -> Vec<At> {
        let mut failed: Vec<At> = Vec::new();
        for at in plan.statements() {
            if self.of(at).failure().is_some() && !failed.iter().any(|(txn, _)| *txn == at.0) {
                failed.push(at);
            }
        }
        failed
    }
}
