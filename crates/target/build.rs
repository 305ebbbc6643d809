//! Tells the crate which versions of the embedded engines it is built with: they do not say it
//! themselves, and a history without the version of its database is worth little.

use std::path::Path;
use std::{env, fs};

/// Engines, with the versions among which to look, as there may be two of one engine.
const ENGINES: [(&str, &str, &str); 11] = [
    ("CANOPYDB", "canopydb", ""),
    ("FJALL", "fjall", ""),
    ("GRAFEO", "grafeo", ""),
    ("MACE_KV", "mace-kv", ""),
    ("REDB", "redb", ""),
    ("SKIPDB", "skipdb", ""),
    ("STOOLAP", "stoolap", ""),
    ("SURREALKV", "surrealkv", ""),
    ("SURREALMX", "surrealmx", "1."),
    ("SURREALMX_0_22", "surrealmx", "0.22."),
    ("TIDESDB", "tidesdb", ""),
];

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let lock = Path::new(&root).join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    // Without a lock file, as in a package that somebody vendored, versions are not known.
    let lock = fs::read_to_string(lock).unwrap_or_default();
    for (variable, name, prefix) in ENGINES {
        let version = version(&lock, name, prefix).unwrap_or("unknown");
        println!("cargo::rustc-env=VERSION_{variable}={version}");
    }
}

fn version<'a>(lock: &'a str, name: &str, prefix: &str) -> Option<&'a str> {
    let name = format!("name = \"{name}\"");
    let packages = lock.split("[[package]]").filter(|p| p.lines().any(|line| line == name));
    packages
        .filter_map(|p| p.lines().find_map(|line| line.strip_prefix("version = \"")))
        .map(|version| version.trim_end_matches('"'))
        .find(|version| version.starts_with(prefix))
}
