//! Pictures of witnesses: nothing overlaps, nothing is missing, and nothing breaks them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use std::process::{Command, Stdio};

use isolde_history::{OpId, Outcome, Timestamp, TxnId};
use isolde_report::{
    Basis, Exhibit, Link, Part, PartOp, Picture, Role, StuckOrder, Timeline, dot, lattice, picture,
    picture_css, svg,
};
use isolde_spec::{Edges, Level};
use proptest::prelude::*;
use roxmltree::Document;

use crate::drawn::{self, check_picture, exhibit};

const LOST: &str = "initial 0\na 1: w(stock,1)\nb 2: r(stock,1) w(stock,2)\nc 3: r(stock,1) \
    w(stock,3)\n";
const OTHER_LOST: &str = "initial 0\nx 7: w(parts,5)\ny 8: r(parts,5) w(parts,6)\nz 9: \
    r(parts,5) w(parts,7)\n";
const SKEW: &str = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)\n";
const FORK: &str = "initial 0\na 1: w(x,1)\nb 2: w(y,1)\nc 3: r(x,1) r(y,0)\nd 4: r(x,0) r(y,1)\n";
const CAUSAL: &str = "initial 0\na 1: w(x,1)\nb 2: r(x,1) w(y,1)\nc 3: r(y,1) r(x,0)\n";
const FORCED: &str =
    "initial 0\na 1: w(x,1)\na 2: w(x,2)\nb 3: r(x,2) w(y,1)\nc 4: r(y,1)\nc 5: r(x,1)\n";
const LINEAR: &str = "initial 0\na 1: w(x,1) @[1000000,_]\nb 2: r(x,1) @[1500000,2500000]\n\
    c 3: r(x,0) @[9000000,99000000]\n";
const ABORTED: &str = "initial 0\na 1: w(x,1) abort\nb 2: r(x,1)\n";
const FRACTURED: &str = "initial 0\na 1: w(x,1) w(y,1)\nb 2: w(x,2) w(y,2)\nc 3: r(x,1) r(y,2)\n";

fn known() -> Vec<Exhibit> {
    [
        (LOST, Level::SnapshotIsolation),
        (SKEW, Level::Serializable),
        (FORK, Level::SnapshotIsolation),
        (CAUSAL, Level::Causal),
        (FORCED, Level::Causal),
        (LINEAR, Level::Linearizable),
        (ABORTED, Level::ReadCommitted),
        (FRACTURED, Level::ReadAtomic),
    ]
    .map(|(text, level)| exhibit(text, level))
    .into()
}

#[test]
fn known_anomalies_can_be_looked_at() {
    for exhibit in known() {
        check_picture(&exhibit);
        let filled = picture(&exhibit).fill();
        for part in &exhibit.parts {
            assert!(filled.contains(&format!(">{}<", part.name)), "{}: {filled}", part.name);
            for op in part.ops.iter().filter(|op| op.cited) {
                assert!(filled.contains(&format!(">{}<", op.text)), "{}: {filled}", op.text);
            }
        }
        let links = exhibit.links.iter().enumerate().filter(|_| exhibit.stuck.is_none());
        for (at, link) in links {
            assert!(filled.contains(&format!("data-link=\"{at}\"")));
            assert!(filled.contains(&link.sentence.replace('\'', "&#39;")), "{filled}");
        }
    }
}

#[test]
fn a_cycle_goes_back_up_once() {
    for (text, level) in [(SKEW, Level::Serializable), (FORK, Level::SnapshotIsolation)] {
        let filled = picture(&exhibit(text, level)).fill();
        assert_eq!(filled.matches(" back\"").count(), 1, "{filled}");
    }
}

#[test]
fn what_nobody_saw_is_drawn_open() {
    let filled = picture(&exhibit(FORCED, Level::Causal)).fill();
    let document = Document::parse(&filled).unwrap();
    let inferred = drawn::of_class(&document, "inferred");
    assert!(!inferred.is_empty());
    for edge in inferred {
        assert!(!drawn::child(edge, "head").attribute("d").unwrap().ends_with('Z'));
        assert!(edge.first_element_child().unwrap().text().unwrap().contains("(inferred)"));
    }
}

#[test]
fn outcomes_and_what_is_stuck_are_said() {
    assert!(picture(&exhibit(ABORTED, Level::ReadCommitted)).fill().contains("rolled back"));
    let stuck = picture(&exhibit(LINEAR, Level::Linearizable)).fill();
    assert!(stuck.contains("cannot come next") && stuck.contains(">2</text>"), "{stuck}");
}

#[test]
fn witnesses_of_the_same_shape_share_a_template() {
    let one = picture(&exhibit(LOST, Level::SnapshotIsolation));
    let other = picture(&exhibit(OTHER_LOST, Level::SnapshotIsolation));
    assert_eq!(one.template, other.template);
    assert_ne!(one.labels, other.labels);
    assert_ne!(one.fill(), other.fill());
}

#[test]
fn a_cycle_of_forty() {
    let line = |at: usize| format!("s{at} T{at}: r(k{at},0) w(k{},1)\n", (at + 1) % 40);
    let text = format!("initial 0\n{}", (0..40).map(line).collect::<String>());
    let exhibit = exhibit(&text, Level::Serializable);
    assert_eq!(exhibit.parts.len(), 40);
    check_picture(&exhibit);
}

#[test]
fn texts_are_put_in_once() {
    let labels = vec!["{1}<&".to_owned(), "b".to_owned()];
    let picture = Picture { template: "<t a=\"{1}\">{0}{9}{1}</t>{".to_owned(), labels };
    assert_eq!(picture.fill(), "<t a=\"b\">{1}&lt;&amp;b</t>");
}

#[test]
fn hostile_names_stay_texts() {
    let nasty = "<script>alert(\"1\")</script>]]>{0}'&amp;\0\u{1b}\u{fffe}\u{202e}\n\t\r\u{85}漢字";
    for mut exhibit in known() {
        for part in &mut exhibit.parts {
            part.name = nasty.to_owned();
            part.session = nasty.to_owned();
            part.ops.iter_mut().for_each(|op| op.text = nasty.repeat(40));
        }
        for link in &mut exhibit.links {
            link.key = Some(nasty.to_owned());
            link.sentence = nasty.repeat(100);
            link.because = vec![nasty.repeat(100); 100];
        }
        exhibit.title = nasty.to_owned();
        exhibit.story = nasty.to_owned();
        exhibit.id = nasty.to_owned();
        check_picture(&exhibit);
        assert!(!svg(&exhibit).contains("<script"));
        assert!(svg(&exhibit).contains("&lt;script&gt;"));
        dot_is_well_formed(&dot(&exhibit));
    }
}

#[test]
fn the_rules_name_only_colours_of_the_page() {
    let css = picture_css();
    assert!(!css.contains('#') && css.contains("var(--paper)"), "colours belong to the page");
    assert!(!css.contains('<') && css.matches('{').count() == css.matches('}').count());
    let file = svg(&exhibit(SKEW, Level::Serializable));
    for name in css.split("var(").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(file.contains(&format!("{name}:")), "{name} is not defined");
    }
}

#[test]
fn the_lattice_has_all_levels() {
    for highlight in std::iter::once(None).chain(Level::ALL.map(Some)) {
        let file = lattice(highlight);
        let document = Document::parse(&file).unwrap();
        assert_eq!(drawn::of_class(&document, "level").len(), 14);
        let boxes: Vec<_> =
            drawn::of_class(&document, "box").into_iter().map(drawn::area).collect();
        for (at, one) in boxes.iter().enumerate() {
            assert!(!boxes.iter().skip(at + 1).any(|other| one.overlaps(*other)));
        }
        assert_eq!(drawn::of_class(&document, "chosen").len(), usize::from(highlight.is_some()));
    }
}

/// Quotes are closed, brackets match, and outside of quotes are only words that Graphviz knows.
#[track_caller]
fn dot_is_well_formed(text: &str) {
    let mut open = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => loop {
                match chars.next() {
                    Some('"') => break,
                    Some('\\') => assert!(chars.next().is_some_and(|c| "\"\\l".contains(c))),
                    Some(c) => assert!(!c.is_control(), "{c:?} in {text}"),
                    None => panic!("an open quote in {text}"),
                }
            },
            '{' | '[' => open.push(c),
            '}' => assert_eq!(open.pop(), Some('{'), "{text}"),
            ']' => assert_eq!(open.pop(), Some('['), "{text}"),
            c => assert!(c.is_ascii_alphanumeric() || " \n=,;->._".contains(c), "{c:?} in {text}"),
        }
    }
    assert!(open.is_empty(), "{text}");
}

#[test]
fn dot_says_it_all() {
    for exhibit in known() {
        let text = dot(&exhibit);
        dot_is_well_formed(&text);
        assert!(text.starts_with(&format!("digraph \"{}\" {{", exhibit.id)) && text.contains("TB"));
        assert_eq!(text.matches(" -> ").count(), exhibit.links.len());
        let dashed = exhibit.parts.iter().filter(|part| part.support).count();
        assert_eq!(text.matches("rounded,dashed").count(), dashed);
        let Ok(mut graphviz) = Command::new("dot")
            .arg("-Tsvg")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
        else {
            eprintln!("Graphviz is not installed: its own opinion was not asked");
            continue;
        };
        std::io::Write::write_all(&mut graphviz.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let said = graphviz.wait_with_output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
}

fn kind() -> impl Strategy<Value = Edges> {
    prop::sample::select(vec![Edges::SO, Edges::RT, Edges::WR, Edges::WW, Edges::RW])
}

fn part() -> impl Strategy<Value = Part> {
    let op = ("\\PC{0,40}", any::<bool>()).prop_map(|(text, cited)| PartOp {
        op: OpId(0),
        text,
        key: None,
        cited,
    });
    let time = prop::option::of(0_i64..40);
    let ops = prop::collection::vec(op, 0..8);
    ("\\PC{1,30}", 0..6, any::<bool>(), 0..3_usize, (time.clone(), time), ops).prop_map(
        |(name, session, support, outcome, (begin, end), ops)| Part {
            txn: TxnId(0),
            name,
            session: format!("session {session}"),
            support,
            outcome: Outcome::ALL[outcome],
            begin: begin.min(end.or(begin)),
            end,
            start_ts: begin.map(Timestamp::plain),
            commit_ts: end.map(Timestamp::plain),
            ops,
            left_out: 0,
        },
    )
}

fn link(parts: usize) -> impl Strategy<Value = Link> {
    let role = prop::sample::select(vec![Role::Cycle, Role::Reason, Role::Context]);
    let ends = (0..parts, 1..parts).prop_map(move |(from, by)| (from, (from + by) % parts));
    (ends, kind(), prop::option::of("\\PC{0,40}"), role, any::<bool>()).prop_map(
        |((from, to), kind, key, role, inferred)| Link {
            from,
            to,
            kind,
            key,
            from_op: None,
            to_op: None,
            role,
            inferred,
            sentence: "one and the other".to_owned(),
            because: Vec::new(),
        },
    )
}

fn random(most: usize) -> impl Strategy<Value = Exhibit> {
    let parts = prop::collection::vec(part(), 2..most);
    let with_links = parts.prop_flat_map(|parts| {
        let links = prop::collection::vec(link(parts.len()), 0..parts.len() * 3);
        (Just(parts), links, any::<bool>())
    });
    with_links.prop_map(|(parts, mut links, ring)| {
        let base = exhibit(SKEW, Level::Serializable);
        let example = base.links.first().unwrap();
        if ring {
            let one = |at| Link { from: at, to: (at + 1) % parts.len(), ..example.clone() };
            links = (0..parts.len()).map(one).chain(links).collect();
        }
        // Several between the same two.
        links.extend(links.first().cloned().map(|link| vec![link; 3]).unwrap_or_default());
        let timeline =
            Timeline { basis: Basis::Nanoseconds, columns: vec![], nodes: vec![], rows: vec![] };
        Exhibit { parts, links, timeline, ..base }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn small_random_exhibits_can_be_drawn(exhibit in random(9)) {
        check_picture(&exhibit);
        dot_is_well_formed(&dot(&exhibit));
    }

    #[test]
    fn random_intervals_can_be_drawn(mut exhibit in random(20), next in 0..20_usize) {
        let order = (0..exhibit.parts.len()).step_by(2).collect();
        exhibit.stuck = Some(StuckOrder { order, next, why: String::new() });
        check_picture(&exhibit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn large_random_exhibits_can_be_drawn(exhibit in random(60)) {
        check_picture(&exhibit);
    }
}

/// One transaction without operations, and names of one letter: what stands below is the widest.
#[test]
fn a_picture_without_times_is_as_wide_as_what_says_so() {
    let mut exhibit = exhibit("s T: r(x,1)", Level::ReadCommitted);
    exhibit.stuck = Some(StuckOrder { order: vec![0], next: 0, why: String::new() });
    for part in &mut exhibit.parts {
        (part.name, part.session) = ("T".to_owned(), "s".to_owned());
        part.ops.clear();
    }
    check_picture(&exhibit);
}

#[test]
fn numbers_that_lead_nowhere_are_left_out() {
    let mut exhibit = exhibit(SKEW, Level::Serializable);
    exhibit.links.first_mut().unwrap().to = 99;
    let filled = picture(&exhibit).fill();
    assert_eq!(filled.matches("data-link").count(), 1);
    dot_is_well_formed(&dot(&exhibit));
    exhibit.parts.clear();
    assert!(Document::parse(&svg(&exhibit)).is_ok());
    exhibit.stuck = Some(StuckOrder { order: vec![7], next: 9, why: String::new() });
    assert!(Document::parse(&svg(&exhibit)).is_ok());
}
