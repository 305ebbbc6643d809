//! One case from its first run to the last oracle.
//!
//! The case runs until nothing waits and nothing fails; what has a cycle of dependencies loses a statement and runs again;
//! what is left runs once more as a serial case. What was cut makes a case of its own in the next round.

use isolde_history::History;
use isolde_target::{After, Failure};

use crate::case::Case;
use crate::decycle::{sorted, statement_to_cut, transactions_have_cycle};
use crate::dependencies::StatementGraph;
use crate::oracle::early::{EarlyRead, early_reads};
use crate::oracle::predicate::{PredicateDifference, differences};
use crate::oracle::serial::{SerialDifference, compare};
use crate::oracle::words::{Complaint, complaint};
use crate::plan::{At, Plan, Step, Turn};
use crate::policy::Policy;
use crate::runner::Runner;
use crate::settle::{GivenUp, SettledRun, settle};
use crate::versions::Versions;
use crate::written::history;

/// Which oracles are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oracles {
    /// The serial case.
    pub serial: bool,
    /// The same rows by the same condition.
    pub predicate: bool,
    /// Levels of isolation, by the history and by the order of the steps.
    pub isolation: bool,
}

impl Oracles {
    /// All of them.
    pub const ALL: Oracles = Oracles { serial: true, predicate: true, isolation: true };
}

/// How a case is worked on.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Which oracles are asked.
    pub oracles: Oracles,
    /// How many serial orders are tried in each round.
    pub orders: usize,
    /// How many rounds there are at most; each takes what the one before has cut.
    pub rounds: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { oracles: Oracles::ALL, orders: 1, rounds: 3 }
    }
}

/// Something that is not as it has to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Suspect {
    /// The serial case differs.
    Serial(SerialDifference),
    /// One condition found different rows.
    Predicate(PredicateDifference),
    /// The server complained of itself.
    Words {
        /// At which statement, if it was at one.
        at: Option<At>,
        /// Of what.
        complaint: Complaint,
        /// Its words.
        failure: Failure,
    },
    /// Two statements overwrote one version of a row, by what was there right before each: one of them was lost. No level
    /// that can be watched allows it to statements, and no order of them shows what each saw.
    Torn {
        /// The one that came first.
        one: At,
        /// The one that came second.
        other: At,
    },
    /// What a transaction wrote was seen by another one before it committed.
    Early(EarlyRead),
    /// A step was never answered.
    Hang(Turn),
}

/// What came of a case.
#[derive(Default)]
pub struct Worked {
    /// What is not as it has to be, each with the plan by which it was seen.
    pub suspects: Vec<(Suspect, Plan)>,
    /// What was observed when the case had settled first, as a history, for checkers; and the plan by which it was run.
    pub history: Option<(History, Plan)>,
    /// How many statements of the case were run in transactions, again and again.
    pub statements: usize,
    /// How many statements the case has.
    pub own_statements: usize,
    /// Steps that failed when the case was run first or again.
    pub failures: Vec<(Turn, Failure)>,
    /// How many statements reached the serial oracle.
    pub reached: usize,
    /// How often the tables were reset and the case run in transactions.
    pub runs: usize,
    /// How many serial cases were run.
    pub serial_cases: usize,
    /// How many rounds were begun.
    pub rounds: usize,
    /// How many statements were cut.
    pub cut: usize,
    /// Whether in some round there was an order of the statements and none of the transactions.
    pub transactions_have_cycle: bool,
    /// Why it was given up, if it was.
    pub given_up: Option<GivenUp>,
}

/// Works on a case. `choose` picks one of so many.
pub fn work(
    runner: &mut Runner<'_>,
    case: &Case,
    policy: &Policy,
    effort: &Effort,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Worked {
    let mut worked = Worked {
        own_statements: case.transactions.iter().map(|t| t.statements.len()).sum(),
        ..Worked::default()
    };
    let mut plan = Plan::of(case);
    while worked.rounds < effort.rounds && plan.statements().next().is_some() {
        worked.rounds += 1;
        let mut round = Round { runner, case, policy, effort, choose, worked: &mut worked };
        match round.work(&plan) {
            Ok(tested) if !tested.is_empty() => plan = plan.without(&tested),
            Ok(_) => break,
            Err(given_up) => {
                note_given_up(&mut worked, &plan, given_up);
                break;
            }
        }
    }
    worked
}

fn note_given_up(worked: &mut Worked, plan: &Plan, given_up: GivenUp) {
    let suspect = match &given_up {
        GivenUp::NeverSettled => None,
        GivenUp::Silent(turn) => Some(Suspect::Hang(*turn)),
        GivenUp::Lost(turn, failure) => complaint(failure).map(|complaint| {
            let at = turn.and_then(statement_of);
            Suspect::Words { at, complaint, failure: failure.clone() }
        }),
        GivenUp::NoSetup(failure) => complaint(failure).map(|complaint| Suspect::Words {
            at: None,
            complaint,
            failure: failure.clone(),
        }),
    };
    worked.suspects.extend(suspect.map(|suspect| (suspect, plan.clone())));
    worked.given_up = Some(given_up);
}

fn statement_of(turn: Turn) -> Option<At> {
    match turn.step {
        Step::Statement(at) => Some((turn.txn, at)),
        Step::Begin | Step::End => None,
    }
}

/// A part of a case that is worked on.
struct Round<'r, 't> {
    runner: &'r mut Runner<'t>,
    case: &'r Case,
    policy: &'r Policy,
    effort: &'r Effort,
    choose: &'r mut dyn FnMut(usize) -> usize,
    worked: &'r mut Worked,
}

impl Round<'_, '_> {
    /// Runs, cuts and runs again until there is no cycle; says which statements reached the serial oracle.
    fn work(&mut self, plan: &Plan) -> Result<Vec<At>, GivenUp> {
        let mut plan = plan.clone();
        loop {
            let mut failures = Vec::new();
            let run = settle(self.runner, self.case, &plan, self.policy, &mut failures);
            self.look_at_failures(&plan, failures, run.is_err());
            let run = run?;
            self.look_at(&run);
            let versions = Versions::new(self.case, &run.plan, &run.observation);
            self.look_for_early_reads(&run, &versions);
            if let Some((one, other)) = versions.torn {
                self.worked.suspects.push((Suspect::Torn { one, other }, run.plan.clone()));
                return Ok(Vec::new());
            }
            let graph = StatementGraph::new(self.case, &run.plan, &run.observation, &versions);
            match statement_to_cut(self.case, &graph, &run.observation) {
                Some(cut) => {
                    self.worked.cut += 1;
                    plan = run.plan.without(&[cut]);
                }
                None => {
                    self.worked.transactions_have_cycle |= transactions_have_cycle(&graph);
                    return self.serial(&run, &graph);
                }
            }
        }
    }

    /// What the server said of itself on the way. A connection that was lost has ended the case, and is told there.
    fn look_at_failures(&mut self, plan: &Plan, failures: Vec<(Turn, Failure)>, given_up: bool) {
        for (turn, failure) in failures {
            let told_later = given_up && failure.after == After::Lost;
            if let (false, Some(complaint)) = (told_later, complaint(&failure)) {
                let at = statement_of(turn);
                let suspect = Suspect::Words { at, complaint, failure: failure.clone() };
                self.worked.suspects.push((suspect, plan.clone()));
            }
            self.worked.failures.push((turn, failure));
        }
    }

    /// What can be said at once of a run.
    fn look_at(&mut self, run: &SettledRun) {
        self.worked.runs += run.tries;
        self.worked.statements += run.statements;
        if self.effort.oracles.predicate {
            let found = differences(self.case, &run.plan, &run.observation, self.policy);
            let found = found.into_iter().map(|d| (Suspect::Predicate(d), run.plan.clone()));
            self.worked.suspects.extend(found);
        }
        if self.effort.oracles.isolation && self.worked.history.is_none() {
            let history = history(self.case, run).ok();
            self.worked.history = history.map(|history| (history, run.plan.clone()));
        }
    }

    fn look_for_early_reads(&mut self, run: &SettledRun, versions: &Versions) {
        if self.effort.oracles.isolation {
            let found = early_reads(self.case, &run.plan, &run.observation, versions);
            let found = found.into_iter().map(|early| (Suspect::Early(early), run.plan.clone()));
            self.worked.suspects.extend(found);
        }
    }

    fn serial(&mut self, run: &SettledRun, graph: &StatementGraph) -> Result<Vec<At>, GivenUp> {
        if !self.effort.oracles.serial {
            return Ok(Vec::new());
        }
        for _ in 0..self.effort.orders {
            let Some(order) = sorted(graph, &mut *self.choose) else { break };
            let compared = compare(self.runner, self.case, run, &order);
            self.worked.serial_cases += 1;
            if let Some(difference) = compared.map_err(|failure| GivenUp::Lost(None, failure))? {
                self.worked.suspects.push((Suspect::Serial(difference), run.plan.clone()));
                break;
            }
        }
        self.worked.reached += graph.nodes.len();
        Ok(graph.nodes.clone())
    }
}
