//! What is read: within limits, whatever it is and wherever it comes from.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::common::{Folder, Ran};

/// A text of so many bytes, packed by that program.
fn packed(folder: &Folder, program: &str, line: &str, bytes: usize) -> Option<String> {
    let file = folder.file(&format!("bomb.{program}"));
    let out = std::fs::File::create(&file).unwrap();
    let child = std::process::Command::new(program)
        .args(["-1", "-c"])
        .stdin(Stdio::piped())
        .stdout(out)
        .spawn();
    // A machine without the program has the unit tests of the same limits.
    let mut child = child.ok()?;
    let block = line.repeat(1 << 16);
    let mut input = child.stdin.take().unwrap();
    for _ in 0..bytes / block.len() {
        input.write_all(block.as_bytes()).unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    Some(file)
}

/// Runs a command that must fail soon.
fn fails_soon(folder: &Folder, args: &[&str]) -> String {
    let began = Instant::now();
    let ran = folder.isolde(args);
    assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "{args:?}: {:?}", began.elapsed());
    ran.err
}

#[test]
fn bombs_are_refused_from_their_beginning_or_at_the_limit() {
    let folder = Folder::new("bombs");
    for program in ["gzip", "zstd"] {
        let Some(file) = packed(&folder, program, "[[[[[[[[[\n", 300 << 20) else { continue };
        let said = fails_soon(&folder, &["check", &file]);
        assert!(said.contains("the format is not recognised from the content"), "{said}");
        let said = fails_soon(&folder, &["check", "--format", "jsonl", &file]);
        assert!(said.contains(":1:1: expected a JSON object, found '[[[[[[[[['"), "{said}");
        // A format whose reader may need the end of the file.
        let said = fails_soon(&folder, &["stat", "-f", "dbcop-hist", "--max-input", "20M", &file]);
        assert!(said.contains("the input unpacks to more than 20 MiB"), "{said}");
        assert!(said.contains("hint: --max-input allows more"), "{said}");
        let said = fails_soon(&folder, &["check", "-f", "dbcop-hist", "--memory", "64M", &file]);
        assert!(said.contains("the input unpacks to more than 32 MiB"), "{said}");
        assert!(said.contains("hint: --memory allows more"), "{said}");
    }
}

#[test]
fn a_native_file_whose_blocks_unpack_to_too_much_is_refused() {
    let folder = Folder::new("native-bomb");
    let made = folder.isolde(&["generate", "h.isolde", "--txns", "200k", "--no-intervals"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = fails_soon(&folder, &["stat", "h.isolde", "--max-input", "2M"]);
    assert!(said.contains("h.isolde: the input unpacks to more than 2 MiB"), "{said}");
}

#[test]
fn devices_without_an_end_are_refused() {
    let folder = Folder::new("devices");
    for device in ["/dev/zero", "/dev/urandom"] {
        let said = fails_soon(&folder, &["check", device]);
        assert!(said.contains(&format!("{device}: the format is not recognised")), "{said}");
        let said = fails_soon(&folder, &["stat", "-f", "cobra", "--max-input", "10M", device]);
        assert!(said.contains("the input has more than 10 MiB"), "{said}");
    }
    let said = fails_soon(&folder, &["probe", "sqlite", "--cases", "/dev/zero"]);
    assert!(said.contains("/dev/zero is longer than 1048576 bytes"), "{said}");
}

#[test]
fn a_history_may_come_through_a_pipe_in_pieces() {
    let folder = Folder::new("pipe");
    let line = "{\"session\":1,\"ops\":[[\"w\",\"x\",1]]}\n";
    let mut child = folder
        .command(&["stat", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than the beginning from which the format is recognised.
    for _ in 0..100 {
        input.write_all(line.repeat(1000).as_bytes()).unwrap();
    }
    drop(input);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert!(ran.out.contains("\"total\": 100000") || ran.out.contains("100000"), "{ran:?}");
}

#[test]
fn the_initial_value_of_a_foreign_format_can_be_said() {
    let folder = Folder::new("initial");
    let file = folder.file("h.edn");
    std::fs::write(
        &file,
        "{:type :invoke, :process 0, :f :read, :value nil}\n{:type :ok, :process 0, :f :read, :value 0}\n",
    )
    .unwrap();
    assert_eq!(folder.isolde(&["check", "-l", "lin", &file]).code, Some(1));
    let ran = folder.isolde(&["check", "-l", "lin", "--initial", "0", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = folder.isolde(&["stat", "--initial", "0", &file]);
    assert!(ran.out.contains("every key: 0"), "{ran:?}");
    let ran = folder.isolde(&["convert", "--initial", "0", &file, "-", "--to", "jsonl"]);
    assert!(ran.out.contains("\"initial\":{\"default\":0}"), "{ran:?}");
    assert!(
        ran.out.contains("\"complete\":false,\"initial\":{}}\n")
            || ran.out.contains("\"complete\":false")
    );
    assert!(ran.out.trim_end().lines().last().unwrap().contains("\"complete\":true"), "{ran:?}");
    let ran = folder.isolde(&["explain", "--initial", "absent", &file]);
    assert!(ran.out.contains("--initial absent"), "{ran:?}");
    let ran = folder.isolde(&["check", "--initial", "[", &file]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--initial [: expected"), "{ran:?}");
    // A file that says it itself is overruled, and that is told.
    let own = folder.file("h.jsonl");
    std::fs::write(&own, "{\"isolde\":1,\"initial\":{\"default\":1}}\n").unwrap();
    let ran = folder.isolde(&["stat", "--initial", "0", &own]);
    assert!(
        ran.err.contains("--initial 0 replaces the initial value that the file says: 1"),
        "{ran:?}"
    );
}

#[test]
fn what_cannot_be_read_is_json_where_json_was_asked_for() {
    let folder = Folder::new("fault-json");
    std::fs::write(folder.file("bad.jsonl"), "{bad").unwrap();
    for command in ["check", "stat", "explain"] {
        let ran = folder.isolde(&[command, "bad.jsonl", "--json"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["history"], "bad.jsonl");
        let error = json["error"].as_str().unwrap();
        assert!(error.starts_with("the format is not recognised from the content"), "{error}");
        assert!(error.contains("it is nearest to jsonl, but at 1:2: expected"), "{error}");
        assert_eq!(json["isolde_report"], 1);
    }
}

#[test]
fn a_folder_without_logs_says_what_it_holds() {
    let folder = Folder::new("folder");
    std::fs::write(folder.file("one.edn"), "").unwrap();
    std::fs::write(folder.file("two.edn"), "").unwrap();
    let ran = folder.isolde(&["check", "."]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("the folder holds no log"), "{ran:?}");
    assert!(ran.err.contains("name each of the 2 other files, such as ./one.edn"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn names_of_files_are_escaped_wherever_they_are_printed() {
    let folder = Folder::new("names");
    let name = "x\x1b]0;PWN\x07\x1b[31m\nRED.jsonl";
    std::fs::write(folder.file(name), "{bad").unwrap();
    let fine = "y\x1b[31m\nfine.jsonl";
    let line = "{\"session\":1,\"ops\":[[\"r\",\"x\",1]]}\n";
    std::fs::write(folder.file(fine), line).unwrap();
    for args in [
        &["check", name][..],
        &["stat", name],
        &["stat", fine],
        &["check", "--report", fine, fine],
        &["convert", fine, fine, "--to", "jsonl"],
        &["generate", fine],
        &["record", "faulty", fine],
        &["explain", "no\x1bsuch"],
    ] {
        let ran = folder.isolde(args);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains('\x1b') && !said.contains('\x07'), "{args:?}: {said:?}");
        assert!(!said.contains("\nRED") && !said.contains("\nfine"), "{args:?}: {said:?}");
        assert!(said.contains("\\u001b"), "{args:?}: {said:?}");
    }
}
