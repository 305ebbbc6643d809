//! A picture that is a file of its own: with colours, a caption, and what the arrows mean.

use super::geometry::Size;
use super::text::{cut, long, width, width_class};
use super::{draw, graph, legend, picture_css, sheet};
use crate::exhibit::Exhibit;

/// How much of a caption is shown, and of a story told.
const CAPTION: usize = 72;
const STORY: usize = 4000;

/// The picture of a witness as an SVG file, for light and dark paper.
pub fn svg(exhibit: &Exhibit) -> String {
    let drawn = draw(exhibit);
    let caption = cut(&format!("{} breaks {}", exhibit.title, exhibit.promised()), CAPTION);
    let story = long(&exhibit.story, STORY);
    let mut sheet = sheet::Sheet::default();
    let top = 26.0;
    sheet.text("name", (graph::MARGIN, 26.0), caption.clone());
    let legend = legend::Legend::of(&drawn);
    let size = Size {
        width: drawn
            .size
            .width
            .max(legend.size.width)
            .max(width_class(width(&caption, 13.0) + 2.0 * graph::MARGIN)),
        height: top + drawn.size.height + legend.size.height,
    };
    let across = ((size.width - drawn.size.width) / 2.0).floor();
    legend.draw(&mut sheet, top + drawn.size.height);
    let (inner, outer) = (drawn.sheet.filled(), sheet.filled());
    file(
        size,
        (&exhibit.title, &story),
        &format!(r#"{outer}<g transform="translate({across} {top})">{inner}</g>"#),
    )
}

/// A whole file around what is drawn.
pub(super) fn file(size: Size, (title, story): (&str, &str), body: &str) -> String {
    let Size { width, height } = size;
    let title = crate::xml::escape(&long(title, STORY));
    let story = crate::xml::escape(story);
    let (colours, rules) = (include_str!("colours.css"), picture_css());
    let frame = sheet::frame(size);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" {frame}>
<title>{title}</title>
<desc>{story}</desc>
<style>
{colours}{rules}</style>
<rect class="paper" width="{width}" height="{height}"/>
{body}
</svg>
"#
    )
}
