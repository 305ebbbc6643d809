//! What kind of statement a text is, as far as schedules have to know.

/// What a statement does to its session's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    /// It starts one.
    Begin,
    /// It asks for its commit.
    Commit,
    /// Anything else.
    Other,
}

/// The verb of a statement, whatever comments and white space come first.
pub(crate) fn verb(statement: &str) -> Verb {
    let mut rest = statement.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after).trim_start()
        } else if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after).trim_start()
        } else {
            break;
        };
    }
    let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "begin" | "start" => Verb::Begin,
        "commit" | "end" => Verb::Commit,
        _ => Verb::Other,
    }
}

/// Whether a text is more than one statement: a semicolon outside of quotation marks with something
/// behind it.
pub(crate) fn is_several(text: &str) -> bool {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ';') => return !text[at + 1..].trim().is_empty(),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_found_behind_comments_and_before_anything() {
        for commit in ["commit", "COMMIT;", "commit\twork", "/* done */ commit", "-- a\n end"] {
            assert_eq!(verb(commit), Verb::Commit, "{commit}");
        }
        assert_eq!(verb("start transaction"), Verb::Begin);
        for other in ["", "/*", "--", "commitment", "select 'commit'", "é"] {
            assert_eq!(verb(other), Verb::Other, "{other}");
        }
    }

    #[test]
    fn several_statements_are_told_from_one() {
        assert!(is_several("begin; commit") && is_several("a;b"));
        assert!(
            !is_several("commit;") && !is_several("select ';x'") && !is_several("select \";\" ; ")
        );
    }
}
