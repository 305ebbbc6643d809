//! Every algorithm against the definition of what it computes, on small graphs of any shape, and a few
//! large graphs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;

use isolde_graph::{
    EdgeList, Graph, Groups, Half, Halves, NoReach, Partitioned, Reach, Rows, cyclic_in_layers,
    two_layers,
};
use proptest::prelude::*;

type Edge = (u32, u32, u8);
type Matrix = Vec<Vec<bool>>;

fn list(nodes: usize, edges: &[Edge]) -> EdgeList<u32, u8> {
    let mut list = EdgeList::new(nodes);
    edges.iter().for_each(|&(from, to, kinds)| list.push(from, to, kinds));
    list
}

fn graph(nodes: usize, edges: &[Edge]) -> Graph<u32, u8> {
    Graph::new(nodes, &[&list(nodes, edges)]).unwrap()
}

fn edges(nodes: u32, kinds: u8, most: usize) -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::vec((0..nodes, 0..nodes, 0..=kinds), 0..most)
}

/// Edges without a cycle, whatever the indices of the nodes: they go forward in a random order.
fn acyclic(nodes: u32, most: usize) -> impl Strategy<Value = Vec<Edge>> {
    let order = Just((0..nodes).collect::<Vec<u32>>()).prop_shuffle();
    (order, edges(nodes, 1, most)).prop_map(|(order, edges)| {
        let forward = |(a, b, kinds): Edge| (a.min(b), a.max(b), kinds);
        let named = |(a, b, kinds): Edge| (order[a as usize], order[b as usize], kinds);
        edges.into_iter().map(forward).map(named).filter(|(a, b, _)| a != b).collect()
    })
}

/// Which pairs of nodes some edges connect.
fn matrix(nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Matrix {
    let mut matrix = vec![vec![false; nodes]; nodes];
    edges.into_iter().for_each(|(a, b)| matrix[a as usize][b as usize] = true);
    matrix
}

/// Floyd and Warshall: which node leads to which over one or more edges.
fn closure(mut leads: Matrix) -> Matrix {
    for via in 0..leads.len() {
        let theirs = leads[via].clone();
        for row in leads.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&theirs).for_each(|(leads, theirs)| *leads |= theirs);
        }
    }
    leads
}

fn no_loops(edges: &[Edge]) -> impl Iterator<Item = Edge> {
    edges.iter().copied().filter(|(from, to, _)| from != to)
}

fn without_kinds(edges: &[Edge]) -> impl Iterator<Item = (u32, u32)> {
    no_loops(edges).map(|(from, to, _)| (from, to))
}

#[test]
fn a_million_nodes_in_a_row_do_not_overflow() {
    let n = 1_000_000;
    let there: Vec<Edge> = (1..n).map(|i| (i - 1, i, 1)).collect();
    assert!(graph(n as usize, &there).components().acyclic());
    let mut back: Vec<Edge> = (1..n).map(|i| (i, i - 1, 1)).collect();
    assert!(graph(n as usize, &back).components().acyclic());
    back.push((0, n - 1, 1));
    assert_eq!(graph(n as usize, &back).components().count(), 1);
}

#[test]
fn cyclic_components_are_listed_in_order() {
    let edges = [(0, 4), (4, 0), (1, 2), (2, 3), (3, 1), (0, 1)].map(|(a, b)| (a, b, 1));
    let parts = Partitioned::new(6, &[&list(6, &edges)]).unwrap();
    assert_eq!(parts.graph.edge_count(), 6);
    assert_eq!(parts.components.cyclic::<u32>(), [vec![0, 4], vec![1, 2, 3]]);
    assert_eq!(parts.components.count(), 3);
}

#[test]
fn a_large_graph_of_several_lists_keeps_the_order_of_each_source() {
    let nodes = 300_000;
    let mut random = 1u64;
    let mut edge = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let node = |bits: u64| (bits % nodes as u64) as u32;
        (node(random >> 40), node((random >> 16) & 0xff_ffff), (random >> 56) as u8)
    };
    let all: Vec<Vec<Edge>> = (0..3).map(|_| (0..30_000).map(|_| edge()).collect()).collect();
    let lists: Vec<EdgeList<u32, u8>> = all.iter().map(|edges| list(nodes, edges)).collect();
    let graph = Graph::new(nodes, &lists.iter().collect::<Vec<_>>()).unwrap();
    let mut wanted: Vec<Edge> = all.iter().flat_map(|edges| no_loops(edges)).collect();
    wanted.sort_by_key(|(from, ..)| *from);
    assert_eq!(graph.edge_count(), wanted.len());
    let row = |node| graph.edges(node).map(move |(to, kinds)| (node, to, kinds));
    assert!(graph.nodes().flat_map(row).eq(wanted));
    assert!(graph.bytes() >= 4 * nodes + 5 * graph.edge_count());
}

#[test]
fn lists_may_be_made_for_more_nodes_than_the_graph_has() {
    // So many that a part of these lists has more nodes than one of a list for the graph.
    let mut edges = EdgeList::<u32, u8>::new(1 << 22);
    edges.push(40_000, 1, 1);
    edges.push(1, 40_000, 1);
    edges.push(70_000, 0, 1);
    let graph = Graph::new(70_001, &[&edges]).unwrap();
    assert_eq!(graph.edges(70_000).collect::<Vec<_>>(), [(0, 1)]);
    assert_eq!(graph.components().cyclic::<u32>(), [[1, 40_000]]);
}

#[test]
fn reachability_can_be_stopped() {
    let nodes = 3000;
    let chain: Vec<Edge> = (1..nodes).map(|i| (i - 1, i, 1)).collect();
    let chain = graph(nodes as usize, &chain);
    let asked = Cell::new(0);
    let until = |most: u32| {
        asked.set(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            asked.get() <= most
        };
        Reach::new(&chain, &go_on).map(|reach| reach.bytes())
    };
    assert_eq!(until(9), Ok(Reach::bytes_for(3000)));
    assert_eq!(asked.get(), 3);
    assert_eq!(until(2), Err(NoReach::Stopped));
    assert_eq!(until(0), Err(NoReach::Stopped));
    assert_eq!(Reach::bytes_for(usize::MAX), usize::MAX);
    assert_eq!(Reach::bytes_for(16 * 1024), 32 << 20);
}

/// The first bit of an edge's kinds lets it stay in the lower layer, the second one rise, the third
/// one fall.
fn rule(kinds: u8) -> Halves {
    Halves { stay: kinds & 1 != 0, rise: kinds & 2 != 0, fall: kinds & 4 != 0 }
}

proptest! {
    #[test]
    fn components_are_mutual_reachability(edges in edges(8, 1, 20)) {
        let c = graph(8, &edges).components();
        let reach = closure(matrix(8, without_kinds(&edges)));
        let leads = |a: u32, b: u32| reach[a as usize][b as usize];
        for a in 0..8 {
            for b in 0..8 {
                let mutual = a == b || leads(a, b) && leads(b, a);
                prop_assert_eq!(c.of(a) == c.of(b), mutual);
                // Numbered against the direction of the edges.
                if leads(a, b) && !mutual {
                    prop_assert!(c.of(b) < c.of(a));
                }
            }
        }
        let cyclic: Vec<u32> = c.cyclic().into_iter().flatten().collect();
        prop_assert_eq!(cyclic.len(), (0..8).filter(|a| leads(*a, *a)).count());
        prop_assert!(cyclic.iter().all(|a| leads(*a, *a)));
        prop_assert_eq!(c.acyclic(), cyclic.is_empty());
    }

    #[test]
    fn every_edge_is_kept(edges in edges(90_000, 255, 200)) {
        let list = list(90_000, &edges);
        let graph = Graph::new(90_000, &[&list]).unwrap();
        let row = |node| graph.edges(node).map(move |(to, kinds)| (node, to, kinds));
        // No other node can have an edge if the numbers agree.
        let mut sources: Vec<u32> = edges.iter().map(|(from, ..)| *from).collect();
        sources.sort_unstable();
        sources.dedup();
        let mut kept: Vec<Edge> = sources.into_iter().flat_map(row).collect();
        prop_assert_eq!(kept.len(), graph.edge_count());
        let mut listed: Vec<Edge> = list.iter().collect();
        let mut wanted: Vec<Edge> = no_loops(&edges).collect();
        prop_assert_eq!(list.len(), wanted.len());
        for &(from, to, kinds) in &wanted {
            prop_assert!(graph.leads(from, to, kinds));
        }
        kept.sort_unstable();
        listed.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(&kept, &wanted);
        prop_assert_eq!(&listed, &wanted);
    }

    #[test]
    fn an_edge_leads_by_all_its_kinds_and_no_others(edges in edges(4, 7, 6), kind in 1u8..8) {
        let graph = graph(4, &edges);
        for from in 0..4 {
            for to in 0..4 {
                let one = |e: Edge| (e.0, e.1) == (from, to) && e.2 & kind == kind;
                prop_assert_eq!(graph.leads(from, to, kind), no_loops(&edges).any(one));
            }
        }
    }

    #[test]
    fn topological_orders_go_forward(edges in acyclic(12, 30)) {
        let graph = graph(12, &edges);
        let order: Vec<u32> = graph.components().topological();
        let place = |node: u32| order.iter().position(|n| *n == node).unwrap();
        prop_assert!(edges.iter().all(|(from, to, _)| place(*from) < place(*to)));
        // The smallest node that nothing before it is missing for, again and again.
        let mut times = vec![None; 12];
        for now in 0..12u32 {
            let missing = |node: u32| {
                edges.iter().any(|(from, to, _)| *to == node && times[*from as usize].is_none())
            };
            let next = (0..12).find(|n| times[*n as usize].is_none() && !missing(*n)).unwrap();
            times[next as usize] = Some(now);
        }
        let times: Option<Vec<u32>> = times.into_iter().collect();
        prop_assert_eq!(graph.topological_times(), times);
    }

    #[test]
    fn only_graphs_without_cycles_have_times_and_reach(edges in edges(6, 1, 10)) {
        let graph = graph(6, &edges);
        let acyclic = graph.components().acyclic();
        prop_assert_eq!(graph.topological_times().is_some(), acyclic);
        let reach = Reach::new(&graph, &|| true).map(|_| ());
        prop_assert_eq!(reach, if acyclic { Ok(()) } else { Err(NoReach::Cyclic) });
    }

    #[test]
    fn reach_is_the_transitive_closure(edges in acyclic(150, 400)) {
        let reach = Reach::new(&graph(150, &edges), &|| true).unwrap();
        let wanted = closure(matrix(150, without_kinds(&edges)));
        for (from, row) in wanted.iter().enumerate() {
            for (to, leads) in row.iter().enumerate() {
                prop_assert_eq!(reach.leads(from as u32, to as u32), *leads);
            }
        }
    }

    #[test]
    fn layers_are_a_composition_of_edges(edges in edges(7, 7, 16)) {
        let halves: Vec<_> = no_loops(&edges).map(|(a, b, kinds)| (a, b, rule(kinds))).collect();
        let mut composed: Vec<(u32, u32)> = Vec::new();
        for &(a, b, first) in &halves {
            composed.extend(first.stay.then_some((a, b)));
            let falls = halves.iter().filter(|(from, _, second)| *from == b && second.fall);
            composed.extend(falls.filter(|_| first.rise).map(|(_, c, _)| (a, *c)));
        }
        let reach = closure(matrix(7, composed));
        let leads = |a: u32, b: u32| reach[a as usize][b as usize];
        let graph = graph(7, &edges);
        let layers = two_layers(&graph, Some, |_, _| true, rule).unwrap().components();
        let is_cyclic: Vec<Half> = layers.cyclic().into_iter().flatten().collect();
        for a in 0..7 {
            prop_assert_eq!(is_cyclic.contains(&Half::lower(a)), leads(a, a));
            // The upper half of a node is on a cycle if what it falls to leads to what rises to it.
            let rises = halves.iter().filter(|(_, to, h)| *to == a && h.rise);
            let mut ways = rises.flat_map(|(from, ..)| {
                halves.iter().filter(|(f, _, h)| *f == a && h.fall).map(move |(_, to, _)| (*to, *from))
            });
            let closes = ways.any(|(to, from)| to == from || leads(to, from));
            prop_assert_eq!(is_cyclic.contains(&Half::upper(a)), closes);
        }

        let parts = cyclic_in_layers(&graph, &graph.components(), rule).unwrap();
        let together = |a, b| parts.iter().any(|(_, part)| part.contains(&a) && part.contains(&b));
        for a in 0..7 {
            let on_cycle = [Half::lower(a), Half::upper(a)].iter().any(|h| is_cyclic.contains(h));
            prop_assert_eq!(together(a, a), on_cycle);
            for b in 0..7 {
                prop_assert!(!(leads(a, b) && leads(b, a)) || together(a, b));
            }
        }
        for (first, part) in parts {
            prop_assert!(part.contains(&first) && leads(first, first));
        }
    }

    #[test]
    fn groups_and_rows_are_stable(items in prop::collection::vec((0usize..5, 0u32..9), 0..30)) {
        let groups = Groups::new(items.len(), 5, |i| items[i].0);
        let rows = Rows::sorted(&items, 5, |item| item.0);
        let mut pushed = Rows::new();
        for row in 0..5 {
            let mine = |i: &u32| items[*i as usize].0 == row;
            let wanted: Vec<u32> = (0..items.len() as u32).filter(mine).collect();
            prop_assert_eq!(groups.of(row), &wanted[..]);
            prop_assert_eq!(&groups.items()[groups.range(row)], &wanted[..]);
            let wanted: Vec<_> = wanted.into_iter().map(|i| items[i as usize]).collect();
            prop_assert_eq!(rows.of(row), &wanted[..]);
            let mut other = Rows::new();
            other.extend(wanted);
            other.end_row();
            pushed.append(other);
        }
        prop_assert_eq!((rows.row_count(), pushed.row_count()), (5, 5));
        prop_assert_eq!(rows.items(), pushed.items());
        let second = rows.clone().map(|(_, item)| item);
        for row in 0..5 {
            prop_assert_eq!(rows.of(row), pushed.of(row));
            prop_assert!(rows.of(row).iter().map(|(_, item)| item).eq(second.of(row)));
        }
    }
}
