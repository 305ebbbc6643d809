//! `isolde test`: run, record, check, explain.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use isolde_check::{Checker, Options};
use isolde_history::History;
use isolde_report::{Decided, number, to_json, to_text};
use isolde_run::Ran;
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::args::TestArgs;
use crate::desk::{self, Desk, exit_code};
use crate::running::Stage;
use crate::trials::Trials;
use crate::{EXIT_FAULT, EXIT_OK, EXIT_VIOLATED, excerpts, interrupt, load, ran};

/// What the history of a run is called.
const HISTORY: &str = "history.isolde";

pub(crate) fn run(args: &TestArgs) -> Result<u8> {
    let named = desk::levels(&args.level)?;
    interrupt::listen()?;
    let stage = Stage::open(&args.run, &named)?;
    let levels = if named.is_empty() { vec![stage.offer.promises] } else { named };
    let tested = test(args, &stage, &levels);
    let cleaned = stage.target.clean();
    let code = tested?;
    match cleaned {
        Err(failure) if code == EXIT_OK => {
            bail!("the tables of this run could not be removed: {failure}")
        }
        _ => Ok(code),
    }
}

/// As many runs as were asked for. The exit code is that of the worst.
fn test(args: &TestArgs, stage: &Stage, levels: &[Level]) -> Result<u8> {
    let began = Instant::now();
    let several = args.trials.is_some() || args.repeat.is_some() || args.budget.is_some();
    // A budget alone is as many runs as fit into it.
    let unlimited = if args.budget.is_some() { u64::MAX } else { 1 };
    let most = args.trials.or(args.repeat).unwrap_or(unlimited).max(1);
    let mut trials = Trials::default();
    for number in 0..most {
        let over = args.budget.is_some_and(|budget| began.elapsed() >= budget);
        if number > 0 && (over || interrupt::stopped()) {
            break;
        }
        if number > 0 {
            // So that a thousand runs do not fill the server; the next one has tables of its own.
            let _ = stage.target.clean();
        }
        let trial = Trial::run(args, stage, levels, stage.seed().wrapping_add(number))?;
        trials.add(&trial.outcome());
        let found = trial.code == EXIT_VIOLATED;
        if !several || trial.is_worth_keeping(args) {
            trial.say(args, stage)?;
        }
        if !trial.is_worth_keeping(args) {
            trial.remove(args);
        }
        if trial.code == EXIT_FAULT || (found && args.trials.is_none()) {
            break;
        }
    }
    if several {
        let text = if args.json {
            serde_json::to_string_pretty(&trials.to_json(began.elapsed()))? + "\n"
        } else {
            trials.to_text(began.elapsed())
        };
        ran::print(&text)?;
    }
    Ok(trials.worst())
}

/// One run and what was found in it.
struct Trial {
    seed: u64,
    folder: PathBuf,
    ran: Ran,
    history: History,
    decided: Vec<Decided>,
    /// Loading and checking.
    verification: Duration,
    code: u8,
}

/// What the statistics need of a trial.
pub(crate) struct TrialOutcome {
    pub(crate) code: u8,
    pub(crate) generation: Duration,
    pub(crate) verification: Duration,
    pub(crate) committed: u64,
}

impl Trial {
    fn run(args: &TestArgs, stage: &Stage, levels: &[Level], seed: u64) -> Result<Trial> {
        let folder = args.out.join(format!("{}-{}-{seed}", file_name(stage), stage.offer.name));
        let cannot = || format!("cannot make {}", folder.display());
        fs::create_dir_all(&folder).with_context(cannot)?;
        let file = folder.join(HISTORY);
        let ran = stage.run(seed, &file).inspect_err(|_| {
            // Folders with nothing in them help nobody; with a record in it, this fails.
            let _ = fs::remove_dir(&folder);
            let _ = fs::remove_dir(&args.out);
        })?;
        ran::warn(&*stage.target, &ran);
        let began = Instant::now();
        let history = load::load(&file, Some("isolde"))?.history;
        let progress = load::progress("checking");
        let checker = Checker::new(&history, Options::default());
        let decided = Desk { checker, session_order: true }.each(levels);
        progress.finish_and_clear();
        let verification = began.elapsed();
        let code = match exit_code(&decided, false) {
            EXIT_VIOLATED => EXIT_VIOLATED,
            _ if !ran.gave_up.is_empty() => EXIT_FAULT,
            code => code,
        };
        Ok(Trial { seed, folder, ran, history, decided, verification, code })
    }

    fn outcome(&self) -> TrialOutcome {
        TrialOutcome {
            code: self.code,
            generation: self.ran.progress.elapsed,
            verification: self.verification,
            committed: self.ran.progress.committed,
        }
    }

    /// Whether there is something in it that the user will want to look at.
    fn is_worth_keeping(&self, args: &TestArgs) -> bool {
        args.keep_history || matches!(self.code, EXIT_VIOLATED | EXIT_FAULT)
    }

    /// Prints the report; writes it beside the history where something was found.
    fn say(&self, args: &TestArgs, stage: &Stage) -> Result<()> {
        let keep = self.is_worth_keeping(args);
        let text = self.to_text(stage, keep, args.all);
        let json = serde_json::to_string_pretty(&self.to_json(stage, keep))? + "\n";
        ran::print(if args.json { &json } else { &text })?;
        if !keep {
            return Ok(());
        }
        let write = |name: &str, content: &str| {
            let path = self.folder.join(name);
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
        };
        write("report.txt", &text)?;
        write("report.json", &json)?;
        if self.code == EXIT_VIOLATED {
            let excerpts = self.folder.join("excerpts");
            excerpts::write(&excerpts, Path::new("witness"), &self.history, &self.decided)?;
        }
        Ok(())
    }

    /// Removes the history of a run in which nothing was found.
    fn remove(&self, args: &TestArgs) {
        // What cannot be removed does no harm; a folder with something in it stays.
        let _ = fs::remove_file(self.folder.join(HISTORY));
        let _ = fs::remove_dir(&self.folder);
        let _ = fs::remove_dir(&args.out);
    }

    fn to_text(&self, stage: &Stage, keep: bool, all: bool) -> String {
        let mut text = format!(
            "database   {}\nworkload   {}\nrun        {}\n",
            stage.place(),
            stage.workload(self.seed),
            ran::to_text(&self.ran)
        );
        for trouble in &self.ran.troubles {
            let (count, code) = (number(trouble.count), &trouble.code);
            text += &format!("           {count} x {code}: {}\n", first_line(&trouble.message));
        }
        for decided in &self.decided {
            text += &to_text(&self.history, decided, all);
        }
        let memory = ran::peak_memory()
            .map_or(String::new(), |bytes| format!(", peak memory {} MB", bytes.div_ceil(1 << 20)));
        text += &format!(
            "times      generation {}, verification {}{memory}\n",
            ran::seconds(self.ran.progress.elapsed),
            ran::seconds(self.verification)
        );
        if keep {
            text += &format!("kept       {}\n", self.folder.display());
        }
        if self.code == EXIT_VIOLATED {
            text += &format!("again      the same options with --seed {}\n", self.seed);
        }
        text
    }

    fn to_json(&self, stage: &Stage, keep: bool) -> Value {
        let mut report = stage.to_json(self.seed);
        report["run"] = ran::to_json(&self.ran);
        let verdicts: Vec<Value> = self.decided.iter().map(|d| to_json(&self.history, d)).collect();
        report["verdicts"] = json!(verdicts);
        report["generation_seconds"] = json!(self.ran.progress.elapsed.as_secs_f64());
        report["verification_seconds"] = json!(self.verification.as_secs_f64());
        report["peak_memory_bytes"] = json!(ran::peak_memory());
        report["folder"] =
            if keep { json!(self.folder.display().to_string()) } else { Value::Null };
        report["exit_code"] = json!(self.code);
        report
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
