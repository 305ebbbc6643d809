//! The loop: takes batches, feeds the stream, and tells what it finds.

use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use isolde_history::History;
use isolde_spec::Promise;
use isolde_stream::{Settings, Status, Stream, StreamError, StreamEvent, Told};

use crate::feed::{Fed, Message, feed};
use crate::figures::Figures;
use crate::metrics::{self, Board};
use crate::open::{Opened, Opening};
use crate::said::Said;
use crate::series::{Sample, Series};
use crate::source::WatchSource;

/// How often the stream is told that time has passed.
const TICK: Duration = Duration::from_millis(20);
/// How often figures are told.
const FIGURES: Duration = Duration::from_secs(1);

/// From the first batch to the promise that the stream is held to, or a sentence that says why there is none.
pub type ChoosePromise<'p> = &'p dyn Fn(&History) -> Result<Promise, String>;

/// What shall be watched, and how.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// Where transactions come from.
    pub source: WatchSource,
    /// What the user says of the stream.
    pub said: Said,
    /// After so long a verdict is final, where the source promises nothing.
    pub timeout: Duration,
    /// How many bytes may be held in memory.
    pub memory: u64,
    /// How many bytes may be held on disk.
    pub keep: u64,
    /// Where what does not fit into memory goes.
    pub folder: Option<PathBuf>,
    /// Whether the first line that cannot be read ends the watch.
    pub strict: bool,
    /// Whether the end of a file is the end of the watch.
    pub until_end: bool,
    /// Whether the first violation is the end of the watch.
    pub stop: bool,
    /// Whether to listen where other machines can connect.
    pub anywhere: bool,
    /// `HOST:PORT` of the metrics.
    pub metrics: Option<String>,
}

/// Why a watch cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Something is wrong with the source, or with what was asked.
    #[error("{0}")]
    Source(String),
    /// The stream cannot go on.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// What a watch tells while it goes on.
#[derive(Debug)]
pub enum News<'n> {
    /// The promise that the transactions are held to is known now.
    Began(Promise),
    /// The stream found something.
    Found(&'n StreamEvent),
    /// A line or a body could not be read, and why; how many that makes.
    Bad(&'n str, u64),
    /// The user should know it.
    Notice(&'n str),
    /// The source is faster than the check, and has been held back for more than a second.
    Behind,
    /// About once a second: how it is doing.
    Figures(&'n Figures),
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The last figures; every verdict is final.
    pub figures: Figures,
    /// Figures over the whole time.
    pub series: Series,
    /// The promise, if anything came.
    pub promise: Option<Promise>,
    /// Why the source could not be read on, if that was the end.
    pub failed: Option<String>,
}

/// A watch whose source is open.
pub struct Watch {
    plan: WatchPlan,
    fed: Fed,
    board: Board,
    opened: Opened,
    /// Where metrics are shown.
    pub metrics: Option<String>,
}

impl Watch {
    /// Opens the source, and begins to read it.
    pub fn open(plan: WatchPlan) -> Result<Watch, WatchError> {
        plan.said.check().map_err(WatchError::Source)?;
        let (feed, fed) = feed();
        let board = Board::default();
        let shown = plan.metrics.as_ref();
        let shown = shown.map(|at| metrics::start(at, plan.anywhere, &board, &feed)).transpose();
        let shown = shown.map_err(WatchError::Source)?;
        let (source, said) = (&plan.source, &plan.said);
        let (until_end, anywhere) = (plan.until_end, plan.anywhere);
        let opening = Opening { source, said, until_end, anywhere };
        let opened = opening.start(&feed).map_err(WatchError::Source)?;
        Ok(Watch { plan, fed, board, opened, metrics: shown.map(|at| at.to_string()) })
    }

    /// What the source is called; where it listens.
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// Watches until the source ends, or it is told to end.
    pub fn run(
        self,
        choose: ChoosePromise<'_>,
        ended: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<Outcome, WatchError> {
        let began = Instant::now();
        let mut desk = Desk {
            watch: &self,
            choose,
            tell,
            began,
            stream: None,
            promise: None,
            missing: None,
            failed: None,
            over: false,
            figures: Figures::default(),
            series: Series::default(),
            ticked: began,
            figured: (began, 0),
        };
        while !desk.over && !ended() {
            match self.fed.receiver.recv_timeout(TICK) {
                Ok(message) => desk.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            desk.time_passes()?;
        }
        self.fed.end();
        // What had been read by then counts, unless something was wrong with it.
        while !desk.over
            && let Ok(message) = self.fed.receiver.try_recv()
        {
            desk.take(message)?;
        }
        desk.finish()
    }
}

/// A watch that is going on.
struct Desk<'w, 't> {
    watch: &'w Watch,
    choose: ChoosePromise<'w>,
    tell: &'t mut dyn FnMut(News<'_>),
    began: Instant,
    stream: Option<Stream>,
    promise: Option<Promise>,
    /// Why something is missing that came before the stream began.
    missing: Option<String>,
    failed: Option<String>,
    over: bool,
    figures: Figures,
    series: Series,
    ticked: Instant,
    /// When figures were told last, and how many transactions there were.
    figured: (Instant, u64),
}

impl Desk<'_, '_> {
    fn now(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn take(&mut self, message: Message) -> Result<(), WatchError> {
        self.watch.fed.took(&message);
        match message {
            Message::Batch { history, arrived } => {
                self.figures.lag = arrived.elapsed();
                self.batch(*history)?;
            }
            Message::Bad(why) => self.bad(why)?,
            Message::Notice(text) => (self.tell)(News::Notice(&text)),
            Message::Ended => self.over = true,
            Message::Failed(why) => {
                self.failed = Some(why);
                self.over = true;
            }
        }
        Ok(())
    }

    fn batch(&mut self, history: History) -> Result<(), WatchError> {
        let now = self.now();
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.begin(&history)?,
        };
        let pushed = stream.push(history, now);
        self.stream = Some(stream);
        pushed?;
        self.events();
        Ok(())
    }

    fn begin(&mut self, history: &History) -> Result<Stream, WatchError> {
        let plan = &self.watch.plan;
        let promise = (self.choose)(history).map_err(WatchError::Source)?;
        let mut settings = Settings::new(promise);
        settings.timeout = i64::try_from(plan.timeout.as_millis()).unwrap_or(i64::MAX);
        settings.memory = usize::try_from(plan.memory).unwrap_or(usize::MAX);
        settings.keep = plan.keep;
        settings.folder.clone_from(&plan.folder);
        let mut stream = Stream::new(settings)?;
        if let Some(why) = self.missing.take() {
            stream.incomplete(&why, self.now())?;
        }
        self.promise = Some(promise);
        (self.tell)(News::Began(promise));
        Ok(stream)
    }

    fn bad(&mut self, why: String) -> Result<(), WatchError> {
        self.figures.bad += 1;
        let now = self.now();
        if self.watch.plan.strict {
            self.failed = Some(why);
            self.over = true;
            return Ok(());
        }
        (self.tell)(News::Bad(&why, self.figures.bad));
        match &mut self.stream {
            Some(stream) => stream.incomplete(&why, now)?,
            None => self.missing = Some(why),
        }
        self.events();
        Ok(())
    }

    /// Tells what was found.
    fn events(&mut self) {
        let events = self.stream.as_mut().map(Stream::take_events).unwrap_or_default();
        for event in &events {
            (self.tell)(News::Found(event));
            let found = match &event.what {
                Told::Violation(_) => true,
                Told::Correction(correction) => correction.adds,
                _ => false,
            };
            self.over |= found && self.watch.plan.stop;
        }
    }

    fn time_passes(&mut self) -> Result<(), WatchError> {
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            let now = self.now();
            if let Some(stream) = &mut self.stream {
                stream.tick(now)?;
            }
            self.events();
        }
        if self.series.is_due(self.began.elapsed()) {
            let status = self.stream.as_ref().map_or_else(nothing, Stream::status);
            self.sample(&status);
        }
        if self.figured.0.elapsed() >= FIGURES {
            self.measure();
            (self.tell)(News::Figures(&self.figures));
            if self.watch.fed.was_behind() {
                (self.tell)(News::Behind);
            }
        }
        Ok(())
    }

    fn measure(&mut self) {
        let status = self.stream.as_ref().map_or_else(nothing, Stream::status);
        let (since, before) = std::mem::replace(&mut self.figured, (Instant::now(), status.txns));
        let seconds = since.elapsed().as_secs_f64().max(1e-3);
        self.figures.rate = status.txns.saturating_sub(before) as f64 / seconds;
        self.figures.status = status;
        self.figures.backlog = self.watch.fed.backlog();
        self.figures.elapsed = self.began.elapsed();
        self.watch.board.set(self.figures.clone());
    }

    fn sample(&mut self, status: &Status) {
        let (at, backlog) = (self.began.elapsed(), self.watch.fed.backlog());
        self.series.push(Sample::new(status, at, self.figures.lag, backlog));
    }

    fn finish(mut self) -> Result<Outcome, WatchError> {
        let now = self.now();
        if let Some(stream) = &mut self.stream {
            stream.finish(now)?;
        }
        self.events();
        self.measure();
        let status = self.figures.status.clone();
        self.sample(&status);
        let Desk { figures, series, promise, failed, .. } = self;
        Ok(Outcome { figures, series, promise, failed })
    }
}

/// The status of a stream that has not begun.
fn nothing() -> Status {
    Status { complete: true, ..Status::default() }
}
