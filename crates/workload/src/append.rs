//! Appends to lists and reads of lists.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;
use crate::settings::Settings;

/// How many elements a list gets before there is a fresh one, if nobody says otherwise. A read brings
/// the whole list, so twice as long is twice as slow.
pub(crate) const LIST_LENGTH: u32 = 64;
/// The most popular list may get so many times as many.
const TOP: f64 = 8.0;

/// A transaction of up to so many operations.
pub(crate) fn fill(longest: u32, picker: &Picker, random: &mut Random, steps: &mut Vec<Step>) {
    for _ in 0..=random.below(u64::from(longest)) {
        let kind = if random.coin() { OpKind::Append } else { OpKind::ListRead };
        let row = picker.pick(random);
        steps.push(Step { kind, row, choice: random.bits() as u32 });
    }
}

/// After how many transactions of a session lists have about that length.
pub(crate) fn round(settings: &Settings, length: u32) -> u32 {
    // Half of the operations append, and half of the longest transaction is the mean one.
    let a_txn = (f64::from(settings.max_txn_len) + 1.0) / 4.0;
    let all = f64::from(settings.sessions) * a_txn;
    let top = settings.distribution.top_share(settings.keys);
    let appends = f64::from(length) * f64::from(settings.keys).min(TOP / top);
    (appends / all).clamp(1.0, f64::from(u32::MAX)) as u32
}
