//! A witness: its story, its time line, why each transaction must come before the next, and what of
//! the promise that breaks.

use std::fmt::Write;

use isolde_history::History;
use isolde_spec::Edges;

use super::{Telling, lasting, timeline};
use crate::exhibit::{Exhibit, Link, Role};
use crate::names;
use crate::style::{Ink, Style};
use crate::wrap::{number, paragraph, width};

/// How many dependencies, or operations of an order, are shown.
const MOST: usize = 40;
/// How many steps of a reason are told.
const MOST_REASONS: usize = 20;
/// How many lines a transaction may take before the rest of its operations is left out.
const TXN_LINES: usize = 12;

/// Appends a witness as a block of lines.
pub(super) fn to_text(history: &History, exhibit: &Exhibit, telling: &Telling, out: &mut String) {
    let style = telling.style;
    let title = style.paint(Ink::Bad, &exhibit.title);
    let meaning = format!("{title}: {}", exhibit.meaning);
    paragraph(out, "  ", 6, usize::MAX, &meaning);
    paragraph(out, "    ", 4, usize::MAX, &style.paint(Ink::Strong, &exhibit.story));
    out.push('\n');
    timeline::to_text(exhibit, style, out);
    out.push('\n');
    lasting::to_text(exhibit, style, out);
    order(exhibit, out);
    links(exhibit, style, out);
    exhibit.facts.iter().for_each(|fact| row(out, fact.name, &fact.text));
    row(out, "promise", &format!("{}: {}", exhibit.promised(), exhibit.promise));
    row(out, "broken", &format!("because {}", exhibit.breach));
    let (position, all) = (number(exhibit.position), number(history.txn_count()));
    row(out, "visible", &format!("in the first {position} of {all} transactions"));
    if let Some(explain) = &telling.explain {
        // A command is whole and on one line, or it cannot be copied.
        let _ = writeln!(out, "    {:<8} {explain} {}", "more", exhibit.id);
    }
}

/// One witness as a block of lines.
pub fn exhibit_to_text(history: &History, exhibit: &Exhibit, telling: &Telling) -> String {
    let mut out = String::new();
    to_text(history, exhibit, telling, &mut out);
    out
}

/// The transactions of a witness in full, as lines of the notation, which can be typed back.
pub fn transactions_to_text(history: &History, exhibit: &Exhibit) -> String {
    let mut out = String::new();
    let name = |at: usize| names::txn(history, exhibit.parts[at].txn);
    let wide = (0..exhibit.parts.len()).map(|at| width(&name(at))).max().unwrap_or(0);
    for support in [false, true] {
        let mut of = (0..exhibit.parts.len()).filter(|at| exhibit.parts[*at].support == support);
        let Some(first) = of.next() else { continue };
        out.push_str(if support { "  also involved\n" } else { "  transactions\n" });
        for at in [first].into_iter().chain(of) {
            let (name, line) = (name(at), names::line(history, exhibit.parts[at].txn));
            let prefix = format!("    {name:<wide$}  ");
            paragraph(&mut out, &prefix, wide + 8, TXN_LINES, &line);
        }
    }
    if exhibit.left_out > 0 {
        let left = number(exhibit.left_out);
        let _ = writeln!(out, "    ... and {left} more transactions: --json shows them");
    }
    out
}

/// One witness in a line or two: its name and its story.
pub fn exhibit_to_line(exhibit: &Exhibit) -> String {
    let mut out = String::new();
    let text = format!("{}: {}", exhibit.title, exhibit.story);
    paragraph(&mut out, &format!("  {}  ", exhibit.id), 6, 3, &text);
    out
}

/// A row with its name on the left.
fn row(out: &mut String, name: &str, text: &str) {
    paragraph(out, &format!("    {name:<8} "), 13, usize::MAX, text);
}

/// How far single operations can be put in order.
fn order(exhibit: &Exhibit, out: &mut String) {
    let Some(stuck) = &exhibit.stuck else { return };
    let named = |at: &usize| {
        let part = &exhibit.parts[*at];
        let op = part.ops.first().map_or("", |op| &op.text);
        format!("{} {op}", part.name)
    };
    let mut order: Vec<String> = stuck.order.iter().take(MOST).map(named).collect();
    if stuck.order.len() > MOST {
        order.push(format!("{} more", number(stuck.order.len() - MOST)));
    }
    let order = if order.is_empty() { "none".to_owned() } else { order.join(", ") };
    row(out, "order", &format!("longest that explains what it holds: {order}"));
    row(out, "stuck", &format!("{} cannot come next", named(&stuck.next)));
}

/// The cycle edge by edge, each with its reason.
fn links(exhibit: &Exhibit, style: Style, out: &mut String) {
    let cycle: Vec<&Link> =
        exhibit.links.iter().filter(|link| link.role == Role::Cycle).take(MOST).collect();
    let arrows: Vec<String> = cycle.iter().map(|link| arrow(exhibit, link, style)).collect();
    let wide = arrows.iter().map(|arrow| width(arrow)).max().unwrap_or(0);
    for (link, arrow) in cycle.iter().zip(&arrows) {
        let prefix = format!("    {arrow}{}  ", " ".repeat(wide - width(arrow)));
        paragraph(out, &prefix, 8, usize::MAX, &link.sentence);
        for (at, reason) in link.because.iter().enumerate().take(MOST_REASONS) {
            let indent = if at == 0 { "        " } else { "          " };
            paragraph(out, indent, indent.len() + 2, usize::MAX, reason);
        }
        let left = link.because.len().saturating_sub(MOST_REASONS);
        if left > 0 {
            let _ = writeln!(out, "          ... and {left} more steps: --json shows them");
        }
    }
    let all = exhibit.links.iter().filter(|link| link.role == Role::Cycle).count();
    let left = all.saturating_sub(MOST) + exhibit.steps_left_out;
    if left > 0 {
        let left = number(left);
        let _ = writeln!(out, "    ... and {left} more, back to the first: --json shows them");
    }
}

/// "T1 -rw-> T2".
fn arrow(exhibit: &Exhibit, link: &Link, style: Style) -> String {
    let (shaft, head) = style.glyphs().arrow;
    let ink = match link.kind {
        Edges::RW => Ink::Bad,
        Edges::WW => Ink::Write,
        Edges::WR => Ink::Read,
        _ => Ink::Faint,
    };
    let (from, to) = (&exhibit.parts[link.from].name, &exhibit.parts[link.to].name);
    format!("{from} {} {to}", style.paint(ink, &format!("{shaft}{}{head}", link.kind)))
}
