//! A layered drawing of boxes and wires: what leads to something stands above it, and what goes back
//! runs up at the right. Of our own, because it must be fast for thousands of witnesses, the same
//! every time, and must never fail.

use super::geometry::{Rect, Size, TRACK, Wire, half};
use super::layers::{Layers, layers};
use super::order::{Grid, ItemKind, grid};
use super::route::{self, Band, Placed, Route};
use super::space::{Wish, keep_distance};

/// Where something may be that has no neighbours.
const EVERYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
/// How far boxes are moved to make a wire straight.
const NEARLY: f64 = 24.0;
/// How often the rows are straightened.
const ROUNDS: usize = 24;
/// How far two boxes of a row are apart.
const BETWEEN_BOXES: f64 = 36.0;
/// How far anything else is.
const BETWEEN: f64 = 14.0;
/// The least space between two rows, and the most that is added for wires that go far sideways.
const GAP: f64 = 20.0;
const MORE_GAP: f64 = 36.0;

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) boxes: Vec<Rect>,
    /// One for each wire.
    pub(super) routes: Vec<Route>,
    pub(super) size: Size,
}

/// Draws. The numbers of the wires must be those of boxes, and no wire leads from a box to itself.
pub(super) fn lay_out(sizes: &[Size], wires: &[Wire]) -> Plan {
    let layers = layers(sizes.len(), wires);
    let grid = grid(sizes, wires, &layers);
    let mut x = columns(&grid);
    // What became straight may have made room for others.
    for _ in 0..2 {
        straighten(&grid, wires, &mut x);
    }
    let bands = bands(&grid, &layers, wires, &x);
    let boxes = sizes.iter().enumerate().map(|(at, size)| {
        let band = bands[grid.items[at].layer];
        Rect {
            left: half(x[at] - size.width / 2.0),
            top: half((band.top + band.bottom - size.height) / 2.0),
            width: size.width,
            height: size.height,
        }
    });
    let boxes: Vec<Rect> = boxes.collect();
    let placed = Placed { grid: &grid, layers: &layers, x, bands, boxes };
    let routes = route::routes(&placed, wires);
    let mut plan = Plan { boxes: placed.boxes, routes, size: Size::default() };
    plan.frame(wires);
    plan
}

/// Where the middles of all items are, from left to right.
fn columns(grid: &Grid) -> Vec<f64> {
    let mut x = vec![0.0; grid.items.len()];
    for round in 0..=ROUNDS {
        let down = round % 2 == 0;
        let count = grid.rows.len();
        for step in 0..count {
            let row = &grid.rows[if down { step } else { count - 1 - step }];
            let wishes: Vec<Wish> = row
                .iter()
                .enumerate()
                .map(|(place, at)| {
                    let before = place.checked_sub(1).map(|before| row[before]);
                    let (wish, weight) = wish(grid, *at, round, &x);
                    Wish { at: wish, weight, gap: before.map_or(0.0, |b| gap(grid, b, *at)) }
                })
                .collect();
            for (at, place) in row.iter().zip(keep_distance(&wishes)) {
                x[*at] = place;
            }
        }
    }
    x
}

/// Where an item wants to be: at first below those above it, or the other way round; at last in the
/// middle of all.
fn wish(grid: &Grid, at: usize, round: usize, x: &[f64]) -> (f64, f64) {
    let item = &grid.items[at];
    let (up, down) = match round {
        0 => (1.0, 0.0),
        _ if round + 6 > ROUNDS => (1.0, 1.0),
        _ if round.is_multiple_of(2) => (1.0, 0.1),
        _ => (0.1, 1.0),
    };
    let bound = item.above.iter().map(|(to, weight)| (*to, weight * up));
    let bound = bound.chain(item.below.iter().map(|(to, weight)| (*to, weight * down)));
    let (sum, weight) =
        bound.fold((0.0, 0.0), |(sum, all), (to, weight)| (sum + x[to] * weight, all + weight));
    if weight <= 0.0 { (x[at], 0.1) } else { (sum / weight, weight) }
}

fn gap(grid: &Grid, left: usize, right: usize) -> f64 {
    let (left, right) = (&grid.items[left], &grid.items[right]);
    let boxes = matches!((left.what, right.what), (ItemKind::Box(_), ItemKind::Box(_)));
    let label = |what: ItemKind| matches!(what, ItemKind::Label(_));
    let between = match (boxes, label(left.what) && label(right.what)) {
        (true, _) => BETWEEN_BOXES,
        (_, true) => BETWEEN / 2.0,
        _ => BETWEEN,
    };
    (left.width + right.width) / 2.0 + between
}

/// What should be straight and nearly is becomes so, where the neighbours leave room for it.
fn straighten(grid: &Grid, wires: &[Wire], x: &mut [f64]) {
    let mut beside = vec![(None, None); grid.items.len()];
    for row in &grid.rows {
        for pair in row.windows(2) {
            let &[left, right] = pair else { continue };
            beside[left].1 = Some(right);
            beside[right].0 = Some(left);
        }
    }
    let room = |at: usize, x: &[f64]| {
        let (left, right): (Option<usize>, Option<usize>) = beside[at];
        let low = left.map_or(f64::NEG_INFINITY, |left| x[left] + gap(grid, left, at));
        let high = right.map_or(f64::INFINITY, |right| x[right] - gap(grid, at, right));
        (low, high)
    };
    let both = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.min(b.1));
    for (chain, wire) in grid.chains.iter().zip(wires) {
        let bends = chain.get(1..chain.len().saturating_sub(1)).unwrap_or_default();
        let mut rest = bends;
        // As many bends at a time as have a place in common.
        while !rest.is_empty() {
            let mut common = EVERYWHERE;
            let fits = |at: &&usize| {
                let next = both(common, room(**at, x));
                let fits = next.0 <= next.1;
                common = if fits { next } else { common };
                fits
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (run, others) = rest.split_at(count);
            let mean = run.iter().map(|at| x[*at]).sum::<f64>() / count as f64;
            if common.0 <= common.1 {
                run.iter().for_each(|at| x[*at] = mean.clamp(common.0, common.1));
            }
            rest = others;
        }
        // A strong wire from row to row pulls its lower box along.
        let (target, moved) = (x[wire.from], chain.get(1..).unwrap_or_default());
        let near = moved.iter().all(|at| (x[*at] - target).abs() < NEARLY);
        for at in moved.iter().filter(|_| wire.strong && near && moved.len() == 2) {
            let (low, high) = room(*at, x);
            x[*at] = if low <= high { target.clamp(low, high) } else { x[*at] };
        }
    }
}

/// Where each row begins and ends: the further its wires go sideways, the more room they get.
fn bands(grid: &Grid, layers: &Layers, wires: &[Wire], x: &[f64]) -> Vec<Band> {
    let tracks = route::tracks(grid, layers, wires);
    let mut top = 0.0;
    let mut bands = Vec::with_capacity(grid.rows.len());
    for (at, row) in grid.rows.iter().enumerate() {
        let tracks = tracks.get(at).copied().unwrap_or_default();
        top += tracks.above as f64 * TRACK;
        let height = row.iter().map(|item| grid.items[*item].height).fold(0.0, f64::max);
        let right = row.iter().map(|item| x[*item] + grid.items[*item].width / 2.0);
        let right = right.fold(f64::NEG_INFINITY, f64::max);
        let bottom = top + height;
        bands.push(Band { top, bottom, right });
        let sideways = row.iter().flat_map(|item| {
            let below = grid.items[*item].below.iter();
            // A wire may leave a box anywhere along its border.
            let free = (grid.items[*item].width / 2.0 - 12.0).max(0.0);
            below.map(move |(to, _)| ((x[*to] - x[*item]).abs() - free).max(0.0))
        });
        let sideways = sideways.fold(0.0, f64::max);
        top = bottom + GAP + (sideways * 0.15).min(MORE_GAP) + tracks.below as f64 * TRACK;
        top = top.round();
    }
    bands
}

impl Plan {
    /// Moves everything so that it begins at 0, and measures it.
    fn frame(&mut self, wires: &[Wire]) {
        let labels = self.routes.iter().zip(wires).map(|(route, wire)| route.label_rect(wire));
        let all: Vec<Rect> = self.boxes.iter().copied().chain(labels).collect();
        let ends = |route: &Route| route.extent();
        let extents: Vec<Rect> = all.into_iter().chain(self.routes.iter().map(ends)).collect();
        let least = |of: fn(&Rect) -> f64| extents.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Rect) -> f64| extents.iter().map(of).fold(0.0, f64::max);
        let (left, top) = (least(|r| r.left), least(|r| r.top));
        if !left.is_finite() || !top.is_finite() {
            return;
        }
        let (left, top) = (left.floor(), top.floor());
        self.size = Size {
            width: (extents.iter().map(Rect::right).fold(left, f64::max) - left).ceil(),
            height: (most(Rect::bottom) - top).ceil(),
        };
        for rect in &mut self.boxes {
            rect.left -= left;
            rect.top -= top;
        }
        for route in &mut self.routes {
            route.shift(-left, -top);
        }
    }
}
