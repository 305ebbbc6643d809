//! Which violation is planted when, and its transactions.

use isolde_spec::Anomaly;

use super::plan::Plan;
use super::recipes::{self, End, KEYS, Recipe, Say, VERSIONS};
use super::running::{Act, Fate, Running};
use super::span::Span;
use super::store::Store;
use super::tables::Tables;
use super::timestamp_faults::{PLACES, StampedLine, StampedRecipe};
use crate::settings::Kind;

/// Transactions that run at the same time.
pub(crate) enum Group {
    /// As written, and what follows each in its session.
    Written {
        txns: Vec<(Running, Option<Running>)>,
        /// How many ticks their timestamps need, after all have begun.
        ticks: i64,
    },
    /// Two that read the same version of a key that others use too, and both overwrite it: as a
    /// database would do it that forgets to look for a conflict.
    Conflict,
}

impl Group {
    /// How many sessions it takes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Group::Written { txns, .. } => txns.len(),
            Group::Conflict => 2,
        }
    }
}

/// What can be planted.
enum Seed {
    /// A conflict on a key that others use.
    Conflict,
    /// Values that are wrong.
    Values(&'static Recipe),
    /// Timestamps that are wrong.
    Stamps(StampedRecipe),
}

/// What is to be planted of one kind, or of various kinds in turn.
struct Bed {
    recipes: Vec<Seed>,
    count: u64,
    planted: u64,
}

/// What is to be planted.
pub(crate) struct Beds {
    beds: Vec<Bed>,
    /// How many there are, and among how many transactions they are spread.
    count: u64,
    txns: u64,
    planted: u64,
    /// Says which kind is the first.
    seed: u64,
}

impl Beds {
    pub(crate) fn new(plan: &Plan) -> Beds {
        let kind = plan.workload.kind;
        let named = |anomaly: Anomaly| {
            let recipe = recipes::recipe_for(anomaly, kind);
            recipe.map_or_else(Vec::new, |recipe| vec![Seed::Values(recipe)])
        };
        let mixture = || {
            let forbidden = Anomaly::LostUpdate.forbidden_at(plan.database.keeps());
            let conflict = kind != Kind::Cas && plan.slots() > 1 && forbidden;
            let conflict = conflict.then_some(Seed::Conflict);
            conflict.into_iter().chain(plan.mixture().into_iter().map(Seed::Values)).collect()
        };
        let beds = plan.planted.iter().filter(|planted| planted.count > 0).map(|planted| Bed {
            recipes: planted.anomaly.map_or_else(mixture, named),
            count: planted.count,
            planted: 0,
        });
        let beds: Vec<Bed> = beds.chain(faulty_stamps(plan)).collect();
        let count = beds.iter().map(|bed| bed.count).sum();
        Beds { beds, count, txns: plan.txns, planted: 0, seed: plan.workload.seed }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.planted == self.count
    }

    /// The next violation if it is due, after so many transactions: they are spread evenly.
    pub(crate) fn due<T: Store>(
        &mut self,
        after: u64,
        store: &mut T,
        tables: &mut Tables<T::Cell>,
    ) -> Option<Group> {
        if self.is_done() || after * self.count < self.planted * self.txns + self.txns / 2 {
            return None;
        }
        self.planted += 1;
        // The bed that is furthest behind is next.
        let behind = |bed: &&mut Bed| (bed.planted * 1_000_000) / bed.count;
        let bed = self.beds.iter_mut().filter(|bed| bed.planted < bed.count).min_by_key(behind)?;
        let number = self.seed.wrapping_add(bed.planted) % bed.recipes.len() as u64;
        bed.planted += 1;
        match bed.recipes[number as usize] {
            Seed::Conflict => Some(Group::Conflict),
            Seed::Values(recipe) => {
                let lines = recipe.lines(T::LISTS).map(|(says, end)| (says, end, Span::default()));
                Some(Group::Written { txns: written::<T>(lines, store, tables), ticks: 0 })
            }
            Seed::Stamps(recipe) => {
                let span = |line: &StampedLine| Span::planted(line.start, line.commit);
                let lines = recipe.lines().map(|line| (line.says, line.end, span(&line)));
                Some(Group::Written { txns: written::<T>(lines, store, tables), ticks: PLACES })
            }
        }
    }
}

/// Beds of faulty timestamps.
fn faulty_stamps(plan: &Plan) -> impl Iterator<Item = Bed> {
    let (kind, slots) = (plan.workload.kind, plan.slots() as usize);
    let planted = plan.timestamps.iter().flat_map(|timestamps| &timestamps.planted);
    planted.filter(|planted| planted.count > 0).map(move |planted| {
        let faults = planted.choice(kind, slots).into_iter();
        let recipes = faults.map(|fault| Seed::Stamps(fault.recipe(kind))).collect();
        Bed { recipes, count: planted.count, planted: 0 }
    })
}

/// The transactions of a recipe on fresh keys, and what follows each in its session.
fn written<T: Store>(
    lines: impl Iterator<Item = (&'static [Say], End, Span)>,
    store: &mut T,
    tables: &mut Tables<T::Cell>,
) -> Vec<(Running, Option<Running>)> {
    let first_key = tables.fresh_keys(KEYS);
    let base = store.fresh_values(VERSIONS);
    let mut txns: Vec<(Running, Option<Running>)> = Vec::new();
    for (says, end, span) in lines {
        let mut txn = Running { fate: Fate::Commits, span, ..Running::default() };
        for say in says {
            push(T::LISTS, *say, first_key, base, &mut txn);
        }
        match (end, txns.last_mut()) {
            (End::Follows, Some(last)) => last.1 = Some(txn),
            (End::Aborts, _) => txns.push((Running { fate: Fate::Aborts, ..txn }, None)),
            _ => txns.push((txn, None)),
        }
    }
    txns
}

fn push(lists: bool, say: Say, first_key: u64, base: u64, txn: &mut Running) {
    let key = |at: usize| first_key + at as u64;
    let value = |version: u64| if version == 0 { 0 } else { base + version };
    let act = match say {
        Say::R(at, version) if lists => {
            return txn.list_read(key(at), (version > 0).then_some(version));
        }
        Say::L(at, elements) => return txn.list_read(key(at), elements.iter().copied()),
        Say::R(at, version) => Act::Read { key: key(at), value: value(version) },
        Say::W(at, version) if lists => Act::Append { key: key(at), value: version },
        Say::W(at, version) => Act::Write { key: key(at), value: value(version) },
        Say::I(at, version) => Act::Insert { key: key(at), value: value(version), done: true },
        Say::C(at, from, to) => {
            let (expected, value) = (value(from), value(to));
            Act::Cas { key: key(at), expected, value, done: true }
        }
    };
    txn.acts.push(act);
}
