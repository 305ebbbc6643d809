//! A watch as a part of a page. It needs no script.

use std::fmt::Write as _;

use super::Watched;
use crate::picture::{curve, histogram};
use crate::wrap::number;
use crate::xml::escape;

/// A stretch of time as bars: classes that double, the last one without an end.
const MOST_CLASSES: usize = 20;

impl Watched {
    /// What was found and how it went, with charts.
    pub(crate) fn to_html(&self) -> String {
        let class = self.answer();
        let sign = match class {
            "holds" => "\u{2713}",
            "violated" => "\u{2717}",
            "no-violation" => "\u{2013}",
            _ => "?",
        };
        let (headline, source) = (escape(&self.headline()), escape(&self.source));
        let mut out = format!(
            "<section class=\"wrap watched\" aria-labelledby=\"watched-title\">\n\
             <h2 id=\"watched-title\" class=\"headline {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span>{headline}</h2>\n\
             <p class=\"lead\">Watched: {source}</p>\n"
        );
        out += &self.figures_to_html();
        out += &self.charts_to_html();
        if self.not_shown > 0 {
            let words = match self.not_shown {
                1 => "1 more violation is".to_owned(),
                count => format!("{} more violations are", number(count)),
            };
            let _ = writeln!(out, "<p class=\"muted\">{words} not shown one by one.</p>");
        }
        out + "</section>\n"
    }

    fn figures_to_html(&self) -> String {
        let mut out = "<dl class=\"rows\">\n".to_owned();
        let hint = self.hint.clone().map(|hint| ("hint", hint));
        let told =
            self.figures.iter().filter_map(|figure| Some((figure.name, figure.text.clone()?)));
        for (name, text) in told.chain(hint) {
            let lines: Vec<String> = text.lines().map(|line| escape(line.trim())).collect();
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", lines.join("<br>"));
        }
        out + "</dl>\n"
    }

    /// A chart for each figure that was not always 0, and what was.
    fn charts_to_html(&self) -> String {
        let (some, none): (Vec<_>, Vec<_>) = self.curves.iter().partition(|c| c.most() > 0.0);
        let mut charts: Vec<String> =
            some.iter().map(|one| curve(one, &self.seconds).fill()).collect();
        if self.rectified.iter().any(|count| *count > 0) {
            charts.push(histogram(RECTIFIED, &self.classes()).fill());
        }
        let mut out = "<div class=\"curves\">\n".to_owned();
        for chart in charts {
            let _ = writeln!(out, "<figure class=\"course\">{chart}</figure>");
        }
        out += "</div>\n";
        if !none.is_empty() {
            let names: Vec<&str> = none.iter().map(|curve| curve.name).collect();
            let _ = writeln!(out, "<p class=\"muted\">Always 0: {}.</p>", names.join(", "));
        }
        out
    }

    /// Counts with the times that they stand for.
    fn classes(&self) -> Vec<(String, u64)> {
        let whole = self.rectified.len().min(MOST_CLASSES);
        let (first, rest) = self.rectified.split_at(whole);
        let mut classes: Vec<(String, u64)> = first
            .iter()
            .zip(0..)
            .map(|(count, at)| (format!("<{}", told(1 << at)), *count))
            .collect();
        if let Some((_, last)) = classes.last_mut() {
            *last += rest.iter().sum::<u64>();
        }
        classes
    }
}

/// What the bars are.
const RECTIFIED: &str = "Wrong at first: how long until right";

/// Milliseconds, short.
fn told(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        _ => format!("{} s", milliseconds / 1_000),
    }
}
