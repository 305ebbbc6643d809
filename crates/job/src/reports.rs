//! `--report FILE`: what was found as a file, of the kind that the ending of its name says.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use isolde_history::printable;
use isolde_report::{
    Case, Exhibit, HtmlReport, Junit, REPORT_VERSION, Telling, Watched, case_to_json,
    compared_to_text, dot, fault_to_json, faults_to_text, summary_to_text, svg, to_text,
};
use serde_json::{Value, json};

use crate::notice::Notice;
use crate::output;
use crate::shown::shown;

/// The endings, for help and errors.
const ENDINGS: &str = ".html, .json, .xml (JUnit), .txt, .svg and .dot (the first witness)";

/// A report of one kind, while histories are added to it.
enum Kind {
    Html(Box<HtmlReport>),
    Json(Vec<Value>),
    Junit(Junit),
    Text(String),
    /// The first picture that there is.
    Picture(fn(&Exhibit) -> String, Option<String>),
}

/// All reports that were asked for.
pub struct Reports {
    reports: Vec<(PathBuf, Kind)>,
    /// Whether files that exist are overwritten.
    force: bool,
    /// How many histories could not be checked.
    faults: usize,
    /// How a watch went, for machines.
    watched: Option<Value>,
}

impl Reports {
    /// Refuses what cannot be written before anything is checked.
    pub fn new(
        files: &[PathBuf],
        force: bool,
        inputs: &[PathBuf],
        levels_named: bool,
    ) -> Result<Reports> {
        let mut reports: Vec<(PathBuf, Kind)> = Vec::new();
        for file in files {
            if inputs.iter().any(|input| output::is_same(input, file)) {
                bail!("{} is a history, and is not overwritten by a report", shown(file));
            }
            if reports.iter().any(|(other, _)| output::is_same(other, file)) {
                bail!("two reports would be written to {}", shown(file));
            }
            output::may_write(file, force)?;
            output::has_folder(file)?;
            let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let kind = match ending.to_ascii_lowercase().as_str() {
                "html" | "htm" => Kind::Html(Box::new(HtmlReport::new("Isolde"))),
                "json" => Kind::Json(Vec::new()),
                "xml" if levels_named => Kind::Junit(Junit::default()),
                "xml" => bail!(
                    "a JUnit report says which promises are kept, and none was named\n  hint: --level \
                     names the levels that must hold"
                ),
                "txt" => Kind::Text(String::new()),
                "svg" => Kind::Picture(svg, None),
                "dot" | "gv" => Kind::Picture(dot, None),
                _ => bail!(
                    "the name {} does not say what to write\n  hint: endings are {ENDINGS}",
                    shown(file)
                ),
            };
            reports.push((file.clone(), kind));
        }
        Ok(Reports { reports, force, faults: 0, watched: None })
    }

    /// Says how a watch went. What it found is added after that.
    pub fn watch(&mut self, watched: &Watched) {
        self.watched = Some(watched.to_json_with_series());
        for (_, kind) in &mut self.reports {
            match kind {
                Kind::Html(report) => report.watch(watched),
                Kind::Text(text) => {
                    *text += &format!("{}\n{}\n", printable(&watched.source), watched.to_text());
                }
                Kind::Json(_) | Kind::Junit(_) | Kind::Picture(..) => {}
            }
        }
    }

    /// Adds a history that could not be checked: what is missing must not look as if it held.
    pub fn add_fault(&mut self, name: &str, error: &str) {
        self.faults += 1;
        for (_, kind) in &mut self.reports {
            match kind {
                Kind::Html(report) => report.add_fault(name, error),
                Kind::Json(all) => all.push(fault_to_json(name, error)),
                Kind::Junit(report) => report.add_fault(name, error),
                Kind::Text(text) => *text += &format!("{}\nerror: {error}\n", printable(name)),
                Kind::Picture(..) => {}
            }
        }
    }

    /// Adds what was found in a history.
    pub fn add(&mut self, case: &Case<'_>) {
        for (_, kind) in &mut self.reports {
            match kind {
                Kind::Html(report) => report.add(case),
                Kind::Json(all) => all.push(case_to_json(case)),
                Kind::Junit(report) => report.add(case),
                Kind::Text(text) => {
                    *text += &as_text(case, &Telling { all: true, ..telling(case) });
                }
                Kind::Picture(draw, drawn) => {
                    *drawn = drawn.take().or_else(|| case.plainest().as_ref().map(*draw));
                }
            }
        }
    }

    /// Writes all of them.
    pub fn write(self) -> Result<Vec<Notice>> {
        let mut notices = Vec::new();
        for (file, kind) in self.reports {
            let text = match kind {
                Kind::Html(report) => report.finish(),
                Kind::Json(all) => {
                    let mut report = json!({"isolde_report": REPORT_VERSION, "histories": all});
                    if let Some(watched) = &self.watched {
                        report["watch"] = watched.clone();
                    }
                    serde_json::to_string_pretty(&report)? + "\n"
                }
                Kind::Junit(report) => report.finish(),
                Kind::Text(text) => text,
                Kind::Picture(_, Some(picture)) => picture,
                Kind::Picture(_, None) => {
                    notices.push(nothing_to_draw(&file, self.faults));
                    continue;
                }
            };
            output::write(&file, self.force, |out| Ok(out.write_all(text.as_bytes())?))?;
        }
        Ok(notices)
    }
}

fn nothing_to_draw(file: &Path, faults: usize) -> Notice {
    let why = if faults == 0 { "nothing is violated" } else { "no violation was found" };
    Notice::Warning(format!("{why}, so {} was not written", shown(file)))
}

/// How a case is told where there is no terminal.
pub fn telling(case: &Case<'_>) -> Telling {
    Telling { explain: case.explain.clone(), ..Telling::default() }
}

/// A case in words.
pub fn as_text(case: &Case<'_>, telling: &Telling) -> String {
    let mut out = format!("{}\n", printable(&case.name));
    out += &faults_to_text(case.history);
    if case.every_level {
        out += &summary_to_text(case.history, case.decided, telling);
        if case.decided.iter().any(|d| d.verdict.holds() == Some(false)) {
            let again = case.again.first();
            let again = again.map_or("isolde check HISTORY", |(_, command)| command.as_str());
            out += &format!("more: {again} --level LEVEL --report FILE.html\n");
        }
    } else {
        case.decided.iter().for_each(|d| out += &to_text(case.history, d, telling));
        out += &compared_to_text(case.decided);
    }
    out
}
