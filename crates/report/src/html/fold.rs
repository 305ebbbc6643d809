//! A time line in which operations that show nothing, one after another, are one row.

use crate::exhibit::{Exhibit, Row, What};

/// So many in a row are folded; fewer need no more room than the fold.
const LEAST: usize = 3;

/// The rows of an exhibit.
pub(super) fn folded(exhibit: &Exhibit) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut run: Vec<Row> = Vec::new();
    for row in &exhibit.timeline.rows {
        let plain = is_plain(exhibit, row);
        if !plain || run.last().is_some_and(|last| !follows(last, row)) {
            close(&mut run, &mut rows);
        }
        if plain { run.push(row.clone()) } else { rows.push(row.clone()) }
    }
    close(&mut run, &mut rows);
    rows
}

/// Whether a row is an operation that shows nothing.
fn is_plain(exhibit: &Exhibit, row: &Row) -> bool {
    let part = row.part.and_then(|at| exhibit.parts.get(at));
    let op = match (&row.what, part) {
        (What::Op(op), Some(part)) => part.ops.get(*op),
        _ => None,
    };
    op.is_some_and(|op| !op.cited)
}

fn follows(last: &Row, row: &Row) -> bool {
    let next = match (&last.what, &row.what) {
        (What::Op(a), What::Op(b)) => a + 1 == *b,
        _ => false,
    };
    next && last.part == row.part
}

fn close(run: &mut Vec<Row>, rows: &mut Vec<Row>) {
    match run.first() {
        Some(Row { what: What::Op(first), time, column, part }) if run.len() >= LEAST => {
            let what = What::Folded(*first, run.len());
            rows.push(Row { time: *time, column: *column, part: *part, what });
        }
        _ => rows.append(run),
    }
    run.clear();
}
