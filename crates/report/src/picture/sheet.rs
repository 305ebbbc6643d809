//! A picture while it is drawn: a template, and the texts that belong in it.

use std::fmt::{Display, Write};

use super::geometry::{Rect, Size};
use crate::xml::escape_into;

/// A picture without the texts that depend on names, keys and values, and those texts. Witnesses of
/// the same shape have the same template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// An `<svg>` element, in which `{0}` stands for the first text. It has classes, but no style.
    pub template: String,
    /// The texts, as they are: not yet as XML holds them.
    pub labels: Vec<String>,
}

impl Picture {
    /// The picture with its texts. What is put in is not looked at again.
    pub fn fill(&self) -> String {
        let texts: usize = self.labels.iter().map(String::len).sum();
        let mut out = String::with_capacity(self.template.len() + texts);
        let mut rest = self.template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((number, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            let label = number.parse::<usize>().ok().and_then(|at| self.labels.get(at));
            escape_into(label.map_or("", String::as_str), &mut out);
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// What is drawn so far.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    out: String,
    labels: Vec<String>,
}

impl Sheet {
    /// Appends markup. It must not hold braces.
    pub(super) fn put(&mut self, markup: impl Display) {
        let _ = write!(self.out, "{markup}");
    }

    /// The placeholder of a text.
    pub(super) fn label(&mut self, text: impl Into<String>) -> String {
        self.labels.push(text.into());
        format!("{{{}}}", self.labels.len() - 1)
    }

    /// A text at a place.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: impl Into<String>) {
        let label = self.label(text);
        self.put(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{label}</text>"#));
    }

    /// What is told of the element that was just opened.
    pub(super) fn title(&mut self, text: impl Into<String>) {
        let label = self.label(text);
        self.put(format_args!("<title>{label}</title>"));
    }

    /// A rectangle.
    pub(super) fn rect(&mut self, class: &str, rect: &Rect, round: f64) {
        let Rect { left, top, width, height } = rect;
        self.put(format_args!(
            r#"<rect class="{class}" x="{left}" y="{top}" width="{width}" height="{height}" rx="{round}"/>"#
        ));
    }

    /// All that was drawn, with its texts.
    pub(super) fn filled(self) -> String {
        Picture { template: self.out, labels: self.labels }.fill()
    }

    /// All that was drawn, as an element of that name and size.
    pub(super) fn finish(mut self, name: &str, size: Size) -> Picture {
        let name = self.label(name);
        let frame = frame(size);
        let template = format!(r#"<svg {frame} aria-label="{name}">{}</svg>"#, self.out);
        Picture { template, labels: self.labels }
    }
}

/// The attributes of a whole picture.
pub(super) fn frame(Size { width, height }: Size) -> String {
    let sizes = format!(r#"viewBox="0 0 {width} {height}" width="{width}" height="{height}""#);
    format!(r#"class="isolde-picture" {sizes} role="group""#)
}
