//! Verdicts as JUnit XML, which continuous integration shows: a history is a suite, a promise a test.

use std::fmt::Write;

use isolde_spec::{Answer, Promise};

use crate::answers;
use crate::case::Case;
use crate::text::{Telling, to_text};
use crate::xml::escape;

/// Collects suites.
#[derive(Default)]
pub struct Junit {
    suites: String,
    counts: [usize; 3],
    seconds: f64,
}

/// How many tests, failures and errors there are.
const TESTS: usize = 0;
const FAILURES: usize = 1;
const ERRORS: usize = 2;

impl Junit {
    /// Adds one history: a level that is violated has failed, one that is unknown is an error.
    pub fn add(&mut self, case: &Case<'_>) {
        let mut tests = String::new();
        let mut counts = [0; 3];
        for decided in case.decided {
            counts[TESTS] += 1;
            let answer = &decided.verdict.answer;
            // Session order is in the text; the name tells values and timestamps apart.
            let promise = Promise { session_order: true, ..decided.verdict.promise };
            let text = || escape(&to_text(case.history, decided, &Telling::default()));
            let (element, message, kind) = match answer {
                Answer::Holds | Answer::NoViolation { enough: true, .. } => {
                    ("", String::new(), String::new())
                }
                Answer::Violated(witnesses) => {
                    counts[FAILURES] += 1;
                    let story = case.story(decided).unwrap_or_default();
                    let name = witnesses.first().map_or("", |w| w.anomaly.name());
                    ("failure", story, name.to_owned())
                }
                Answer::Unknown(reason) => {
                    counts[ERRORS] += 1;
                    ("error", reason.clone(), "unknown".to_owned())
                }
                // Too little was decided: that is as good as not known.
                Answer::NoViolation { enough: false, .. } => {
                    counts[ERRORS] += 1;
                    let among = answers::among(answer).unwrap_or_default();
                    ("error", format!("no violation {among}"), "unknown".to_owned())
                }
            };
            // Writing to a String cannot fail.
            let _ = write!(
                tests,
                "    <testcase name=\"{promise}\" classname=\"{}\" time=\"{:.6}\"",
                escape(&case.name),
                decided.seconds
            );
            let _ = if let (true, Some(figures)) = (element.is_empty(), properties(answer)) {
                let text = text();
                writeln!(
                    tests,
                    ">\n{figures}      <system-out>{text}</system-out>\n    </testcase>"
                )
            } else if element.is_empty() {
                writeln!(tests, "/>")
            } else {
                let (message, kind) = (escape(&message), escape(&kind));
                let text = text();
                writeln!(
                    tests,
                    ">\n      <{element} message=\"{message}\" type=\"{kind}\">{text}</{element}>\n    \
                     </testcase>"
                )
            };
        }
        let [all, failures, errors] = counts;
        let _ = writeln!(
            self.suites,
            "  <testsuite name=\"{}\" tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\" \
             skipped=\"0\" time=\"{:.6}\">\n{tests}  </testsuite>",
            escape(&case.name),
            case.seconds
        );
        (0..counts.len()).for_each(|at| self.counts[at] += counts[at]);
        self.seconds += case.seconds;
    }

    /// Adds a history that could not be checked: an error.
    pub fn add_fault(&mut self, name: &str, error: &str) {
        let (name, error) = (escape(name), escape(error));
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.suites,
            "  <testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" \
             time=\"0\">\n    <testcase name=\"read\" classname=\"{name}\" time=\"0\">\n      \
             <error message=\"{error}\" type=\"fault\"/>\n    </testcase>\n  </testsuite>"
        );
        self.counts[TESTS] += 1;
        self.counts[ERRORS] += 1;
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let [all, failures, errors] = self.counts;
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"isolde\" tests=\"{all}\" \
             failures=\"{failures}\" errors=\"{errors}\" time=\"{:.6}\">\n{}</testsuites>\n",
            self.seconds, self.suites
        )
    }
}

/// The figures of a test that passed because nothing was found: that is less than that it holds.
fn properties(answer: &Answer) -> Option<String> {
    let figures = answers::figures(answer);
    if figures.is_empty() {
        return None;
    }
    let answered = [("answer", answers::name(answer).to_owned())];
    let figures = figures.into_iter().map(|(name, figure)| (name, figure.to_string()));
    let mut out = String::from("      <properties>\n");
    for (name, value) in answered.into_iter().chain(figures) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "        <property name=\"{name}\" value=\"{value}\"/>");
    }
    out.push_str("      </properties>\n");
    Some(out)
}
