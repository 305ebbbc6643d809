//! `isolde check`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use isolde_check::{Checker, Options, Road};
use isolde_history::History;
use isolde_report::{Decided, summary_to_json, summary_to_text, to_json, to_text};
use isolde_spec::Level;
use serde_json::json;

use crate::args::CheckArgs;
use crate::desk::{self, Desk, exit_code};
use crate::excerpts;
use crate::load::{self, Loaded};
use crate::{EXIT_FAULT, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};

/// Checks every file; the exit code is that of the worst.
pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let levels = desk::levels(&args.level)?;
    let mut codes = Vec::new();
    for file in &args.histories {
        match check_file(args, file, &levels) {
            Ok(code) => codes.push(code),
            Err(error) if crate::is_broken_pipe(&error) => return Err(error),
            Err(error) => {
                anstream::eprintln!("{}: {error:#}", load::ERROR.label("error"));
                codes.push(EXIT_FAULT);
            }
        }
    }
    let worst = [EXIT_VIOLATED, EXIT_FAULT, EXIT_UNKNOWN].into_iter().find(|c| codes.contains(c));
    Ok(worst.unwrap_or(EXIT_OK))
}

fn options(args: &CheckArgs) -> Options {
    Options {
        clock_skew: args.clock_skew,
        witnesses: args.witnesses as usize,
        search_budget: args.search_budget,
        procedure: args.procedure.map(Road::from),
        order_steps: args.order_steps,
        order_memory: usize::try_from(args.order_memory << 20).unwrap_or(usize::MAX),
        deadline: args.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        ..Options::default()
    }
}

fn check_file(args: &CheckArgs, file: &Path, levels: &[Level]) -> Result<u8> {
    let began = Instant::now();
    let loaded = load::load(file, args.format.as_deref())?;
    let progress = load::progress(&format!("checking {}", file.display()));
    let desk = Desk {
        checker: Checker::new(&loaded.history, options(args)),
        session_order: !args.no_session_order,
    };
    let decided = if levels.is_empty() { desk.all(&loaded.history) } else { desk.each(levels) };
    progress.finish_and_clear();
    let text = if args.json {
        as_json(args, file, &loaded, &decided, began)?
    } else {
        as_text(args, file, &loaded.history, &decided)
    };
    if let Some(folder) = &args.excerpts {
        excerpts::write(folder, file, &loaded.history, &decided)?;
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(exit_code(&decided, levels.is_empty()))
}

// ---- saying ----

fn as_text(args: &CheckArgs, file: &Path, history: &History, decided: &[Decided]) -> String {
    let mut out = format!("{}\n", file.display());
    if args.level.is_empty() {
        out += &summary_to_text(history, decided);
        if decided.iter().any(|d| d.verdict.holds() == Some(false)) {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "more: isolde check --level LEVEL {}", file.display());
        }
    } else {
        decided.iter().for_each(|d| out += &to_text(history, d, args.all));
    }
    out
}

fn as_json(
    args: &CheckArgs,
    file: &Path,
    loaded: &Loaded,
    decided: &[Decided],
    began: Instant,
) -> Result<String> {
    let history = &loaded.history;
    let options = options(args);
    let mut report = json!({
        "history": file.display().to_string(),
        "format": loaded.format.name,
        "transactions": history.txn_count(),
        "options": {
            "session_order": !args.no_session_order,
            "clock_skew": options.clock_skew,
            "procedure": options.procedure.map(Road::name),
            "witnesses": options.witnesses,
            "search_budget": options.search_budget,
            "order_steps": options.order_steps,
            "order_memory": options.order_memory,
            "timeout": args.timeout.map(|timeout| timeout.as_secs_f64()),
        },
        "verdicts": decided.iter().map(|d| to_json(history, d)).collect::<Vec<_>>(),
        "warnings": loaded.warnings.kept.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "warning_count": loaded.warnings.count,
        "seconds": began.elapsed().as_secs_f64(),
    });
    if args.level.is_empty() {
        report["summary"] = summary_to_json(decided);
    }
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
