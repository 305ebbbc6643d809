//! Reads and blind writes of registers: exactly so many a transaction, and so many of them reads.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// A transaction of exactly so many operations, of which that share reads.
pub(crate) fn fill(
    len: u32,
    reads: f64,
    picker: &Picker,
    random: &mut Random,
    steps: &mut Vec<Step>,
) {
    for _ in 0..len {
        let kind = if random.chance(reads) { OpKind::Read } else { OpKind::Write };
        let row = picker.pick(random);
        steps.push(Step { kind, row, choice: random.bits() as u32 });
    }
}
