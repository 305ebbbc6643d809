//! Compare-and-set, insert-if-absent and reads of single rows, one operation a transaction.
//!
//! A client reads a row and then tries to replace what it saw. Only the first insert of a row can
//! succeed, so tables are small and fresh ones come again and again.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// Of twenty transactions, how many insert and how many read; the others compare and set.
const INSERTS: u64 = 3;
const READS: u64 = 8;
/// One operation; `seen` is the row that the session read or inserted last in this table.
pub(crate) fn fill(
    picker: &Picker,
    random: &mut Random,
    seen: &mut Option<u32>,
    steps: &mut Vec<Step>,
) {
    let kind = match random.below(20) {
        n if n < INSERTS => OpKind::InsertIfAbsent,
        n if n < INSERTS + READS => OpKind::Read,
        // A session that has seen nothing has nothing to compare with.
        _ if seen.is_none() => OpKind::InsertIfAbsent,
        _ => OpKind::Cas,
    };
    let picked = picker.pick(random);
    let row = match *seen {
        Some(row) if kind == OpKind::Cas => row,
        _ => picked,
    };
    *seen = Some(row);
    steps.push(Step { kind, row, choice: random.bits() as u32 });
}
