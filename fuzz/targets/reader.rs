//! One fuzz target for every reader: `ISOLDE_FUZZ_FORMAT` names it.
//!
//! Whatever the bytes, a reader must answer with a history or an error. A history must stand being
//! summed up and checked, and come back from both native formats as it was.
#![no_main]

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::LazyLock;

use isolde_check::{Checker, Options};
use isolde_history::formats::SaveFolder;
use isolde_history::{
    FORMATS, Format, History, HistoryBuilder, Input, NativeFollower, Source, Summary,
};
use isolde_report::{Decided, Exhibit, Telling, dot, svg, to_json, to_text};
use isolde_spec::{Level, Promise};
use libfuzzer_sys::fuzz_target;

static FORMAT: LazyLock<&'static Format> = LazyLock::new(|| {
    let name = std::env::var("ISOLDE_FUZZ_FORMAT").expect("ISOLDE_FUZZ_FORMAT names a format");
    Format::named(&name).expect("ISOLDE_FUZZ_FORMAT names a format")
});

fuzz_target!(init: {
    if std::env::var_os("ISOLDE_FUZZ_FORMAT").is_none() {
        // Whoever wants to fuzz them all has to know which there are.
        FORMATS.iter().for_each(|format| println!("{}", format.name));
        std::process::exit(0);
    }
}, |bytes: &[u8]| {
    let format = *FORMAT;
    let source = source(format.name, bytes);
    let _ = Format::recognise(&source);
    let whole = format.load(&source);
    let mut streamed = HistoryBuilder::new();
    let read = (format.read)(&source, &mut streamed);
    assert_eq!(whole.is_ok(), read.is_ok(), "load and read disagree");
    let followed = (format.name == "isolde").then(|| follow(bytes)).flatten();
    let Ok(whole) = whole else { return };
    let history = whole.finish();
    if let Some(followed) = followed {
        history.same_as(&followed).expect("load and follow disagree");
    }
    history.same_as(&streamed.finish()).expect("load and read disagree");
    let _ = Summary::of(&history);
    for native in ["isolde", "jsonl"] {
        let native = Format::named(native).expect("a native format");
        let mut file = Vec::new();
        native.write.expect("native formats are written")(&history, &mut file).expect("writes");
        let back = native.load(&Source::File(Input::new(native.name, file))).expect("reads back");
        history.same_as(&back.finish()).expect("comes back as it was");
    }
    if let Some(write) = format.write_folder {
        comes_back(&history, format, write);
    }
    check(&history);
});

/// A history that was read from a folder is written as one, and read again as it was; or it is refused.
fn comes_back(history: &History, format: &Format, write: SaveFolder) {
    let files: Rc<RefCell<Vec<Input>>> = Rc::default();
    let mut make = |name: &str| -> io::Result<Box<dyn io::Write>> {
        files.borrow_mut().push(Input::new(name, Vec::new()));
        Ok(Box::new(LastFile(files.clone())))
    };
    if write(history, &mut make).is_err() {
        return;
    }
    let source = Source::Folder { name: "fuzz".to_owned(), files: files.take() };
    let back = format.load(&source).unwrap_or_else(|error| panic!("{error}"));
    history.same_as(&back.finish()).expect("comes back as it was");
}

/// Writes to the file that was made last.
struct LastFile(Rc<RefCell<Vec<Input>>>);

impl io::Write for LastFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = self.0.borrow_mut().last_mut() {
            file.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a follower gets of a native file; nothing if it is damaged.
fn follow(bytes: &[u8]) -> Option<History> {
    let mut builder = HistoryBuilder::new();
    let mut follower = NativeFollower::new(bytes, "fuzz");
    follower.read_blocks(&mut builder).ok()?;
    follower.finish(&mut builder).ok()?;
    Some(builder.finish())
}

/// Asks for every level, by timestamps and snapshots too, and shows the verdict, its excerpts included; none of that may
/// panic, and no promise may hold that implies a broken one.
fn check(history: &History) {
    let checker = Checker::new(history, Options::default());
    let timed = [Level::SnapshotIsolation, Level::Serializable].map(Promise::by_timestamps);
    let mut broken: Vec<Promise> = Vec::new();
    let shown = [Level::ReadCommitted, Level::SnapshotIsolation].map(Promise::by_snapshots);
    for promise in Promise::all().chain(timed).chain(shown) {
        let verdict = checker.check(promise);
        let implied = broken.iter().any(|weaker| promise.implies(*weaker));
        assert!(!implied || verdict.holds() != Some(true), "{promise} holds, but {broken:?} not");
        broken.extend((verdict.holds() == Some(false)).then_some(promise));
        let decided = Decided { verdict, holds_without_session_order: false, seconds: 0.0 };
        let telling = Telling { all: true, ..Telling::default() };
        let _ = (to_text(history, &decided, &telling), to_json(history, &decided));
        for (at, witness) in decided.verdict.witnesses().iter().enumerate().take(3) {
            let exhibit = Exhibit::new(history, promise, at + 1, witness);
            let _ = (svg(&exhibit), dot(&exhibit));
        }
    }
}

/// Formats that are folders get two files, split at the first pair of 0xff bytes.
fn source(format: &str, bytes: &[u8]) -> Source {
    let (prefix, suffix) = match format {
        "cobra" => ("T", ".log"),
        "viper" => ("J", ".log"),
        "leopard" => return trace(bytes),
        _ => return Source::File(Input::new("fuzz", bytes)),
    };
    let (first, second) = halves(bytes);
    let parts: Vec<&[u8]> = std::iter::once(first).chain(second).collect();
    let files = parts.iter().enumerate();
    let files = files.map(|(i, part)| Input::new(format!("{prefix}{i}{suffix}"), *part)).collect();
    Source::Folder { name: "fuzz".to_owned(), files }
}

/// The two parts around the first pair of 0xff bytes.
fn halves(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.windows(2).position(|w| w == [0xff, 0xff]) {
        Some(at) => (&bytes[..at], Some(&bytes[at + 2..])),
        None => (bytes, None),
    }
}

/// Leopard's folder: a slice, and behind pairs of 0xff bytes the rows of a table and another slice. What
/// begins as a table is one, whatever comes before it.
fn trace(bytes: &[u8]) -> Source {
    let (slice, rest) = halves(bytes);
    let (table, other) = rest.map_or((None, None), |rest| {
        let (table, other) = halves(rest);
        (Some(table), other)
    });
    let (slice, table) =
        if slice.starts_with(b"pkId") { (&b"[]"[..], Some(slice)) } else { (slice, table) };
    let named = [
        ("loader-0.0.json", Some(slice)),
        ("init_data/table0.csv", table),
        ("loader-0.1.json", other),
    ];
    let files = named.into_iter().filter_map(|(name, part)| Some(Input::new(name, part?)));
    Source::Folder { name: "fuzz".to_owned(), files: files.collect() }
}
