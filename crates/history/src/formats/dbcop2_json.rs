//! The JSON of dbcop 0.2: reads and writes of versions.
//!
//! ```json
//! {"params": {"id": 0, "n_node": 1, "n_variable": 1, "n_transaction": 1, "n_event": 2},
//!  "info": "", "start": "2025-01-01T00:00:00Z", "end": "2025-01-01T00:00:01Z",
//!  "data": [[{"events": [{"Read": {"variable": 0, "version": null}},
//!                        {"Write": {"variable": 0, "version": 1}}],
//!             "committed": true}]]}
//! ```
//!
//! or the sessions alone. A version of `null` is what was there before the first write: nothing. So
//! is version 0 of a variable of which no transaction writes version 0. A transaction that is not
//! committed counts as aborted, for no other transaction may read what it wrote.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::format::Format;
use crate::formats::dbcop_common::{
    Extras, Family, Tally, family, read_document, read_sessions, read_transaction, read_versions,
    required, set_once, unsigned,
};
use crate::meta::InitialState;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Json;
use crate::text::json::JsonKind;
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "dbcop2-json",
    title: "the JSON of dbcop 0.2, with or without the object around the sessions",
    example: r#"[[{"events": [{"Write": {"variable": 0, "version": 1}}], "committed": true}]]"#,
    looks_like: |source| family(source) == Some(Family::Second),
    read,
    load: None,
    write: None,
    write_folder: None,
};

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::every(Value::ABSENT);
    let read = |sink: &mut dyn Sink| {
        let mut json = Json::new(&input.bytes);
        let tally = document_or_sessions(&mut json, sink)?;
        json.finish().map(|()| tally)
    };
    let tally = read_versions(sink, read).map_err(|fault| input.text_error(fault))?;
    tally.warn(input, sink);
    Ok(())
}

fn document_or_sessions(json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<Tally, Fault> {
    match json.peek()? {
        JsonKind::Array => read_sessions(json, sink, transaction),
        JsonKind::Object => read_document(json, sink, transaction),
        _ => Err(json.cursor.expected("an object with \"data\", or an array of sessions")),
    }
}

fn transaction(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<bool, Fault> {
    read_transaction(json, sink, draft, ("committed", event))
}

fn event(json: &mut Json<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    const KINDS: &str = "an object with one member, \"Read\" or \"Write\"";
    let start = json.offset();
    json.begin_object()?;
    let write = match json.next_member()?.as_deref() {
        Some("Read") => false,
        Some("Write") => true,
        _ => return Err(Fault::expected(start, KINDS)),
    };
    access(json, sink, draft, write)?;
    match json.next_member()? {
        None => Ok(()),
        Some(_) => Err(Fault::expected(start, KINDS)),
    }
}

fn access(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
    write: bool,
) -> Result<(), Fault> {
    let start = json.offset();
    let (mut variable, mut version) = (None, None);
    let mut extras = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        match name.as_ref() {
            "variable" => set_once(&mut variable, at, "variable", variable_name(json, sink)?)?,
            "version" => {
                // A read that names no version at all means the same as `null`.
                let read_null = !write && json.eat_null();
                let number = if read_null { None } else { Some(unsigned(json, "a version")?) };
                set_once(&mut version, at, "version", number)?;
            }
            other => extras.take(json, sink, other)?,
        }
    }
    let variable = required(variable, start, "variable")?;
    let version = if write { required(version, start, "version")? } else { version.flatten() };
    let pool = sink.pool();
    let key = pool.key(variable);
    let value = version.map_or(Value::ABSENT, |v| pool.uint(v));
    if write {
        draft.write(key, value);
    } else {
        draft.read(key, value);
    }
    for (name, value) in extras.members {
        draft.op_attr(name, value);
    }
    Ok(())
}

/// The name of a variable: a number, or the word that it is in the `.hist` text.
fn variable_name(json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<Value, Fault> {
    if json.peek()? == JsonKind::String {
        let text = json.string("a variable")?;
        return Ok(sink.pool().text(&text));
    }
    let number = unsigned(json, "a variable")?;
    Ok(sink.pool().uint(number))
}

#[cfg(test)]
mod tests;
