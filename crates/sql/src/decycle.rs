//! Cuts statements until the dependencies have no cycle (figure 8 of the paper).
//!
//! One statement is cut at a time, and then everything is run again: without it, the others may do something else.

use crate::case::{Case, Does};
use crate::dependencies::StatementGraph;
use crate::observation::Observation;
use crate::plan::At;

/// The statement to cut: of those in a cycle the least informative. None, if there is no cycle.
pub fn statement_to_cut(
    case: &Case,
    graph: &StatementGraph,
    observation: &Observation,
) -> Option<At> {
    let in_cycle = nodes_in_cycles(&graph.successors());
    let cyclic = in_cycle.into_iter().filter_map(|node| graph.nodes.get(node).copied());
    cyclic.min_by_key(|at| (worth(case, observation, *at), *at))
}

/// What a statement tells: a SELECT without rows little, and one that writes most.
fn worth(case: &Case, observation: &Observation, at: At) -> (u8, usize) {
    let rows = match &observation.of(at).answer {
        Some(Ok(isolde_target::Said::Rows(rows))) => rows.rows.len(),
        Some(Ok(isolde_target::Said::Changed(changed))) => {
            usize::try_from(*changed).unwrap_or(usize::MAX)
        }
        _ => 0,
    };
    let writes = !matches!(case.transactions[at.0].statements[at.1].does, Does::Select { .. });
    (u8::from(rows > 0) + u8::from(writes), rows)
}

/// The nodes that lie on a cycle: those that reach themselves. There are at most a few dozen.
fn nodes_in_cycles(successors: &[Vec<usize>]) -> Vec<usize> {
    let reaches_itself = |start: &usize| {
        let mut seen = vec![false; successors.len()];
        let mut todo = successors[*start].clone();
        while let Some(node) = todo.pop() {
            if node == *start {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) {
                todo.extend(&successors[node]);
            }
        }
        false
    };
    (0..successors.len()).filter(reaches_itself).collect()
}

/// Whether the dependencies between whole transactions have a cycle (table 4 of the paper): then there is an order of the
/// statements, and none of the transactions.
pub fn transactions_have_cycle(graph: &StatementGraph) -> bool {
    let txns = graph.nodes.iter().map(|(txn, _)| txn + 1).max().unwrap_or(0);
    let mut successors = vec![Vec::new(); txns];
    for (from, to) in graph.edges.keys() {
        let (from, to) = (graph.nodes[*from].0, graph.nodes[*to].0);
        if from != to {
            successors[from].push(to);
        }
    }
    !nodes_in_cycles(&successors).is_empty()
}

/// One of the orders in which every statement comes after those that it depends on; `choose` says which of so many that are
/// free comes next. None, if there is a cycle.
pub fn sorted(graph: &StatementGraph, mut choose: impl FnMut(usize) -> usize) -> Option<Vec<At>> {
    let successors = graph.successors();
    let mut before = vec![0; graph.nodes.len()];
    successors.iter().flatten().for_each(|node| before[*node] += 1);
    let mut free: Vec<usize> = (0..graph.nodes.len()).filter(|node| before[*node] == 0).collect();
    let mut order = Vec::new();
    while !free.is_empty() {
        let node = free.remove(choose(free.len()).min(free.len() - 1));
        order.push(graph.nodes[node]);
        for next in &successors[node] {
            before[*next] -= 1;
            if before[*next] == 0 {
                free.push(*next);
            }
        }
    }
    (order.len() == graph.nodes.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_that_reach_themselves_are_in_a_cycle() {
        let successors = vec![vec![1], vec![2, 3], vec![1], vec![]];
        assert_eq!(nodes_in_cycles(&successors), [1, 2]);
        assert_eq!(nodes_in_cycles(&[vec![], vec![0]]), [0; 0]);
    }
}
