//! What a job shall do, before anything is opened.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use isolde_run::{Fault, Limits, Options, PathChoice};
use isolde_spec::{Anomaly, Level};
use isolde_target::{OpenOptions, Path, Show};
use isolde_workload::{Distribution, Kind, Settings};

use crate::command_line::CommandLine;
use crate::mirrored::IntervalQuestion;

/// How many transactions a run has if nothing else limits it.
const DEFAULT_TXNS: u64 = 20_000;
/// How long it takes if nothing limits it and something goes wrong on purpose.
const DEFAULT_DURATION: Duration = Duration::from_secs(20);
/// How long a server may take to come back after a fault.
const RECOVERY: Duration = Duration::from_secs(60);

/// A run on a database.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The database: a name or a URL.
    pub target: String,
    /// A file whose first line is the password for a server of the user's.
    pub password_file: Option<PathBuf>,
    /// The database's own isolation level; else the weakest that promises what is to be checked.
    pub isolation: Option<String>,
    /// What transactions do.
    pub workload: WorkloadPlan,
    /// How long, how fast, by which ways.
    pub driving: Driving,
    /// What goes wrong with servers and connections.
    pub faults: Vec<Fault>,
    /// Anomalies to plant in the engine that is faulty on purpose.
    pub planted: Vec<Anomaly>,
    /// What the server shall show beside its answers.
    pub show: Option<Show>,
    /// The throwaway server, if there is one.
    pub server: ServerPlan,
    /// What was typed to have this done, if anything was.
    pub command: Option<CommandLine>,
}

/// What transactions do.
#[derive(Clone, Debug)]
pub struct WorkloadPlan {
    /// Which workload.
    pub kind: Kind,
    /// How many sessions run at the same time.
    pub sessions: u32,
    /// How many rows there are, if not as many as usual.
    pub keys: Option<u32>,
    /// How often each row is touched, if not as usual.
    pub distribution: Option<Distribution>,
    /// How many operations a transaction has at most, if not as many as usual.
    pub max_txn_len: Option<u32>,
    /// Which share of the operations reads, if not half of them (mix only).
    pub reads: Option<f64>,
    /// The anomaly whose shapes and contention are favoured.
    pub favour: Option<Anomaly>,
    /// Which share of the transactions the client rolls back on purpose.
    pub rollbacks: f64,
    /// After how many transactions of a session it goes on to a fresh table; 0: as it fits the workload.
    pub round: u32,
    /// What all random choices follow from; by chance if not given.
    pub seed: Option<u64>,
}

/// How long, how fast, by which ways.
#[derive(Clone, Debug)]
pub struct Driving {
    /// Stop after so many transactions.
    pub txns: Option<u64>,
    /// Stop after so many commits.
    pub commits: Option<u64>,
    /// Stop after so much time.
    pub duration: Option<Duration>,
    /// How many transactions to start a second, over all sessions.
    pub rate: Option<f64>,
    /// How often an aborted transaction is tried again.
    pub retries: u32,
    /// How long one statement of a server may take.
    pub timeout: Duration,
    /// The ways by which rows are reached; all that the database has if none is named.
    pub paths: Vec<Path>,
    /// Whether to record when each statement was sent and answered.
    pub statement_times: bool,
}

/// A throwaway server.
#[derive(Clone, Debug, Default)]
pub struct ServerPlan {
    /// The folder of the server's programs.
    pub server_bin: Option<PathBuf>,
    /// Its port.
    pub port: Option<u16>,
    /// Settings in its own words.
    pub settings: Vec<(String, String)>,
    /// Whether it stays when the job is over.
    pub keep: bool,
}

impl RunPlan {
    /// A run on that database, with everything as usual.
    pub fn on(target: &str) -> RunPlan {
        RunPlan {
            target: target.to_owned(),
            password_file: None,
            isolation: None,
            workload: WorkloadPlan {
                kind: Kind::Mini,
                sessions: 8,
                keys: None,
                distribution: None,
                max_txn_len: None,
                reads: None,
                favour: None,
                rollbacks: 0.0,
                round: 0,
                seed: None,
            },
            driving: Driving {
                txns: None,
                commits: None,
                duration: None,
                rate: None,
                retries: 0,
                timeout: Duration::from_secs(10),
                paths: Vec::new(),
                statement_times: true,
            },
            faults: Vec::new(),
            planted: Vec::new(),
            show: None,
            server: ServerPlan::default(),
            command: None,
        }
    }

    /// The workload, with a seed.
    pub(crate) fn settings(&self) -> Settings {
        let w = &self.workload;
        let usual = Settings::new(w.kind);
        Settings {
            kind: w.kind,
            keys: w.keys.unwrap_or(match w.kind {
                // Few rows, so that transactions meet; fewer where tables are fresh again and again.
                Kind::Mini | Kind::General | Kind::Register => 50,
                Kind::Append => 20,
                Kind::Cas => 5,
                // These are described by others, with the number of their rows.
                Kind::Mix | Kind::Twitter | Kind::Rubis | Kind::Tpcc => usual.keys,
            }),
            distribution: w.distribution.unwrap_or(match w.kind {
                Kind::Mix | Kind::Twitter | Kind::Tpcc => usual.distribution,
                _ => Distribution::Exponential,
            }),
            max_txn_len: w.max_txn_len.unwrap_or(usual.max_txn_len),
            reads: w.reads,
            sessions: w.sessions,
            favour: w.favour.or_else(|| self.shown()),
            rollbacks: w.rollbacks,
            round: w.round,
            seed: w.seed.unwrap_or_else(random_seed),
        }
    }

    /// What is favoured if the user does not say: a planted anomaly shows where its shapes meet.
    fn shown(&self) -> Option<Anomaly> {
        let first = self.planted.first().copied().filter(|_| self.workload.kind == Kind::Mini);
        first.filter(|anomaly| isolde_workload::favoured().any(|other| other == *anomaly))
    }

    pub(crate) fn options(&self) -> Result<Options> {
        let d = &self.driving;
        if !self.planted.is_empty() && self.workload.kind != Kind::Mini {
            bail!("anomalies are planted among mini-transactions\n  hint: leave out --workload");
        }
        if d.rate.is_some_and(|rate| !(0.001..=1e9).contains(&rate)) {
            bail!("the rate is a number of transactions a second, from 0.001 on");
        }
        let limited = d.txns.is_some() || d.commits.is_some() || d.duration.is_some();
        // Faults take their time; so many transactions may be over before the first one.
        let timed = !limited && !self.faults.is_empty();
        let txns = d.txns.or_else(|| (!limited && !timed).then_some(DEFAULT_TXNS));
        let longest = self.faults.iter().map(|f| f.lasts).filter(|time| *time < Duration::MAX);
        let away = longest.max().map_or(Duration::ZERO, |time| time + RECOVERY);
        let patience = Options::default().patience + away;
        let paths = d.paths.clone();
        Ok(Options {
            limits: Limits {
                txns,
                commits: d.commits,
                duration: d.duration.or_else(|| timed.then_some(DEFAULT_DURATION)),
            },
            rate: d.rate,
            retries: d.retries,
            paths: if paths.is_empty() { PathChoice::Random } else { PathChoice::Only(paths) },
            statement_times: d.statement_times,
            patience,
            // Statements of servers end before that; it is engines in this process that can hang.
            hang_after: d.timeout * 2 + Duration::from_secs(10) + patience,
            faults: self.faults.clone(),
            ..Options::default()
        })
    }

    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions {
            server_bin: self.server.server_bin.clone(),
            port: self.server.port,
            keep: self.server.keep,
            timeout: self.driving.timeout,
            // A server that is killed shall keep what it has acknowledged: else we would find what we
            // have asked for.
            durable: self.faults.iter().any(Fault::kills),
            settings: self.server.settings.clone(),
            apart: self.faults.iter().any(Fault::needs_networks),
            relayed: self.faults.iter().any(Fault::needs_relay),
            sessions: self.workload.sessions,
            password_file: self.password_file.clone(),
            planted: self.planted.clone(),
            show: self.show,
        }
    }
}

/// A seed that people can type, by chance.
pub fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Every `RandomState` has other keys: two jobs that begin at the same time have two seeds.
    RandomState::new().hash_one(std::time::SystemTime::now()) >> 32
}

/// Runs that are checked.
#[derive(Clone, Debug)]
pub struct TestPlan {
    /// Each run.
    pub run: RunPlan,
    /// What to check; what the database's own level promises if none is named.
    pub levels: Vec<Level>,
    /// How many runs.
    pub often: Often,
    /// How long the check of a run may take.
    pub check_timeout: Option<Duration>,
    /// How much memory the check of a run may take; half of the machine's if not given.
    pub check_memory: Option<u64>,
    /// Where histories and reports of runs that found something are kept.
    pub folder: PathBuf,
    /// Whether to keep the history of every run.
    pub keep_all: bool,
    /// Whether the text of a report shows every witness that was kept.
    pub all_witnesses: bool,
    /// Whether runs are checked while they go on, and how.
    pub online: Option<OnlinePlan>,
    /// Whether runs are judged by client intervals alone, and how.
    pub intervals: Option<IntervalQuestion>,
}

/// Runs that are checked while they go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OnlinePlan {
    /// Whether the first violation ends the run.
    pub stop: bool,
}

impl TestPlan {
    /// One run, checked for what the database promises.
    pub fn of(run: RunPlan) -> TestPlan {
        TestPlan {
            run,
            levels: Vec::new(),
            often: Often::default(),
            check_timeout: None,
            check_memory: None,
            folder: PathBuf::from("isolde-runs"),
            keep_all: false,
            all_witnesses: false,
            online: None,
            intervals: None,
        }
    }
}

/// How many runs, with one seed after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Often {
    /// So many at most.
    pub most: u64,
    /// Whether the first violation ends it.
    pub until_found: bool,
    /// No other run begins after so much time.
    pub budget: Option<Duration>,
}

impl Default for Often {
    fn default() -> Often {
        Often { most: 1, until_found: true, budget: None }
    }
}
