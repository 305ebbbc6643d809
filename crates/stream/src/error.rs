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
}
