//! Operations that cannot be put in order, in words: what they were, how far an order gets, and why it
//! gets no further.

use std::fmt::Write;

use isolde_history::{Clock, History, OpId, TxnId};
use isolde_spec::{Stuck, Witness};
use serde_json::{Value, json};

use crate::names;
use crate::wrap::{number, paragraph, shorten};

/// How many operations are shown.
const MOST: usize = 40;
/// How long an operation may be in a row.
const OP_LEN: usize = 60;

/// Appends the operations with their times, the longest order, and what is stuck.
pub(crate) fn to_text(history: &History, w: &Witness, stuck: &Stuck, out: &mut String) {
    let unit = match history.meta().clock {
        Clock::Events => "positions in the log",
        Clock::Nanoseconds => "nanoseconds",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "    operations in the order in which they began, with their time in {unit}:"
    );
    let support: Vec<OpId> = w.support.iter().flat_map(|txn| ops_of(history, *txn)).collect();
    let all = [&w.ops[..], &support[..]].concat();
    let name = |op: &OpId| names::txn(history, history.txn_of(*op));
    let width = |text: &dyn Fn(&OpId) -> String| {
        all.iter().take(MOST).map(|op| text(op).chars().count()).max().unwrap_or(0)
    };
    let what = |op: &OpId| shorten(&names::op(history, *op), OP_LEN);
    let (wide, long) = (width(&name), width(&what));
    let rows = |ops: &[OpId], out: &mut String| {
        for op in ops.iter().take(MOST) {
            let time = interval(history, *op);
            let row = format!("      {:<wide$}  {:<long$}  {time}", name(op), what(op));
            let _ = writeln!(out, "{}", row.trim_end());
        }
        if ops.len() > MOST {
            let left = number(ops.len() - MOST);
            let _ = writeln!(out, "      ... and {left} more: --json shows them");
        }
    };
    rows(&w.ops, out);
    if !support.is_empty() {
        let _ = writeln!(out, "    beside them, whoever wrote what was read:");
        rows(&support, out);
    }
    let named = |op: &OpId| format!("{} {}", name(op), what(op));
    let order: Vec<String> = stuck.prefix.iter().take(MOST).map(named).collect();
    let order = if order.is_empty() { "none".to_owned() } else { order.join(", ") };
    paragraph(out, "    longest order: ", 6, usize::MAX, &order);
    let text = format!("{} cannot come next: {}", named(&stuck.op), stuck.why);
    paragraph(out, "    ", 6, usize::MAX, &text);
}

fn ops_of(history: &History, txn: TxnId) -> impl Iterator<Item = OpId> + '_ {
    history.txn(txn).ops().map(|op| op.id())
}

/// "[5, 9]" of the transaction of an operation, with what is not known left open.
fn interval(history: &History, op: OpId) -> String {
    let interval = history.txn(history.txn_of(op)).interval();
    let side = |time: Option<i64>| time.map_or_else(|| "?".to_owned(), |t| t.to_string());
    format!("[{}, {}]", side(interval.begin), side(interval.end))
}

/// The same for machines.
pub(crate) fn to_json(history: &History, stuck: &Stuck) -> Value {
    let op = |op: OpId| {
        let txn = history.txn_of(op);
        let interval = history.txn(txn).interval();
        json!({
            "transaction": names::txn(history, txn),
            "operation": names::op(history, op),
            "begin": interval.begin,
            "end": interval.end,
        })
    };
    json!({
        "longest_order": stuck.prefix.iter().map(|o| op(*o)).collect::<Vec<_>>(),
        "operation": op(stuck.op),
        "why": stuck.why,
    })
}
