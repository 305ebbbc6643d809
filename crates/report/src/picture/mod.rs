//! Pictures of witnesses: a layered graph of transactions, or their intervals on a line of time;
//! and the lattice of levels. As SVG for people, as DOT for other tools.

mod axis;
mod course;
mod curve;
mod dot;
mod face;
mod geometry;
mod graph;
mod intervals;
mod lattice;
mod layers;
mod layout;
mod legend;
mod order;
mod round;
mod route;
mod sheet;
mod space;
mod standalone;
mod strip;
mod text;

pub(crate) use course::course;
pub(crate) use curve::{curve, histogram};
pub use dot::dot;
pub use lattice::lattice;
pub use sheet::Picture;
pub use standalone::svg;

use crate::exhibit::Exhibit;

/// The picture of a witness, to be put in a page that has the rules of [`picture_css`].
///
/// Elements say what they show: `data-part` is a number in [`Exhibit::parts`], `data-link` one in
/// [`Exhibit::links`], `data-op="0.1"` the second operation of the first part.
pub fn picture(exhibit: &Exhibit) -> Picture {
    let drawn = draw(exhibit);
    drawn.sheet.finish(&exhibit.title, drawn.size)
}

/// The rules that pictures need. They take their colours from the page: `--paper`, `--ink`,
/// `--muted`, `--bad`, and for the kinds of arrows `--so`, `--rt`, `--wr`, `--ww`, `--rw`.
pub fn picture_css() -> &'static str {
    include_str!("picture.css")
}

fn draw(exhibit: &Exhibit) -> graph::Drawn {
    match (&exhibit.stuck, &exhibit.blamed) {
        (Some(stuck), _) => intervals::draw(exhibit, &stuck.into()),
        (None, Some(blamed)) => intervals::draw(exhibit, &blamed.into()),
        (None, None) => graph::draw(exhibit),
    }
}
