//! Names that look like slips: `"outcme"` is an attribute like any other, and was hardly meant so.

use hashbrown::HashSet;

use crate::builder::Warnings;
use crate::jsonl::reserved;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Input;
use crate::value::Value;

/// What kind of object a member belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Object {
    Transaction,
    Statement,
    /// A header or trailer.
    Header,
}

impl Object {
    /// The members that the writer of the file may have meant.
    const fn members(self) -> &'static [&'static str] {
        match self {
            Object::Transaction => reserved::TRANSACTION,
            Object::Statement => reserved::STATEMENT,
            Object::Header => &["isolde", "clock", "complete", "initial"],
        }
    }
}

/// The names that a reader has met, each checked once.
#[derive(Default)]
pub(super) struct OddNames {
    checked: HashSet<(Value, Object)>,
    pub(super) found: Vec<OddName>,
}

/// A name that is one slip away from a member's.
pub(super) struct OddName {
    pub(super) offset: usize,
    name: Value,
    object: Object,
    message: String,
}

impl OddNames {
    /// Looks at a member that the format does not know.
    pub(super) fn check(&mut self, object: Object, offset: usize, name: Value, pool: &Pool) {
        if !self.checked.insert((name, object)) {
            return;
        }
        let text = pool.as_text(name).unwrap_or_default();
        let meant = object.members().iter().find(|m| one_slip(text.as_bytes(), m.as_bytes()));
        if let Some(meant) = meant {
            let kept = if object == Object::Header { "a fact" } else { "an attribute" };
            let text = text.escape_debug();
            let message = format!("\"{text}\" is kept as {kept}; was \"{meant}\" meant?");
            self.found.push(OddName { offset, name, object, message });
        }
    }

    /// Forgets what was found since there were `count`: it belongs to a line that is something else.
    pub(super) fn forget_since(&mut self, count: usize) {
        for odd in self.found.drain(count.min(self.found.len())..) {
            self.checked.remove(&(odd.name, odd.object));
        }
    }
}

/// Tells the user of odd names, once each, however many readers have found them.
#[derive(Default)]
pub(super) struct Reporter {
    said: HashSet<String>,
}

impl Reporter {
    /// Reports names whose offsets count from `base`, in an input that starts after `lines` others.
    pub(super) fn report<S: Sink + ?Sized>(
        &mut self,
        found: impl Iterator<Item = OddName>,
        input: &Input,
        (base, lines): (usize, u64),
        sink: &mut S,
    ) {
        for odd in found {
            // To find a line takes a look at the whole text before it: not for each of a million names.
            if self.said.len() < Warnings::KEPT && self.said.insert(odd.message.clone()) {
                let mut warning = input.text_warning(base + odd.offset, odd.message);
                warning.position = warning.position.lines_later(lines);
                sink.warn(warning);
            }
        }
    }
}

/// Whether one insertion, deletion, substitution or swap of neighbours makes one name the other.
fn one_slip(a: &[u8], b: &[u8]) -> bool {
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&a[..a.len() - suffix], &b[..b.len() - suffix]) {
        ([_], [] | [_]) | ([], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::one_slip;

    #[test]
    fn one_slip_is_one_letter_or_two_neighbours() {
        for slip in ["utcome", "outcomee", "ooutcome", "outcme", "outcame", "outcoem", "uotcome"] {
            assert!(one_slip(slip.as_bytes(), b"outcome"), "{slip}");
            assert!(one_slip(b"outcome", slip.as_bytes()), "{slip}");
        }
        for other in ["outcome", "", "outc", "otcme", "emoctuo", "outcmoe!", "comeout"] {
            assert!(!one_slip(other.as_bytes(), b"outcome"), "{other}");
        }
        assert!(one_slip(b"", b"t"));
        assert!(!one_slip(b"", b"ts"));
    }
}
