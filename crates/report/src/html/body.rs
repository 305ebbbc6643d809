//! One witness as compact data: lists of numbers, where the numbers of texts, transactions and
//! pictures stand for them. `js/data.js` reads it back.

use std::collections::HashSet;

use isolde_history::{History, Outcome};
use serde_json::{Value, json};

use super::labels;
use super::tables::Tables;
use crate::exhibit::{Exhibit, Link, Part, Role, StuckOrder, Timeline, Times, What};
use crate::names;
use crate::picture::picture;
use crate::wrap::{number, shorten};

/// How long a transaction may be that is shown in full.
const LINE: usize = 20_000;
/// How long all of them may be together, in bytes; later ones are cut to `SHORT_LINE`.
const ALL_LINES: usize = 6 << 20;
/// How long a transaction may be after that.
const SHORT_LINE: usize = 300;

/// The number of the data of an exhibit.
pub(super) fn add(tables: &mut Tables, history: &History, exhibit: &Exhibit) -> usize {
    let names = names_of(exhibit);
    let anomaly = tables.anomaly(exhibit.anomaly);
    let title = tables.text(&exhibit.title);
    let mut told = |text: &str| tables.text(&labels::without(text, &names));
    let story = told(&exhibit.story);
    let breach = told(&exhibit.breach);
    let facts: Vec<(&str, usize)> =
        exhibit.facts.iter().map(|fact| (fact.name, told(&fact.text))).collect();
    let stuck = exhibit.stuck.as_ref().map_or(json!(0), |stuck| stuck_order(stuck, &mut told));
    let links: Vec<Value> = exhibit.links.iter().map(|l| link(tables, l, &names)).collect();
    let links = tables.shapes.number(&Value::Array(links).to_string());
    let parts: Vec<Value> = exhibit.parts.iter().map(|p| part(tables, history, p)).collect();
    let timeline = timeline(tables, exhibit);
    let picture = drawn(tables, exhibit, &names);
    let left_out = match (exhibit.left_out, exhibit.steps_left_out) {
        (0, _) => json!(-1),
        (n, 0) => json!(tables.text(&format!("{} more transactions are not shown.", number(n)))),
        (n, steps) => {
            let (n, steps) = (number(n), number(steps));
            let text =
                format!("{n} more transactions and {steps} steps of the cycle are not shown.");
            json!(tables.text(&text))
        }
    };
    let keys: Vec<usize> = keys(exhibit).into_iter().map(|key| tables.text(key)).collect();
    let (position, meaning) = (exhibit.position, tables.text(&exhibit.meaning));
    let all = json!([
        anomaly, title, story, breach, position, parts, links, timeline, stuck, left_out, picture,
        keys, meaning, facts
    ]);
    tables.bodies.number(&all.to_string())
}

/// What the sentences of an exhibit speak of. `js/data.js` makes the same list.
fn names_of(exhibit: &Exhibit) -> Vec<String> {
    let mut names = Vec::new();
    for part in &exhibit.parts {
        names.push(part.name.clone());
        names.push(part.session.clone());
        for op in part.ops.iter().filter(|op| op.cited) {
            names.push(op.text.clone());
            names.extend(op.key.clone());
            names.push(value(&op.text).to_owned());
        }
    }
    names.truncate(labels::MOST);
    names
}

/// The value that an operation read or wrote, or what stands in its place: the end of its text.
fn value(op: &str) -> &str {
    let inner = op.strip_suffix(')').unwrap_or(op);
    inner.rsplit_once(',').map_or(inner, |(_, value)| value)
}

/// The keys of what is cited, each once.
fn keys(exhibit: &Exhibit) -> Vec<&str> {
    let cited = exhibit.parts.iter().flat_map(|part| part.ops.iter().filter(|op| op.cited));
    let cited = cited.filter_map(|op| op.key.as_deref());
    let links = exhibit.links.iter().filter_map(|link| link.key.as_deref());
    let mut known = HashSet::new();
    cited.chain(links).filter(|key| known.insert(*key)).collect()
}

fn stuck_order(stuck: &StuckOrder, told: &mut impl FnMut(&str) -> usize) -> Value {
    json!([stuck.order, stuck.next, told(&stuck.why)])
}

fn link(tables: &mut Tables, link: &Link, names: &[String]) -> Value {
    let role = match link.role {
        Role::Cycle => 0,
        Role::Reason => 1,
        Role::Context => 2,
    };
    let kind = tables.text(&link.kind.to_string());
    let sentence = tables.text(&labels::without(&link.sentence, names));
    let because = link.because.iter().map(|text| tables.text(&labels::without(text, names)));
    let because: Vec<usize> = because.collect();
    let op = |op: Option<usize>| op.map_or(json!(-1), |op| json!(op));
    let (from, to) = (op(link.from_op), op(link.to_op));
    json!([link.from, link.to, kind, from, to, role, u8::from(link.inferred), sentence, because])
}

fn part(tables: &mut Tables, history: &History, part: &Part) -> Value {
    let outcome = match part.outcome {
        Outcome::Committed => 0,
        Outcome::Aborted => 1,
        Outcome::Unknown => 2,
    };
    let line = names::full_line(history, part.txn);
    let most = if tables.line_bytes < ALL_LINES { LINE } else { SHORT_LINE };
    let line = shorten(&line, most);
    let line = labels::without_in_order(&line, part.ops.iter().map(|op| op.text.as_str()));
    let line = tables.text(&line);
    let (name, session) = (tables.text(&part.name), tables.text(&part.session));
    let left_out = match part.left_out {
        0 => json!(-1),
        n => json!(tables.text(&format!("{} more operations are not shown", number(n)))),
    };
    let ops = part.ops.iter().map(|op| tables.text(&op.text));
    let ops: Vec<usize> = ops.collect();
    let keys =
        part.ops.iter().map(|op| op.key.as_ref().map_or(json!(-1), |k| json!(tables.text(k))));
    let keys: Vec<Value> = keys.collect();
    let txn = json!([name, session, outcome, left_out, line, ops, keys]);
    let txn = tables.txn(&txn.to_string());
    let cited = part.ops.iter().enumerate().filter(|(_, op)| op.cited).map(|(at, _)| at);
    json!([txn, u8::from(part.support), cited.collect::<Vec<_>>()])
}

fn timeline(tables: &mut Tables, exhibit: &Exhibit) -> Value {
    let timeline: &Timeline = &exhibit.timeline;
    let times = Times::of(timeline);
    let basis = tables.text(times.basis(timeline.basis));
    let unit = tables.text(times.unit(timeline.basis));
    let columns = 0..timeline.columns.len();
    let columns: Vec<usize> =
        columns.map(|column| tables.text(&timeline.column_name(column))).collect();
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    for row in &timeline.rows {
        let (code, a, b) = match &row.what {
            What::Begin => (0, 0, 0),
            What::Op(op) => (1, *op, 0),
            What::Folded(first, count) => (2, *first, *count),
            What::LeftOut(count) => (5, *count, 0),
            What::End => (3, 0, 0),
            What::Event(text) => (4, tables.text(text), 0),
        };
        let place = |n: Option<usize>| n.map_or(json!(-1), |n| json!(n));
        let timed = u8::from(row.time.is_some());
        rows.push(json!([code, place(row.column), place(row.part), a, b, timed]));
        told.extend(row.time.map(|time| tables.text(&times.tell(time))));
    }
    let rows = tables.shapes.number(&Value::Array(rows).to_string());
    json!([basis, unit, columns, rows, told])
}

fn drawn(tables: &mut Tables, exhibit: &Exhibit, names: &[String]) -> Value {
    let picture = picture(exhibit);
    let template = tables.pictures.number(&picture.template);
    let labels = picture.labels.iter().map(|label| tables.text(&labels::without(label, names)));
    let labels = json!(labels.collect::<Vec<_>>()).to_string();
    json!([template, tables.shapes.number(&labels)])
}
