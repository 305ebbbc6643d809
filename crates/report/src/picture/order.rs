//! The order of items in a layer, with few crossings.

use std::collections::HashSet;

use super::geometry::{Size, Wire};
use super::layers::{Layers, STEP};

/// How often the layers are sorted, down and up.
const SWEEPS: usize = 16;

/// From how many orders sorting begins, unless there are too many items for that.
const STARTS: usize = 8;
const LARGE: usize = 300;

/// What stands in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A box.
    Box(usize),
    /// A wire that passes.
    Bend(usize),
    /// A wire with its label.
    Label(usize),
}

/// Something in a layer.
pub(super) struct Item {
    pub(super) what: ItemKind,
    pub(super) layer: usize,
    pub(super) width: f64,
    pub(super) height: f64,
    /// What it is bound to in the layer above, and how strongly it wants to be below it.
    pub(super) above: Vec<(usize, f64)>,
    /// The same in the layer below.
    pub(super) below: Vec<(usize, f64)>,
}

/// All layers, from left to right.
pub(super) struct Grid {
    pub(super) items: Vec<Item>,
    pub(super) rows: Vec<Vec<usize>>,
    /// The items of each wire from the upper to the lower box, both included; none if it goes back.
    pub(super) chains: Vec<Vec<usize>>,
}

/// Puts boxes and the bends of wires in rows, and sorts the rows.
pub(super) fn grid(sizes: &[Size], wires: &[Wire], layers: &Layers) -> Grid {
    let boxes = sizes.iter().zip(&layers.of).enumerate();
    let mut items: Vec<Item> = boxes
        .map(|(at, (size, layer))| Item::new(ItemKind::Box(at), *layer, size.width, size.height))
        .collect();
    let mut chains = Vec::new();
    for (at, wire) in wires.iter().enumerate() {
        let back = layers.back.get(at).copied().unwrap_or(false);
        chains.push(if back { Vec::new() } else { chain(&mut items, at, wire, layers) });
    }
    let deepest = items.iter().map(|item| item.layer).max().unwrap_or(0);
    let mut rows = vec![Vec::new(); deepest + 1];
    // Wires first, and long ones before short ones: what goes back is drawn on the right, where
    // boxes should be next to it.
    let length = |item: &Item| match item.what {
        ItemKind::Box(_) => 0,
        ItemKind::Bend(wire) | ItemKind::Label(wire) => chains.get(wire).map_or(0, Vec::len),
    };
    let mut all: Vec<usize> = (0..items.len()).collect();
    all.sort_by_key(|at| std::cmp::Reverse(length(&items[*at])));
    for at in all {
        rows[items[at].layer].push(at);
    }
    let back = wires.iter().zip(&layers.back).filter(|(_, back)| **back);
    let go_right = back.flat_map(|(wire, _)| [wire.from, wire.to]).collect();
    let mut grid = Grid { items, rows, chains };
    grid.sort(&go_right);
    grid
}

/// The bends of a wire, one a layer between its boxes, and its label in the middle.
fn chain(items: &mut Vec<Item>, at: usize, wire: &Wire, layers: &Layers) -> Vec<usize> {
    let (top, bottom) = (layers.of[wire.from], layers.of[wire.to]);
    let middle = top + 1 + (bottom - top) / STEP / 2 * STEP;
    let label_at = if middle < bottom { middle } else { middle - STEP };
    let mut chain = vec![wire.from];
    for layer in top + 1..bottom {
        chain.push(items.len());
        items.push(if layer == label_at {
            Item::new(ItemKind::Label(at), layer, wire.label.width, wire.label.height)
        } else {
            Item::new(ItemKind::Bend(at), layer, 4.0, 0.0)
        });
    }
    chain.push(wire.to);
    let strength = if wire.strong { 30.0 } else { 1.0 };
    for pair in chain.windows(2) {
        let &[upper, lower] = pair else { continue };
        let ends = [upper, lower].iter().filter(|at| **at == wire.from || **at == wire.to).count();
        // A wire should be straight where it passes others, even if its ends are not.
        let weight = strength * if ends == 0 { 8.0 } else { 1.0 };
        items[upper].below.push((lower, weight));
        items[lower].above.push((upper, weight));
    }
    chain
}

impl Item {
    fn new(what: ItemKind, layer: usize, width: f64, height: f64) -> Item {
        Item { what, layer, width, height, above: Vec::new(), below: Vec::new() }
    }
}

impl Grid {
    /// Sorts the rows, each by where those stand that it is bound to; the best try wins. What still
    /// crosses then may do so because of where it began: so it begins elsewhere a few times.
    fn sort(&mut self, go_right: &HashSet<usize>) {
        let mut best = (self.faults(go_right), self.rows.clone());
        let starts = if self.items.len() > LARGE { 1 } else { STARTS };
        let mut seed = 1;
        for start in 0..starts {
            if best.0.0 == 0 && start > 0 {
                break;
            }
            if start > 0 {
                self.shuffle(&mut seed);
            }
            for sweep in 0..SWEEPS {
                self.sweep(sweep % 2 == 0, sweep % 4 > 1);
                for _mirrored in [false, true] {
                    self.rows.iter_mut().for_each(|row| row.reverse());
                    let faults = self.faults(go_right);
                    if faults < best.0 {
                        best = (faults, self.rows.clone());
                    }
                }
                if best.0 == (0, 0) {
                    break;
                }
            }
        }
        self.rows = best.1;
    }

    /// Other rows, but the same every time.
    fn shuffle(&mut self, seed: &mut u32) {
        for row in &mut self.rows {
            for last in (1..row.len()).rev() {
                *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                row.swap(last, (*seed >> 8) as usize % (last + 1));
            }
        }
    }

    /// Sorts each row once. What wants to be at the same place keeps its order, or takes that of
    /// what is on its other side.
    fn sweep(&mut self, down: bool, look_ahead: bool) {
        let mut place = self.places();
        let count = self.rows.len();
        for step in 0..count {
            let row = if down { step } else { count - 1 - step };
            let wishes = self.rows[row].iter().map(|at| {
                let then = if look_ahead { self.wish(*at, !down, &place) } else { 0.0 };
                (self.wish(*at, down, &place), then, *at)
            });
            let mut wishes: Vec<(f64, f64, usize)> = wishes.collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for (at, (_, _, item)) in wishes.iter().enumerate() {
                place[*item] = at as f64;
            }
            self.rows[row] = wishes.into_iter().map(|(_, _, item)| item).collect();
        }
    }

    /// How many wires cross, and how much is right of boxes whose wires go back there.
    fn faults(&self, go_right: &HashSet<usize>) -> (usize, usize) {
        let blocked = self.rows.iter().map(|row| {
            let after = row.iter().position(|item| go_right.contains(item));
            after.and_then(|at| row.get(at + 1..)).map_or(0, <[usize]>::len)
        });
        (self.crossings(), blocked.sum())
    }

    fn places(&self) -> Vec<f64> {
        let mut place = vec![0.0; self.items.len()];
        for row in &self.rows {
            for (at, item) in row.iter().enumerate() {
                place[*item] = at as f64;
            }
        }
        place
    }

    fn wish(&self, at: usize, down: bool, place: &[f64]) -> f64 {
        let bound = if down { &self.items[at].above } else { &self.items[at].below };
        if bound.is_empty() {
            return place[at];
        }
        bound.iter().map(|(other, _)| place[*other]).sum::<f64>() / bound.len() as f64
    }

    fn crossings(&self) -> usize {
        let place = self.places();
        self.rows.iter().map(|row| self.crossings_below(row, &place)).sum()
    }

    /// How many pairs of wires cross below a row: inversions, counted with a Fenwick tree.
    fn crossings_below(&self, row: &[usize], place: &[f64]) -> usize {
        let ends = row.iter().flat_map(|at| {
            let mut ends: Vec<usize> =
                self.items[*at].below.iter().map(|(to, _)| place[*to] as usize).collect();
            ends.sort_unstable();
            ends
        });
        let ends: Vec<usize> = ends.collect();
        let size = ends.iter().max().map_or(0, |most| most + 1);
        let mut tree = vec![0_usize; size + 1];
        let mut crossings = 0;
        for (before, end) in ends.iter().enumerate() {
            let (mut at, mut not_right) = (end + 1, 0);
            while at > 0 {
                not_right += tree[at];
                at &= at - 1;
            }
            crossings += before - not_right;
            at = end + 1;
            while at <= size {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        crossings
    }
}
