//! `isolde test`: run, record, check, explain.

use std::time::Duration;

use anyhow::Result;
use isolde_job::found::ShownFindings;
use isolde_job::reports::Reports;
use isolde_job::{Event, Place, Trial, Trials};
use isolde_stream::StreamEvent;
use serde_json::Value;

use crate::args::TestArgs;
use crate::event_log::EventLog;
use crate::interrupt::Interrupts;
use crate::screen::Screen;
use crate::{plans, terminal};

/// How many violations of an anomaly are shown while runs go on; the report shows the others.
const MOST_SHOWN: u64 = 3;

pub(crate) fn run(args: &TestArgs, interrupts: &Interrupts) -> Result<u8> {
    let plan = plans::test(args)?;
    let mut reports = Reports::new(&args.report, args.force, &[], true)?;
    let log = args.events.as_deref().map(|to| EventLog::new(to, args.force)).transpose()?;
    interrupts.listen()?;
    let several = args.trials.is_some() || args.repeat.is_some() || args.budget.is_some();
    let mut screen = Screen::new(interrupts, log);
    let mut place = None;
    let mut shown = ShownFindings::new(MOST_SHOWN);
    let tested = isolde_job::test(&plan, interrupts.stop(), &mut |event| {
        screen.show(event);
        match event {
            Event::Found { event } => screen.note(print_found(args, event, &mut shown)),
            Event::Opened { place: opened } => place = Some((*opened).clone()),
            Event::Tested { trial, place } => {
                add(&mut reports, trial, place);
                screen.note(print(args, several, trial, place));
            }
            Event::Over { trials, elapsed } => {
                if let (Some(why), Some(place)) = (trials.says_nothing(), &place) {
                    reports.add_fault(&place.line(), why);
                }
                if several || trials.count() == 0 {
                    screen.note(print_all(args, trials, *elapsed));
                }
            }
            _ => {}
        }
    });
    screen.finish()?;
    // Nothing was opened, so there is nothing to report.
    let Some(place) = place else { return Ok(interrupts.exit_code(tested?.worst().exit_code())) };
    // Whatever was found until something went wrong is worth reporting, and so is that.
    if let Err(error) = &tested {
        reports.add_fault(&place.line(), &format!("{error:#}"));
    }
    let written = reports.write();
    let code = tested?.worst().exit_code();
    written?.iter().for_each(terminal::notice);
    Ok(interrupts.exit_code(code))
}

/// Prints a violation that is found while a run goes on, where texts are printed.
fn print_found(args: &TestArgs, event: &StreamEvent, shown: &mut ShownFindings) -> Result<()> {
    let to_stdout = args.events.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if args.json || to_stdout {
        return Ok(());
    }
    shown.text(event, terminal::style()).map_or(Ok(()), |text| terminal::print(&text))
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
        // One line a run, as soon as it is over: a log shows how far it is.
        (false, true) if !trial.keep => terminal::print(&(trial.line() + "\n")),
        (false, _) => terminal::print(&trial.to_text(place, args.all, terminal::style())),
    }
}

fn print_all(args: &TestArgs, trials: &Trials, elapsed: Duration) -> Result<()> {
    match args.json {
        true => print_line(&trials.to_json(elapsed)),
        false => terminal::print(&trials.to_text(elapsed)),
    }
}

fn print_line(value: &Value) -> Result<()> {
    terminal::print(&(value.to_string() + "\n"))
}
