//! The report as one HTML file that needs nothing else: no network, no other file. Its data is
//! embedded, and a small script lays it out. Every sentence is made here; the script only puts it in
//! its place, as text.

mod body;
mod chart;
mod data;
mod labels;
mod shared;
mod tables;

use std::fmt::Write;

use crate::case::Case;
use crate::picture::picture_css;
use crate::text::{Telling, faults_to_text, summary_to_text, to_text};
use crate::watched::Watched;
use crate::wrap::{number, shorten};
use crate::xml::escape;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("report.css");
/// The colours of a picture that is saved as a file.
const COLOURS: &str = include_str!("../picture/colours.css");
/// The script, in the order in which its pieces need each other.
const SCRIPT: [&str; 13] = [
    include_str!("js/dom.js"),
    include_str!("js/data.js"),
    include_str!("js/linked.js"),
    include_str!("js/timeline.js"),
    include_str!("js/witness.js"),
    include_str!("js/chart.js"),
    include_str!("js/course.js"),
    include_str!("js/filters.js"),
    include_str!("js/list.js"),
    include_str!("js/verdict.js"),
    include_str!("js/keys.js"),
    include_str!("js/print.js"),
    include_str!("js/main.js"),
];
/// The SHA-256 of the script as it stands in the page: the only script that the page may run. A test
/// says what it has to be.
const SCRIPT_HASH: &str = "sha256-O/piW2WN0X0StWJJWiB33lAIc+wFBuMAkIC67dCD/8o=";
/// How long the text for browsers without a script may be, in bytes, before a history is left out.
const MOST_TEXT: usize = 64 << 10;
/// How long the title may be.
const MOST_HEADING: usize = 300;
/// So many verdicts of a history are told one by one in it; more are summed up.
const MOST_VERDICTS: usize = 3;

/// A page about one history or several.
pub struct HtmlReport {
    title: String,
    /// What the first history is called, and how many there are.
    first: Option<String>,
    count: usize,
    data: data::Data,
    /// What browsers show that run no script.
    plain: String,
    /// The histories that could not be checked, as a list.
    faults: String,
    /// How a watch went, and what was watched.
    watched: Option<(String, String)>,
}

impl HtmlReport {
    /// A page with that title and nothing else.
    pub fn new(title: &str) -> HtmlReport {
        HtmlReport {
            title: title.to_owned(),
            first: None,
            count: 0,
            data: data::Data::default(),
            plain: String::new(),
            faults: String::new(),
            watched: None,
        }
    }

    /// Adds a history with its verdicts. Only what is shown is kept.
    pub fn add(&mut self, case: &Case<'_>) {
        self.data.add(case);
        self.first.get_or_insert_with(|| case.name.clone());
        self.count += 1;
        // Writing to a String cannot fail.
        let _ = writeln!(self.plain, "{}", case.name);
        let telling = Telling::default();
        if self.plain.len() > MOST_TEXT {
            return;
        }
        self.plain += &faults_to_text(case.history);
        if case.decided.len() > MOST_VERDICTS {
            self.plain += &summary_to_text(case.history, case.decided, &telling);
        } else {
            let told = case.decided.iter().map(|d| to_text(case.history, d, &telling));
            self.plain.extend(told);
        }
        self.plain.push('\n');
    }

    /// Says how a watch went. Its violations are added as histories of their own.
    pub fn watch(&mut self, watched: &Watched) {
        self.watched = Some((watched.source.clone(), watched.to_html()));
    }

    /// Adds a history that could not be checked.
    pub fn add_fault(&mut self, name: &str, error: &str) {
        let (name, error) = (escape(name), escape(error));
        // Writing to a String cannot fail.
        let _ = writeln!(self.faults, "<li><b>{name}</b>: {error}</li>");
    }

    /// The histories that could not be checked, where every reader of the page sees them.
    fn faults(&self) -> String {
        if self.faults.is_empty() {
            return String::new();
        }
        let faults = &self.faults;
        format!("<section class=\"faults\"><h2>Not checked</h2>\n<ul>\n{faults}</ul></section>\n")
    }

    /// The title; where it says nothing, what the page is about.
    fn heading(&self) -> String {
        if let Some((source, _)) = &self.watched {
            return shorten(source, MOST_HEADING);
        }
        match (self.title.as_str(), &self.first, self.count) {
            ("" | "Isolde", Some(name), 1) => shorten(name, MOST_HEADING),
            ("" | "Isolde", _, count) if count > 1 => format!("{} histories", number(count)),
            (title, _, _) => shorten(title, MOST_HEADING),
        }
    }

    /// The page.
    pub fn finish(self) -> String {
        let heading = self.heading();
        let title = escape(&heading);
        let plain = escape(&self.plain);
        let faults = self.faults();
        let watched = self.watched.map_or_else(String::new, |(_, html)| html);
        let data = self.data.into_json(&heading);
        let style = lean(STYLE);
        let picture = lean(picture_css());
        let script = script();
        let filled = [
            ("HASH", SCRIPT_HASH),
            ("TITLE", title.as_str()),
            ("STYLE", &style),
            ("PICTURE", &picture),
            ("COLOURS", COLOURS),
            ("PLAIN", &plain),
            ("FAULTS", &faults),
            ("WATCHED", &watched),
            ("DATA", &data),
            ("SCRIPT", &script),
        ];
        let mut page = String::with_capacity(PAGE.len() + data.len() + script.len() + plain.len());
        // Each place is filled once, in one walk: what is filled in is never looked at again.
        for piece in PAGE.split("<!--") {
            let named = piece.split_once("-->");
            match named.and_then(|(name, _)| filled.iter().find(|(place, _)| *place == name)) {
                Some((_, text)) => {
                    page += text;
                    page += named.map_or("", |(_, after)| after);
                }
                None => page += piece,
            }
        }
        page
    }
}

/// The script of the page.
fn script() -> String {
    format!("(function () {{\n\"use strict\";\n{}}})();\n", lean(&SCRIPT.concat()))
}

/// The lines without their indentation and without comments: the page is to be small.
fn lean(code: &str) -> String {
    let lines = code.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.filter(|line| !line.starts_with("/*")).fold(String::new(), |out, line| out + line + "\n")
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn the_page_runs_no_script_but_its_own() {
        let hash = STANDARD.encode(sha2::Sha256::digest(script().as_bytes()));
        assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"), "write this into SCRIPT_HASH");
        let page = HtmlReport::new("x").finish();
        assert!(page.contains(&format!("script-src 'sha256-{hash}'")));
        assert!(page.contains(&format!("<script>{}</script>", script())));
    }
}
