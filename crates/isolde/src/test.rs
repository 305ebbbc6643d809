//! `isolde test`: run, record, check, explain.

use anyhow::Result;
use isolde_job::reports::Reports;
use isolde_job::{Event, Place, Trial};
use serde_json::Value;

use crate::args::TestArgs;
use crate::event_log::EventLog;
use crate::exit::{EXIT_INTERRUPTED, EXIT_VIOLATED};
use crate::interrupt::Interrupts;
use crate::screen::Screen;
use crate::{plans, terminal};

pub(crate) fn run(args: &TestArgs, interrupts: &Interrupts) -> Result<u8> {
    let plan = plans::test(args)?;
    let mut reports = Reports::new(&args.report, args.force, &[], true)?;
    let log = args.events.as_deref().map(|to| EventLog::new(to, args.force)).transpose()?;
    interrupts.listen()?;
    let several = args.trials.is_some() || args.repeat.is_some() || args.budget.is_some();
    let mut screen = Screen::new(interrupts, log);
    let mut place = None;
    let tested = isolde_job::test(&plan, interrupts.stop(), &mut |event| {
        screen.show(event);
        match event {
            Event::Opened { place: opened } => place = Some((*opened).clone()),
            Event::Tested { trial, place } => {
                add(&mut reports, trial, place);
                screen.note(print(args, several, trial, place));
            }
            Event::Over { trials, elapsed } if several => screen.note(if args.json {
                print_line(&trials.to_json(*elapsed))
            } else {
                terminal::print(&trials.to_text(*elapsed))
            }),
            _ => {}
        }
    });
    screen.finish()?;
    // Nothing was opened, so there is nothing to report.
    let Some(place) = place else { return Ok(tested?.worst().exit_code()) };
    // Whatever was found until something went wrong is worth reporting, and so is that.
    if let Err(error) = &tested {
        reports.add_fault(&place.line(), &format!("{error:#}"));
    }
    let written = reports.write();
    let code = tested?.worst().exit_code();
    written?.iter().for_each(terminal::notice);
    let stopped = interrupts.stop().check_ended() && code != EXIT_VIOLATED;
    Ok(if stopped { EXIT_INTERRUPTED } else { code })
}

fn add(reports: &mut Reports, trial: &Trial, place: &Place) {
    reports.add(&trial.case(place));
    if let Some(why) = trial.says_little() {
        reports.add_fault(&place.line(), why);
    }
}

fn print(args: &TestArgs, several: bool, trial: &Trial, place: &Place) -> Result<()> {
    match (args.json, several) {
        (true, true) => print_line(&trial.to_json(place)),
        (true, false) => terminal::print_json(&trial.to_json(place)),
        (false, true) if !trial.keep => Ok(()),
        (false, _) => terminal::print(&trial.to_text(place, args.all, terminal::style())),
    }
}

fn print_line(value: &Value) -> Result<()> {
    terminal::print(&(value.to_string() + "\n"))
}
