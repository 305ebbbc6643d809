//! `isolde probe`.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use isolde_job::{output, shown};
use isolde_probe::case::{self, Case};
use isolde_probe::compare::Difference;
use isolde_probe::matrix::{Matrix, probe};
use isolde_probe::recorded::{self, Noted, Recorded};
use isolde_probe::replay::{self, Replayed};
use isolde_probe::{Background, Portable, html, json, text};
use isolde_target::{Consoles, Offer, Target, without_password};
use serde_json::{Value, json};

use crate::args::ProbeArgs;
use crate::exit::{EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::terminal;

pub(crate) fn run(args: &ProbeArgs, interrupts: &Interrupts) -> Result<u8> {
    // Whatever is wrong with what was typed is told before a server is started.
    let cases = if args.replay.is_some() { Vec::new() } else { cases(args)? };
    let runs = args.replay.as_deref().map(recorded).transpose()?;
    for file in args.record.iter().chain(&args.report) {
        output::may_write(file, args.force)?;
    }
    interrupts.listen()?;
    let opening = Progress::spinner(&format!("opening {}", without_password(&args.target)));
    let options = args.server.opening(args.password_file.as_ref());
    let target = isolde_target::open(&args.target, &options)?;
    opening.clear();
    let portable = Portable::new(&*target);
    let consoles = target.consoles().unwrap_or(&portable);
    let stop = interrupts.stop().run_flag();
    let code = match runs {
        Some(runs) => replayed(args, &*target, consoles, &runs, stop),
        None => probed(args, &*target, consoles, cases, stop),
    };
    let code = match code {
        Err(error) if interrupts.stop().run_ended() => {
            anstream::eprintln!("{}: {error:#}", terminal::ERROR.label("error"));
            EXIT_UNKNOWN
        }
        code => code?,
    };
    let code = interrupts.exit_code(code);
    if let Some(server) = target.throwaway().filter(|s| s.kept) {
        anstream::eprintln!("the server stays: {} in {}", server.url, shown(&server.folder));
    }
    Ok(code)
}

/// A text within a limit, which holds for devices and pipes, too: they have no length.
fn read(path: &Path, most: usize) -> Result<String> {
    let cannot_read = || format!("cannot read {}", shown(path));
    let file = fs::File::open(path).with_context(cannot_read)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).with_context(cannot_read)?;
    if bytes.len() > most {
        bail!("{} is longer than {most} bytes", shown(path));
    }
    String::from_utf8(bytes).with_context(cannot_read)
}

fn recorded(path: &Path) -> Result<Vec<Recorded>> {
    let text = read(path, recorded::MOST_BYTES)?;
    recorded::read(&text).map_err(|error| anyhow!("{}, {error}", shown(path)))
}

/// The cases that were asked for.
fn cases(args: &ProbeArgs) -> Result<Vec<Case>> {
    let mut all = case::built_in()?;
    let groups: Vec<String> = all.iter().map(|case| case.group.clone()).collect();
    if let Some(group) = args.group.iter().find(|g| *g != "all" && !groups.contains(g)) {
        bail!("there is no group '{group}'\n  hint: groups are hermitage, anomalies, more, all");
    }
    // A case that is named is wanted, whatever group it is in.
    let chosen = |case: &Case| args.group.iter().any(|g| g == "all" || *g == case.group);
    all.retain(|case| !args.only.is_empty() || chosen(case));
    for path in &args.cases {
        for file in files(path)? {
            all.extend(case::read(&file.display().to_string(), &read(&file, case::MOST_BYTES)?)?);
        }
    }
    if let Some(name) = case::twice(&all) {
        bail!("there are two cases '{name}'\n  hint: give yours another name");
    }
    let known = |name: &&String| all.iter().any(|case| case.name.eq_ignore_ascii_case(name));
    if let Some(name) = args.only.iter().find(|name| !known(name)) {
        let names: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
        bail!("there is no case '{name}'\n  hint: cases are {}", names.join(", "));
    }
    let named = |case: &Case| args.only.iter().any(|n| case.name.eq_ignore_ascii_case(n));
    all.retain(|case| args.only.is_empty() || named(case));
    Ok(all)
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", shown(path)))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "case"));
    files.sort();
    if files.is_empty() {
        bail!("{} has no file that ends in .case", shown(path));
    }
    Ok(files)
}

fn bar(count: usize) -> Progress {
    Progress::bar(count as u64, "{bar:12} {pos} of {len} runs")
}

fn probed(
    args: &ProbeArgs,
    target: &dyn Target,
    consoles: &dyn Consoles,
    cases: Vec<Case>,
    stop: &AtomicBool,
) -> Result<u8> {
    let mut offers: Vec<Offer> = target.offers().to_vec();
    let names: Vec<&str> = offers.iter().map(|o| o.name).collect();
    if let Some(name) = args.isolation.iter().find(|n| !names.contains(&n.as_str())) {
        let (target, names) = (target.name(), names.join(", "));
        bail!("{target} has no level '{name}'\n  hint: levels are {names}");
    }
    offers.retain(|o| args.isolation.is_empty() || args.isolation.iter().any(|n| n == o.name));
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.suits(target.name())).collect();
    if cases.is_empty() {
        bail!("none of the cases is for {}", target.name());
    }
    let bar = bar(cases.len() * offers.len());
    let progress = |done: usize| bar.reach(done as u64);
    let matrix = probe(target, consoles, cases, offers, (stop, &progress))?;
    bar.clear();
    if let Some(why) = matrix.nothing_ran() {
        bail!(
            "none of the cases can be run on {}: {why}\n  hint: docs/probing.md says what databases \
             without SQL can be asked for",
            target.name()
        );
    }
    write_files(args, &matrix)?;
    if args.json {
        terminal::print(&(serde_json::to_string_pretty(&json::to_json(&matrix))? + "\n"))?;
    } else {
        terminal::print(&text::to_text(&matrix, terminal::style()))?;
    }
    Ok(match (matrix.has_findings(), matrix.has_unknown()) {
        (true, _) => EXIT_VIOLATED,
        (false, true) => EXIT_UNKNOWN,
        (false, false) => EXIT_OK,
    })
}

fn write_files(args: &ProbeArgs, matrix: &Matrix) -> Result<()> {
    if let Some(file) = &args.report {
        output::write(
            file,
            args.force,
            |out| Ok(out.write_all(html::to_html(matrix).as_bytes())?),
        )?;
    }
    if let Some(folder) = &args.traces {
        write_traces(folder, args.force, matrix)?;
    }
    match &args.record {
        Some(file) => write_record(file, args.force, &matrix.record()),
        None => Ok(()),
    }
}

/// A file for each case at each level, and why there is none for some.
fn write_traces(folder: &Path, force: bool, matrix: &Matrix) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", shown(folder)))?;
    let mut left_out = Vec::new();
    for (at, offer) in matrix.offers.iter().enumerate() {
        for (case, cell) in matrix.column(at) {
            let file = folder.join(format!("{}.{}.jsonl", case.name, offer.name));
            match isolde_probe::trace(&matrix.database.0, offer, &cell.schedule, &cell.played) {
                Ok(trace) => {
                    output::write(&file, force, |out| Ok(out.write_all(trace.as_bytes())?))?;
                }
                Err(why) => left_out.push(format!("\n  {} at {}: {why}", case.name, offer.name)),
            }
        }
    }
    if !left_out.is_empty() {
        anstream::eprintln!("note: there is no trace of{}", left_out.concat());
    }
    Ok(())
}

fn write_record(file: &Path, force: bool, runs: &[Recorded]) -> Result<()> {
    output::write(file, force, |out| {
        runs.iter().try_for_each(|run| Ok(writeln!(out, "{}", recorded::to_json(run))?))
    })
}

fn replayed(
    args: &ProbeArgs,
    target: &dyn Target,
    consoles: &dyn Consoles,
    runs: &[Recorded],
    stop: &AtomicBool,
) -> Result<u8> {
    let fits = replay::fitting(target, runs);
    if fits.is_empty() {
        bail!("none of the {} recorded runs is of {}", runs.len(), target.name());
    }
    let bar = bar(fits.len());
    let progress = |done: usize| bar.reach(done as u64);
    let done = replay::replay(target, consoles, runs, &fits, (stop, &progress))?;
    bar.clear();
    if let Some(file) = &args.record {
        let now = |r: &Replayed| Recorded { observed: r.now.clone(), ..runs[r.run].clone() };
        write_record(file, args.force, &done.iter().map(now).collect::<Vec<_>>())?;
    }
    let told = if args.json {
        serde_json::to_string_pretty(&replay_to_json(target, runs, &done))? + "\n"
    } else {
        replay_to_text(target, runs, &done)
    };
    terminal::print(&told)?;
    let differs = done.iter().any(|r| !r.differences.is_empty());
    let all_ran = done.len() == fits.len() && done.iter().all(|r| r.failure.is_none());
    Ok(if differs {
        EXIT_VIOLATED
    } else if all_ran {
        EXIT_OK
    } else {
        EXIT_UNKNOWN
    })
}

fn replay_to_text(target: &dyn Target, runs: &[Recorded], done: &[Replayed]) -> String {
    let mut told = String::new();
    for replayed in done.iter().filter(|r| !r.is_same() || r.tries > 1) {
        let run = &runs[replayed.run];
        told += &format!("line {}: {} at {}\n", run.line, run.case, run.level);
        if replayed.is_same() {
            told += &format!(
                "  as recorded when it was tried the {}. time, but not at first:\n",
                replayed.tries
            );
        }
        if let Some(failure) = &replayed.failure {
            told += &format!("  could not be run: {failure}\n");
        }
        for difference in replayed.differences.iter().chain(&replayed.first_differences) {
            let event = |noted: &Option<Noted>| match noted {
                None => "nothing more".to_owned(),
                Some(noted) => {
                    let step = &run.schedule.steps[noted.step];
                    let (session, statement) = (&step.session, &step.statement);
                    format!("{session} {statement}: {} {}", noted.event, noted.result)
                }
            };
            told += &format!("  event {}\n", difference.event + 1);
            told += &format!("    recorded: {}\n", event(&difference.recorded));
            told += &format!("    now:      {}\n", event(&difference.now));
        }
    }
    let same = done.iter().filter(|r| r.is_same()).count();
    told += &format!(
        "{} {}: {same} of {} recorded runs came out as recorded; {} runs of the file are not for it\n",
        target.name(),
        target.version(),
        done.len(),
        runs.len() - done.len(),
    );
    let timed = done.iter().filter(|r| r.is_same() && r.background != Background::Any).count();
    if timed > 0 {
        told += &format!(
            "{timed} of them depend on when the server removes old rows in the background, and came out \
             as recorded when it did so early or late\n"
        );
    }
    let again = |r: &&Replayed| r.is_same() && r.tries > 1 && r.background == Background::Any;
    let again = done.iter().filter(again).count();
    if again > 0 {
        told += &format!(
            "{again} of them came out otherwise the first time, with other schedules at the same time, and as \
             recorded when they were run alone\n"
        );
    }
    told
}

fn replay_to_json(target: &dyn Target, runs: &[Recorded], done: &[Replayed]) -> Value {
    let noted = |noted: &Option<Noted>| {
        noted.as_ref().map(|n| json!({"step": n.step, "event": n.event, "result": n.result}))
    };
    let all: Vec<Value> = done
        .iter()
        .map(|r| {
            let run = &runs[r.run];
            let differences = |list: &[Difference]| -> Vec<Value> {
                let told = list.iter().map(|d| {
                    let (recorded, now) = (noted(&d.recorded), noted(&d.now));
                    json!({"event": d.event, "recorded": recorded, "now": now})
                });
                told.collect()
            };
            let background = match r.background {
                Background::Any => "any",
                Background::Done => "done",
                Background::Held => "held",
            };
            let failure = r.failure.as_ref().map(ToString::to_string);
            json!({
                "line": run.line, "case": run.case, "level": run.level, "same": r.is_same(),
                "background": background, "tries": r.tries, "failure": failure,
                "first_differences": differences(&r.first_differences),
                "differences": differences(&r.differences),
            })
        })
        .collect();
    json!({
        "database": target.name(), "version": target.version(), "recorded": runs.len(),
        "replayed": done.len(), "same": done.iter().filter(|r| r.is_same()).count(), "runs": all,
    })
}
