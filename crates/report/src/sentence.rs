//! Names of variants and dependencies in words.

use isolde_history::{History, OpId};
use isolde_spec::{Anomaly, Edges, Step};

use crate::names;
use crate::wrap::{all_of, shorten};

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

/// One dependency as a sentence, which says so if the dependency was inferred.
pub(crate) fn sentence(history: &History, step: &Step) -> String {
    let inferred = " (not observed, but no other order explains the reads)";
    told(history, step, if step.because.inferred { inferred } else { "" })
}

/// One dependency as a sentence, whose reason is told elsewhere.
pub(crate) fn plain_sentence(history: &History, step: &Step) -> String {
    told(history, step, "")
}

fn told(history: &History, step: &Step, aside: &str) -> String {
    let (from, to) = (names::txn(history, step.from), names::txn(history, step.to));
    let key =
        step.because.key.map_or_else(|| "a key".to_owned(), |k| names::spoken_key(history, k));
    let what = match step.kind {
        Edges::SO => return format!("{from} came before {to} in their session"),
        Edges::RT => return format!("{from} had ended before {to} began"),
        Edges::WR => format!("{to} read the version of {key} that {from} wrote"),
        Edges::WW => format!("{to} overwrote the version of {key} that {from} wrote"),
        _ => format!("{to} overwrote the version of {key} that {from} read"),
    };
    let op = |op: OpId| shorten(&names::op(history, op), OP_LEN);
    let shown = [step.because.from_op, step.because.to_op].into_iter().flatten();
    let ops: Vec<String> = shown.map(op).collect();
    let colon = if ops.is_empty() { "" } else { ": " };
    format!("{what}{aside}{colon}{}", ops.join(", "))
}
