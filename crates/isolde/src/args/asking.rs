//! How a history is checked: the same for every command that does.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use isolde_check::{Limits, Method, Options};
use isolde_job::{Asking, Bounds, IntervalQuestion, Stop, USUAL_SHARE, quoted};
use isolde_spec::By;
use serde_json::{Value, json};

use super::ReadArgs;
use crate::typed::{duration, percent, skew};

/// How a history is checked.
#[derive(clap::Args, Debug)]
pub(crate) struct AskArgs {
    /// Do not bind the transactions of a session to their order
    #[arg(long)]
    pub(crate) no_session_order: bool,
    /// How far the clients' clocks may be apart, such as 2ms, or a bare number in the unit of the
    /// history's clock: real time counts only where an end plus this lies before a beginning
    #[arg(long, value_name = "TIME", default_value = "0", allow_negative_numbers = true,
          value_parser = skew)]
    pub(crate) clock_skew: i64,
    /// What to judge by: values, timestamps or snapshots (of the server), intervals (of the clients), or several; a
    /// history without it is refused [default: values, and timestamps or snapshots where every transaction has them]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "EVIDENCE")]
    pub(crate) evidence: Vec<EvidenceName>,
    #[command(flatten)]
    pub(crate) intervals: IntervalArgs,
    /// Force a decision procedure [default: chosen by the evidence]
    #[arg(long, value_enum)]
    pub(crate) procedure: Option<Procedure>,
    /// Keep N witnesses of each anomaly; more are still counted
    #[arg(long, value_name = "N", default_value_t = Options::default().witnesses as u32,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) witnesses: u32,
    /// Look at no more than N dependencies in search of the shortest cycles; beyond that, a
    /// violation is still shown, but perhaps not by the shortest cycle
    #[arg(long, value_name = "N", default_value_t = Options::default().search_budget)]
    pub(crate) search_budget: usize,
    /// Limit a search to N steps: for a linearization (of each object), or for the edges that reads
    /// force; beyond that, the answer is unknown
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps(),
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) order_steps: u64,
    /// Limit the memory of such a search, in megabytes; it is a part of --memory
    #[arg(long, value_name = "MB", default_value_t = (Options::default().order_memory >> 20) as u64,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) order_memory: u64,
    /// How long the check of a history may take, such as 30s or 5m; what is not decided by then is
    /// unknown
    /// [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Take less memory and more time: by timestamps, look at the keys that need a closer look in sixteen
    /// groups, and give memory back after each
    #[arg(long)]
    pub(crate) low_memory: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// In how many groups keys are looked at to save memory.
const KEY_GROUPS: usize = 16;

/// What to judge by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EvidenceName {
    /// What was written and read: some order of the transactions has to explain it
    Values,
    /// When the server says that transactions started and committed: they have to see exactly what that
    /// says (snapshot-isolation; serializable where commit order is the serial order)
    Timestamps,
    /// Which transactions the server says that each snapshot shows: they have to see exactly those
    /// (snapshot-isolation; read-committed where each statement has a snapshot)
    Snapshots,
    /// When clients sent each statement and had its answer: only what the mechanisms of the server (--profile) can have
    /// made of that may be seen
    Intervals,
}

/// How a history is judged by client intervals.
#[derive(clap::Args, Debug)]
pub(crate) struct IntervalArgs {
    /// With --evidence intervals: how the server works, as SERVER/LEVEL (postgresql/repeatable-read) or a file
    /// (docs/profiles.md) [default: as the history's header says; with --level, as that of its levels that promises it]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// With --evidence intervals: which share of all dependencies has to be decided, so that finding nothing
    /// counts (exit code 0, else 3), such as 0.9 or 90%
    #[arg(long, value_name = "SHARE", default_value = "90%", value_parser = percent)]
    pub(crate) decided: f64,
}

impl IntervalArgs {
    /// What is asked.
    pub(crate) fn question(&self) -> Result<IntervalQuestion> {
        let profile = self.profile.as_deref().map(isolde_job::profile).transpose()?;
        Ok(IntervalQuestion { profile, share: self.decided })
    }

    /// What must be typed to ask the same again.
    pub(crate) fn typed(&self) -> Vec<String> {
        let profile = self.profile.as_ref().map(|name| format!("--profile {}", quoted(name)));
        let usual = self.decided == USUAL_SHARE;
        let decided = (!usual).then(|| format!("--decided {}", self.decided));
        profile.into_iter().chain(decided).collect()
    }
}

impl From<EvidenceName> for By {
    fn from(evidence: EvidenceName) -> By {
        match evidence {
            EvidenceName::Values => By::Values,
            EvidenceName::Timestamps => By::Timestamps,
            EvidenceName::Snapshots => By::Snapshots,
            EvidenceName::Intervals => By::Intervals,
        }
    }
}

/// How to decide.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Procedure {
    /// Known dependencies only: fast, and unknown where the version order is not known
    Graph,
    /// Known dependencies, those that every explanation must have, and a search for a serial execution
    Saturation,
}

impl From<Procedure> for Method {
    fn from(procedure: Procedure) -> Method {
        match procedure {
            Procedure::Graph => Method::Graph,
            Procedure::Saturation => Method::Saturation,
        }
    }
}

impl AskArgs {
    /// How levels are asked. The time begins to run now.
    pub(crate) fn asking(&self, stop: &Stop) -> Result<Asking> {
        ensure!(
            self.intervals.profile.is_none() || self.evidence.contains(&EvidenceName::Intervals),
            "--profile says how a server works, which matters with --evidence intervals only"
        );
        Ok(Asking {
            options: self.options(),
            session_order: !self.no_session_order,
            evidence: self.evidence(),
            intervals: self.intervals.question()?,
            bounds: Bounds::new(self.timeout, self.read.memory, Some(self.order_steps), stop),
            typed: self.typed_options(),
        })
    }

    fn evidence(&self) -> Vec<By> {
        self.evidence.iter().map(|evidence| By::from(*evidence)).collect()
    }

    /// For the checker.
    pub(crate) fn options(&self) -> Options {
        Options {
            clock_skew: self.clock_skew,
            witnesses: self.witnesses as usize,
            search_budget: self.search_budget,
            procedure: self.procedure.map(Method::from),
            order_memory: usize::try_from(self.order_memory << 20).unwrap_or(usize::MAX),
            key_groups: if self.low_memory { KEY_GROUPS } else { 1 },
            ..Options::default()
        }
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        let options = self.options();
        json!({
            "session_order": !self.no_session_order,
            "evidence": self.evidence().iter().map(|by| by.name()).collect::<Vec<_>>(),
            "clock_skew": options.clock_skew,
            "procedure": options.procedure.map(Method::name),
            "witnesses": options.witnesses,
            "search_budget": options.search_budget,
            "order_steps": self.order_steps,
            "order_memory": options.order_memory,
            "timeout": self.timeout.map(|timeout| timeout.as_secs_f64()),
            "memory": self.read.memory,
            "initial": self.read.initial,
            "facts": self.read.facts.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(),
            "max_input": self.read.max_input,
            "low_memory": self.low_memory,
            "profile": self.intervals.profile,
            "decided": self.intervals.decided,
        })
    }

    /// What must be typed to ask the same of the same file again.
    pub(crate) fn typed(&self) -> String {
        self.typed_options() + &self.read.typed()
    }

    /// The same for another file: everything that is not as usual.
    fn typed_options(&self) -> String {
        let usual = Options::default();
        let mut words = Vec::new();
        let mut say = |unusual: bool, word: String| words.extend(unusual.then_some(word));
        say(self.no_session_order, "--no-session-order".to_owned());
        say(self.clock_skew != 0, format!("--clock-skew {}", self.clock_skew));
        say(self.low_memory, "--low-memory".to_owned());
        let evidence: Vec<&str> = self.evidence().iter().map(|by| by.name()).collect();
        say(!evidence.is_empty(), format!("--evidence {}", evidence.join(",")));
        self.intervals.typed().into_iter().for_each(|word| say(true, word));
        if let Some(procedure) = self.procedure {
            say(true, format!("--procedure {}", Method::from(procedure).name()));
        }
        say(self.witnesses as usize != usual.witnesses, format!("--witnesses {}", self.witnesses));
        let budget = self.search_budget;
        say(budget != usual.search_budget, format!("--search-budget {budget}"));
        let steps = self.order_steps;
        say(steps != Limits::default().steps(), format!("--order-steps {steps}"));
        let memory = self.order_memory;
        say(memory != (usual.order_memory >> 20) as u64, format!("--order-memory {memory}"));
        if let Some(timeout) = self.timeout {
            say(true, format!("--timeout {}ms", timeout.as_millis()));
        }
        if let Some(memory) = self.read.memory {
            say(true, format!("--memory {memory}"));
        }
        words.iter().map(|word| format!(" {word}")).collect()
    }
}
