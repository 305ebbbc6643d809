//! Reading whole files.

use crate::error::{Fault, ReadError};
use crate::formats::jepsen::event::{LogEvent, Phase};
use crate::formats::jepsen::interpret::LogReader;
use crate::formats::jepsen::notation::{Notation, Shape};
use crate::formats::jepsen::operations::Standard;
use crate::formats::jepsen::scan::scan_event;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::{Edn, Json};

/// How much of a file is looked at to recognise it.
const HEAD: usize = 64 << 10;

pub(super) fn read_edn(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    read::<Edn<'_>>(input, edn_holds_lists(&input.bytes), sink)
}

pub(crate) fn edn_holds_lists(bytes: &[u8]) -> bool {
    holds_lists::<Edn<'_>>(bytes, [b":append", b":w", b":r"])
}

pub(super) fn read_json(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let names: [&[u8]; 3] = [b"\"append\"", b"\"w\"", b"\"r\""];
    let lists = holds_lists::<Json<'_>>(&input.bytes, names);
    read::<Json<'_>>(input, lists, sink)
}

fn read<'a, N: Notation<'a>>(
    input: &'a Input,
    lists: bool,
    sink: &mut dyn Sink,
) -> Result<(), ReadError> {
    let mut reader = LogReader::new(input, Standard::<N>::new(&input.bytes, lists), sink);
    each_event::<N>(&input.bytes, |event| reader.event(event))
        .and_then(|()| reader.finish())
        .map_err(|fault| explain(input, fault))
}

/// The error of a fault; one at the very end says why.
pub(crate) fn explain(input: &Input, mut fault: Fault) -> ReadError {
    if fault.offset >= input.bytes.len() && fault.hint.is_none() {
        fault.hint = Some("the file ends in the middle: was it cut off?".to_owned());
    }
    input.text_error(fault)
}

/// Calls `each` for every operation map of a file.
pub(crate) fn each_event<'a, N: Notation<'a>>(
    bytes: &'a [u8],
    mut each: impl FnMut(LogEvent) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut n = N::at(bytes, 0);
    if n.offset()? >= bytes.len() {
        return Err(Fault::expected(bytes.len(), "an operation"));
    }
    if n.shape()? == Shape::Sequence {
        n.begin_sequence()?;
        while n.next_item()? {
            each(scan_event(&mut n)?)?;
        }
        let at = n.offset()?;
        let done = at >= bytes.len();
        return if done { Ok(()) } else { Err(Fault::expected(at, "the end of the file")) };
    }
    while n.offset()? < bytes.len() {
        each(scan_event(&mut n)?)?;
    }
    Ok(())
}

/// Whether the keys of a history hold lists. Reads of `nil` do not tell by themselves, so the whole
/// file is asked: lists are appended to, registers are written; where nothing is written at all,
/// what the reads return decides.
fn holds_lists<'a, N: Notation<'a>>(bytes: &'a [u8], names: [&[u8]; 3]) -> bool {
    let [append, write, read] = names;
    if micro_operations(bytes, append).next().is_some() {
        return true;
    }
    if micro_operations(bytes, write).next().is_some() {
        return false;
    }
    micro_operations(bytes, read).any(|at| {
        // No key is longer than this, unless the file is made to keep us busy.
        let end = bytes.len().min(at + 4096);
        returns_list(N::at(&bytes[..end], at)).unwrap_or(false)
    })
}

/// Where micro-operations of that name begin. A text that looks like one is taken for one, too.
fn micro_operations<'b>(bytes: &'b [u8], name: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    memchr::memmem::find_iter(bytes, name).filter_map(move |at| {
        let before = bytes.get(..at)?.trim_ascii_end();
        let ends = bytes.get(at + name.len()).is_none_or(|b| !b.is_ascii_alphanumeric());
        (ends && matches!(before.last(), Some(b'[' | b'('))).then(|| before.len() - 1)
    })
}

/// Whether a read micro-operation has a sequence as its result.
fn returns_list<'a, N: Notation<'a>>(mut n: N) -> Result<bool, Fault> {
    n.begin_sequence()?;
    for _ in 0..2 {
        if n.next_item()? {
            n.skip_value()?;
        }
    }
    Ok(n.next_item()? && n.shape()? == Shape::Sequence)
}

// ---- recognition ----

/// The beginning of a file.
pub(crate) fn head(source: &Source) -> Option<&[u8]> {
    let Source::File(input) = source else { return None };
    Some(&input.bytes[..input.bytes.len().min(HEAD)])
}

pub(super) fn looks_like_edn(source: &Source) -> bool {
    let Some(head) = head(source) else { return false };
    let is_map = first_map::<Edn<'_>>(head).is_ok_and(|mut n| {
        let _ = n.eat_tag();
        // An EDN map whose first key is a keyword can be no other format's file.
        let rest = n.cursor.rest();
        rest.first() == Some(&b'{') && rest[1..].trim_ascii_start().first() == Some(&b':')
    });
    is_map && memchr::memmem::find(head, b":type").is_some() && !is_key_value(head)
}

/// Whether the first operation has a `:key` and a function of Porcupine's, whose files are then no
/// files of this format.
pub(crate) fn is_key_value(head: &[u8]) -> bool {
    let Ok(mut edn) = first_map::<Edn<'_>>(head) else { return false };
    let (mut key, mut function) = (false, false);
    // The map may be longer than the head: what has been seen until then counts.
    let _ = (|| -> Result<(), Fault> {
        Notation::begin_map(&mut edn)?;
        while let Some(name) = edn.next_raw_key()? {
            key |= *name == *b"key";
            if *name == *b"f" {
                function = matches!(edn.clone().word("a name")?, b"get" | b"put" | b"append");
            }
            edn.skip_value()?;
        }
        Ok(())
    })();
    key && function
}

/// Before the first operation map.
pub(crate) fn first_map<'a, N: Notation<'a>>(head: &'a [u8]) -> Result<N, Fault> {
    let mut n = N::at(head, 0);
    if n.shape()? == Shape::Sequence {
        n.begin_sequence()?;
        n.next_item()?;
    }
    n.offset()?;
    Ok(n)
}

pub(super) fn looks_like_json(source: &Source) -> bool {
    let Some(head) = head(source) else { return false };
    let Ok(mut json) = first_map::<Json<'_>>(head) else { return false };
    let (mut phase, mut other) = (false, false);
    // The object may be longer than the head: what has been seen until then counts.
    let _ = (|| -> Result<(), Fault> {
        json.begin_object()?;
        while let Some(name) = json.next_member()? {
            other |= matches!(&*name, "process" | "f" | "value");
            if name == "type" {
                phase = json.string("").is_ok_and(|t| Phase::from_name(t.as_bytes()).is_some());
            } else {
                json.skip_value()?;
            }
        }
        Ok(())
    })();
    phase && other
}
