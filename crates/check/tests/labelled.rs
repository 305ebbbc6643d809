//! The labelled histories of the shared collection: no verdict may contradict its label.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

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

#[test]
fn no_verdict_contradicts_its_label() {
    let Some(shared) = shared() else { return };
    let table = std::fs::read_to_string(shared.join("histories/expected.tsv")).unwrap();
    let (mut decided, mut open) = (0, Vec::new());
    for row in table.lines().skip(1) {
        let row: Vec<&str> = row.split('\t').collect();
        let source = Source::open(&shared.join("histories").join(row[0])).unwrap();
        let history = Format::recognise(&source).unwrap().load(&source).unwrap().finish();
        let level = Level::named(row[2]).unwrap_or_else(|| panic!("no level {}", row[2]));
        let verdict = check(&history, Promise::of(level), &Options::default());
        match verdict.holds() {
            None => open.push(format!("{} {level}: {:?}", row[0], verdict.answer)),
            Some(holds) => {
                assert_eq!(holds, row[3] == "holds", "{} at {level}: {verdict:?}", row[0]);
                decided += 1;
            }
        }
    }
    eprintln!("{decided} decided, {} open:\n{}", open.len(), open.join("\n"));
    assert!(decided > 10);
}
