//! What client intervals say of a history in the notation, a line for each violation.

use isolde_check::Options;
use isolde_history::notation::{parse, txn_name, write_value};
use isolde_history::{History, Key, OpKind, Value};
use isolde_spec::{Answer, Mechanism, Profile, Verdict, Witness};
use isolde_stream::intervals::decide;

/// What was answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) verdict: Verdict,
    /// The violations: mechanism, anomaly, transactions and rows; of a read what it saw, and what it can have seen.
    pub(crate) lines: Vec<String>,
}

/// Asks a profile of a history that is written in the notation.
pub(crate) fn asked(text: &str, profile: &str) -> Asked {
    let history = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let profile = Profile::named(profile).unwrap_or_else(|e| panic!("{profile}: {e:?}"));
    asked_of(&history, profile)
}

/// The same of any history.
pub(crate) fn asked_of(history: &History, profile: &Profile) -> Asked {
    let options = Options { witnesses: 1_000, ..Options::default() };
    let verdict = decide(history, profile, &options, 0.0);
    let lines = verdict.witnesses().iter().map(|witness| line(history, witness)).collect();
    Asked { verdict, lines }
}

/// Exactly these violations are found, and if there are none, that is the answer.
#[track_caller]
pub(crate) fn check(text: &str, profile: &str, expected: &[&str]) {
    let asked = asked(text, profile);
    assert_eq!(asked.lines, expected, "{profile}\n{text}\n{:?}", asked.verdict);
    let none = matches!(asked.verdict.answer, Answer::NoViolation { .. });
    assert_eq!(none, expected.is_empty(), "{profile}\n{text}\n{:?}", asked.verdict);
}

/// One of the figures of a verdict.
pub(crate) fn figure(asked: &Asked, name: &str) -> u64 {
    let figures = &asked.verdict.procedure.figures;
    figures.iter().find(|(own, _)| *own == name).map(|(_, figure)| *figure).unwrap()
}

fn line(history: &History, witness: &Witness) -> String {
    let mirrored = witness.mirrored.as_ref().unwrap();
    let value = |value: Value| {
        let mut text = String::new();
        write_value(history.pool(), value, &mut text);
        text
    };
    let txns: Vec<String> = witness.txns.iter().map(|txn| txn_name(history, *txn)).collect();
    let of_ops = witness.ops.iter().map(|op| history.op(*op));
    let of_ops = of_ops.filter(|op| op.kind().has_key()).map(|op| op.key());
    let looked = witness.ops.iter().map(|op| history.op(*op));
    let looked = looked.filter(|op| op.kind() == OpKind::PredicateRead).map(|op| value(op.value()));
    let of_steps = witness.steps.iter().filter_map(|step| step.because.key);
    let mut keys: Vec<Key> = Vec::new();
    for key in of_ops.chain(of_steps) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let keys = keys.iter().map(|key| value(history.pool().key_name(*key)));
    let keys: Vec<String> = if keys.len() == 0 { looked.collect() } else { keys.collect() };
    let (mechanism, anomaly) = (mirrored.mechanism.name(), witness.anomaly.name());
    let mut line = format!("{mechanism}: {anomaly} by {} on {}", txns.join(" "), keys.join(" "));
    let is_read = mirrored.mechanism == Mechanism::ConsistentRead && !mirrored.semantic;
    if let Some(seen) = mirrored.read.as_ref().filter(|_| is_read) {
        let possible: Vec<String> =
            mirrored.possible.iter().map(|seen| value(seen.value)).collect();
        line += &format!(": {}, possible {}", value(seen.value), possible.join(" "));
    }
    line
}
