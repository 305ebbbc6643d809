//! The HTML report as a file: what is in it, and what never is. What it does is tested in a browser.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use isolde_check::{Checker, Options};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::{Case, Decided, HtmlReport};
use isolde_spec::{Level, Promise};
use serde_json::Value;

use crate::shown::{ask, ask_all, decided};

const LOST: &str = "initial 0\n\
    shop 1: w(x,1) @[1,2]\n\
    alice 2: r(x,1) w(x,2) @[3,9]\n\
    bob 3: r(x,1) w(x,3) @[4,8]\n";

fn case<'a>(history: &'a History, name: &str, decided: &'a [Decided]) -> Case<'a> {
    Case {
        history,
        name: name.to_owned(),
        format: "notation".to_owned(),
        decided,
        about: Vec::new(),
        warnings: Vec::new(),
        warning_count: 0,
        every_level: false,
        options: Value::Null,
        explain: None,
        again: Vec::new(),
        seconds: 0.5,
    }
}

fn page(title: &str, name: &str, text: &str) -> String {
    let history = parse(text).unwrap();
    let decided = ask_all(&history);
    let mut report = HtmlReport::new(title);
    report.add(&case(&history, name, &decided));
    report.finish()
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    assert!(!json.contains('<'));
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_page_needs_nothing_else() {
    let page = page("lost", "lost.txt", LOST);
    assert!(page.contains("default-src 'none'"));
    for word in ["<link rel=\"stylesheet", "src=\"", "@import", "url(", "fetch(", "eval("] {
        assert!(!page.contains(word), "{word}");
    }
    let addresses = page.matches("http").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count() + 1, "and http-equiv");
    assert!(page.len() < 100_000, "{} bytes", page.len());
}

#[test]
fn one_violation_of_one_level_is_a_small_page() {
    let history = parse(LOST).unwrap();
    let decided = [ask(&history, Level::SnapshotIsolation)];
    let mut report = HtmlReport::new("lost");
    report.add(&case(&history, "lost.txt", &decided));
    let size = report.finish().len();
    assert!(size < 85_000, "{size} bytes");
}

#[test]
fn hostile_names_stay_text() {
    let nasty = "</script><script>alert(1)</script><!--DATA-->{0}";
    let key = format!("\"{nasty}\"");
    let text = format!("initial 0\na 1: r({key},0) w({key},1)\nb 2: r({key},0) w({key},2)\n");
    let page = page(nasty, nasty, &text);
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    let data = data(&page);
    assert_eq!(data["title"], nasty);
    assert_eq!(data["cases"][0]["name"], nasty);
}

#[test]
fn a_witness_of_several_levels_is_kept_once() {
    let data = data(&page("lost", "lost.txt", LOST));
    let count = |name: &str| data[name].as_array().unwrap().len();
    assert!(count("witnesses") > 1);
    assert_eq!(count("bodies"), 1);
    assert_eq!(count("pictures"), 1);
    assert_eq!(count("txns"), 3);
    assert_eq!(count("excerpts"), 1);
}

#[test]
fn sentences_are_kept_once_whatever_they_speak_of() {
    let mut text = "initial 0\n".to_owned();
    for key in 100..200 {
        for (session, one) in ["a", "b", "c"].iter().zip(1..) {
            let read = if one == 1 { 0 } else { key * 10 + 1 };
            writeln!(text, "{session}{key}: r(k{key},{read}) w(k{key},{})", key * 10 + one)
                .unwrap();
        }
    }
    let history = parse(&text).unwrap();
    let checker = Checker::new(&history, Options { witnesses: 1000, ..Options::default() });
    let decided = [decided(checker.check(Promise::of(Level::SnapshotIsolation)))];
    let mut report = HtmlReport::new("many");
    report.add(&case(&history, "many.txt", &decided));
    let page = report.finish();
    let data = data(&page);
    assert_eq!(data["bodies"].as_array().unwrap().len(), 100);
    assert_eq!(data["shapes"].as_array().unwrap().len(), 3, "links, rows, texts of pictures");
    let told = |word: &str| {
        let texts = data["texts"].as_array().unwrap().iter();
        texts.filter(|text| text.as_str().unwrap().contains(word)).count()
    };
    assert_eq!(told("one update is lost"), 1);
    assert_eq!(
        told("overwrote the version"),
        4,
        "two sentences, each in the list and in the picture"
    );
}

#[test]
fn a_title_that_says_nothing_gives_way_to_the_history() {
    assert!(page("Isolde", "a&b.txt", LOST).contains("<title>a&amp;b.txt</title>"));
    let history = parse(LOST).unwrap();
    let mut report = HtmlReport::new("Isolde");
    report.add(&case(&history, "a", &[]));
    report.add(&case(&history, "b", &[]));
    assert!(report.finish().contains("<title>2 histories</title>"));
    assert!(HtmlReport::new("Nothing").finish().contains("<title>Nothing</title>"));
}

#[test]
fn faults_are_drawn_over_the_run() {
    let nasty = "<script>alert(1)</script>{0}";
    let text = format!("event kill @[5,7] n1\nevent \"{nasty}\" @[6,_]\n{LOST}");
    let page = page("lost", "lost.txt", &text);
    assert_eq!(page.matches("<script").count(), 2);
    let data = data(&page);
    let course = data["cases"][0]["course"].as_str().unwrap();
    for part in ["<desc>", "1 x kill n1", "class=\"fault\"", "class=\"found\"", "committed"] {
        assert!(course.contains(part), "{part} in {course}");
    }
    assert!(course.contains("&lt;script") && !course.contains("<script"));
    assert!(self::data(&self::page("lost", "lost.txt", LOST))["cases"][0]["course"].is_null());
}
