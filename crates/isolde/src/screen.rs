//! The events of a job on the terminal: what goes on, and what went wrong.

use isolde_job::{Event, Notice, Place, found, quoted};
use isolde_stream::{StreamEvent, Told};

use crate::event_log::EventLog;
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::{bar, terminal};

/// How often it is told that something is wrong with a stream.
const MOST_WARNINGS: u64 = 20;

/// What a terminal shows of a job, whatever comes out of it.
pub(crate) struct Screen<'s> {
    interrupts: &'s Interrupts,
    log: Option<EventLog>,
    /// What turns or grows at the moment.
    bar: Option<Progress>,
    /// How often there was something wrong with a stream.
    warned: u64,
    /// The first thing that could not be written.
    failed: Option<anyhow::Error>,
}

impl<'s> Screen<'s> {
    pub(crate) fn new(interrupts: &'s Interrupts, log: Option<EventLog>) -> Screen<'s> {
        Screen { interrupts, log, bar: None, warned: 0, failed: None }
    }

    /// Shows an event; the results of runs are for the command to print.
    pub(crate) fn show(&mut self, event: &Event<'_>) {
        let written = self.log.as_mut().map_or(Ok(()), |log| log.write(event));
        if let Err(error) = written {
            // A reader that goes away does not change what is found, nor does a full disk: that is told
            // when the job is through.
            self.log = None;
            if error.kind() != std::io::ErrorKind::BrokenPipe {
                let error = anyhow::Error::new(error).context("the events cannot be written");
                self.failed.get_or_insert(error);
            }
        }
        match event {
            Event::Opening { target } => self.spin(&format!("opening {target}")),
            Event::Opened { place } => {
                self.clear();
                stays(place);
            }
            Event::Progress { limits, progress } => {
                let bar = self.bar.get_or_insert_with(|| bar::bar(limits));
                bar::show(bar, limits, progress);
            }
            Event::Found { event } => self.found(event),
            Event::Ran { .. } => self.clear(),
            Event::Hung { hung, file } => anstream::eprintln!(
                "{}: the database hangs: no transaction has ended for {:.2} s, and {} sessions are left \
                 behind\n  hint: what was recorded can be checked: isolde check {}",
                terminal::ERROR.label("error"),
                hung.silence.as_secs_f64(),
                hung.sessions,
                quoted(&file.display().to_string())
            ),
            Event::Checking { .. } => {
                self.spin("checking");
                self.interrupts.check_begins();
            }
            Event::Decided { verdict } => self.interrupts.decided(verdict),
            Event::Tested { .. } => {
                self.interrupts.check_ends();
                self.clear();
            }
            Event::Notice(notice) => terminal::notice(notice),
            Event::Began { .. } | Event::Kept { .. } | Event::Over { .. } => {}
        }
    }

    /// Warns of what is wrong with a stream; violations are for the command to print.
    fn found(&mut self, event: &StreamEvent) {
        self.clear();
        let wrong = matches!(event.what, Told::Late { .. } | Told::Trouble(_));
        self.warned += u64::from(wrong);
        if wrong && self.warned <= MOST_WARNINGS {
            terminal::notice(&Notice::Warning(found::sentence(event)));
        }
    }

    /// A result that could not be written ends the job.
    pub(crate) fn note(&mut self, done: anyhow::Result<()>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
            self.interrupts.stop().end_run();
            self.interrupts.stop().end_check();
        }
    }

    /// Whether everything could be written.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.clear();
        self.failed.map_or(Ok(()), Err)
    }

    fn spin(&mut self, what: &str) {
        self.bar = Some(Progress::spinner(what));
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.clear();
        }
    }
}

/// Says where a server is that stays.
fn stays(place: &Place) {
    if let Some(server) = place.throwaway.as_ref().filter(|server| server.kept) {
        let folder = server.folder.display();
        // One that is killed comes back as another process.
        let pid = server.pid.filter(|_| !place.has_faults());
        let pid = pid.map_or(String::new(), |pid| format!(", its process is {pid}"));
        anstream::eprintln!("the server stays at {}, its data in {folder}{pid}", server.url);
    }
}
