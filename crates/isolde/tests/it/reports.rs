//! Reports and explanations as a user asks for them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use isolde_spec::{CATALOGUE, Level};
use serde_json::Value;

use crate::common::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn isolde(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isolde")).args(args).current_dir(root()).output().unwrap()
}

#[track_caller]
fn says(code: i32, args: &[&str]) -> String {
    let output = isolde(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn fault(args: &[&str]) -> String {
    let output = isolde(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

const LOST: &str = "histories/notation/lost-update.txt";

#[test]
fn the_name_of_a_report_says_its_kind() {
    let folder = Folder::new("reports");
    let file = |name: &str| folder.0.join(name).display().to_string();
    let endings = ["html", "json", "xml", "txt", "svg", "dot"];
    let files: Vec<String> = endings.iter().map(|e| file(&format!("lost.{e}"))).collect();
    let mut args = vec!["check", "--level", "si", LOST];
    files.iter().for_each(|file| args.extend(["--report", file]));
    says(1, &args);
    let text = |ending: &str| fs::read_to_string(file(&format!("lost.{ending}"))).unwrap();
    assert!(text("html").starts_with("<!doctype html>"));
    let json: Value = serde_json::from_str(&text("json")).unwrap();
    assert_eq!(json["histories"][0]["verdicts"][0]["witnesses"][0]["id"], "snapshot-isolation-1");
    assert!(text("xml").contains("failures=\"1\""));
    assert!(text("txt").contains("both wrote stock: one update is lost."));
    assert!(text("svg").starts_with("<svg") || text("svg").starts_with("<?xml"));
    assert!(text("dot").contains("digraph"));
}

#[test]
fn what_cannot_be_reported_is_refused_before_anything_is_read() {
    let error = fault(&["check", "no such file", "--report", "x.pdf"]);
    assert!(
        error.contains("x.pdf does not say what to write") && error.contains(".html"),
        "{error}"
    );
    let error = fault(&["check", "no such file", "--report", "x.xml"]);
    assert!(error.contains("none was named") && error.contains("--level"), "{error}");
}

#[test]
fn several_histories_make_one_report() {
    let folder = Folder::new("several-reports");
    let file = folder.0.join("all.json").display().to_string();
    let skew = "histories/notation/write-skew.txt";
    says(1, &["check", "--level", "ser", LOST, skew, "--report", &file]);
    let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let names: Vec<&str> = json["histories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| h["history"].as_str().unwrap())
        .collect();
    assert_eq!(names, [LOST, skew]);
}

#[test]
fn a_pipe_gets_plain_text_that_fits() {
    let text = says(1, &["check", "--level", "si", LOST]);
    assert!(text.is_ascii(), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    assert!(
        text.contains("isolde explain histories/notation/lost-update.txt snapshot-isolation-1")
    );
}

#[test]
fn a_witness_has_several_names() {
    let by_id = says(0, &["explain", LOST, "snapshot-isolation-1"]);
    assert!(by_id.contains("T2 and T3 both read stock = 1, written by T1"), "{by_id}");
    for name in ["si-1", "1", "LostUpdate", "lost-update"] {
        assert_eq!(says(0, &["explain", LOST, name]), by_id, "{name}");
    }
    let list = says(0, &["explain", LOST]);
    assert!(list.contains("  snapshot-isolation-1  LostUpdate: T2 and T3"), "{list}");
    assert!(list.contains("serializable: 1 kept, serializable-1 and so on"), "{list}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let error = fault(&["explain", "LostUpdat"]);
    assert!(error.contains("no file, anomaly or level 'LostUpdat'"), "{error}");
    let error = fault(&["explain", LOST, "si-7"]);
    assert!(error.contains("no witness 7 of snapshot-isolation: 1 were kept"), "{error}");
    let error = fault(&["explain", LOST, "si-0"]);
    assert!(error.contains("from 1 on"), "{error}");
    let error = fault(&["explain", LOST, "first"]);
    assert!(error.contains("'first' names no witness"), "{error}");
    let error = fault(&["explain", LOST, "WriteSkew"]);
    assert!(error.contains("no level is violated by WriteSkew"), "{error}");
    let error = fault(&["explain", "histories/notation/serial.txt", "1"]);
    assert!(error.contains("nothing is violated"), "{error}");
}

#[test]
fn a_witness_is_written_as_a_history_that_shows_the_same() {
    let folder = Folder::new("witness-formats");
    let cases = [
        ("lost-update", "si", "LostUpdate"),
        ("write-skew", "ser", "WriteSkew"),
        ("long-fork", "pc", "LongFork"),
        ("causality-violation", "cc", "CausalityViolation"),
        ("fractured-read", "ra", "FracturedRead"),
        ("session-guarantee", "ra", "SessionGuaranteeViolation"),
    ];
    let formats = ["isolde", "jsonl", "notation", "jepsen-edn", "plume", "dbcop-bincode"];
    for (name, level, anomaly) in cases {
        let history = format!("histories/notation/{name}.txt");
        for format in formats {
            let to = folder.0.join(format!("{name}.{format}")).display().to_string();
            says(0, &["explain", &history, &format!("{level}-1"), "--write", &to, "--to", format]);
            let text = says(1, &["check", "--level", level, "--format", format, &to]);
            assert!(text.contains(&format!("  {anomaly}")), "{name} as {format}\n{text}");
        }
    }
}

#[test]
fn what_a_format_cannot_say_of_a_witness_is_refused_by_name() {
    let folder = Folder::new("witness-refused");
    let to = folder.0.join("w.out").display().to_string();
    let error = fault(&["explain", LOST, "1", "--write", &to, "--to", "timekiller"]);
    assert!(error.contains("timekiller cannot hold it"), "{error}");
    assert!(!Path::new(&to).exists());
    let error = fault(&["explain", LOST, "1", "--write", &to]);
    assert!(error.contains("does not say which format to write"), "{error}");
}

#[test]
fn files_are_not_overwritten_unasked() {
    let folder = Folder::new("witness-twice");
    let to = folder.0.join("w.svg").display().to_string();
    says(0, &["explain", LOST, "1", "--write", &to]);
    let error = fault(&["explain", LOST, "1", "--write", &to]);
    assert!(error.contains("exists") && error.contains("--force"), "{error}");
    says(0, &["explain", LOST, "1", "--write", &to, "--force"]);
}

#[test]
fn every_witness_is_drawn_if_asked_for() {
    let folder = Folder::new("witness-pictures");
    let pictures = folder.0.display().to_string();
    says(1, &["check", "--level", "si", LOST, "--excerpts", &pictures, "--excerpts-as", "svg"]);
    let svg = fs::read_to_string(folder.0.join("lost-update-snapshot-isolation-1-LostUpdate.svg"));
    let svg = svg.unwrap();
    assert!(svg.contains("stock") && svg.contains("LostUpdate"), "{svg}");
}

#[test]
fn the_handbook_has_a_page_for_everything() {
    let index = says(0, &["explain"]);
    let anomalies = CATALOGUE.iter().map(|entry| entry.name);
    for name in anomalies.chain(Level::ALL.map(Level::name)) {
        assert!(index.contains(name), "{name}");
        let page = says(0, &["explain", name]);
        assert!(page.is_ascii() && page.lines().all(|l| l.len() <= 100), "{page}");
        assert!(page.contains("    promise  "), "no picture on the page of {name}\n{page}");
        let json: Value = serde_json::from_str(&says(0, &["explain", name, "--json"])).unwrap();
        assert!(json["definition"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    }
}

#[test]
fn the_smallest_history_can_be_checked() {
    let folder = Folder::new("smallest");
    let file = folder.0.join("skew.txt");
    fs::write(&file, says(0, &["explain", "WriteSkew", "--history"])).unwrap();
    let text = says(1, &["check", "--level", "ser", &file.display().to_string()]);
    assert!(text.contains("WriteSkew"), "{text}");
    let error = fault(&["explain", LOST, "--history"]);
    assert!(error.contains("is no anomaly and no level"), "{error}");
}

#[test]
fn a_report_never_overwrites_a_history() {
    let folder = Folder::new("report-over-history");
    let history = folder.0.join("h.txt");
    fs::copy(root().join(LOST), &history).unwrap();
    let name = history.display().to_string();
    let error = fault(&["check", &name, "--report", &name]);
    assert!(error.contains("is a history, and is not overwritten"), "{error}");
    assert_eq!(fs::read(&history).unwrap(), fs::read(root().join(LOST)).unwrap());
    let html = folder.file("r.html");
    let error = fault(&["check", &name, "--report", &html, "--report", &html]);
    assert!(error.contains("two reports would be written"), "{error}");
}

#[test]
fn what_could_not_be_read_is_in_the_report() {
    let folder = Folder::new("report-fault");
    let files = ["r.xml", "r.json", "r.html", "r.txt"].map(|name| folder.file(name));
    let mut args = vec!["check", "--level", "si", "nosuch.txt"];
    files.iter().for_each(|file| args.extend(["--report", file]));
    fault(&args);
    let text = |at: usize| fs::read_to_string(&files[at]).unwrap();
    assert!(text(0).contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{}", text(0));
    let json: Value = serde_json::from_str(&text(1)).unwrap();
    assert_eq!(json["histories"][0]["history"], "nosuch.txt");
    assert!(json["histories"][0]["error"].as_str().unwrap().contains("cannot be read"));
    assert!(text(2).contains("Not checked") && text(2).contains("nosuch.txt"));
    assert!(text(3).contains("nosuch.txt\nerror: cannot be read"), "{}", text(3));
}

#[test]
fn excerpts_of_histories_with_the_same_name_do_not_collide() {
    let folder = Folder::new("excerpts-collide");
    let copies = ["x", "y"].map(|sub| {
        let path = folder.0.join(sub);
        fs::create_dir_all(&path).unwrap();
        fs::copy(root().join(LOST), path.join("h.txt")).unwrap();
        path.join("h.txt").display().to_string()
    });
    let out = folder.file("out");
    says(1, &["check", "--level", "si", &copies[0], &copies[1], "--excerpts", &out]);
    let mut names: Vec<String> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["h-2-snapshot-isolation-1-LostUpdate.txt", "h-snapshot-isolation-1-LostUpdate.txt"]
    );
}

#[test]
fn the_handbook_knows_other_names() {
    for (name, title) in
        [("p4", "LostUpdate"), ("SI", "snapshot-isolation"), ("G1a", "AbortedRead")]
    {
        let page = says(0, &["explain", name]);
        assert!(page.starts_with(title), "{name}: {page}");
    }
    let error = fault(&["check", "--level", "ssi", LOST]);
    assert!(error.contains("strong-si") && error.contains("ser"), "{error}");
    says(1, &["check", "--level", "SI", LOST]);
}

/// What the schema says against a document.
#[track_caller]
pub(crate) fn is_as_the_schema_says(text: &str) {
    let schema = fs::read_to_string(root().join("docs/report.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let complaints: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(complaints.is_empty(), "{complaints:?}\n{text}");
}

#[test]
fn whatever_is_printed_as_json_is_as_the_schema_says() {
    let folder = Folder::new("json-schema");
    is_as_the_schema_says(&says(0, &["check", "--json", LOST]));
    is_as_the_schema_says(&says(1, &["check", "--json", "--level", "si,ser", LOST]));
    let file = folder.file("all.json");
    isolde(&[
        "check",
        "--level",
        "lin",
        "histories/jepsen-edn/stale-read.edn",
        "none",
        "--report",
        &file,
    ]);
    is_as_the_schema_says(&fs::read_to_string(&file).unwrap());
    // What cannot be read is a document of its own.
    is_as_the_schema_says(&says(2, &["check", "--json", "none"]));
    let (out, file) = (folder.file("runs"), folder.file("run.json"));
    let run = ["test", "fjall", "--txns", "500", "--seed", "3", "--out", &out, "--report", &file];
    is_as_the_schema_says(&says(0, &[&run[..], &["--json"]].concat()));
    is_as_the_schema_says(&fs::read_to_string(&file).unwrap());
    let online = ["test", "faulty", "--txns", "500", "--seed", "3", "--out", &out, "--online"];
    is_as_the_schema_says(&says(0, &[&online[..], &["--json"]].concat()));
}
