//! A case and what was seen, for people.

use std::fmt::Write as _;

use isolde_target::{Failure, Said};

use crate::case::Case;
use crate::instrument::session;
use crate::observation::Row;
use crate::oracle::predicate::PredicateDifference;
use crate::oracle::serial::Differs;
use crate::plan::{At, Plan, Step};
use crate::work::Suspect;

/// The case as a script that a person can follow with one connection for each transaction.
pub fn script(case: &Case, plan: &Plan) -> String {
    let mut text = String::from("-- the tables\n");
    for statement in case.schema.iter().chain(&case.rows) {
        let _ = writeln!(text, "{statement};");
    }
    text += "\n-- the statements, each with the session that sends it\n";
    for turn in plan.turns() {
        let transaction = &case.transactions[turn.txn];
        let statement = match turn.step {
            Step::Begin => transaction.begin.as_str(),
            Step::Statement(at) => transaction.statements[at].sql.as_str(),
            Step::End if transaction.commits => "COMMIT",
            Step::End => "ROLLBACK",
        };
        let _ = writeln!(text, "/* {} */ {statement};", session(turn.txn));
    }
    text
}

/// The statements of the serial case as a script for one connection.
pub fn serial_script(case: &Case, order: &[At]) -> String {
    let mut text =
        String::from("\n-- the serial case: the same tables, one session, no transactions\n");
    for (txn, at) in order {
        let sql = &case.transactions[*txn].statements[*at].sql;
        let _ = writeln!(text, "/* {} */ {sql};", session(*txn));
    }
    text
}

/// What was expected, and what was seen.
pub fn story(case: &Case, suspect: &Suspect) -> String {
    let named = |at: &At| {
        let sql = &case.transactions[at.0].statements[at.1].sql;
        format!("{}: {sql}", session(at.0))
    };
    match suspect {
        Suspect::Serial(difference) => match &difference.what {
            Differs::Answer { at, in_transaction, alone } => format!(
                "{}\nin its transaction it was answered\n{}\nand in the serial case\n{}",
                named(at),
                said(in_transaction),
                alone.as_ref().map_or_else(failed, said),
            ),
            Differs::Written { at, in_transaction, alone } => format!(
                "{}\nin its transaction it wrote\n{}\nand in the serial case\n{}",
                named(at),
                rows(in_transaction),
                rows(alone),
            ),
            Differs::Contents { table, in_transactions, alone } => format!(
                "after the transactions {} holds\n{}\nand after the serial case\n{}",
                case.tables[*table].name,
                rows(in_transactions),
                rows(alone),
            ),
        },
        Suspect::Predicate(difference) => predicate(case, difference, &named),
        Suspect::Words { at, failure, .. } => {
            let at = at.as_ref().map_or_else(|| "outside of transactions".to_owned(), named);
            format!("{at}\nthe server says: {failure}")
        }
        Suspect::Torn { one, other } => format!(
            "{}\nand\n{}\noverwrote the same version of a row: what the first one wrote is lost",
            named(one),
            named(other),
        ),
        Suspect::Early(early) => format!(
            "{}\nsaw a row as\n{}\nhad written it, whose transaction had not been told to commit",
            named(&early.reader),
            named(&early.writer),
        ),
        Suspect::Hang(turn) => {
            format!("{} was sent a step, and neither answered nor waits", session(turn.txn))
        }
    }
}

fn predicate(
    case: &Case,
    difference: &PredicateDifference,
    named: &dyn Fn(&At) -> String,
) -> String {
    let read = match &difference.select {
        Some(select) => named(select),
        None => "a SELECT with its condition, right before".to_owned(),
    };
    let changed =
        difference.changed.map_or(String::new(), |n| format!(", {n} by the server's count"));
    let documented = match difference.documented {
        true => {
            "\n(documented: SELECT reads the transaction's snapshot, and what writes reads the newest versions)"
        }
        false => "",
    };
    let keys = &case.tables;
    let key = case.transactions[difference.write.0].statements[difference.write.1].does.target();
    let key = key.and_then(|table| keys[table].columns.first()).map_or("key", String::as_str);
    format!(
        "{read}\nfound the rows with {key} {:?}, and\n{}\nwith the same condition wrote {:?}{changed}{documented}",
        difference.read,
        named(&difference.write),
        difference.written,
    )
}

fn said(said: &Said) -> String {
    match said {
        Said::Rows(found) => rows(&found.rows),
        Said::Changed(changed) => format!("  {changed} rows changed"),
        Said::Done => "  done".to_owned(),
        Said::RolledBack => "  rolled back".to_owned(),
    }
}

fn failed(failure: &Failure) -> String {
    format!("  {failure}")
}

/// How many rows are shown.
const MOST_ROWS: usize = 40;

fn rows(rows: &[Row]) -> String {
    let row = |row: &Row| {
        let cells: Vec<String> = row.iter().map(|datum| datum.text().into_owned()).collect();
        format!("  ({})", cells.join(", "))
    };
    let mut lines: Vec<String> = rows.iter().take(MOST_ROWS).map(row).collect();
    if rows.is_empty() {
        lines.push("  no rows".to_owned());
    } else if rows.len() > MOST_ROWS {
        lines.push(format!("  and {} more", rows.len() - MOST_ROWS));
    }
    lines.join("\n")
}
