//! Porcupine's key-value logs: Jepsen's operations in EDN on a store of strings.
//!
//! ```text
//! {:process 0, :type :invoke, :f :append, :key "0", :value "x 0 0 y"}
//! {:process 0, :type :ok, :f :append, :key "0", :value "x 0 0 y"}
//! {:process 0, :type :invoke, :f :get, :key "0", :value nil}
//! {:process 0, :type :ok, :f :get, :key "0", :value "x 0 0 y"}
//! ```
//!
//! Each operation is a transaction of its own. A `:put` is a write and a `:get` a read of the whole
//! string. An `:append` is an append whose value is a piece of text; unlike in histories of lists,
//! a read does not return the pieces but their concatenation, after whatever was put before them.
//! The fact `model` of the history is therefore `string-append`. Every key starts as the empty
//! string.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::Outcome;
use crate::format::Format;
use crate::formats::jepsen::{
    Dialect, LogEvent, LogReader, Notation, each_event, explain, head, is_key_value, unusual_keys,
};
use crate::ids::Key;
use crate::meta::InitialState;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Edn;
use crate::text::edn::EdnKind;
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "porcupine-kv",
    title: "Porcupine's key-value logs",
    example: r#"{:process 0, :type :ok, :f :get, :key "0", :value "x 0 0 y"}"#,
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

fn looks_like(source: &Source) -> bool {
    head(source).is_some_and(is_key_value)
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let mut reader = LogReader::new(input, KeyValue { bytes: &input.bytes }, sink);
    let (model, strings) = (reader.sink.pool().text("model"), "string-append");
    let strings = reader.sink.pool().text(strings);
    reader.sink.meta().set(model, strings);
    let empty = reader.sink.pool().text("");
    reader.sink.meta().initial = InitialState::every(empty);
    each_event::<Edn<'_>>(&input.bytes, |event| reader.event(event))
        .and_then(|()| reader.finish())
        .map_err(|fault| explain(input, fault))
}

struct KeyValue<'a> {
    bytes: &'a [u8],
}

impl<'a> KeyValue<'a> {
    fn key(&self, event: &LogEvent, pool: &mut Pool) -> Result<Key, Fault> {
        let mut edn = Edn::at(self.bytes, event.at);
        Notation::begin_map(&mut edn)?;
        while let Some(name) = edn.next_raw_key()? {
            if *name == *b"key" {
                let name = edn.value(pool)?;
                return Ok(pool.key(name));
            }
            edn.skip_value()?;
        }
        Err(Fault::wrong(event.at, "the operation has no :key"))
    }

    fn string(&self, event: &LogEvent, pool: &mut Pool) -> Result<Value, Fault> {
        let mut edn = Edn::at(self.bytes, event.value_at.unwrap_or(event.at));
        if event.value_at.is_none() || edn.peek()? != EdnKind::String {
            return Err(Fault::expected(edn.cursor.pos, "a string as the :value"));
        }
        edn.value(pool)
    }
}

impl<'a> Dialect<'a> for KeyValue<'a> {
    type Notation = Edn<'a>;

    fn operations(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        let what = ":get, :put or :append";
        let function = Edn::at(self.bytes, event.f_at).word(what);
        let key = self.key(event, pool)?;
        match function {
            Ok(b"get") if draft.outcome != Outcome::Committed => draft.read(key, Value::UNOBSERVED),
            Ok(b"get") => {
                let value = self.string(event, pool)?;
                draft.read(key, value);
            }
            Ok(b"put") => {
                let value = self.string(event, pool)?;
                draft.write(key, value);
            }
            Ok(b"append") => {
                let value = self.string(event, pool)?;
                draft.append(key, value);
            }
            _ => return Err(Fault::expected(event.f_at, format_args!("{what} as the :f"))),
        }
        Ok(())
    }

    fn implies_function(&self, _event: &LogEvent) -> bool {
        true
    }

    fn extras(&self, event: &LogEvent, pool: &mut Pool) -> Result<Vec<(Value, Value)>, Fault> {
        unusual_keys(Edn::at(self.bytes, event.at), |name| name == "key", pool)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::formats::plume::check::{shown, survives_bytes};

    #[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&shown(&FORMAT, text));
    }

    const SAMPLE: &str = r#"{:process 0, :type :invoke, :f :append, :key "0", :value "x 0 0 y"}
{:process 1, :type :invoke, :f :put, :key "0", :value ""}
{:process 0, :type :ok, :f :append, :key "0", :value "x 0 0 y"}
{:process 1, :type :fail, :f :put, :key "0", :value ""}
{:process 1, :type :invoke, :f :get, :key "7", :value nil}
{:process 0, :type :invoke, :f :get, :key "0", :value nil}
{:process 0, :type :ok, :f :get, :key "0", :value "x 0 0 y", :took 5}
"#;

    #[test]
    fn every_kind_of_operation() {
        check(
            SAMPLE,
            expect![[r#"
            meta model string-append
            clock events
            initial ""
            0: append("0","x 0 0 y") @[0,2]
            1: w("0","") abort @[1,3]
            0: r("0","x 0 0 y") @[5,6] {took=5}
            1: r("7",_) unknown @[4,_]
        "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        check(
            "{:process 0, :type :ok, :f :get, :value \"\"}",
            expect![[r#"
                file:1:1: the operation has no :key
            "#]],
        );
        check(
            "{:process 0, :type :ok, :f :get, :key 1, :value 5}",
            expect![[r#"
                file:1:49: expected a string as the :value, found '5}'
            "#]],
        );
        check(
            "{:process 0, :type :ok, :f :del, :key 1, :value \"\"}",
            expect![[r#"
                file:1:28: expected :get, :put or :append as the :f, found ':del, :key 1, :value ""}'
            "#]],
        );
        check(
            "{:process 0, :type :ok, :f :get, :key 1",
            expect![[r#"
                file:1:40: expected '}', found the end of the file
                  hint: the file ends in the middle: was it cut off?
            "#]],
        );
    }

    #[test]
    fn hostile_bytes_never_panic() {
        survives_bytes(&FORMAT, SAMPLE, b"{\":\xff");
    }
}
