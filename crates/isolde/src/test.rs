//! `isolde test`: run, record, check, explain.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use isolde_check::{Checker, Limits, Options};
use isolde_history::History;
use isolde_report::{
    Case, Decided, HtmlReport, REPORT_VERSION, Style, Telling, faults_to_text, number, to_json,
    to_text,
};
use isolde_run::Ran;
use isolde_spec::Level;
use isolde_target::Failure;
use serde_json::{Value, json};

use crate::args::TestArgs;
use crate::bounds::Bounds;
use crate::desk::{self, Desk, exit_code};
use crate::exit::{EXIT_FAULT, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::{self, Checking};
use crate::reports::Reports;
use crate::running::{Stage, command_line};
use crate::trials::{TrialOutcome, Trials};
use crate::{excerpts, load, ran, shell, terminal};

/// What the history of a run is called.
const HISTORY: &str = "history.isolde";

pub(crate) fn run(args: &TestArgs) -> Result<u8> {
    let named = desk::levels(&args.level)?;
    let mut reports = Reports::new(&args.report, &[], true)?;
    interrupt::listen()?;
    let stage = Stage::open(&args.run, &named)?;
    let levels = if named.is_empty() { vec![stage.offer.promises] } else { named };
    let tested = test(args, &stage, &levels, &mut reports);
    stage.clean();
    // Whatever was found until something went wrong is worth reporting, and so is that.
    if let Err(error) = &tested {
        reports.add_fault(&stage.place(), &format!("{error:#}"));
    }
    let written = reports.write();
    let code = tested?;
    written.map(|()| code)
}

/// As many runs as were asked for. The exit code is that of the worst.
fn test(args: &TestArgs, stage: &Stage, levels: &[Level], reports: &mut Reports) -> Result<u8> {
    let began = Instant::now();
    let several = args.trials.is_some() || args.repeat.is_some() || args.budget.is_some();
    // A budget alone is as many runs as fit into it.
    let unlimited = if args.budget.is_some() { u64::MAX } else { 1 };
    let most = args.trials.or(args.repeat).unwrap_or(unlimited).max(1);
    let mut trials = Trials::default();
    for number in 0..most {
        let over = args.budget.is_some_and(|budget| began.elapsed() >= budget);
        if number > 0 && (over || interrupt::stopped() || interrupt::check_stopped()) {
            break;
        }
        if number > 0 {
            // So that a thousand runs do not fill the server; the next one has tables of its own.
            let _ = stage.target.clean();
        }
        let trial = Trial::run(args, stage, levels, stage.seed().wrapping_add(number))?;
        trials.add(&trial.outcome());
        let found = trial.code == EXIT_VIOLATED;
        reports.add(&trial.case(stage));
        if let Some(why) = trial.says_little() {
            reports.add_fault(&stage.place(), why);
        }
        trial.write(args, stage)?;
        if args.json && several {
            ran::print(&(trial.to_json(stage).to_string() + "\n"))?;
        } else if args.json {
            ran::print(&(serde_json::to_string_pretty(&trial.to_json(stage))? + "\n"))?;
        } else if !several || trial.keep {
            ran::print(&trial.to_text(stage, args.all, terminal::style()))?;
        }
        if !trial.keep {
            trial.folder.remove();
        }
        if trial.code == EXIT_FAULT || (found && args.trials.is_none()) {
            break;
        }
    }
    if several {
        let text = if args.json {
            trials.to_json(began.elapsed()).to_string() + "\n"
        } else {
            trials.to_text(began.elapsed())
        };
        ran::print(&text)?;
    }
    match trials.worst() {
        EXIT_VIOLATED => Ok(EXIT_VIOLATED),
        _ if interrupt::check_stopped() => Ok(EXIT_INTERRUPTED),
        code => Ok(code),
    }
}

/// One run and what was found in it.
struct Trial {
    seed: u64,
    folder: Folder,
    ran: Ran,
    history: History,
    decided: Vec<Decided>,
    /// Loading and checking.
    verification: Duration,
    code: u8,
    /// Whether there is something in it that the user will want to look at.
    keep: bool,
}

/// Where a run is recorded.
struct Folder {
    path: PathBuf,
    /// The folder above it, if it was made for this run.
    made: Option<PathBuf>,
}

impl Folder {
    /// A folder that was not there before: what an earlier run found is never written over.
    fn new(args: &TestArgs, name: &str) -> Result<Folder> {
        let made = (!args.out.exists()).then(|| args.out.clone());
        let cannot = || format!("cannot make a folder in {}", args.out.display());
        fs::create_dir_all(&args.out).with_context(cannot)?;
        for number in 1u32.. {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = args.out.join(format!("{name}{suffix}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => {
                    done.with_context(cannot)?;
                    return Ok(Folder { path, made });
                }
            }
        }
        bail!("{} is full of folders called {name}", args.out.display())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes it, if nothing but the history is in it, and what was made for it.
    fn remove(&self) {
        // What cannot be removed does no harm; a folder with something in it stays.
        let _ = fs::remove_file(self.file(HISTORY));
        self.remove_if_empty();
    }

    fn remove_if_empty(&self) {
        let _ = fs::remove_dir(&self.path);
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
    }
}

impl Trial {
    fn run(args: &TestArgs, stage: &Stage, levels: &[Level], seed: u64) -> Result<Trial> {
        let name = format!("{}-{}-{seed}", file_name(stage), stage.offer.name);
        let folder = Folder::new(args, &name)?;
        let file = folder.file(HISTORY);
        let ran = stage.run(seed, &file).inspect_err(|_| folder.remove_if_empty())?;
        ran::warn(&*stage.target, &ran, stage.has_faults());
        let began = Instant::now();
        let history = load::load(&file, Some("isolde"))?.history;
        let progress = load::progress("checking");
        let bounds = Bounds::new(args.check_timeout, args.check_memory, Limits::default().steps());
        let late = || bounds.is_late();
        let checking = Checking::begin();
        let checker = Checker::with_limits(&history, Options::default(), bounds.limits(&late));
        let decided = Desk { checker, session_order: true }.each(levels);
        drop(checking);
        progress.finish_and_clear();
        let verification = began.elapsed();
        let code = code(&ran, &decided);
        let keep = args.keep_history || matches!(code, EXIT_VIOLATED | EXIT_FAULT);
        Ok(Trial { seed, folder, ran, history, decided, verification, code, keep })
    }

    fn outcome(&self) -> TrialOutcome {
        TrialOutcome {
            code: self.code,
            generation: self.ran.progress.elapsed,
            verification: self.verification,
            committed: self.ran.progress.committed,
        }
    }

    /// Writes the reports beside the history, where something was found.
    fn write(&self, args: &TestArgs, stage: &Stage) -> Result<()> {
        if !self.keep {
            return Ok(());
        }
        let write = |name: &str, content: &str| {
            let path = self.folder.file(name);
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
        };
        write("report.txt", &self.to_text(stage, args.all, Style::default()))?;
        let json = serde_json::to_string_pretty(&self.to_json(stage))? + "\n";
        write("report.json", &json)?;
        let case = self.case(stage);
        let mut html = HtmlReport::new(&stage.place());
        html.add(&case);
        write("report.html", &html.finish())?;
        if self.code == EXIT_VIOLATED {
            excerpts::write(&self.folder.file("excerpts"), "witness", &case, None)?;
        }
        Ok(())
    }

    /// Why the verdict says little, if it does: a report must not look as if all were well.
    fn says_little(&self) -> Option<&'static str> {
        match self.code {
            EXIT_FAULT => Some("sessions gave up, or the database answered what cannot be"),
            _ if self.ran.progress.committed == 0 => {
                Some("nothing was committed, so nothing was tested")
            }
            _ => None,
        }
    }

    /// All that a report says of it.
    fn case(&self, stage: &Stage) -> Case<'_> {
        let row = |name: &str, text: String| (name.to_owned(), text);
        let about = vec![
            row("database", stage.place()),
            row("workload", stage.workload(self.seed)),
            row("run", ran::to_text(&self.ran)),
        ];
        let file = self.folder.file(HISTORY).display().to_string();
        let again = row("run it again", command_line(Some(self.seed)));
        Case {
            history: &self.history,
            name: if self.keep { file } else { stage.place() },
            format: "isolde".to_owned(),
            decided: &self.decided,
            about,
            warnings: Vec::new(),
            warning_count: 0,
            every_level: false,
            options: json!({"session_order": true}),
            explain: self.explain(),
            again: vec![again],
            seconds: self.verification.as_secs_f64(),
        }
    }

    /// The command that shows a witness, if the history is kept.
    fn explain(&self) -> Option<String> {
        let file = self.folder.file(HISTORY).display().to_string();
        self.keep.then(|| format!("isolde explain {}", shell::quoted(&file)))
    }

    fn to_text(&self, stage: &Stage, all: bool, style: Style) -> String {
        let mut text = format!(
            "database   {}\nworkload   {}\nrun        {}\n",
            stage.place(),
            stage.workload(self.seed),
            ran::counts(&self.ran)
        );
        for trouble in &self.ran.troubles {
            let (count, code) = (number(trouble.count), &trouble.code);
            text += &format!("           {count} x {code}: {}\n", first_line(&trouble.message));
        }
        text += &faults_to_text(&self.history);
        let telling = Telling { all, style, explain: self.explain() };
        for decided in &self.decided {
            text += &to_text(&self.history, decided, &telling);
        }
        let memory = ran::peak_memory()
            .map_or(String::new(), |bytes| format!(", peak memory {} MB", bytes.div_ceil(1 << 20)));
        text += &format!(
            "times      generation {}, verification {}{memory}\n",
            ran::seconds(self.ran.progress.elapsed),
            ran::seconds(self.verification)
        );
        if self.ran.progress.committed == 0 {
            text += "nothing was committed, so nothing was tested\n";
        }
        if self.keep {
            text += &format!("kept       {}\n", self.folder.path.display());
        }
        if self.code == EXIT_VIOLATED {
            text += &format!("again      {}\n", command_line(Some(self.seed)));
        }
        text
    }

    fn to_json(&self, stage: &Stage) -> Value {
        let mut report = stage.to_json(self.seed);
        report["isolde_report"] = json!(REPORT_VERSION);
        report["run"] = ran::to_json(&self.ran);
        let verdicts: Vec<Value> = self.decided.iter().map(|d| to_json(&self.history, d)).collect();
        report["verdicts"] = json!(verdicts);
        report["generation_seconds"] = json!(self.ran.progress.elapsed.as_secs_f64());
        report["verification_seconds"] = json!(self.verification.as_secs_f64());
        report["peak_memory_bytes"] = json!(ran::peak_memory());
        let folder = self.keep.then(|| self.folder.path.display().to_string());
        report["folder"] = json!(folder);
        report["exit_code"] = json!(self.code);
        report
    }
}

/// The exit code of a run: what the checker found, or why that says little.
fn code(ran: &Ran, decided: &[Decided]) -> u8 {
    let impossible = ran.troubles.iter().any(|t| t.code == Failure::IMPOSSIBLE);
    match exit_code(decided, false) {
        EXIT_VIOLATED => EXIT_VIOLATED,
        _ if impossible || !ran.gave_up.is_empty() => EXIT_FAULT,
        EXIT_OK if ran.progress.committed == 0 => EXIT_UNKNOWN,
        code => code,
    }
}

/// The database's name as part of a folder's.
fn file_name(stage: &Stage) -> String {
    let name = stage.target.name().to_lowercase();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
