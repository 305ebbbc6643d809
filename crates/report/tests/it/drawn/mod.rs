//! Reading pictures back, for their tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use isolde_history::notation::parse;
use isolde_report::{Exhibit, picture, svg};
use isolde_spec::{Level, Promise};
use roxmltree::{Document, Node};

use crate::shown::ask;

/// The first witness of a level in a history of the notation.
#[track_caller]
pub fn exhibit(text: &str, level: Level) -> Exhibit {
    let history = parse(text).unwrap();
    let decided = ask(&history, level);
    let witness = decided.verdict.witnesses().first().unwrap();
    Exhibit::new(&history, Promise::of(level), 1, witness)
}

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
pub struct Area(pub f64, pub f64, pub f64, pub f64);

impl Area {
    pub fn overlaps(self, other: Area) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    pub fn inner(self, by: f64) -> Area {
        Area(self.0 + by, self.1 + by, self.2 - by, self.3 - by)
    }

    pub fn holds(self, (x, y): (f64, f64)) -> bool {
        self.0 < x && x < self.2 && self.1 < y && y < self.3
    }

    pub fn border_has(self, at: (f64, f64)) -> bool {
        self.inner(-0.6).holds(at) && !self.inner(0.6).holds(at)
    }
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

pub fn has_class(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
}

pub fn of_class<'a>(document: &'a Document<'a>, class: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| has_class(*node, class)).collect()
}

pub fn child<'a>(node: Node<'a, 'a>, class: &str) -> Node<'a, 'a> {
    node.descendants().find(|child| has_class(*child, class)).unwrap()
}

pub fn area(rect: Node<'_, '_>) -> Area {
    let (x, y) = (number(rect, "x"), number(rect, "y"));
    Area(x, y, x + number(rect, "width"), y + number(rect, "height"))
}

/// The points of a path, curves as many of them.
pub fn points(path: Node<'_, '_>) -> Vec<(f64, f64)> {
    let d = path.attribute("d").unwrap();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let pieces = d.split_inclusive(|_: char| true);
    let mut commands: Vec<(char, String)> = Vec::new();
    for piece in pieces {
        let c = piece.chars().next().unwrap();
        if c.is_ascii_alphabetic() {
            commands.push((c, String::new()));
        } else {
            commands.last_mut().unwrap().1.push(c);
        }
    }
    for (command, numbers) in commands {
        let n: Vec<f64> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let last = points.last().copied().unwrap_or_default();
        let curve: Vec<(f64, f64)> = match (command, n.as_slice()) {
            ('M', [x, y]) => vec![(*x, *y)],
            ('L', [x, y]) => straight(last, (*x, *y)),
            ('H', [x]) => straight(last, (*x, last.1)),
            ('V', [y]) => straight(last, (last.0, *y)),
            ('Q', [a, b, x, y]) => bent(last, (*a, *b), (*a, *b), (*x, *y)),
            ('C', [a, b, c, d, x, y]) => bent(last, (*a, *b), (*c, *d), (*x, *y)),
            ('Z', []) => Vec::new(),
            other => panic!("{other:?} in {d}"),
        };
        points.extend(curve);
    }
    points
}

fn straight(from: (f64, f64), to: (f64, f64)) -> Vec<(f64, f64)> {
    let at = |t: f64| (from.0 + (to.0 - from.0) * t, from.1 + (to.1 - from.1) * t);
    (1..=32).map(|step| at(f64::from(step) / 32.0)).collect()
}

/// A cubic curve. (One of degree two is near enough to one whose handles are the same.)
fn bent(a: (f64, f64), b: (f64, f64), c: (f64, f64), d: (f64, f64)) -> Vec<(f64, f64)> {
    let mix = |a: f64, b: f64, c: f64, d: f64, t: f64| {
        let s = 1.0 - t;
        s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
    };
    let at = |t: f64| (mix(a.0, b.0, c.0, d.0, t), mix(a.1, b.1, c.1, d.1, t));
    (1..=16).map(|step| at(f64::from(step) / 16.0)).collect()
}

/// Checks whatever must be so in every picture.
#[track_caller]
pub fn check_picture(exhibit: &Exhibit) {
    let drawn = picture(exhibit);
    assert!(!drawn.template.contains("<style"));
    let filled = drawn.fill();
    let document = Document::parse(&filled).unwrap_or_else(|error| panic!("{error}\n{filled}"));
    texts_are_inside(&document);
    if exhibit.stuck.is_none() {
        boxes_and_arrows(exhibit, &document);
    } else {
        bars(exhibit, &document);
    }
    let file = svg(exhibit);
    let document = Document::parse(&file).unwrap_or_else(|error| panic!("{error}\n{file}"));
    texts_are_inside(&document);
    for needed in ["title", "desc", "style"] {
        assert!(
            document
                .root_element()
                .children()
                .any(|child| child.has_tag_name(needed) || child.tag_name().name() == needed),
            "{needed}"
        );
    }
}

fn boxes_and_arrows(exhibit: &Exhibit, document: &Document<'_>) {
    let nodes = of_class(document, "node");
    assert_eq!(nodes.len(), exhibit.parts.len());
    let boxes: Vec<Area> = nodes.iter().map(|node| area(child(*node, "box"))).collect();
    for (at, one) in boxes.iter().enumerate() {
        for other in boxes.iter().skip(at + 1) {
            assert!(!one.inner(-8.0).overlaps(*other), "boxes: {one:?} {other:?}");
        }
    }
    let edges = of_class(document, "edge");
    assert_eq!(edges.len(), exhibit.links.len());
    let plates: Vec<Area> = edges.iter().map(|edge| area(child(*edge, "plate"))).collect();
    for (at, plate) in plates.iter().enumerate() {
        let hits = |other: &Area| plate.overlaps(*other);
        assert!(!boxes.iter().any(hits), "a label covers a box: {plate:?}");
        assert!(!plates.iter().skip(at + 1).any(hits), "labels cover each other: {plate:?}");
    }
    for edge in edges {
        let link = &exhibit.links[edge.attribute("data-link").unwrap().parse::<usize>().unwrap()];
        let line = points(child(edge, "line"));
        let head = child(edge, "head").attribute("d").unwrap();
        let tip = head.split('L').nth(1).unwrap().split_once(' ').unwrap();
        let tip = (tip.0.parse().unwrap(), tip.1.parse().unwrap());
        assert!(boxes[link.from].border_has(line[0]), "{:?} {:?}", boxes[link.from], line[0]);
        assert!(boxes[link.to].border_has(tip), "{:?} {tip:?}", boxes[link.to]);
        for point in line {
            let cut = boxes.iter().find(|area| area.inner(1.0).holds(point));
            assert!(cut.is_none(), "a wire cuts a box: {point:?} {cut:?} {head}");
        }
    }
}

fn bars(exhibit: &Exhibit, document: &Document<'_>) {
    let calls = of_class(document, "call");
    assert_eq!(calls.len(), exhibit.parts.len());
    let extent = |call: &Node<'_, '_>| {
        let points = points(call.descendants().find(|child| has_class(*child, "bar")).unwrap());
        let x = || points.iter().map(|point| point.0);
        let y = || points.iter().map(|point| point.1);
        let least = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::INFINITY, f64::min);
        let most = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
        Area(least(&mut x()), least(&mut y()), most(&mut x()), most(&mut y()))
    };
    let bars: Vec<Area> = calls.iter().map(extent).collect();
    for (at, bar) in bars.iter().enumerate() {
        assert!(!bars.iter().skip(at + 1).any(|other| bar.overlaps(*other)), "{bars:?}");
    }
}

/// The sum of all shifts that hold for an element.
fn shift(node: Node<'_, '_>) -> (f64, f64) {
    let shifts = node.ancestors().filter_map(|node| node.attribute("transform"));
    let shifts = shifts.map(|shift| {
        let inside = shift.strip_prefix("translate(").unwrap().strip_suffix(')').unwrap();
        let (x, y) = inside.split_once(' ').unwrap();
        (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
    });
    shifts.fold((0.0, 0.0), |sum, shift| (sum.0 + shift.0, sum.1 + shift.1))
}

fn texts_are_inside(document: &Document<'_>) {
    let root = document.root_element();
    let (width, height) = (number(root, "width"), number(root, "height"));
    for text in document.descendants().filter(|node| node.tag_name().name() == "text") {
        let words: String = text
            .descendants()
            .filter(|node| node.is_text() && node.parent().unwrap().tag_name().name() != "title")
            .map(|node| node.text().unwrap())
            .collect();
        let size = match text.attribute("class").unwrap_or_default() {
            "name" => 7.8,
            "session" | "note" | "label" | "badge" => 6.6,
            "time" | "nth" => 6.0,
            _ => 7.2,
        };
        let wide = words.chars().filter(|c| ('\u{2e80}'..'\u{a4d0}').contains(c)).count();
        let length = (words.chars().count() + wide) as f64 * size;
        let (dx, dy) = shift(text);
        let (x, y) = (number(text, "x") + dx, number(text, "y") + dy);
        let left = match text.attribute("text-anchor") {
            Some("middle") => x - length / 2.0,
            Some("end") => x - length,
            _ => x,
        };
        assert!(left >= 0.0 && left + length <= width + 0.5, "{words}: {left} {length} {width}");
        assert!(y >= 8.0 && y <= height, "{words}: {y} {height}");
    }
}
