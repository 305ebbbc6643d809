//! Why a stream cannot go on.

/// Why a stream cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// There are no rules for the promise by timestamps.
    #[error("{0}")]
    NoRules(String),
    /// What does not fit into memory could not be written, or not be read again.
    #[error("{folder}: {error}")]
    Spill {
        /// Where.
        folder: String,
        /// Why.
        error: std::io::Error,
    },
    /// Another stream writes to the folder.
    #[error("{folder} is in use: another watch keeps its state there")]
    InUse {
        /// Where.
        folder: String,
    },
    /// All that came is in the state, and that is more than may be kept.
    #[error(
        "{folder} has all that came, and no room for more than {keep} bytes (--keep)\n  \
         hint: begin anew in another folder, or with a larger --keep"
    )]
    LogFull {
        /// Where.
        folder: String,
        /// What may be kept.
        keep: u64,
    },
    /// The state of an earlier stream cannot be used.
    #[error("{file} cannot be used: {why}\n  hint: begin anew in another folder")]
    State {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
}
