//! PostgreSQL's serializable snapshot isolation: which two anti-dependencies in a row it never lets commit.
//!
//! The published certifier forbids any two in a row, and so cries wolf: PostgreSQL commits them unless the last of the
//! three committed first, and exempts a first that only read and whose snapshot is older than that commit
//! (specification C.5). All of that has to be certain here.

use super::breach::{Breach, Broken};
use super::mirror::Mirror;
use super::row::TraceNo;
use super::topology::{Link, Member};

impl Mirror {
    /// An anti-dependency between two transactions that have been decided: whether it makes two in a row with another one.
    pub(super) fn conflict(&mut self, from: TraceNo, to: TraceNo, link: Link) {
        let before = self.conflicts.into.get(&from).cloned().unwrap_or_default();
        let after = self.conflicts.out.get(&to).cloned().unwrap_or_default();
        for (first, earlier) in before {
            self.dangerous(first, from, to, [earlier, link]);
        }
        for (last, later) in after {
            self.dangerous(from, to, last, [link, later]);
        }
        self.conflicts.out.entry(from).or_default().push((to, link));
        self.conflicts.into.entry(to).or_default().push((from, link));
    }

    fn dangerous(&mut self, first: TraceNo, pivot: TraceNo, last: TraceNo, links: [Link; 2]) {
        let member = |no: TraceNo| self.topology.member(no);
        let (Some(one), Some(two), Some(three)) = (member(first), member(pivot), member(last))
        else {
            return;
        };
        let is_same = first == last;
        if !is_forbidden(one, two, three, is_same) || self.conflicts.told.contains(&pivot) {
            return;
        }
        let txn = [one, two, three].into_iter().max_by_key(|member| member.ended);
        let what = Broken::Dangerous {
            first: one.txn,
            pivot: two.txn,
            last: three.txn,
            rows: links.map(|link| link.row),
            ops: links.map(|link| link.ops),
        };
        if let Some(txn) = txn.map(|member| member.txn) {
            self.conflicts.told.insert(pivot);
            self.found.push(Breach { txn, what });
        }
    }
}

/// Whether PostgreSQL would certainly have refused one of three transactions.
fn is_forbidden(first: &Member, pivot: &Member, last: &Member, is_same: bool) -> bool {
    let overlap = |a: &Member, b: &Member| match (a.snapshot, b.snapshot) {
        (Some(of_a), Some(of_b)) => of_a.must_precede(b.commit) && of_b.must_precede(a.commit),
        _ => false,
    };
    let before_last_committed = |snapshot| last.commit.must_precede(snapshot);
    overlap(first, pivot)
        && overlap(pivot, last)
        && last.commit.must_precede(pivot.commit)
        && (is_same || last.commit.must_precede(first.commit))
        && (!first.read_only || first.snapshot.is_some_and(before_last_committed))
}
