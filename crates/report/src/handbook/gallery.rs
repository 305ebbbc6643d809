//! The handbook as Markdown, for `docs/handbook/`.

use isolde_spec::{Anomaly, By, CATALOGUE, Level, Promise};

use super::lattice;
use super::text::{self, NOT_OFFERED, NOWHERE};
use super::{AnomalyPage, ByDesign, LevelPage, Recipe, anomaly, level};
use crate::picture;
use crate::wrap::paragraph;

/// A file of the gallery.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Where it belongs, below `docs/handbook/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// A history that wants to be shown.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What its picture is called.
    pub name: String,
    /// The history, in the notation.
    pub history: &'static str,
    /// The promises to ask, what the page is about last: the first that is violated is shown.
    pub promises: Vec<Promise>,
    /// The anomaly that it is to show, if it is about one.
    pub wanted: Option<Anomaly>,
}

/// A history as the caller shows it. What is empty is left out.
#[derive(Clone, Default, Debug)]
pub struct Shown {
    /// What happened, as on a terminal.
    pub story: String,
    /// A picture, as SVG.
    pub svg: String,
}

/// All files: an index, the anomalies, the levels, and a picture of each history that has one.
pub fn gallery(show: &dyn Fn(&Scene) -> Shown) -> Vec<Page> {
    let levels = Page { path: "pictures/levels.svg".to_owned(), text: picture::lattice(None) };
    let mut files = vec![Page { path: "README.md".to_owned(), text: index() }, levels];
    let mut pictures = Vec::new();
    let mut anomalies = String::from(ANOMALIES);
    for entry in CATALOGUE {
        anomaly_page(anomaly(entry.anomaly), show, &mut anomalies, &mut pictures);
    }
    let mut levels = String::from(LEVELS);
    for each in Level::ALL {
        level_page(level(each), show, &mut levels, &mut pictures);
    }
    files.push(Page { path: "anomalies.md".to_owned(), text: anomalies });
    files.push(Page { path: "levels.md".to_owned(), text: levels });
    files.append(&mut pictures);
    files
}

const ANOMALIES: &str = "# Anomalies\n\n\
    The most basic first. An earlier one explains a later one that it causes, and a cycle has the \
    first name that fits.\nThis page is made from the handbook in the program: `isolde explain \
    NAME` shows the same.\n";

const LEVELS: &str = "# Levels\n\n\
    Weakest first, as far as they compare. This page is made from the handbook in the program: \
    `isolde explain NAME` shows the same.\n";

fn index() -> String {
    let mut out = String::from(
        "# The handbook\n\n\
         Every level that Isolde decides and every anomaly that it names, each with the smallest \
         history that shows it, the databases that\nshow or offer it by design, and commands to see \
         it. The same text is in the program: `isolde explain`, `isolde explain LostUpdate`,\n\
         `isolde explain snapshot-isolation`.\n\n\
         ## Levels\n\nEach stands above those that it implies.\n\n\
         ![The levels](pictures/levels.svg)\n",
    );
    out.push_str("\n| level | short | promises that |\n|---|---|---|\n");
    for each in Level::ALL {
        let (short, promise) = (each.short().unwrap_or_default(), level(each).promise);
        out.push_str(&format!("| {} | {short} | {promise} |\n", link(each)));
    }
    out.push_str("\n## Anomalies\n\n| anomaly | means | forbidden from |\n|---|---|---|\n");
    for entry in CATALOGUE {
        let from = linked_from(entry.anomaly);
        let name = format!("[{0}](anomalies.md#{1})", entry.name, anchor(entry.name));
        out.push_str(&format!("| {name} | {} | {from} |\n", entry.meaning));
    }
    out
}

fn anomaly_page(
    page: &AnomalyPage,
    show: &dyn Fn(&Scene) -> Shown,
    out: &mut String,
    pictures: &mut Vec<Page>,
) {
    let entry = page.anomaly.entry();
    let mut intro = format!("{}.", capital(entry.meaning));
    named(&mut intro, "Also called", &page.also_called.join("; "));
    named(&mut intro, "Class", entry.adya.unwrap_or_default());
    out.push_str(&format!("\n## {}\n", entry.name));
    let variants = text::variants(page.anomaly).unwrap_or_default();
    [&intro, page.definition, page.differs, &variants].into_iter().for_each(|t| prose(out, t));
    out.push_str(&format!("\n- **Forbidden from:** {}.\n", linked_from(page.anomaly)));
    let allowing: Vec<String> = lattice::allowing(page.anomaly).into_iter().map(link).collect();
    let allowing = match lattice::is_timed(page.anomaly) {
        true => text::allowed_by_values(page.anomaly),
        false => or_none(&allowing.join(", ")).to_owned(),
    };
    out.push_str(&format!("- **Allowed by:** {allowing}.\n"));
    prose(out, &format!("**What it does.** {}", page.harm));
    prose(out, &format!("**What helps.** {}", page.remedy));
    out.push('\n');
    let (promises, wanted) = (vec![page.promise()], Some(page.anomaly));
    let scene = Scene { name: file_name(entry.name), history: page.history, promises, wanted };
    scene_to(&scene, entry.name, show, out, pictures);
    databases(out, "Who shows it by design", page.shown_by, NOWHERE);
    recipes(out, page.reproduce);
}

fn level_page(
    page: &LevelPage,
    show: &dyn Fn(&Scene) -> Shown,
    out: &mut String,
    pictures: &mut Vec<Page>,
) {
    let level = page.level;
    let mut intro = format!("Promises that {}.", page.promise);
    named(&mut intro, "Short", level.short().unwrap_or_default());
    named(&mut intro, "Also called", &page.also_called.join("; "));
    out.push_str(&format!("\n## {level}\n"));
    prose(out, &intro);
    prose(out, page.definition);
    let path = format!("pictures/level-{level}.svg");
    out.push_str(&format!("\n![{level} among the other levels]({path})\n\n"));
    pictures.push(Page { path, text: picture::lattice(Some(level)) });
    for (name, text) in lattice::gains(level, &anomaly_links) {
        out.push_str(&format!("- **{}:** {text}.\n", capital(&name)));
    }
    let leaves = lattice::leaves(level, &anomaly_links);
    out.push_str(&format!("- **Still allowed:** {leaves}.\n"));
    let mut stronger = lattice::next_stronger(level);
    stronger.push(level);
    let scenes = [("allows", page.allows, stronger), ("forbids", page.forbids, vec![level])];
    for (ending, history, levels) in scenes {
        out.push_str(&format!("\n### {level} {ending}\n\n"));
        let promises = levels.into_iter().map(Promise::of).collect();
        let name = format!("{level}-{ending}");
        let scene = Scene { name, history, promises, wanted: None };
        scene_to(&scene, &format!("{level} {ending}"), show, out, pictures);
    }
    databases(out, "Who offers it", page.offered_by, NOT_OFFERED);
    recipes(out, page.reproduce);
}

/// A history: its text, its picture, what happened in it.
fn scene_to(
    scene: &Scene,
    title: &str,
    show: &dyn Fn(&Scene) -> Shown,
    out: &mut String,
    pictures: &mut Vec<Page>,
) {
    out.push_str(&format!("```notation\n{}```\n", scene.history));
    let shown = show(scene);
    if !shown.svg.is_empty() {
        let path = format!("pictures/{}.svg", scene.name);
        out.push_str(&format!("\n![{title}]({path})\n"));
        pictures.push(Page { path, text: shown.svg });
    }
    if !shown.story.is_empty() {
        out.push_str(&format!("\n```text\n{}\n```\n", shown.story.trim_end_matches('\n')));
    }
}

fn databases(out: &mut String, title: &str, databases: &[ByDesign], none: &str) {
    if databases.is_empty() {
        out.push_str(&format!("\n**{title}.** {none}\n"));
        return;
    }
    out.push_str(&format!("\n| {} | level | |\n|---|---|---|\n", title.to_lowercase()));
    for by in databases {
        out.push_str(&format!("| {} | {} | {} |\n", by.database, by.level, by.why));
    }
}

fn recipes(out: &mut String, recipes: &[Recipe]) {
    out.push_str("\n```sh\n");
    for recipe in recipes {
        out.push_str(&format!("# {}\n{}\n", recipe.what, recipe.command));
    }
    out.push_str("```\n");
}

/// A paragraph, if there is something to say.
fn prose(out: &mut String, text: &str) {
    if !text.is_empty() {
        out.push('\n');
        paragraph(out, "", 0, usize::MAX, text);
    }
}

/// A name and its text, in the same paragraph.
fn named(out: &mut String, name: &str, text: &str) {
    if !text.is_empty() {
        out.push_str(&format!(" {name}: {text}."));
    }
}

fn linked_from(anomaly: Anomaly) -> String {
    let entry = anomaly.entry();
    match entry.also_from {
        Some(also) => format!("{}; of Adya's levels, {}", link(entry.forbidden_from), link(also)),
        None if lattice::is_timed(anomaly) => {
            let by = lattice::shown_only_by(anomaly).map_or("", By::name);
            format!("{} by {by}", link(entry.forbidden_from))
        }
        None => link(entry.forbidden_from),
    }
}

fn link(level: Level) -> String {
    format!("[{level}](levels.md#{})", anchor(level.name()))
}

fn anomaly_links(anomalies: &[Anomaly]) -> String {
    let link = |a: &Anomaly| format!("[{a}](anomalies.md#{})", anchor(a.name()));
    anomalies.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "no level" } else { text }
}

/// Where a heading is found in its page.
fn anchor(heading: &str) -> String {
    heading.to_lowercase()
}

/// The name of a file: `LostUpdate` is in `lost-update.svg`.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
        before = c;
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
