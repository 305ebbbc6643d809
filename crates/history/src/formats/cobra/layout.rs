//! Which layout a folder has: the one in which every file can be read to its end.

use crate::error::{Fault, ReadError};
use crate::formats::cobra::record::{Layout, Records};
use crate::source::{Input, Source, whole};

/// What there is in a folder, read in one layout.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counts {
    records: u64,
    operations: u64,
    unknown_writers: bool,
}

/// The layout of all files, and whether some of their writers are unknown. Each candidate is tried
/// in one pass that stops at its first fault.
pub(super) fn detect(source: &Source) -> Result<(Layout, bool), ReadError> {
    if source.files().is_empty() {
        return Err(no_log(source));
    }
    let mut fitting: Vec<(Layout, Counts)> = Vec::new();
    let mut best: Option<(usize, Fault)> = None;
    for layout in Layout::ALL {
        match count(source.files(), layout) {
            Ok(counts) => fitting.push((layout, counts)),
            Err((file, fault)) => {
                let further = |(f, b): &(usize, Fault)| (*f, b.offset) < (file, fault.offset);
                if best.as_ref().is_none_or(further) {
                    best = Some((file, fault));
                }
            }
        }
    }
    match (fitting.first(), best) {
        (Some(first), _) => {
            if fitting.iter().all(|other| same_meaning(*first, *other)) {
                return Ok((first.0, first.1.unknown_writers));
            }
            Err(ambiguous(source, &fitting))
        }
        (None, Some((file, fault))) => Err(match source.files().get(file) {
            Some(input) => input.binary_error(fault),
            None => whole(source.name(), fault.expected),
        }),
        (None, None) => Err(no_log(source)),
    }
}

/// Counts the records, or says in which file and where the layout does not fit.
fn count(files: &[Input], layout: Layout) -> Result<Counts, (usize, Fault)> {
    let mut counts = Counts { records: 0, operations: 0, unknown_writers: false };
    for (i, input) in files.iter().enumerate() {
        let mut records = Records::new(&input.bytes, layout);
        while let Some((_, record)) = records.next().map_err(|fault| (i, fault))? {
            counts.records += 1;
            counts.operations += u64::from(record.is_operation());
            counts.unknown_writers |= record.has_unknown_writer();
        }
    }
    Ok(counts)
}

/// Whether two layouts that both fit give the same history: no record at all, or the same starts and
/// commits without any key between them.
fn same_meaning((a, in_a): (Layout, Counts), (b, in_b): (Layout, Counts)) -> bool {
    let no_operations = in_a.operations == 0 && in_b.operations == 0;
    a == b
        || (in_a.records == 0 && in_b.records == 0)
        || (no_operations && a.timestamps == b.timestamps)
}

fn no_log(source: &Source) -> ReadError {
    whole(source.name(), "no log to read".to_owned())
}

fn ambiguous(source: &Source, fitting: &[(Layout, Counts)]) -> ReadError {
    let names: Vec<&str> = fitting.iter().map(|(layout, _)| layout.name()).collect();
    let complaint = format!("the logs can be read in more than one layout: {}", names.join(", "));
    let mut error = whole(source.name(), complaint);
    error.hint = Some("Cobra logs do not say which; a longer log would decide it".to_owned());
    error
}
