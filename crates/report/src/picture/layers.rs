//! Which transaction stands above which: wires that go back are found, and layers are given out.

use super::geometry::Wire;

/// Layers of boxes are even; between two of them is one of edge labels.
pub(super) const STEP: usize = 2;

/// How many boxes without any wire stand side by side.
const LONERS_A_ROW: usize = 4;

/// The layers of a drawing.
pub(super) struct Layers {
    /// The layer of each box, the first on top.
    pub(super) of: Vec<usize>,
    /// Whether each wire goes back up.
    pub(super) back: Vec<bool>,
}

/// Gives out layers: as many wires as possible go down.
pub(super) fn layers(boxes: usize, wires: &[Wire]) -> Layers {
    let leaving = leaving(boxes, wires);
    // The first box decides which wire of a cycle goes back: every box is tried.
    let tried = (0..boxes).map(|root| back_wires(root, &leaving, wires));
    let cost = |back: &Vec<bool>| -> u32 {
        back.iter().zip(wires).filter(|(back, _)| **back).map(|(_, wire)| wire.cost_of_back).sum()
    };
    let back = tried.min_by_key(cost).unwrap_or_default();
    let of = longest_paths(boxes, wires, &back);
    Layers { of, back }
}

fn leaving(boxes: usize, wires: &[Wire]) -> Vec<Vec<usize>> {
    let mut leaving = vec![Vec::new(); boxes];
    for (at, wire) in wires.iter().enumerate() {
        leaving[wire.from].push(at);
    }
    leaving
}

/// The wires that close a cycle in a walk, deep first, from this box and then from all others.
fn back_wires(root: usize, leaving: &[Vec<usize>], wires: &[Wire]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut back = vec![false; wires.len()];
    let mut seen = vec![Seen::No; leaving.len()];
    for start in std::iter::once(root).chain(0..leaving.len()) {
        if seen[start] != Seen::No {
            continue;
        }
        seen[start] = Seen::Open;
        let mut walk = vec![(start, 0)];
        while let Some((at, next)) = walk.pop() {
            let Some(wire) = leaving[at].get(next) else {
                seen[at] = Seen::Done;
                continue;
            };
            walk.push((at, next + 1));
            let to = wires[*wire].to;
            match seen[to] {
                Seen::Open => back[*wire] = true,
                Seen::Done => {}
                Seen::No => {
                    seen[to] = Seen::Open;
                    walk.push((to, 0));
                }
            }
        }
    }
    back
}

/// Each box as high as it can be, but one that nothing leads to as low as it can.
fn longest_paths(boxes: usize, wires: &[Wire], back: &[bool]) -> Vec<usize> {
    let mut below = vec![Vec::new(); boxes];
    let mut waits_for = vec![0_usize; boxes];
    for (wire, back) in wires.iter().zip(back) {
        let (upper, lower) = if *back { (wire.to, wire.from) } else { (wire.from, wire.to) };
        below[upper].push(lower);
        waits_for[lower] += 1;
    }
    let mut layer = vec![0; boxes];
    let top: Vec<usize> = (0..boxes).filter(|at| waits_for[*at] == 0).collect();
    let mut ready = top.clone();
    while let Some(at) = ready.pop() {
        for lower in &below[at] {
            layer[*lower] = layer[*lower].max(layer[at] + STEP);
            waits_for[*lower] -= 1;
            if waits_for[*lower] == 0 {
                ready.push(*lower);
            }
        }
    }
    let mut loners = 0;
    for at in top {
        match below[at].iter().map(|lower| layer[*lower]).min() {
            Some(lowest) => layer[at] = lowest - STEP,
            None => {
                layer[at] = loners / LONERS_A_ROW * STEP;
                loners += 1;
            }
        }
    }
    layer
}
