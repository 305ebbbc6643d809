//! Files with mistakes.

use expect_test::{Expect, expect};

use super::super::Profile;

const FILE: &str = r#"server = "MyDB"
known-by = "documentation"
locks = "rows"
modes = { read = "none", update = "exclusive", insert = "exclusive", delete = "exclusive" }
range-locks = false
savepoints-release-locks = true
idle-updates-vanish = false
certifier = "none"
ending-errors = ["40001"]

[[level]]
name = "snapshot"
promises = "snapshot-isolation"
reads = "transaction-snapshot"
locking-reads = "snapshot"
snapshot-at = "begin"
first-updater-wins = true
"#;

/// What becomes of the file with one text in it replaced.
#[track_caller]
fn check(old: &str, new: &str, expect: Expect) {
    assert!(FILE.contains(old), "{old}");
    refused(&FILE.replacen(old, new, 1), expect);
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "so that it looks as in every other call")]
fn refused(text: &str, expect: Expect) {
    expect.assert_eq(&Profile::parse(text).unwrap_err().to_string());
}

#[test]
fn a_level_takes_what_the_file_says_and_may_say_otherwise() {
    let profiles = Profile::parse(FILE).unwrap();
    assert_eq!(profiles.len(), 1);
    assert_eq!(profiles[0].name(), "MyDB snapshot");
    let level = FILE.split_once("[[level]]").unwrap().1;
    let second = level.replace("name = \"snapshot\"", "name = \"other\"");
    let both = format!("{FILE}[[level]]{second}ending-errors = []\n");
    let both = Profile::parse(&both).unwrap();
    assert_eq!((both[0].ending_errors.len(), both[1].ending_errors.len()), (1, 0));
}

#[test]
fn unknown_words() {
    check(
        "\"rows\"",
        "\"tables\"",
        expect![
            "line 3, column 9: expected one of none, rows, database, whole-transactions, found 'tables'"
        ],
    );
    check(
        "read = \"none\"",
        "read = \"shared\"",
        expect![
            "line 4, column 18: expected one of none, key-share, share, no-key-update, exclusive, found 'shared'"
        ],
    );
    check(
        "\"snapshot-isolation\"",
        "\"acid\"",
        expect![
            "line 13, column 12: expected one of read-uncommitted, pl-2, read-committed, cursor-stability, read-atomic, causal, prefix, repeatable-read, snapshot-isolation, strong-snapshot-isolation, serializable, strict-serializable, sequential, linearizable, found 'acid'"
        ],
    );
    check(
        "\"begin\"",
        "true",
        expect![
            "line 16, column 15: expected one of begin, first-statement, first-read, by-first-read, found true"
        ],
    );
    check(
        "\"begin\"",
        "\"\\u001b[2J and much more that nobody wants to read here\"",
        expect![[
            r#"line 16, column 15: expected one of begin, first-statement, first-read, by-first-read, found '\u001b[2J and much more that nobody wants to ...'"#
        ]],
    );
}

#[test]
fn unknown_keys() {
    check(
        "locks =",
        "lock =",
        expect![
            "line 3, column 1: unknown key 'lock', expected one of server, level, promises, known-by, reads, locking-reads, snapshot-at, locks, modes, range-locks, savepoints-release-locks, first-updater-wins, idle-updates-vanish, certifier, ending-errors"
        ],
    );
    check(
        "name =",
        "title =",
        expect![
            "line 12, column 1: unknown key 'title', expected one of name, promises, known-by, reads, locking-reads, snapshot-at, locks, modes, range-locks, savepoints-release-locks, first-updater-wins, idle-updates-vanish, certifier, ending-errors"
        ],
    );
    check(
        "{ read",
        "{ select",
        expect![
            "line 4, column 11: unknown key 'select', expected one of read, update, insert, delete"
        ],
    );
    check(
        "promises =",
        "server = \"X\"\npromises =",
        expect![
            "line 13, column 1: unknown key 'server', expected one of name, promises, known-by, reads, locking-reads, snapshot-at, locks, modes, range-locks, savepoints-release-locks, first-updater-wins, idle-updates-vanish, certifier, ending-errors"
        ],
    );
}

#[test]
fn missing_keys() {
    check("server = \"MyDB\"\n", "", expect!["line 1, column 1: the file has no 'server'"]);
    check("name = \"snapshot\"\n", "", expect!["line 11, column 1: a level has no 'name'"]);
    check(
        "certifier = \"none\"\n",
        "",
        expect!["line 10, column 1: level 'snapshot' has no 'certifier'"],
    );
    check("read = \"none\", ", "", expect!["line 4, column 9: 'modes' has no 'read'"]);
    refused("server = \"MyDB\"", expect!["line 1, column 1: the file has no 'level'"]);
    refused("", expect!["line 1, column 1: the file has no 'server'"]);
    refused(
        "server = \"MyDB\"\nlevel = []\n",
        expect!["line 2, column 9: expected [[level]] tables, found an empty list"],
    );
}

#[test]
fn values_of_another_kind() {
    check(
        "first-updater-wins = true",
        "first-updater-wins = \"yes\"",
        expect!["line 17, column 22: expected true or false, found 'yes'"],
    );
    check(
        "[\"40001\"]",
        "[40001]",
        expect!["line 9, column 18: expected a text that is not empty, found an integer"],
    );
    check(
        "[\"40001\"]",
        "\"*\"",
        expect!["line 9, column 17: expected a list of texts, found '*'"],
    );
    check(
        "[[level]]",
        "[level]",
        expect!["line 11, column 1: expected [[level]] tables, found a table"],
    );
    check(
        "\"MyDB\"",
        "\" \"",
        expect!["line 1, column 10: expected a text that is not empty, found ' '"],
    );
    check(
        "modes = {",
        "modes = 1 # {",
        expect![[
            r#"line 4, column 9: expected a table such as { read = "none", update = "exclusive", ... }, found an integer"#
        ]],
    );
}

/// All levels together would fill the memory.
#[test]
fn more_than_any_server_has() {
    let many = format!("[{}]", "\"1\",".repeat(1001));
    check("[\"40001\"]", &many, expect!["line 9, column 17: at most 1000 errors are read"]);
    refused(
        &format!("{FILE}{}", "[[level]]\n".repeat(100)),
        expect!["line 11, column 1: at most 100 levels are read"],
    );
}

#[test]
fn what_is_no_toml() {
    check(
        "name = \"snapshot\"",
        "name = snapshot",
        expect![
            "line 12, column 8: not valid TOML: string values must be quoted, expected literal string"
        ],
    );
    check(
        "locks = \"rows\"",
        "locks = \"rows\"\nlocks = \"rows\"",
        expect!["line 4, column 1: not valid TOML: duplicate key"],
    );
    check(
        "\"MyDB\"",
        "\"MyDB",
        expect![[r#"line 1, column 15: not valid TOML: invalid basic string, expected `"`"#]],
    );
    refused(
        &format!("modes = {}", "[".repeat(100_000)),
        expect![
            "line 1, column 89: not valid TOML: cannot recurse further; max recursion depth met"
        ],
    );
    refused(
        &format!("modes = {}", "{a=".repeat(100_000)),
        expect![
            "line 1, column 249: not valid TOML: cannot recurse further; max recursion depth met"
        ],
    );
    refused(
        &format!("{}b = 1", "a.".repeat(100_000)),
        expect!["line 1, column 1: not valid TOML: recursion limit"],
    );
    refused(
        &"[".repeat(100_000),
        expect![
            "line 1, column 3: not valid TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"
        ],
    );
    refused(
        &"#\n".repeat(1 << 20),
        expect!["line 1, column 1: a file of profiles has at most 1048576 bytes"],
    );
}

#[test]
fn what_cannot_both_be_true() {
    check(
        "\"transaction-snapshot\"",
        "\"locked\"",
        expect![[
            r#"line 11, column 1: level 'snapshot': reads = "locked" needs locks, and a mode for read"#
        ]],
    );
    check(
        "\"transaction-snapshot\"",
        "\"statement-snapshot\"",
        expect![
            "line 11, column 1: level 'snapshot': first-updater-wins compares with the snapshot of a transaction, and there is none"
        ],
    );
    check(
        "reads = \"transaction-snapshot\"",
        "reads = \"uncommitted\"\ncertifier = \"ssi\"",
        expect![[
            r#"line 11, column 1: level 'snapshot': this certifier needs reads = "transaction-snapshot""#
        ]],
    );
    let level = FILE.split_once("[[level]]").unwrap().1;
    refused(
        &format!("{FILE}[[level]]{level}"),
        expect!["line 18, column 1: there is already a level 'snapshot'"],
    );
}

/// The examples of the documentation are profiles, and it names every word and every profile.
#[test]
fn the_documentation_tells_the_truth() {
    let page = include_str!("../../../../../docs/profiles.md");
    let examples: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let text = example.split("```").next().unwrap();
        let profiles = Profile::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(profiles.len(), 2);
    }
    for key in super::super::parse::OF_LEVELS {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    for word in words() {
        assert!(page.contains(&format!("| `{word}` |")), "{word}");
    }
    for profile in Profile::builtin() {
        assert!(
            page.contains(&profile.server) && page.contains(&profile.level),
            "{}",
            profile.name()
        );
    }
}

fn words() -> Vec<&'static str> {
    use super::super::words::Word;
    use super::super::{Certifier, LockScope, LockingReads, PlainReads, SnapshotAt};
    fn of<W: Word>() -> Vec<&'static str> {
        W::words().into_iter().map(|(name, _)| name).collect()
    }
    let choices = [of::<PlainReads>(), of::<LockingReads>(), of::<SnapshotAt>(), of::<LockScope>()];
    [choices.concat(), of::<Certifier>(), of::<isolde_history::LockMode>()].concat()
}
