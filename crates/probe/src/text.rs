//! The outcomes for a terminal.

use isolde_report::{Ink, Style, paragraph};
use isolde_target::Offer;

use crate::matrix::{Cell, Matrix};
use crate::outcome::Outcome;

/// What the words of the table mean.
pub(crate) const LEGEND: &str = "prevented: the anomaly was not seen; blocked: not seen, since a session had to wait; a code: not seen, \
     since this error ended a transaction; ALLOWED: it was seen; ALLOWED!: though the level promises that \
     it cannot be; ?: the case did not run to its end; -: not run, since the case needs SQL, and Isolde reaches this \
     database by reads and writes of single rows only";

/// The table, the legend, and what the levels amount to.
pub fn to_text(matrix: &Matrix, style: Style) -> String {
    let (name, version) = &matrix.database;
    let mut text = format!("{name} {version}\n\n");
    let first = matrix.cases.iter().map(|c| c.name.len()).max().unwrap_or(0).max(4);
    let width = |(at, offer): (usize, &Offer)| {
        let words = matrix.column(at).map(|(_, cell)| word(cell).0.len());
        words.chain([column(offer.name).len(), 9]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = matrix.offers.iter().enumerate().map(width).collect();
    text += &format!("{:first$}", "");
    for (offer, width) in matrix.offers.iter().zip(&widths) {
        text += &format!("  {:width$}", column(offer.name));
    }
    text = format!("{}\n", text.trim_end());
    for (case, row) in matrix.cases.iter().zip(&matrix.cells) {
        let mut line = format!("{:first$}", case.name);
        for (cell, width) in row.iter().zip(&widths) {
            let (word, ink) = word(cell);
            let room = " ".repeat(width.saturating_sub(word.len()));
            line += &format!("  {}{room}", style.paint(ink, &word));
        }
        text += &format!("{}\n", line.trim_end());
    }
    text.push('\n');
    paragraph(&mut text, "", 0, 9, LEGEND);
    text.push('\n');
    for (at, offer) in matrix.offers.iter().enumerate() {
        let promised = offer.promises;
        let told = matrix.amount_told(at)
            + &if matrix.keeps_promise(at) {
                format!(" (promised: {promised})")
            } else {
                let broken = style.paint(Ink::Bad, "not kept");
                format!(" (promised: {promised}, {broken})")
            };
        paragraph(&mut text, &format!("{} ", style.paint(Ink::Strong, offer.name)), 2, 9, &told);
    }
    for (case, row) in matrix.cases.iter().zip(&matrix.cells) {
        for (offer, cell) in matrix.offers.iter().zip(row) {
            if let Outcome::Unknown(why) = &cell.outcome {
                let prefix = format!("{} at {} is not known: ", case.name, offer.name);
                paragraph(&mut text, &prefix, 2, 4, why);
            }
        }
    }
    text
}

/// The name of a level, short enough for a column.
fn column(name: &str) -> String {
    name.replace("repeatable-read-", "rr-").replace("uncommitted", "uncomm.")
}

/// What stands in a cell of the table, in a terminal and on a page.
pub(crate) fn word(cell: &Cell) -> (String, Ink) {
    match &cell.outcome {
        Outcome::Prevented => ("prevented".to_owned(), Ink::Good),
        Outcome::Blocked => ("blocked".to_owned(), Ink::Good),
        Outcome::Aborted(code) => (code.clone(), Ink::Good),
        Outcome::Allowed if cell.finding => ("ALLOWED!".to_owned(), Ink::Bad),
        Outcome::Allowed => ("ALLOWED".to_owned(), Ink::Open),
        Outcome::Unknown(_) => ("?".to_owned(), Ink::Open),
        Outcome::NotForIt(_) => ("-".to_owned(), Ink::Faint),
    }
}
