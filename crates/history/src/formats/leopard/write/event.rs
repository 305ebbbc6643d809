//! Events that are operations of no transaction, with what the history says of them.

use crate::error::SinkError;
use crate::formats::leopard::words::TraceKind;
use crate::formats::leopard::write::members;
use crate::formats::leopard::write::slice::{Slice, refuse, show};
use crate::history::History;
use crate::meta::Event;
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// The members that do not come from the detail.
const OWN: [&str; 3] = ["operationTraceType", "startTimestamp", "finishTimestamp"];

/// All events, in their order.
pub(super) fn write(history: &History, slice: &mut Slice<'_>) -> Result<(), SinkError> {
    let pool = history.pool();
    for event in history.events() {
        let written = one(pool, event, slice.next());
        written.map_err(|what| refuse(format!("the event {}: {what}", show(pool, event.name))))?;
        slice.flush_some()?;
    }
    Ok(())
}

fn one(pool: &Pool, event: &Event, out: &mut Vec<u8>) -> Result<(), String> {
    let kind = pool.as_text(event.name).and_then(TraceKind::from_name);
    let Some(kind) = kind.filter(|kind| kind.is_event()) else {
        return Err("it is none of ddl, distribute-schedule and fault".to_owned());
    };
    out.push(b'{');
    members::text(out, OWN[0], kind.word());
    members::time(out, OWN[1], event.begin.ok_or("it has no time")?);
    if let Some(end) = event.end {
        members::time(out, OWN[2], end);
    }
    match pool.datum(event.detail) {
        _ if event.detail == Value::ABSENT => {}
        Datum::Row(columns) if !columns.is_empty() => {
            let columns: Vec<(Value, Value)> = columns.pairs().collect();
            members::attributes(out, pool, &columns, &[], &OWN)?;
        }
        _ => return Err("its detail is no row".to_owned()),
    }
    out.push(b'}');
    Ok(())
}
