//! `isolde watch`.

mod curves;
mod event_lines;
mod kept;
mod promised;
mod saved;
mod spill;
mod status_line;
mod summary;

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use isolde_history::History;
use isolde_job::found::{self, ShownFindings};
use isolde_job::reports::Reports;
use isolde_job::{IntervalQuestion, levels, shown};
use isolde_report::number;
use isolde_spec::{By, Level, Promise};
use isolde_stream::{StreamAnswer, StreamEvent, Told};
use isolde_watch::{News, Said, Watch, WatchPlan, WatchSource};

use crate::args::WatchArgs;
use crate::exit::{EXIT_FAULT, EXIT_OK, EXIT_UNKNOWN, EXIT_VIOLATED};
use crate::interrupt::Interrupts;
use crate::terminal;
use event_lines::{EventLines, OfState};
use kept::Kept;
use saved::Saved;
use spill::Spill;
use status_line::StatusLine;

/// How many bad lines are shown, how many late transactions, and how many violations of an anomaly; more are counted.
const MOST_SHOWN: u64 = 20;

pub(crate) fn run(args: &WatchArgs, interrupts: &Interrupts) -> Result<u8> {
    let wanted = levels(args.level.as_slice())?.first().copied();
    let by = args.evidence.map(By::from);
    is_possible(args)?;
    let question = args.intervals.question()?;
    let mut reports = reports(args)?;
    // A state has room of its own for what does not fit into memory.
    let spill = args.state.is_none().then(|| Spill::new(args.spill.as_deref())).transpose()?;
    let watch =
        Watch::open(plan(args, spill.as_ref(), &question)).map_err(|error| anyhow!("{error}"))?;
    is_held_to(args, wanted, by, &watch)?;
    let events = open_events(args, &watch)?;
    let name = watch.name().to_owned();
    interrupts.listen_for_watch()?;
    let mut view = View::new(args, events, Saved::of(watch.saved()));
    view.line.say(&format!("watching {name}; Ctrl-C ends it"));
    if let Some(at) = &watch.metrics {
        view.line.say(&format!("metrics at http://{at}/metrics"));
    }
    let note = RefCell::new(None);
    let choose = |history: &History| {
        let chosen = promised::choose(history, wanted, by, &question)?;
        *note.borrow_mut() = chosen.note;
        Ok(chosen.held_to)
    };
    let ended = || interrupts.stop().run_ended();
    let outcome = watch.run(&choose, &ended, &mut |news| {
        view.show(&news);
        if view.failed.is_some() {
            interrupts.stop().end_run();
        }
        if matches!(news, News::Began(_)) {
            note.borrow_mut().take().iter().for_each(|note: &String| view.line.say(note));
        }
    });
    view.line.clear();
    let outcome = outcome.map_err(|error| anyhow!("{error}"))?;
    let watched = summary::watched(&name, args, &outcome, view.kept.count());
    reports.watch(&watched);
    view.kept.add_to(&mut reports);
    // Before the summary: a reader of that who goes away does not take the reports with them.
    match reports.write() {
        Ok(notices) => notices.iter().for_each(terminal::notice),
        Err(error) => {
            view.failed.get_or_insert(error);
        }
    }
    // A standard output that takes nothing has said so before.
    let printed = summary::print(args, &watched);
    if let Err(error) = printed {
        anstream::eprint!("{}", watched.to_text());
        view.failed.get_or_insert(error);
    }
    if let Some(failed) = &outcome.failed {
        terminal::error(&anyhow!("{failed}"));
    }
    let code = match (outcome.figures.status.answer(), outcome.failed.is_some()) {
        (StreamAnswer::Violated, _) => EXIT_VIOLATED,
        (_, true) => EXIT_FAULT,
        (StreamAnswer::Holds | StreamAnswer::NoViolation { enough: true }, _) => EXIT_OK,
        (StreamAnswer::NoViolation { enough: false } | StreamAnswer::Unknown, _) => EXIT_UNKNOWN,
    };
    match view.failed {
        Some(error) if code != EXIT_VIOLATED => Err(error),
        Some(error) => {
            terminal::error(&error);
            Ok(code)
        }
        None => Ok(code),
    }
}

/// Refuses what cannot go together.
fn is_possible(args: &WatchArgs) -> Result<()> {
    let listens = match &args.source {
        WatchSource::Tcp(_) | WatchSource::Unix(_) => Some("connections"),
        WatchSource::Http(_) => Some("requests"),
        WatchSource::Stdin | WatchSource::File(_) => None,
    };
    if let Some(what) = listens.filter(|_| args.until_end) {
        bail!(
            "{what} may come for ever, so there is no end for --until-end\n  hint: leave it out; Ctrl-C \
             ends the watch"
        );
    }
    let by_intervals = args.evidence.map(By::from) == Some(By::Intervals);
    if args.intervals.profile.is_some() && !by_intervals {
        bail!("--profile says how a server works, which matters with --evidence intervals only");
    }
    Ok(())
}

/// What reports of a watch can be, by the endings of their names.
const ENDINGS: [&str; 7] = ["html", "htm", "json", "txt", "svg", "dot", "gv"];

/// Refuses what cannot be written before anything is read.
fn reports(args: &WatchArgs) -> Result<Reports> {
    let ends = |file: &PathBuf, ending: &str| {
        file.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
    };
    let is_other = |file: &&PathBuf| !ENDINGS.iter().any(|ending| ends(file, ending));
    if let Some(file) = args.report.iter().find(is_other) {
        let why = match ends(file, "xml") {
            true => "JUnit reports are about histories, not about a watch",
            false => "the name does not say what to write",
        };
        bail!(
            "{}: {why}\n  hint: endings are .html, .json, .txt, .svg and .dot (the first violation)",
            shown(file)
        );
    }
    let inputs = match &args.source {
        WatchSource::File(file) => vec![file.clone()],
        _ => Vec::new(),
    };
    Reports::new(&args.report, args.force, &inputs, true)
}

/// A watch that goes on is held to what it was held to before.
fn is_held_to(
    args: &WatchArgs,
    wanted: Option<Level>,
    by: Option<By>,
    watch: &Watch,
) -> Result<()> {
    let Some(promise) = watch.promise() else { return Ok(()) };
    // A profile may promise more than was asked for.
    let is_kept = |wanted: Level| match promise.by {
        By::Intervals => promise.level.implies(wanted),
        _ => promise.level == wanted,
    };
    let same_level = wanted.is_none_or(is_kept);
    if same_level && by.is_none_or(|by| by == promise.by) {
        return Ok(());
    }
    let folder = args.state.as_deref().map(shown).unwrap_or_default();
    let (level, by) = (wanted.unwrap_or(promise.level), by.unwrap_or(promise.by));
    let asked = Promise { level, by, ..promise };
    bail!(
        "{folder} has the state of a watch of {}, not of {}\n  \
         hint: another folder begins anew",
        promised::named(promise),
        promised::named(asked)
    )
}

fn open_events(args: &WatchArgs, watch: &Watch) -> Result<Option<EventLines>> {
    let Some(path) = &args.events else { return Ok(None) };
    let events = match watch.state_id() {
        Some(id) => {
            let saved = Saved::of(watch.saved());
            EventLines::of_state(path, args.force, &OfState { id, saved })
        }
        None => EventLines::new(path, args.force),
    };
    events.map(Some)
}

fn plan(args: &WatchArgs, spill: Option<&Spill>, question: &IntervalQuestion) -> WatchPlan {
    WatchPlan {
        source: args.source.clone(),
        said: Said { initial: args.initial.clone(), facts: args.facts.clone() },
        profile: question.profile.clone(),
        share: question.share,
        timeout: args.timeout,
        memory: args.memory,
        keep: args.keep,
        folder: spill.map(Spill::path),
        state: args.state.clone(),
        strict: args.strict,
        until_end: args.until_end,
        stop: args.stop,
        anywhere: args.listen_anywhere,
        metrics: args.metrics.clone(),
    }
}

/// What the user sees of a watch while it goes on.
struct View {
    line: StatusLine,
    events: Option<EventLines>,
    /// What is saved of them with a state.
    saved: Saved,
    /// Whether violations are printed.
    prints: bool,
    shown: ShownFindings,
    kept: Kept,
    late: u64,
    troubles: u64,
    /// The first thing that could not be written.
    failed: Option<anyhow::Error>,
}

impl View {
    fn new(args: &WatchArgs, events: Option<EventLines>, saved: Option<Saved>) -> View {
        let to_stdout = args.events.as_ref().is_some_and(|path| path.as_os_str() == "-");
        View {
            line: StatusLine::new(),
            events,
            saved: saved.unwrap_or_default(),
            prints: !args.json && !to_stdout,
            shown: ShownFindings::new(MOST_SHOWN),
            kept: Kept::default(),
            late: 0,
            troubles: 0,
            failed: None,
        }
    }

    fn show(&mut self, news: &News<'_>) {
        match news {
            News::Began(promise) => {
                let promise = promised::named(*promise);
                self.line.say(&format!("transactions are held to {promise}"));
            }
            News::GoesOn(promise, txns) => {
                let s = if *txns == 1 { "" } else { "s" };
                let txns = number(*txns);
                let promise = promised::named(*promise);
                self.line.say(&format!("going on after {txns} transaction{s}, held to {promise}"));
            }
            News::Save(saved) => *saved.borrow_mut() = self.save(),
            News::Found(event) => self.found(event),
            News::Bad(why, number) if *number <= MOST_SHOWN => self.line.warn(why),
            News::Bad(_, number) if *number == MOST_SHOWN + 1 => {
                self.line.warn("more lines could not be read, and are only counted from now on");
            }
            News::Bad(..) => {}
            News::Notice(text) => self.line.say(text),
            News::Behind => self.line.warn("the source is faster than the check, and is held back"),
            News::Figures(figures) => self.line.show(figures),
        }
    }

    /// What a state has to know of what was told. Nothing if some of it could not be written: it has to come again.
    fn save(&mut self) -> Option<Vec<u8>> {
        if self.failed.is_some() {
            return None;
        }
        match self.events.as_ref().map(EventLines::save).transpose() {
            Ok(events) => {
                self.saved.now_in(events.flatten());
                Some(self.saved.to_bytes())
            }
            Err(error) => {
                self.lost_events(error);
                None
            }
        }
    }

    /// A reader that goes away does not change what is found, nor does a full disk: that is told at the end.
    fn lost_events(&mut self, error: std::io::Error) {
        self.events = None;
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            let error = anyhow::Error::new(error).context("the events cannot be written");
            self.failed.get_or_insert(error);
        }
    }

    fn found(&mut self, event: &StreamEvent) {
        self.kept.note(event);
        self.saved.told = self.saved.told.max(event.number);
        let written = self.events.as_mut().map_or(Ok(()), |events| events.write(event));
        if let Err(error) = written {
            self.lost_events(error);
        }
        match &event.what {
            Told::Late { .. } => {
                self.late += 1;
                if self.late <= MOST_SHOWN {
                    self.line.warn(&found::sentence(event));
                }
            }
            Told::Trouble(_) => {
                self.troubles += 1;
                if self.troubles <= MOST_SHOWN {
                    self.line.warn(&found::sentence(event));
                }
            }
            Told::Violation(_) | Told::Correction(_) | Told::Renamed(_) => {
                let text = self.shown.text(event, terminal::style()).filter(|_| self.prints);
                self.line.clear();
                if let Some(Err(error)) = text.map(|text| terminal::print(&text)) {
                    self.failed.get_or_insert(error);
                }
            }
        }
    }
}
