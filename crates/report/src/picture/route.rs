//! The way of each wire from the border of one box to that of another.

use std::fmt::Write;

use super::geometry::{Rect, TRACK, Wire, half};
use super::layers::Layers;
use super::order::{Grid, ItemKind};
use super::space::{Wish, keep_inside};

/// How far wires are apart where they leave a box.
const PORT: f64 = 18.0;
/// How far from a corner they stay.
const CORNER: f64 = 12.0;
/// How round the corners are of wires that go back.
const ROUND: f64 = 12.0;
/// How far wires that go back are from what they pass.
const ASIDE: f64 = 22.0;
/// How long an arrowhead is.
const HEAD: f64 = 9.0;

/// Where a wire arrives: the way its arrow points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    Down,
    Left,
}

/// A piece of a wire.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Start(f64, f64),
    Line(f64, f64),
    /// From vertical to vertical.
    Swing(f64, f64),
    /// Around a corner at the first point, to the second.
    Corner(f64, f64, f64, f64),
}

/// A row of the drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) right: f64,
}

/// Where the items of a grid are.
pub(super) struct Placed<'a> {
    pub(super) grid: &'a Grid,
    pub(super) layers: &'a Layers,
    /// The middle of each item.
    pub(super) x: Vec<f64>,
    pub(super) bands: Vec<Band>,
    pub(super) boxes: Vec<Rect>,
}

/// The way of a wire.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pieces: Vec<Piece>,
    /// Where it begins.
    pub(super) start: (f64, f64),
    /// Where its arrow touches the other box.
    pub(super) tip: (f64, f64),
    pub(super) heading: Heading,
    /// The middle of the label.
    pub(super) label: (f64, f64),
    /// Whether it goes back.
    pub(super) back: bool,
}

/// How many wires run sideways above and below a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tracks {
    pub(super) above: usize,
    pub(super) below: usize,
}

/// How many wires run sideways in the gaps, because a box that they lead to or from is not the last
/// of its row.
pub(super) fn tracks(grid: &Grid, layers: &Layers, wires: &[Wire]) -> Vec<Tracks> {
    let mut tracks = vec![Tracks::default(); grid.rows.len()];
    for (wire, _) in wires.iter().zip(&layers.back).filter(|(_, back)| **back) {
        if !is_last(grid, wire.from) {
            tracks[layers.of[wire.from]].below += 1;
        }
        if !is_last(grid, wire.to) {
            tracks[layers.of[wire.to]].above += 1;
        }
    }
    tracks
}

/// Whether no box is right of this one.
fn is_last(grid: &Grid, at: usize) -> bool {
    let row = &grid.rows[grid.items[at].layer];
    let boxes = row.iter().rev().find(|item| matches!(grid.items[**item].what, ItemKind::Box(_)));
    boxes == Some(&at)
}

/// The ways of all wires.
pub(super) fn routes(placed: &Placed<'_>, wires: &[Wire]) -> Vec<Route> {
    let mut router = Router::new(placed, wires);
    router.share_borders();
    (0..wires.len()).map(|at| router.route(at)).collect()
}

struct Router<'a> {
    placed: &'a Placed<'a>,
    wires: &'a [Wire],
    /// Where each wire leaves and arrives along the border: x, or y at the right border.
    from: Vec<f64>,
    to: Vec<f64>,
    /// Where wires that go back run up, and where their labels are.
    lane: Vec<f64>,
    label_y: Vec<f64>,
    used: Vec<Tracks>,
}

/// Which border of a box.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Top,
    Bottom,
    Right,
}

impl<'a> Router<'a> {
    fn new(placed: &'a Placed<'a>, wires: &'a [Wire]) -> Router<'a> {
        let none = vec![0.0; wires.len()];
        let mut router = Router {
            placed,
            wires,
            from: none.clone(),
            to: none.clone(),
            lane: none.clone(),
            label_y: none,
            used: vec![Tracks::default(); placed.bands.len()],
        };
        router.give_lanes();
        router
    }

    fn is_back(&self, wire: usize) -> bool {
        self.placed.layers.back.get(wire).copied().unwrap_or(false)
    }

    /// Wires that go back run right of all that they pass, the short ones inside.
    fn give_lanes(&mut self) {
        let layer = |at: usize| self.placed.layers.of[at];
        let span = |wire: usize| (layer(self.wires[wire].to), layer(self.wires[wire].from));
        let mut back: Vec<usize> = (0..self.wires.len()).filter(|w| self.is_back(*w)).collect();
        back.sort_by_key(|wire| span(*wire).1 - span(*wire).0);
        let mut right: Vec<f64> = self.placed.bands.iter().map(|band| band.right).collect();
        for wire in back {
            let (top, bottom) = span(wire);
            let label = self.wires[wire].label;
            let passed = right[top..=bottom].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let needs = |row: usize| (passed + ASIDE).max(right[row] + 8.0 + label.width / 2.0);
            // The label is where it pushes the lane out least, and then in the middle.
            let off = |row: usize| (2 * row).abs_diff(top + bottom);
            let rows = (top + 1..bottom).step_by(2);
            let best =
                |a: &usize, b: &usize| needs(*a).total_cmp(&needs(*b)).then(off(*a).cmp(&off(*b)));
            let row = rows.min_by(best).unwrap_or(top);
            let lane = half(needs(row));
            self.lane[wire] = lane;
            let band = self.placed.bands[row];
            self.label_y[wire] = (band.top + band.bottom) / 2.0;
            for (at, right) in right.iter_mut().enumerate().take(bottom + 1).skip(top) {
                *right = right.max(lane + if at == row { label.width / 2.0 } else { 0.0 });
            }
        }
    }

    fn side(&self, wire: usize, leaves: bool) -> Side {
        let (from, to) = (self.wires[wire].from, self.wires[wire].to);
        let at = if leaves { from } else { to };
        match leaves {
            _ if self.is_back(wire) && is_last(self.placed.grid, at) => Side::Right,
            true => Side::Bottom,
            false => Side::Top,
        }
    }

    /// Gives each wire its place at the borders of its boxes.
    fn share_borders(&mut self) {
        let mut ends: Vec<(usize, Side, f64, usize, bool)> = Vec::new();
        for wire in 0..self.wires.len() {
            for leaves in [true, false] {
                let side = self.side(wire, leaves);
                let at = if leaves { self.wires[wire].from } else { self.wires[wire].to };
                ends.push((at, side, self.wish(wire, leaves, side), wire, leaves));
            }
        }
        ends.sort_by(|a, b| {
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
        });
        for group in ends.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let Some((at, side, ..)) = group.first().copied() else { continue };
            let rect = self.placed.boxes[at];
            let (low, high) = match side {
                Side::Right => (rect.top + CORNER, rect.bottom() - CORNER),
                Side::Top | Side::Bottom => (rect.left + CORNER, rect.right() - CORNER),
            };
            let wishes: Vec<Wish> = group
                .iter()
                .map(|(_, _, wish, ..)| Wish { at: wish.clamp(low, high), weight: 1.0, gap: PORT })
                .collect();
            let places = keep_inside(&wishes, low, high);
            for ((.., wire, leaves), place) in group.iter().zip(places) {
                let ends = if *leaves { &mut self.from } else { &mut self.to };
                ends[*wire] = half(place);
            }
        }
    }

    /// Where along a border a wire wants to leave or arrive.
    fn wish(&self, wire: usize, leaves: bool, side: Side) -> f64 {
        let Wire { from, to, .. } = self.wires[wire];
        if side == Side::Right {
            let rect = self.placed.boxes[if leaves { from } else { to }];
            // What leaves goes up, so it leaves higher; the inner ones must not cross the outer.
            let outer = self.lane[wire] / 1e5;
            let height = rect.height * if leaves { 0.35 + outer } else { 0.65 - outer };
            return rect.top + height;
        }
        if self.is_back(wire) {
            return self.lane[wire];
        }
        let chain = &self.placed.grid.chains[wire];
        let next = if leaves { chain.get(1) } else { chain.iter().rev().nth(1) };
        next.map_or(0.0, |item| self.placed.x[*item])
    }

    fn route(&mut self, wire: usize) -> Route {
        if self.is_back(wire) { self.back(wire) } else { self.forth(wire) }
    }

    /// Down, through the places that the wire was given in the rows between.
    fn forth(&self, wire: usize) -> Route {
        let Wire { from, to, .. } = self.wires[wire];
        let boxes = &self.placed.boxes;
        let start = (self.from[wire], boxes[from].bottom());
        let tip = (self.to[wire], boxes[to].top);
        let mut pieces = vec![Piece::Start(start.0, start.1)];
        // A lower box of the same row must not be cut by a wire that turns too early.
        pieces.push(Piece::Line(start.0, self.placed.bands[self.placed.layers.of[from]].bottom));
        let mut label = ((start.0 + tip.0) / 2.0, (start.1 + tip.1) / 2.0);
        let chain = &self.placed.grid.chains[wire];
        for item in chain.iter().skip(1).take(chain.len().saturating_sub(2)) {
            let (x, thing) = (half(self.placed.x[*item]), &self.placed.grid.items[*item]);
            let band = self.placed.bands[thing.layer];
            pieces.push(Piece::Swing(x, band.top));
            pieces.push(Piece::Line(x, band.bottom));
            if matches!(thing.what, ItemKind::Label(_)) {
                label = (x, half((band.top + band.bottom) / 2.0));
            }
        }
        let band = self.placed.bands[self.placed.layers.of[to]];
        pieces.push(Piece::Swing(tip.0, band.top - HEAD));
        pieces.push(Piece::Line(tip.0, tip.1 - HEAD + 2.0));
        Route { pieces, start, tip, heading: Heading::Down, label, back: false }
    }

    /// Out at the right, up, and in again; below and above the rows if other boxes are in the way.
    fn back(&mut self, wire: usize) -> Route {
        let Wire { from, to, .. } = self.wires[wire];
        let (lower, upper) = (self.placed.boxes[from], self.placed.boxes[to]);
        let lane = self.lane[wire];
        let (first, last) = (self.from[wire], self.to[wire]);
        let layers = &self.placed.layers.of;
        let mut pieces = Vec::new();
        let (start, out) = if self.side(wire, true) == Side::Right {
            ((lower.right(), first), first)
        } else {
            let used = &mut self.used[layers[from]].below;
            *used += 1;
            ((first, lower.bottom()), self.placed.bands[layers[from]].bottom + *used as f64 * TRACK)
        };
        pieces.push(Piece::Start(start.0, start.1));
        if start.1 != out {
            pieces.push(Piece::Line(first, out - 6.0));
            pieces.push(Piece::Corner(first, out, first + 6.0, out));
        }
        pieces.push(Piece::Line(lane - ROUND, out));
        pieces.push(Piece::Corner(lane, out, lane, out - ROUND));
        let (tip, into, heading) = if self.side(wire, false) == Side::Right {
            ((upper.right(), last), last, Heading::Left)
        } else {
            let used = &mut self.used[layers[to]].above;
            *used += 1;
            let track = self.placed.bands[layers[to]].top - HEAD - *used as f64 * TRACK;
            ((last, upper.top), track, Heading::Down)
        };
        pieces.push(Piece::Line(lane, into + ROUND));
        pieces.push(Piece::Corner(lane, into, lane - ROUND, into));
        if heading == Heading::Left {
            pieces.push(Piece::Line(tip.0 + HEAD - 2.0, into));
        } else {
            pieces.push(Piece::Line(last + 6.0, into));
            pieces.push(Piece::Corner(last, into, last, into + 6.0));
            pieces.push(Piece::Line(last, tip.1 - HEAD + 2.0));
        }
        let label = (lane, half(self.label_y[wire]));
        Route { pieces, start, tip, heading, label, back: true }
    }
}

impl Route {
    /// The line as SVG writes it.
    pub(super) fn path(&self) -> String {
        let mut out = String::new();
        let mut last = self.start;
        for piece in &self.pieces {
            let _ = match *piece {
                Piece::Start(x, y) => write!(out, "M{x} {y}"),
                Piece::Line(x, y) if (x, y) == last => Ok(()),
                Piece::Line(x, y) if x == last.0 => write!(out, "V{y}"),
                Piece::Line(x, y) if y == last.1 => write!(out, "H{x}"),
                Piece::Line(x, y) => write!(out, "L{x} {y}"),
                Piece::Swing(x, y) if x == last.0 => write!(out, "V{y}"),
                Piece::Swing(x, y) => {
                    let middle = (last.1 + y) / 2.0;
                    write!(out, "C{} {middle} {x} {middle} {x} {y}", last.0)
                }
                Piece::Corner(cx, cy, x, y) => write!(out, "Q{cx} {cy} {x} {y}"),
            };
            last = piece.end();
        }
        out
    }

    /// The arrowhead as SVG writes it: closed, or two strokes.
    pub(super) fn head(&self, open: bool) -> String {
        let (x, y) = self.tip;
        let (along, across) = match self.heading {
            Heading::Down => ((0.0, -HEAD), (4.5, 0.0)),
            Heading::Left => ((HEAD, 0.0), (0.0, 4.5)),
        };
        let one = (x + along.0 + across.0, y + along.1 + across.1);
        let two = (x + along.0 - across.0, y + along.1 - across.1);
        let end = if open { "" } else { "Z" };
        format!("M{} {}L{x} {y}L{} {}{end}", one.0, one.1, two.0, two.1)
    }

    pub(super) fn label_rect(&self, wire: &Wire) -> Rect {
        let (x, y) = self.label;
        let (width, height) = (wire.label.width, wire.label.height);
        Rect { left: half(x - width / 2.0), top: half(y - height / 2.0), width, height }
    }

    /// What it covers.
    pub(super) fn extent(&self) -> Rect {
        let ends = || self.pieces.iter().map(Piece::end);
        let least = |of: fn((f64, f64)) -> f64| ends().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn((f64, f64)) -> f64| ends().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (left, top) = (least(|p| p.0), least(|p| p.1));
        Rect { left, top, width: most(|p| p.0) - left, height: most(|p| p.1) - top }
    }

    pub(super) fn shift(&mut self, dx: f64, dy: f64) {
        let shift = |(x, y): (f64, f64)| (x + dx, y + dy);
        self.start = shift(self.start);
        self.tip = shift(self.tip);
        self.label = shift(self.label);
        for piece in &mut self.pieces {
            let ((a, b), (cx, cy)) = (shift(piece.end()), shift(piece.corner()));
            *piece = match piece {
                Piece::Start(..) => Piece::Start(a, b),
                Piece::Line(..) => Piece::Line(a, b),
                Piece::Swing(..) => Piece::Swing(a, b),
                Piece::Corner(..) => Piece::Corner(cx, cy, a, b),
            };
        }
    }
}

impl Piece {
    fn end(&self) -> (f64, f64) {
        match *self {
            Piece::Start(x, y)
            | Piece::Line(x, y)
            | Piece::Swing(x, y)
            | Piece::Corner(_, _, x, y) => (x, y),
        }
    }

    fn corner(&self) -> (f64, f64) {
        match *self {
            Piece::Corner(x, y, ..) => (x, y),
            _ => self.end(),
        }
    }
}
