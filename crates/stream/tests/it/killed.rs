//! A stream that is killed goes on, and tells what it had told.

use std::fmt::Debug;

use isolde_stream::{Settings, Stream, StreamEvent};

/// Kills a stream after so many marked batches, and goes on with it. What it told since it was saved it tells again.
pub(crate) fn goes_on(
    stream: Stream,
    settings: &Settings,
    batches: u64,
    events: &mut Vec<StreamEvent>,
    context: &dyn Debug,
) -> Stream {
    drop(stream);
    let resumed = Stream::resume(settings).unwrap().unwrap();
    assert_eq!(resumed.mark, batches.to_le_bytes());
    let saved = resumed.saved.try_into().map_or(0, usize::from_le_bytes);
    let told: Vec<String> = events.drain(saved..).map(|e| format!("{e:?}")).collect();
    let mut stream = resumed.stream;
    events.extend(stream.take_events());
    let again: Vec<String> = events[saved..].iter().map(|e| format!("{e:?}")).collect();
    assert_eq!(again, told, "{context:?}");
    stream
}
