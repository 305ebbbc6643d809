//! `isolde clean`: what runs that were killed left on a server.

use anyhow::{Result, bail};
use isolde_target::{Leftover, OpenOptions, without_password};
use serde_json::json;

use crate::args::CleanArgs;
use crate::exit::{EXIT_FAULT, EXIT_OK};
use crate::interrupt::Interrupts;
use crate::terminal;

pub(crate) fn run(args: &CleanArgs, interrupts: &Interrupts) -> Result<u8> {
    let shown = without_password(&args.target);
    if !args.target.contains(':') {
        bail!(
            "'{shown}' is no address\n  hint: a server of yours is named by a URL; throwaway servers leave \
             nothing behind"
        );
    }
    interrupts.listen()?;
    let password_file = args.password_file.clone();
    let options = OpenOptions { password_file, ..OpenOptions::default() };
    let target = isolde_target::open(&args.target, &options)?;
    let Some(all) = target.leftovers()? else {
        bail!("{} cannot tell what runs left behind", target.name());
    };
    let mut failed = 0;
    let mut lines = Vec::new();
    for left in &all {
        let fate = match (args.force, left.in_use) {
            (false, true) => "in use".to_owned(),
            (false, false) => "left behind".to_owned(),
            (true, true) => "in use, not removed".to_owned(),
            (true, false) => target.remove_leftover(left).map_or_else(
                |failure| {
                    failed += 1;
                    format!("not removed: {failure}")
                },
                |()| "removed".to_owned(),
            ),
        };
        lines.push((left, fate));
    }
    if args.json {
        terminal::print_json(&to_json(&lines))?;
    } else {
        terminal::print(&to_text(args, &lines))?;
    }
    Ok(if failed == 0 { EXIT_OK } else { EXIT_FAULT })
}

fn to_json(lines: &[(&Leftover, String)]) -> serde_json::Value {
    let one = |(left, fate): &(&Leftover, String)| json!({"kind": left.kind, "name": left.name, "in_use": left.in_use, "fate": fate});
    lines.iter().map(one).collect()
}

fn to_text(args: &CleanArgs, lines: &[(&Leftover, String)]) -> String {
    if lines.is_empty() {
        return "nothing was left behind\n".to_owned();
    }
    let line =
        |(left, fate): &(&Leftover, String)| format!("{} {}: {fate}\n", left.kind, left.name);
    let mut text: String = lines.iter().map(line).collect();
    if !args.force {
        text += "nothing was removed; --force removes what is not in use\n";
    }
    text
}
