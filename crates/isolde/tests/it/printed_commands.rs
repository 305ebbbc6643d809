//! Commands that are printed can be copied: they are whole, on one line, and quoted for a shell.

use std::process::Command;

use crate::common::{Folder, Ran};

/// Runs a printed line in a shell, as a user would.
fn typed(folder: &Folder, line: &str) -> Ran {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_isolde"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(line).env("PATH", path).current_dir(folder.path());
    Ran::of(&shell.output().unwrap())
}

/// What follows a name at the beginning of a line.
#[track_caller]
fn after<'t>(text: &'t str, name: &str) -> &'t str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim()
}

#[test]
fn every_printed_command_runs() {
    let folder = Folder::new("printed");
    for out in ["a folder with blanks and it's", &format!("a-{}-long-name", "very-".repeat(30))] {
        let args = ["test", "faulty", "--fault", "lost-update", "--seed", "3", "--out", out];
        let ran = folder.isolde(&args);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        let more = typed(&folder, after(&ran.out, "more "));
        assert_eq!(more.code, Some(0), "{more:#?}");
        let picture = typed(&folder, after(&more.out, "picture "));
        assert_eq!(picture.code, Some(0), "{picture:#?}");
        assert!(folder.path().join("witness.svg").is_file());
        std::fs::remove_file(folder.file("witness.svg")).unwrap();
        let again = typed(&folder, after(&ran.out, "again "));
        assert_eq!(again.code, Some(1), "{again:#?}");
        let kept = after(&ran.out, "kept ");
        let history = format!("{kept}/history.isolde");
        let check = folder.isolde(&["check", &history, "--level", "ser"]);
        let more = typed(&folder, after(&check.out, "more "));
        assert_eq!(more.code, Some(0), "{more:#?}");
    }
}
