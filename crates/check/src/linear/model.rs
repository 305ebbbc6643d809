//! Sequential objects, and the question whether concurrent calls on one behaved like one after
//! another.

use std::hash::Hash;
use std::time::Instant;

use super::search::{SearchEnd, OrderSearch};

/// An object whose calls take effect one after another: what it starts with, and what each call makes
/// of it.
///
/// A call is what a client asked for together with what it was answered.
///
/// ```
/// use isolde_check::{Limits, Linearized, Model, Timed, linearize};
///
/// /// A counter: one call adds, the other one says what there is.
/// struct Counter;
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// enum Call {
///     Add(i64),
///     Get(i64),
/// }
///
/// impl Model for Counter {
///     type State = i64;
///     type Call = Call;
///
///     fn initial(&self) -> i64 {
///         0
///     }
///
///     fn step(&self, state: &i64, call: &Call) -> Option<i64> {
///         match call {
///             Call::Add(n) => Some(state + n),
///             Call::Get(n) => (state == n).then_some(*n),
///         }
///     }
///
///     fn reads_only(&self, call: &Call) -> bool {
///         matches!(call, Call::Get(_))
///     }
/// }
///
/// // Two additions at the same time, and reads after the first: 0 was true once, and no longer is.
/// let calls = [
///     Timed::new(Call::Add(1), 0, 10),
///     Timed::new(Call::Add(2), 0, 40),
///     Timed::new(Call::Get(1), 20, 29),
///     Timed::new(Call::Get(0), 20, 30),
/// ];
/// let order = linearize(&Counter, &calls[..3], &Limits::default());
/// assert_eq!(order, Linearized::Yes { order: vec![0, 2, 1] });
/// let none = linearize(&Counter, &calls, &Limits::default());
/// assert_eq!(none, Linearized::No { prefix: vec![0, 2], stuck: 3 });
/// ```
pub trait Model {
    /// What the object holds.
    type State: Clone + Eq + Hash;
    /// A call and its answer.
    type Call: Eq + Hash;

    /// What the object starts with.
    fn initial(&self) -> Self::State;

    /// What the object holds after a call, or `None` if it would have answered something else.
    fn step(&self, state: &Self::State, call: &Self::Call) -> Option<Self::State>;

    /// Whether a call never changes what the object holds. Such calls are put in order without
    /// trying; without this the answer is the same, and takes longer.
    fn reads_only(&self, _call: &Self::Call) -> bool {
        false
    }

    /// Whether no call that [only looks](Model::reads_only) can be right in this state, nor in any that
    /// follows, whatever else is done. If in doubt, `false`: it only saves time.
    fn hopeless(&self, _state: &Self::State) -> bool {
        false
    }
}

/// A call, and when it was made. It took effect at one moment between, or never if it is not certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timed<C> {
    /// What was called, and what was answered.
    pub call: C,
    /// It took effect at this time or later.
    pub begin: i64,
    /// It took effect at this time or earlier; `i64::MAX` if nobody knows.
    pub end: i64,
    /// Whether it took effect at all.
    pub certain: bool,
}

impl<C> Timed<C> {
    /// A call that was answered.
    pub const fn new(call: C, begin: i64, end: i64) -> Timed<C> {
        Timed { call, begin, end, certain: true }
    }

    /// A call that was never answered: it may take effect at any later time, or never.
    pub const fn pending(call: C, begin: i64) -> Timed<C> {
        Timed { call, begin, end: i64::MAX, certain: false }
    }
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many steps may be tried.
    pub steps: u64,
    /// How many bytes may be used to remember what led nowhere.
    pub memory: usize,
    /// When to end.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Limits {
        let options = crate::Options::default();
        Limits { steps: options.order_steps, memory: options.order_memory, deadline: None }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// That of steps.
    Steps,
    /// That of memory.
    Memory,
    /// That of time.
    Deadline,
}

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
pub fn linearize<M: Model>(model: &M, calls: &[Timed<M::Call>], limits: &Limits) -> Linearized {
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
pub(crate) fn prefix<M: Model>(
    model: &M,
    calls: &[Timed<M::Call>],
    stuck: usize,
    limits: &Limits,
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

/// The same object, whose calls are somewhere else.
pub(crate) struct Borrowed<'m, M>(pub(crate) &'m M);

impl<'m, M: Model> Model for Borrowed<'m, M> {
    type State = M::State;
    type Call = &'m M::Call;

    fn initial(&self) -> M::State {
        self.0.initial()
    }

    fn step(&self, state: &M::State, call: &&'m M::Call) -> Option<M::State> {
        self.0.step(state, call)
    }

    fn reads_only(&self, call: &&'m M::Call) -> bool {
        self.0.reads_only(call)
    }

    fn hopeless(&self, state: &M::State) -> bool {
        self.0.hopeless(state)
    }
}
