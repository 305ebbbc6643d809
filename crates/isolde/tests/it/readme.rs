//! The README's examples are run: each `$ isolde ...` in a `console` block must print what follows it.
//! A line `...` stands for any lines; what a real database did differs in its numbers.
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
    let page = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let mut examples = examples(&page("README.md"));
    assert!(examples.len() >= 3, "the README has lost its tour");
    examples.extend(self::examples(&page("docs/reports.md")));
    for (command, expected) in examples {
        let printed = run(&command);
        if command.starts_with("isolde test") {
            let alike = is_alike(&expected, &printed);
            assert!(alike, "$ {command}\nprinted\n{printed}\ninstead of\n{expected}");
        } else {
            assert_eq!(printed, expected, "$ {command}");
        }
    }
}

/// Whether both texts have the same lines but for their numbers, with any lines where it says `...`.
fn is_alike(expected: &str, printed: &str) -> bool {
    let words = |line: &str| {
        let words = line.split_whitespace().filter(|w| !w.contains(|c: char| c.is_ascii_digit()));
        words.collect::<Vec<_>>().join(" ")
    };
    let mut printed = printed.lines().map(words);
    let mut skips = false;
    for line in expected.lines() {
        if line.trim() == "..." {
            skips = true;
            continue;
        }
        let same = |p: &String| *p == words(line);
        let found = if skips {
            printed.any(|p| same(&p))
        } else {
            printed.next().is_some_and(|p| same(&p))
        };
        if !found {
            return false;
        }
        skips = false;
    }
    skips || printed.next().is_none()
}

#[test]
fn texts_are_alike_but_for_numbers() {
    assert!(is_alike("run 1.0 s\n...\nend\n", "run 2.7 s\na\nb\nend\n"));
    assert!(!is_alike("run 1.0 s\n...\nend\n", "run 2.7 s\na\nb\n"));
    assert!(!is_alike("run 1.0 s\n", "ran 1.0 s\n"));
    assert!(!is_alike("run 1.0 s\n", "run 1.0 s\nmore\n"));
}

#[test]
fn the_two_commands_are_there() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(page.contains("cargo run --release -p isolde -- test fjall"));
    let test = "bash scripts/test.sh";
    assert!(page.contains(test) && ci.contains(test), "CI runs what the README says");
}
