//! `isolde record`.

use anyhow::{Result, bail};
use isolde_job::{Event, Stage, output, ran, shown};
use serde_json::json;

use crate::args::{RecordArgs, ShowName};
use crate::event_log::EventLog;
use crate::exit::{EXIT_FAULT, EXIT_OK};
use crate::interrupt::Interrupts;
use crate::screen::Screen;
use crate::{plans, terminal};

pub(crate) fn run(args: &RecordArgs, interrupts: &Interrupts) -> Result<u8> {
    output::may_write(&args.to, args.force)?;
    let known = args.to.extension().is_some_and(|e| e == "isolde" || e == "jsonl");
    if !known {
        bail!(
            "a run is recorded as .isolde or .jsonl, not as {}\n  hint: `isolde convert` makes others of them",
            shown(&args.to)
        );
    }
    if args.run.evidence == Some(ShowName::Intervals) {
        bail!(
            "when statements are sent and answered is recorded anyway\n  hint: isolde check --evidence intervals FILE \
             judges the record by it"
        );
    }
    let log = args.events.as_deref().map(|to| EventLog::new(to, args.force)).transpose()?;
    interrupts.listen()?;
    let mut screen = Screen::new(interrupts, log);
    let watch = &mut |event: &Event<'_>| screen.show(event);
    let mut stage = Stage::open(&plans::run(&args.run), &[], watch)?;
    stage.set_overwrite(args.force);
    let seed = stage.place().settings.seed;
    watch(&Event::Began { number: 0, seed, file: &args.to });
    let ran = stage.run(seed, &args.to, interrupts.stop(), watch);
    if let Some(notice) = stage.clean() {
        watch(&Event::Notice(&notice));
    }
    screen.finish()?;
    let ran = ran?;
    let by = interrupts.stop().ended_by();
    if args.json {
        let mut report = stage.place().to_json(seed);
        report["history"] = json!(args.to.display().to_string());
        report["run"] = ran::to_json(&ran, by);
        report["peak_memory_bytes"] = json!(ran::peak_memory());
        terminal::print_json(&report)?;
    } else {
        terminal::print(&format!(
            "database   {}\nworkload   {}\nrun        {}\nhistory    {}\n",
            stage.place().line(),
            stage.place().workload(seed),
            ran::to_text(&ran, by),
            shown(&args.to)
        ))?;
    }
    let well = ran.gave_up.is_empty() && ran.hung.is_none();
    Ok(interrupts.exit_code(if well { EXIT_OK } else { EXIT_FAULT }))
}
