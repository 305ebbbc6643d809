//! A witness for Graphviz.

use std::fmt::Write;

use isolde_history::Outcome;
use isolde_spec::Edges;

use super::face::{badge, shown_ops};
use super::graph::kind_name;
use super::text::long;
use crate::exhibit::{Exhibit, Link, Part, Role};

/// How long a text may be.
const TEXT: usize = 400;

/// The graph of a witness in the language of Graphviz.
pub fn dot(exhibit: &Exhibit) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&exhibit.id));
    let title = quoted(&long(&format!("{} breaks {}", exhibit.title, exhibit.promised()), TEXT));
    let _ =
        writeln!(out, "  graph [rankdir=TB, label={title}, labelloc=t, fontname=\"monospace\"];");
    out.push_str("  node [shape=box, style=\"rounded\", fontname=\"monospace\", fontsize=11];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (at, part) in exhibit.parts.iter().enumerate() {
        let _ = writeln!(out, "  p{at} [{}];", node(part));
    }
    let good = |link: &&Link| link.from.max(link.to) < exhibit.parts.len();
    for link in exhibit.links.iter().filter(good) {
        let _ = writeln!(out, "  p{} -> p{} [{}];", link.from, link.to, edge(link));
    }
    out.push_str("}\n");
    out
}

fn node(part: &Part) -> String {
    let mut label = format!("{} ({})\n", long(&part.name, 120), long(&part.session, 120));
    if let Some(badge) = badge(part.outcome) {
        let _ = writeln!(label, "{badge}");
    }
    let (shown, notes) = shown_ops(part);
    for line in shown.iter().map(|at| &part.ops[*at].text).chain(&notes) {
        // A line break of a name or a value is not one of the label.
        let _ = writeln!(label, "{}", line.replace(['\n', '\r'], " "));
    }
    let style = if part.support { "rounded,dashed" } else { "rounded" };
    let colour = match (part.outcome, part.support) {
        (Outcome::Aborted, _) => "#cf222e",
        (_, true) => "#596475",
        _ => "#1b2330",
    };
    format!("label={}, style=\"{style}\", color=\"{colour}\"", quoted(&label))
}

fn edge(link: &Link) -> String {
    let kind = kind_name(link.kind);
    let key = link.key.as_ref().map(|key| format!(" {}", long(key, 60))).unwrap_or_default();
    let (colour, style) = match link.kind {
        Edges::WR => ("#0b62d6", "solid"),
        Edges::WW => ("#b85a00", "bold"),
        Edges::RW => ("#cf222e", "dashed"),
        Edges::RT => ("#6d7786", "dashed"),
        _ => ("#6d7786", "dotted"),
    };
    let cycle = link.role == Role::Cycle;
    let width = if cycle { "2" } else { "0.8" };
    let head = if link.inferred { "empty" } else { "normal" };
    let inferred = if link.inferred { " (inferred)" } else { "" };
    // What is not of the cycle must not pull its transactions around.
    let binds = if cycle { "" } else { ", constraint=false" };
    let binds = if link.role == Role::Context { "" } else { binds };
    format!(
        "label={}, color=\"{colour}\", fontcolor=\"{colour}\", style=\"{style}\", penwidth={width}, \
         arrowhead={head}, tooltip={}{binds}",
        quoted(&format!("{kind}{key}")),
        quoted(&long(&format!("{}{inferred}", link.sentence), TEXT)),
    )
}

/// A text in quotes. Graphviz reads backslashes and XML's entities in labels, and breaks lines at
/// `\l`, which aligns them left.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\l"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_and_backslashes_stay_inside() {
        assert_eq!(quoted(r#"a"b\"#), r#""a\"b\\""#);
        assert_eq!(quoted("a\nb\0&lt;"), "\"a\\lb\u{fffd}&amp;lt;\"");
    }
}
