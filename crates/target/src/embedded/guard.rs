//! Engines are strangers in our process: what they do wrong stays theirs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{After, Failure};

/// Runs something of an engine. A panic becomes a failure after which nothing is certain: the
/// session is to be given up, and if the call was a commit its outcome is unknown.
///
/// Asserting unwind safety is right since nothing of ours is changed inside, and what is the
/// engine's is not used again by the session.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        Err(Failure::new(After::Lost, "panic", format!("the engine panicked: {}", said(&*panic))))
    })
}

/// Drops something of an engine, which may panic if an earlier call did.
pub(crate) fn drop_guarded<T>(thing: T) {
    // No caller is left to be told: the code that drops a transaction has its failure already.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(thing)));
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure() {
        let lost = guarded::<()>(|| panic!("index out of bounds")).unwrap_err();
        assert_eq!((lost.after, lost.code.as_str()), (After::Lost, "panic"));
        assert_eq!(lost.message, "the engine panicked: index out of bounds");
        let why = String::from("worse");
        assert!(guarded::<()>(move || panic!("{why}")).unwrap_err().message.ends_with("worse"));
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
