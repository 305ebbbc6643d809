//! Cycles that visit every transaction.
//!
//! Key `i` lies between transaction `i` and the next one, and no other transaction touches it. Sessions
//! have one transaction each, so that nothing but the keys connects them.

use isolde_history::SinkError;

use super::maker::StrainMaker;

/// What connects each transaction of a ring to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ring {
    /// It read the version that the next one overwrote: allowed up to snapshot isolation.
    Antidependencies,
    /// The next one read from it: causality that bites its own tail.
    Reads,
    /// The next one updated what it had updated.
    Updates,
    /// Every other one is a read, the rest are anti-dependencies: no prefix explains it, while
    /// causality does.
    Mixed,
}

pub(super) fn ring(maker: &mut StrainMaker, txns: u32, by: Ring) -> Result<(), SinkError> {
    // A mixed ring needs a read after each anti-dependency, all the way round.
    let txns = if by == Ring::Mixed { txns.next_multiple_of(2) } else { txns };
    for i in 0..txns {
        let before = i.checked_sub(1).unwrap_or(txns - 1);
        maker.begin(i);
        match by {
            Ring::Antidependencies => maker.read(i, 0).write(before, 1),
            Ring::Reads => maker.write(i, 1).read(before, 1),
            Ring::Updates => maker.read(i, 0).write(i, 1).read(before, 1).write(before, 2),
            // The next one reads what it writes, and it overwrites what the one before has read.
            Ring::Mixed if i % 2 == 0 => maker.write(i, 1).write(before, 1),
            Ring::Mixed => maker.read(before, 1).read(i, 0),
        };
        maker.commit()?;
    }
    Ok(())
}
