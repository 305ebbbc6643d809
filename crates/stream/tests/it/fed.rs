//! A stream that is fed batch by batch, with whatever may happen between two batches.

use isolde_history::History;
use isolde_stream::{Settings, Stream, StreamEvent};

use crate::folder::Folder;
use crate::killed;
use crate::made::Random;

/// How a stream is fed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feeding {
    pub(crate) timeout: i64,
    /// Whether its source says what is still to come.
    pub(crate) speaks: bool,
    /// A batch has at most so many transactions.
    pub(crate) batch: u64,
    /// Whether next to nothing may stay in memory.
    pub(crate) spills: bool,
    /// Whether it is told that time passes.
    pub(crate) ticks: bool,
    /// Whether it is killed now and then.
    pub(crate) killed: bool,
}

/// What a source sends.
pub(crate) struct Source<'s, T> {
    pub(crate) txns: &'s [T],
    /// What comes before all transactions, if anything does.
    pub(crate) header: Option<History>,
    /// Transactions as a batch; the others come later.
    pub(crate) batch: &'s dyn Fn(&[T], &[T]) -> History,
}

impl Feeding {
    /// Feeds a stream to its end: what it told, and the stream. When it goes on after it was killed its settings may be others.
    pub(crate) fn feed<T>(
        self,
        settings: Settings,
        source: Source<'_, T>,
        again: &dyn Fn(&mut Settings, &mut Random),
    ) -> (Vec<StreamEvent>, Stream) {
        let mut settings = Settings { timeout: self.timeout, ..settings };
        let folder = (self.spills || self.killed).then(Folder::new);
        settings.folder = folder.as_ref().map(Folder::path);
        if self.spills {
            settings.memory = 1;
        }
        let mut stream = match self.killed {
            true => Stream::begin_in(settings.clone()).unwrap(),
            false => Stream::new(settings.clone()).unwrap(),
        };
        let mut random = Random::new(self.batch);
        // Of ticks and kills, so that batches are the same with and without them.
        let mut chances = Random::new(self.batch + 100);
        let (mut now, mut rest, mut events, mut count) = (0, source.txns, Vec::new(), 0_u64);
        if let Some(header) = source.header {
            stream.push(header, now).unwrap();
        }
        while !rest.is_empty() {
            let most = (1 + random.below(self.batch) as usize).min(rest.len());
            let (these, after) = rest.split_at(most);
            rest = after;
            count += 1;
            stream.push_marked((source.batch)(these, rest), now, &count.to_le_bytes()).unwrap();
            now += 10;
            if self.ticks && chances.chance(50) {
                stream.tick(now).unwrap();
            }
            events.extend(stream.take_events());
            if self.killed && chances.chance(30) {
                stream.checkpoint(&events.len().to_le_bytes()).unwrap();
            }
            if self.killed && chances.chance(40) {
                again(&mut settings, &mut chances);
                stream = killed::goes_on(stream, &settings, count, &mut events, &self);
            }
        }
        stream.finish(now).unwrap();
        events.extend(stream.take_events());
        for (at, event) in events.iter().enumerate() {
            if std::env::var_os("ISOLDE_SAY").is_some() {
                eprintln!("{event:?}");
            }
            assert_eq!(event.number, at as u64 + 1);
        }
        (events, stream)
    }
}
