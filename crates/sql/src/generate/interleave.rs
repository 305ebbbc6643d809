//! The order of steps where no pattern says it.

use super::maker::Maker;

impl Maker<'_> {
    /// An order of the steps of transactions with so many statements each. All orders are equally likely, but that a share
    /// begins all transactions first.
    pub(super) fn shuffled(&mut self, statements: &[usize]) -> Vec<usize> {
        let mut left: Vec<usize> = statements.iter().map(|many| many + 2).collect();
        let mut order = Vec::new();
        if self.percent(30) {
            order.extend(0..left.len());
            left.iter_mut().for_each(|left| *left -= 1);
        }
        loop {
            let all: Vec<usize> = left
                .iter()
                .enumerate()
                .flat_map(|(transaction, left)| vec![transaction; *left])
                .collect();
            let Some(next) = self.one(&all).copied() else { return order };
            left[next] -= 1;
            order.push(next);
        }
    }
}
