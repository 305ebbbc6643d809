//! What works on cases, one after another.

use anyhow::{Context as _, Result, bail};
use isolde_check::{Checker, Options};
use isolde_history::{ErrorClass, History};
use isolde_spec::Verdict;
use isolde_sql::case::Case;
use isolde_sql::plan::Plan;
use isolde_sql::policy::Policy;
use isolde_sql::runner::{Runner, Spent};
use isolde_sql::settle::GivenUp;
use isolde_sql::signature::signature;
use isolde_sql::work::{Suspect, Worked, work};
use isolde_target::{Consoles, Failure, Mishap, Offer, Target};
use isolde_workload::Random;

use super::found::{Found, What, isolation_signature, promise};
use super::plan::FuzzPlan;
use super::tally::{FuzzTally, GaveUp};

/// What came of a case.
pub(super) struct Done {
    pub(super) tally: FuzzTally,
    pub(super) found: Vec<Found>,
}

/// What works on cases.
pub(super) struct Worker<'w> {
    pub(super) target: &'w dyn Target,
    pub(super) consoles: &'w dyn Consoles,
    pub(super) offer: Offer,
    pub(super) policy: Policy,
    pub(super) plan: &'w FuzzPlan,
    pub(super) runner: Option<Runner<'w>>,
}

impl<'w> Worker<'w> {
    /// Works on a case; fails only if the server cannot be had any more.
    pub(super) fn work(&mut self, number: u64, case: &Case) -> Result<Done> {
        let mut runner = match self.runner.take() {
            Some(runner) => runner,
            None => self.open()?,
        };
        runner.spent = Spent::default();
        let mut random = Random::stream(self.plan.seed, number);
        let effort = &self.plan.effort;
        let mut choose = |count: usize| random.below(count.max(1) as u64) as usize;
        let worked = work(&mut runner, case, &self.policy, effort, &mut choose);
        let mut tally = tally(case, &worked, &self.policy);
        tally.spend(runner.spent);
        let in_trouble = matches!(
            worked.given_up,
            Some(GivenUp::Lost(..) | GivenUp::NoSetup(_) | GivenUp::Silent(_))
        );
        // Nothing of a server that is in trouble is used again.
        if !in_trouble || runner.start_afresh().is_ok() {
            self.runner = Some(runner);
        }
        let found = self.found(number, case, worked, &mut tally);
        Ok(Done { tally, found })
    }

    /// A room; if the server is gone, it is started again.
    fn open(&self) -> Result<Runner<'w>> {
        let opened = Runner::open(self.consoles, self.offer);
        let Err(failure) = opened else { return Ok(opened?) };
        let nodes = self.target.nodes();
        let Some(node) = nodes.first() else {
            bail!("the server cannot be reached any more: {failure}{}", self.last_words());
        };
        // One that has died is being started again; one that hangs is killed first.
        let killed = |_| node.harm(Mishap::Kill).and_then(|()| node.mend());
        node.mend().or_else(killed).map_err(anyhow::Error::msg)?;
        Runner::open(self.consoles, self.offer).context("the server was started again")
    }

    fn last_words(&self) -> String {
        self.target.last_words().map_or(String::new(), |words| format!("\n  {words}"))
    }

    /// All that is not as it has to be.
    fn found(&self, number: u64, case: &Case, worked: Worked, tally: &mut FuzzTally) -> Vec<Found> {
        let found_at = |plan: Plan, what: What, signature: String, documented: bool| {
            let case = case.clone();
            Found { number, case, plan, what, signature, times: 1, documented, folder: None }
        };
        let mut found = Vec::new();
        for (suspect, plan) in worked.suspects {
            let signature = signature(case, &suspect);
            let documented = matches!(&suspect, Suspect::Predicate(p) if p.documented);
            tally.documented += u64::from(documented);
            found.push(found_at(plan, What::Sql(suspect), signature, documented));
        }
        if let Some((history, plan)) = worked.history {
            tally.histories += 1;
            let verdict = self.judge(&history);
            if verdict.holds() == Some(false) {
                let signature = isolation_signature(&verdict);
                let what = What::Isolation(Box::new((history, verdict)));
                found.push(found_at(plan, what, signature, false));
            }
        }
        found
    }

    /// What the level that the server promises says of a history.
    fn judge(&self, history: &History) -> Verdict {
        Checker::new(history, Options::default()).check(promise(self.offer))
    }
}

/// The counts of one case.
fn tally(case: &Case, worked: &Worked, policy: &Policy) -> FuzzTally {
    // What fails because it would have to wait is sent again later, as what waits is.
    let waits =
        |failure: &Failure| policy.fails_when_busy && failure.class == ErrorClass::LockTimeout;
    let failures = || worked.failures.iter().filter(|(_, failure)| !waits(failure));
    let mut tally = FuzzTally {
        cases: 1,
        reached: u64::from(worked.reached > 0),
        with_transaction_cycle: u64::from(worked.transactions_have_cycle),
        judged: u64::from(worked.reached > 0 || worked.history.is_some()),
        statements: worked.statements as u64,
        failed: failures().count() as u64,
        own_statements: worked.own_statements as u64,
        compared: worked.reached as u64,
        cut: worked.cut as u64,
        runs: worked.runs as u64,
        transactions: (worked.runs * case.transactions.len()) as u64,
        serial_cases: worked.serial_cases as u64,
        ..FuzzTally::default()
    };
    for (_, failure) in failures() {
        *tally.failures.entry(failure.code.clone()).or_default() += 1;
    }
    let given_up = match &worked.given_up {
        None => None,
        Some(GivenUp::NeverSettled) => Some(GaveUp::NeverSettled),
        Some(GivenUp::Silent(_)) => Some(GaveUp::Silent),
        Some(GivenUp::Lost(..)) => Some(GaveUp::Lost),
        Some(GivenUp::NoSetup(_)) => Some(GaveUp::NoSetup),
    };
    tally.given_up.extend(given_up.map(|why| (why, 1)));
    tally
}
