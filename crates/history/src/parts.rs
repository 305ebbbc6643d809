//! What a history holds beside its operations, part by part, and the same history without some of it.

use std::fmt::Write as _;

use crate::attributes::Entity;
use crate::builder::HistoryBuilder;
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::evidence::Interval;
use crate::history::History;
use crate::ids::Key;
use crate::lost_commit::LostCommit;
use crate::meta::{Event, InitialState, info};
use crate::notation::write_value;
use crate::op::OpKind;
use crate::pool::Pool;
use crate::remap::Remap;
use crate::session_event::SessionEvent;
use crate::sink::Sink;
use crate::stream_promise::StreamPromise;
use crate::value::Value;

/// Something that a history may hold beside its operations, and that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryPart {
    /// When transactions and statements began and ended.
    Intervals,
    /// Timestamps of the database.
    Timestamps,
    /// Facts about the run.
    Meta,
    /// What happened on the time line and was no transaction.
    Events,
    /// Orders of versions, as the recorder knew them.
    Orders,
    /// Attributes of transactions, statements and operations.
    Attributes,
    /// Which operations were one statement.
    Statements,
    /// Names of transactions; and names of keys and sessions that are no numbers.
    Names,
    /// An initial value that is not absent: reads of it become reads of an absent key.
    Initial,
    /// That transactions are missing.
    Incomplete,
}

impl HistoryPart {
    /// All of them.
    pub const ALL: [HistoryPart; 10] = [
        HistoryPart::Intervals,
        HistoryPart::Timestamps,
        HistoryPart::Meta,
        HistoryPart::Events,
        HistoryPart::Orders,
        HistoryPart::Attributes,
        HistoryPart::Statements,
        HistoryPart::Names,
        HistoryPart::Initial,
        HistoryPart::Incomplete,
    ];

    /// What `--drop` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            HistoryPart::Intervals => "intervals",
            HistoryPart::Timestamps => "timestamps",
            HistoryPart::Meta => "meta",
            HistoryPart::Events => "events",
            HistoryPart::Orders => "orders",
            HistoryPart::Attributes => "attributes",
            HistoryPart::Statements => "statements",
            HistoryPart::Names => "names",
            HistoryPart::Initial => "initial",
            HistoryPart::Incomplete => "incomplete",
        }
    }

    /// The part of that name.
    pub fn named(name: &str) -> Option<HistoryPart> {
        HistoryPart::ALL.into_iter().find(|part| part.name() == name)
    }
}

impl History {
    /// The parts that there are, with what each holds.
    pub fn parts(&self) -> Vec<(HistoryPart, String)> {
        let held = |part| Some((part, self.held(part)?));
        HistoryPart::ALL.into_iter().filter_map(held).collect()
    }

    /// What a part holds, in words; `None` if there is nothing of it.
    fn held(&self, part: HistoryPart) -> Option<String> {
        let columns = self.columns();
        let some = |there: bool, text: &str| there.then(|| text.to_owned());
        match part {
            HistoryPart::Intervals => {
                let txns = !columns.txn_begin.is_empty() || !columns.txn_end.is_empty();
                let stmts = !columns.stmt_begin.is_empty() || !columns.stmt_end.is_empty();
                let whose = if txns { "of transactions" } else { "of statements" };
                some(txns || stmts, whose)
            }
            HistoryPart::Timestamps => {
                let (start, commit) = (&columns.start_ts.physical, &columns.commit_ts.physical);
                some(!start.is_empty() || !commit.is_empty(), "of the database")
            }
            HistoryPart::Meta => {
                let facts = self.meta().info.iter().map(|(name, _)| *name);
                self.listed(facts.filter(|name| !says_what_values_are(self.pool(), *name)))
            }
            HistoryPart::Events => {
                let count = self.events().len();
                some(count > 0, &format!("{count} on the time line"))
            }
            HistoryPart::Orders => {
                let count = self.version_orders().len();
                some(count > 0, &format!("of the versions of {count} keys"))
            }
            HistoryPart::Attributes => {
                let filled = columns.attrs.columns.iter().filter(|c| !c.ids.is_empty());
                self.listed(filled.map(|column| column.name))
            }
            HistoryPart::Statements => {
                some(columns.explicit_stmts, "of several operations, or of none")
            }
            HistoryPart::Names => {
                let pool = self.pool();
                let words = !all_numbers(pool, pool.key_names())
                    || !all_numbers(pool, pool.session_names());
                let labels = !columns.labels.is_empty();
                match (labels, words) {
                    (_, true) => Some("of keys or sessions that are no numbers".to_owned()),
                    (true, _) => Some("of transactions".to_owned()),
                    _ => None,
                }
            }
            HistoryPart::Initial => self.initial_in_words(),
            HistoryPart::Incomplete => some(!self.meta().complete, "transactions are missing"),
        }
    }

    /// Each name once; `None` if there are none.
    fn listed(&self, names: impl Iterator<Item = Value>) -> Option<String> {
        let mut shown: Vec<String> = Vec::new();
        for name in names {
            let mut text = String::new();
            write_value(self.pool(), name, &mut text);
            if !shown.contains(&text) {
                shown.push(text);
            }
        }
        (!shown.is_empty()).then(|| shown.join(", "))
    }

    fn initial_in_words(&self) -> Option<String> {
        let InitialState { default, given } = &self.meta().initial;
        let mut text = String::new();
        match default {
            Some(value) if *value == Value::ABSENT && given.is_empty() => return None,
            Some(value) => {
                text.push_str("every key is ");
                write_value(self.pool(), *value, &mut text);
            }
            None => text.push_str("no key has a first version"),
        }
        if !given.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, ", but for {} keys", given.len());
        }
        Some(text)
    }

    /// The same history without these parts. The initial value stays where it cannot be told apart from other
    /// values once it is called absent.
    pub fn without(&self, parts: &[HistoryPart]) -> Result<History, SinkError> {
        let initial =
            parts.contains(&HistoryPart::Initial).then(|| InitialReads::of(self)).flatten();
        let less = Less { parts, initial };
        let mut builder = HistoryBuilder::new();
        let map = less.map(self.pool(), &mut builder.pool);
        less.meta(self, &map, &mut builder);
        if !less.drops(HistoryPart::Events) {
            // Events about sessions, and about what they have lost, say their names.
            let renamed = less.numbers(self.pool(), self.pool().session_names());
            let names_session = |event: &Event| {
                SessionEvent::of(self.pool(), event).is_some()
                    || LostCommit::of(self.pool(), event).is_some()
            };
            // A promise tells timestamps, and may name a session.
            let promised = |event: &Event| StreamPromise::of(self.pool(), event);
            let stampless = less.drops(HistoryPart::Timestamps);
            let told = |event: &&Event| match promised(event) {
                Some(promise) => !(stampless || renamed && promise.session.is_some()),
                None => !renamed || !names_session(event),
            };
            let events = self.events().iter().filter(told);
            builder.events.extend(events.map(|event| event.mapped(&map)));
        }
        let mut draft = TxnDraft::default();
        for txn in 0..self.txn_count() {
            self.columns().draft(txn, &mut draft)?;
            less.transaction(&mut draft);
            draft.remap(&map);
            builder.transaction(&draft)?;
        }
        if !less.drops(HistoryPart::Orders) {
            for (key, versions) in self.version_orders() {
                let version = |v: &Value| map.value(less.version(*key, *v));
                let versions = versions.iter().map(version).collect();
                builder.order(map.key(*key), versions)?;
            }
        }
        Ok(builder.finish())
    }
}

/// Whether a fact says how values are to be read: without it, the operations would mean something else.
fn says_what_values_are(pool: &Pool, fact: Value) -> bool {
    pool.as_text(fact) == Some(info::ROWS)
}

fn all_numbers(pool: &Pool, names: &[Value]) -> bool {
    names.iter().all(|name| pool.as_wide_int(*name).is_some_and(|number| number >= 0))
}

/// What is left out.
struct Less<'p> {
    parts: &'p [HistoryPart],
    initial: Option<InitialReads>,
}

impl Less<'_> {
    fn drops(&self, part: HistoryPart) -> bool {
        self.parts.contains(&part)
    }

    /// Whether these names are replaced by numbers.
    fn numbers(&self, pool: &Pool, names: &[Value]) -> bool {
        self.drops(HistoryPart::Names) && !all_numbers(pool, names)
    }

    /// A version of a key, as reads return it.
    fn version(&self, key: Key, value: Value) -> Value {
        let initial = self.initial.as_ref().and_then(|initial| initial.of_key(key));
        if initial == Some(value) { Value::ABSENT } else { value }
    }

    /// The names and values of another pool. Names that are no numbers are numbered if names are left out.
    fn map(&self, from: &Pool, to: &mut Pool) -> Remap {
        let mut map = Remap::default();
        to.adopt_values(from, &mut map);
        let (keys, sessions) = (from.key_names(), from.session_names());
        let (number_keys, number_sessions) =
            (self.numbers(from, keys), self.numbers(from, sessions));
        let name = |numbered: bool, at: usize, name: Value, map: &Remap| {
            if numbered { Value::from_u32(at as u32 + 1) } else { map.value(name) }
        };
        for (at, key) in keys.iter().enumerate() {
            map.keys.push(to.key(name(number_keys, at, *key, &map)));
        }
        for (at, session) in sessions.iter().enumerate() {
            map.sessions.push(to.session(name(number_sessions, at, *session, &map)));
        }
        map
    }

    fn meta(&self, history: &History, map: &Remap, builder: &mut HistoryBuilder) {
        builder.meta = history.meta().mapped(map);
        if self.drops(HistoryPart::Meta) {
            let kept = |name: Value| says_what_values_are(&builder.pool, name);
            builder.meta.info.retain(|(name, _)| kept(*name));
        }
        if self.initial.is_some() {
            builder.meta.initial = InitialState::every(Value::ABSENT);
        }
        if self.drops(HistoryPart::Incomplete) {
            builder.meta.complete = true;
        }
    }

    fn transaction(&self, draft: &mut TxnDraft) {
        if self.drops(HistoryPart::Intervals) {
            draft.interval = Interval::default();
            draft.stmt_intervals.clear();
        }
        if self.drops(HistoryPart::Timestamps) {
            draft.start = None;
            draft.commit = None;
        }
        if self.drops(HistoryPart::Names) {
            draft.label = None;
        }
        if self.drops(HistoryPart::Attributes) {
            draft.attrs.clear();
        }
        if self.drops(HistoryPart::Statements) {
            draft.stmt_ends = (1..=draft.codes.len() as u32).collect();
            draft.stmt_intervals.clear();
            draft.attrs.retain(|attr| attr.0 != Entity::Stmt);
        }
        if let Some(initial) = &self.initial {
            initial.rename(draft);
        }
    }
}

/// The value of each key that reads return before anything is written, where no other read returns absent and
/// no transaction writes it: then it can be called absent, and the history means the same.
struct InitialReads(Vec<Option<Value>>);

impl InitialReads {
    fn of(history: &History) -> Option<InitialReads> {
        let initial = &history.meta().initial;
        // A read that names some columns of an initial row would have nothing left to read.
        if history.rows_by_column() && !initial.given.is_empty() {
            return None;
        }
        let mut of_key = vec![initial.default; history.key_count()];
        for &(key, value) in &initial.given {
            *of_key.get_mut(key.index())? = Some(value);
        }
        let plain = history.ops().all(|op| {
            let of_key = |key: Key| of_key.get(key.index()).copied().flatten();
            match op.kind() {
                OpKind::Read => {
                    op.value() != Value::ABSENT || of_key(op.key()) == Some(Value::ABSENT)
                }
                OpKind::Write => of_key(op.key()) != Some(op.value()),
                // A list begins empty, whatever is said of keys without lists.
                OpKind::Append
                | OpKind::ListRead
                | OpKind::Savepoint
                | OpKind::RollbackTo
                | OpKind::Release => true,
                _ => of_key(op.key()) == Some(Value::ABSENT),
            }
        });
        plain.then_some(InitialReads(of_key))
    }

    fn of_key(&self, key: Key) -> Option<Value> {
        self.0.get(key.index()).copied().flatten()
    }

    fn rename(&self, draft: &mut TxnDraft) {
        let ops = draft.codes.iter().zip(&draft.keys).zip(&mut draft.payloads);
        for ((code, key), word) in ops {
            let initial = self.of_key(*key);
            if code.kind() == OpKind::Read && initial.is_some_and(|v| v.to_bits() == *word) {
                *word = Value::ABSENT.to_bits();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{parse, to_text};

    const ALL: &str = "meta server postgres\ninitial 0\nincomplete\nevent kill @[1,_] n1\n\
                       a T1: r(x,0) [w(x,1) w(y,2)]@[3,4] @[1,5] ts(1,2) {wall=3}\n\
                       b: r(y,2) abort\norder x: 0 1\n";

    fn without(text: &str, parts: &[HistoryPart]) -> String {
        to_text(&parse(text).unwrap().without(parts).unwrap())
    }

    #[test]
    fn every_part_can_be_left_out_and_the_others_stay() {
        let history = parse(ALL).unwrap();
        assert_eq!(without(ALL, &[]), to_text(&history));
        let there: Vec<HistoryPart> = history.parts().into_iter().map(|(part, _)| part).collect();
        assert_eq!(there, HistoryPart::ALL);
        for part in HistoryPart::ALL {
            let less = parse(ALL).unwrap().without(&[part]).unwrap();
            let left: Vec<HistoryPart> = less.parts().into_iter().map(|(part, _)| part).collect();
            assert!(!left.contains(&part), "{part:?}: {}", to_text(&less));
            assert_eq!(left.len(), HistoryPart::ALL.len() - 1, "{part:?}: {}", to_text(&less));
            assert_eq!(HistoryPart::named(part.name()), Some(part));
        }
        assert_eq!(
            without(ALL, &HistoryPart::ALL),
            "1: r(1,absent) w(1,1) w(2,2)\n2: r(2,2) abort\n"
        );
    }

    #[test]
    fn what_values_mean_is_never_left_out() {
        let text = "meta rows by-column\nmeta server x\na: w(r,{v:1})\n";
        assert_eq!(without(text, &[HistoryPart::Meta]), "meta rows by-column\na: w(r,{v:1})\n");
        let text = "meta rows by-column\na: w(r,{v:1})\n";
        assert!(!parse(text).unwrap().parts().iter().any(|(part, _)| *part == HistoryPart::Meta));
    }

    #[test]
    fn an_initial_value_that_would_become_another_one_stays() {
        for stays in [
            "initial 0\na: w(x,0)\nb: r(x,0)\n",
            "initial 0\na: r(x,absent)\n",
            "initial none\na: r(x,absent)\n",
            "initial 0\na: delete(x)\n",
            "meta rows by-column\ngiven x {v:1,w:1}\na: r(x,{v:1})\n",
        ] {
            assert_eq!(without(stays, &[HistoryPart::Initial]), to_text(&parse(stays).unwrap()));
        }
        assert_eq!(
            without("initial 0\na: r(x,0) w(x,1)\n", &[HistoryPart::Initial]),
            "a: r(x,absent) w(x,1)\n"
        );
        assert_eq!(without("initial none\na: w(x,1)\n", &[HistoryPart::Initial]), "a: w(x,1)\n");
    }
}
