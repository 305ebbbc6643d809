//! Cases: schedules with a name, a meaning, and the condition under which an anomaly was seen. They are
//! read from a small format of lines, which `docs/probing.md` describes.

use isolde_spec::{Anomaly, CATALOGUE, Level};

use crate::condition::{self, Condition};
use crate::schedule::{MOST_SESSIONS, MOST_STEPS, Schedule, Step};
use crate::statement::is_several;

/// How long a file of cases may be, in bytes.
pub const MOST_BYTES: usize = 1 << 20;
/// How many cases a file may have.
pub const MOST_CASES: usize = 1000;

/// A case.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What it shows, in one line.
    pub meaning: String,
    /// To which group it belongs.
    pub group: String,
    /// The anomaly of the catalogue that it shows.
    pub anomaly: Option<Anomaly>,
    /// The weakest level that forbids it, if that is not what the catalogue says.
    pub forbidden_from: Option<Level>,
    /// The databases for which it is; all, if there are none.
    pub only: Vec<String>,
    /// The databases for which it is not.
    pub not: Vec<String>,
    /// The labels of steps that have to wait at every level, which says nothing.
    pub waits_anyway: Vec<String>,
    /// Setup and steps.
    pub lines: Vec<Line>,
    /// When the anomaly was seen.
    pub seen: Condition,
}

/// A statement of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The databases for which it is; all, if there are none.
    pub on: Vec<String>,
    /// The session; none for the setup.
    pub session: Option<String>,
    /// By which name its answer is known.
    pub label: Option<String>,
    /// The statement.
    pub statement: String,
}

/// Why a file of cases cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}, line {line}, column {column}: {problem}")]
pub struct UnreadableCase {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl Case {
    /// Whether a level forbids what the case shows.
    pub fn forbidden_at(&self, level: Level) -> bool {
        match (self.forbidden_from, self.anomaly) {
            (Some(from), _) => level.implies(from),
            (None, Some(anomaly)) => anomaly.forbidden_at(level),
            (None, None) => false,
        }
    }

    /// Whether it says anything of a level: one without an anomaly is only looked at.
    pub fn tells(&self) -> bool {
        self.anomaly.is_some() || self.forbidden_from.is_some()
    }

    /// Whether the case is for a database.
    pub fn suits(&self, database: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|n| is_called(database, n));
        (self.only.is_empty() || named(&self.only)) && !named(&self.not)
    }

    /// The schedule for a database, and the labels of its steps.
    pub fn schedule(&self, database: &str) -> (Schedule, Vec<Option<&str>>) {
        let mut schedule = Schedule::default();
        let mut labels = Vec::new();
        let here =
            |line: &&Line| line.on.is_empty() || line.on.iter().any(|n| is_called(database, n));
        for line in self.lines.iter().filter(here) {
            let statement = line.statement.clone();
            match &line.session {
                None => schedule.setup.push(statement),
                Some(session) => {
                    schedule.steps.push(Step { session: session.clone(), statement });
                    labels.push(line.label.as_deref());
                }
            }
        }
        (schedule, labels)
    }
}

fn is_called(database: &str, name: &str) -> bool {
    database.eq_ignore_ascii_case(name)
        || (name.eq_ignore_ascii_case("postgres") && database == "PostgreSQL")
}

/// Reads a file of cases.
pub fn read(file: &str, text: &str) -> Result<Vec<Case>, UnreadableCase> {
    let fault = |line: usize, column: usize, problem: String| UnreadableCase {
        file: file.to_owned(),
        line: line + 1,
        column: column + 1,
        problem,
    };
    if text.len() > MOST_BYTES {
        return Err(fault(0, 0, format!("more than {MOST_BYTES} bytes; expected fewer")));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<(usize, Draft)> = None;
    for (at, whole) in text.lines().enumerate() {
        let line = whole.trim();
        let column = whole.chars().take_while(|c| c.is_whitespace()).count();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix("case ") {
            if let Some((begun, draft)) = open.take() {
                cases.push(draft.finish().map_err(|p| fault(begun, 0, p))?);
            }
            if cases.len() >= MOST_CASES {
                return Err(fault(at, 0, format!("more than {MOST_CASES} cases; expected fewer")));
            }
            open = Some((at, Draft::new(head).map_err(|p| fault(at, column + 5, p))?));
            continue;
        }
        let Some((_, draft)) = &mut open else {
            let problem = "expected 'case NAME: MEANING' before anything else".to_owned();
            return Err(fault(at, column, problem));
        };
        draft.take(line).map_err(|(more, problem)| fault(at, column + more, problem))?;
    }
    if let Some((begun, draft)) = open {
        cases.push(draft.finish().map_err(|p| fault(begun, 0, p))?);
    }
    Ok(cases)
}

/// A case while it is read.
struct Draft {
    case: Case,
    has_condition: bool,
}

impl Draft {
    fn new(head: &str) -> Result<Draft, String> {
        let (name, meaning) = head.split_once(':').unwrap_or((head, ""));
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
            let expected = "expected a name of up to 40 letters, digits, '-', '_' and '.'";
            return Err(format!("'{name}' is no name; {expected}"));
        }
        let case = Case {
            name: name.to_owned(),
            meaning: meaning.trim().to_owned(),
            group: "own".to_owned(),
            anomaly: None,
            forbidden_from: None,
            only: Vec::new(),
            not: Vec::new(),
            waits_anyway: Vec::new(),
            lines: Vec::new(),
            seen: Condition::Any(Vec::new()),
        };
        Ok(Draft { case, has_condition: false })
    }

    fn take(&mut self, line: &str) -> Result<(), (usize, String)> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let after = line.len() - rest.trim_start().len();
        let rest = rest.trim();
        let case = &mut self.case;
        match word {
            "group" => rest.clone_into(&mut case.group),
            "anomaly" => {
                let all: Vec<&str> = CATALOGUE.iter().map(|e| e.name).collect();
                let unknown = || (after, format!("expected one of {}", all.join(", ")));
                case.anomaly = Some(Anomaly::named(rest).ok_or_else(unknown)?);
            }
            "forbidden" => {
                let name = rest.strip_prefix("from ").unwrap_or(rest).trim();
                let unknown = || (after, "expected 'from' and a level, such as pl-2".to_owned());
                case.forbidden_from = Some(Level::named(name).ok_or_else(unknown)?);
            }
            "waits" => case.waits_anyway.extend(names(rest)),
            "only" => case.only.extend(names(rest)),
            "not" => case.not.extend(names(rest)),
            "seen" => {
                let Some(condition) = rest.strip_prefix("when ") else {
                    return Err((after, "expected 'when' and a condition".to_owned()));
                };
                let parsed = condition::parse(condition);
                case.seen = parsed.map_err(|(more, problem)| (after + 5 + more, problem))?;
                self.has_condition = true;
            }
            "setup" => case.lines.push(statement(Vec::new(), None, rest, after)?),
            "on" => {
                let Some((on, rest)) = rest.split_once(':') else {
                    let expected = "expected databases, ':' and a statement".to_owned();
                    return Err((after, expected));
                };
                let (session, rest) = rest.trim().split_once(' ').unwrap_or(("", ""));
                let session = (session != "setup").then_some(session);
                case.lines.push(statement(names(on), session, rest.trim(), after)?);
            }
            session if session.starts_with(|c: char| c.is_ascii_uppercase()) => {
                case.lines.push(statement(Vec::new(), Some(session), rest, after)?);
            }
            other => {
                let expected = "expected case, group, anomaly, forbidden, only, not, waits, setup, on, \
                                seen, or a session such as T1";
                return Err((0, format!("'{other}' means nothing here; {expected}")));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Case, String> {
        let case = self.case;
        let steps: Vec<&Line> = case.lines.iter().filter(|l| l.session.is_some()).collect();
        if steps.is_empty() {
            return Err(format!("{} has no steps", case.name));
        }
        let mut sessions: Vec<&str> = steps.iter().filter_map(|l| l.session.as_deref()).collect();
        sessions.sort_unstable();
        sessions.dedup();
        if case.lines.len() > MOST_STEPS || sessions.len() > MOST_SESSIONS {
            let name = &case.name;
            return Err(format!(
                "{name} is too long: at most {MOST_STEPS} statements of {MOST_SESSIONS} sessions"
            ));
        }
        if !self.has_condition {
            return Err(format!("{} does not say 'seen when ...'", case.name));
        }
        let mut given: Vec<(&str, &[String])> = Vec::new();
        for line in &steps {
            let Some(label) = line.label.as_deref() else { continue };
            // The same label may stand for other databases' statements.
            if given.iter().any(|(l, on)| *l == label && (on.is_empty() || line.on.is_empty())) {
                return Err(format!("{}: two steps are labelled '{label}'", case.name));
            }
            given.push((label, &line.on));
        }
        let (mut labels, named) = case.seen.names();
        labels.extend(case.waits_anyway.iter().map(String::as_str));
        let known = |label: &&str| steps.iter().any(|l| l.label.as_deref() == Some(label));
        if let Some(label) = labels.iter().find(|label| !known(label)) {
            return Err(format!("{}: no step is labelled '{label}'", case.name));
        }
        if let Some(session) = named.iter().find(|session| !sessions.contains(session)) {
            return Err(format!("{}: there is no session '{session}'", case.name));
        }
        Ok(case)
    }
}

fn names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn statement(
    on: Vec<String>,
    session: Option<&str>,
    text: &str,
    column: usize,
) -> Result<Line, (usize, String)> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(session) = session
        && (session.len() > 16 || !session.chars().all(fits) || session.is_empty())
    {
        return Err((0, format!("'{session}' is no session; expected a name such as T1")));
    }
    let labelled = text.split_once(':').filter(|(label, _)| {
        !label.is_empty()
            && label.starts_with(|c: char| c.is_ascii_lowercase())
            && label.chars().all(fits)
    });
    let (label, statement) = match labelled {
        Some((label, statement)) if session.is_some() => (Some(label.to_owned()), statement.trim()),
        _ => (None, text),
    };
    if statement.is_empty() {
        return Err((column, "expected a statement".to_owned()));
    }
    if session.is_some() && is_several(statement) {
        return Err((column, "expected one statement a step, found several".to_owned()));
    }
    if session.is_some() && statement.to_lowercase().contains("isolation level") {
        let problem =
            "expected no level here: every case runs at every level that the database has";
        return Err((column, problem.to_owned()));
    }
    let (session, statement) = (session.map(str::to_owned), statement.to_owned());
    Ok(Line { on, session, label, statement })
}

/// The name that two cases have, if two have the same.
pub fn twice(cases: &[Case]) -> Option<&str> {
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The cases that come with Isolde, by file.
const BUILT_IN: [(&str, &str); 3] = [
    ("hermitage.case", include_str!("../cases/hermitage.case")),
    ("anomalies.case", include_str!("../cases/anomalies.case")),
    ("mariadb.case", include_str!("../cases/mariadb.case")),
];

/// The cases that come with Isolde.
pub fn built_in() -> Result<Vec<Case>, UnreadableCase> {
    let all = BUILT_IN.map(|(file, text)| read(file, text));
    Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}
