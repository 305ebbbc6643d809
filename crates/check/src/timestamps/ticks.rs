//! Timestamps as one word each, in the same order, with room between any two.
//!
//! Physical and logical part together fit into a word nearly always; where they do not, they are numbered in
//! their order. Room is needed only for transactions of unknown outcome, whose commit may lie between any
//! two timestamps.

use isolde_history::{History, Outcome, Timestamp, TxnId};

/// A time in the order of timestamps. Only comparisons mean anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub(crate) struct Tick(pub(crate) i64);

impl Tick {
    /// Before all; also of what has no timestamp.
    pub(crate) const NEVER: Tick = Tick(i64::MIN);

    /// The tick, unless it is none.
    #[inline]
    pub(crate) fn known(self) -> Option<Tick> {
        (self != Tick::NEVER).then_some(self)
    }
}

/// The timestamps of all transactions.
pub(crate) struct Ticks {
    pub(crate) start: Vec<Tick>,
    pub(crate) commit: Vec<Tick>,
    /// By snapshots: the first start that sees the same, as far as it is known.
    seen: Vec<Tick>,
    scale: Scale,
}

/// How a timestamp becomes a tick.
enum Scale {
    /// Both parts side by side, each from its smallest value on.
    Packed { least: Timestamp, logical_bits: u32, room: u32 },
    /// By their numbers.
    Ranked { all: Vec<Timestamp>, room: u32 },
}

/// How many bits are left between two timestamps at least, and at most. Where commits of unknown outcome have to be
/// placed between them, each halves a gap; so they get as many as there are.
const ROOM: u32 = 1;
const MUCH_ROOM: u32 = 40;
/// How many bits a tick has: one is for the sign, and one keeps sums from overflowing.
const BITS: u32 = 62;

impl Ticks {
    pub(crate) fn new(history: &History) -> Ticks {
        let unknown = history.txn_outcomes().contains(&Outcome::Unknown);
        let scale = Scale::of(history, if unknown { MUCH_ROOM } else { ROOM });
        let tick = |stamp: Option<Timestamp>| stamp.map_or(Tick::NEVER, |s| scale.tick(s));
        let start = history.txns().map(|txn| tick(txn.start_ts())).collect();
        let commit = history.txns().map(|txn| tick(txn.commit_ts())).collect();
        Ticks { start, commit, seen: Vec::new(), scale }
    }

    /// Ticks that are no timestamps, such as places in a row of snapshots.
    pub(crate) fn untold(start: Vec<Tick>, commit: Vec<Tick>, seen: Vec<Tick>) -> Ticks {
        Ticks { start, commit, seen, scale: Scale::Ranked { all: Vec::new(), room: 0 } }
    }

    /// Up to when a transaction certainly saw commits.
    pub(crate) fn seen_by(&self, txn: TxnId) -> Tick {
        self.seen.get(txn.index()).copied().unwrap_or_else(|| self.start_of(txn))
    }

    /// The bytes that the ticks of so many transactions take.
    pub(crate) fn bytes(txns: usize) -> usize {
        2 * txns * size_of::<Tick>()
    }

    /// The timestamp of a tick, if it is one.
    pub(crate) fn timestamp(&self, tick: Tick) -> Option<Timestamp> {
        self.scale.timestamp(tick)
    }

    #[inline]
    pub(crate) fn start_of(&self, txn: TxnId) -> Tick {
        self.start[txn.index()]
    }

    #[inline]
    pub(crate) fn commit_of(&self, txn: TxnId) -> Tick {
        self.commit[txn.index()]
    }
}

impl Scale {
    fn of(history: &History, room: u32) -> Scale {
        let stamps = || history.txns().flat_map(|txn| [txn.start_ts(), txn.commit_ts()]).flatten();
        let Some(first) = stamps().next() else {
            return Scale::Ranked { all: Vec::new(), room };
        };
        let (mut least, mut most) = (first, first);
        stamps().for_each(|stamp| {
            least.physical = least.physical.min(stamp.physical);
            least.logical = least.logical.min(stamp.logical);
            most.physical = most.physical.max(stamp.physical);
            most.logical = most.logical.max(stamp.logical);
        });
        let bits = |least: i64, most: i64| u64::BITS - most.abs_diff(least).leading_zeros();
        let logical_bits = bits(least.logical, most.logical);
        if bits(least.physical, most.physical) + logical_bits + room <= BITS {
            return Scale::Packed { least, logical_bits, room };
        }
        let mut all: Vec<Timestamp> = stamps().collect();
        all.sort_unstable();
        all.dedup();
        let room = room.min(BITS - bits(0, all.len() as i64));
        Scale::Ranked { all, room }
    }

    fn tick(&self, stamp: Timestamp) -> Tick {
        match self {
            Scale::Packed { least, logical_bits, room } => {
                let physical = stamp.physical.abs_diff(least.physical) << logical_bits;
                let logical = stamp.logical.abs_diff(least.logical);
                Tick(((physical | logical) << room) as i64)
            }
            Scale::Ranked { all, room } => {
                let rank = all.partition_point(|other| *other < stamp);
                Tick((rank as i64) << room)
            }
        }
    }

    fn timestamp(&self, tick: Tick) -> Option<Timestamp> {
        match self {
            Scale::Packed { least, logical_bits, room } => {
                let word = exact(tick, *room)? as u64;
                let logical = word & ((1 << logical_bits) - 1);
                Some(Timestamp {
                    physical: least.physical.checked_add_unsigned(word >> logical_bits)?,
                    logical: least.logical.checked_add_unsigned(logical)?,
                })
            }
            Scale::Ranked { all, room } => all.get(exact(tick, *room)? as usize).copied(),
        }
    }
}

/// The number that became a tick, if the tick does not lie between two.
fn exact(tick: Tick, room: u32) -> Option<i64> {
    let word = tick.0 >> room;
    (tick.0 >= 0 && word << room == tick.0).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::notation::parse;

    #[track_caller]
    fn in_order(stamps: &[&str], unknown: bool) {
        let lines: Vec<String> = stamps.iter().map(|s| format!("a: w(x,1) ts({s},{s})")).collect();
        let end = if unknown { "\nb: w(x,2) unknown" } else { "" };
        let history = parse(&(lines.join("\n") + end)).unwrap();
        let ticks = Ticks::new(&history);
        let all = &ticks.start[..stamps.len()];
        assert!(all.windows(2).all(|w| w[0].0 + 1 < w[1].0), "{all:?}");
        for (txn, tick) in history.txns().zip(&ticks.commit) {
            assert_eq!(tick.known().and_then(|m| ticks.timestamp(m)), txn.commit_ts());
        }
    }

    #[test]
    fn ticks_are_in_the_order_of_timestamps() {
        for unknown in [false, true] {
            in_order(&["-5", "0", "1", "7"], unknown);
            in_order(&["1.0", "1.5", "2.0", "2.1"], unknown);
            let most = i64::MAX.to_string();
            in_order(&[&(i64::MIN + 1).to_string(), "0.3", &most, &format!("{most}.4")], unknown);
            in_order(&["1700000000000000000", "1700000000000000001"], unknown);
        }
    }
}
