//! What is in docs/handbook is what the handbook says. `UPDATE_EXPECT=1` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use isolde_history::notation::parse;
use isolde_report::handbook::{Scene, Shown, anomaly, gallery};
use isolde_report::{Decided, Exhibit, Telling, svg, to_text};
use isolde_spec::{Anomaly, Answer, Promise};

use crate::shown::{ask_page, ask_promise};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/handbook")
}

/// A verdict without what another page is about.
fn about(wanted: Option<Anomaly>, mut decided: Decided) -> Decided {
    if let (Some(wanted), Answer::Violated(all)) = (wanted, &mut decided.verdict.answer) {
        all.retain(|witness| witness.anomaly == wanted);
    }
    decided
}

/// What the terminal says of a history, without how it was found out.
fn show(scene: &Scene) -> Shown {
    let history = parse(scene.history).unwrap();
    let page = scene.wanted.map(anomaly).filter(|page| page.profile().is_some());
    let ask = |asked: &Promise| match page {
        Some(page) => about(scene.wanted, ask_page(&history, page)),
        None => about(scene.wanted, ask_promise(&history, *asked)),
    };
    let decided: Vec<Decided> = scene.promises.iter().map(ask).collect();
    let violated = decided.iter().find(|decided| decided.verdict.holds() == Some(false));
    let text = to_text(&history, violated.unwrap_or(decided.last().unwrap()), &Telling::default());
    let told = text.lines().take_while(|line| !line.starts_with("  procedure"));
    let mut story: String = told.map(|line| format!("{line}\n")).collect();
    // The level that allows the history is the last, after those that do not.
    let last = decided.last().filter(|last| last.verdict.holds() == Some(true));
    if let (Some(last), true) = (last, violated.is_some()) {
        story = format!("{}: holds\n{story}", last.verdict.promise);
    }
    let drawn = violated.map(|decided| {
        let witness = decided.verdict.witnesses().first().unwrap();
        svg(&Exhibit::new(&history, decided.verdict.promise, 1, witness))
    });
    Shown { story, svg: drawn.unwrap_or_default() }
}

#[test]
fn the_gallery_is_what_the_handbook_says() {
    let pages = gallery(&show);
    if env::var_os("UPDATE_EXPECT").is_some() {
        let pictures = folder().join("pictures");
        if pictures.exists() {
            fs::remove_dir_all(&pictures).unwrap();
        }
        for page in &pages {
            let path = folder().join(&page.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &page.text).unwrap();
        }
    }
    for page in &pages {
        let there = fs::read_to_string(folder().join(&page.path)).unwrap_or_default();
        let first = there.lines().zip(page.text.lines()).find(|(old, new)| old != new);
        let path = &page.path;
        assert!(there == page.text, "docs/handbook/{path} is old: UPDATE_EXPECT=1; {first:?}");
    }
}

#[test]
fn every_link_of_the_gallery_leads_somewhere() {
    let pages = gallery(&show);
    let mut targets: BTreeSet<String> = pages.iter().map(|page| page.path.clone()).collect();
    for page in &pages {
        let headings = page.text.lines().filter_map(|line| line.strip_prefix("## "));
        targets.extend(headings.map(|h| format!("{}#{}", page.path, h.to_lowercase())));
    }
    for page in pages.iter().filter(|page| page.path.ends_with(".md")) {
        let links = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links {
            assert!(targets.contains(link), "{link} in {}", page.path);
        }
    }
}
