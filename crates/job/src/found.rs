//! What a stream tells, in the words of reports and for machines.

use std::collections::HashMap;

use isolde_history::notation::to_text;
use isolde_report::{Exhibit, Style, Telling, exhibit_to_text, transactions_to_text};
use isolde_spec::{Anomaly, Axiom};
use isolde_stream::{Finding, StreamEvent, Told};
use serde_json::{Value, json};

fn kind(what: &Told) -> &'static str {
    match what {
        Told::Violation(_) => "violation",
        Told::Correction(_) => "correction",
        Told::Renamed(_) => "renamed",
        Told::Late { .. } => "late",
        Told::Trouble(_) => "trouble",
    }
}

fn finding(what: &Told) -> Option<&Finding> {
    match what {
        Told::Violation(finding) | Told::Renamed(finding) => Some(finding),
        Told::Correction(correction) => Some(&correction.finding),
        Told::Late { .. } | Told::Trouble(_) => None,
    }
}

/// Whether an event says that there is a violation more.
pub fn adds(what: &Told) -> bool {
    match what {
        Told::Violation(_) => true,
        Told::Correction(correction) => correction.adds,
        Told::Renamed(_) | Told::Late { .. } | Told::Trouble(_) => false,
    }
}

/// For machines: one object.
pub fn to_json(event: &StreamEvent) -> Value {
    let mut told = json!({
        "number": event.number,
        "at": event.at,
        "kind": kind(&event.what),
        "text": sentence(event),
    });
    if let Some(found) = finding(&event.what) {
        told["anomaly"] = json!(found.anomaly.name());
        told["axiom"] = json!(found.axiom.map(Axiom::name));
        told["transaction"] = json!(found.txn);
        told["key"] = json!(found.key);
        told["history"] = json!(to_text(&found.history));
    }
    match &event.what {
        Told::Correction(correction) => {
            told["adds"] = json!(correction.adds);
            told["late"] = json!(correction.cause.late());
            told["cause"] = json!(correction.cause.to_string());
        }
        Told::Late { txn, .. } => told["transaction"] = json!(txn),
        _ => {}
    }
    told
}

/// The witness as reports show it.
fn exhibit(found: &Finding, number: usize) -> Option<Exhibit> {
    let witness = found.witness()?;
    Some(Exhibit::new(&found.history, found.verdict.promise, number, witness))
}

/// What an event says, in a sentence.
pub fn sentence(event: &StreamEvent) -> String {
    let story = finding(&event.what).map(|found| {
        exhibit(found, 1).map_or_else(|| found.anomaly.name().to_owned(), |exhibit| exhibit.story)
    });
    let story = story.unwrap_or_default();
    match &event.what {
        Told::Violation(_) | Told::Renamed(_) => story,
        Told::Correction(correction) if correction.adds => {
            format!("{}, and there is a violation: {story}", correction.cause)
        }
        Told::Correction(correction) => {
            format!("{}, and a violation is withdrawn: {story}", correction.cause)
        }
        Told::Late { txn, decided: false } => {
            format!("{txn} came later than its source had promised")
        }
        Told::Late { txn, decided: true } => {
            format!("{txn} came too late: what had not ended when it began is decided")
        }
        Told::Trouble(trouble) => trouble.to_string(),
    }
}

/// Violations in the words of a report, as long as there are not too many of an anomaly.
pub struct ShownFindings {
    most: u64,
    shown: HashMap<Anomaly, u64>,
}

impl ShownFindings {
    /// So many of each anomaly are shown, and more are counted.
    pub fn new(most: u64) -> ShownFindings {
        ShownFindings { most, shown: HashMap::new() }
    }

    /// A violation with its small history; nothing if enough were shown, or if the event is none.
    pub fn text(&mut self, event: &StreamEvent, style: Style) -> Option<String> {
        let found = finding(&event.what)?;
        let shown = self.shown.entry(found.anomaly).or_default();
        *shown += 1;
        if *shown > self.most {
            let name = found.anomaly.name();
            let text = format!("more violations are {name}; they are only counted from now on\n\n");
            return (*shown == self.most + 1).then_some(text);
        }
        let number = event.number;
        let mut text = match &event.what {
            Told::Correction(_) | Told::Renamed(_) => {
                format!("{number}. {}: {}\n", kind(&event.what), sentence(event))
            }
            _ => format!("{number}. {}\n", found.txn),
        };
        // What is withdrawn needs no proof.
        let withdrawn = matches!(&event.what, Told::Correction(correction) if !correction.adds);
        if let Some(exhibit) = exhibit(found, *shown as usize).filter(|_| !withdrawn) {
            let telling = Telling { style, ..Telling::default() };
            text += &exhibit_to_text(&found.history, &exhibit, &telling);
            text += &transactions_to_text(&found.history, &exhibit);
        }
        text.push('\n');
        Some(text)
    }
}
