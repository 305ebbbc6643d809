//! What a transaction says, as one number: so that it can be told from another one long after its batch has gone.
//!
//! Equal contents have equal numbers in whatever batch and pool they come. Different contents have different ones but for
//! one chance in 2^64.

use isolde_history::{History, Key, Op, Timestamp, TxnId};

use crate::content::{mix, name_id, word};

/// The transactions of a batch.
pub(crate) struct Fingerprints<'b> {
    batch: &'b History,
    /// A hash of the name of each key: a name is used more often than it is named.
    keys: Vec<u64>,
}

impl<'b> Fingerprints<'b> {
    pub(crate) fn new(batch: &'b History) -> Fingerprints<'b> {
        let pool = batch.pool();
        let keys = pool.key_names().iter().map(|name| name_id(pool, *name).hash()).collect();
        Fingerprints { batch, keys }
    }

    /// What a transaction says: what became of it, its timestamps, and what it did and saw.
    pub(crate) fn of(&self, txn: TxnId) -> u64 {
        let txn = self.batch.txn(txn);
        let start = mix(txn.outcome() as u64, txn.ops().len() as u64);
        let stamps = [txn.start_ts(), txn.commit_ts()].into_iter().fold(start, add_stamp);
        txn.ops().fold(stamps, |hash, op| self.add_op(hash, &op))
    }

    fn add_op(&self, hash: u64, op: &Op<'_>) -> u64 {
        let pool = self.batch.pool();
        let hash = mix(hash, (op.kind() as u64) << 8 | op.effect() as u64);
        let hash = mix(hash, self.key(op.key()));
        let hash = match op.elements() {
            None => mix(hash, word(pool, op.value()).0),
            Some(all) => {
                let counted = mix(hash, all.len() as u64);
                all.iter().fold(counted, |hash, element| mix(hash, word(pool, *element).0))
            }
        };
        let hash = op.expected().map_or(hash, |value| mix(hash, word(pool, value).0));
        let Some(rows) = op.result_set() else { return hash };
        let counted = mix(hash, rows.len() as u64 + 1);
        rows.fold(counted, |hash, (key, value)| mix(mix(hash, self.key(key)), word(pool, value).0))
    }

    fn key(&self, key: Key) -> u64 {
        self.keys.get(key.index()).copied().unwrap_or_default()
    }
}

fn add_stamp(hash: u64, stamp: Option<Timestamp>) -> u64 {
    match stamp {
        None => mix(hash, 1),
        Some(at) => mix(mix(mix(hash, 2), at.physical as u64), at.logical as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::notation::parse;

    fn of(text: &str, txn: u32) -> u64 {
        let batch = parse(text).unwrap();
        Fingerprints::new(&batch).of(TxnId(txn))
    }

    #[test]
    fn what_says_the_same_is_the_same_in_every_batch() {
        let own = r#"a: r(x,"one") w(y,2) list(l,[1,2]) cas(z,1,2) ts(1,2)"#;
        let other = format!("b: w(q,\"two\") w(y,7) ts(5,6)\n{own}");
        assert_eq!(of(own, 0), of(&other, 1));
    }

    #[test]
    fn whatever_is_changed_makes_it_another_one() {
        let all = [
            "a: r(x,1) w(y,2) ts(1,2)",
            "a: r(x,1) w(y,2) ts(1,3)",
            "a: r(x,1) w(y,2) ts(2,2)",
            "a: r(x,1) w(y,2) abort ts(1,2)",
            "a: r(x,1) w(y,3) ts(1,2)",
            "a: r(y,1) w(x,2) ts(1,2)",
            "a: w(y,2) r(x,1) ts(1,2)",
            "a: w(y,2) ts(1,2)",
            "a: list(l,[1,2]) ts(1,2)",
            "a: list(l,[2,1]) ts(1,2)",
            "a: list(l,[]) ts(1,2)",
            "a: cas(x,1,2) ts(1,2)",
            "a: cas(x,3,2) ts(1,2)",
        ];
        let mut found: Vec<u64> = all.iter().map(|text| of(text, 0)).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), all.len());
    }
}
