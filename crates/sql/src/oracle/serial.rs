//! The serial case: the statements one by one, without transactions, in an order that keeps their dependencies. It has to
//! give the same results and leave the same rows (theorem 1 and algorithm 1 of the paper).

use isolde_target::{Failure, Said};

use super::rows::{same_answer, same_rows};
use crate::case::Case;
use crate::instrument::after_write;
use crate::observation::Row;
use crate::plan::At;
use crate::runner::Runner;
use crate::settle::SettledRun;

/// Where the serial case differs.
#[derive(Clone, PartialEq, Debug)]
pub struct SerialDifference {
    /// The order in which the statements were run.
    pub order: Vec<At>,
    /// What differs.
    pub what: Differs,
}

/// What differs.
#[derive(Clone, PartialEq, Debug)]
pub enum Differs {
    /// A statement was answered otherwise.
    Answer {
        /// Which.
        at: At,
        /// In its transaction.
        in_transaction: Said,
        /// By itself.
        alone: Result<Said, Failure>,
    },
    /// A statement left other rows.
    Written {
        /// Which.
        at: At,
        /// In its transaction.
        in_transaction: Vec<Row>,
        /// By itself.
        alone: Vec<Row>,
    },
    /// A table has other rows at the end.
    Contents {
        /// Which table.
        table: usize,
        /// After the transactions.
        in_transactions: Vec<Row>,
        /// After the statements.
        alone: Vec<Row>,
    },
}

/// Runs the statements in an order, and says what differs first.
pub fn compare(
    runner: &mut Runner<'_>,
    case: &Case,
    run: &SettledRun,
    order: &[At],
) -> Result<Option<SerialDifference>, Failure> {
    runner.reset(case)?;
    let found = |what: Differs| Ok(Some(SerialDifference { order: order.to_vec(), what }));
    for at in order {
        let statement = &case.transactions[at.0].statements[at.1];
        let seen = run.observation.of(*at);
        let Some(Ok(in_transaction)) = &seen.answer else { continue };
        let alone = runner.run(&statement.sql);
        let same =
            matches!(&alone, Ok(said) if same_answer(in_transaction, said, statement.ordered));
        if !same {
            if let Err(failure) = &alone
                && failure.after == isolde_target::After::Lost
            {
                return Err(failure.clone());
            }
            let in_transaction = in_transaction.clone();
            return found(Differs::Answer { at: *at, in_transaction, alone });
        }
        if matches!(statement.does, crate::case::Does::Delete { .. }) {
            // The rows that are left may be others: in its transaction it saw a snapshot.
            continue;
        }
        let (Some(read), Some(after)) = (after_write(case, &statement.does, ""), &seen.after)
        else {
            continue;
        };
        if let Said::Rows(rows) = runner.run(&read)?
            && !same_rows(after, &rows.rows, false)
        {
            let (in_transaction, alone) = (after.clone(), rows.rows);
            return found(Differs::Written { at: *at, in_transaction, alone });
        }
    }
    let all = runner.contents(case)?.into_iter().zip(&run.contents).enumerate();
    for (table, (alone, in_transactions)) in all {
        if !same_rows(in_transactions, &alone, true) {
            let in_transactions = in_transactions.clone();
            return found(Differs::Contents { table, in_transactions, alone });
        }
    }
    Ok(None)
}
