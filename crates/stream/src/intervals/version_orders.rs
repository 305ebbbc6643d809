//! In which order the versions of rows were installed, as far as that is certain: for procedures that judge by values.

use isolde_history::{History, Key, OpKind, Value};
use isolde_spec::Profile;

use super::flow::mirror_of;
use super::row::Row;
use super::tracer::Tracer;
use crate::content::name_id;

/// The keys of which the order of all versions is certain, each with its versions, the oldest first. Rows that were deleted, or
/// of which only columns are known, have no values that could stand for versions.
///
/// ```
/// use isolde_history::notation::parse;
/// use isolde_spec::Profile;
/// use isolde_stream::intervals::version_orders;
/// let history = parse("initial 0\na: w(x,1)@[1,2] @[1,9] {end-sent=5}\nb: w(x,2)@[3,6] @[3,8] {end-sent=7}").unwrap();
/// let profile = Profile::named("postgresql/read-committed").unwrap();
/// let orders = version_orders(&history, profile);
/// let versions: Vec<_> = orders[0].1.iter().map(|value| value.as_int().unwrap()).collect();
/// assert_eq!(versions, [1, 2]);
/// ```
pub fn version_orders(history: &History, profile: &Profile) -> Vec<(Key, Vec<Value>)> {
    let tracer = Tracer::new(history, profile, 0);
    let mut mirror = mirror_of(history, profile);
    for txn in history.txns() {
        mirror.enter(tracer.trace(txn.id()));
    }
    let names = history.pool().key_names().iter().enumerate();
    let orders = names.filter_map(|(key, name)| {
        let row = mirror.row(name_id(history.pool(), *name))?;
        Some((Key(key as u32), versions(history, row)?))
    });
    orders.collect()
}

/// All versions of a row, if each certainly follows the one before.
fn versions(history: &History, row: &Row) -> Option<Vec<Value>> {
    let is_certain = |place| row.version(place).is_some_and(|version| version.is_certain);
    let follows = |place: usize| match row.version(place - 1) {
        Some(before) => row.are_ordered(before, place),
        None => true,
    };
    let mut places = 1..=row.versions.len();
    if row.versions.is_empty() || !places.all(|place| is_certain(place) && follows(place)) {
        return None;
    }
    let value = |op: u32| {
        let op = history.op(isolde_history::OpId(op));
        let is_value = !history.rows_by_column() && op.kind() != OpKind::Delete;
        is_value.then(|| op.value())
    };
    row.versions.iter().map(|version| value(version.op)).collect()
}
