//! How the command ends: what its exit code says to scripts.

use isolde_report::Decided;

/// The level holds, or there was nothing to decide.
pub(crate) const EXIT_OK: u8 = 0;
/// A level is violated.
pub(crate) const EXIT_VIOLATED: u8 = 1;
/// The input or the environment is at fault.
pub(crate) const EXIT_FAULT: u8 = 2;
/// It went wrong in a way that it should not: what Rust's own programs end with.
pub(crate) const EXIT_PANIC: u8 = 101;
/// It cannot be decided.
pub(crate) const EXIT_UNKNOWN: u8 = 3;

/// A signal ended it, and nothing was violated: what a shell reports of such a command. 130 after Ctrl-C, 143
/// after SIGTERM, 129 after SIGHUP.
pub(crate) fn exit_of_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(EXIT_FAULT, |signal| signal.saturating_add(128))
}

/// `isolde ... | head` ends early, and is no error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|e| e.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Where no level was named, one that holds is enough.
pub(crate) fn exit_code(decided: &[Decided], any: bool) -> u8 {
    let holds = |wanted: Option<bool>| decided.iter().any(|d| d.verdict.holds() == wanted);
    let open = decided.iter().any(|d| d.verdict.is_open());
    match (any && holds(Some(true)), holds(Some(false)), open) {
        (true, _, _) => EXIT_OK,
        (_, true, _) => EXIT_VIOLATED,
        (_, _, true) => EXIT_UNKNOWN,
        _ => EXIT_OK,
    }
}
