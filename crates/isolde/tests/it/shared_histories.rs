//! Every labelled history of the shared collection loads, and is recognised for what it is.
//!
//! The collection lies outside the project: `$ISOLDE_SHARED`, else `../shared` beside it. A clone
//! without it passes and says so; CI must have it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use isolde_history::{Format, Source, Summary};

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
fn every_labelled_history_loads_as_its_format() {
    let Some(shared) = shared() else { return };
    let histories = shared.join("histories");
    let table = std::fs::read_to_string(histories.join("expected.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let paths: BTreeMap<&str, &str> = rows.map(|row| (row[0], row[1])).collect();
    assert!(paths.len() > 50, "{} paths", paths.len());
    for (path, format) in paths {
        let source = Source::open(&histories.join(path)).unwrap();
        let recognised = Format::recognise(&source).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(recognised.name, format, "{path}");
        let claims = isolde_history::FORMATS.iter().filter(|f| (f.looks_like)(&source));
        let claims: Vec<&str> = claims.map(|f| f.name).collect();
        assert_eq!(claims, [format], "{path} is claimed by several formats");
        let history = recognised.load(&source).unwrap_or_else(|e| panic!("{e}")).finish();
        let summary = Summary::of(&history);
        assert!(summary.transactions() > 0 && summary.operations() > 0, "{path}");
        comes_back(&history, path);
    }
}

/// Through both native formats and back.
fn comes_back(history: &isolde_history::History, path: &str) {
    for native in ["isolde", "jsonl", "notation"] {
        let native = Format::named(native).unwrap();
        let mut file = Vec::new();
        native.write.unwrap()(history, &mut file).unwrap();
        let source = Source::File(isolde_history::Input::new(path, file));
        let back = native.load(&source).unwrap_or_else(|e| panic!("{e}")).finish();
        history.same_as(&back).unwrap_or_else(|e| panic!("{path} as {}: {e}", native.name));
    }
}
