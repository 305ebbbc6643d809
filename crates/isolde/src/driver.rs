//! `isolde driver check`.

use anyhow::Result;
use isolde_target::{Check, Found, check_driver};
use serde_json::{Value, json};

use crate::args::{DriverArgs, DriverCheckArgs, DriverCommand};
use crate::{EXIT_OK, EXIT_VIOLATED, interrupt, load, ran};

pub(crate) fn run(args: &DriverArgs) -> Result<u8> {
    match &args.command {
        DriverCommand::Check(args) => check(args),
    }
}

fn check(args: &DriverCheckArgs) -> Result<u8> {
    interrupt::listen()?;
    // What a target is called is taken, too.
    let command = args.driver.strip_prefix("driver:").unwrap_or(&args.driver);
    let checking = load::progress(&format!("checking {command}"));
    let checks = check_driver(command, args.timeout);
    checking.finish_and_clear();
    if args.json {
        ran::print(&(serde_json::to_string_pretty(&to_json(command, &checks))? + "\n"))?;
    } else {
        ran::print(&to_text(&checks))?;
    }
    Ok(if failed(&checks) == 0 { EXIT_OK } else { EXIT_VIOLATED })
}

fn failed(checks: &[Check]) -> usize {
    checks.iter().filter(|check| matches!(check.found, Found::Wrong(_))).count()
}

fn to_text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Check { name, expected, found } in checks {
        text += &match found {
            Found::Good => format!("ok      {name:width$}  {expected}\n"),
            Found::Wrong(what) => {
                let indent = " ".repeat(width + 10);
                format!("FAILED  {name:width$}  expected: {expected}\n{indent}found: {what}\n")
            }
            Found::Skipped(why) => format!("--      {name:width$}  {why}\n"),
        };
    }
    text += &match (failed(checks), checks.len()) {
        (0, _) => "the driver keeps to the protocol\n".to_owned(),
        (failed, 1) => format!("{failed} check failed; without it there are no others\n"),
        (failed, all) => format!("{failed} of {all} checks failed\n"),
    };
    text
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
            json!({"name": name, "expected": expected, "result": result, "found": found})
        })
        .collect();
    json!({"command": command, "ok": failed(checks) == 0, "failed": failed(checks), "checks": list})
}
