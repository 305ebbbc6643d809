//! The rules of the house that a machine can check.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

mod modules;
mod tokens;

/// A file longer than this is more than one idea.
const MAX_FILE_LINES: usize = 600;
/// A function longer than this cannot be read without scrolling.
const MAX_FUNCTION_LINES: usize = 70;
/// rustfmt keeps code within 100 columns; texts that it cannot break may reach this.
const MAX_COLUMNS: usize = 140;
/// Data that belongs in a test is small.
const MAX_FILE_BYTES: u64 = 200 * 1024;
/// Data flows one way: a crate uses only crates to its left (see ARCHITECTURE.md).
const CRATES: [&str; 17] = [
    "history", "spec", "graph", "certify", "check", "stream", "report", "workload", "target",
    "run", "probe", "sql", "job", "watch", "web", "isolde", "bench",
];
/// In a crate, modules below the root of which a lower one never names an upper one, lowest first.
const FLOORS: [(&str, &[&str]); 1] = [(
    "check",
    &[
        "maybe_index",
        "limits",
        "options",
        "keys",
        "order",
        "graph",
        "question",
        "unordered",
        "explain",
        "weak",
        "linear",
        "strong",
        "timestamps",
        "plan",
        "checker",
    ],
)];

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files of the project, relative to its root.
pub(super) fn files() -> Vec<PathBuf> {
    let root = root();
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let skipped = [".git", "corpus", "artifacts", "seeds", "node_modules"];
            // What cargo builds, in a workspace or in `fuzz`; not the crate of that name.
            let built = name == "target" && !path.join("Cargo.toml").is_file();
            if path.is_dir() && !built && !skipped.contains(&name.as_str()) {
                folders.push(path);
            } else if path.is_file() {
                files.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    files.sort();
    assert!(files.len() > 20, "the project was not found");
    files
}

fn rust_files() -> Vec<(PathBuf, String)> {
    let rust = files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs"));
    rust.map(|f| (f.clone(), fs::read_to_string(root().join(&f)).unwrap())).collect()
}

/// Tests hold tables of texts that users see, in the width and the number that they have.
pub(super) fn is_test(file: &Path) -> bool {
    file.components().any(|c| matches!(c.as_os_str().to_str(), Some("tests" | "tests.rs")))
}

/// The files below `src` of each crate that is not being rebuilt, by their paths there.
fn sources() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sources: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (file, text) in rust_files() {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if let [top, name, folder, rest @ ..] = &parts[..]
            && (top.as_str(), folder.as_str()) == ("crates", "src")
        {
            sources.entry(name.clone()).or_default().insert(rest.join("/"), text);
        }
    }
    sources
}

#[track_caller]
pub(super) fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn files_are_one_idea_each() {
    let long = rust_files().into_iter().filter_map(|(file, text)| {
        let lines = text.lines().count();
        (lines > MAX_FILE_LINES).then(|| format!("{}: {lines} lines", file.display()))
    });
    report(&long.collect::<Vec<_>>());
}

#[test]
fn functions_can_be_read_without_scrolling() {
    let mut complaints = Vec::new();
    for (file, text) in rust_files().into_iter().filter(|(file, _)| !is_test(file)) {
        let mut open: Option<(usize, usize, String)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let code = line.trim_start();
            let starts = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn "];
            if open.is_none() && starts.iter().any(|s| code.starts_with(s)) {
                open = Some((number, indent, code.to_owned()));
            }
            if let Some((from, depth, name)) = &open
                && line.starts_with(&" ".repeat(*depth))
                && code == "}"
                && indent == *depth
            {
                if number - from > MAX_FUNCTION_LINES {
                    let (file, lines) = (file.display(), number - from);
                    complaints.push(format!("{file}:{}: {lines} lines: {name}", from + 1));
                }
                open = None;
            }
        }
    }
    report(&complaints);
}

#[test]
fn lines_fit_and_end_cleanly() {
    let mut complaints = Vec::new();
    for (file, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            let at = format!("{}:{}", file.display(), number + 1);
            if line.chars().count() > MAX_COLUMNS && !is_test(&file) {
                complaints.push(format!("{at}: more than {MAX_COLUMNS} columns"));
            }
            if line.contains('\t') {
                complaints.push(format!("{at}: a tab"));
            }
        }
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            complaints.push(format!("{}: does not end with one line end", file.display()));
        }
    }
    report(&complaints);
}

#[test]
fn nothing_is_left_to_do_in_the_code() {
    // Spelled apart, so that this file passes its own test.
    let banned = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("#[ign", "ore"),
        concat!("#[should_", "panic"),
    ];
    let mut complaints = Vec::new();
    for (file, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            for word in banned.iter().filter(|w| line.contains(**w)) {
                complaints.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
    }
    report(&complaints);
}

#[test]
fn every_module_says_what_it_is() {
    let silent = rust_files()
        .into_iter()
        .filter(|(file, text)| !is_test(file) && !text.trim_start().starts_with("//!"));
    report(&silent.map(|(file, _)| format!("{}: no //!", file.display())).collect::<Vec<_>>());
}

#[test]
fn imports_name_what_they_take() {
    let mut complaints = Vec::new();
    for (file, text) in rust_files() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let glob = line.trim_start().starts_with("use ") && line.contains("::*");
            if glob && !is_test(&file) && !line.contains("prelude") {
                complaints.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    report(&complaints);
}

#[test]
fn crates_use_only_crates_to_their_left() {
    let mut complaints = Vec::new();
    for (at, name) in CRATES.iter().enumerate() {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(manifest) else { continue };
        let code = text.split("[dev-dependencies]").next().unwrap_or_default();
        for (other_at, other) in CRATES.iter().enumerate() {
            let used = code.lines().any(|l| l.starts_with(&format!("isolde-{other}")));
            if used && other_at >= at {
                complaints.push(format!("crates/{name} uses isolde-{other}"));
            }
        }
    }
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !CRATES.contains(&name.as_str()) {
            complaints.push(format!("crates/{name} has no place in the order of crates"));
        }
    }
    report(&complaints);
}

#[test]
fn nothing_but_main_ends_the_process_and_nothing_that_changes_is_a_static() {
    // Spelled apart, so that this file passes its own test.
    let ends = ["process::", "exit("].concat();
    // Tables that never change, and what is computed once, are none.
    let changes = ["Atomic", "Mutex<", "RwLock<", "RefCell<"];
    // Texts that are kept once, however often a driver is opened: nobody can tell.
    let interned = ["crates/target/src/driver/about.rs"];
    let mut complaints = Vec::new();
    // The benchmark is a program of its own, and counts what all its threads allocate.
    for (name, files) in sources().into_iter().filter(|(name, _)| name != "bench") {
        for (file, text) in files {
            for (line, at) in text.lines().zip(1..) {
                let place = format!("crates/{name}/src/{file}:{at}");
                if line.contains(&ends) {
                    complaints.push(format!("{place} ends the process"));
                }
                let line = line.trim_start().trim_start_matches("pub(crate) ");
                let a_static = line.starts_with("static ") || line.starts_with("pub static ");
                let known = interned.iter().any(|file| place.starts_with(file));
                if a_static && !known && changes.iter().any(|cell| line.contains(cell)) {
                    complaints.push(format!("{place} is a static that changes"));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn modules_of_a_crate_have_no_cycles() {
    let mut complaints = Vec::new();
    for (name, files) in sources() {
        let uses = modules::uses(&files);
        let floors =
            FLOORS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, floors)| floors);
        let found = modules::cycles(&uses).into_iter().chain(modules::upward(&uses, floors));
        complaints.extend(found.map(|complaint| format!("crates/{name}: {complaint}")));
    }
    report(&complaints);
}

#[test]
fn type_names_are_unique_in_a_crate() {
    let mut complaints = Vec::new();
    for (name, files) in sources() {
        for (of_type, places) in modules::types(&files) {
            if places.len() > 1 {
                let places = places.join(", ");
                complaints.push(format!("crates/{name}: {of_type} is defined at {places}"));
            }
        }
    }
    report(&complaints);
}

/// A second program would be linked, and run, after the first; a file that nobody names is not run at all.
#[test]
fn integration_tests_of_a_crate_are_one_program() {
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut complaints = Vec::new();
    let files = rust_files();
    for (file, _) in &files {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
        let ["crates", name, "tests", rest @ ..] =
            &parts.iter().map(|p| &**p).collect::<Vec<_>>()[..]
        else {
            continue;
        };
        match rest {
            [_] | [_, "main.rs"] => {
                programs.entry((*name).into()).or_default().push(rest.join("/"));
            }
            ["it", part] | ["it", part, "mod.rs"] => {
                let main = Path::new("crates").join(name).join("tests/it/main.rs");
                let line = format!("mod {};", part.trim_end_matches(".rs"));
                let named = files.iter().any(|(f, t)| *f == main && t.lines().any(|l| l == line));
                if !named {
                    complaints.push(format!("{}: not in {}", file.display(), main.display()));
                }
            }
            _ => {}
        }
    }
    assert!(programs.len() > 5, "{programs:?}");
    for (name, programs) in programs.iter().filter(|(_, programs)| programs.len() > 1) {
        complaints.push(format!("crates/{name}/tests: several programs: {programs:?}"));
    }
    report(&complaints);
}

#[test]
fn no_large_file_is_in_the_project() {
    let large = files().into_iter().filter_map(|file| {
        let bytes = fs::metadata(root().join(&file)).unwrap().len();
        (bytes > MAX_FILE_BYTES).then(|| format!("{}: {bytes} bytes", file.display()))
    });
    report(&large.collect::<Vec<_>>());
}

#[test]
fn the_code_map_names_every_crate_and_format() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut complaints = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !map.contains(&format!("crates/{name}")) {
            complaints.push(format!("ARCHITECTURE.md does not name crates/{name}"));
        }
    }
    report(&complaints);
}
