//! The loop: takes batches, feeds the stream, and tells what it finds.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use isolde_history::History;
use isolde_spec::{Level, Profile, Promise};
use isolde_stream::{Settings, Status, Stream, StreamEvent, Told};

use crate::agreed::Agreed;
use crate::disk_thread;
use crate::error::WatchError;
use crate::feed::{Fed, Message, feed};
use crate::figures::Figures;
use crate::keeper::Keeper;
use crate::metrics::{self, Board};
use crate::open::{Opened, Opening};
use crate::place::Place;
use crate::said::Said;
use crate::series::{Sample, Series};
use crate::source::WatchSource;
use crate::state::StateOf;

/// How often the stream is told that time has passed.
const TICK: Duration = Duration::from_millis(20);
/// How often figures are told.
const FIGURES: Duration = Duration::from_secs(1);
/// What comes within so long is made safe together.
const TOGETHER: Duration = Duration::from_millis(10);

/// What a stream is held to.
#[derive(Clone, Debug)]
pub struct HeldTo {
    /// The promise.
    pub promise: Promise,
    /// By client intervals: by which mechanisms the server keeps it.
    pub profile: Option<Profile>,
}

/// From the first batch to what the stream is held to, or a sentence that says why it cannot be.
pub type ChoosePromise<'p> = &'p dyn Fn(&History) -> Result<HeldTo, String>;

/// What shall be watched, and how.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// Where transactions come from.
    pub source: WatchSource,
    /// What the user says of the stream.
    pub said: Said,
    /// By client intervals: the profile that the user named.
    pub profile: Option<Profile>,
    /// By client intervals: which share of all dependencies has to be decided, so that finding nothing counts.
    pub share: f64,
    /// After so long a verdict is final, where the source promises nothing.
    pub timeout: Duration,
    /// How many bytes may be held in memory.
    pub memory: u64,
    /// How many bytes may be held on disk.
    pub keep: u64,
    /// Where what does not fit into memory goes.
    pub folder: Option<PathBuf>,
    /// Where state is kept, so that a watch that was killed can go on; what does not fit into memory goes there, too.
    pub state: Option<PathBuf>,
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

/// What a watch tells while it goes on.
#[derive(Debug)]
pub enum News<'n> {
    /// The promise that the transactions are held to is known now.
    Began(Promise),
    /// An earlier watch goes on, after so many transactions.
    GoesOn(Promise, u64),
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
    /// The state is about to be saved: what was told until now must be safe. What is put here comes back with the next
    /// watch ([`Watch::saved`]); if nothing is, no state is saved now.
    Save(&'n RefCell<Option<Vec<u8>>>),
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The last figures; every verdict is final, unless the watch can go on.
    pub figures: Figures,
    /// Figures over the whole time of this watch.
    pub series: Series,
    /// How many transactions an earlier watch had that went on.
    pub before: u64,
    /// Whether it can go on where it ended.
    pub goes_on: bool,
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
    agreed: Arc<Agreed>,
    keeper: Option<Keeper>,
    /// Where metrics are shown.
    pub metrics: Option<String>,
}

impl Watch {
    /// Opens the source, and begins to read it.
    pub fn open(plan: WatchPlan) -> Result<Watch, WatchError> {
        plan.said.check().map_err(WatchError::Source)?;
        let of = StateOf { source: &plan.source, said: &plan.said };
        let keeper = plan.state.as_ref();
        let keeper =
            keeper.map(|folder| Keeper::open(folder, &of, &plan.settings())).transpose()?;
        let (feed, fed) = feed();
        let board = Board::default();
        let shown = plan.metrics.as_ref();
        let shown = shown.map(|at| metrics::start(at, plan.anywhere, &board, &feed)).transpose();
        let shown = shown.map_err(WatchError::Source)?;
        let agreed = Agreed::new(plan.said.clone());
        let resumed = keeper.as_ref().and_then(|keeper| keeper.resumed.as_ref());
        if let Some(header) = resumed.and_then(|resumed| resumed.stream.header()) {
            agreed.goes_on(header);
        }
        let source = &plan.source;
        let (until_end, anywhere) = (plan.until_end, plan.anywhere);
        let kept = keeper.as_ref().map(|keeper| &keeper.kept);
        let opening = Opening { source, agreed: &agreed, until_end, anywhere, kept };
        let opened = opening.start(&feed).map_err(WatchError::Source)?;
        let metrics = shown.map(|at| at.to_string());
        Ok(Watch { plan, fed, board, opened, agreed, keeper, metrics })
    }

    /// The promise of the watch that goes on, if one does.
    pub fn promise(&self) -> Option<Promise> {
        self.keeper.as_ref()?.resumed.as_ref().map(|resumed| resumed.stream.promise())
    }

    /// A name that no other state has, if state is kept.
    pub fn state_id(&self) -> Option<&str> {
        self.keeper.as_ref().map(|keeper| keeper.state.id())
    }

    /// What was saved with the state last, if an earlier watch goes on.
    pub fn saved(&self) -> Option<&[u8]> {
        self.keeper.as_ref()?.resumed.as_ref().map(|resumed| &resumed.saved[..])
    }

    /// What the source is called; where it listens.
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// Watches until the source ends, or it is told to end.
    pub fn run(
        mut self,
        choose: ChoosePromise<'_>,
        ended: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<Outcome, WatchError> {
        let began = Instant::now();
        let keeper = self.keeper.take();
        let mut desk = Desk {
            watch: &self,
            keeper,
            choose,
            tell,
            began,
            before: 0,
            earlier: 0,
            stream: None,
            promise: None,
            missing: None,
            failed: None,
            open: 0,
            over: false,
            ended: false,
            stopped: false,
            figures: Figures::default(),
            series: Series::default(),
            ticked: began,
            figured: (began, 0),
        };
        let done = desk.go_on().and_then(|()| desk.run(ended));
        desk.finish(done)
    }
}

impl WatchPlan {
    /// Of the stream. The promise is known later.
    fn settings(&self) -> Settings {
        let mut settings = Settings::new(Promise::by_timestamps(Level::SnapshotIsolation));
        settings.timeout = i64::try_from(self.timeout.as_millis()).unwrap_or(i64::MAX);
        settings.memory = usize::try_from(self.memory).unwrap_or(usize::MAX);
        settings.keep = self.keep;
        settings.profile.clone_from(&self.profile);
        settings.share = self.share;
        settings.folder.clone_from(&self.folder);
        settings
    }
}

/// A watch that is going on.
struct Desk<'w, 't> {
    watch: &'w Watch,
    choose: ChoosePromise<'w>,
    tell: &'t mut dyn FnMut(News<'_>),
    /// What keeps the state, if it is kept.
    keeper: Option<Keeper>,
    began: Instant,
    /// The time of the stream when this watch began, in milliseconds.
    before: i64,
    /// How many transactions had come by then.
    earlier: u64,
    stream: Option<Stream>,
    promise: Option<Promise>,
    /// Why something is missing that came before the stream began.
    missing: Option<String>,
    failed: Option<String>,
    /// How often a header has said that transactions are missing, and no line since that none are.
    open: u64,
    over: bool,
    /// Whether the source has ended, so that nothing more will ever come.
    ended: bool,
    /// Whether a violation was the end.
    stopped: bool,
    figures: Figures,
    series: Series,
    ticked: Instant,
    /// When figures were told last, and how many transactions there were.
    figured: (Instant, u64),
}

impl Desk<'_, '_> {
    /// Takes what comes until the source ends, or it is told to end.
    fn run(&mut self, ended: &dyn Fn() -> bool) -> Result<(), WatchError> {
        let fed = &self.watch.fed;
        while !self.over && !ended() {
            match fed.receiver.recv_timeout(TICK) {
                Ok(message) => self.take_several(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.time_passes()?;
        }
        fed.end();
        // What had been read by then counts, unless something was wrong with it.
        while !self.over
            && let Ok(message) = fed.receiver.try_recv()
        {
            self.take(message)?;
        }
        self.make_safe()
    }

    fn now(&self) -> i64 {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.before.saturating_add(elapsed)
    }

    /// Takes up what an earlier watch left.
    fn go_on(&mut self) -> Result<(), WatchError> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        (self.figures.bad, self.missing) = keeper.counted();
        let Some(resumed) = keeper.resumed.take() else { return Ok(()) };
        let mut stream = resumed.stream;
        disk_thread::write_elsewhere(&mut stream);
        self.before = resumed.now.max(0);
        if let Some(why) = self.missing.take() {
            stream.incomplete(&why, self.before)?;
        }
        let (promise, txns) = (stream.promise(), stream.status().txns);
        (self.figured.1, self.earlier) = (txns, txns);
        self.promise = Some(promise);
        (self.tell)(News::GoesOn(promise, txns));
        self.stream = Some(stream);
        self.events();
        self.checkpoint()
    }

    /// Takes a message, and those that wait behind it, for as long as can be answered together.
    fn take_several(&mut self, first: Message) -> Result<(), WatchError> {
        let began = Instant::now();
        self.take(first)?;
        while !self.over
            && began.elapsed() < TOGETHER
            && let Ok(next) = self.watch.fed.receiver.try_recv()
        {
            self.take(next)?;
        }
        self.make_safe()
    }

    /// Answers those who wait until what they sent is safe.
    fn make_safe(&mut self) -> Result<(), WatchError> {
        let now = self.now();
        let (bad, missing) = (self.figures.bad, self.missing.as_deref());
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        keeper.make_safe(self.stream.as_mut(), now, bad, missing)
    }

    /// Saves the state. Everything that was found has been told.
    fn checkpoint(&mut self) -> Result<(), WatchError> {
        let stream = self.stream.as_mut().filter(|_| self.keeper.is_some());
        let Some(stream) = stream else { return Ok(()) };
        let saved = RefCell::new(None);
        (self.tell)(News::Save(&saved));
        Ok(saved.into_inner().map_or(Ok(()), |saved| stream.checkpoint(&saved))?)
    }

    fn take(&mut self, message: Message) -> Result<(), WatchError> {
        self.watch.fed.took(&message);
        match message {
            Message::Batch { history, arrived, place } => {
                self.figures.lag = arrived.elapsed();
                self.batch(*history, place)?;
            }
            Message::Header(line) => {
                let kept = self.keeper.as_ref().map(|keeper| keeper.state.keep_header(&line));
                kept.transpose().map_err(WatchError::Source)?;
            }
            Message::Receipt(receipt) => {
                if let Some(keeper) = &mut self.keeper {
                    keeper.ask(receipt);
                }
            }
            Message::Bad(why) => self.bad(why)?,
            Message::Incomplete(why) => self.incomplete(why)?,
            Message::Opened => self.open += 1,
            Message::Closed => self.open = self.open.saturating_sub(1),
            Message::Notice(text) => (self.tell)(News::Notice(&text)),
            Message::Ended => (self.over, self.ended) = (true, true),
            Message::Failed(why) => {
                self.failed = Some(why);
                self.over = true;
            }
        }
        Ok(())
    }

    fn batch(&mut self, history: History, place: Option<Place>) -> Result<(), WatchError> {
        if self.stream.is_none() {
            let mut stream = self.begin(&history)?;
            stream.push(self.watch.agreed.beginning(&history), self.now())?;
            self.stream = Some(stream);
            self.checkpoint()?;
        }
        let (now, bad) = (self.now(), self.figures.bad);
        let file = self.watch.opened.file;
        let keeper = self.keeper.as_mut();
        let mark = keeper.map(|keeper| keeper.mark(bad, file, place)).unwrap_or_default();
        if let Some(stream) = &mut self.stream {
            stream.push_marked(history, now, &mark)?;
        }
        self.events();
        Ok(())
    }

    fn begin(&mut self, history: &History) -> Result<Stream, WatchError> {
        let HeldTo { promise, profile } = (self.choose)(history).map_err(WatchError::Source)?;
        let mut settings = Settings { promise, profile, ..self.watch.plan.settings() };
        let mut stream = match &self.keeper {
            Some(keeper) => {
                settings.folder = Some(keeper.state.stream());
                Stream::begin_in(settings)?
            }
            None => Stream::new(settings)?,
        };
        disk_thread::write_elsewhere(&mut stream);
        if let Some(why) = self.missing.take() {
            stream.incomplete(&why, self.now())?;
        }
        self.promise = Some(promise);
        (self.tell)(News::Began(promise));
        Ok(stream)
    }

    fn bad(&mut self, why: String) -> Result<(), WatchError> {
        self.figures.bad += 1;
        if self.watch.plan.strict {
            self.failed = Some(why);
            self.over = true;
            return Ok(());
        }
        (self.tell)(News::Bad(&why, self.figures.bad));
        self.incomplete(why)
    }

    /// Something is missing in the stream.
    fn incomplete(&mut self, why: String) -> Result<(), WatchError> {
        let now = self.now();
        match &mut self.stream {
            Some(stream) => stream.incomplete(&why, now)?,
            None => {
                self.missing.get_or_insert(why);
            }
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
            self.stopped |= found && self.watch.plan.stop;
            self.over |= self.stopped;
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
        if self.stream.as_ref().is_some_and(Stream::checkpoint_due) {
            self.checkpoint()?;
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
        let doubt = self.stream.as_ref().and_then(Stream::first_doubt);
        self.figures.first_doubt = doubt.map(str::to_owned);
        self.figures.backlog = self.watch.fed.backlog();
        self.figures.elapsed = self.began.elapsed();
        self.watch.board.set(self.figures.clone());
    }

    fn sample(&mut self, status: &Status) {
        let (at, backlog) = (self.began.elapsed(), self.watch.fed.backlog());
        self.series.push(Sample::new(status, at, self.figures.lag, backlog));
    }

    /// Ends the watch. If it could not go on, what had been found by then still counts.
    fn finish(mut self, done: Result<(), WatchError>) -> Result<Outcome, WatchError> {
        self.watch.fed.end();
        if let Err(error) = done.and_then(|()| self.close()) {
            if self.stream.is_none() {
                return Err(error);
            }
            self.events();
            self.failed.get_or_insert(error.to_string());
        }
        let goes_on = self.goes_on();
        self.measure();
        let status = self.figures.status.clone();
        self.sample(&status);
        let Desk { figures, series, promise, failed, earlier: before, .. } = self;
        Ok(Outcome { figures, series, before, goes_on, promise, failed })
    }

    /// What can go on is not over: verdicts that are open stay so.
    fn goes_on(&self) -> bool {
        self.keeper.is_some() && !self.ended
    }

    fn close(&mut self) -> Result<(), WatchError> {
        let now = self.now();
        let goes_on = self.goes_on();
        // What is missing by the source's own word is missing at its end.
        let open = self.open > 0 && self.stream.is_some();
        if open && !goes_on && !self.stopped {
            self.incomplete("it has ended, and says that transactions are missing".to_owned())?;
        }
        match &mut self.stream {
            Some(stream) if goes_on || (open && self.stopped) => stream.tick(now)?,
            Some(stream) => stream.finish(now)?,
            None => {}
        }
        self.events();
        self.checkpoint()
    }
}

/// The status of a stream that has not begun.
fn nothing() -> Status {
    Status { complete: true, ..Status::default() }
}
