//! `isolde driver check`.

use std::time::Duration;

use anyhow::Result;
use isolde_target::{Check, CheckStep, Found, check_driver};
use serde_json::{Value, json};

use crate::args::{DriverArgs, DriverCheckArgs, DriverCommand};
use crate::exit::{EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::terminal;

pub(crate) fn run(args: &DriverArgs, interrupts: &Interrupts) -> Result<u8> {
    match &args.command {
        DriverCommand::Check(args) => check(args, interrupts),
    }
}

fn check(args: &DriverCheckArgs, interrupts: &Interrupts) -> Result<u8> {
    interrupts.listen()?;
    // What a target is called is taken, too.
    let command = args.driver.strip_prefix("driver:").unwrap_or(&args.driver);
    // Each is told as soon as it is known: a driver that hangs is waited for, again and again.
    let mut printed = Ok(());
    let mut bar: Option<Progress> = None;
    let mut told = |step: CheckStep<'_>| {
        if let Some(bar) = bar.take() {
            bar.clear();
        }
        match step {
            CheckStep::Begins(name) => bar = Some(Progress::spinner(name)),
            CheckStep::Done(check) if !args.json && printed.is_ok() => {
                printed = terminal::print(&line(check));
            }
            CheckStep::Done(_) => {}
        }
        !interrupts.stop().run_ended()
    };
    let checks = check_driver(command, args.timeout, &mut told);
    printed?;
    if interrupts.stop().run_ended() {
        let by = interrupts.stop().ended_by().map_or("a signal", |by| by.name);
        anstream::eprintln!("ended by {by} after {} checks", checks.len());
        return Ok(interrupts.exit_code(EXIT_UNKNOWN));
    }
    if args.json {
        terminal::print(&(serde_json::to_string_pretty(&to_json(command, &checks))? + "\n"))?;
    } else {
        terminal::print(&sum(&checks))?;
    }
    Ok(if failed(&checks) == 0 { EXIT_OK } else { EXIT_VIOLATED })
}

fn failed(checks: &[Check]) -> usize {
    checks.iter().filter(|check| matches!(check.found, Found::Wrong(_))).count()
}

/// How wide the names of checks are.
const WIDTH: usize = 17;

/// A check that takes longer than this says so.
const LONG: Duration = Duration::from_secs(1);

fn line(Check { name, expected, found, took }: &Check) -> String {
    let took = match *took >= LONG {
        true => format!(" ({:.1} s)", took.as_secs_f64()),
        false => String::new(),
    };
    match found {
        Found::Good => format!("ok      {name:WIDTH$}  {expected}{took}\n"),
        Found::Wrong(what) => {
            let indent = " ".repeat(WIDTH + 10);
            let what = what.replace('\n', &format!("\n{indent}"));
            format!("FAILED  {name:WIDTH$}  expected: {expected}{took}\n{indent}found: {what}\n")
        }
        Found::Skipped(why) => format!("--      {name:WIDTH$}  {why}\n"),
    }
}

fn sum(checks: &[Check]) -> String {
    match (failed(checks), checks.len()) {
        (0, _) => "the driver keeps to the protocol\n".to_owned(),
        (failed, 1) => format!("{failed} check failed; without it there are no others\n"),
        (failed, all) => format!("{failed} of {all} checks failed\n"),
    }
}

fn to_json(command: &str, checks: &[Check]) -> Value {
    let list: Vec<Value> = checks
        .iter()
        .map(|check| {
            let (result, found) = match &check.found {
                Found::Good => ("ok", None),
                Found::Wrong(what) => ("failed", Some(what)),
                Found::Skipped(why) => ("skipped", Some(why)),
            };
            let Check { name, expected, .. } = check;
            let seconds = check.took.as_secs_f64();
            json!({
                "name": name, "expected": expected, "result": result, "found": found,
                "seconds": seconds,
            })
        })
        .collect();
    json!({"command": command, "ok": failed(checks) == 0, "failed": failed(checks), "checks": list})
}
