//! What was done to the servers during a run, in a few lines.

use isolde_history::{Clock, Event, History};

use crate::course::{Scale, kinds};
use crate::wrap::{number, paragraph, unbroken};

/// How many times of a kind are told.
const TIMES: usize = 4;

/// A line for each kind of event: how often, and when the first of them were. Nothing if there are none.
pub fn faults_to_text(history: &History) -> String {
    let mut out = String::new();
    let scale = Scale::of(history).filter(|_| history.meta().clock == Clock::Nanoseconds);
    let mut label = "faults";
    for (name, events) in kinds(history) {
        let count = number(events.len());
        let mut text = format!("{count} x {}", clean(&name));
        let times: Vec<String> =
            events.iter().filter_map(|event| told(event, scale.as_ref())).take(TIMES).collect();
        if !times.is_empty() {
            let more = if events.len() > times.len() { ", ..." } else { "" };
            text += &format!(": {}{more}", times.join(", "));
        }
        paragraph(&mut out, &format!("{label:<10} "), 11, usize::MAX, &text);
        label = "";
    }
    out
}

/// When an event was: since the run began, or its positions in the log.
fn told(event: &Event, scale: Option<&Scale>) -> Option<String> {
    let (begin, end) = crate::course::when(event)?;
    let told = match scale {
        Some(scale) => scale.span_told(begin, end),
        None if begin == end => begin.to_string(),
        None => format!("{begin} to {end}"),
    };
    Some(unbroken(&told))
}

/// A name cannot move the cursor of a terminal.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { crate::xml::harmless(c) }).collect()
}

#[cfg(test)]
mod tests {
    use isolde_history::notation::parse;

    use super::*;

    #[test]
    fn each_kind_has_a_line() {
        let text = "event kill @[2000000000,2400000000] primary\n\
            event kill @[4000000000,4500000000] primary\nevent drop @[1000000000,_] \"session 3\"\n\
            a: w(x,1) @[0,5000000000]\n";
        let expected = "faults     2 x kill primary: 2.0 s to 2.4 s, 4.0 s to 4.5 s\n           \
            1 x drop session 3: 1.0 s\n";
        assert_eq!(faults_to_text(&parse(text).unwrap()), expected);
        assert_eq!(faults_to_text(&parse("a: w(x,1)\n").unwrap()), "");
        let many = "event kill @[1,2]\n".repeat(9);
        let told = faults_to_text(&parse(&format!("clock events\n{many}")).unwrap());
        assert_eq!(told, "faults     9 x kill: 1 to 2, 1 to 2, 1 to 2, 1 to 2, ...\n");
    }
}
