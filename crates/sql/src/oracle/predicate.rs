//! One condition finds the same rows in SELECT, UPDATE and DELETE (figure 1 of the paper).

use isolde_target::Said;

use crate::case::{Case, Does, ReadLock};
use crate::observation::{Observation, Row, versions_in};
use crate::plan::{At, Plan, Step};
use crate::policy::Policy;
use crate::versions::undone;

/// Two statements with one condition that found different rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PredicateDifference {
    /// The SELECT, if it is one of the case's own; else it is the read that was sent right before.
    pub select: Option<At>,
    /// The statement that wrote.
    pub write: At,
    /// The keys that were read.
    pub read: Vec<i128>,
    /// The keys that were written.
    pub written: Vec<i128>,
    /// How many rows were written, by the server's word.
    pub changed: Option<u64>,
    /// Whether the server's makers document it: there SELECT reads a snapshot, and UPDATE what is newest.
    pub documented: bool,
}

/// All that differ.
pub fn differences(
    case: &Case,
    plan: &Plan,
    observation: &Observation,
    policy: &Policy,
) -> Vec<PredicateDifference> {
    let mut found = Vec::new();
    for at in plan.statements() {
        let does = &case.transactions[at.0].statements[at.1].does;
        let (Does::Update { table, condition, .. } | Does::Delete { table, condition }) = does
        else {
            continue;
        };
        let seen = observation.of(at);
        let (true, Some(before)) = (seen.succeeded(), &seen.before) else { continue };
        let keys = |rows: &[Row]| -> Vec<i128> {
            let mut keys: Vec<i128> = versions_in(rows).map(|(key, _)| key).collect();
            keys.sort_unstable();
            keys
        };
        let mut written = seen.written(does);
        written.sort_unstable();
        let read = keys(before);
        let changed = match &seen.answer {
            Some(Ok(Said::Changed(changed))) => Some(*changed),
            _ => None,
        };
        let fits = |read: &Vec<i128>| {
            written == *read
                && changed.is_none_or(|changed| usize::try_from(changed) == Ok(read.len()))
        };
        let mut differs = |select: Option<At>, read: Vec<i128>, documented: bool| {
            let written = written.clone();
            let difference =
                PredicateDifference { select, write: at, read, written, changed, documented };
            found.push(difference);
        };
        if !fits(&read) {
            // A read that locks does not lock in the queries inside it: those read the snapshot.
            let nested = case.transactions[at.0].statements[at.1].nested;
            differs(None, read, policy.writes_read_newest && nested);
        }
        let Some(select) = select_before(case, plan, observation, policy, at, (*table, condition))
        else {
            continue;
        };
        if let Some(Ok(Said::Rows(rows))) = &observation.of(select).answer
            && let read = keys(&rows.rows)
            && !fits(&read)
        {
            // One that locks reads what is newest, as the statement that writes does.
            let select_of = &case.transactions[select.0].statements[select.1];
            let reads_snapshot = select_of.locks == ReadLock::None || select_of.nested;
            let documented = policy.writes_read_newest && reads_snapshot;
            differs(Some(select), read, documented);
        }
    }
    found
}

/// The last plain SELECT with the same condition in the same transaction, if nothing has changed for the transaction in
/// between: it has written nothing, and it reads one snapshot or no other transaction has committed.
fn select_before(
    case: &Case,
    plan: &Plan,
    observation: &Observation,
    policy: &Policy,
    write: At,
    (table, condition): (usize, &Option<String>),
) -> Option<At> {
    let undone = undone(case, plan, observation, write.0);
    let mut candidate = None;
    for turn in plan.turns() {
        let at = match turn.step {
            Step::Statement(statement) => (turn.txn, statement),
            Step::End if !policy.one_snapshot => {
                candidate = None;
                continue;
            }
            Step::Begin | Step::End => continue,
        };
        if at == write {
            return candidate;
        }
        if at.0 != write.0 {
            continue;
        }
        let statement = &case.transactions[at.0].statements[at.1];
        // What leaves out rows that are locked says nothing of the condition.
        let leaves_out = statement.locks == ReadLock::IfFree;
        match &statement.does {
            Does::Select { plain: Some((of, same)) }
                if *of == table && same == condition && !leaves_out =>
            {
                candidate = observation.of(at).succeeded().then_some(at);
            }
            Does::Select { .. } => {}
            _ => candidate = None,
        }
        if undone.contains(&at.1) != undone.contains(&write.1) {
            candidate = None;
        }
    }
    None
}
