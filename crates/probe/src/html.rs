//! The outcomes as one page that needs nothing else: the table, and behind each cell what happened, with
//! the sessions side by side. It has no script.

use std::fmt::Write;

use isolde_report::escape;

use crate::matrix::{Cell, Matrix};
use crate::outcome::Outcome;
use crate::recorded::{done_on, note};
use crate::text::LEGEND;

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }\n\
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }\n\
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }\n\
th, td { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top }\n\
td a { color: inherit; text-decoration: none; display: block }\n\
.prevented, .blocked, .aborted { background: #2a92 } .allowed { background: #d903 }\n\
.finding { background: #e225; font-weight: bold } .unknown { background: #8883 } .not-for-it { color: #777 }\n\
code { font-size: .9em } .said { color: #777 } .failed { color: #c33 }\n\
section { margin-top: 2rem } :target { outline: 2px solid #48c; outline-offset: .5rem }\n";

/// The page.
pub fn to_html(matrix: &Matrix) -> String {
    let (name, version) = (escape(&matrix.database.0), escape(&matrix.database.1));
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name} {version}: probed</title>\n<style>{STYLE}</style></head><body>\n\
         <h1>{name} {version}</h1>\n<table><thead><tr><th>case</th>"
    );
    for offer in &matrix.offers {
        let (level, promises) = (escape(offer.name), offer.promises);
        let _ = write!(page, "<th>{level}<br><small>promises {promises}</small></th>");
    }
    page += "</tr></thead><tbody>\n";
    for (at, (case, row)) in matrix.cases.iter().zip(&matrix.cells).enumerate() {
        let (name, meaning) = (escape(&case.name), escape(&case.meaning));
        let _ = write!(page, "<tr><th title=\"{meaning}\">{name}</th>");
        for (level, cell) in row.iter().enumerate() {
            let class = if cell.finding { "finding" } else { cell.outcome.name() };
            let word = match &cell.outcome {
                Outcome::NotForIt(_) => "-".to_owned(),
                outcome => escape(&outcome.to_string()),
            };
            let _ =
                write!(page, "<td class=\"{class}\"><a href=\"#c{at}-{level}\">{word}</a></td>");
        }
        page += "</tr>\n";
    }
    page += "</tbody></table>\n";
    let _ = write!(
        page,
        "<p class=\"said\">{}</p>\n<h2>What the levels amount to</h2>\n<ul>\n",
        escape(LEGEND)
    );
    for (at, offer) in matrix.offers.iter().enumerate() {
        let (name, told, promised) =
            (escape(offer.name), escape(&matrix.amount_told(at)), offer.promises);
        let kept = if matrix.keeps_promise(at) { "" } else { ", <b class=\"failed\">not kept</b>" };
        let _ = writeln!(page, "<li><b>{name}</b> {told} (promised: {promised}{kept})</li>");
    }
    page += "</ul>\n";
    for (at, (case, row)) in matrix.cases.iter().zip(&matrix.cells).enumerate() {
        for (level, cell) in row.iter().enumerate() {
            let offer = matrix.offers.get(level).map_or("", |o| o.name);
            let (name, meaning) = (escape(&case.name), escape(&case.meaning));
            let outcome = escape(&cell.outcome.to_string());
            let _ = write!(
                page,
                "<section id=\"c{at}-{level}\"><h2>{name} at {}: {outcome}</h2>\n<p>{meaning}</p>\n",
                escape(offer)
            );
            page += &timeline(cell, done_on(&matrix.database.0));
            page += "</section>\n";
        }
    }
    page + "</body></html>\n"
}

/// What happened, a column for each session.
fn timeline(cell: &Cell, done: i64) -> String {
    let sessions = cell.schedule.sessions();
    let mut table = String::new();
    for statement in &cell.schedule.setup {
        let _ = writeln!(table, "<div><code>{}</code></div>", escape(statement));
    }
    table += "<table><thead><tr>";
    for session in &sessions {
        let _ = write!(table, "<th>{}</th>", escape(session));
    }
    table += "</tr></thead><tbody>\n";
    for event in &cell.events {
        let noted = note(event, done);
        let step = &cell.schedule.steps[event.step];
        table += "<tr>";
        for session in &sessions {
            if *session != step.session {
                table += "<td></td>";
                continue;
            }
            let class = if noted.event == "err" { "failed" } else { "said" };
            let said = match &noted.result {
                serde_json::Value::Null => noted.event.clone(),
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let (statement, said) = (escape(&step.statement), escape(&said));
            let _ = write!(
                table,
                "<td><code>{statement}</code><br><span class=\"{class}\">{said}</span></td>"
            );
        }
        table += "</tr>\n";
    }
    table + "</tbody></table>\n"
}
