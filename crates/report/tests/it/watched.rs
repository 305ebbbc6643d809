//! How a watch went: on a page, as text, as JSON.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_history::notation::parse;
use isolde_report::{Case, Curve, HtmlReport, Watched, WatchedFigure};
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::shown::ask;

const NASTY: &str = "</script><script>alert(1)</script><!--DATA-->{0}";

fn watched() -> Watched {
    let figure = |key, value, name, text: Option<&str>| WatchedFigure {
        key,
        value,
        name,
        text: text.map(str::to_owned),
    };
    let curve =
        |key, name, values: &[f64], limit| Curve { key, name, values: values.to_vec(), limit };
    Watched {
        source: NASTY.to_owned(),
        promise: Some("snapshot-isolation by timestamps".to_owned()),
        holds: Some(false),
        not_found: None,
        figures: vec![
            figure("transactions", json!(3), "transactions", Some("3, with 4 operations")),
            figure("operations", json!(4), "operations", None),
            figure("violations", json!(1), "violations", Some("1\nStaleRead: 1")),
        ],
        hint: Some("--timeout 2s would have waited long enough".to_owned()),
        seconds: vec![0.0, 0.2, 0.4],
        curves: vec![
            curve("transactions_per_second", "transactions a second", &[0.0, 10.0, 5.0], None),
            curve("memory_mb", "memory, counted (MB)", &[0.0, 300.0, 450.0], Some(512.0)),
            curve("late", "transactions later than promised", &[0.0, 0.0, 0.0], None),
        ],
        rectified: vec![4, 0, 1],
        not_shown: 7,
    }
}

fn page(watched: &Watched) -> String {
    let history = parse("initial 0\na: r(x,0) w(x,1)\nb: r(x,0) w(x,2)\n").unwrap();
    let decided = [ask(&history, Level::SnapshotIsolation)];
    let mut report = HtmlReport::new("Isolde");
    report.watch(watched);
    report.add(&Case {
        history: &history,
        name: "1. LostUpdate".to_owned(),
        format: "stream".to_owned(),
        decided: &decided,
        about: Vec::new(),
        warnings: Vec::new(),
        warning_count: 0,
        every_level: false,
        options: Value::Null,
        explain: None,
        again: Vec::new(),
        seconds: 0.0,
    });
    report.finish()
}

/// The part of the page that is about the watch.
fn section(page: &str) -> &str {
    let (_, rest) = page.split_once("<section class=\"wrap watched\"").unwrap();
    rest.split_once("</section>").unwrap().0
}

#[test]
fn the_page_has_figures_and_charts_and_loads_nothing() {
    let page = page(&watched());
    let section = section(&page);
    let words = [
        "snapshot-isolation by timestamps: violated",
        "3, with 4 operations",
        "StaleRead: 1",
        "--timeout 2s",
        "Transactions a second",
        "the limit: 512",
        "&lt;1 ms: 4",
        "Always 0: transactions later than promised.",
        "7 more violations",
    ];
    for words in words {
        assert!(section.contains(words), "{words} in {section}");
    }
    assert_eq!(section.matches("<svg").count(), 3, "two curves and the bars");
    for charts in section.split("<figure class=\"course\">").skip(1) {
        let (chart, _) = charts.split_once("</figure>").unwrap();
        roxmltree::Document::parse(chart).unwrap();
    }
    for word in ["src=\"", "@import", "url(", "fetch("] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("\"1. LostUpdate\""), "its violations are ordinary sections");
}

#[test]
fn a_hostile_source_stays_text() {
    let page = page(&watched());
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("<title>&lt;/script&gt;"));
}

#[test]
fn a_watch_in_which_nothing_came_is_a_whole_page() {
    let mut report = HtmlReport::new("Isolde");
    report.watch(&Watched { source: "<stdin>".to_owned(), ..Watched::default() });
    let page = report.finish();
    assert!(section(&page).contains("no promise: unknown"));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn text_and_json_have_the_same_figures() {
    let watched = watched();
    assert_eq!(
        watched.to_text(),
        "snapshot-isolation by timestamps: violated\n  transactions  3, with 4 operations\n  violations    1\n    \
         StaleRead: 1\n  hint: --timeout 2s would have waited long enough\n"
    );
    let summary = watched.to_json();
    let figures = json!({
        "promise": "snapshot-isolation by timestamps", "holds": false, "answer": "violated", "transactions": 3, "operations": 4, "violations": 1,
        "hint": "--timeout 2s would have waited long enough", "rectified": [4, 0, 1],
    });
    assert_eq!(summary, figures);
    let whole = watched.to_json_with_series();
    assert_eq!(whole["series"]["seconds"], json!([0.0, 0.2, 0.4]));
    assert_eq!(whole["series"]["memory_mb"], json!([0.0, 300.0, 450.0]));
    assert_eq!((&whole["rectified"], &whole["not_shown"]), (&json!([4, 0, 1]), &json!(7)));
}
