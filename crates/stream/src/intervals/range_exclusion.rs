//! Mutual exclusion of ranges of keys and of rows that are inserted there.

use super::breach::Broken;
use super::mirror::{Deciding, Mirror};
use super::ranges::{DecidedHold, Ranges};

impl Mirror {
    /// Holds the ranges that a transaction had locked against rows that others inserted, and the other way round.
    pub(super) fn exclude_inserts(&mut self, txn: &Deciding) {
        if !self.ranges.are_said {
            return;
        }
        let (no, trace) = (txn.trace.txn, &txn.trace);
        let mut broken = Vec::new();
        for (own, is_range) in
            trace.ranges.iter().map(|r| (r, true)).chain(trace.inserted.iter().map(|i| (i, false)))
        {
            let Ranges { ranges, inserted, .. } = &mut self.ranges;
            let (same, others) = if is_range { (ranges, inserted) } else { (inserted, ranges) };
            let others = others.get(&own.first.table).map_or(&[][..], Vec::as_slice);
            let met = others.iter().rev().take_while(|old| old.hold.until > own.from);
            let met = met.filter(|old| old.txn != no && old.hold.meets(own));
            broken.extend(met.map(|old| Broken::Range {
                op: own.op,
                held: own.span(),
                is_range,
                other: old.txn,
                other_op: old.hold.op,
                other_held: old.hold.span(),
            }));
            let all = same.entry(own.first.table).or_default();
            let at = all.partition_point(|old| old.hold.until <= own.until);
            all.insert(at, DecidedHold { txn: no, hold: own.clone() });
        }
        for what in broken {
            self.tell(&txn.trace, what);
        }
    }
}
