//! A stand-in until there are pictures: the transactions in a row, with arcs between them.

use std::fmt::Write;

use crate::exhibit::Exhibit;

/// A picture whose names stand beside it.
pub(super) struct Picture {
    /// The SVG, with `{0}`, `{1}` and so on where names belong.
    pub(super) template: String,
    /// The names.
    pub(super) labels: Vec<String>,
}

/// The picture of an exhibit.
pub(super) fn picture(exhibit: &Exhibit) -> Picture {
    let mut labels = Vec::new();
    let mut body = String::new();
    for (at, link) in exhibit.links.iter().enumerate() {
        let (from, to) = (link.from * 140 + 60, link.to * 140 + 60);
        let (mid, up) = (from.midpoint(to), if link.from < link.to { 10 } else { 150 });
        // Writing to a String cannot fail.
        let _ = write!(
            body,
            "<g data-link=\"{at}\" class=\"link k-{}\"><path d=\"M{from} 80Q{mid} {up} {to} 80\" \
             fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"/></g>",
            link.kind
        );
    }
    for (at, part) in exhibit.parts.iter().enumerate() {
        let _ = write!(
            body,
            "<g data-part=\"{at}\"><rect x=\"{}\" y=\"66\" width=\"60\" height=\"28\" rx=\"6\" \
             fill=\"var(--paper)\" stroke=\"var(--ink)\"/><text x=\"{}\" y=\"85\" \
             text-anchor=\"middle\" fill=\"var(--ink)\">{{{at}}}</text></g>",
            at * 140 + 30,
            at * 140 + 60
        );
        labels.push(part.name.clone());
    }
    let width = exhibit.parts.len() * 140;
    let template = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} 160\" \
         width=\"{width}\" height=\"160\" font-size=\"13\">{body}</svg>"
    );
    Picture { template, labels }
}

/// The rules of pictures.
pub(super) fn picture_css() -> &'static str {
    ""
}
