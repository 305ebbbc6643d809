//! What a cycle is called.

use isolde_history::OpId;
use isolde_spec::{Anomaly, Edges, Step};

/// The name of a cycle; `earlier` says whether one operation's statement comes before another's in
/// the same transaction.
pub(crate) fn of_cycle(steps: &[Step], earlier: impl Fn(OpId, OpId) -> bool) -> Anomaly {
    let anti = steps.iter().filter(|s| s.kind == Edges::RW).count();
    let none = |kind: Edges| steps.iter().all(|s| s.kind != kind);
    match anti {
        0 if none(Edges::WR) => Anomaly::G0,
        0 => Anomaly::G1c,
        1 => with_one(steps, earlier),
        _ if adjacent(steps) => with_adjacent(steps),
        2 if is_fork(steps) => Anomaly::LongFork,
        _ => Anomaly::GNonadjacent,
    }
}

/// A cycle with one anti-dependency: the transaction that missed something is where it begins.
fn with_one(steps: &[Step], earlier: impl Fn(OpId, OpId) -> bool) -> Anomaly {
    let Some(at) = steps.iter().position(|s| s.kind == Edges::RW) else {
        return Anomaly::GSingle;
    };
    let missed = steps[at];
    let rest = || (1..steps.len()).map(|i| steps[(at + i) % steps.len()]);
    let mut others = rest();
    match (others.next(), others.next()) {
        (Some(only), None) => match only.kind {
            Edges::SO => Anomaly::SessionGuaranteeViolation,
            Edges::WR => match (only.because.to_op, missed.because.from_op) {
                (Some(saw), Some(missed)) if earlier(saw, missed) => Anomaly::NonMonotonicRead,
                _ => Anomaly::FracturedRead,
            },
            Edges::WW if only.because.key == missed.because.key => Anomaly::LostUpdate,
            _ => Anomaly::GSingle,
        },
        _ if rest().all(|s| s.kind == Edges::SO || s.kind == Edges::WR) => {
            Anomaly::CausalityViolation
        }
        _ => Anomaly::GSingle,
    }
}

fn adjacent(steps: &[Step]) -> bool {
    let next = |i: usize| steps[(i + 1) % steps.len()].kind;
    (0..steps.len()).any(|i| steps[i].kind == Edges::RW && next(i) == Edges::RW)
}

fn with_adjacent(steps: &[Step]) -> Anomaly {
    match steps {
        [a, b] if a.because.key == b.because.key => Anomaly::LostUpdate,
        [_, _] => Anomaly::WriteSkew,
        _ => Anomaly::G2Item,
    }
}

/// Two readers, each of whom saw one write and missed the other.
fn is_fork(steps: &[Step]) -> bool {
    let kinds: Vec<Edges> = steps.iter().map(|s| s.kind).collect();
    let (wr, rw) = (Edges::WR, Edges::RW);
    kinds == [wr, rw, wr, rw] || kinds == [rw, wr, rw, wr]
}
