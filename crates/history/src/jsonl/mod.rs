//! Isolde's own `.jsonl`: one transaction a line, for recorders in any language.
//!
//! ```text
//! {"isolde":1,"server":"postgres","level":"serializable","initial":{"default":0}}
//! {"session":1,"txn":1,"ops":[["r","x",0],["w","x",1]]}
//! {"session":2,"outcome":"aborted","interval":[10,20],"ops":[["r","x"]]}
//! ```
//!
//! It says everything that the model holds; `docs/history-format.md` is its specification.

mod attrs;
mod contradictions;
mod fast;
mod line;
mod member;
mod meta;
mod odd;
mod ops;
mod promise;
mod read;
mod reserved;
mod scratch;
mod sink;
#[cfg(test)]
mod tests;
mod txn;
pub(crate) mod value;
mod write;

pub use read::read_lines;
pub use sink::JsonlWriter;

use crate::format::Format;
use crate::source::Source;
use crate::text::Json;

pub(crate) static FORMAT: Format = Format {
    name: "jsonl",
    title: "Isolde's own lines of JSON, one transaction each",
    example: r#"{"session":1,"txn":7,"ops":[["r","x",0],["w","x",1]]}"#,
    looks_like,
    read: read::read,
    load: Some(read::load),
    write: Some(write::write),
    write_folder: None,
};

/// How much of a file is looked at to recognise it.
const HEAD: usize = 64 * 1024;

/// The first line is an object with one of our members. Those of no other format have them.
fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let head = &input.bytes[..input.bytes.len().min(HEAD)];
    let lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.into_iter().find(|l| !l.is_empty()) else { return false };
    let mut json = Json::new(line);
    if json.begin_object().is_err() {
        return false;
    }
    let (mut event, mut order, mut versions, mut others) = (false, false, false, false);
    let promise = promise::looks_like(json.clone());
    while let Ok(Some(name)) = json.next_member() {
        match &*name {
            "isolde" | "session" => return true,
            "event" => event = true,
            "order" => order = true,
            "versions" => versions = true,
            "begin" | "end" | "detail" | "watermark" => {}
            _ => others = true,
        }
        if json.skip_value().is_err() {
            break;
        }
    }
    !others && (event || promise || (order && versions))
}
