//! Cobra's mix of longer transactions: a fifth only reads, two fifths only write, two fifths read and
//! write the same keys.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// Of five transactions, how many only read, and how many only write.
const READ_ONLY: u64 = 1;
const WRITE_ONLY: u64 = 2;

/// A transaction of exactly so many operations.
pub(crate) fn fill(len: u32, picker: &Picker, random: &mut Random, steps: &mut Vec<Step>) {
    let step = |kind, row, random: &mut Random| Step { kind, row, choice: random.bits() as u32 };
    let kind = match random.below(5) {
        n if n < READ_ONLY => OpKind::Read,
        n if n < READ_ONLY + WRITE_ONLY => OpKind::Write,
        _ => {
            for _ in 0..len / 2 {
                let row = picker.pick(random);
                steps.push(step(OpKind::Read, row, random));
                steps.push(step(OpKind::Write, row, random));
            }
            if len % 2 == 1 {
                let row = picker.pick(random);
                steps.push(step(OpKind::Read, row, random));
            }
            return;
        }
    };
    for _ in 0..len {
        let row = picker.pick(random);
        steps.push(step(kind, row, random));
    }
}
