//! `isolde check`.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use isolde_job::excerpts::{self, Stems};
use isolde_job::load::Loaded;
use isolde_job::reports::{self, Reports};
use isolde_job::{about, quoted, shown};
use isolde_report::{Case, Decided, Telling, case_to_json};
use isolde_spec::Level;

use crate::args::CheckArgs;
use crate::exit::{EXIT_FAULT, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED, exit_code, is_broken_pipe};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::{reading, terminal};

/// Checks every file; the exit code is that of the worst.
pub(crate) fn run(args: &CheckArgs, interrupts: &Interrupts) -> Result<u8> {
    let levels = isolde_job::levels(&args.level)?;
    interrupts.listen_for_checks()?;
    let mut reports = Reports::new(&args.report, args.force, &args.histories, !levels.is_empty())?;
    let mut stems = Stems::default();
    let mut codes = Vec::new();
    for file in &args.histories {
        if interrupts.stop().check_ended() {
            break;
        }
        let stem = stems.of(file);
        match check_file(args, (file, &stem), &levels, &mut reports, interrupts) {
            Ok(code) => codes.push(code),
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) => {
                terminal::error(&error);
                if args.json {
                    terminal::print_json(&reading::fault(file, &error))?;
                }
                let (name, error) = (file.display().to_string(), format!("{error:#}"));
                let error = error.strip_prefix(&format!("{}: ", shown(file))).unwrap_or(&error);
                reports.add_fault(&name, error);
                codes.push(EXIT_FAULT);
            }
        }
    }
    reports.write()?.iter().for_each(terminal::notice);
    let worst = [EXIT_VIOLATED, EXIT_FAULT, EXIT_UNKNOWN].into_iter().find(|c| codes.contains(c));
    if interrupts.stop().check_ended() && !codes.contains(&EXIT_VIOLATED) {
        return Ok(interrupts.exit_code(EXIT_UNKNOWN));
    }
    Ok(worst.unwrap_or(EXIT_OK))
}

fn check_file(
    args: &CheckArgs,
    (file, stem): (&Path, &str),
    levels: &[Level],
    reports: &mut Reports,
    interrupts: &Interrupts,
) -> Result<u8> {
    let began = Instant::now();
    let asking = args.ask.asking(interrupts.stop())?;
    let loaded = reading::load(file, &args.ask.read)?;
    let spinner = Progress::spinner(&format!("checking {}", shown(file)));
    interrupts.check_begins();
    let told = &mut |verdict: &_| interrupts.decided(verdict);
    let decided = asking.decide(&loaded.history, levels, told);
    spinner.clear();
    interrupts.check_ends();
    let decided = decided.with_context(|| shown(file))?;
    let case = case(args, file, &loaded, &decided, began);
    let text = if args.json {
        serde_json::to_string_pretty(&case_to_json(&case))? + "\n"
    } else {
        let telling =
            Telling { all: args.all, style: terminal::style(), ..reports::telling(&case) };
        reports::as_text(&case, &telling)
    };
    if let Some(folder) = &args.excerpts {
        let named = args.excerpts_as.as_deref();
        let said = excerpts::write(folder, stem, &case, &asking, named)?;
        said.iter().for_each(terminal::notice);
    }
    reports.add(&case);
    terminal::print(&text)?;
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
    let name = name.map(|file| quoted(&file.display().to_string()));
    let level = |l: &String| format!(" --level {}", quoted(l));
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
        about: about(&loaded.history),
        warnings: loaded.warnings.kept.iter().map(ToString::to_string).collect(),
        warning_count: loaded.warnings.count,
        every_level: args.level.is_empty(),
        options: args.ask.to_json(),
        again: again.collect(),
        explain: name.as_ref().map(|name| format!("isolde explain{options} {name}")),
        seconds: began.elapsed().as_secs_f64(),
    }
}
