//! What `test` and `record` have in common: a target, a workload, one run.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::{JsonlWriter, NativeWriter, OpKind, info};
use isolde_run::{Controls, Fault, Limits, Options, PathChoice, Progress, Ran, RunError, Tape};
use isolde_spec::{Anomaly, Level};
use isolde_target::{Offer, OpenOptions, Target};
use isolde_workload::{Kind, Settings, Workload};
use serde_json::{Value, json};

use crate::args::RunArgs;
use crate::exit::EXIT_FAULT;
use crate::typed::Wrong;
use crate::{interrupt, load, ran, shell};

/// How many transactions a run has if nothing else limits it.
const DEFAULT_TXNS: u64 = 20_000;

/// How long it takes if nothing limits it and something goes wrong on purpose.
const DEFAULT_DURATION: Duration = Duration::from_secs(20);
/// How long a server may take to come back after a fault.
const RECOVERY: Duration = Duration::from_secs(60);

/// A database and how to run on it.
pub(crate) struct Stage {
    pub(crate) target: Box<dyn Target>,
    pub(crate) offer: Offer,
    options: Options,
    settings: Settings,
    /// How long no transaction may end before the database is said to hang.
    patience: Duration,
    /// The number of the next run's first table.
    next_table: AtomicU32,
}

impl Stage {
    /// Opens the target; the levels are what the caller wants to check.
    pub(crate) fn open(args: &RunArgs, levels: &[Level]) -> Result<Stage> {
        let options = options(args)?;
        let settings = settings(args);
        // What is wrong with the workload is said before a server is started.
        workload(settings.clone())?;
        let opening = load::progress(&format!("opening {}", args.target));
        let open = OpenOptions {
            server_bin: args.server.server_bin.clone(),
            port: args.server.port,
            keep: args.server.keep,
            timeout: args.driving.timeout,
            // A server that is killed shall keep what it has acknowledged: else we would find what we
            // have asked for.
            durable: options.faults.iter().any(Fault::kills),
            settings: args.server.setting.clone(),
            apart: options.faults.iter().any(Fault::needs_networks),
            relayed: options.faults.iter().any(Fault::needs_relay),
            planted: planted(args),
        };
        let target = isolde_target::open(&args.target, &open)?;
        opening.finish_and_clear();
        if let Some(server) = target.throwaway().filter(|server| server.kept) {
            let folder = server.folder.display();
            // One that is killed comes back as another process.
            let pid = server.pid.filter(|_| options.faults.is_empty());
            let pid = pid.map_or(String::new(), |pid| format!(", its process is {pid}"));
            anstream::eprintln!("the server stays at {}, its data in {folder}{pid}", server.url);
        }
        can_do(&*target, settings.kind)?;
        can_reach(&*target, &args.driving.path)?;
        let server = &args.server;
        if target.throwaway().is_none()
            && (server.keep
                || server.port.is_some()
                || server.server_bin.is_some()
                || !server.setting.is_empty())
        {
            bail!(
                "--keep, --port, --server-bin and --setting are for throwaway servers, and this is \
                 none"
            );
        }
        let offer = *choose(&*target, args.isolation.as_deref(), levels)?;
        // Statements of servers end before that; it is engines in this process that can hang.
        let patience = args.driving.timeout * 2 + Duration::from_secs(10) + options.patience;
        Ok(Stage { target, offer, options, settings, patience, next_table: AtomicU32::new(0) })
    }

    /// The seed of the first run.
    pub(crate) fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// One run, recorded in a file of its own. Where it never began there is no file.
    pub(crate) fn run(&self, seed: u64, file: &Path) -> Result<Ran> {
        let workload = workload(Settings { seed, ..self.settings.clone() })?;
        let named = || format!("cannot write {}", file.display());
        let out = File::create(file).with_context(named)?;
        let ran = if file.extension().is_some_and(|e| e == "jsonl") {
            let mut tape = JsonlWriter::new(BufWriter::new(out));
            self.play(&workload, &mut tape, file).map(|ran| (ran, tape.finish().map(drop)))
        } else {
            let mut tape = NativeWriter::new(out).with_context(named)?;
            self.play(&workload, &mut tape, file).map(|ran| (ran, tape.finish().map(drop)))
        };
        // A record that could not be written gets no end: readers shall see that it is torn.
        match ran {
            Ok((ran, Ok(()))) => Ok(ran),
            Ok((_, Err(error))) => Err(anyhow!(error)).with_context(named),
            Err(error @ RunError::Record { .. }) => bail!(
                "{}: {error}\n  hint: what was saved before can be checked: isolde check {}",
                named(),
                file.display()
            ),
            Err(error) => {
                let _ = std::fs::remove_file(file);
                Err(explain(&*self.target, &error))
            }
        }
    }

    fn play(&self, workload: &Workload, tape: &mut dyn Tape, file: &Path) -> Result<Ran, RunError> {
        self.describe(workload, tape);
        let bar = ran::bar(&self.options.limits);
        let mut watch = |progress: &Progress| {
            ran::show(&bar, &self.options.limits, progress);
            if progress.silence >= self.patience {
                give_up(progress.silence, file);
            }
        };
        let mut controls = Controls { stop: &interrupt::STOP, watch: &mut watch };
        let first_table = self.next_table.load(Ordering::Relaxed);
        let options = Options { first_table, ..self.options.clone() };
        let target = &*self.target;
        let ran = isolde_run::run(target, &self.offer, workload, &options, tape, &mut controls);
        bar.finish_and_clear();
        let tables = ran.as_ref().map_or(1, |ran| ran.tables);
        self.next_table.fetch_add(tables, Ordering::Relaxed);
        ran
    }

    /// Writes into the record what ran where.
    fn describe(&self, workload: &Workload, tape: &mut dyn Tape) {
        let pool = tape.pool();
        let settings = workload.settings();
        let mut facts = vec![
            (info::SERVER.to_owned(), pool.text(self.target.name())),
            (info::VERSION.to_owned(), pool.text(self.target.version())),
            (info::LEVEL.to_owned(), pool.text(self.offer.name)),
            ("promises".to_owned(), pool.text(self.offer.promises.name())),
            (
                info::SEED.to_owned(),
                match i64::try_from(settings.seed) {
                    Ok(seed) => pool.int(seed),
                    Err(_) => pool.text(&settings.seed.to_string()),
                },
            ),
            ("command".to_owned(), pool.text(&command_line(None))),
        ];
        for (name, fact) in self.target.facts() {
            facts.push((name, pool.text(&fact)));
        }
        let row: Vec<_> = parameters(settings)
            .iter()
            .map(|(name, value)| (pool.text(name), pool.text(value)))
            .collect();
        facts.push((info::PARAMETERS.to_owned(), pool.row(&row)));
        if !self.options.faults.is_empty() {
            facts.push(("faults".to_owned(), pool.text(&self.faults())));
        }
        for (name, value) in facts {
            let name = tape.pool().text(&name);
            tape.meta().set(name, value);
        }
    }

    /// Removes the tables, unless the server stays for somebody to look at them.
    pub(crate) fn clean(&self) {
        if self.target.throwaway().is_some_and(|server| server.kept) {
            return;
        }
        if let Err(failure) = self.target.clean() {
            let label = load::WARNING.label("warning");
            anstream::eprintln!("{label}: tables of this run may be left behind: {failure}");
        }
    }

    /// One line that says where it ran.
    pub(crate) fn place(&self) -> String {
        let (name, version) = (self.target.name(), self.target.version());
        let (offer, promises) = (self.offer.name, self.offer.promises);
        format!("{name} {version}, {offer} (promises {promises})")
    }

    /// Whether something goes wrong on purpose.
    pub(crate) fn has_faults(&self) -> bool {
        !self.options.faults.is_empty()
    }

    /// What goes wrong on purpose, as it can be typed.
    fn faults(&self) -> String {
        let faults: Vec<String> = self.options.faults.iter().map(ToString::to_string).collect();
        faults.join(",")
    }

    /// One line that says what ran.
    pub(crate) fn workload(&self, seed: u64) -> String {
        let settings = Settings { seed, ..self.settings.clone() };
        let parameters = parameters(&settings);
        let words = parameters.iter().map(|(name, value)| match *name {
            "workload" => value.clone(),
            _ => format!("{name} {value}"),
        });
        let words: Vec<String> = words.collect();
        words.join(", ")
    }

    /// The same for machines.
    pub(crate) fn to_json(&self, seed: u64) -> Value {
        let settings = Settings { seed, ..self.settings.clone() };
        let workload: serde_json::Map<String, Value> =
            parameters(&settings).into_iter().map(|(n, v)| (n.to_owned(), json!(v))).collect();
        let facts: serde_json::Map<String, Value> =
            self.target.facts().into_iter().map(|(n, v)| (n, json!(v))).collect();
        json!({
            "target": {
                "name": self.target.name(),
                "version": self.target.version(),
                "isolation": self.offer.name,
                "promises": self.offer.promises.name(),
                "facts": facts,
            },
            "workload": workload,
            "seed": seed,
            "command": command_line(None),
        })
    }
}

/// What was typed, without passwords; with another seed, if one is given.
pub(crate) fn command_line(seed: Option<u64>) -> String {
    let mut words = vec!["isolde".to_owned()];
    let mut typed = std::env::args().skip(1);
    while let Some(word) = typed.next() {
        if seed.is_some() && word == "--seed" {
            typed.next();
        } else if seed.is_none() || !word.starts_with("--seed=") {
            words.push(shell::quoted(&without_password(&word)));
        }
    }
    words.extend(seed.map(|seed| format!("--seed {seed}")));
    words.join(" ")
}

/// A URL whose password nobody shall read.
fn without_password(word: &str) -> String {
    let parts = word.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{host}"))
    });
    parts.unwrap_or_else(|| word.to_owned())
}

fn parameters(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("workload", settings.kind.name().to_owned()),
        ("sessions", settings.sessions.to_string()),
        ("keys", settings.keys.to_string()),
        ("distribution", settings.distribution.to_string()),
        ("max-txn-len", settings.max_txn_len.to_string()),
    ];
    if let Some(anomaly) = settings.favour {
        all.push(("favour", anomaly.to_string()));
    }
    if settings.rollbacks > 0.0 {
        all.push(("rollbacks", settings.rollbacks.to_string()));
    }
    if settings.round > 0 {
        all.push(("round", settings.round.to_string()));
    }
    all.push(("seed", settings.seed.to_string()));
    all
}

fn workload(settings: Settings) -> Result<Workload> {
    Workload::new(settings).map_err(|problem| anyhow!(problem))
}

fn settings(args: &RunArgs) -> Settings {
    let w = &args.workload;
    // A seed that people can type, from the clock and the process.
    let random = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |n| n.as_nanos() as u64);
        isolde_workload::Random::new(nanos ^ (u64::from(std::process::id()) << 40)).bits() >> 32
    };
    Settings {
        kind: w.workload,
        keys: w.keys.unwrap_or(match w.workload {
            // Few rows, so that transactions meet; fewer where tables are fresh again and again.
            Kind::Mini | Kind::General | Kind::Register => 50,
            Kind::Append => 20,
            Kind::Cas => 5,
        }),
        distribution: w.distribution,
        max_txn_len: w.max_txn_len.unwrap_or(Settings::new(w.workload).max_txn_len),
        sessions: w.sessions,
        favour: w.favour.or_else(|| shown(args)),
        rollbacks: w.rollbacks,
        round: w.round,
        seed: w.seed.unwrap_or_else(random),
    }
}

/// What is favoured if nobody says: a planted anomaly shows where its shapes meet.
fn shown(args: &RunArgs) -> Option<Anomaly> {
    let first = planted(args).first().copied().filter(|_| args.workload.workload == Kind::Mini);
    first.filter(|anomaly| isolde_workload::favoured().any(|other| other == *anomaly))
}

fn options(args: &RunArgs) -> Result<Options> {
    let d = &args.driving;
    if !planted(args).is_empty() && args.workload.workload != Kind::Mini {
        bail!("anomalies are planted among mini-transactions\n  hint: leave out --workload");
    }
    if d.rate.is_some_and(|rate| !(0.001..=1e9).contains(&rate)) {
        bail!("the rate is a number of transactions a second, from 0.001 on");
    }
    let faults = faults(args);
    let limited = d.txns.is_some() || d.commits.is_some() || d.duration.is_some();
    // Faults take their time; so many transactions may be over before the first one.
    let timed = !limited && !faults.is_empty();
    let txns = d.txns.or_else(|| (!limited && !timed).then_some(DEFAULT_TXNS));
    let longest = faults.iter().map(|f| f.lasts).filter(|time| *time < Duration::MAX).max();
    let paths = d.path.clone();
    Ok(Options {
        limits: Limits {
            txns,
            commits: d.commits,
            duration: d.duration.or_else(|| timed.then_some(DEFAULT_DURATION)),
        },
        rate: d.rate,
        retries: d.retries,
        paths: if paths.is_empty() { PathChoice::Random } else { PathChoice::Only(paths) },
        statement_times: !d.no_statement_times,
        patience: Options::default().patience + longest.map_or(Duration::ZERO, |t| t + RECOVERY),
        faults,
        ..Options::default()
    })
}

/// What goes wrong with servers and connections.
fn faults(args: &RunArgs) -> Vec<Fault> {
    let fault = |wrong: &Wrong| match wrong {
        Wrong::Fault(fault) => Some(fault.clone()),
        Wrong::Planted(_) => None,
    };
    args.fault.iter().filter_map(fault).collect()
}

/// The anomalies to plant.
fn planted(args: &RunArgs) -> Vec<Anomaly> {
    let anomaly = |wrong: &Wrong| match wrong {
        Wrong::Planted(anomaly) => Some(*anomaly),
        Wrong::Fault(_) => None,
    };
    args.fault.iter().filter_map(anomaly).collect()
}

/// Refuses workloads that need what the database cannot do. Drivers say what they can.
fn can_do(target: &dyn Target, kind: Kind) -> Result<()> {
    let needed: &[OpKind] = match kind {
        Kind::Mini | Kind::General | Kind::Register => &[OpKind::Read, OpKind::Write],
        Kind::Append => &[OpKind::ListRead, OpKind::Append],
        Kind::Cas => &[OpKind::Read, OpKind::Cas, OpKind::InsertIfAbsent],
    };
    match needed.iter().find(|kind| target.paths(**kind).is_empty()) {
        None => Ok(()),
        Some(missing) => bail!(
            "{} cannot do {missing:?}, which the workload {} needs\n  \
             hint: --workload names another one",
            target.name(),
            kind.name()
        ),
    }
}

/// Refuses access paths that the database does not have.
fn can_reach(target: &dyn Target, paths: &[isolde_target::Path]) -> Result<()> {
    let all: Vec<_> = OpKind::ALL.iter().flat_map(|kind| target.paths(*kind)).collect();
    let offered = |path: &isolde_target::Path| all.iter().any(|(other, _)| other == path);
    match paths.iter().find(|path| !offered(path)) {
        None => Ok(()),
        Some(path) => bail!(
            "{} has no access path {}\n  hint: `isolde targets NAME` lists those it has",
            target.name(),
            path.name()
        ),
    }
}

/// The database's own level: the one that was named, the weakest that promises all that is to be
/// checked, or the strongest there is.
fn choose<'t>(
    target: &'t dyn Target,
    isolation: Option<&str>,
    levels: &[Level],
) -> Result<&'t Offer> {
    let offers = target.offers();
    let names = || offers.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = isolation {
        let plain = |name: &str| name.to_lowercase().replace([' ', '_'], "-");
        return offers.iter().find(|o| o.name == plain(name)).ok_or_else(|| {
            anyhow!("{} has no level '{name}'\n  hint: it has {}", target.name(), names())
        });
    }
    if levels.is_empty() {
        return offers.last().ok_or_else(|| anyhow!("{} offers no level", target.name()));
    }
    Offer::for_levels(offers, levels).ok_or_else(|| {
        let levels: Vec<&str> = levels.iter().map(|l| l.name()).collect();
        anyhow!(
            "{} promises {} at none of its levels\n  hint: --isolation takes one all the same: {}",
            target.name(),
            levels.join(" and "),
            names()
        )
    })
}

/// Ends this process: sessions hang inside the database, and nobody can end their threads. What was
/// recorded is on disk.
fn give_up(silence: Duration, file: &Path) -> ! {
    anstream::eprintln!(
        "{}: the database hangs: no transaction has ended for {}\n  \
         hint: what was recorded can be checked: isolde check {}",
        load::ERROR.label("error"),
        ran::seconds(silence),
        file.display()
    );
    std::process::exit(i32::from(EXIT_FAULT));
}

fn explain(target: &dyn Target, error: &RunError) -> anyhow::Error {
    match target.last_words() {
        Some(words) => anyhow!("{error}\n  the server's last words: {words}"),
        None => anyhow!("{error}"),
    }
}
