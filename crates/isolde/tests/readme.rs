//! The README's examples are run: each `$ isolde ...` in a `console` block must print what follows it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The commands of all `console` blocks of a page, with what they print.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => {
                    output.push_str(line);
                    output.push('\n');
                }
                (None, None) => panic!("output before the first command: {line}"),
            },
        }
    }
    examples
}

fn run(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_isolde")).parent().unwrap().to_owned();
    let mut path = binary.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .env("PATH", path)
        .current_dir(root())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_example_prints_what_the_readme_says() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let examples = examples(&page);
    assert!(examples.len() >= 3, "the README has lost its tour");
    for (command, expected) in examples {
        assert_eq!(run(&command), expected, "$ {command}");
    }
}

#[test]
fn the_two_commands_are_there() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(page.contains("cargo run --release -p isolde -- stat"));
    let test = "bash scripts/test.sh";
    assert!(page.contains(test) && ci.contains(test), "CI runs what the README says");
}
