//! A witness in words: the transactions, and why each must come before the next.

use std::fmt::Write;

use isolde_history::{History, OpId, TxnId};
use isolde_spec::{Anomaly, Edges, Step, Witness};

use crate::forced;
use crate::names;
use crate::stuck;
use crate::wrap::{all_of, number, paragraph, shorten};

/// How many transactions or dependencies of a witness are shown.
const MOST: usize = 40;
/// How many lines a transaction may take before the rest of its operations is left out.
const TXN_LINES: usize = 3;
/// How long an operation may be in a sentence.
const OP_LEN: usize = 50;

/// What a dependency means that is not about data.
const ORDERS: [(Edges, &str); 2] = [(Edges::SO, "session order"), (Edges::RT, "real time")];

/// "LongFork (needs session order)": an anomaly in the variant that needs these orders.
pub(crate) fn variant(anomaly: Anomaly, needs: Edges) -> String {
    let needed = ORDERS.iter().filter(|(kind, _)| needs.contains(*kind));
    let words: Vec<&str> = needed.map(|(_, words)| *words).collect();
    if words.is_empty() {
        anomaly.to_string()
    } else {
        format!("{anomaly} (needs {})", all_of(&words))
    }
}

/// Appends a witness as a block of lines.
pub(crate) fn to_text(history: &History, w: &Witness, out: &mut String) {
    let meaning = format!("{}: {}", variant(w.anomaly, w.needs), w.anomaly.entry().meaning);
    paragraph(out, "  ", 6, usize::MAX, &meaning);
    match &w.stuck {
        Some(found) => stuck::to_text(history, w, found, out),
        None => transactions(history, w, out),
    }
    let (position, all) = (number(w.position()), number(history.txn_count()));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    visible after the first {position} of {all} transactions");
}

/// The transactions of a witness, those beside them, and what binds them.
fn transactions(history: &History, w: &Witness, out: &mut String) {
    let shown = w.txns.iter().take(MOST).chain(w.support.iter().take(MOST));
    let width = shown.map(|id| names::txn(history, *id).chars().count()).max().unwrap_or(0);
    let show = |txn: TxnId, out: &mut String| {
        let prefix = format!("    {:<width$}  ", names::txn(history, txn));
        paragraph(out, &prefix, width + 8, TXN_LINES, &names::line(history, txn));
    };
    w.txns.iter().take(MOST).for_each(|txn| show(*txn, out));
    more(w.txns.len(), "transactions", out);
    if !w.support.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    {}", why_support(w));
        w.support.iter().take(MOST).for_each(|txn| show(*txn, out));
        more(w.support.len(), "transactions", out);
    }
    for &op in &w.ops {
        let txn = names::txn(history, history.txn_of(op));
        let text = format!("look at {} of {txn}", shorten(&names::op(history, op), OP_LEN));
        paragraph(out, "    ", 6, usize::MAX, &text);
    }
    forced::to_text(history, w, MOST, out);
    more(w.steps.len(), "dependencies", out);
}

/// Says that something was left out.
fn more(count: usize, what: &str, out: &mut String) {
    if count > MOST {
        let left = number(count - MOST);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    ... and {left} more {what}: --json shows them");
    }
}

/// Why transactions are shown that are no part of the cycle.
fn why_support(w: &Witness) -> &'static str {
    if w.steps.is_empty() {
        "beside them, whoever wrote what was read or proves a commit:"
    } else {
        "not in the cycle, but they wrote what was read in it, or prove an order or a commit:"
    }
}

/// One dependency as a sentence; of one that nobody saw, it says so.
pub(crate) fn sentence(history: &History, step: &Step) -> String {
    let inferred = " (nobody saw it, but no other order explains what was read)";
    told(history, step, if step.because.inferred { inferred } else { "" })
}

/// One dependency as a sentence, whose reason is told elsewhere.
pub(crate) fn plain_sentence(history: &History, step: &Step) -> String {
    told(history, step, "")
}

fn told(history: &History, step: &Step, aside: &str) -> String {
    let (from, to) = (names::txn(history, step.from), names::txn(history, step.to));
    let key = step.because.key.map_or_else(|| "a key".to_owned(), |k| names::key(history, k));
    let what = match step.kind {
        Edges::SO => return format!("{from} came before {to} in their session"),
        Edges::RT => return format!("{from} had ended before {to} began"),
        Edges::WR => format!("{to} read what {from} wrote to {key}"),
        Edges::WW => format!("{to} overwrote what {from} wrote to {key}"),
        _ => format!("{to} overwrote what {from} read of {key}"),
    };
    let op = |op: OpId| shorten(&names::op(history, op), OP_LEN);
    let shown = [step.because.from_op, step.because.to_op].into_iter().flatten();
    let ops: Vec<String> = shown.map(op).collect();
    let colon = if ops.is_empty() { "" } else { ": " };
    format!("{what}{aside}{colon}{}", ops.join(", "))
}
