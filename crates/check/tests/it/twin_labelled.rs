//! The brute-force twin on the labelled histories that are small enough to enumerate.
//!
//! They lie in `$ISOLDE_SHARED/histories`, else in `../shared/histories` beside the repository.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use isolde_history::{Format, History, Input, Outcome, Source};
use isolde_spec::{Level, Promise};

use crate::twin;

/// Beyond it the commit orders are too many.
const MAX_TXNS: usize = 8;
/// Larger files are not even read.
const MAX_BYTES: u64 = 20_000;

fn folder() -> Option<PathBuf> {
    let shared = std::env::var_os("ISOLDE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("histories");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no histories in {}", folder.display());
    // Straight to the terminal: the output of tests that pass is swallowed.
    let _ = writeln!(std::io::stderr(), "SKIPPED: no labelled histories in {}", folder.display());
    None
}

/// The history, if it is one file and small enough.
fn load(path: &Path, format: &str) -> Option<History> {
    let kind = fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if !kind.is_file() || kind.len() > MAX_BYTES {
        return None;
    }
    let source = Source::File(Input::new(path.display().to_string(), fs::read(path).unwrap()));
    let format = Format::named(format).unwrap_or_else(|| panic!("no format {format}"));
    let history = format.load(&source).unwrap_or_else(|e| panic!("{e}")).finish();
    let taking_part = history.txns().filter(|t| t.outcome() != Outcome::Aborted).count();
    (taking_part <= MAX_TXNS).then_some(history)
}

#[test]
fn labelled_histories_have_their_verdicts() {
    let Some(folder) = folder() else { return };
    let table = fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let mut decided = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [path, format, level, verdict, ..] = cells[..] else { panic!("odd line: {line}") };
        let level = Level::named(level).unwrap_or_else(|| panic!("no level {level}"));
        // Linearizability is about objects, which the twin does not know.
        if level.of_operations() {
            continue;
        }
        let Some(history) = load(&folder.join(path), format) else { continue };
        let answer = twin::decide(&history, Promise::of(level), 0);
        assert_eq!(answer, Some(verdict == "holds"), "{line}");
        println!("{path} {level}: {verdict}");
        decided += 1;
    }
    assert!(decided >= 20, "only {decided} verdicts were checked");
}
