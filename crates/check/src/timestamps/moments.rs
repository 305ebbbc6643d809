//! Timestamps as one word each, in the same order, with room between any two.
//!
//! Physical and logical part together fit into a word nearly always; where they do not, they are numbered in
//! their order. Room is needed only for transactions of unknown outcome, whose commit may lie between any
//! two timestamps.

use isolde_history::{History, Outcome, Timestamp, TxnId};

/// A time in the order of timestamps. Only comparisons mean anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub(crate) struct Moment(pub(crate) i64);

impl Moment {
    /// Before all; also of what has no timestamp.
    pub(crate) const NEVER: Moment = Moment(i64::MIN);

    /// The moment, unless it is none.
    #[inline]
    pub(crate) fn known(self) -> Option<Moment> {
        (self != Moment::NEVER).then_some(self)
    }
}

/// The timestamps of all transactions.
pub(crate) struct Moments {
    pub(crate) start: Vec<Moment>,
    pub(crate) commit: Vec<Moment>,
    scale: Scale,
}

/// How a timestamp becomes a moment.
enum Scale {
    /// Both parts side by side, each from its smallest value on.
    Packed { least: Timestamp, logical_bits: u32, room: u32 },
    /// By their numbers.
    Ranked { all: Vec<Timestamp>, room: u32 },
}

/// How many bits are left between two timestamps, and how many if commits have to be placed between them.
const ROOM: u32 = 1;
const ROOM_FOR_UNKNOWN: u32 = 20;
/// How many bits a moment has: one is for the sign, and one keeps sums from overflowing.
const BITS: u32 = 62;

impl Moments {
    pub(crate) fn new(history: &History) -> Moments {
        let unknown = history.txn_outcomes().contains(&Outcome::Unknown);
        let scale = Scale::of(history, if unknown { ROOM_FOR_UNKNOWN } else { ROOM });
        let moment = |stamp: Option<Timestamp>| stamp.map_or(Moment::NEVER, |s| scale.moment(s));
        let start = history.txns().map(|txn| moment(txn.start_ts())).collect();
        let commit = history.txns().map(|txn| moment(txn.commit_ts())).collect();
        Moments { start, commit, scale }
    }

    /// The bytes that the moments of so many transactions take.
    pub(crate) fn bytes(txns: usize) -> usize {
        2 * txns * size_of::<Moment>()
    }

    /// The timestamp of a moment, if it is one.
    pub(crate) fn timestamp(&self, moment: Moment) -> Option<Timestamp> {
        self.scale.timestamp(moment)
    }

    #[inline]
    pub(crate) fn start_of(&self, txn: TxnId) -> Moment {
        self.start[txn.index()]
    }

    #[inline]
    pub(crate) fn commit_of(&self, txn: TxnId) -> Moment {
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
        for stamp in stamps() {
            least.physical = least.physical.min(stamp.physical);
            least.logical = least.logical.min(stamp.logical);
            most.physical = most.physical.max(stamp.physical);
            most.logical = most.logical.max(stamp.logical);
        }
        let bits = |least: i64, most: i64| u64::BITS - most.abs_diff(least).leading_zeros();
        let logical_bits = bits(least.logical, most.logical);
        if bits(least.physical, most.physical) + logical_bits + room <= BITS {
            return Scale::Packed { least, logical_bits, room };
        }
        let mut all: Vec<Timestamp> = stamps().collect();
        all.sort_unstable();
        all.dedup();
        Scale::Ranked { all, room }
    }

    fn moment(&self, stamp: Timestamp) -> Moment {
        match self {
            Scale::Packed { least, logical_bits, room } => {
                let physical = stamp.physical.abs_diff(least.physical) << logical_bits;
                let logical = stamp.logical.abs_diff(least.logical);
                Moment(((physical | logical) << room) as i64)
            }
            Scale::Ranked { all, room } => {
                let rank = all.partition_point(|other| *other < stamp);
                Moment((rank as i64) << room)
            }
        }
    }

    fn timestamp(&self, moment: Moment) -> Option<Timestamp> {
        match self {
            Scale::Packed { least, logical_bits, room } => {
                let word = exact(moment, *room)? as u64;
                let logical = word & ((1 << logical_bits) - 1);
                Some(Timestamp {
                    physical: least.physical.checked_add_unsigned(word >> logical_bits)?,
                    logical: least.logical.checked_add_unsigned(logical)?,
                })
            }
            Scale::Ranked { all, room } => all.get(exact(moment, *room)? as usize).copied(),
        }
    }
}

/// The number that became a moment, if the moment does not lie between two.
fn exact(moment: Moment, room: u32) -> Option<i64> {
    let word = moment.0 >> room;
    (moment.0 >= 0 && word << room == moment.0).then_some(word)
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
        let moments = Moments::new(&history);
        let all = &moments.start[..stamps.len()];
        assert!(all.windows(2).all(|w| w[0].0 + 1 < w[1].0), "{all:?}");
        for (txn, moment) in history.txns().zip(&moments.commit) {
            assert_eq!(moment.known().and_then(|m| moments.timestamp(m)), txn.commit_ts());
        }
    }

    #[test]
    fn moments_are_in_the_order_of_timestamps() {
        for unknown in [false, true] {
            in_order(&["-5", "0", "1", "7"], unknown);
            in_order(&["1.0", "1.5", "2.0", "2.1"], unknown);
            let most = i64::MAX.to_string();
            in_order(&[&i64::MIN.to_string(), "0.3", &most, &format!("{most}.4")], unknown);
            in_order(&["1700000000000000000", "1700000000000000001"], unknown);
        }
    }
}
