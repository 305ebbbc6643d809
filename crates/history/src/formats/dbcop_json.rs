//! dbcop's JSON: the same history as in its binary format, in words.
//!
//! ```json
//! {"params": {"id": 0, "n_node": 1, "n_variable": 1, "n_transaction": 1, "n_event": 2},
//!  "info": "PostgreSQL", "start": "2022-07-22T23:12:34+08:00", "end": "2022-07-22T23:12:35+08:00",
//!  "data": [[{"events": [{"write": true, "variable": 1, "value": 7, "success": true}],
//!             "success": true}]]}
//! ```
//!
//! Every key is 0 before the first transaction. Members that dbcop does not know are kept: those of
//! the whole as facts of the run, the others as attributes.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::format::Format;
use crate::formats::dbcop_common::{
    DbcopEvent, Extras, Family, family, push_event, read_document, read_transaction, required,
    set_once, unsigned,
};
use crate::meta::InitialState;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Json;
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "dbcop-json",
    title: "dbcop's history as JSON",
    example: r#"{"params": {"id": 0, …}, "data": [[{"events": [{"write": true, "variable": 1, …"#,
    looks_like: |source| family(source) == Some(Family::First),
    read,
    load: None,
    write: None,
    write_folder: None,
};

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::every(Value::from_u32(0));
    let mut json = Json::new(&input.bytes);
    let tally = read_document(&mut json, sink, transaction)
        .and_then(|tally| json.finish().map(|()| tally))
        .map_err(|fault| input.text_error(fault))?;
    tally.warn(input, sink);
    tally.warn_of_zeros(input, sink);
    Ok(())
}

fn transaction(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<bool, Fault> {
    read_transaction(json, sink, draft, ("success", event))
}

fn event(json: &mut Json<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    let start = json.offset();
    let (mut write, mut variable, mut value, mut success) = (None, None, None, None);
    let mut extras = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        match name.as_ref() {
            "write" => set_once(&mut write, at, "write", json.boolean("true or false")?)?,
            "variable" => set_once(&mut variable, at, "variable", unsigned(json, "a variable")?)?,
            "value" => set_once(&mut value, at, "value", unsigned(json, "a value")?)?,
            "success" => set_once(&mut success, at, "success", json.boolean("true or false")?)?,
            other => extras.take(json, sink, other)?,
        }
    }
    let event = DbcopEvent {
        write: required(write, start, "write")?,
        variable: required(variable, start, "variable")?,
        value: required(value, start, "value")?,
        success: required(success, start, "success")?,
    };
    push_event(sink, draft, event);
    for (name, value) in extras.members {
        draft.op_attr(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
