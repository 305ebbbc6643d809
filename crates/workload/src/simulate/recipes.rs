//! Violations to plant, as data: a few transactions that no order explains, whenever they run.
//!
//! Each is on keys of its own, so that everything else stays as clean as it was, and in sessions of
//! their own, which run at the same time: so nothing but the values is wrong with it, and it is
//! forbidden where the catalogue says and nowhere else.

use isolde_spec::{Anomaly, Level};

use crate::settings::Kind;

/// An operation: on which key, and the version that is read or made. Version 0 is the initial state.
/// Of a list, a read of version 1 shows the element 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Say {
    /// A read.
    R(usize, u64),
    /// A write, or an append.
    W(usize, u64),
    /// A read of a list that shows these elements.
    L(usize, &'static [u64]),
    /// An insert that found nothing.
    I(usize, u64),
    /// A compare-and-set that found the first version and wrote the second.
    C(usize, u64, u64),
}
use Say::{C, I, L, R, W};

/// What becomes of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Commits,
    Aborts,
    /// It commits, and runs in the session of the transaction before it, after that transaction.
    Follows,
}
use End::{Aborts, Commits, Follows};

type Line = (&'static [Say], End);

/// Which workloads a recipe is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// Registers and lists.
    Both,
    Lists,
    Cas,
}

/// How to make a violation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    anomaly: Anomaly,
    fits: For,
    lines: &'static [Line],
    /// More where keys hold lists: readers that saw in which order elements were appended.
    seen: &'static [Line],
}

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
/// How many keys the largest recipe has.
pub(crate) const KEYS: u64 = 3;
/// Versions are below this.
pub(crate) const VERSIONS: u64 = 10;

const fn recipe(anomaly: Anomaly, lines: &'static [Line]) -> Recipe {
    Recipe { anomaly, fits: For::Both, lines, seen: &[] }
}

const fn of_lists(anomaly: Anomaly, lines: &'static [Line]) -> Recipe {
    Recipe { anomaly, fits: For::Lists, lines, seen: &[] }
}

const fn of_cas(anomaly: Anomaly, lines: &'static [Line]) -> Recipe {
    Recipe { anomaly, fits: For::Cas, lines, seen: &[] }
}

/// A transaction that reads a key and writes it, the first to do so.
const UPDATE_X: Line = (&[R(X, 0), W(X, 1)], Commits);
const UPDATE_Y: Line = (&[R(Y, 0), W(Y, 1)], Commits);
const UPDATE_Z: Line = (&[R(Z, 0), W(Z, 1)], Commits);
const UPDATE_BOTH: Line = (&[R(X, 0), W(X, 1), R(Y, 0), W(Y, 1)], Commits);

/// The fourteen that mini-transactions capture come first.
static RECIPES: &[Recipe] = &[
    recipe(Anomaly::ThinAirRead, &[(&[R(X, 9)], Commits)]),
    recipe(Anomaly::AbortedRead, &[(&[R(X, 0), W(X, 1)], Aborts), (&[R(X, 1)], Commits)]),
    recipe(Anomaly::FutureRead, &[(&[R(X, 1), W(X, 1)], Commits)]),
    recipe(Anomaly::NotMyLastWrite, &[(&[R(X, 0), W(X, 1), W(X, 2), R(X, 1)], Commits)]),
    recipe(Anomaly::NotMyOwnWrite, &[UPDATE_X, (&[R(X, 1), W(X, 2), R(X, 1)], Commits)]),
    recipe(
        Anomaly::IntermediateRead,
        &[(&[R(X, 0), W(X, 1), W(X, 2)], Commits), (&[R(X, 1)], Commits)],
    ),
    recipe(Anomaly::NonRepeatableReads, &[UPDATE_X, (&[R(X, 0), R(X, 1)], Commits)]),
    recipe(Anomaly::SessionGuaranteeViolation, &[UPDATE_X, (&[R(X, 0)], Follows)]),
    recipe(Anomaly::NonMonotonicRead, &[UPDATE_BOTH, (&[R(Y, 1), R(X, 0)], Commits)]),
    recipe(Anomaly::FracturedRead, &[UPDATE_BOTH, (&[R(X, 0), R(Y, 1)], Commits)]),
    recipe(
        Anomaly::CausalityViolation,
        &[UPDATE_X, (&[R(X, 1), R(Y, 0), W(Y, 1)], Commits), (&[R(Y, 1), R(X, 0)], Commits)],
    ),
    recipe(
        Anomaly::LongFork,
        &[UPDATE_X, UPDATE_Y, (&[R(X, 1), R(Y, 0)], Commits), (&[R(X, 0), R(Y, 1)], Commits)],
    ),
    Recipe {
        seen: &[(&[L(X, &[1, 2])], Commits)],
        ..recipe(Anomaly::LostUpdate, &[UPDATE_X, (&[R(X, 0), W(X, 2)], Commits)])
    },
    recipe(
        Anomaly::WriteSkew,
        &[(&[R(X, 0), R(Y, 0), W(X, 1)], Commits), (&[R(X, 0), R(Y, 0), W(Y, 1)], Commits)],
    ),
    recipe(
        Anomaly::CyclicCausality,
        &[(&[R(X, 0), W(X, 1), R(Y, 1)], Commits), (&[R(Y, 0), W(Y, 1), R(X, 1)], Commits)],
    ),
    recipe(
        Anomaly::GNonadjacent,
        &[
            UPDATE_X,
            UPDATE_Y,
            UPDATE_Z,
            (&[R(X, 1), R(Y, 0)], Commits),
            (&[R(Y, 1), R(Z, 0)], Commits),
            (&[R(Z, 1), R(X, 0)], Commits),
        ],
    ),
    recipe(
        Anomaly::G2Item,
        &[
            (&[R(X, 0), W(X, 1), R(Y, 0)], Commits),
            (&[R(Y, 0), W(Y, 1), R(Z, 0)], Commits),
            (&[R(Z, 0), W(Z, 1), R(X, 0)], Commits),
        ],
    ),
    of_lists(
        Anomaly::G0,
        &[
            (&[W(X, 1), W(Y, 1)], Commits),
            (&[W(X, 2), W(Y, 2)], Commits),
            (&[L(X, &[1, 2])], Commits),
            (&[L(Y, &[2, 1])], Commits),
        ],
    ),
    of_lists(
        Anomaly::GSingle,
        &[
            (&[W(X, 1), W(Y, 1)], Commits),
            (&[W(Y, 2), R(X, 0)], Commits),
            (&[L(Y, &[1, 2])], Commits),
        ],
    ),
    of_lists(
        Anomaly::IncompatibleOrder,
        &[
            (&[W(X, 1)], Commits),
            (&[W(X, 2)], Commits),
            (&[L(X, &[1, 2])], Commits),
            (&[L(X, &[2, 1])], Commits),
        ],
    ),
    of_lists(Anomaly::DuplicateElements, &[(&[W(X, 1)], Commits), (&[L(X, &[1, 1])], Commits)]),
    of_lists(
        Anomaly::DirtyUpdate,
        &[(&[W(X, 1)], Aborts), (&[W(X, 2)], Commits), (&[L(X, &[1, 2])], Commits)],
    ),
    of_cas(Anomaly::ThinAirRead, &[(&[R(X, 9)], Commits)]),
    of_cas(Anomaly::AbortedRead, &[(&[I(X, 1)], Aborts), (&[R(X, 1)], Commits)]),
    of_cas(Anomaly::SessionGuaranteeViolation, &[(&[I(X, 1)], Commits), (&[R(X, 0)], Follows)]),
    of_cas(
        Anomaly::LostUpdate,
        &[(&[I(X, 1)], Commits), (&[C(X, 1, 2)], Commits), (&[C(X, 1, 3)], Commits)],
    ),
];

impl Recipe {
    fn fits(&self, kind: Kind) -> bool {
        match kind {
            Kind::Cas => self.fits == For::Cas,
            Kind::Append => self.fits != For::Cas,
            _ => self.fits == For::Both,
        }
    }

    /// Its transactions.
    pub(crate) fn lines(&self, lists: bool) -> impl Iterator<Item = Line> {
        let seen = if lists { self.seen } else { &[] };
        self.lines.iter().chain(seen).copied()
    }

    /// How many of its transactions run at the same time.
    pub(crate) fn at_a_time(&self, lists: bool) -> usize {
        self.lines(lists).filter(|line| line.1 != Follows).count()
    }
}

/// How to plant an anomaly into a workload of that kind.
pub(crate) fn recipe_for(anomaly: Anomaly, kind: Kind) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.anomaly == anomaly && recipe.fits(kind))
}

/// The anomalies that can be planted into a workload of that kind.
pub fn plantable(kind: Kind) -> impl Iterator<Item = Anomaly> {
    RECIPES.iter().filter(move |recipe| recipe.fits(kind)).map(|recipe| recipe.anomaly)
}

/// All that can be planted with so many sessions at a time and that the level forbids, for plans that
/// name none.
pub(crate) fn mixture(kind: Kind, slots: usize, keeps: Level) -> Vec<&'static Recipe> {
    let forbidden = |recipe: &&Recipe| recipe.anomaly.forbidden_at(keeps);
    let possible = |recipe: &&Recipe| recipe.at_a_time(kind == Kind::Append) <= slots;
    RECIPES.iter().filter(|r| r.fits(kind)).filter(forbidden).filter(possible).collect()
}
