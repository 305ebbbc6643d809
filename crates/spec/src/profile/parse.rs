//! Profiles from TOML. `docs/profiles.md` describes the keys and their words.
//!
//! What a file says before its first level holds for all of its levels; a level that says it again means its own. The
//! parsed table is asked key by key, so that every complaint has a place and the words that would have been right.

use std::ops::Range;

use isolde_history::{LockMode, printable};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ProfileError, ProfileProblem};
use super::words::Word;
use super::{Certifier, LockModes, LockScope, PlainReads, Profile, spelling};

/// Nobody writes more of them by hand; and what comes from elsewhere is not to fill the memory.
const MOST_BYTES: usize = 1 << 20;
/// What a file says of all levels is kept for each of them, so both have a limit.
const MOST_LEVELS: usize = 100;
/// See there.
const MOST_ERRORS: usize = 1000;
/// What is shown of a word that is wrong.
const MOST_SHOWN: usize = 40;

/// What is said of a level, or of all levels of a file.
pub(super) const OF_LEVELS: [&str; 13] = [
    "promises",
    "known-by",
    "reads",
    "locking-reads",
    "snapshot-at",
    "locks",
    "modes",
    "range-locks",
    "savepoints-release-locks",
    "first-updater-wins",
    "idle-updates-vanish",
    "certifier",
    "ending-errors",
];
/// What is said of the locks of statements.
const OF_MODES: [&str; 4] = ["read", "update", "insert", "delete"];

/// A problem, and the bytes that it is about.
type Trouble = (Range<usize>, ProfileProblem);

impl Profile {
    /// The profiles of a file, one for each of its levels.
    ///
    /// ```
    /// use isolde_spec::Profile;
    /// let text = "server = \"MyDB\"\n[[level]]\nname = \"snapshot\"\npromises = \"serializable\"\nknown-by = \"hearsay\"";
    /// let wrong = Profile::parse(text).unwrap_err();
    /// let expected = "line 5, column 12: expected one of runs, documentation, found 'hearsay'";
    /// assert_eq!(wrong.to_string(), expected);
    /// ```
    ///
    /// # Errors
    /// If it is no TOML, or lacks a key, or has a key or a word that is unknown.
    pub fn parse(text: &str) -> Result<Vec<Profile>, ProfileError> {
        parse(text).map_err(|(at, problem)| {
            let (line, column) = place(text, at.start);
            ProfileError { line, column, problem }
        })
    }
}

fn parse(text: &str) -> Result<Vec<Profile>, Trouble> {
    if text.len() > MOST_BYTES {
        return Err((0..0, ProfileProblem::TooLong { most: MOST_BYTES }));
    }
    let file = DeTable::parse(text).map_err(|error| {
        let message = printable(error.message().trim()).into_owned();
        (error.span().unwrap_or(0..0), ProfileProblem::Syntax(message))
    })?;
    let file = file.get_ref();
    refuse_unknown(file, &["server", "level"], &OF_LEVELS)?;
    let server =
        name(value_of(file, "server").ok_or_else(|| missing(0..0, "the file", "server"))?)?;
    let levels = value_of(file, "level").ok_or_else(|| missing(0..0, "the file", "level"))?;
    let expected = "[[level]] tables";
    let tables = levels.get_ref().as_array().ok_or_else(|| wrong_kind(levels, expected))?;
    if tables.is_empty() {
        return Err(wrong_kind(levels, expected));
    }
    limit(levels, tables.len(), MOST_LEVELS, "levels")?;
    let mut profiles: Vec<Profile> = Vec::new();
    for level in tables {
        let table = level.get_ref().as_table().ok_or_else(|| wrong_kind(level, expected))?;
        let said = Said { file, level: table, at: level.span(), name: "level".to_owned() };
        let profile = said.profile(&server)?;
        let same =
            |other: &Profile| spelling::level(&other.level) == spelling::level(&profile.level);
        if profiles.iter().any(same) {
            return Err((level.span(), ProfileProblem::Twice { name: shown(&profile.level) }));
        }
        profiles.push(profile);
    }
    Ok(profiles)
}

/// All that a file says of one level.
struct Said<'a> {
    file: &'a DeTable<'a>,
    level: &'a DeTable<'a>,
    /// Where the level begins.
    at: Range<usize>,
    /// What to call it in complaints.
    name: String,
}

impl Said<'_> {
    fn profile(mut self, server: &str) -> Result<Profile, Trouble> {
        refuse_unknown(self.level, &["name"], &OF_LEVELS)?;
        let level = value_of(self.level, "name");
        let level = name(level.ok_or_else(|| missing(self.at.clone(), "a level", "name"))?)?;
        self.name = format!("level '{}'", shown(&level));
        let profile = Profile {
            server: server.to_owned(),
            level,
            promises: self.word("promises")?,
            known_by: self.word("known-by")?,
            reads: self.word("reads")?,
            locking_reads: self.word("locking-reads")?,
            snapshot_at: self.word("snapshot-at")?,
            locks: self.word("locks")?,
            modes: self.modes()?,
            range_locks: self.flag("range-locks")?,
            savepoints_release_locks: self.flag("savepoints-release-locks")?,
            first_updater_wins: self.flag("first-updater-wins")?,
            idle_updates_vanish: self.flag("idle-updates-vanish")?,
            certifier: self.word("certifier")?,
            ending_errors: self.texts("ending-errors")?,
        };
        match contradiction(&profile) {
            Some(why) => {
                let level = shown(&profile.level);
                Err((self.at, ProfileProblem::Contradiction { level, why }))
            }
            None => Ok(profile),
        }
    }

    /// What the level says, or else the file.
    fn value(&self, key: &'static str) -> Result<&Spanned<DeValue<'_>>, Trouble> {
        let value = value_of(self.level, key).or_else(|| value_of(self.file, key));
        value.ok_or_else(|| missing(self.at.clone(), &self.name, key))
    }

    fn word<W: Word>(&self, key: &'static str) -> Result<W, Trouble> {
        word(self.value(key)?)
    }

    fn flag(&self, key: &'static str) -> Result<bool, Trouble> {
        let value = self.value(key)?;
        value.get_ref().as_bool().ok_or_else(|| wrong_kind(value, "true or false"))
    }

    fn texts(&self, key: &'static str) -> Result<Vec<String>, Trouble> {
        let value = self.value(key)?;
        let items =
            value.get_ref().as_array().ok_or_else(|| wrong_kind(value, "a list of texts"))?;
        limit(value, items.len(), MOST_ERRORS, "errors")?;
        items.iter().map(name).collect()
    }

    fn modes(&self) -> Result<LockModes, Trouble> {
        let value = self.value("modes")?;
        let table = value.get_ref().as_table().ok_or_else(|| {
            wrong_kind(value, "a table such as { read = \"none\", update = \"exclusive\", ... }")
        })?;
        refuse_unknown(table, &[], &OF_MODES)?;
        let mode =
            |key| word(value_of(table, key).ok_or_else(|| missing(value.span(), "'modes'", key))?);
        Ok(LockModes {
            read: mode("read")?,
            update: mode("update")?,
            insert: mode("insert")?,
            delete: mode("delete")?,
        })
    }
}

/// Mechanisms that cannot be those of one level: the checks that follow from them would mean nothing.
fn contradiction(profile: &Profile) -> Option<&'static str> {
    let locks = profile.locks != LockScope::None;
    let of_transactions = profile.reads == PlainReads::TransactionSnapshot;
    let by_snapshot = matches!(profile.certifier, Certifier::Ssi | Certifier::BackwardValidation);
    if profile.reads == PlainReads::Locked && !(locks && profile.modes.read != LockMode::None) {
        Some("reads = \"locked\" needs locks, and a mode for read")
    } else if profile.first_updater_wins && profile.reads == PlainReads::StatementSnapshot {
        Some("first-updater-wins compares with the snapshot of a transaction, and there is none")
    } else if by_snapshot && !of_transactions {
        Some("this certifier needs reads = \"transaction-snapshot\"")
    } else {
        None
    }
}

fn value_of<'a>(table: &'a DeTable<'a>, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
    table.get(key)
}

fn refuse_unknown(
    table: &DeTable<'_>,
    own: &[&'static str],
    shared: &[&'static str],
) -> Result<(), Trouble> {
    let known = || own.iter().chain(shared).copied();
    // Tables are sorted by key: the first complaint is to be the first of the file.
    let unknown = table.keys().filter(|key| known().all(|k| k != key.get_ref().as_ref()));
    let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
    let problem =
        ProfileProblem::UnknownKey { key: shown(key.get_ref()), known: known().collect() };
    Err((key.span(), problem))
}

fn word<W: Word>(value: &Spanned<DeValue<'_>>) -> Result<W, Trouble> {
    let words = W::words();
    let text = value.get_ref().as_str();
    if let Some((_, word)) = words.iter().find(|(name, _)| Some(*name) == text) {
        return Ok(*word);
    }
    let known = words.into_iter().map(|(name, _)| name).collect();
    Err((value.span(), ProfileProblem::UnknownWord { found: found(value), known }))
}

/// A text that is not empty.
fn name(value: &Spanned<DeValue<'_>>) -> Result<String, Trouble> {
    let text = value.get_ref().as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong_kind(value, "a text that is not empty"))
}

fn wrong_kind(value: &Spanned<DeValue<'_>>, expected: &'static str) -> Trouble {
    (value.span(), ProfileProblem::WrongKind { expected, found: found(value) })
}

fn limit(
    value: &Spanned<DeValue<'_>>,
    count: usize,
    most: usize,
    what: &'static str,
) -> Result<(), Trouble> {
    if count > most {
        return Err((value.span(), ProfileProblem::TooMany { what, most }));
    }
    Ok(())
}

fn missing(at: Range<usize>, table: &str, key: &'static str) -> Trouble {
    (at, ProfileProblem::Missing { table: table.to_owned(), key })
}

/// What stands somewhere: a text itself, of anything else its kind.
fn found(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("'{}'", shown(text)),
        DeValue::Integer(_) => "an integer".to_owned(),
        DeValue::Float(_) => "a float".to_owned(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// A text as a terminal may show it, shortened.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(MOST_SHOWN).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", printable(&short))
}

/// The line and the column of a byte, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    (line + 1, column + 1)
}
