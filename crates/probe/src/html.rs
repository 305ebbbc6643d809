//! The outcomes as one page that needs nothing else: the table, and behind each cell what happened, with
//! the sessions side by side. It has no script.

use std::fmt::Write;

use isolde_report::escape;
use isolde_target::{Datum, Said};

use crate::matrix::{Cell, Matrix};
use crate::schedule::{Event, Happened};
use crate::text::{LEGEND, word};

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }\n\
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }\n\
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }\n\
th, td { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top }\n\
td a { color: inherit; text-decoration: none; display: block }\n\
.prevented, .blocked, .aborted { background: #2a92 } .allowed { background: #d903 }\n\
.finding { background: #e225; font-weight: bold } .unknown { background: #8883 } .not-for-it { color: #777 }\n\
code { font-size: .9em } .said { opacity: .75 } .failed { color: light-dark(#b00020, #ff8a80) }\n\
.waits { color: light-dark(#8a5300, #f5b25a) }\n\
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
            let word = escape(&word(cell).0);
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
            page += &timeline(cell);
            page += "</section>\n";
        }
    }
    page + "</body></html>\n"
}

/// What happened, a column for each session.
fn timeline(cell: &Cell) -> String {
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
    for (at, event) in cell.played.events.iter().enumerate() {
        let step = &cell.schedule.steps[event.step];
        // A step that waited has two events; the second one is its end.
        let again = cell.played.events[..at].iter().any(|earlier| earlier.step == event.step);
        let statement = match again {
            true => format!(
                "<span class=\"said\">goes on:</span> <code>{}</code>",
                escape(&step.statement)
            ),
            false => format!("<code>{}</code>", escape(&step.statement)),
        };
        let (class, said) = told(event);
        let said = escape(&said);
        table += "<tr>";
        for session in &sessions {
            if *session == step.session {
                let _ =
                    write!(table, "<td>{statement}<br><span class=\"{class}\">{said}</span></td>");
            } else {
                table += "<td></td>";
            }
        }
        table += "</tr>\n";
    }
    table + "</tbody></table>\n"
}

/// What came of a step, in a few words, and how they look.
fn told(event: &Event) -> (&'static str, String) {
    let datum = |datum: &Datum| match datum {
        Datum::Null => "null".to_owned(),
        Datum::Integer(number) => number.to_string(),
        other => format!("'{}'", other.text()),
    };
    let row = |row: &Vec<Datum>| {
        let cells: Vec<String> = row.iter().map(datum).collect();
        format!("({})", cells.join(", "))
    };
    match &event.happened {
        Happened::Answered(Said::Rows(set)) if set.rows.is_empty() => {
            ("said", "no rows".to_owned())
        }
        Happened::Answered(Said::Rows(set)) => {
            ("said", set.rows.iter().map(row).collect::<Vec<_>>().join(" "))
        }
        Happened::Answered(Said::Changed(1)) => ("said", "1 row".to_owned()),
        Happened::Answered(Said::Changed(count)) => ("said", format!("{count} rows")),
        Happened::Answered(Said::Done) => ("said", "done".to_owned()),
        Happened::Answered(Said::RolledBack) => ("failed", "rolled back".to_owned()),
        Happened::Failed(failure) => ("failed", failure.to_string()),
        Happened::Blocked => ("waits", "waits".to_owned()),
        Happened::Silent => ("failed", "no answer".to_owned()),
    }
}
