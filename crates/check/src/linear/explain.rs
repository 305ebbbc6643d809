//! What shows that the calls on an object cannot be put in order.

use isolde_spec::{Anomaly, Edges, Witness};

use super::object::Object;
use crate::decide::Case;

pub(crate) fn witness(_case: &Case<'_, '_>, object: &Object<'_>, stuck: usize) -> Witness {
    let item = &object.items[stuck];
    Witness {
        needs: Edges::RT,
        ops: vec![item.op],
        txns: vec![item.txn],
        ..Witness::of(Anomaly::NotLinearizable)
    }
}
