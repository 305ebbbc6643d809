//! The project's own histories: each is recognised by its content, by one format only, and holds
//! what `histories/expected.tsv` says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use isolde_check::{Options, check};
use isolde_history::{FORMATS, Format, History, Input, Source, Summary};
use isolde_spec::{Level, Promise};

fn histories() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories").canonicalize().unwrap()
}

fn load(path: &Path) -> History {
    let source = Source::open(path).unwrap_or_else(|e| panic!("{e}"));
    let format = Format::recognise(&source).unwrap_or_else(|e| panic!("{e}"));
    format.load(&source).unwrap_or_else(|e| panic!("{e}")).finish()
}

#[test]
fn every_history_is_recognised_and_holds_what_it_should() {
    let table = std::fs::read_to_string(histories().join("expected.tsv")).unwrap();
    let mut seen = Vec::new();
    for row in table.lines().skip(1) {
        let row: Vec<&str> = row.split('\t').collect();
        let path = histories().join(row[0]);
        let source = Source::open(&path).unwrap();
        let claims = FORMATS.iter().filter(|f| (f.looks_like)(&source)).map(|f| f.name);
        assert_eq!(claims.collect::<Vec<_>>(), [row[1]], "{}", row[0]);
        assert!(row[0].starts_with(&format!("{}/", row[1])), "{} lies in the wrong folder", row[0]);
        let history = load(&path);
        let s = Summary::of(&history);
        let [committed, aborted, unknown] = s.outcomes;
        let complete = usize::from(history.meta().complete);
        let want = row[2..8].iter().map(|n| n.parse().unwrap());
        let want: Vec<usize> = want.chain([usize::from(row[8] == "true")]).collect();
        let counts = [s.sessions, committed, aborted, unknown, s.operations(), s.keys, complete];
        assert_eq!(counts.as_slice(), want, "{}", row[0]);
        seen.push(path);
    }
    for format in FORMATS {
        for entry in std::fs::read_dir(histories().join(format.name)).unwrap() {
            let path = entry.unwrap().path();
            assert!(seen.contains(&path), "{} is not in expected.tsv", path.display());
        }
    }
}

#[test]
fn every_format_has_a_history_and_every_text_of_the_table_is_filled_in() {
    for format in FORMATS {
        assert!(histories().join(format.name).is_dir(), "no history of format {}", format.name);
        assert!(!format.title.is_empty() && !format.example.is_empty(), "{}", format.name);
        assert!(!format.example.contains('\n'), "{}: the example is one line", format.name);
    }
}

#[test]
fn the_same_history_in_three_formats_is_the_same() {
    let text = load(&histories().join("notation/every-evidence.txt"));
    text.same_as(&load(&histories().join("jsonl/every-evidence.jsonl"))).unwrap();
    text.same_as(&load(&histories().join("isolde/every-evidence.isolde"))).unwrap();
    let json = load(&histories().join("dbcop-json/write-skew.json"));
    json.same_as(&load(&histories().join("dbcop-bincode/write-skew.bincode"))).unwrap();
}

#[test]
fn single_operations_can_be_put_in_order_or_not() {
    for (path, linearizable) in [
        ("jepsen-edn/concurrent-register.edn", true),
        ("jepsen-edn/stale-read.edn", false),
        ("jepsen-edn/mutex.edn", true),
        ("jepsen-edn/two-holders.edn", false),
        ("porcupine-kv/words.txt", true),
        ("porcupine-kv/lost-append.txt", false),
    ] {
        let history = load(&histories().join(path));
        let promise = Promise::of(Level::Linearizable);
        let verdict = check(&history, promise, &Options::default());
        assert_eq!(verdict.holds(), Some(linearizable), "{path}: {verdict:?}");
    }
}

/// Whatever a format can write, it reads back as it was.
#[test]
fn what_is_written_reads_back() {
    let table = std::fs::read_to_string(histories().join("expected.tsv")).unwrap();
    let mut written = 0;
    for path in table.lines().skip(1).filter_map(|row| row.split('\t').next()) {
        let history = load(&histories().join(path));
        for format in FORMATS {
            let Some(write) = format.write else { continue };
            let mut file = Vec::new();
            if write(&history, &mut file).is_err() {
                continue;
            }
            written += 1;
            let source = Source::File(Input::new(format.name, file));
            let back = format.load(&source).unwrap_or_else(|e| panic!("{path}: {e}")).finish();
            let ops = |h: &History| (h.txn_count(), h.op_count());
            assert_eq!(ops(&history), ops(&back), "{path} as {}", format.name);
            if ["isolde", "jsonl", "notation"].contains(&format.name) {
                history.same_as(&back).unwrap_or_else(|e| panic!("{path} as {}: {e}", format.name));
            }
        }
    }
    assert!(written > 60, "only {written} were written");
}
