//! Why a watch cannot begin, or cannot go on.

use isolde_stream::StreamError;

/// Why a watch cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Something is wrong with the source, or with what was asked.
    #[error("{0}")]
    Source(String),
    /// The stream cannot go on.
    #[error(transparent)]
    Stream(#[from] StreamError),
}
