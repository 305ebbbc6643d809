//! `isolde fuzz`.

use std::time::Duration;

use anyhow::{Result, bail};
use isolde_job::fuzz::{
    Found, FuzzPlan, FuzzTally, Fuzzed, Replayed, SavedFinding, What, fuzz, offer_for, replay,
};
use isolde_job::{CommandLine, shown};
use isolde_sql::dialect::Dialect;
use isolde_sql::generate::{Generator as _, RandomGenerator, Sizes};
use isolde_sql::story::story;
use isolde_sql::work::{Effort, Oracles};
use isolde_target::{Target, without_password};
use serde_json::{Value, json};

use crate::args::{FuzzArgs, OracleName};
use crate::exit::{EXIT_FAULT, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::terminal;

/// How long to go on if nothing was said.
const USUAL_BUDGET: Duration = Duration::from_secs(60);
/// How many cases run at the same time: they mostly wait for the server.
const USUAL_WORKERS: usize = 4;
/// How many lines of a finding are shown; all of them are in its folder.
const MOST_LINES: usize = 14;

pub(crate) fn run(args: &FuzzArgs, interrupts: &Interrupts) -> Result<u8> {
    // Whatever is wrong with what was typed is told before a server is started.
    let saved = args.replay.as_deref().map(SavedFinding::read).transpose()?;
    if saved.is_none() && std::fs::symlink_metadata(&args.out).is_ok() {
        bail!("{} exists\n  hint: --out names a folder that is not there yet", shown(&args.out));
    }
    interrupts.listen()?;
    let opening = Progress::spinner(&format!("opening {}", without_password(&args.target)));
    let options = args.server.opening(args.password_file.as_ref());
    let target = isolde_target::open(&args.target, &options)?;
    opening.clear();
    let code = match &saved {
        Some(saved) => replayed(args, &*target, saved)?,
        None => fuzzed(args, &*target, interrupts)?,
    };
    if let Some(server) = target.throwaway().filter(|server| server.kept) {
        anstream::eprintln!("the server stays: {} in {}", server.url, shown(&server.folder));
    }
    Ok(interrupts.exit_code(code))
}

fn oracles(names: &[OracleName]) -> Oracles {
    if names.is_empty() {
        return Oracles::ALL;
    }
    Oracles {
        serial: names.contains(&OracleName::Serial),
        predicate: names.contains(&OracleName::Predicate),
        isolation: names.contains(&OracleName::Isolation),
    }
}

fn fuzzed(args: &FuzzArgs, target: &dyn Target, interrupts: &Interrupts) -> Result<u8> {
    let Some(dialect) = Dialect::of(target.name()) else {
        bail!(
            "it is not known which SQL {} understands\n  hint: PostgreSQL, MariaDB, MySQL and SQLite can be fuzzed",
            target.name()
        );
    };
    let offer = offer_for(target, args.isolation.as_deref())?;
    let seed = args.seed.unwrap_or_else(isolde_job::random_seed);
    let line = CommandLine::new(std::env::args());
    let plan = FuzzPlan {
        seed,
        first: args.first,
        budget: args.budget.or(args.cases.is_none().then_some(USUAL_BUDGET)),
        cases: args.cases,
        parallel: args.parallel.map_or(USUAL_WORKERS, |count| count as usize),
        effort: Effort {
            oracles: oracles(&args.oracle),
            orders: args.orders as usize,
            ..Effort::default()
        },
        folder: Some(args.out.clone()),
        command: line.with_seed(seed),
    };
    let sizes = if args.large { Sizes::large() } else { Sizes::default() };
    let make = |number: u64| RandomGenerator::new(seed, dialect).with_sizes(sizes).case(number);
    let bar = match args.cases {
        Some(cases) => Progress::bar(cases, "{bar:12} {pos} of {len} cases {msg}"),
        None => Progress::spinner("no case yet"),
    };
    let told = |tally: &FuzzTally, findings: usize| {
        bar.reach(tally.cases);
        bar.say(line_of(tally, findings));
    };
    let fuzzed = fuzz(target, offer, &plan, &make, interrupts.stop(), &told)?;
    bar.clear();
    if args.json {
        let all = to_json(target, offer.name, seed, &fuzzed);
        terminal::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        terminal::print(&to_text(target, offer.name, seed, &fuzzed))?;
    }
    if let Some(trouble) = &fuzzed.trouble {
        anstream::eprintln!("{}: {trouble}", terminal::ERROR.label("error"));
    }
    Ok(match (fuzzed.tally.findings, fuzzed.trouble.is_some(), fuzzed.tally.judged) {
        (1.., _, _) => EXIT_VIOLATED,
        (0, true, _) => EXIT_FAULT,
        (0, false, 0) => EXIT_UNKNOWN,
        (0, false, _) => EXIT_OK,
    })
}

fn line_of(tally: &FuzzTally, findings: usize) -> String {
    format!(
        "{} statements, {:.0}% without error, {:.0}% of {} cases reached the serial oracle, {findings} findings",
        tally.statements,
        100.0 * tally.share_without_error(),
        100.0 * tally.share_reached(),
        tally.cases,
    )
}

fn to_text(target: &dyn Target, level: &str, seed: u64, fuzzed: &Fuzzed) -> String {
    let tally = &fuzzed.tally;
    let (name, version) = (target.name(), target.version());
    let mut text = format!("{name} {version} at {level}, seed {seed}\n");
    for found in fuzzed.findings.iter().filter(|found| !found.documented) {
        text += &finding(found);
    }
    let seconds = fuzzed.took.as_secs_f64();
    text += &format!(
        "  cases         {} in {seconds:.1} s ({:.1} a second), {:.0}% reached the serial oracle\n",
        tally.cases,
        tally.cases as f64 / seconds.max(0.001),
        100.0 * tally.share_reached(),
    );
    text += &format!(
        "  statements    {} in {} transactions, {:.0}% without error; {} compared with a serial case, {} cut\n",
        tally.statements,
        tally.transactions,
        100.0 * tally.share_without_error(),
        tally.compared,
        tally.cut,
    );
    for (why, count) in &tally.given_up {
        text += &format!("  given up      {count}: {}\n", why.name());
    }
    if tally.documented > 0 {
        text +=
            &format!("  documented    {} differences, which are no findings\n", tally.documented);
    }
    text += &match tally.findings {
        0 if tally.judged == 0 => "  nothing can be said: no case reached an oracle\n".to_owned(),
        0 => "  findings      none\n".to_owned(),
        count => format!("  findings      {count}\n"),
    };
    text
}

/// A finding in a few lines.
fn finding(found: &Found) -> String {
    let story = match &found.what {
        What::Sql(suspect) => story(&found.case, suspect),
        What::Isolation(_) => "the level is broken: seen.txt and history.jsonl say how".to_owned(),
    };
    let times = if found.times > 1 { format!(", {} times", found.times) } else { String::new() };
    let mut text = format!("FINDING in case {}{times}: {}\n", found.number, found.signature);
    for line in story.lines().take(MOST_LINES) {
        text += &format!("    {line}\n");
    }
    if let Some(folder) = &found.folder {
        text += &format!("    all of it: {}\n", shown(folder));
    }
    text
}

fn to_json(target: &dyn Target, level: &str, seed: u64, fuzzed: &Fuzzed) -> Value {
    let found = |found: &Found| {
        json!({
            "case": found.number,
            "signature": found.signature,
            "times": found.times,
            "documented": found.documented,
            "folder": found.folder.as_deref().map(shown),
        })
    };
    json!({
        "server": target.name(),
        "version": target.version(),
        "isolation": level,
        "seed": seed,
        "seconds": fuzzed.took.as_secs_f64(),
        "cases_a_second": fuzzed.tally.cases as f64 / fuzzed.took.as_secs_f64().max(0.001),
        "tally": fuzzed.tally.to_json(),
        "findings": fuzzed.findings.iter().map(found).collect::<Vec<_>>(),
        "trouble": fuzzed.trouble,
    })
}

fn replayed(args: &FuzzArgs, target: &dyn Target, saved: &SavedFinding) -> Result<u8> {
    if target.name() != saved.server {
        bail!("it was found on {}, and this is {}", saved.server, target.name());
    }
    let level = args.isolation.as_deref().unwrap_or(&saved.isolation);
    let offer = offer_for(target, Some(level))?;
    let Replayed { same, others, given_up } = replay(target, offer, saved)?;
    if args.json {
        let all = json!({"signature": saved.signature, "isolation": level, "shows": same.is_some(),
                         "seen": same, "others": others, "given_up": given_up});
        terminal::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        let mut text = match &same {
            Some(seen) => format!("it still shows: {}\n{seen}\n", saved.signature),
            None => format!("it does not show: {}\n", saved.signature),
        };
        for other in &others {
            text += &format!("something else shows:\n{other}\n");
        }
        if let Some(why) = &given_up {
            text += &format!("the case did not run to its end: {why}\n");
        }
        terminal::print(&text)?;
    }
    Ok(match (same.is_some() || !others.is_empty(), given_up.is_some()) {
        (true, _) => EXIT_VIOLATED,
        (false, true) => EXIT_UNKNOWN,
        (false, false) => EXIT_OK,
    })
}
