//! Which files of a folder are slices, in which order, and which are tables.

use crate::error::ReadError;
use crate::source::{Input, Source, whole};

/// A slice by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SliceName<'n> {
    pub(super) loader: &'n str,
    pub(super) number: u64,
}

/// The slice that a file is; `None` if it is none.
pub(crate) fn slice_of(path: &str) -> Option<SliceName<'_>> {
    let name = unpacked_name(path).strip_prefix("loader-")?.strip_suffix(".json")?;
    let (loader, number) = name.rsplit_once('.')?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let number = number.parse().ok().filter(|_| digits)?;
    (!loader.is_empty()).then_some(SliceName { loader, number })
}

/// The table whose rows a file has; `None` if it is no such file.
pub(crate) fn table_of(path: &str) -> Option<&str> {
    unpacked_name(path).strip_suffix(".csv").filter(|name| !name.is_empty())
}

/// A file's name without its folders, and as it was before it was packed.
fn unpacked_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name)
}

/// What a source has: slices in the order of threads and numbers, tables, and anything else.
#[derive(Default)]
pub(super) struct Files<'s> {
    /// Each with the number of its loader among all of them.
    pub(super) slices: Vec<(usize, &'s Input)>,
    pub(super) tables: Vec<(&'s str, &'s Input)>,
    pub(super) others: Vec<&'s Input>,
}

impl<'s> Files<'s> {
    pub(super) fn of(source: &'s Source) -> Result<Files<'s>, ReadError> {
        let Source::Folder { name, files } = source else {
            let slices = source.files().iter().map(|file| (0, file)).collect();
            return Ok(Files { slices, ..Files::default() });
        };
        let mut found = Files::default();
        let mut slices: Vec<(SliceName<'_>, &Input)> = Vec::new();
        for file in files {
            match (slice_of(&file.name), table_of(&file.name)) {
                (Some(slice), _) => slices.push((slice, file)),
                (None, Some(table)) => found.tables.push((table, file)),
                (None, None) => found.others.push(file),
            }
        }
        if slices.is_empty() {
            let complaint = "expected slices named loader-<thread>.<slice>.json";
            return Err(whole(name, complaint.to_owned()));
        }
        // Threads with numbers go in the order of numbers, which is shorter texts first.
        slices.sort_by_key(|(slice, _)| (slice.loader.len(), slice.loader, slice.number));
        check_gaps(&slices)?;
        let mut loader = 0;
        for (at, (slice, file)) in slices.iter().enumerate() {
            loader += usize::from(at > 0 && slices[at - 1].0.loader != slice.loader);
            found.slices.push((loader, file));
        }
        Ok(found)
    }
}

/// A thread without a slice in the middle has lost operations: that is no trace.
fn check_gaps(slices: &[(SliceName<'_>, &Input)]) -> Result<(), ReadError> {
    for pair in slices.windows(2) {
        let [(before, _), (slice, file)] = pair else { continue };
        let complaint = match slice.number.checked_sub(before.number) {
            _ if slice.loader != before.loader => continue,
            Some(1) => continue,
            Some(0) => "another file is the same slice of its thread".to_owned(),
            _ => format!("slice {} of thread {} is missing", before.number + 1, slice.loader),
        };
        return Err(whole(&file.name, complaint));
    }
    Ok(())
}
