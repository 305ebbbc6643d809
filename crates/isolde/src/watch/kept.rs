//! The violations that a report of a watch shows one by one.

use isolde_job::reports::Reports;
use isolde_report::{Case, Decided};
use isolde_spec::Axiom;
use isolde_stream::{Finding, StreamEvent, Told};
use serde_json::json;

/// How many are kept; more are only counted.
const MOST: usize = 100;

/// The first violations that stand.
#[derive(Default)]
pub(crate) struct Kept {
    findings: Vec<KeptFinding>,
}

struct KeptFinding {
    /// The number of the event that told it.
    number: u64,
    finding: Finding,
}

impl Kept {
    /// Takes notice of an event.
    pub(crate) fn note(&mut self, event: &StreamEvent) {
        match &event.what {
            Told::Violation(finding) => self.add(event.number, finding),
            Told::Renamed(finding) => {
                if let Some(at) = self.place(finding) {
                    self.findings[at] =
                        KeptFinding { number: event.number, finding: (**finding).clone() };
                }
            }
            Told::Correction(correction) if correction.adds => {
                self.add(event.number, &correction.finding);
            }
            Told::Correction(correction) => {
                if let Some(at) = self.place(&correction.finding) {
                    self.findings.remove(at);
                }
            }
            Told::Late { .. } | Told::Trouble(_) => {}
        }
    }

    fn add(&mut self, number: u64, finding: &Finding) {
        if self.findings.len() < MOST {
            self.findings.push(KeptFinding { number, finding: finding.clone() });
        }
    }

    /// Where the violation of the same rule by the same transaction on the same key is.
    fn place(&self, finding: &Finding) -> Option<usize> {
        // Without a rule it is known by its name.
        let rule = |f: &Finding| f.axiom.map_or(f.anomaly.name(), Axiom::name);
        let place = |f: &Finding| (rule(f), f.txn.clone(), f.key.clone());
        let wanted = place(finding);
        self.findings.iter().position(|kept| place(&kept.finding) == wanted)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.findings.len() as u64
    }

    /// Adds each to the reports, as a small history of its own.
    pub(crate) fn add_to(&self, reports: &mut Reports) {
        for KeptFinding { number, finding } in &self.findings {
            let decided = [Decided {
                verdict: finding.verdict.clone(),
                holds_without_session_order: false,
                seconds: 0.0,
            }];
            let mut about = vec![("transaction".to_owned(), finding.txn.clone())];
            about.extend(finding.key.clone().map(|key| ("key".to_owned(), key)));
            reports.add(&Case {
                history: &finding.history,
                name: format!("{number}. {} by {}", finding.anomaly.name(), finding.txn),
                format: "stream".to_owned(),
                decided: &decided,
                about,
                warnings: Vec::new(),
                warning_count: 0,
                every_level: false,
                options: json!({"session_order": true}),
                explain: None,
                again: Vec::new(),
                seconds: 0.0,
            });
        }
    }
}
