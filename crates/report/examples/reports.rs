//! Writes HTML reports of all kinds into a folder, for the tests in a browser:
//! `cargo run --release -p isolde-report --example reports -- FOLDER`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example stops where it fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use isolde_check::{Checker, Options};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_report::{Case, Decided, HtmlReport};
use isolde_spec::{Level, Promise};

/// One operation each, at times that leave no order: bob reads what was overwritten before.
const LINEARIZABILITY: &str = "initial 0\n\
    alice 1: w(x,1) @[1,4]\n\
    bob   2: r(x,1) @[5,7]\n\
    carol 3: w(x,2) @[6,12]\n\
    bob   4: r(x,2) @[8,11]\n\
    alice 5: r(x,1) @[13,15]\n";

/// The order of versions cannot be known: values repeat.
const UNKNOWN: &str = "initial 0\n\
    a 1: w(x,1) w(y,1)\n\
    b 2: w(x,1) w(y,2)\n\
    c 3: r(x,1) r(y,1)\n\
    d 4: r(x,1) r(y,2)\n";

fn main() {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("reports"), PathBuf::from);
    std::fs::create_dir_all(&folder).unwrap();
    let notation = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories/notation");
        std::fs::read_to_string(path.join(name)).unwrap()
    };
    let plain = Options::default();
    let files = [
        ("lost-update", lost_update(), plain),
        ("long-fork", notation("long-fork.txt"), plain),
        ("write-skew", notation("write-skew.txt"), plain),
        ("causality", notation("causality-violation.txt"), plain),
        ("forced-order", notation("forced-order.txt"), plain),
        ("linearizability", LINEARIZABILITY.to_owned(), plain),
        ("holds", notation("serial.txt"), plain),
        ("unknown", UNKNOWN.to_owned(), plain),
        ("hostile", hostile(), plain),
        ("faults", faults(), plain),
    ];
    for (name, text, options) in files {
        let title =
            if name == "hostile" { "<img src=x onerror=alert(1)> {0} & \"co\"" } else { name };
        let mut report = HtmlReport::new(title);
        add(&mut report, &format!("histories/{name}.txt"), &text, options, &Level::ALL);
        write(&folder, name, report);
    }
    let mut report = HtmlReport::new("10,000 lost updates");
    let options = Options { witnesses: 10_000, ..plain };
    add(
        &mut report,
        "many.txt",
        &many(10_000),
        options,
        &[Level::Causal, Level::SnapshotIsolation],
    );
    write(&folder, "many", report);
    let mut report = HtmlReport::new("Three histories");
    for name in ["long-fork", "write-skew", "serial"] {
        add(&mut report, name, &notation(&format!("{name}.txt")), plain, &Level::ALL);
    }
    write(&folder, "several", report);
    let mut report = HtmlReport::new("By the server's timestamps");
    for (name, text) in TIMED {
        add_asked(&mut report, name, text, plain, &both_ways());
    }
    write(&folder, "timestamps", report);
}

/// Snapshot isolation by timestamps, and what a user may ask beside it by values.
fn both_ways() -> Vec<Promise> {
    let timed = [Level::SnapshotIsolation, Level::Serializable].map(Promise::by_timestamps);
    let valued = [Level::ReadCommitted, Level::SnapshotIsolation, Level::Serializable];
    timed.into_iter().chain(valued.map(Promise::of)).collect()
}

/// What only timestamps show: writers that overlap, a stale read, and much else with hybrid timestamps.
const TIMED: [(&str, &str); 3] = [
    (
        "no-conflict",
        "given dose 10\nalice 1: r(weight,absent) w(dose,20) ts(3,7)\nbob 2: w(dose,5) ts(6,9)\n\
         carol 3: r(dose,5) ts(9,9)\n",
    ),
    (
        "figure-11",
        "initial 0\nmeta commit-order serial\na 1: w(x,1) ts(1,2)\nb 2: w(x,2) ts(3,5)\nc 3: r(x,1) ts(6,6)\n",
    ),
    (
        "hybrid",
        "initial 0\n\
         a 1: w(x,1) ts(1731700000000000100,1731700000000000100.1)\n\
         a 2: w(x,2) w(y,2) ts(1731700000000000100.1,1731700005000000300)\n\
         a 3: r(y,0) ts(1731700004000000000,1731700004000000000)\n\
         b 4: r(x,1) r(z,0) r(u,0) r(v,0) r(w,0) ts(1731700005000000300.2,1731700005000000300.2)\n\
         c 5: w(z,5) ts(1731700005000000400,1731700005000000390)\n\
         d 6: w(u,6) unknown ts(1731700005000000200,_)\n\
         e 7: r(u,6) ts(1731700005000000500,1731700005000000500)\n\
         b 8: r(u,0) ts(1731700005000000600.1,1731700005000000600.1)\n\
         e 9: append(l,1) ts(1731700005000000600,1731700005000000600.1)\n\
         c 10: list(l,[]) ts(1731700005000000700,1731700005000000700)\n",
    ),
];

fn add(report: &mut HtmlReport, name: &str, text: &str, options: Options, levels: &[Level]) {
    let promises: Vec<Promise> = levels.iter().map(|level| Promise::of(*level)).collect();
    add_asked(report, name, text, options, &promises);
}

fn add_asked(report: &mut HtmlReport, name: &str, text: &str, options: Options, asked: &[Promise]) {
    let history = parse(text).unwrap();
    let began = Instant::now();
    let decided = decide(&history, options, asked);
    let again = vec![
        ("Check the history again".to_owned(), format!("isolde check '{name}'")),
        ("Run the same workload".to_owned(), "isolde test fjall --txns 5k --seed 1".to_owned()),
    ];
    let row = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    report.add(&Case {
        history: &history,
        name: name.to_owned(),
        format: "notation".to_owned(),
        decided: &decided,
        about: vec![row("Database", "a bookshop"), row("Workload", "mini, 8 sessions, seed 1")],
        warning_count: u64::from(name.contains("unknown")),
        every_level: asked.len() == Level::ALL.len(),
        options: serde_json::Value::Null,
        explain: Some(format!("isolde explain '{name}'")),
        warnings: if name.contains("unknown") {
            vec!["line 9: cut off".to_owned()]
        } else {
            vec![]
        },
        again,
        seconds: began.elapsed().as_secs_f64(),
    });
}

fn decide(history: &History, options: Options, asked: &[Promise]) -> Vec<Decided> {
    let checker = Checker::new(history, options);
    let single = history.txns().all(|txn| txn.ops().len() == 1);
    let asked = asked.iter().filter(|asked| single || !asked.level.of_operations());
    let decide = |asked: &Promise| {
        let verdict = checker.check(*asked);
        Decided { verdict, holds_without_session_order: false, seconds: 0.0 }
    };
    asked.map(decide).collect()
}

fn write(folder: &Path, name: &str, report: HtmlReport) {
    let began = Instant::now();
    let page = report.finish();
    let path = folder.join(format!("{name}.html"));
    std::fs::write(&path, &page).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    println!("{:<16} {:>9} bytes  {seconds:.2} s", format!("{name}.html"), page.len());
}

/// Two lost updates among other work, with times; some operations show nothing and are folded.
fn lost_update() -> String {
    let mut text = "initial 0\nmeta server \"a bookshop\"\n".to_owned();
    let at = |micros: i64| 1_700_000_000_000_000_000 + micros * 1000;
    let lines = [
        ("shop", 1, "w(stock,1) w(price,20)", 10, 30),
        ("alice", 2, "r(stock,1) r(price,20) r(a,0) r(b,0) r(c,0) r(d,0) w(stock,101)", 50, 180),
        ("bob", 3, "r(stock,1) r(price,20) w(stock,102)", 90, 210),
        ("shop", 4, "r(stock,102)", 260, 280),
        ("carol", 5, "r(stock,102) w(seen,5)", 300, 340),
        ("dave", 6, "r(price,20) w(price,25)", 310, 420),
        ("bob", 7, "r(price,20) w(price,18)", 330, 400),
        ("erin", 8, "r(seen,5) w(seen,8) abort", 450, 460),
    ];
    for (session, name, ops, begin, end) in lines {
        writeln!(text, "{session} {name}: {ops} @[{},{}]", at(begin), at(end)).unwrap();
    }
    text
}

/// A run of ten seconds with kills, lost connections and lost updates.
fn faults() -> String {
    let mut text = "initial 0\nevent \"<b>odd</b> {0}\" @[5000000000,_]\n".to_owned();
    for at in [2_i64, 4, 6, 8] {
        writeln!(text, "event kill @[{at}000000000,{at}400000000] n1").unwrap();
    }
    for at in 0..300_i64 {
        let begin = at * 33_000_000;
        writeln!(text, "event drop @[{begin},_] \"session {}\"", at % 9).unwrap();
        let end = match at % 10 {
            3 => " abort",
            7 => " unknown",
            _ => "",
        };
        let read = if at % 100 == 50 { 0 } else { at };
        let line = format!("r(k{at},0) w(k{read},{})", at + 1);
        writeln!(text, "s{} {at}: {line}{end} @[{begin},{}]", at % 9, begin + 30_000_000).unwrap();
    }
    text
}

/// Names that try to be something else.
fn hostile() -> String {
    let names = [
        "<script>window.hacked=1</script>",
        "</script><script>window.hacked=2</script>",
        "{0} {1} \u{e000}\u{f8ff}",
        "'\\\"><img src=x onerror=window.hacked=3>",
        "\u{202e}txet desrever \u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "\u{1f9ff}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} <!-- --> <!--DATA-->",
    ];
    let mut text = "initial 0\n".to_owned();
    let long = "v".repeat(5000);
    for (at, name) in names.iter().enumerate() {
        let key = quoted(name);
        let value = quoted(&format!("{name}{long}"));
        for session in ["one", "two"] {
            let who = quoted(&format!("{session} {name}"));
            let label = quoted(&format!("{name} {at} {session}"));
            writeln!(text, "{who} {label}: r({key},0) w({key},[{at},{session},{value}])").unwrap();
        }
    }
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// So many keys, each with an update that is lost.
fn many(count: usize) -> String {
    let mut text = "initial 0\n".to_owned();
    for key in 0..count {
        let (begin, session) = (key * 1000, key % 16);
        for one in 1..=3 {
            let (value, read) = (key * 4 + one, if one == 1 { 0 } else { key * 4 + 1 });
            let (from, to) = (begin + one * 100, begin + one * 100 + 350);
            let session = (session + one) % 16;
            writeln!(text, "s{session}: r(k{key},{read}) w(k{key},{value}) @[{from},{to}]")
                .unwrap();
        }
    }
    text
}
