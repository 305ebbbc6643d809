//! The command as a user meets it: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn isolde(args: &[&str]) -> Output {
    with_input(args, b"")
}

fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_isolde"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read its input closes the pipe.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[track_caller]
fn stdout(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one error it prints, with exit code 2 and nothing on standard output.
#[track_caller]
fn fault(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(text.starts_with("error: "), "{text}");
    assert!(!text.contains('\u{1b}'), "colour where there is no terminal");
    text
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("isolde-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn stat_reads_standard_input() {
    let text = stdout(&with_input(&["stat", "-"], b"a: r(x,1) w(x,2)\n"));
    assert!(text.contains("history        -\n"), "{text}");
    assert!(text.contains("operations     2 (1 read, 1 write)"), "{text}");
}

#[test]
fn stat_json_says_what_the_text_says() {
    let json = stdout(&isolde(&["stat", "--json", "histories/notation/every-evidence.txt"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], "notation");
    assert_eq!(json["outcomes"]["aborted"], 1);
    assert_eq!(json["operation_kinds"]["compare-and-set"], 2);
    assert_eq!(json["evidence"]["version_orders"], 1);
    assert_eq!(json["info"]["server"], "postgres");
    assert_eq!(json["time_span"]["to"], 90);
}

#[test]
fn a_missing_file_an_empty_file_and_a_strange_file_are_told_apart() {
    let folder = Folder::new("strange");
    let missing = fault(&isolde(&["stat", "no-such-file"]));
    assert!(missing.contains("no-such-file: cannot be read"), "{missing}");
    std::fs::write(folder.file("empty"), "").unwrap();
    let empty = fault(&isolde(&["stat", &folder.file("empty")]));
    assert!(empty.contains("the input is empty") && !empty.contains("hint"), "{empty}");
    std::fs::write(folder.file("strange"), "Dear diary,\n").unwrap();
    let strange = fault(&isolde(&["stat", &folder.file("strange")]));
    assert!(strange.contains("not recognised"), "{strange}");
    assert!(strange.contains("--format takes one of isolde, jsonl"), "{strange}");
}

#[test]
fn an_error_names_file_line_column_and_what_was_expected() {
    let error =
        fault(&with_input(&["stat", "-", "--format", "plume"], b"w(0,1,0,1)\nr(0,x,1,2)\n"));
    assert!(error.contains("<stdin>:2:5: expected"), "{error}");
    assert!(error.contains("found 'x,1,2)'"), "{error}");
    let error = fault(&with_input(&["stat", "-"], b"w(0,1,1,12)\nr(0,1,3,12)\n"));
    assert!(error.contains("transaction 12 appears in sessions 1 and 3"), "{error}");
}

#[test]
fn a_wrong_format_name_lists_the_right_ones() {
    let error = fault(&isolde(&["stat", "histories/plume/long-fork.txt", "--format", "plum"]));
    assert!(error.contains("no format 'plum'") && error.contains("plume"), "{error}");
}

#[test]
fn convert_goes_there_and_back() {
    let folder = Folder::new("convert");
    let (native, lines) = (folder.file("h.isolde"), folder.file("h.jsonl"));
    stdout(&isolde(&["convert", "histories/notation/every-evidence.txt", &native]));
    stdout(&isolde(&["convert", &native, &lines]));
    let back = stdout(&isolde(&["convert", &lines, "-", "--to", "notation"]));
    let original = stdout(&isolde(&[
        "convert",
        "histories/notation/every-evidence.txt",
        "-",
        "--to",
        "notation",
    ]));
    // Attributes may come back in another order; the rest is the same line for line.
    assert_eq!(back.lines().count(), original.lines().count());
    let exists = fault(&isolde(&["convert", &native, &lines]));
    assert!(exists.contains("exists") && exists.contains("--force"), "{exists}");
    stdout(&isolde(&["convert", &native, &lines, "--force"]));
}

#[test]
fn what_the_target_cannot_express_is_refused_by_name_and_leaves_nothing_behind() {
    let folder = Folder::new("refused");
    let target = folder.file("h.txt");
    let from = "histories/jepsen-edn/list-append.edn";
    let error = fault(&isolde(&["convert", from, &target, "--to", "plume"]));
    assert!(error.contains("plume"), "{error}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    let error = fault(&isolde(&["convert", from, &target]));
    assert!(error.contains("--to names one"), "{error}");
    let error = fault(&isolde(&["convert", from, &target, "--to", "cobra"]));
    assert!(error.contains("cobra is read but not written"), "{error}");
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let mut history = String::new();
    for i in 0..20_000 {
        history += &format!("{{:type :ok, :process 0, :value [[:append 1 {i}]]}}\n");
    }
    let folder = Folder::new("pipe");
    std::fs::write(folder.file("h.edn"), history).unwrap();
    for target in ["jsonl", "isolde", "notation", "jepsen-edn"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_isolde"))
            .args(["convert", &folder.file("h.edn"), "-", "--to", target])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{target}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn force_writes_into_devices_and_through_links_and_replaces_neither() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("force");
    let from = "histories/jepsen-edn/list-append.edn";
    // Links to a device, so that a mistake would cost the link only.
    symlink("/dev/null", folder.0.join("null")).unwrap();
    symlink("/dev/full", folder.0.join("full")).unwrap();
    stdout(&isolde(&["convert", from, &folder.file("null"), "--to", "jsonl", "--force"]));
    let full = isolde(&["convert", from, &folder.file("full"), "--to", "jsonl", "--force"]);
    let full = fault(&full);
    assert!(full.contains("cannot write") && !full.contains("list-append.edn"), "{full}");
    std::fs::write(folder.file("real.jsonl"), "old").unwrap();
    symlink("real.jsonl", folder.0.join("link.jsonl")).unwrap();
    stdout(&isolde(&["convert", from, &folder.file("link.jsonl"), "--force"]));
    assert!(std::fs::read_to_string(folder.file("real.jsonl")).unwrap().contains("isolde"));
    for link in ["null", "full", "link.jsonl"] {
        assert!(folder.0.join(link).is_symlink(), "{link}");
    }
}

#[test]
fn a_cut_file_opens_with_a_warning() {
    let folder = Folder::new("cut");
    let bytes = std::fs::read(root().join("histories/isolde/every-evidence.isolde")).unwrap();
    std::fs::write(folder.file("cut.isolde"), &bytes[..bytes.len() - 5]).unwrap();
    let output = isolde(&["stat", &folder.file("cut.isolde")]);
    let text = stdout(&output);
    assert!(text.contains("incomplete     not every transaction that ran is in it"), "{text}");
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warning.contains("warning: ") && warning.contains("the file was cut"), "{warning}");
}

#[test]
fn check_says_what_holds_and_what_does_not_by_its_exit_code() {
    let lost = "histories/notation/lost-update.txt";
    let output = isolde(&["check", lost, "--level", "si"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("snapshot-isolation: violated") && text.contains("LostUpdate"), "{text}");
    let sound = b"initial 0\na: r(x,0) w(x,1)\nb: r(x,1)\n";
    assert_eq!(with_input(&["check", "-", "--level", "ser"], sound).status.code(), Some(0));
    let output = with_input(&["check", "-", "--level", "sser"], sound);
    assert_eq!(output.status.code(), Some(3), "no intervals");
    let skew = "initial 0\na: r(x,0) r(y,0) w(x,1)\nb: r(x,0) r(y,0) w(y,1)\n";
    assert_eq!(with_input(&["check", "-"], skew.as_bytes()).status.code(), Some(0), "si holds");
    assert_eq!(isolde(&["check", lost, "--level", "acid"]).status.code(), Some(2));
    assert_eq!(isolde(&["check", "no-such-file", lost, "-l", "si"]).status.code(), Some(1));
    let json = isolde(&["check", lost, "--level", "ser", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["verdicts"][0]["witnesses"][0]["anomaly"], "LostUpdate");
}

#[test]
fn check_says_when_session_order_alone_is_broken() {
    let stale = b"initial 0\na: r(x,0) w(x,1)\na: r(x,0)\n";
    let output = with_input(&["check", "-", "--level", "ser"], stale);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("it holds without session order"), "{text}");
    let output = with_input(&["check", "-", "--level", "ser", "--no-session-order"], stale);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn formats_lists_all_of_them() {
    let text = stdout(&isolde(&["formats"]));
    let json = stdout(&isolde(&["formats", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for format in isolde_history::FORMATS {
        assert!(text.contains(format.name) && text.contains(format.example), "{}", format.name);
        let listed = json.as_array().unwrap().iter().find(|f| f["name"] == format.name).unwrap();
        assert_eq!(listed["writes"], format.write.is_some());
    }
}

#[test]
fn completions_and_manual_come_from_the_same_source_as_help() {
    let help = stdout(&isolde(&["--help"]));
    let man = stdout(&isolde(&["man"]));
    for command in ["stat", "convert", "formats", "completions", "man"] {
        assert!(help.contains(command) && man.contains(command), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&isolde(&["completions", shell]));
        assert!(script.contains("convert"), "{shell}");
    }
    assert_eq!(isolde(&["no-such-command"]).status.code(), Some(2));
}
