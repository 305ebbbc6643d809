//! What was counted.

use std::collections::BTreeMap;
use std::time::Duration;

use isolde_sql::runner::Spent;
use serde_json::{Value, json};

/// Why a case was given up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GaveUp {
    /// It went on changing.
    NeverSettled,
    /// A step was never answered.
    Silent,
    /// The connection was lost.
    Lost,
    /// Its tables could not be made.
    NoSetup,
}

impl GaveUp {
    /// The name in text and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            GaveUp::NeverSettled => "never settled",
            GaveUp::Silent => "no answer",
            GaveUp::Lost => "connection lost",
            GaveUp::NoSetup => "no tables",
        }
    }
}

/// The counts of a run, or of one case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FuzzTally {
    /// Cases that were run.
    pub cases: u64,
    /// Cases of which something reached the serial oracle.
    pub reached: u64,
    /// Of these, cases in which the statements had an order and the transactions had none.
    pub with_transaction_cycle: u64,
    /// Cases of which any oracle could say something.
    pub judged: u64,
    /// Statements of the cases, as often as they were run in transactions.
    pub statements: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Statements of the cases, each once.
    pub own_statements: u64,
    /// Statements that were compared with a serial case.
    pub compared: u64,
    /// Statements that were cut.
    pub cut: u64,
    /// How often cases were run in transactions.
    pub runs: u64,
    /// Transactions that were run.
    pub transactions: u64,
    /// Serial cases.
    pub serial_cases: u64,
    /// Histories whose isolation was judged.
    pub histories: u64,
    /// Differences that the server's makers document.
    pub documented: u64,
    /// Findings, each signature once.
    pub findings: u64,
    /// Cases that were given up, by reason.
    pub given_up: BTreeMap<GaveUp, u64>,
    /// Failures by the server's code.
    pub failures: BTreeMap<String, u64>,
    /// Where the workers' time went.
    pub reset: Duration,
    /// In transactions.
    pub in_transactions: Duration,
    /// In serial cases and in reading tables.
    pub alone: Duration,
}

impl FuzzTally {
    /// Adds another one.
    pub fn add(&mut self, other: &FuzzTally) {
        self.cases += other.cases;
        self.reached += other.reached;
        self.with_transaction_cycle += other.with_transaction_cycle;
        self.judged += other.judged;
        self.statements += other.statements;
        self.failed += other.failed;
        self.own_statements += other.own_statements;
        self.compared += other.compared;
        self.cut += other.cut;
        self.runs += other.runs;
        self.transactions += other.transactions;
        self.serial_cases += other.serial_cases;
        self.histories += other.histories;
        self.documented += other.documented;
        other.given_up.iter().for_each(|(why, n)| *self.given_up.entry(*why).or_default() += n);
        for (code, n) in &other.failures {
            *self.failures.entry(code.clone()).or_default() += n;
        }
        self.reset += other.reset;
        self.in_transactions += other.in_transactions;
        self.alone += other.alone;
    }

    /// Adds where time went.
    pub fn spend(&mut self, spent: Spent) {
        self.reset += spent.reset;
        self.in_transactions += spent.transactions;
        self.alone += spent.alone;
    }

    /// The share of statements that did not fail.
    pub fn share_without_error(&self) -> f64 {
        share(self.statements - self.failed.min(self.statements), self.statements)
    }

    /// The share of cases that reached the serial oracle.
    pub fn share_reached(&self) -> f64 {
        share(self.reached, self.cases)
    }

    /// Everything, for machines.
    pub fn to_json(&self) -> Value {
        let given_up = self.given_up.iter().map(|(why, n)| (why.name().to_owned(), json!(n)));
        json!({
            "cases": self.cases,
            "reached_serial_oracle": self.reached,
            "share_reached": self.share_reached(),
            "with_transaction_cycle": self.with_transaction_cycle,
            "judged": self.judged,
            "statements": self.statements,
            "failed": self.failed,
            "share_without_error": self.share_without_error(),
            "own_statements": self.own_statements,
            "compared": self.compared,
            "cut": self.cut,
            "runs": self.runs,
            "transactions": self.transactions,
            "serial_cases": self.serial_cases,
            "histories": self.histories,
            "documented": self.documented,
            "findings": self.findings,
            "given_up": given_up.collect::<serde_json::Map<_, _>>(),
            "failures": self.failures,
            "seconds": {
                "reset": self.reset.as_secs_f64(),
                "transactions": self.in_transactions.as_secs_f64(),
                "alone": self.alone.as_secs_f64(),
            },
        })
    }
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
