//! The version order that the recorder gave.

use hashbrown::{HashMap, HashSet};
use isolde_history::{TxnId, Value};

use crate::keys::context::Context;
use crate::keys::findings::{Doubt, Findings};
use crate::keys::key_facts::KeyFacts;
use crate::order::shown::ShownOrder;

/// The order that the recorder gave, as far as it names versions by values that were written once
/// and are not the initial one.
pub(crate) fn order(
    context: &Context<'_>,
    facts: &KeyFacts,
    versions: &[Value],
    found: &mut Findings,
) -> ShownOrder {
    // The elements of a list are not what the key starts with.
    let first = if facts.list_reads.iter().any(|read| context.counts(read.txn)) {
        Value::UNOBSERVED
    } else {
        context.first_value(facts.key)
    };
    if versions.iter().skip(1).any(|v| *v == first) {
        found.doubt(Doubt::InitialNotFirst(facts.key()));
    }
    let mut place: HashMap<Value, usize> = HashMap::with_capacity(versions.len());
    // A value that stands twice does not say where its version comes.
    let mut twice: HashSet<Value> = HashSet::new();
    for (i, v) in versions.iter().enumerate().filter(|(_, v)| **v != first) {
        if place.insert(*v, i).is_some() {
            twice.insert(*v);
        }
    }
    let mut unclear = !twice.is_empty();
    place.retain(|v, _| !twice.contains(v));
    let (mut seen, mut order) = (Vec::new(), ShownOrder::default());
    for (i, write) in facts.writes.iter().enumerate() {
        match place.get(&write.value) {
            Some(&at) if write.may_have_happened() => seen.push((at, i as u32)),
            None if write.is_version() => order.unseen.push(i as u32),
            _ => {}
        }
    }
    seen.sort_unstable();
    // A value that several may have written does not say which of them comes there.
    for run in seen.chunk_by(|a, b| a.0 == b.0) {
        let txns: HashSet<TxnId> = run.iter().map(|(_, w)| facts.writes[*w as usize].txn).collect();
        unclear |= txns.len() > 1;
        let target = if txns.len() > 1 { &mut order.unseen } else { &mut order.seen };
        let versions = run.iter().map(|(_, w)| *w);
        target.extend(versions.filter(|&w| facts.writes[w as usize].is_version()));
    }
    if unclear {
        found.doubt(Doubt::AmbiguousOrder(facts.key()));
    }
    order
}
