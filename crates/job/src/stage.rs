//! A database that is open, and how to run on it.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::{HistoryBuilder, JsonlWriter, NativeWriter, OpKind, SinkError};
use isolde_run::{Controls, Options, Progress, Ran, RunError, Stuck, Tape, within};
use isolde_spec::Level;
use isolde_target::{Failure, Offer, Show, Target, without_password};
use isolde_workload::{Kind, Settings, Workload};

use crate::command_line::quoted;
use crate::event::{Event, Watch};
use crate::load::{self, Reading};
use crate::mirrored::IntervalQuestion;
use crate::notice::Notice;
use crate::online::{self, Online, OnlineOutcome, OnlinePromise};
use crate::output;
use crate::place::Place;
use crate::plan::{RunPlan, ServerPlan};
use crate::ran;
use crate::shown::shown;
use crate::stop::Stop;

/// How long a database may take to open. Servers have limits of their own, which end before that.
const OPENING: Duration = Duration::from_secs(600);

/// A database and how to run on it.
pub struct Stage {
    target: Arc<dyn Target>,
    place: Place,
    options: Options,
    /// What the server shows beside its answers.
    show: Option<Show>,
    /// The number of the next run's first table.
    next_table: AtomicU32,
    /// Whether sessions hang in the database: then nothing more is asked of it.
    hangs: AtomicBool,
    /// Whether a file that exists is overwritten by a record.
    overwrite: bool,
}

impl Stage {
    /// Opens the database; the levels are what is to be checked.
    pub fn open(plan: &RunPlan, levels: &[Level], watch: Watch<'_>) -> Result<Stage> {
        // What is wrong with the workload is said before a server is started.
        plan.options()?;
        workload(plan.settings())?;
        isolde_run::room_for(plan.workload.sessions)?;
        let shown = without_password(&plan.target);
        watch(&Event::Opening { target: &shown });
        let (name, open) = (plan.target.clone(), plan.open_options());
        let target = match within(OPENING, move || isolde_target::open(&name, &open)) {
            Ok(target) => Arc::from(target?),
            Err(Stuck::Hangs) => bail!("{shown} hangs while it is opened"),
            Err(Stuck::Panicked(text)) => bail!("{shown} cannot be opened: {text}"),
        };
        let stage = Stage::on(target, plan, levels)?;
        watch(&Event::Opened { place: &stage.place });
        Ok(stage)
    }

    /// The same on a database that is open already.
    pub fn on(target: Arc<dyn Target>, plan: &RunPlan, levels: &[Level]) -> Result<Stage> {
        let (options, settings) = (plan.options()?, plan.settings());
        can_do(&*target, settings.kind)?;
        can_reach(&*target, &plan.driving.paths)?;
        let ServerPlan { server_bin, port, settings: of_server, keep } = &plan.server;
        let for_throwaways =
            *keep || port.is_some() || server_bin.is_some() || !of_server.is_empty();
        if for_throwaways && target.throwaway().is_none() {
            bail!(
                "--keep, --port, --server-bin and --setting are for throwaway servers, and this is \
                 none"
            );
        }
        let offer = *choose(&*target, plan.isolation.as_deref(), levels)?;
        let (faults, command) = (options.faults.clone(), plan.command.clone());
        let place = Place { faults, command, ..Place::of(&*target, offer, settings) };
        let (next_table, hangs) = (AtomicU32::new(0), AtomicBool::new(false));
        let show = plan.show;
        Ok(Stage { target, place, options, show, next_table, hangs, overwrite: false })
    }

    /// What a report says of it.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// How long nothing may come back from the database before it is said to hang. The usual time lets every
    /// statement of a server time out first.
    pub fn set_hang_after(&mut self, time: Duration) {
        self.options.hang_after = time;
    }

    /// Whether a record overwrites a file that exists.
    pub fn set_overwrite(&mut self, overwrite: bool) {
        self.overwrite = overwrite;
    }

    /// One run, recorded in a file of its own. Where it never began there is no file.
    pub fn run(&self, seed: u64, file: &Path, stop: &Stop, watch: Watch<'_>) -> Result<Ran> {
        self.run_online(seed, file, None, stop, watch).map(|(ran, _)| ran)
    }

    /// What a run is held to if it is checked while it goes on.
    pub(crate) fn online_promise(
        &self,
        levels: &[Level],
        intervals: Option<&IntervalQuestion>,
    ) -> Result<OnlinePromise> {
        let Some(question) = intervals else {
            let promise = online::promise((&*self.target, self.show), &self.place.offer, levels)?;
            return Ok(promise.into());
        };
        let mut header = HistoryBuilder::new();
        self.place.describe(&workload(self.place.settings.clone())?, &mut header);
        OnlinePromise::by_intervals(question, &header.finish(), levels)
    }

    /// One run, recorded in a file of its own, of which a stream gets all that it needs.
    pub(crate) fn run_online(
        &self,
        seed: u64,
        file: &Path,
        mut online: Option<Online>,
        stop: &Stop,
        watch: Watch<'_>,
    ) -> Result<(Ran, Option<OnlineOutcome>)> {
        let workload = workload(Settings { seed, ..self.place.settings.clone() })?;
        let named = || format!("cannot write {}", shown(file));
        let out = output::create(file, self.overwrite)?;
        let ran = if file.extension().is_some_and(|e| e == "jsonl") {
            let mut tape = JsonlWriter::new(BufWriter::new(out));
            let ran = self.play(&workload, &mut tape, &mut online, stop, watch);
            ran.map(|ran| (ran, tape.finish().map(drop)))
        } else {
            let mut tape = NativeWriter::new(out).with_context(named)?;
            let ran = self.play(&workload, &mut tape, &mut online, stop, watch);
            ran.map(|ran| (ran, tape.finish().map(drop)))
        };
        // A record that could not be written gets no end: readers shall see that it is torn.
        let ran = match ran {
            Ok((ran, Ok(()))) => ran,
            Ok((_, Err(error))) => return Err(anyhow!(error)).with_context(named),
            Err(RunError::Record { error, ran }) => {
                let why = match error {
                    SinkError::Io(why) => why,
                    other => other.to_string(),
                };
                bail!("{}: {why}{}", named(), saved(file, ran.progress.txns))
            }
            Err(error) => {
                let _ = std::fs::remove_file(file);
                return Err(explain(&*self.target, &error));
            }
        };
        let online = online.map(|online| online.end(ran.interrupted, watch)).transpose()?;
        self.tell(&ran, file, watch);
        Ok((ran, online))
    }

    /// Plays the workload; a stream, if there is one, gets what the tape gets.
    fn play(
        &self,
        workload: &Workload,
        tape: &mut dyn Tape,
        online: &mut Option<Online>,
        stop: &Stop,
        watch: Watch<'_>,
    ) -> Result<Ran, RunError> {
        self.place.describe(workload, tape);
        let Some(online) = online else {
            return self.drive(workload, tape, stop.run_flag(), watch);
        };
        let sessions = workload.settings().sessions;
        let (mut fed, halt) = (online.tape(tape, sessions), online.halt());
        let ran = self.drive(workload, &mut fed, &halt, &mut |event| {
            watch(event);
            online.tell(watch);
            if stop.run_ended() {
                halt.store(true, Ordering::SeqCst);
            }
        });
        online.hand_back(fed);
        ran
    }

    fn drive(
        &self,
        workload: &Workload,
        tape: &mut dyn Tape,
        stop: &AtomicBool,
        watch: Watch<'_>,
    ) -> Result<Ran, RunError> {
        let limits = &self.options.limits;
        let mut watch = |progress: &Progress| watch(&Event::Progress { limits, progress });
        let mut controls = Controls { stop, watch: &mut watch };
        let first_table = self.next_table.load(Ordering::Relaxed);
        let options = Options { first_table, ..self.options.clone() };
        let target = &self.target;
        let ran =
            isolde_run::run(target, &self.place.offer, workload, &options, tape, &mut controls);
        let hangs = match &ran {
            Ok(ran) => ran.hung.is_some(),
            Err(RunError::Record { ran, .. }) => ran.hung.is_some(),
            Err(error) => matches!(error, RunError::Hangs(_)),
        };
        self.hangs.fetch_or(hangs, Ordering::Relaxed);
        let tables = ran.as_ref().map_or(1, |ran| ran.tables);
        self.next_table.fetch_add(tables, Ordering::Relaxed);
        ran
    }

    /// Tells how a run went.
    fn tell(&self, ran: &Ran, file: &Path, watch: Watch<'_>) {
        watch(&Event::Ran { ran });
        if let Some(hung) = ran.hung {
            watch(&Event::Hung { hung, file });
        }
        for notice in ran::notices(&*self.target, ran, self.place.has_faults()) {
            watch(&Event::Notice(&notice));
        }
    }

    /// Removes the tables, unless the server stays for the user to look at them.
    pub fn clean(&self) -> Option<Notice> {
        let kept = self.target.throwaway().is_some_and(|server| server.kept);
        if kept || self.hangs.load(Ordering::Relaxed) {
            return None;
        }
        let why = self.remove_tables().err()?;
        Some(Notice::Warning(format!("tables of this run may be left behind: {why}")))
    }

    /// Removes the tables of the runs that are over.
    pub(crate) fn remove_tables(&self) -> Result<(), Failure> {
        let target = Arc::clone(&self.target);
        match within(self.options.hang_after, move || target.clean()) {
            Ok(done) => done,
            Err(Stuck::Hangs) => {
                self.hangs.store(true, Ordering::Relaxed);
                Err(left("the database hangs"))
            }
            Err(Stuck::Panicked(text)) => Err(left(&text)),
        }
    }
}

fn left(why: &str) -> Failure {
    Failure::new(isolde_target::After::Lost, "clean", why)
}

/// How much of a run is in a record that could not be written to its end.
fn saved(file: &Path, ran: u64) -> String {
    let saved =
        load::load(file, &Reading::default()).map_or(0, |loaded| loaded.history.txn_count());
    let ran = isolde_report::number(ran);
    match saved {
        0 => format!("\n  none of the {ran} transactions that ran was saved"),
        saved => format!(
            "\n  {} of the {ran} transactions that ran were saved\n  \
             hint: they can be checked: isolde check {}",
            isolde_report::number(saved),
            quoted(&file.display().to_string())
        ),
    }
}

fn workload(settings: Settings) -> Result<Workload> {
    Workload::new(settings).map_err(|problem| anyhow!(problem))
}

/// Refuses workloads that need what the database cannot do. Drivers say what they can.
fn can_do(target: &dyn Target, kind: Kind) -> Result<()> {
    let needed: &[OpKind] = match kind {
        Kind::Append => &[OpKind::ListRead, OpKind::Append],
        Kind::Cas => &[OpKind::Read, OpKind::Cas, OpKind::InsertIfAbsent],
        _ => &[OpKind::Read, OpKind::Write],
    };
    match needed.iter().find(|kind| target.paths(**kind).is_empty()) {
        None => Ok(()),
        Some(missing) => bail!(
            "{} cannot do '{}', which the workload {} needs\n  hint: --workload names another one",
            target.name(),
            access(*missing),
            kind.name()
        ),
    }
}

/// An access as the protocol of drivers calls it.
fn access(kind: OpKind) -> &'static str {
    match kind {
        OpKind::ListRead => "list",
        OpKind::Cas => "cas",
        OpKind::InsertIfAbsent => "insert",
        other => other.title(),
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

fn explain(target: &dyn Target, error: &RunError) -> anyhow::Error {
    match target.last_words() {
        Some(words) => anyhow!("{error}\n  the server's last words: {words}"),
        None => anyhow!("{error}{}", connections_hint(target, error)),
    }
}

/// A server of the user's may let in fewer sessions than were asked for.
fn connections_hint(target: &dyn Target, error: &RunError) -> String {
    // What PostgreSQL and MySQL call it.
    let full = matches!(error, RunError::Connect(f) if matches!(f.code.as_str(), "53300" | "1040"));
    if !full {
        return String::new();
    }
    let most = target.facts().into_iter().find(|(name, _)| name == "max_connections");
    let most = most.map_or(String::new(), |(name, value)| format!(" ({name} is {value})"));
    format!(
        "\n  hint: the server has no connection left{most}: use fewer --sessions, or raise its limit"
    )
}
