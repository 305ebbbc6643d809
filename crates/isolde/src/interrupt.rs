//! Ctrl-C: once to end the run and check what was recorded, twice to stop at once.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use anyhow::{Context, Result};

/// Set when the user wants the run to end.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicU8 = AtomicU8::new(0);

/// What a shell reports of a command that Ctrl-C ended.
const EXIT_INTERRUPTED: i32 = 130;

/// From now on the first Ctrl-C (or SIGTERM, SIGHUP) sets [`STOP`], and the second one exits.
/// Servers that were started for the run go away with the process, whichever way it ends.
pub(crate) fn listen() -> Result<()> {
    let handler = || {
        if PRESSED.fetch_add(1, Ordering::SeqCst) > 0 {
            anstream::eprintln!("\nstopped; a server of yours may be left with tables isolde_...");
            std::process::exit(EXIT_INTERRUPTED);
        }
        STOP.store(true, Ordering::SeqCst);
        anstream::eprintln!("\nending the run; once more to stop at once");
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}

/// Whether the user wants the run to end.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}
