//! The breadth-first search against distances, and its order against the plainest search there is.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use isolde_graph::{Bfs, EdgeList, Graph};
use proptest::prelude::*;

const NODES: u32 = 8;

type Edge = (u32, u32, u8);

fn graph(edges: &[Edge]) -> Graph<u32, u8> {
    let mut list = EdgeList::new(NODES as usize);
    edges.iter().for_each(|&(from, to, kinds)| list.push(from, to, kinds));
    Graph::new(NODES as usize, &[&list]).unwrap()
}

fn edges() -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::vec((0..NODES, 0..NODES, 0u8..=255), 0..20)
}

/// How many edges the shortest walk of at least one edge has, from each node to each.
fn distances(graph: &Graph<u32, u8>) -> Vec<Vec<Option<usize>>> {
    let n = NODES as usize;
    let mut shortest = vec![vec![None; n]; n];
    for node in graph.nodes() {
        graph.edges(node).for_each(|(to, _)| shortest[node as usize][to as usize] = Some(1));
    }
    for via in 0..n {
        for from in 0..n {
            for to in 0..n {
                let (a, b) = (shortest[from][via], shortest[via][to]);
                let over = a.zip(b).map(|(a, b): (usize, usize)| a + b);
                shortest[from][to] = [shortest[from][to], over].into_iter().flatten().min();
            }
        }
    }
    shortest
}

/// Everything that a start leads to.
fn all(graph: &Graph<u32, u8>, start: u32, longest: usize) -> Bfs<u32, u8> {
    Bfs::search(start, longest, |node, steps| {
        assert_eq!(steps.from(), node);
        for (to, kinds) in graph.edges(node) {
            steps.push(to, kinds);
        }
        ControlFlow::Continue(())
    })
}

proptest! {
    #[test]
    fn paths_and_cycles_are_shortest(edges in edges(), start in 0..NODES, longest in 0usize..10) {
        let graph = graph(&edges);
        let distances = distances(&graph);
        let search = all(&graph, start, longest);
        for to in 0..NODES {
            let wanted = distances[start as usize][to as usize].filter(|len| *len <= longest);
            let path = search.path(to);
            prop_assert_eq!(search.reached(to), wanted.is_some());
            prop_assert_eq!(path.len(), wanted.unwrap_or(0));
            if let [(first, ..), .., (_, last, _)] | [(first, last, _)] = path[..] {
                prop_assert_eq!((first, last), (start, to));
            }
            prop_assert!(path.windows(2).all(|pair| pair[0].1 == pair[1].0));
            for (from, to, kinds) in path {
                prop_assert!(graph.edges(from).any(|edge| edge == (to, kinds)));
            }
        }
    }

    #[test]
    fn states_are_visited_once_and_in_the_order_in_which_they_were_reached(
        edges in edges(), start in 0..NODES,
    ) {
        let graph = graph(&edges);
        let distances = distances(&graph);
        let mut reached = vec![start];
        let mut visited = Vec::new();
        let mut wrong = 0;
        Bfs::search(start, usize::MAX, |node, steps| {
            visited.push(node);
            let wanted = if node == start { Some(0) } else { distances[start as usize][node as usize] };
            wrong += usize::from(wanted != Some(steps.distance()));
            for (to, kinds) in graph.edges(node) {
                if steps.push(to, kinds) && to != start {
                    reached.push(to);
                }
            }
            ControlFlow::Continue(())
        });
        prop_assert_eq!(&visited, &reached);
        prop_assert_eq!(wrong, 0);
        visited.sort_unstable();
        visited.dedup();
        prop_assert_eq!(visited.len(), reached.len());
    }

    #[test]
    fn a_state_may_remember_the_way(edges in edges(), start in 0..NODES) {
        // The shortest closed walk of an even number of edges.
        let graph = graph(&edges);
        let search = Bfs::search((start, 0), usize::MAX, |(node, parity), steps| {
            for (to, kinds) in graph.edges(node) {
                if steps.push((to, 1 - parity), kinds) && (to, 1 - parity) == (start, 0) {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        let mut nodes = vec![start];
        let even = (1..=2 * NODES).find(|len| {
            nodes = nodes.iter().flat_map(|node| graph.edges(*node)).map(|(to, _)| to).collect();
            nodes.sort_unstable();
            nodes.dedup();
            len % 2 == 0 && nodes.contains(&start)
        });
        prop_assert_eq!(search.path((start, 0)).len(), even.unwrap_or(0) as usize);
    }

    #[test]
    fn a_search_ends_when_it_is_told_to(edges in edges(), start in 0..NODES, budget in 0usize..20) {
        let graph = graph(&edges);
        let (mut left, mut last) = (budget, None);
        let search = Bfs::search(start, usize::MAX, |node, steps| {
            for (to, kinds) in graph.edges(node) {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                if steps.push(to, kinds) {
                    last = Some((node, to, kinds));
                }
            }
            ControlFlow::Continue(())
        });
        // What was reached was reached in the same way as without an end.
        let whole = all(&graph, start, usize::MAX);
        for to in (0..NODES).filter(|to| search.reached(*to)) {
            prop_assert_eq!(search.path(to), whole.path(to));
        }
        prop_assert_eq!(last.is_some(), budget > 0 && graph.edges(start).next().is_some());
        if let Some(step) = last {
            prop_assert_eq!(search.path(step.1).last().copied(), Some(step));
        }
    }
}
