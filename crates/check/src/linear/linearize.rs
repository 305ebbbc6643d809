//! Whether concurrent calls on an object behaved as if they were made one after another.

use super::model::{Borrowed, Model, Timed};
use super::search::{OrderSearch, SearchEnd, SearchLimits};
use crate::limits::{Limit, Limits};

/// Whether calls can be put in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linearized {
    /// In this order: numbers of calls. Those that are not certain may be left out.
    Yes {
        /// The order.
        order: Vec<usize>,
    },
    /// In none.
    No {
        /// The order that gets furthest: everything that had been answered before the stuck call was.
        prefix: Vec<usize>,
        /// The call that has to come next, and neither it nor any other can.
        stuck: usize,
    },
    /// A limit was reached first.
    GaveUp(Limit),
}

/// Looks for an order of calls in which each comes after all that had ended before it began, and which
/// explains every answer.
///
/// Times are compared only with each other: one call comes before another if it ended strictly before
/// the other began.
pub fn linearize<M: Model>(model: &M, calls: &[Timed<M::Call>], limits: &Limits<'_>) -> Linearized {
    let limits = &SearchLimits::of(limits);
    match OrderSearch::new(model, calls, &[], limits).run() {
        SearchEnd::Order(order) => Linearized::Yes { order },
        SearchEnd::GaveUp(limit) => Linearized::GaveUp(limit),
        SearchEnd::None { stuck, .. } => match prefix(model, calls, stuck, limits) {
            Ok(prefix) => Linearized::No { prefix, stuck },
            Err(limit) => Linearized::GaveUp(limit),
        },
    }
}

/// The order of what had been answered before a call was that cannot be put in order any more.
fn prefix<M: Model>(
    model: &M,
    calls: &[Timed<M::Call>],
    stuck: usize,
    limits: &SearchLimits<'_>,
) -> Result<Vec<usize>, Limit> {
    let cut = calls[stuck].end;
    let before = calls.iter().enumerate().filter(|(_, c)| c.begin <= cut);
    // What was answered at the same moment as the stuck call, or later, may have taken effect already.
    let (at, before): (Vec<usize>, Vec<Timed<&M::Call>>) = before
        .filter(|(_, c)| c.end < cut || !model.reads_only(&c.call))
        .map(|(i, c)| {
            let answered = c.end < cut;
            let end = if answered { c.end } else { i64::MAX };
            let certain = answered && c.certain;
            (i, Timed { call: &c.call, begin: c.begin, end, certain })
        })
        .unzip();
    match OrderSearch::new(&Borrowed(model), &before, &[], limits).run() {
        SearchEnd::Order(order) => Ok(order.into_iter().map(|i| at[i]).collect()),
        SearchEnd::GaveUp(limit) => Err(limit),
        // Everything before the furthest moment can be put in order, or it would not be the furthest.
        SearchEnd::None { .. } => Ok(Vec::new()),
    }
}
