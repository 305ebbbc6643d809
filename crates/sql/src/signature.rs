//! When two findings are the same: by what kind of difference it is, and by which words of SQL the statement has. Names,
//! numbers and texts do not matter.

use crate::case::{Case, Does};
use crate::oracle::serial::Differs;
use crate::plan::At;
use crate::work::Suspect;

/// Words that make a statement what it is.
const WORDS: [&str; 26] = [
    "select", "insert", "update", "delete", "join", "left", "cross", "union", "with", "over",
    "group", "having", "order", "limit", "exists", "in", "case", "between", "like", "coalesce",
    "count", "sum", "min", "max", "avg", "distinct",
];

/// The signature of a suspect.
pub fn signature(case: &Case, suspect: &Suspect) -> String {
    let of = |at: &At| shape(&case.transactions[at.0].statements[at.1].sql);
    match suspect {
        Suspect::Serial(difference) => match &difference.what {
            Differs::Answer { at, alone, .. } => {
                let failed = alone.as_ref().err().map_or("", |failure| failure.code.as_str());
                format!("serial answer {failed}: {}", of(at))
            }
            Differs::Written { at, .. } => format!("serial rows written: {}", of(at)),
            Differs::Contents { .. } => format!("serial contents: {}", verbs(case)),
        },
        Suspect::Predicate(difference) => {
            let kind = if difference.documented { "documented" } else { "predicate" };
            let read = if difference.select.is_some() { "select" } else { "read before" };
            format!("{kind} {read}: {}", of(&difference.write))
        }
        Suspect::Words { complaint, failure, .. } => {
            let words: String = failure.message.chars().filter(|c| !c.is_ascii_digit()).collect();
            format!("words {complaint:?} {}: {words}", failure.code)
        }
        Suspect::Torn { other, .. } => format!("one version overwritten twice: {}", of(other)),
        Suspect::Early(early) => format!("seen before COMMIT: {}", of(&early.reader)),
        Suspect::Hang(_) => format!("hang: {}", verbs(case)),
    }
}

/// The words of a statement that are in the list, each once.
fn shape(sql: &str) -> String {
    let lower = sql.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let found = WORDS.iter().filter(|word| words.contains(word));
    found.copied().collect::<Vec<_>>().join(" ")
}

/// What the statements of a case do, each kind once.
fn verbs(case: &Case) -> String {
    let mut verbs: Vec<&str> = case
        .transactions
        .iter()
        .flat_map(|t| &t.statements)
        .map(|statement| match statement.does {
            Does::Select { .. } => "select",
            Does::Insert { .. } => "insert",
            Does::Update { .. } => "update",
            Does::Delete { .. } => "delete",
            Does::Savepoint(_) | Does::RollbackTo(_) | Does::Release(_) => "savepoint",
        })
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs.join(" ")
}
