//! Appends to lists and reads of lists.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// A transaction of up to so many operations.
pub(crate) fn fill(longest: u32, picker: &Picker, random: &mut Random, steps: &mut Vec<Step>) {
    for _ in 0..=random.below(u64::from(longest)) {
        let kind = if random.coin() { OpKind::Append } else { OpKind::ListRead };
        let row = picker.pick(random);
        steps.push(Step { kind, row, choice: random.bits() as u32 });
    }
}
