//! Batches of transactions as they come, held to the mechanisms of their server.

use isolde_history::{History, TxnId};
use isolde_spec::Profile;

use super::breach::{Breach, Tally};
use super::content::Content;
use super::entering::in_order;
use super::mirror::Mirror;
use super::tracer::Tracer;
use crate::content::name_id;

/// An endless flow of transactions. It keeps what is needed to decide those that are still to come, and no more.
///
/// What is found is counted here; the transactions that it is about are not kept.
///
/// ```
/// use isolde_history::notation::parse;
/// use isolde_spec::Profile;
/// use isolde_stream::intervals::IntervalFlow;
/// let mut flow = IntervalFlow::new(Profile::named("postgresql/read-committed").unwrap().clone());
/// flow.push(&parse("initial 0\na: w(x,1)@[1,2] @[1,4] {end-sent=3}").unwrap());
/// flow.push(&parse("initial 0\nb: r(x,0)@[5,6] @[5,8] {end-sent=7}").unwrap());
/// flow.all_began_before(5);
/// assert_eq!((flow.decided_txns(), flow.violations()), (1, 0));
/// flow.finish();
/// assert_eq!((flow.decided_txns(), flow.violations()), (2, 1));
/// ```
pub struct IntervalFlow {
    profile: Profile,
    mirror: Option<Mirror>,
    batches: u32,
    found: u64,
}

impl IntervalFlow {
    /// Nothing has come yet.
    pub fn new(profile: Profile) -> IntervalFlow {
        IntervalFlow { profile, mirror: None, batches: 0, found: 0 }
    }

    /// Takes a batch. What rows hold at first is what the first batch says.
    pub fn push(&mut self, batch: &History) {
        let tracer = Tracer::new(batch, &self.profile, self.batches);
        let mirror = self.mirror.get_or_insert_with(|| mirror_of(batch, &self.profile));
        for txn in 0..batch.txn_count() {
            mirror.enter(tracer.trace(TxnId(txn as u32)));
        }
        self.batches += 1;
    }

    /// Nothing comes any more that began before a time: what ended before is decided.
    pub fn all_began_before(&mut self, time: i64) {
        if let Some(mirror) = &mut self.mirror {
            mirror.decide_before(time);
            self.found += mirror.take_found().len() as u64;
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        if let Some(mirror) = &mut self.mirror {
            mirror.finish();
            self.found += mirror.take_found().len() as u64;
        }
    }

    /// How many violations were found.
    pub fn violations(&self) -> u64 {
        self.found
    }

    /// How many transactions were decided.
    pub fn decided_txns(&self) -> u64 {
        self.tally().txns
    }

    /// Of so many dependencies so many were decided.
    pub fn decided(&self) -> (u64, u64) {
        let all = self.tally().all();
        (all.decided, all.of)
    }

    /// How many transactions, rows, versions and dependencies are kept.
    pub fn kept(&self) -> [usize; 4] {
        self.mirror.as_ref().map_or([0; 4], Mirror::kept)
    }

    fn tally(&self) -> Tally {
        self.mirror.as_ref().map(Mirror::tally).unwrap_or_default()
    }
}

/// A mirror that knows what rows hold at first.
pub(super) fn mirror_of(history: &History, profile: &Profile) -> Mirror {
    let (initial, pool) = (&history.meta().initial, history.pool());
    let tracer = Tracer::new(history, profile, 0);
    let content = |value| Content::of(pool, value, tracer.by_column());
    let default = initial.default.map_or(Content::Unknown, content);
    let mut mirror = Mirror::new(profile.clone(), default);
    for (key, value) in &initial.given {
        mirror.begin_row(name_id(pool, pool.key_name(*key)), content(*value));
    }
    mirror
}

/// What is found in a whole history.
pub(super) fn breaches(history: &History, profile: &Profile) -> (Vec<Breach>, Tally) {
    let tracer = Tracer::new(history, profile, 0);
    let mut mirror = mirror_of(history, profile);
    let began = |txn: TxnId| history.txn(txn).interval().begin.unwrap_or(i64::MIN);
    // As they would have come: so no more is kept at a time than while the database ran.
    for txn in in_order(history) {
        mirror.decide_before(began(txn));
        mirror.enter(tracer.trace(txn));
    }
    mirror.finish();
    (mirror.take_found(), mirror.tally())
}
