//! `isolde check`.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use isolde_check::Checker;
use isolde_report::{Case, Decided, Telling, case_to_json};
use isolde_spec::Level;

use crate::args::CheckArgs;
use crate::desk::{self, Desk, exit_code};
use crate::exit::{
    EXIT_FAULT, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED, is_broken_pipe,
};
use crate::interrupt::{self, Checking};
use crate::load::{self, Loaded};
use crate::reports::{self, Reports};
use crate::{excerpts, ran, shell, terminal};

/// Checks every file; the exit code is that of the worst.
pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let levels = desk::levels(&args.level)?;
    interrupt::listen_for_checks()?;
    let mut reports = Reports::new(&args.report, &args.histories, !levels.is_empty())?;
    let mut stems = excerpts::Stems::default();
    let mut codes = Vec::new();
    for file in &args.histories {
        if interrupt::check_stopped() {
            break;
        }
        let stem = stems.of(file);
        match check_file(args, (file, &stem), &levels, &mut reports) {
            Ok(code) => codes.push(code),
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) => {
                anstream::eprintln!("{}: {error:#}", load::ERROR.label("error"));
                let (name, error) = (file.display().to_string(), format!("{error:#}"));
                let error = error.strip_prefix(&format!("{name}: ")).unwrap_or(&error);
                reports.add_fault(&name, error);
                codes.push(EXIT_FAULT);
            }
        }
    }
    reports.write()?;
    let worst = [EXIT_VIOLATED, EXIT_FAULT, EXIT_UNKNOWN].into_iter().find(|c| codes.contains(c));
    if interrupt::check_stopped() && !codes.contains(&EXIT_VIOLATED) {
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(worst.unwrap_or(EXIT_OK))
}

fn check_file(
    args: &CheckArgs,
    (file, stem): (&Path, &str),
    levels: &[Level],
    reports: &mut Reports,
) -> Result<u8> {
    let began = Instant::now();
    let bounds = args.ask.bounds();
    let late = || bounds.is_late();
    let loaded = load::load(file, args.ask.format.as_deref())?;
    let progress = load::progress(&format!("checking {}", file.display()));
    let checking = Checking::begin();
    let limits = bounds.limits(&late);
    let desk = Desk {
        checker: Checker::with_limits(&loaded.history, args.ask.options(), limits),
        session_order: !args.ask.no_session_order,
    };
    let decided = if levels.is_empty() { desk.all(&loaded.history) } else { desk.each(levels) };
    progress.finish_and_clear();
    drop(checking);
    let case = case(args, file, &loaded, &decided, began);
    let text = if args.json {
        serde_json::to_string_pretty(&case_to_json(&case))? + "\n"
    } else {
        let telling =
            Telling { all: args.all, style: terminal::style(), ..reports::telling(&case) };
        reports::as_text(&case, &telling)
    };
    if let Some(folder) = &args.excerpts {
        excerpts::write(folder, stem, &case, args.excerpts_as.as_deref())?;
    }
    reports.add(&case);
    ran::print(&text)?;
    Ok(exit_code(&decided, levels.is_empty()))
}

fn case<'a>(
    args: &CheckArgs,
    file: &Path,
    loaded: &'a Loaded,
    decided: &'a [Decided],
    began: Instant,
) -> Case<'a> {
    let options = args.ask.typed();
    // What came in by standard input cannot be read again.
    let name = Some(file).filter(|file| file.as_os_str() != "-");
    let name = name.map(|file| shell::quoted(&file.display().to_string()));
    let level = |l: &String| format!(" --level {}", shell::quoted(l));
    let levels: String = args.level.iter().map(level).collect();
    let check = name
        .iter()
        .map(|name| ("check it again".to_owned(), format!("isolde check{options}{levels} {name}")));
    // What `isolde test` and `isolde record` wrote down.
    let recorded = loaded.history.info("command");
    let recorded = recorded.and_then(|command| loaded.history.pool().as_text(command));
    let again = check.chain(recorded.map(|c| ("run it again".to_owned(), c.to_owned())));
    Case {
        history: &loaded.history,
        name: file.display().to_string(),
        format: loaded.format.name.to_owned(),
        decided,
        about: crate::about::of(&loaded.history),
        warnings: loaded.warnings.kept.iter().map(ToString::to_string).collect(),
        warning_count: loaded.warnings.count,
        every_level: args.level.is_empty(),
        options: args.ask.to_json(),
        again: again.collect(),
        explain: name.as_ref().map(|name| format!("isolde explain{options} {name}")),
        seconds: began.elapsed().as_secs_f64(),
    }
}
