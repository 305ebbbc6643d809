//! The checker as a browser would have it: bytes of a history in, a verdict as JSON out.
//!
//! Whoever calls asks for memory with [`alloc`], fills it, and gives it to [`check`], which answers with
//! memory of its own: the length in four bytes, little-endian, and the text. [`free`] takes both back.

use isolde_check::Checker;
use isolde_history::{Format, Input, Source};
use isolde_report::{Decided, to_json};
use isolde_spec::{Level, Promise};

/// Memory of so many bytes, all 0.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; len].into_boxed_slice()).cast()
}

/// Takes memory back.
///
/// # Safety
/// It was given by [`alloc`] with the same length, or by [`check`] with four more than it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut u8, len: usize) {
    // SAFETY: the caller promises that this is one whole box of ours.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, len)) });
}

/// The verdict on a level of the history that some files make up: each as the length of its name, its
/// name, the length of its bytes, its bytes, with lengths in four bytes.
///
/// # Safety
/// Both addresses are those of so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check(
    files: *const u8,
    files_len: usize,
    level: *const u8,
    level_len: usize,
) -> *mut u8 {
    // SAFETY: the caller promises that the bytes are there; nobody changes them until this returns.
    let (files, level) = unsafe {
        (std::slice::from_raw_parts(files, files_len), std::slice::from_raw_parts(level, level_len))
    };
    let text = verdict(files, level).unwrap_or_else(|error| format!("error: {error}"));
    let len = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    Box::into_raw([&len[..], text.as_bytes()].concat().into_boxed_slice()).cast()
}

fn verdict(files: &[u8], level: &[u8]) -> Result<String, String> {
    let level = std::str::from_utf8(level).map_err(|e| e.to_string())?;
    let level = Level::named(level).ok_or_else(|| format!("no level '{level}'"))?;
    let source = source(files).ok_or("files are cut off")?;
    let format = Format::recognise(&source).map_err(|e| e.to_string())?;
    let history = format.load(&source).map_err(|e| e.to_string())?.finish();
    let verdict = Checker::new(&history, Default::default()).check(Promise::of(level));
    let decided = Decided { verdict, holds_without_session_order: false, seconds: 0.0 };
    Ok(to_json(&history, &decided).to_string())
}

/// One file, or a folder of several.
fn source(mut packed: &[u8]) -> Option<Source> {
    let mut files = Vec::new();
    while !packed.is_empty() {
        let name = String::from_utf8_lossy(taken(&mut packed)?).into_owned();
        files.push(Input::new(name, taken(&mut packed)?));
    }
    if files.len() == 1 {
        files.pop().map(Source::File)
    } else {
        Some(Source::Folder { name: "folder".into(), files })
    }
}

fn taken<'a>(packed: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = packed.split_first_chunk::<4>()?;
    let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    *packed = rest;
    Some(bytes)
}
