//! Sizes and places, and the wires that are to be drawn between boxes.

/// How much room a wire takes that runs sideways between two rows.
pub(super) const TRACK: f64 = 8.0;

/// How large something is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// What is to be drawn from one box to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Size,
    /// Whether it should be straight.
    pub(super) strong: bool,
    /// How bad it is if it goes up.
    pub(super) cost_of_back: u32,
}

/// Where something is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
    pub(super) fn middle(&self) -> f64 {
        self.left + self.width / 2.0
    }
}

/// A coordinate that is short to write.
pub(super) fn half(at: f64) -> f64 {
    (at * 2.0).round() / 2.0
}
