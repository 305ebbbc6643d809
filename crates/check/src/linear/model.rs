//! Sequential objects, and concurrent calls on them.

use std::hash::Hash;

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
    /// It took effect at this time or earlier; `i64::MAX` if that is not known.
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
