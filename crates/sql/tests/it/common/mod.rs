//! What tests against real servers share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use isolde_target::{OpenOptions, Target, open};

/// A throwaway server; nothing if it is not installed here, which is said loudly. On CI that is a
/// failure: there, a test that did not run is no test.
pub(crate) fn server(kind: &str) -> Option<Box<dyn Target>> {
    match open(kind, &OpenOptions::default()) {
        Ok(target) => Some(target),
        Err(error) if error.to_string().contains("install") => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}
