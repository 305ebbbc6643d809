//! The levels, and which of them implies which.

use isolde_spec::Level;

use super::geometry::{Size, Wire};
use super::graph::MARGIN;
use super::layout::{Plan, lay_out};
use super::sheet::Sheet;
use super::standalone::file;
use super::text::{width, width_class};

const HEIGHT: f64 = 30.0;

/// The lattice of levels as an SVG file, the strongest on top. The one that is given is marked, and
/// so is all that it implies.
pub fn lattice(highlight: Option<Level>) -> String {
    // The strongest first, so that they are where the walk begins.
    let levels: Vec<Level> = Level::ALL.into_iter().rev().collect();
    let sizes: Vec<Size> = levels.iter().map(|level| size(*level)).collect();
    let wires = wires(&levels);
    let plan = lay_out(&sizes, &wires);
    let mut sheet = Sheet::default();
    sheet.put(format_args!(r#"<g transform="translate({MARGIN} {MARGIN})">"#));
    draw_wires(&mut sheet, (&levels, highlight), &plan, &wires);
    for (level, place) in levels.iter().zip(&plan.boxes) {
        let class = match highlight {
            Some(chosen) if chosen == *level => " chosen",
            Some(chosen) if chosen.implies(*level) => " implied",
            _ => "",
        };
        sheet.put(format_args!(r#"<g class="level{class}" data-level="{level}">"#));
        sheet.rect("box", place, 6.0);
        let (x, y) = (place.left + 12.0, place.top + 19.5);
        sheet.put(format_args!(r#"<text class="name" x="{x}" y="{y}">{level}</text>"#));
        if let Some(short) = level.short() {
            let x = place.right() - 12.0;
            sheet.put(format_args!(
                r#"<text class="session" x="{x}" y="{y}" text-anchor="end">{short}</text>"#
            ));
        }
        sheet.put("</g>");
    }
    sheet.put("</g>");
    let size =
        Size { width: plan.size.width + 2.0 * MARGIN, height: plan.size.height + 2.0 * MARGIN };
    let story = match highlight {
        Some(level) => format!("{level} is marked, and the levels that it implies"),
        None => "An arrow leads from a level to those that it implies directly".to_owned(),
    };
    file(size, ("Isolation levels, the strongest on top", &story), &sheet.filled())
}

fn size(level: Level) -> Size {
    let short = level.short().map_or(0.0, |short| width(short, 11.0) + 18.0);
    Size { width: width_class(width(level.name(), 13.0) + short + 24.0), height: HEIGHT }
}

fn wires(levels: &[Level]) -> Vec<Wire> {
    let place = |level: &Level| levels.iter().position(|other| other == level);
    let pairs = levels.iter().enumerate().flat_map(|(from, level)| {
        level.next_weaker().iter().filter_map(move |weaker| Some((from, place(weaker)?)))
    });
    let wire =
        |(from, to)| Wire { from, to, label: Size::default(), strong: false, cost_of_back: 1 };
    pairs.map(wire).collect()
}

fn draw_wires(
    sheet: &mut Sheet,
    (levels, highlight): (&[Level], Option<Level>),
    plan: &Plan,
    wires: &[Wire],
) {
    for (route, wire) in plan.routes.iter().zip(wires) {
        let from = levels.get(wire.from).copied();
        let implied = highlight.zip(from).is_some_and(|(chosen, from)| chosen.implies(from));
        let class = if implied { " class=\"implied-way\"" } else { "" };
        let (path, head) = (route.path(), route.head(false));
        sheet.put(format_args!(
            r#"<g{class}><path class="implies" d="{path}"/><path class="implies-head" d="{head}"/></g>"#
        ));
    }
}
