//! Whether two histories say the same, whatever the order in which they learned their names.

use crate::columns::Columns;

use crate::history::History;
use crate::ids::Key;
use crate::meta::Event;
use crate::notation;
use crate::remap::Remap;
use crate::value::Value;

impl History {
    /// Whether the other history says the same as this one: the same transactions in the same
    /// order, with the same names, values and evidence. If not, the first difference in words.
    ///
    /// ```
    /// use isolde_history::notation::parse;
    /// let a = parse("s: w(x,1)")?;
    /// assert!(a.same_as(&parse("s: w(x,1) commit")?).is_ok());
    /// assert!(a.same_as(&parse("s: w(x,2)")?).is_err());
    /// # Ok::<(), isolde_history::ReadError>(())
    /// ```
    pub fn same_as(&self, other: &History) -> Result<(), String> {
        let mut pool = self.pool().thawed();
        let map = pool.adopt(other.pool());
        let counts = |h: &History| (h.txn_count(), h.stmt_count(), h.op_count());
        if counts(self) != counts(other) {
            let (mine, theirs) = (counts(self), counts(other));
            return Err(format!(
                "transactions, statements, operations: {mine:?} here, {theirs:?} there"
            ));
        }
        let mut mapped = Columns::default();
        mapped.append(other.columns(), &map).map_err(|e| e.to_string())?;
        if let Some(txn) = (0..self.txn_count()).find(|&t| !self.columns().same_txn(&mapped, t)) {
            let line = |h: &History| {
                let mut text = String::new();
                notation::write_txn(h, h.txn(crate::TxnId(txn as u32)), &mut text);
                text
            };
            return Err(format!("transaction {txn}:\n  {}\n  {}", line(self), line(other)));
        }
        self.same_frame(other, &map)
    }

    /// Everything that is not a transaction.
    fn same_frame(&self, other: &History, map: &Remap) -> Result<(), String> {
        let mut mine = self.meta().clone();
        let mut theirs = other.meta().mapped(map);
        for meta in [&mut mine, &mut theirs] {
            meta.info.sort_unstable();
            meta.initial.given.sort_unstable();
        }
        if mine != theirs {
            return Err(format!("about the run: {mine:?} here, {theirs:?} there"));
        }
        let event = |e: &Event| e.mapped(map);
        if !self.events().iter().cloned().eq(other.events().iter().map(event)) {
            return Err("the events differ".to_owned());
        }
        let order = |(k, versions): &(Key, Vec<Value>)| {
            (map.key(*k), versions.iter().map(|&v| map.value(v)).collect::<Vec<_>>())
        };
        if !self.version_orders().iter().cloned().eq(other.version_orders().iter().map(order)) {
            return Err("the version orders differ".to_owned());
        }
        Ok(())
    }
}

impl Columns {
    /// Whether a transaction is the same in both, which share a pool.
    fn same_txn(&self, other: &Columns, txn: usize) -> bool {
        let draft = |columns: &Columns| {
            let mut draft = crate::TxnDraft::default();
            columns.draft(txn, &mut draft).map(|()| {
                draft.attrs.sort_unstable();
                draft
            })
        };
        matches!((draft(self), draft(other)), (Ok(a), Ok(b)) if a.says_the_same(&b))
    }
}

impl crate::TxnDraft {
    fn says_the_same(&self, other: &crate::TxnDraft) -> bool {
        (self.session, self.outcome, self.label) == (other.session, other.outcome, other.label)
            && (self.interval, self.start, self.commit)
                == (other.interval, other.start, other.commit)
            && self.codes == other.codes
            && self.keys == other.keys
            && self.payloads == other.payloads
            && self.elements == other.elements
            && self.stmt_ends == other.stmt_ends
            && self.stmt_intervals == other.stmt_intervals
            && self.attrs == other.attrs
    }
}
