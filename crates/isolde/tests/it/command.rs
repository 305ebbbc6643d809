//! The command as a user meets it: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::Folder;

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
    assert_eq!(
        (&json["evidence"]["endings"], &json["evidence"]["server_ends"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&json["evidence"]["events"], &json["evidence"]["session_ends"]),
        (&1.into(), &1.into())
    );
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
    assert!(warning.contains("warning: ") && warning.contains("the file has no end"), "{warning}");
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

/// Standard output whatever the exit code, which must be the wanted one.
#[track_caller]
fn exits(output: &Output, code: i32) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}{errors}");
    text
}

const SKEW: &[u8] = b"initial 0\na: r(x,0) r(y,0) w(x,1)\nb: r(x,0) r(y,0) w(y,1)\n";

#[test]
fn check_without_a_level_says_the_strongest_and_what_forbids_the_others() {
    let text = exits(&with_input(&["check", "-"], SKEW), 0);
    assert!(text.contains("strongest level that holds: snapshot-isolation\n"), "{text}");
    assert!(text.contains("  serializable               violated: WriteSkew\n"), "{text}");
    assert!(text.contains("  repeatable-read            violated: WriteSkew\n"), "{text}");
    assert!(
        text.contains("more: isolde check HISTORY --level LEVEL --report FILE.html\n"),
        "{text}"
    );
    assert!(!text.contains("linearizable") && !text.contains("causal"), "{text}");
    let json = exits(&with_input(&["check", "-", "--json"], SKEW), 0);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["summary"]["strongest"][0], "snapshot-isolation");
    assert_eq!(json["verdicts"].as_array().unwrap().len(), 5, "what follows is not asked");
    let single = b"initial 0\na: w(x,1) @[1,2]\nb: r(x,1) @[3,4]\n";
    let text = exits(&with_input(&["check", "-"], single), 0);
    assert!(text.contains("strongest level that holds: linearizable\n"), "{text}");
    let aborted = b"initial 0\na: w(x,1) abort\nb: r(x,1)\n";
    let text = exits(&with_input(&["check", "-"], aborted), 0);
    assert!(text.contains("strongest level that holds: read-uncommitted\n"), "{text}");
    let inside = b"initial 0\na: w(x,1) r(x,0)\n";
    let text = exits(&with_input(&["check", "-"], inside), 1);
    assert!(text.contains("no level is known to hold\n"), "{text}");
    exits(&with_input(&["check", "-"], b"a: append(x,1)\nb: append(x,1)\nc: list(x,[1])\n"), 3);
}

#[test]
fn check_takes_several_levels_and_all_must_hold() {
    for levels in [&["--level", "si,ser"][..], &["-l", "snapshot-isolation", "-l", "serializable"]]
    {
        let text = exits(&with_input(&[&["check", "-"], levels].concat(), SKEW), 1);
        assert!(text.contains("snapshot-isolation: holds\n"), "{text}");
        assert!(text.contains("serializable: violated\n"), "{text}");
    }
    exits(&with_input(&["check", "-", "-l", "si"], SKEW), 0);
    exits(&with_input(&["check", "-", "-l", "si,strong-si"], SKEW), 3);
    exits(&with_input(&["check", "-", "-l", "strong-si,ser"], SKEW), 1);
}

#[test]
fn check_of_several_files_gives_the_worst() {
    let folder = Folder::new("several");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.file(name), text).unwrap();
        folder.file(name)
    };
    let sound = file("sound", "initial 0\na: r(x,0) w(x,1)\n");
    let open = file("open", "a: append(x,1)\nb: append(x,1)\nc: list(x,[1])\n");
    let lost = "histories/notation/lost-update.txt";
    exits(&isolde(&["check", &sound, &sound, "-l", "ser"]), 0);
    exits(&isolde(&["check", &sound, &open, "-l", "ser"]), 3);
    exits(&isolde(&["check", &open, "no-such-file", "-l", "ser"]), 2);
    let text = exits(&isolde(&["check", &open, lost, "no-such-file", &sound, "-l", "ser"]), 1);
    assert!(text.contains(&format!("{open}\n")) && text.contains(&format!("{sound}\n")), "{text}");
    let json = exits(&isolde(&["check", &sound, lost, "--json"]), 0);
    let all = serde_json::Deserializer::from_str(&json).into_iter::<serde_json::Value>();
    let names: Vec<serde_json::Value> = all.map(|v| v.unwrap()["history"].clone()).collect();
    assert_eq!(names, [sound.as_str(), lost], "one object a file");
}

#[test]
fn check_takes_a_procedure_a_budget_and_a_number_of_witnesses() {
    // Nothing shows in which order x was written: the graph alone does not decide it.
    let open = b"initial 0\na: w(x,1)\nb: w(x,2)\nc: r(x,1)\nd: r(x,2)\n";
    let text = exits(&with_input(&["check", "-", "-l", "ser"], open), 0);
    assert!(text.contains("method     dependency graph with inferred edges ("), "{text}");
    let text = exits(&with_input(&["check", "-", "-l", "ser", "--procedure", "graph"], open), 3);
    assert!(text.contains("method     dependency graph (it was asked for)"), "{text}");
    exits(&with_input(&["check", "-", "-l", "ser", "--procedure", "saturation"], open), 0);
    exits(&with_input(&["check", "-", "--procedure", "oracle"], open), 2);

    let lost = b"initial 0\na: w(x,1)\nb: r(x,1) w(x,2)\nc: r(x,1) w(x,3)\nd: r(x,1) w(x,4)\n";
    let ask =
        |more: &[&str]| exits(&with_input(&[&["check", "-", "-l", "si"], more].concat(), lost), 1);
    let witnesses = |text: &str| text.matches("  LostUpdate: ").count();
    assert!(ask(&[]).contains("more kept: --all shows"));
    assert_eq!(witnesses(&ask(&[])), 1);
    assert!(witnesses(&ask(&["--all"])) > 1);
    assert_eq!(witnesses(&ask(&["--all", "--witnesses", "1"])), 1);
    exits(&with_input(&["check", "-", "--witnesses", "0"], lost), 2);

    let ask = |budget: &str| {
        let args = ["check", "-", "-l", "ser", "--search-budget", budget];
        exits(&with_input(&args, SKEW), 1)
    };
    assert!(
        ask("0").contains("0 edges of a budget of 0: used up") && ask("0").contains("WriteSkew")
    );
    assert!(ask("1000").contains(" of a budget of 1,000\n"));
}

#[test]
fn check_json_says_with_what_it_was_asked_and_what_the_reader_said() {
    let args = ["check", "-", "-l", "ser", "--json", "--no-session-order", "--clock-skew", "7"];
    let more = ["--procedure", "graph", "--witnesses", "3", "--search-budget", "99"];
    let json = exits(&with_input(&[&args[..], &more].concat(), SKEW), 1);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let options = serde_json::json!({
        "session_order": false, "clock_skew": 7, "procedure": "graph", "witnesses": 3,
        "search_budget": 99, "order_steps": 50_000_000, "order_memory": 512 << 20, "timeout": null,
        "memory": null, "initial": null, "max_input": 64_u64 << 30, "evidence": [], "facts": [],
        "low_memory": false, "profile": null, "decided": 0.9,
    });
    assert_eq!(json["options"], options);
    assert_eq!(json["warning_count"], 0);
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    assert!(json["verdicts"][0]["seconds"].as_f64().is_some());
    assert!(json.get("summary").is_none());
    assert_eq!(json["verdicts"][0]["session_order"], false);
}

/// The names and numbers of a report; thousands are not told apart from lists of numbers.
fn facts(text: &str) -> std::collections::HashSet<String> {
    let mut joined = String::new();
    let chars: Vec<char> = text.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let digit =
            |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
        if !(*c == ',' && digit(i.checked_sub(1)) && digit(Some(i + 1))) {
            joined.push(*c);
        }
    }
    let word = |c: char| !(c.is_alphanumeric() || c == '#' || c == '-');
    let words = joined.split(word).map(|w| w.trim_matches('-'));
    let known = |w: &&str| {
        w.contains(|c: char| c.is_ascii_digit())
            || isolde_spec::CATALOGUE.iter().any(|e| e.name == *w)
            || isolde_spec::Level::named(w).is_some()
    };
    words.filter(known).map(str::to_owned).collect()
}

#[test]
fn check_json_says_whatever_the_text_says() {
    let table = std::fs::read_to_string(root().join("histories/expected.tsv")).unwrap();
    let mut told = 0;
    for path in table.lines().skip(1).filter_map(|row| row.split('\t').next()) {
        let path = format!("histories/{path}");
        for levels in [&[][..], &["-l", "si,ser,sser,causal"]] {
            let all: &[&str] = if levels.is_empty() { &[] } else { &["--all"] };
            let text = isolde(&[&["check", &path], levels, all].concat());
            let json = isolde(&[&["check", &path, "--json"], levels].concat());
            assert_eq!(text.status.code(), json.status.code(), "{path}");
            let text = String::from_utf8(text.stdout).unwrap();
            let json = String::from_utf8(json.stdout).unwrap();
            let (text_facts, json_facts) = (facts(&text), facts(&json));
            let missing: Vec<&String> = text_facts.difference(&json_facts).collect();
            assert!(missing.is_empty(), "{path}: {missing:?}\n{text}\n{json}");
            told += text_facts.len();
        }
    }
    assert!(told > 300, "only {told} facts");
}

#[test]
fn an_excerpt_shows_the_same_anomaly_when_it_is_checked_alone() {
    let folder = Folder::new("excerpts");
    let target = folder.file("excerpts");
    let history = "histories/notation/lost-update.txt";
    exits(&isolde(&["check", "-l", "si", history, "--excerpts", &target]), 1);
    let files: Vec<_> = std::fs::read_dir(&target).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert_eq!(name, "lost-update-snapshot-isolation-1-LostUpdate.txt");
    let text = exits(&isolde(&["check", "-l", "si", files[0].to_str().unwrap()]), 1);
    assert!(text.contains("LostUpdate"), "{text}");
    let fault = fault(&isolde(&["check", "-l", "si", history, "--excerpts", "/dev/null/x"]));
    assert!(fault.contains("/dev/null/x"), "{fault}");
}

#[test]
fn a_negative_clock_skew_is_refused_by_its_value() {
    let history = "histories/notation/lost-update.txt";
    let text = fault(&isolde(&["check", "-l", "sser", "--clock-skew", "-5", history]));
    assert!(text.contains("'-5'") && text.contains("--clock-skew"), "{text}");
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
    for command in ["check", "stat", "convert", "formats", "completions", "man"] {
        assert!(help.contains(command) && man.contains(command), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&isolde(&["completions", shell]));
        assert!(script.contains("convert"), "{shell}");
    }
    assert_eq!(isolde(&["no-such-command"]).status.code(), Some(2));
}
