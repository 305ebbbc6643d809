//! What a cycle is called: the first entry of the catalogue that it looks like.

use isolde_history::OpId;
use isolde_spec::{Anomaly, CATALOGUE, Edges, Finding, Pattern, Reads, Step};

/// The name of a cycle; `earlier` says whether one operation's statement comes before another's in
/// the same transaction.
pub(crate) fn of_cycle(steps: &[Step], earlier: impl Fn(OpId, OpId) -> bool) -> Anomaly {
    let kinds: Vec<Edges> = steps.iter().map(|step| step.kind).collect();
    let reads = Reads::of(&kinds);
    let fits = |pattern: &Pattern| pattern.reads == reads && fits(pattern, steps, &earlier);
    let named = CATALOGUE.iter().find(|entry| match entry.finding {
        Finding::Cycle(patterns) => patterns.iter().any(fits),
        Finding::Local
        | Finding::Lists
        | Finding::Orders
        | Finding::Timestamps
        | Finding::Snapshots
        | Finding::Intervals
        | Finding::Told => false,
    });
    // The last entry takes every cycle with adjacent anti-dependencies, those before it the others.
    named.map_or(Anomaly::G2Item, |entry| entry.anomaly)
}

/// The name of a cycle of dependencies in a history, for procedures that find cycles in other ways than the checker does.
pub fn name_of_cycle(history: &isolde_history::History, steps: &[Step]) -> Anomaly {
    let stmt = |op: OpId| {
        history
            .txn(history.txn_of(op))
            .stmts()
            .position(|stmt| stmt.ops().any(|other| other.id() == op))
    };
    of_cycle(steps, |a, b| history.txn_of(a) == history.txn_of(b) && stmt(a) < stmt(b))
}

/// Whether a cycle with the right anti-dependencies looks like a pattern.
fn fits(pattern: &Pattern, steps: &[Step], earlier: &impl Fn(OpId, OpId) -> bool) -> bool {
    let mut others = steps.iter().filter(|step| step.kind != Edges::RW);
    let key = steps.first().and_then(|step| step.because.key);
    let on_one_key = key.is_some() && steps.iter().all(|step| step.because.key == key);
    let op = |kind: Edges, op: fn(&Step) -> Option<OpId>| {
        steps.iter().find(|step| step.kind == kind).and_then(op)
    };
    let saw_before = || {
        let saw = op(Edges::WR, |step| step.because.to_op);
        let missed = op(Edges::RW, |step| step.because.from_op);
        saw.zip(missed).is_some_and(|(saw, missed)| earlier(saw, missed))
    };
    pattern.len.is_none_or(|len| len == steps.len())
        && others.all(|step| pattern.others.contains(step.kind))
        && (!pattern.same_key || on_one_key)
        && (!pattern.saw_before || saw_before())
}
