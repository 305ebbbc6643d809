//! The condition under which an anomaly was seen: what people write, and whether it is true.

use isolde_target::{Datum, Said};

/// A condition on what was observed.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// All of them.
    All(Vec<Condition>),
    /// At least one of them.
    Any(Vec<Condition>),
    /// Not that.
    Not(Box<Condition>),
    /// The last commit of a session took effect.
    Commits(String),
    /// A labelled step had to wait.
    Waited(String),
    /// A labelled step brought exactly this, or not.
    Is(String, Wanted, bool),
    /// A labelled step brought at least these rows.
    Has(String, Vec<Vec<Datum>>),
}

/// What an answer is compared with.
#[derive(Clone, PartialEq, Debug)]
pub enum Wanted {
    /// Rows, in any order.
    Rows(Vec<Vec<Datum>>),
    /// One row of one value, or the count of changed rows.
    Value(Datum),
    /// What another labelled step brought.
    Label(String),
}

/// What was observed, as conditions ask for it.
pub trait Observed {
    /// What a labelled step brought, if it was answered.
    fn said(&self, label: &str) -> Option<&Said>;
    /// Whether it had to wait.
    fn waited(&self, label: &str) -> bool;
    /// Whether a session's last transaction committed.
    fn commits(&self, session: &str) -> bool;
}

impl Condition {
    /// Whether it is true; of a step that was not answered nothing is known, nor is its opposite.
    pub fn holds(&self, observed: &dyn Observed) -> Option<bool> {
        match self {
            Condition::All(all) => combined(all, observed, false),
            Condition::Any(any) => combined(any, observed, true),
            Condition::Not(not) => not.holds(observed).map(|holds| !holds),
            Condition::Commits(session) => Some(observed.commits(session)),
            Condition::Waited(label) => Some(observed.waited(label)),
            Condition::Has(label, wanted) => Some(match observed.said(label)? {
                Said::Rows(set) => {
                    let rows: Vec<Vec<Datum>> = set.rows.iter().map(|row| plain(row)).collect();
                    wanted.iter().all(|row| rows.contains(row))
                }
                _ => false,
            }),
            Condition::Is(label, wanted, equal) => {
                let said = observed.said(label)?;
                let same = match wanted {
                    Wanted::Label(other) => rows(said) == rows(observed.said(other)?),
                    Wanted::Rows(wanted) => rows(said) == sorted(wanted),
                    Wanted::Value(value) => rows(said) == [vec![value.clone()]],
                };
                Some(same == *equal)
            }
        }
    }

    /// The labels and the sessions that it speaks of.
    pub(crate) fn names(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut labels, mut sessions) = (Vec::new(), Vec::new());
        let mut todo = vec![self];
        while let Some(condition) = todo.pop() {
            match condition {
                Condition::All(more) | Condition::Any(more) => todo.extend(more),
                Condition::Not(one) => todo.push(one),
                Condition::Commits(session) => sessions.push(session.as_str()),
                Condition::Waited(label) | Condition::Has(label, _) => labels.push(label.as_str()),
                Condition::Is(label, wanted, _) => {
                    labels.push(label);
                    if let Wanted::Label(other) = wanted {
                        labels.push(other);
                    }
                }
            }
        }
        (labels, sessions)
    }
}

/// One that is `decisive` decides; else one that is not known leaves it open.
fn combined(parts: &[Condition], observed: &dyn Observed, decisive: bool) -> Option<bool> {
    let parts: Vec<Option<bool>> = parts.iter().map(|part| part.holds(observed)).collect();
    if parts.contains(&Some(decisive)) {
        return Some(decisive);
    }
    if parts.contains(&None) { None } else { Some(!decisive) }
}

fn rows(said: &Said) -> Vec<Vec<Datum>> {
    match said {
        Said::Rows(set) => {
            sorted(&set.rows.iter().map(|row| plain(row)).collect::<Vec<Vec<Datum>>>())
        }
        Said::Changed(count) => vec![vec![Datum::Integer((*count).into())]],
        Said::Done | Said::RolledBack => Vec::new(),
    }
}

/// A row as conditions write it: nothing, integers, and everything else as text.
fn plain(row: &[Datum]) -> Vec<Datum> {
    let plain = |datum: &Datum| match datum {
        Datum::Null | Datum::Integer(_) => datum.clone(),
        other => Datum::Text(other.text().into_owned()),
    };
    row.iter().map(plain).collect()
}

fn sorted(rows: &[Vec<Datum>]) -> Vec<Vec<Datum>> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

/// How deep parentheses may be nested.
const DEEPEST: usize = 20;

/// Reads conditions. What is wrong is told with its place in the text, counted in characters from 0.
pub(crate) fn parse(text: &str) -> Result<Condition, (usize, String)> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let condition = parser.any()?;
    parser.space();
    if parser.at < text.len() {
        return parser.fault("expected 'and', 'or' or the end");
    }
    Ok(condition)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, (usize, String)>;

impl Parser<'_> {
    fn fault<T>(&self, expected: &str) -> Parsed<T> {
        Err((self.text[..self.at].chars().count(), expected.to_owned()))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// The next word, without taking it.
    fn peek(&mut self) -> &str {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn any(&mut self) -> Parsed<Condition> {
        let mut all = vec![self.all()?];
        while self.takes_word("or") {
            all.push(self.all()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Any(all) })
    }

    fn all(&mut self) -> Parsed<Condition> {
        let mut all = vec![self.one()?];
        while self.takes_word("and") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn one(&mut self) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fault("fewer 'not's and parentheses inside each other");
        }
        let one = if self.takes_word("not") {
            Condition::Not(Box::new(self.one()?))
        } else if self.takes("(") {
            let inside = self.any()?;
            if !self.takes(")") {
                return self.fault("expected ')'");
            }
            inside
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(one)
    }

    fn name(&mut self) -> Parsed<String> {
        let name = self.peek().to_owned();
        if name.is_empty() {
            return self.fault("expected a label or a session");
        }
        self.at += name.len();
        Ok(name)
    }

    fn atom(&mut self) -> Parsed<Condition> {
        let mut names = vec![self.name()?];
        // `T1 and T2 commit`.
        while names[0].starts_with(|c: char| c.is_ascii_uppercase()) && self.takes_word("and") {
            names.push(self.name()?);
        }
        if self.takes_word("commits") || self.takes_word("commit") {
            return Ok(Condition::All(names.into_iter().map(Condition::Commits).collect()));
        }
        let label = names.remove(0);
        if self.takes_word("waited") {
            return Ok(Condition::Waited(label));
        }
        if self.takes_word("has") {
            let rows = self.rows()?;
            return Ok(Condition::Has(label, rows));
        }
        let equal = if self.takes("!=") {
            false
        } else if self.takes("=") {
            true
        } else {
            return self.fault("expected 'commits', 'waited', 'has', '=' or '!='");
        };
        Ok(Condition::Is(label, self.wanted()?, equal))
    }

    fn wanted(&mut self) -> Parsed<Wanted> {
        self.space();
        if self.rest().starts_with('(') {
            return Ok(Wanted::Rows(self.rows()?));
        }
        if self.takes_word("nothing") {
            return Ok(Wanted::Rows(Vec::new()));
        }
        let is_label = self.peek().starts_with(|c: char| c.is_ascii_lowercase());
        if is_label && self.peek() != "null" {
            return Ok(Wanted::Label(self.name()?));
        }
        Ok(Wanted::Value(self.datum()?))
    }

    fn rows(&mut self) -> Parsed<Vec<Vec<Datum>>> {
        let mut rows = Vec::new();
        loop {
            if !self.takes("(") {
                return self.fault("expected a row such as (1, 10)");
            }
            let mut row = vec![self.datum()?];
            while self.takes(",") {
                row.push(self.datum()?);
            }
            if !self.takes(")") {
                return self.fault("expected ',' or ')'");
            }
            rows.push(row);
            if !self.takes(",") {
                return Ok(rows);
            }
        }
    }

    fn datum(&mut self) -> Parsed<Datum> {
        if self.takes("'") {
            let Some(end) = self.rest().find('\'') else { return self.fault("expected \"'\"") };
            let text = self.rest()[..end].to_owned();
            self.at += end + 1;
            return Ok(Datum::Text(text));
        }
        if self.takes_word("null") {
            return Ok(Datum::Null);
        }
        let sign = if self.takes("-") { "-" } else { "" };
        let digits = self.peek().to_owned();
        match format!("{sign}{digits}").parse() {
            Ok(number) => {
                self.at += digits.len();
                Ok(Datum::Integer(number))
            }
            Err(_) => self.fault("expected a number, 'text' or null"),
        }
    }
}
