//! How far a source has been read: what a state has to know to read on.

use serde_json::{Value, json};

/// How many bytes before a place are compared, to see whether it is in the same file.
const TAIL: usize = 64;

/// How far a file has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// So far into lines.
    Lines(LinePlace),
    /// So far into a native file.
    Blocks(BlockPlace),
}

/// A place between two lines.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct LinePlace {
    /// The bytes before it.
    pub(crate) offset: u64,
    /// The lines before it.
    pub(crate) lines: u64,
    /// Whether it is within a line that is left out because it is too long.
    pub(crate) skipping: bool,
    /// Whether the next line that says anything may be a header.
    pub(crate) at_start: bool,
    /// Whether a header has said that transactions are missing, and no line since that none are.
    pub(crate) open: bool,
    /// Where the header is that holds here, and the number of its line.
    pub(crate) head: Option<(u64, u64)>,
    /// The last bytes before it.
    pub(crate) tail: Tail,
}

/// A place in a native file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BlockPlace {
    /// The blocks that have been read whole.
    pub(crate) blocks: u64,
    /// The bytes up to their end.
    pub(crate) bytes: u64,
    /// The lines that were made of the next block.
    pub(crate) lines: u64,
}

/// The last bytes before a place: how many, and a hash of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tail {
    pub(crate) len: usize,
    hash: u64,
}

impl Tail {
    /// Of the bytes before a place, or of the last of them.
    pub(crate) fn of(before: &[u8]) -> Tail {
        let last = before.get(before.len().saturating_sub(TAIL)..).unwrap_or_default();
        // FNV-1a: it has to be the same in every version.
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Tail { len: last.len(), hash: last.iter().fold(0xcbf2_9ce4_8422_2325, step) }
    }
}

/// What is kept with a batch: how far the file was read, which file that was, and what had been counted by then.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// Lines and bodies that could not be read.
    pub(crate) bad: u64,
    /// The device and the number of the file.
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) place: Option<Place>,
}

impl Mark {
    /// As it is kept.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut mark = json!({ "bad": self.bad });
        if let Some((device, number)) = self.file {
            mark["file"] = json!([device, number]);
        }
        match &self.place {
            Some(Place::Lines(at)) => {
                mark["lines"] = json!([at.offset, at.lines, at.skipping, at.at_start, at.open]);
                mark["tail"] = json!([at.tail.len, at.tail.hash]);
                mark["head"] = json!(at.head.map(|(offset, line)| [offset, line]));
            }
            Some(Place::Blocks(at)) => mark["blocks"] = json!([at.blocks, at.bytes, at.lines]),
            None => {}
        }
        mark.to_string().into_bytes()
    }

    /// From what was kept; nothing if that is none of ours.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Mark> {
        let mark: Value = serde_json::from_slice(bytes).ok()?;
        let number = |list: &Value, at: usize| list.get(at).and_then(Value::as_u64);
        let flag = |list: &Value, at: usize| list.get(at).and_then(Value::as_bool);
        let pair = |list: &Value| Some((number(list, 0)?, number(list, 1)?));
        let lines = |at: &Value| {
            let (len, hash) = mark.get("tail").and_then(pair)?;
            Some(Place::Lines(LinePlace {
                offset: number(at, 0)?,
                lines: number(at, 1)?,
                skipping: flag(at, 2)?,
                at_start: flag(at, 3)?,
                open: flag(at, 4).unwrap_or(false),
                head: mark.get("head").and_then(pair),
                tail: Tail { len: usize::try_from(len).ok()?.min(TAIL), hash },
            }))
        };
        let blocks = |at: &Value| {
            let (blocks, bytes) = pair(at)?;
            Some(Place::Blocks(BlockPlace { blocks, bytes, lines: number(at, 2)? }))
        };
        let place = mark.get("lines").map(lines).or_else(|| mark.get("blocks").map(blocks));
        Some(Mark {
            bad: mark.get("bad")?.as_u64()?,
            file: mark.get("file").and_then(pair),
            // A place that cannot be understood must not be taken for none.
            place: place.map_or(Some(None), |place| place.map(Some))?,
        })
    }
}
