//! The shape that most lines have, without detours: as our writer writes it, or with a space after
//! each colon and comma, as the JSON libraries of other languages do.
//!
//! `{"session":3,"txn":12,"outcome":"aborted","interval":[1,2],"ts":[1,2],"ops":[["r",17,1]]}`, where
//! all but the session and the operations may be missing and the names are integers or texts.
//! Anything else, right or wrong, is left to the general reader, which starts the line again.

use crate::draft::TxnDraft;
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::op::Effect;
use crate::pool::Pool;
use crate::value::Value;

/// Reads a transaction from the beginning of `bytes` into the draft and says how long its line is,
/// the end included; `None` if it does not have the common shape.
#[inline]
pub(super) fn transaction(
    bytes: &[u8],
    pool: &mut Pool,
    draft: &mut TxnDraft,
    elements: &mut Vec<Value>,
) -> Option<usize> {
    let mut scan = Scan { rest: bytes };
    scan.word(b"{\"session\":")?;
    scan.space();
    let session = scan.atom(pool)?;
    scan.comma()?;
    if let [b'"', b'e' | b'w', ..] = scan.rest {
        // Perhaps a promise ("end", "watermark"), which may name a session that there never is.
        return None;
    }
    draft.reset(pool.session(session));
    if scan.member(b"\"txn\":") {
        draft.label = Some(scan.atom(pool)?);
        scan.comma()?;
    }
    if !scan.member(b"\"ops\":") {
        scan.evidence(draft)?;
        scan.member(b"\"ops\":").then_some(())?;
    }
    scan.word(b"[")?;
    if !scan.eat(b"]}") {
        scan.operations(pool, draft, elements)?;
        scan.word(b"}")?;
    }
    let _ = scan.eat(b"\r");
    if !scan.eat(b"\n") && !scan.rest.is_empty() {
        return None;
    }
    Some(bytes.len() - scan.rest.len())
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    #[inline]
    fn eat(&mut self, word: &[u8]) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.eat(word).then_some(())
    }

    /// The space that many writers leave after a colon or a comma.
    #[inline]
    fn space(&mut self) {
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// The name of a member, colon included.
    #[inline]
    fn member(&mut self, name: &[u8]) -> bool {
        let hit = self.eat(name);
        if hit {
            self.space();
        }
        hit
    }

    #[inline]
    fn comma(&mut self) -> Option<()> {
        self.member(b",").then_some(())
    }

    /// An integer of up to 64 bits, written as JSON writes it.
    #[inline]
    fn int(&mut self) -> Option<i64> {
        let (digits, negative) = match self.rest {
            [b'-', digits @ ..] => (digits, true),
            digits => (digits, false),
        };
        let mut n: u64 = 0;
        let mut len = 0;
        // Nineteen digits fit in any case; a twentieth is left standing, and nothing expects it.
        for &byte in digits.iter().take(19) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            n = n * 10 + u64::from(digit);
            len += 1;
        }
        if len == 0 || (len > 1 && digits[0] == b'0') {
            return None;
        }
        self.rest = &digits[len..];
        let n = i64::try_from(n).ok()?;
        Some(if negative { -n } else { n })
    }

    /// An integer, a text without escapes, or `null`.
    #[inline]
    fn atom(&mut self, pool: &mut Pool) -> Option<Value> {
        match self.rest.first()? {
            b'"' => self.text(pool),
            b'n' => self.word(b"null").map(|()| Value::ABSENT),
            _ => self.int().map(|i| pool.int(i)),
        }
    }

    fn text(&mut self, pool: &mut Pool) -> Option<Value> {
        let text = &self.rest[1..];
        let len = text.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20)?;
        let (text, rest) = text.split_at(len);
        self.rest = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok().map(|t| pool.text(t))
    }

    /// What may stand between the label and the operations.
    fn evidence(&mut self, draft: &mut TxnDraft) -> Option<()> {
        if self.member(b"\"outcome\":") {
            self.word(b"\"")?;
            let outcome = Outcome::ALL.into_iter().find(|o| self.eat(o.name().as_bytes()));
            draft.outcome = outcome?;
            self.word(b"\"")?;
            self.comma()?;
        }
        if self.member(b"\"interval\":") {
            self.word(b"[")?;
            let begin = self.optional(Scan::int)?;
            self.comma()?;
            draft.interval = Interval { begin, end: self.optional(Scan::int)? };
            self.word(b"]")?;
            self.comma()?;
        }
        if self.member(b"\"ts\":") {
            self.word(b"[")?;
            draft.start = self.optional(Scan::timestamp)?;
            self.comma()?;
            draft.commit = self.optional(Scan::timestamp)?;
            self.word(b"]")?;
            self.comma()?;
        }
        Some(())
    }

    fn optional<T>(&mut self, read: impl Fn(&mut Scan<'a>) -> Option<T>) -> Option<Option<T>> {
        if self.eat(b"null") { Some(None) } else { read(self).map(Some) }
    }

    fn timestamp(&mut self) -> Option<Timestamp> {
        if !self.eat(b"[") {
            return self.int().map(Timestamp::plain);
        }
        let physical = self.int()?;
        self.comma()?;
        let logical = self.int()?;
        self.word(b"]")?;
        Some(Timestamp { physical, logical })
    }

    /// The operations up to the bracket that ends their array.
    #[inline]
    fn operations(
        &mut self,
        pool: &mut Pool,
        draft: &mut TxnDraft,
        elements: &mut Vec<Value>,
    ) -> Option<()> {
        loop {
            if self.member(b"[\"r\",") {
                let name = self.atom(pool)?;
                let value = if self.member(b",") { self.atom(pool)? } else { Value::UNOBSERVED };
                draft.read(pool.key(name), value);
            } else if self.member(b"[\"w\",") {
                let name = self.atom(pool)?;
                self.comma()?;
                let value = self.atom(pool)?;
                draft.write(pool.key(name), value);
            } else if self.eat(b"[\"cas") {
                let effect = self.effect()?;
                let name = self.atom(pool)?;
                self.comma()?;
                let expected = self.atom(pool)?;
                self.comma()?;
                let new = self.atom(pool)?;
                draft.cas(pool.key(name), expected, new, effect);
            } else if self.eat(b"[\"insert") {
                let effect = self.effect()?;
                let name = self.atom(pool)?;
                self.comma()?;
                let value = self.atom(pool)?;
                draft.insert_if_absent(pool.key(name), value, effect);
            } else {
                self.list_operation(pool, draft, elements)?;
            }
            self.word(b"]")?;
            if !self.member(b",") {
                return self.word(b"]");
            }
        }
    }

    /// What stands behind the kind of an operation: whether it was done, the quote, the comma.
    #[inline]
    fn effect(&mut self) -> Option<Effect> {
        let effect = match self.rest.first()? {
            b'!' => Effect::Failed,
            b'?' => Effect::Unknown,
            _ => Effect::Done,
        };
        if effect != Effect::Done {
            self.rest = &self.rest[1..];
        }
        self.word(b"\"")?;
        self.comma()?;
        Some(effect)
    }

    fn list_operation(
        &mut self,
        pool: &mut Pool,
        draft: &mut TxnDraft,
        elements: &mut Vec<Value>,
    ) -> Option<()> {
        if self.member(b"[\"append\",") {
            let name = self.atom(pool)?;
            self.comma()?;
            let value = self.atom(pool)?;
            draft.append(pool.key(name), value);
            return Some(());
        }
        self.member(b"[\"list\",").then_some(())?;
        let name = self.atom(pool)?;
        self.comma()?;
        self.word(b"[")?;
        elements.clear();
        while !self.eat(b"]") {
            if !elements.is_empty() {
                self.comma()?;
            }
            elements.push(self.atom(pool)?);
        }
        draft.list_read(pool.key(name), Some(elements)).ok()
    }
}
