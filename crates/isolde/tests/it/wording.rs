//! Turns of phrase that native speakers stumble at do not come back into texts that users read.
//!
//! Looked at are the README, the pages of `docs`, and the code of the crates without its comments: what
//! is left are mostly string literals. The comments on command-line options are read, too, since they
//! are the text of `--help`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use crate::tidy::{files, is_test, report, root};

/// Turns that are not used any more, and better words. Capitals and line ends make no difference.
const TURNS: &[(&str, &str)] = &[
    // People instead of things.
    ("whoever", "name the thing: a transaction that, the session that"),
    ("everybody", "every transaction, every session, all clients"),
    ("nobody can tell", "the history is not enough to decide; it is not known"),
    ("nobody has tried", "untested"),
    ("nobody reads", "no transaction reads aborted or intermediate data"),
    ("who got no final answer", "a client that got no final answer"),
    // The field has a word for it.
    ("order of versions", "version order"),
    ("order of commits", "commit order"),
    ("beginning of it", "prefix of it"),
    ("cyclic part", "strongly connected component"),
    // Verdicts.
    ("not shown to hold:", "violated or undecided:"),
    ("procedure graph, because", "method: dependency graph (version order known for all keys)"),
    ("procedure saturation, because", "method: dependency graph with inferred edges (...)"),
    ("overwrote what t1", "overwrote the version of KEY that T2 read"),
    ("overwrote what t2", "overwrote the version of KEY that T2 read"),
    ("overwrote what t3", "overwrote the version of KEY that T2 read"),
    ("overwrote what {", "overwrote the version of KEY that T2 read"),
    ("had to be refused", "should have been aborted"),
    ("visible after the first", "detectable from the first N of M transactions"),
    ("plainest witness", "first witness; simplest violation"),
    ("beside them", "also involved; besides; with them"),
    ("are of values that several wrote", "read values that several transactions wrote"),
    // Headings and transitions.
    ("the road", "how a level is decided"),
    ("it begins so", "it starts like this"),
    // The README.
    ("from read committed to strict serializability", "from read uncommitted to ..."),
    ("histories of every format", "reads N history formats"),
    ("history format of the field", "reads N history formats"),
    ("are being built", "planned:"),
    // Help.
    ("not to be recognised", "Input format [default: detected]"),
    ("evidence is not to choose", "Force a decision procedure [default: chosen by the evidence]"),
    ("so many commits", "N commits"),
    ("so many transactions", "N transactions"),
    ("so many trials", "N trials"),
    ("so many times", "N times"),
    ("random choices follow from", "Random seed [default: random]"),
    ("goes wrong on purpose", "Faults to inject"),
    ("only by these ways", "Use only these access paths"),
    ("say what is in a history", "Summarize a history"),
    // Probes, drivers, conversions, files.
    ("cannot be asked for", "not applicable (needs SQL that this database does not support)"),
    ("as far as was tried", "consistent with LEVEL on the N cases run"),
    ("less than cursor-stability, because of", "weaker than cursor-stability (P4)"),
    ("cannot say all of it", "FORMAT cannot hold ...; wrote ..., which show the same anomaly"),
    ("is no driver", "could not start driver"),
    ("make no sense", "invalid"),
    ("1 complete blocks", "1 complete block"),
];

/// Stories about people, who are not transactions.
const STORIES: &[(&str, &[&str])] = &[
    ("crates/report/src/handbook/levels/operations.rs", &["everybody"]),
    ("crates/report/src/handbook/anomalies/conflicts.rs", &["whoever"]),
    ("crates/report/src/handbook/anomalies/nowhere.rs", &["everybody", "whoever"]),
    ("docs/handbook/levels.md", &["everybody"]),
    ("docs/handbook/anomalies.md", &["everybody", "whoever"]),
];

/// The texts of a file that users read, line by line: empty where a line is not for them.
fn user_facing(file: &Path, text: &str) -> Vec<String> {
    let is_page = file.extension().is_some_and(|e| e == "md");
    let is_help =
        file.starts_with("crates/isolde/src/args") || file.ends_with("isolde/src/args.rs");
    let shown = |line: &str| {
        let line = line.trim();
        let comment = ["//", "/*", "* "].iter().any(|c| line.starts_with(c));
        let help = line.strip_prefix("///").filter(|_| is_help);
        let line = if is_page || !comment { line } else { help.unwrap_or_default() };
        // A literal that goes on, with or without a line end in it.
        let line = line.trim_end_matches('\\').trim_end_matches("\\n");
        line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    text.lines().map(shown).collect()
}

/// The turns in a text, each with the number of the line in which it begins.
fn turns(lines: &[String]) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        // A turn may be broken at the end of a line.
        let next = lines.get(at + 1).map_or("", String::as_str);
        let both = format!("{line} {next}");
        for (turn, better) in TURNS {
            if both.find(turn).is_some_and(|from| from < line.len()) {
                found.push((at + 1, *turn, *better));
            }
        }
    }
    found
}

fn is_read_by_users(file: &Path) -> bool {
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match &parts.iter().map(|part| &**part).collect::<Vec<_>>()[..] {
        ["README.md"] => true,
        ["docs", ..] => ending == "md",
        ["crates", _, "src", ..] => matches!(ending, "rs" | "js") && !is_test(file),
        _ => false,
    }
}

fn is_allowed(list: &[(&str, &[&str])], file: &Path, turn: &str) -> bool {
    list.iter().any(|(at, turns)| file == Path::new(at) && turns.contains(&turn))
}

#[test]
fn texts_for_users_have_no_turns_that_people_stumble_at() {
    let mut complaints = Vec::new();
    let read: Vec<_> = files().into_iter().filter(|file| is_read_by_users(file)).collect();
    assert!(read.iter().any(|file| file.ends_with("docs/checking.md")), "{read:?}");
    for file in read {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        for (line, turn, better) in turns(&user_facing(&file, &text)) {
            let allowed = is_allowed(STORIES, &file, turn);
            if !allowed {
                complaints.push(format!("{}:{line}: '{turn}': {better}", file.display()));
            }
        }
    }
    report(&complaints);
}

#[test]
fn wording_is_found_across_lines_and_in_help_and_not_in_comments() {
    let found = |file: &str, text: &str| {
        let lines = user_facing(Path::new(file), text);
        turns(&lines).into_iter().map(|(at, turn, _)| (at, turn)).collect::<Vec<_>>()
    };
    assert_eq!(found("docs/a.md", "a\n\nThe\n  Road is"), [(3, "the road")]);
    assert_eq!(found("docs/a.md", "every\n# The road"), [(2, "the road")]);
    assert_eq!(found("crates/a/src/b.rs", "// Whoever\n/// whoever\n//! whoever"), []);
    assert_eq!(found("crates/a/src/b.rs", "\"nobody can \\\n   tell\""), [(1, "nobody can tell")]);
    let help = "/// Stop after so many commits";
    assert_eq!(found("crates/isolde/src/args/running.rs", help), [(1, "so many commits")]);
    assert_eq!(found("crates/isolde/src/args.rs", help), [(1, "so many commits")]);
    assert_eq!(found("crates/job/src/plan.rs", help), []);
}
