//! What holds for the whole of a stream, whichever of its headers came first: what the user said, and what keys hold
//! at first. There is one initial state; a header that says another one is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isolde_history::notation::{parse_value, write_value};
use isolde_history::{History, HistoryBuilder, Pool, Sink as _, Value};

use crate::head::Head;
use crate::said::Said;

/// What holds for the whole of a stream.
#[derive(Default)]
pub(crate) struct Agreed {
    pub(crate) said: Said,
    initial: Mutex<Option<Initial>>,
    /// Whether it was told that nobody said what keys hold at first.
    told: AtomicBool,
    /// Whether it was told that `--initial` goes before a header.
    overruled: AtomicBool,
}

/// The initial state of the stream.
struct Initial {
    says: InitialSays,
    /// Whether a header says it, and not only nobody anything else.
    is_said: bool,
    /// Who said it first in this watch.
    head: Option<Arc<Head>>,
}

/// An initial state, to be compared with those of other pools.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct InitialSays {
    /// What all keys hold that are not listed.
    default: Option<String>,
    /// The listed keys: how many, and a hash of them that does not depend on their order.
    given: (usize, u64),
}

/// Why a header is refused.
const ANOTHER: &str = "the stream began with another initial state, and has only one\n  \
                       hint: --initial says it for all of the stream";

impl Agreed {
    pub(crate) fn new(said: Said) -> Arc<Agreed> {
        Arc::new(Agreed { said, ..Agreed::default() })
    }

    /// A header says what keys hold at first: that is so for the stream, unless something else is.
    pub(crate) fn agree(&self, head: &Arc<Head>) -> Result<(), String> {
        let mut initial = self.initial();
        self.may_be(&initial, head)?;
        if head.says_initial() {
            let first = || {
                let says = self.says(head.history());
                Initial { says, is_said: true, head: Some(Arc::clone(head)) }
            };
            initial.get_or_insert_with(first).is_said = true;
        }
        Ok(())
    }

    /// That the user has said something else than a header, if so; once.
    pub(crate) fn overrules(&self, head: &Head) -> Option<String> {
        let said = self.said.initial.as_ref().filter(|_| head.says_initial())?;
        let (pool, initial) = (head.history().pool(), &head.history().meta().initial);
        // That keys are absent may just not be said.
        let header = text(pool, initial.default.filter(|value| *value != Value::ABSENT)?);
        let mut own = Pool::new();
        let same = parse_value(said, &mut own).is_ok_and(|value| text(&own, value) == header);
        (!same && !self.overruled.swap(true, Ordering::SeqCst)).then(|| {
            format!("--initial {said} replaces the initial value that the header says: {header}")
        })
    }

    /// Whether a header could be agreed to.
    pub(crate) fn is_agreeable(&self, head: &Head) -> Result<(), String> {
        self.may_be(&self.initial(), head)
    }

    fn may_be(&self, initial: &Option<Initial>, head: &Head) -> Result<(), String> {
        let is_other = |initial: &Initial| initial.says != self.says(head.history());
        match initial.as_ref().filter(|_| head.says_initial()) {
            Some(initial) if is_other(initial) => Err(ANOTHER.to_owned()),
            _ => Ok(()),
        }
    }

    /// A last line says what keys hold at first, too late to count: is it what holds?
    pub(crate) fn confirm(&self, said: &History) -> Result<(), String> {
        let says = self.says(said);
        let initial = self.initial();
        let holds = initial.as_ref().is_some_and(|initial| initial.says == says);
        if holds || (initial.is_none() && says == self.nothing()) {
            return Ok(());
        }
        Err(ANOTHER.to_owned())
    }

    /// A stream goes on that began with this.
    pub(crate) fn goes_on(&self, header: &History) {
        let says = self.says(header);
        *self.initial() = Some(Initial { says, is_said: false, head: None });
    }

    /// What a stream begins with: what a batch says of the run, and the initial state. If nobody has said one by now, every
    /// key is absent at first.
    pub(crate) fn beginning(&self, batch: &History) -> History {
        let mut builder = HistoryBuilder::new();
        let mut initial = self.initial();
        let nothing = || Initial { says: self.nothing(), is_said: false, head: None };
        let initial = initial.get_or_insert_with(nothing);
        let mut state = isolde_history::InitialState::every(Value::ABSENT);
        if let Some(head) = &initial.head {
            let history = head.history();
            history.copy_meta(&history.meta().initial.given, &mut builder);
            state = builder.meta().initial.clone();
        }
        batch.copy_meta(&[], &mut builder);
        builder.meta().initial = state;
        self.said.apply(&mut builder);
        builder.finish()
    }

    /// Whether it has to be told now that nobody says what keys hold at first, where no format says it either.
    pub(crate) fn is_unsaid(&self) -> bool {
        let initial = self.initial();
        let is_said = initial.as_ref().is_some_and(|initial| initial.is_said);
        !is_said && self.said.initial.is_none() && !self.told.swap(true, Ordering::SeqCst)
    }

    fn initial(&self) -> MutexGuard<'_, Option<Initial>> {
        self.initial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a header without a word of it says.
    fn nothing(&self) -> InitialSays {
        let default = self.said.initial.is_none().then(|| text(&Pool::new(), Value::ABSENT));
        InitialSays { default, given: (0, 0) }
    }

    /// What is said, as far as the user has not said otherwise.
    fn says(&self, history: &History) -> InitialSays {
        let (pool, initial) = (history.pool(), &history.meta().initial);
        let default = initial.default.filter(|_| self.said.initial.is_none());
        let hashes = initial.given.iter().map(|&(key, value)| {
            let text = format!("{}={}", text(pool, pool.key_name(key)), text(pool, value));
            fnv(text.as_bytes())
        });
        let given = (initial.given.len(), hashes.fold(0, u64::wrapping_add));
        InitialSays { default: default.map(|value| text(pool, value)), given }
    }
}

fn text(pool: &Pool, value: Value) -> String {
    let mut text = String::new();
    write_value(pool, value, &mut text);
    text
}

fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    // Sums of hashes are compared, so they should have nothing in common with sums of texts.
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;

    fn head(agreed: &Arc<Agreed>, line: &str) -> Arc<Head> {
        let decoder = Decoder { name: "s".to_owned(), agreed: Arc::clone(agreed), head: None };
        Arc::new(decoder.header(line.as_bytes(), 1).unwrap().unwrap())
    }

    #[test]
    fn what_the_user_says_goes_before_a_header_and_that_is_told_once() {
        let said = Said { initial: Some("0".to_owned()), ..Said::default() };
        let agreed = Agreed::new(said);
        let told = |line: &str| agreed.overrules(&head(&agreed, line));
        assert_eq!(told(r#"{"isolde":1,"initial":{"default":0}}"#), None);
        assert_eq!(told(r#"{"isolde":1}"#), None);
        let other = r#"{"isolde":1,"initial":{"default":5}}"#;
        assert!(told(other).unwrap().contains("--initial 0 replaces the initial value"));
        assert_eq!(told(other), None);
    }

    #[test]
    fn a_stream_has_one_initial_state() {
        let agreed = Agreed::new(Said::default());
        let says = |line: &str| agreed.agree(&head(&agreed, line)).is_ok();
        assert!(says(r#"{"isolde":1}"#), "nothing is said yet");
        assert!(says(r#"{"isolde":1,"initial":{"default":0,"keys":[["x",1],["y","b"]]}}"#));
        assert!(says(r#"{"isolde":1,"initial":{"keys":[["y","b"],["x",1]],"default":0}}"#));
        assert!(says(r#"{"isolde":1,"level":"si"}"#));
        assert!(!says(r#"{"isolde":1,"initial":{"default":0}}"#));
        assert!(!says(r#"{"isolde":1,"initial":{"default":1,"keys":[["x",1],["y","b"]]}}"#));
        let batch = isolde_history::notation::parse("a: w(z,1)").unwrap();
        let begins = agreed.beginning(&batch);
        assert_eq!(begins.meta().initial.default, Some(Value::from_u32(0)));
        assert_eq!((begins.meta().initial.given.len(), begins.txn_count()), (2, 0));
    }

    #[test]
    fn what_the_user_says_goes_before_what_headers_say() {
        let said = Said { initial: Some("7".to_owned()), facts: Vec::new() };
        let agreed = Agreed::new(said);
        for line in [r#"{"isolde":1,"initial":{"default":0}}"#, r#"{"isolde":1,"initial":{}}"#] {
            assert!(agreed.agree(&head(&agreed, line)).is_ok(), "{line}");
        }
        let begins = agreed.beginning(&HistoryBuilder::new().finish());
        assert_eq!(begins.meta().initial.default, Some(Value::from_u32(7)));
    }

    #[test]
    fn what_a_header_said_is_said_after_a_restart_too() {
        let before = Agreed::new(Said::default());
        let header = head(&before, r#"{"isolde":1,"initial":{"default":0}}"#);
        assert!(before.is_unsaid() && before.agree(&header).is_ok());
        let begun = before.beginning(&HistoryBuilder::new().finish());
        let after = Agreed::new(Said::default());
        after.goes_on(&begun);
        assert!(after.agree(&header).is_ok() && !after.is_unsaid());
        assert!(after.agree(&head(&after, r#"{"isolde":1,"initial":{"default":1}}"#)).is_err());
    }

    #[test]
    fn a_header_comes_too_late_if_transactions_came_without_one() {
        let agreed = Agreed::new(Said::default());
        agreed.beginning(&HistoryBuilder::new().finish());
        let says = |line: &str| agreed.agree(&head(&agreed, line)).is_ok();
        assert!(says(r#"{"isolde":1,"initial":{"default":null}}"#));
        assert!(!says(r#"{"isolde":1,"initial":{"default":0}}"#));
    }
}
