//! What one verdict says about other promises.
//!
//! A history that keeps a promise keeps every promise that it implies, and one that breaks a promise
//! breaks every promise that implies it. A procedure may leave a question open that another question,
//! asked of another procedure, decides. [`by_others`] asks them all, so that no set of answers
//! contradicts the order of the levels, whichever of them are asked for, and in which order.

use isolde_spec::{Promise, Verdict};

/// The verdict of a promise that stayed open, if another promise decides it. The weaker ones come
/// first: what is violated there has the plainest witness, and most of them are quickly decided.
pub(crate) fn by_others(
    promise: Promise,
    others: &[Promise],
    mut ask: impl FnMut(Promise) -> Verdict,
) -> Option<Verdict> {
    let equal = |p: &&Promise| p.implies(promise) && promise.implies(**p);
    let weaker = others.iter().filter(|p| promise.implies(**p) && !equal(p));
    let stronger = others.iter().filter(|p| p.implies(promise) && !equal(p));
    let broken = weaker.copied().map(&mut ask).find(|v| v.holds() == Some(false));
    if let Some(verdict) = broken {
        return Some(broken_with(&verdict, promise));
    }
    let kept = stronger.copied().map(&mut ask).find(|v| v.holds() == Some(true));
    kept.map(|verdict| implied(&verdict, promise))
}

/// The verdict of a promise that follows from another one, which holds.
pub(crate) fn implied(verdict: &Verdict, promise: Promise) -> Verdict {
    let mut implied = Verdict { promise, ..verdict.clone() };
    if let Some(named) = named(verdict.promise, promise) {
        implied.procedure.why = format!("it follows from {named}, which holds");
    }
    implied
}

/// The verdict of a promise that implies another one, which is violated.
fn broken_with(verdict: &Verdict, promise: Promise) -> Verdict {
    let mut broken = Verdict { promise, ..verdict.clone() };
    if let Some(named) = named(verdict.promise, promise) {
        broken.procedure.why = format!("it implies {named}, which is violated");
    }
    broken
}

/// What a promise is called beside another one; nothing if they are the same.
fn named(promise: Promise, beside: Promise) -> Option<String> {
    let level = promise.level;
    if promise.by != beside.by {
        return Some(Promise { session_order: true, ..promise }.to_string());
    }
    if level != beside.level {
        return Some(level.to_string());
    }
    let with = if promise.session_order { "with" } else { "without" };
    (promise != beside).then(|| format!("the level {with} session order"))
}
