//! One run of a test: recorded, checked, and kept if something was found.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use isolde_history::History;
use isolde_report::{Decided, HtmlReport, Style};
use isolde_run::Ran;
use isolde_spec::{By, Level, Profile};
use isolde_target::Failure;

use crate::asking::Asking;
use crate::bounds::Bounds;
use crate::event::{Event, Watch};
use crate::folder::{Folder, HISTORY, SPILL};
use crate::notice::Notice;
use crate::online::{Agreement, Online, OnlineOutcome};
use crate::place::Place;
use crate::plan::{OnlinePlan, TestPlan};
use crate::stage::Stage;
use crate::stop::Stop;
use crate::trial::Trial;
use crate::trial_outcome::TrialOutcome;
use crate::{excerpts, load};

/// Runs, records and checks.
pub(crate) fn run(
    plan: &TestPlan,
    (stage, levels): (&Stage, &[Level]),
    number: u64,
    stop: &Stop,
    watch: Watch<'_>,
) -> Result<Trial> {
    let seed = stage.place().settings.seed.wrapping_add(number);
    let name = format!("{}-{}-{seed}", file_name(stage.place()), stage.place().offer.name);
    let folder = Folder::new(&plan.folder, &name)?;
    let file = folder.file(HISTORY);
    watch(&Event::Began { number, seed, file: &file });
    let spill = folder.file(SPILL);
    let online = online(plan, stage, levels, &spill);
    let ran = online.and_then(|online| stage.run_online(seed, &file, online, stop, watch));
    // What did not fit into memory is of no use any more.
    let _ = fs::remove_dir_all(&spill);
    let (ran, mut online) = ran.inspect_err(|_| folder.remove_if_empty())?;
    let began = Instant::now();
    watch(&Event::Checking { file: &file });
    let format = Some(load::named("isolde")?);
    let reading = load::Reading { format, ..load::Reading::default() };
    let loaded = load::load(&file, &reading)?;
    for notice in load::notices(&loaded.warnings) {
        watch(&Event::Notice(&notice));
    }
    let history = loaded.history;
    let bounds = Bounds::new(plan.check_timeout, plan.check_memory, None, stop);
    let mut asking = Asking::within(bounds);
    if let Some(intervals) = &plan.intervals {
        (asking.evidence, asking.intervals) = (vec![By::Intervals], intervals.clone());
        // How `isolde check` is asked the same of a piece of the history.
        let profile = intervals.profile.as_ref().map(Profile::word);
        let profile = profile.map_or(String::new(), |word| format!(" --profile {word}"));
        asking.typed = format!(" --evidence intervals{profile}");
    }
    let mut told = |verdict: &_| watch(&Event::Decided { verdict });
    let decided = asking.decide(&history, levels, &mut told)?;
    let verification = began.elapsed();
    if let Some(online) = &mut online {
        compare(online, (&history, &decided, &ran), &asking, plan, stop);
        say_what_is_wrong(online, &file, watch);
    }
    let outcome = with_online(outcome(&ran, &decided), online.as_ref());
    let differs = |o: &OnlineOutcome| matches!(o.agreement, Agreement::Differs(_));
    let differs = online.as_ref().is_some_and(differs);
    let found = matches!(outcome, TrialOutcome::Violated | TrialOutcome::AtFault);
    let keep = plan.keep_all || found || differs;
    let ended_by = stop.ended_by();
    Ok(Trial {
        number,
        seed,
        ran,
        history,
        decided,
        verification,
        outcome,
        keep,
        online,
        ended_by,
        folder,
        asking,
    })
}

/// The stream that checks the run while it goes on, if that is wanted.
fn online(
    plan: &TestPlan,
    stage: &Stage,
    levels: &[Level],
    spill: &Path,
) -> Result<Option<Online>> {
    let Some(OnlinePlan { stop }) = plan.online else { return Ok(None) };
    let held_to = stage.online_promise(levels, plan.intervals.as_ref())?;
    fs::create_dir(spill).with_context(|| format!("cannot make {}", spill.display()))?;
    Online::start(&held_to, stop, spill).map(Some)
}

/// Holds what the stream said against the same promise, asked of the record.
fn compare(
    online: &mut OnlineOutcome,
    (history, decided, ran): (&History, &[Decided], &Ran),
    asking: &Asking,
    plan: &TestPlan,
    stop: &Stop,
) {
    let promise = online.promise;
    let same = decided.iter().find(|decided| decided.verdict.promise == promise);
    let asked = same.is_none().then(|| asking.ask(history, promise));
    let Some(verdict) = same.map(|decided| &decided.verdict).or(asked.as_ref()) else { return };
    let limited = asking.bounds.is_late() || stop.check_ended() || plan.check_memory.is_some();
    online.compare(verdict, ran.progress.committed, limited);
}

/// Tells what is wrong with the stream itself.
fn say_what_is_wrong(online: &OnlineOutcome, file: &Path, watch: Watch<'_>) {
    if let Some(why) = &online.failed {
        watch(&Event::Notice(&Notice::Warning(format!(
            "the run could not be checked online: {why}"
        ))));
    }
    if let Agreement::Differs(how) = &online.agreement {
        let file = file.display();
        let text = format!(
            "the online verdict and the check of the record disagree: {how}\n  This is a fault of Isolde: neither \
             of them can be trusted. Please report it, with {file}"
        );
        watch(&Event::Notice(&Notice::Warning(text)));
    }
}

/// What a run says if it was checked online, too.
fn with_online(outcome: TrialOutcome, online: Option<&OnlineOutcome>) -> TrialOutcome {
    match online {
        Some(online) if matches!(online.agreement, Agreement::Differs(_)) => TrialOutcome::Unknown,
        Some(online) if online.failed.is_some() && outcome != TrialOutcome::Violated => {
            TrialOutcome::AtFault
        }
        _ => outcome,
    }
}

/// Writes the reports beside the history, where something was found; removes everything else.
pub(crate) fn settle(
    trial: &Trial,
    plan: &TestPlan,
    place: &Place,
    watch: Watch<'_>,
) -> Result<()> {
    if !trial.keep {
        trial.folder.remove();
        return Ok(());
    }
    let write = |name: &str, content: &str| {
        let path = trial.folder.file(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    };
    write("report.txt", &trial.to_text(place, plan.all_witnesses, Style::default()))?;
    let json = serde_json::to_string_pretty(&trial.to_json(place))? + "\n";
    write("report.json", &json)?;
    let case = trial.case(place);
    let mut html = HtmlReport::new(&place.line());
    html.add(&case);
    write("report.html", &html.finish())?;
    if trial.outcome == TrialOutcome::Violated {
        let folder = trial.folder.file("excerpts");
        for notice in excerpts::write(&folder, "witness", &case, &trial.asking, None)? {
            watch(&Event::Notice(&notice));
        }
    }
    watch(&Event::Kept { folder: &trial.folder.path });
    Ok(())
}

/// What a run says: what the checker found, or why that says little.
fn outcome(ran: &Ran, decided: &[Decided]) -> TrialOutcome {
    let impossible = ran.troubles.iter().any(|t| t.code == Failure::IMPOSSIBLE);
    match TrialOutcome::of(decided) {
        TrialOutcome::Violated => TrialOutcome::Violated,
        _ if impossible || ran.hung.is_some() || !ran.gave_up.is_empty() => TrialOutcome::AtFault,
        TrialOutcome::Holds | TrialOutcome::NoViolation if ran.progress.committed == 0 => {
            TrialOutcome::Unknown
        }
        outcome => outcome,
    }
}

/// The database's name as part of a folder's.
fn file_name(place: &Place) -> String {
    let name = place.database.to_lowercase();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
