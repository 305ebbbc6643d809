//! Where questions about one history are asked.

use std::cmp::Reverse;
use std::time::Instant;

use anyhow::{Result, anyhow};
use isolde_check::Checker;
use isolde_history::History;
use isolde_report::Decided;
use isolde_spec::{Level, Promise};

use crate::exit::{EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::Checking;

/// The levels of those names.
pub(crate) fn levels(names: &[String]) -> Result<Vec<Level>> {
    let level = |name: &String| {
        Level::named(&name.to_lowercase()).ok_or_else(|| {
            let all: Vec<&str> = Level::ALL.iter().map(|l| l.name()).collect();
            let hint = match name.to_lowercase().as_str() {
                "ssi" => "strong-si is strong snapshot isolation; what serializable snapshot \
                          isolation promises is ser"
                    .to_owned(),
                _ => format!("levels are {}", all.join(", ")),
            };
            anyhow!("there is no level '{name}'\n  hint: {hint}")
        })
    };
    names.iter().map(level).collect()
}

/// Where questions about one history are asked.
pub(crate) struct Desk<'h> {
    pub(crate) checker: Checker<'h>,
    pub(crate) session_order: bool,
}

impl Desk<'_> {
    fn ask(&self, level: Level) -> Decided {
        let began = Instant::now();
        let verdict = self.checker.check(Promise { level, session_order: self.session_order });
        let seconds = began.elapsed().as_secs_f64();
        Checking::decided(&verdict);
        Decided { verdict, holds_without_session_order: false, seconds }
    }

    /// The levels that were named, in that order. The strongest is asked first, since others follow from
    /// it if it holds.
    pub(crate) fn each(&self, levels: &[Level]) -> Vec<Decided> {
        let mut strongest_first: Vec<usize> = (0..levels.len()).collect();
        strongest_first.sort_by_key(|at| Reverse(levels[*at]));
        let mut decided: Vec<(usize, Decided)> =
            strongest_first.into_iter().map(|at| (at, self.ask(levels[at]))).collect();
        decided.sort_by_key(|(at, _)| *at);
        let mut decided: Vec<Decided> = decided.into_iter().map(|(_, decided)| decided).collect();
        self.without_session_order(&mut decided);
        decided
    }

    /// Every level that does not follow from one that holds, weakest first.
    pub(crate) fn all(&self, history: &History) -> Vec<Decided> {
        let mut decided: Vec<Decided> = Vec::new();
        for level in Level::ALL.into_iter().rev() {
            let follows = |d: &Decided| {
                d.verdict.holds() == Some(true) && d.verdict.promise.level.implies(level)
            };
            // Linearizability speaks of single operations.
            let speaks = !level.of_operations() || history.txns().all(|t| t.ops().len() == 1);
            if speaks && !decided.iter().any(follows) {
                decided.push(self.ask(level));
            }
        }
        decided.reverse();
        self.without_session_order(&mut decided);
        decided
    }

    /// Finds out whether session order alone is what levels break.
    fn without_session_order(&self, decided: &mut [Decided]) {
        let mut violated: Vec<Level> = Vec::new();
        for d in decided.iter_mut() {
            let level = d.verdict.promise.level;
            let broken = d.verdict.holds() == Some(false) && d.verdict.promise.session_order;
            if !broken || violated.iter().any(|weaker| level.implies(*weaker)) {
                continue;
            }
            let verdict = self.checker.check(Promise { level, session_order: false });
            d.holds_without_session_order = verdict.holds() == Some(true);
            if verdict.holds() == Some(false) {
                violated.push(level);
            }
        }
    }
}

/// Where no level was named, one that holds is enough.
pub(crate) fn exit_code(decided: &[Decided], any: bool) -> u8 {
    let holds = |wanted: Option<bool>| decided.iter().any(|d| d.verdict.holds() == wanted);
    match (any && holds(Some(true)), holds(Some(false)), holds(None)) {
        (true, _, _) => EXIT_OK,
        (_, true, _) => EXIT_VIOLATED,
        (_, _, true) => EXIT_UNKNOWN,
        _ => EXIT_OK,
    }
}
