//! The labelled histories of the shared collection: every verdict is the one of its label.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use isolde_check::{Options, check};
use isolde_history::{Format, Source};
use isolde_spec::{Level, Promise};

/// The shared collection, or `None` with a loud word.
fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("ISOLDE_SHARED").map_or(root.join("../shared"), PathBuf::from);
    if folder.join("histories/expected.tsv").is_file() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("CI").is_none_or(|v| v != "true"),
        "CI needs the shared histories in {}",
        folder.display()
    );
    eprintln!("SKIPPED: no shared histories in {}", folder.display());
    None
}

/// Rows that stay open, each with the reason why.
const OPEN: &[(&str, Level, &str)] = &[];

#[test]
fn every_row_is_decided_as_it_is_labelled() {
    let Some(shared) = shared() else { return };
    let table = std::fs::read_to_string(shared.join("histories/expected.tsv")).unwrap();
    // By format and level: how many were decided, of how many.
    let mut passed: BTreeMap<(&str, &str), [u32; 2]> = BTreeMap::new();
    for row in table.lines().skip(1) {
        let row: Vec<&str> = row.split('\t').collect();
        let source = Source::open(&shared.join("histories").join(row[0])).unwrap();
        let history = Format::recognise(&source).unwrap().load(&source).unwrap().finish();
        let level = Level::named(row[2]).unwrap_or_else(|| panic!("no level {}", row[2]));
        let verdict = check(&history, Promise::of(level), &Options::default());
        let count = passed.entry((row[1], row[2])).or_default();
        count[1] += 1;
        match verdict.holds() {
            None => {
                let known = OPEN.iter().find(|(path, l, _)| *path == row[0] && *l == level);
                let (_, _, why) =
                    known.unwrap_or_else(|| panic!("{} {level}: {verdict:?}", row[0]));
                eprintln!("OPEN: {} at {level}: {why}", row[0]);
            }
            Some(holds) => {
                assert_eq!(holds, row[3] == "holds", "{} at {level}: {verdict:?}", row[0]);
                count[0] += 1;
            }
        }
    }
    for ((format, level), [decided, all]) in passed {
        eprintln!("{format:<14} {level:<20} {decided} of {all} decided, none contradicted");
    }
}
