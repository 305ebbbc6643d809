//! The other reading of the same levels, to check the first: version orders and cycles.
//!
//! "On dependency graphs with a known version order the same levels read: SER, no cycle of so, wr,
//! ww, rw; SI, no cycle in (so, wr, ww) each followed by at most one rw ...; prefix, no cycle in
//! ((so, wr) each followed by at most one rw) together with ww." Here all version orders are tried.

use super::order::{Binding, Nodes, Problem};

/// The most combinations of version orders that are tried.
const MAX_COMBINATIONS: usize = 150;

/// A relation between nodes: the successors of each.
type Relation = Vec<Nodes>;

/// Whether some version order of every key leaves no forbidden cycle; `None` if there are too many.
pub(crate) fn solvable(problem: &Problem) -> Option<bool> {
    let keys = problem.writers.iter();
    let orders: Vec<Vec<Vec<usize>>> = keys.map(|w| permutations(*w)).collect();
    let combinations = orders.iter().map(Vec::len).product::<usize>();
    if combinations > MAX_COMBINATIONS {
        return None;
    }
    Some((0..combinations).any(|mut number| {
        let chosen: Vec<&Vec<usize>> = orders
            .iter()
            .map(|of_key| {
                let chosen = &of_key[number % of_key.len()];
                number /= of_key.len();
                chosen
            })
            .collect();
        allowed(problem, &chosen)
    }))
}

/// The orders of a set of nodes in which the initial transaction is first.
fn permutations(nodes: Nodes) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0]];
    for node in (1..Nodes::BITS as usize).filter(|n| nodes >> n & 1 == 1) {
        let longer = |order: &Vec<usize>| {
            let at = 1..=order.len();
            let insert = |at| [&order[..at], &[node], &order[at..]].concat();
            at.map(insert).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn allowed(problem: &Problem, orders: &[&Vec<usize>]) -> bool {
    let nodes = problem.before.len();
    let (mut ww, mut links) = (vec![0; nodes], vec![0; nodes]);
    for to in 1..nodes {
        ww[0] |= 1 << to;
    }
    for (to, (before, linked)) in problem.before.iter().zip(&problem.links).enumerate() {
        // What `co` must contain beside wr, so and rt are the fixed version orders.
        add(&mut ww, before & !linked, to);
        add(&mut links, *linked, to);
    }
    for order in orders {
        for (i, node) in order.iter().enumerate() {
            ww[*node] |= later(order, i);
        }
    }
    let mut rw: Relation = vec![0; nodes];
    for (reader, reads) in problem.reads.iter().enumerate() {
        for read in reads.iter().filter(|read| read.bound) {
            let order = orders[read.key];
            let at = order.iter().position(|n| *n == read.from).unwrap_or(0);
            rw[reader] |= later(order, at) & !(1 << reader);
        }
    }
    let plain = union(&ww, &links);
    match problem.binding {
        Binding::Everything => acyclic(&union(&plain, &rw)),
        Binding::PrefixAndConflicts => acyclic(&union(&plain, &then(&plain, &rw))),
        Binding::Prefix => acyclic(&union(&plain, &then(&links, &rw))),
        binding => acyclic(&plain) && reads_allowed(problem, binding, &links, orders),
    }
}

/// The levels whose VIS does not speak of `co`: no read misses a later version that binds it.
fn reads_allowed(
    problem: &Problem,
    binding: Binding,
    links: &Relation,
    orders: &[&Vec<usize>],
) -> bool {
    let paths = closure(links);
    let into = |relation: &Relation, to: usize| {
        let from = relation.iter().enumerate().filter(|(_, next)| *next >> to & 1 == 1);
        from.fold(0, |all: Nodes, (node, _)| all | 1 << node)
    };
    problem.reads.iter().enumerate().all(|(reader, reads)| {
        reads.iter().filter(|read| read.bound).all(|read| {
            let order = orders[read.key];
            let position = |node: usize| order.iter().position(|n| *n == node);
            let missed = later(order, position(read.from).unwrap_or(0));
            let earlier = reads.iter().filter(|r| r.statement < read.statement);
            let visible = match binding {
                Binding::EarlierStatements => earlier.fold(0, |all, r| all | 1 << r.from),
                Binding::Linked => into(links, reader),
                Binding::Path => into(&paths, reader),
                Binding::Overwritten if read.overwritten => {
                    let mine = position(reader).unwrap_or(0);
                    order[..mine].iter().fold(0, |all, n| all | 1 << n)
                }
                _ => 0,
            };
            visible & missed == 0
        })
    })
}

fn add(relation: &mut Relation, from: Nodes, to: usize) {
    for (node, next) in relation.iter_mut().enumerate() {
        *next |= (from >> node & 1) << to;
    }
}

/// What stands behind a position.
fn later(order: &[usize], at: usize) -> Nodes {
    order[at + 1..].iter().fold(0, |all, n| all | 1 << n)
}

fn union(a: &Relation, b: &Relation) -> Relation {
    a.iter().zip(b).map(|(a, b)| a | b).collect()
}

/// One relation followed by the other.
fn then(first: &Relation, second: &Relation) -> Relation {
    let of = |next: &Nodes| {
        let through = second.iter().enumerate().filter(|(m, _)| next >> m & 1 == 1);
        through.fold(0, |all, (_, after)| all | after)
    };
    first.iter().map(of).collect()
}

fn closure(relation: &Relation) -> Relation {
    let mut all = relation.clone();
    for _ in 0..relation.len() {
        all = union(&all, &then(&all, &all));
    }
    all
}

fn acyclic(relation: &Relation) -> bool {
    closure(relation).iter().enumerate().all(|(node, next)| next >> node & 1 == 0)
}
