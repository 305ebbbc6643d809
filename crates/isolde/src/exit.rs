//! How the command ends: what its exit code says to scripts.

/// The level holds, or there was nothing to decide.
pub(crate) const EXIT_OK: u8 = 0;
/// A level is violated.
pub(crate) const EXIT_VIOLATED: u8 = 1;
/// The input or the environment is at fault.
pub(crate) const EXIT_FAULT: u8 = 2;
/// Ctrl-C ended it, and nothing was violated: what a shell reports of such a command.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;
/// It cannot be decided.
pub(crate) const EXIT_UNKNOWN: u8 = 3;

/// `isolde ... | head` ends early, and is no error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|e| e.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
