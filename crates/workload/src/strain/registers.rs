//! Registers: repeated values, and keys whose version order is not shown.

use isolde_history::SinkError;

use super::maker::StrainMaker;
use crate::random::Random;

/// How the transactions on a hot key come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hot {
    /// One after another, and recorded in that order.
    Serial,
    /// Of sessions that run at the same time: recorded in another order than they took effect in.
    Concurrent,
    /// The same, and two sessions see two versions in opposite orders.
    Violating,
}

/// The last writers read nothing, so that one of each level, from the last to the first, and then the
/// reader are a serial execution. The write of something leaves a doubt: no choice proves anything,
/// and a checker that tries all of them tries width to the power of depth.
pub(super) fn nested_guesses(
    maker: &mut StrainMaker,
    width: u32,
    depth: u32,
) -> Result<(), SinkError> {
    maker.begin(0).read(0, 1).write_something(depth).commit()?;
    for level in 0..depth {
        for i in 0..width {
            maker.begin(1 + level * width + i);
            if level + 1 < depth {
                maker.read(level + 1, 1);
            }
            maker.write(level, 1).unknown()?;
        }
    }
    Ok(())
}

/// How many sessions share a register.
const CLIENTS: u32 = 10;

/// Each operation takes effect at a moment of its own within its interval. Those of one session are
/// a hundred apart and reach at most thirty to each side, so that they never overlap.
pub(super) fn few_values(maker: &mut StrainMaker, ops: u32, values: u32) -> Result<(), SinkError> {
    let mut random = Random::new(5);
    let mut current = 0;
    for i in 0..ops {
        maker.begin(i % CLIENTS);
        if random.coin() {
            current = random.below(u64::from(values)) as u32;
            maker.write(0, current);
        } else {
            maker.read(0, current);
        }
        let moment = 10 * i64::from(i);
        let (early, late) = (random.below(30) as i64, random.below(30) as i64);
        maker.between(moment - early, moment + late).commit()?;
    }
    Ok(())
}

pub(super) fn one_value(maker: &mut StrainMaker, writes: u32) -> Result<(), SinkError> {
    for i in 0..writes {
        maker.begin(i % 8).write(i % 3, 7).commit()?;
    }
    for i in 0..writes {
        maker.begin(i % 8).read(i % 3, 7).commit()?;
    }
    Ok(())
}

/// How many sessions use a hot key.
const SESSIONS: u32 = 16;

/// A transaction on the hot key.
struct PlannedAccess {
    session: u32,
    value: u32,
    writes: bool,
    /// When its answer arrives.
    recorded: u64,
}

pub(super) fn hot_key(maker: &mut StrainMaker, writers: u32, how: Hot) -> Result<(), SinkError> {
    let mut random = Random::new(6);
    let mut answered = [0u64; SESSIONS as usize];
    let mut accesses = Vec::new();
    let (mut current, mut reads) = (0, 0);
    while current < writers || reads < writers {
        // When all of one kind are done, only the other is left.
        let writes = current < writers && (reads == writers || random.coin());
        if writes {
            current += 1;
        } else {
            reads += 1;
        }
        let session = random.below(u64::from(SESSIONS)) as u32;
        // An answer takes its time, but a session waits for it before it goes on.
        let late = if how == Hot::Serial { 0 } else { random.below(8 * u64::from(SESSIONS)) };
        let last = &mut answered[session as usize];
        *last = (*last + 1).max(accesses.len() as u64 + late);
        accesses.push(PlannedAccess { session, value: current, writes, recorded: *last });
    }
    if how != Hot::Serial {
        accesses.sort_by_key(|access| access.recorded);
    }
    for access in &accesses {
        maker.begin(access.session);
        let PlannedAccess { value, writes, .. } = *access;
        let made = if writes { maker.write(0, value) } else { maker.read(0, value) };
        made.commit()?;
    }
    if how == Hot::Violating {
        // Each value was written once: both orders cannot be.
        let (one, other) = (writers / 3, writers / 2);
        for (session, values) in [(SESSIONS, [one, other]), (SESSIONS + 1, [other, one])] {
            for value in values {
                maker.begin(session).read(0, value).commit()?;
            }
        }
    }
    Ok(())
}

/// Serial in the order: all writers of the value, its reader, then the first, the third, the second
/// and the fourth of the others.
pub(super) fn same_value(maker: &mut StrainMaker, writers: u32) -> Result<(), SinkError> {
    for writer in 0..writers {
        maker.begin(10 + writer).write(0, 1).commit()?;
    }
    maker.begin(0).read(0, 1).commit()?;
    maker.begin(1).write(1, 1).commit()?;
    maker.begin(2).write(2, 3).commit()?;
    maker.begin(3).write(2, 2).read(1, 1).commit()?;
    maker.begin(4).write(1, 4).read(2, 3).commit()
}
