//! `isolde check`.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow};
use isolde_check::Options;
use isolde_history::History;
use isolde_report::{to_json, to_text};
use isolde_spec::{Level, Promise, Verdict};
use serde_json::json;

use crate::args::CheckArgs;
use crate::load;
use crate::{EXIT_FAULT, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};

/// What is asked where no level is named, strongest first.
const STRONG: [Level; 4] = [
    Level::StrictSerializable,
    Level::Serializable,
    Level::StrongSnapshotIsolation,
    Level::SnapshotIsolation,
];

/// Checks every file; the exit code is that of the worst.
pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let levels = levels(&args.level)?;
    let mut codes = Vec::new();
    for file in &args.histories {
        match check_file(args, file, &levels) {
            Ok(code) => codes.push(code),
            Err(error) => {
                anstream::eprintln!("{}: {error:#}", load::ERROR.label("error"));
                codes.push(EXIT_FAULT);
            }
        }
    }
    let worst = [EXIT_VIOLATED, EXIT_FAULT, EXIT_UNKNOWN].into_iter().find(|c| codes.contains(c));
    Ok(worst.unwrap_or(EXIT_OK))
}

fn levels(names: &[String]) -> Result<Vec<Level>> {
    let level = |name: &String| {
        Level::named(name).ok_or_else(|| {
            let all: Vec<&str> = Level::ALL.iter().map(|l| l.name()).collect();
            anyhow!("there is no level '{name}'\n  hint: levels are {}", all.join(", "))
        })
    };
    if names.is_empty() { Ok(STRONG.to_vec()) } else { names.iter().map(level).collect() }
}

fn check_file(args: &CheckArgs, file: &Path, levels: &[Level]) -> Result<u8> {
    let loaded = load::load(file, args.format.as_deref())?;
    let progress = load::progress(&format!("checking {}", file.display()));
    let options = Options { clock_skew: args.clock_skew, ..Options::default() };
    let ask = |level: &Level| {
        let promise = Promise { level: *level, session_order: !args.no_session_order };
        isolde_check::check(&loaded.history, promise, &options)
    };
    let verdicts: Vec<Verdict> = levels.iter().map(ask).collect();
    let without = |v: &Verdict| holds_without_sessions(&loaded.history, v, &options);
    let without: Vec<bool> = verdicts.iter().map(without).collect();
    progress.finish_and_clear();
    let mut out = std::io::stdout().lock();
    if args.json {
        let verdict = |v: &Verdict| to_json(&loaded.history, v);
        let all: Vec<_> = verdicts.iter().map(verdict).collect();
        let report = json!({
            "history": file.display().to_string(),
            "format": loaded.format.name,
            "verdicts": all,
            "holds_without_session_order": without,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "{}", file.display())?;
        for (verdict, without) in verdicts.iter().zip(without) {
            out.write_all(to_text(&loaded.history, verdict).as_bytes())?;
            if without {
                writeln!(out, "  it holds without session order")?;
            }
        }
    }
    Ok(exit_code(&verdicts, args.level.is_empty()))
}

/// Whether session order alone is what a level breaks.
fn holds_without_sessions(history: &History, verdict: &Verdict, options: &Options) -> bool {
    let promise = Promise { session_order: false, ..verdict.promise };
    verdict.holds() == Some(false)
        && verdict.promise.session_order
        && isolde_check::check(history, promise, options).holds() == Some(true)
}

/// Where no level was named, one that holds is enough.
fn exit_code(verdicts: &[Verdict], any: bool) -> u8 {
    let holds = |wanted: Option<bool>| verdicts.iter().any(|v| v.holds() == wanted);
    match (any && holds(Some(true)), holds(Some(false)), holds(None)) {
        (true, _, _) => EXIT_OK,
        (_, true, _) => EXIT_VIOLATED,
        (_, _, true) => EXIT_UNKNOWN,
        _ => EXIT_OK,
    }
}
