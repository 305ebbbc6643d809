//! What can be wrong with a file of profiles, and with the name of one.

use thiserror::Error;

/// A file of profiles that cannot be used: where, and why not.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ProfileError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1; it counts bytes, as in all inputs.
    pub column: usize,
    /// What is wrong there.
    pub problem: ProfileProblem,
}

/// What is wrong with a file of profiles.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProfileProblem {
    /// Nobody writes so much by hand: it is some other file.
    #[error("a file of profiles has at most {most} bytes")]
    TooLong {
        /// How many bytes are read.
        most: usize,
    },
    /// More of something than any server has.
    #[error("at most {most} {what} are read")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many are read.
        most: usize,
    },
    /// It is no TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key that has no meaning there.
    #[error("unknown key '{key}', expected one of {}", known.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// Those that have one.
        known: Vec<&'static str>,
    },
    /// A word that has no meaning there, or no word at all.
    #[error("expected one of {}, found {found}", known.join(", "))]
    UnknownWord {
        /// What stands there.
        found: String,
        /// The words that have one.
        known: Vec<&'static str>,
    },
    /// A value of another kind.
    #[error("expected {expected}, found {found}")]
    WrongKind {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// Something is not said.
    #[error("{table} has no '{key}'")]
    Missing {
        /// Of what.
        table: String,
        /// What.
        key: &'static str,
    },
    /// Two levels have one name.
    #[error("there is already a level '{name}'")]
    Twice {
        /// The name.
        name: String,
    },
    /// Two things that are said cannot both be true.
    #[error("level '{level}': {why}")]
    Contradiction {
        /// Of which level.
        level: String,
        /// Which two.
        why: &'static str,
    },
}

/// A name that no built-in profile has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no profile '{name}'; known: {}", known.join(", "))]
pub struct UnknownProfile {
    /// The name.
    pub name: String,
    /// The profiles of that server; all of them if the server is unknown, too.
    pub known: Vec<String>,
}
