//! A verdict in words.

use std::fmt::Write;

use isolde_history::History;
use isolde_spec::{Answer, Edges, Step, Verdict, Witness};

use crate::names;

/// How many operations of a transaction are shown before the rest is left out.
const LINE_LEN: usize = 160;

/// The verdict as a text of several lines.
pub fn to_text(history: &History, verdict: &Verdict) -> String {
    let mut out = String::new();
    let level = verdict.promise.level.name();
    let session = if verdict.promise.session_order { "" } else { " without session order" };
    // Writing to a String cannot fail.
    let _ = match &verdict.answer {
        Answer::Holds => writeln!(out, "{level}{session}: holds"),
        Answer::Unknown(reason) => writeln!(out, "{level}{session}: unknown, because {reason}"),
        Answer::Violated(witnesses) => {
            let _ = writeln!(out, "{level}{session}: violated");
            for counted in &verdict.counts {
                let _ = writeln!(out, "  {} found: {}", counted.count, counted.anomaly);
            }
            witnesses.iter().take(1).for_each(|w| witness(history, w, &mut out));
            Ok(())
        }
    };
    out
}

fn witness(history: &History, w: &Witness, out: &mut String) {
    let _ = writeln!(out, "  {}: {}", w.anomaly, w.anomaly.entry().meaning);
    for &txn in &w.txns {
        let line = names::line(history, txn);
        let shown: String = line.chars().take(LINE_LEN).collect();
        let cut = if shown.len() < line.len() { "…" } else { "" };
        let _ = writeln!(out, "    {:<6} {shown}{cut}", names::txn(history, txn));
    }
    for &op in &w.ops {
        let txn = names::txn(history, history.txn_of(op));
        let _ = writeln!(out, "    look at {} of {txn}", names::op(history, op));
    }
    for step in &w.steps {
        let _ = writeln!(out, "    {}", because(history, step));
    }
}

/// One dependency as a sentence.
fn because(history: &History, step: &Step) -> String {
    let (from, to) = (names::txn(history, step.from), names::txn(history, step.to));
    let key = step.because.key.map(|k| names::key(history, k)).unwrap_or_default();
    let op =
        |op: Option<isolde_history::OpId>| op.map_or_else(String::new, |op| names::op(history, op));
    let (from_op, to_op) = (op(step.because.from_op), op(step.because.to_op));
    match step.kind {
        Edges::SO => format!("{from} came before {to} in their session"),
        Edges::RT => format!("{from} had ended before {to} began"),
        Edges::WR => format!("{to} read what {from} wrote to {key}: {from_op}, {to_op}"),
        Edges::WW => format!("{to} overwrote what {from} wrote to {key}: {from_op}, {to_op}"),
        _ => format!("{to} overwrote what {from} read of {key}: {from_op}, {to_op}"),
    }
}
