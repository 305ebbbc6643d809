//! The transactions of an exhibit as boxes, and what binds them as arrows.

use isolde_spec::Edges;

use super::face::Face;
use super::geometry::{Rect, Size, Wire};
use super::layout::{Plan, lay_out};
use super::sheet::Sheet;
use super::text::{cut, long, width, width_class};
use crate::exhibit::{Exhibit, Link, Role};

/// More is too much to look at: what is beyond is not drawn.
const MOST_PARTS: usize = 120;
const MOST_LINKS: usize = 600;
/// How many columns the label of an arrow may take.
const LABEL: usize = 24;
/// How much is told of an arrow.
const TOLD_REASONS: usize = 12;
const TOLD: usize = 1600;

/// What is around the drawing.
pub(super) const MARGIN: f64 = 16.0;

/// A drawing, and how large it is.
pub(super) struct Drawn {
    pub(super) sheet: Sheet,
    pub(super) size: Size,
    /// The kinds of arrows that occur.
    pub(super) kinds: Edges,
    pub(super) inferred: bool,
    pub(super) pale: bool,
    /// Whether it shows operations that cannot be put in order.
    pub(super) stuck: bool,
}

/// The name of a kind, which is its class as well.
pub(super) fn kind_name(kind: Edges) -> &'static str {
    kind.each().next().map_or("so", |(_, name)| name)
}

/// Draws the graph.
pub(super) fn draw(exhibit: &Exhibit) -> Drawn {
    let parts = exhibit.parts.get(..MOST_PARTS).unwrap_or(&exhibit.parts);
    let faces: Vec<Face> = parts.iter().map(Face::new).collect();
    let good = |link: &Link| link.from != link.to && link.from.max(link.to) < parts.len();
    let links: Vec<(usize, &Link)> =
        exhibit.links.iter().enumerate().filter(|(_, l)| good(l)).take(MOST_LINKS).collect();
    let wires: Vec<Wire> = links.iter().map(|(_, link)| wire(link)).collect();
    let sizes: Vec<Size> = faces.iter().map(|face| face.size).collect();
    let plan = lay_out(&sizes, &wires);
    let mut sheet = Sheet::default();
    sheet.put(format_args!(r#"<g class="graph" transform="translate({MARGIN} {MARGIN})">"#));
    // What matters most is drawn last, on top.
    for role in [Role::Context, Role::Reason, Role::Cycle] {
        for (at, (number, link)) in links.iter().enumerate() {
            if link.role == role {
                arrow(&mut sheet, *number, link, &plan, (at, &wires));
            }
        }
    }
    for (at, ((face, part), place)) in faces.iter().zip(parts).zip(&plan.boxes).enumerate() {
        face.draw(&mut sheet, at, part, place);
    }
    sheet.put("</g>");
    let mut size =
        Size { width: plan.size.width + 2.0 * MARGIN, height: plan.size.height + 2.0 * MARGIN };
    let hidden = exhibit.left_out + exhibit.parts.len() - parts.len();
    if hidden > 0 {
        let s = if hidden == 1 { "" } else { "s" };
        let note = format!("+{hidden} transaction{s} not shown");
        size.width = size.width.max(width_class(width(&note, 11.0) + 2.0 * MARGIN));
        sheet.text("note", (MARGIN, size.height + 2.0), note);
        size.height += MARGIN;
    }
    Drawn {
        sheet,
        size,
        kinds: links.iter().fold(Edges::NONE, |kinds, (_, link)| kinds | link.kind),
        inferred: links.iter().any(|(_, link)| link.inferred),
        pale: links.iter().any(|(_, link)| link.role != Role::Cycle),
        stuck: false,
    }
}

/// The key, as far as the label shows it.
fn key(link: &Link) -> Option<String> {
    link.key.as_ref().map(|key| cut(key, LABEL - 3))
}

fn wire(link: &Link) -> Wire {
    let text = key(link).map_or(0.0, |key| width(&format!(" {key}"), 11.0));
    let label = Size { width: width_class(text + width("rw", 11.0) + 8.0), height: 18.0 };
    let strong = link.role == Role::Cycle;
    // An anti-dependency is what goes against time; where a value came from hardly matters.
    let cost_of_back = match (link.role, link.kind) {
        (Role::Cycle, Edges::RW) => 1,
        (Role::Cycle, _) => 2,
        (Role::Reason, _) => 3,
        (Role::Context, _) => 4,
    };
    Wire { from: link.from, to: link.to, label, strong, cost_of_back }
}

/// Draws one arrow with its label.
fn arrow(
    sheet: &mut Sheet,
    number: usize,
    link: &Link,
    plan: &Plan,
    (at, wires): (usize, &[Wire]),
) {
    let (Some(route), Some(wire)) = (plan.routes.get(at), wires.get(at)) else { return };
    let kind = kind_name(link.kind);
    let role = match link.role {
        Role::Cycle => "cycle",
        Role::Reason => "reason",
        Role::Context => "context",
    };
    let inferred = if link.inferred { " inferred" } else { "" };
    let back = if route.back { " back" } else { "" };
    let (from, to) = (link.from, link.to);
    sheet.put(format_args!(
        r#"<g class="edge {kind} {role}{inferred}{back}" data-link="{number}" data-from="{from}" data-to="{to}" tabindex="0" role="img">"#
    ));
    sheet.title(told(link));
    let (path, head) = (route.path(), route.head(link.inferred));
    sheet.put(format_args!(r#"<path class="reach" d="{path}"/><path class="line" d="{path}"/>"#));
    sheet.put(format_args!(r#"<path class="head" d="{head}"/>"#));
    let place: Rect = route.label_rect(wire);
    sheet.rect("plate", &place, 4.0);
    let (x, y) = (place.middle(), place.top + 13.0);
    sheet.put(format_args!(
        r#"<text class="label" x="{x}" y="{y}" text-anchor="middle"><tspan class="kind">{kind}</tspan>"#
    ));
    if let Some(key) = key(link) {
        let key = sheet.label(key);
        sheet.put(format_args!(" {key}"));
    }
    sheet.put("</text></g>");
}

/// An arrow in words.
fn told(link: &Link) -> String {
    let inferred = if link.inferred { " (inferred)" } else { "" };
    let mut told = format!("{}: {}{inferred}", kind_name(link.kind), long(&link.sentence, 400));
    for line in link.because.iter().take(TOLD_REASONS) {
        told.push('\n');
        told.push_str(&long(line, 300));
    }
    long(&told, TOLD)
}
