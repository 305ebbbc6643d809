//! Keeping the state of a watch: marks for the stream, receipts for the sources.

use std::path::Path;

use isolde_history::HistoryBuilder;
use isolde_stream::{Resumed, Settings, Stream};

use crate::error::WatchError;
use crate::open::Kept;
use crate::place::{Mark, Place};
use crate::receipt::Receipt;
use crate::state::{State, StateOf};

/// What keeps the state of a watch.
pub(crate) struct Keeper {
    pub(crate) state: State,
    /// What is kept of the source.
    pub(crate) kept: Kept,
    /// The stream of an earlier watch, until it is taken up.
    pub(crate) resumed: Option<Resumed>,
    /// Who waits to be told that what was sent is safe.
    waiting: Vec<Receipt>,
    /// How many lines the last mark says could not be read.
    marked: u64,
}

impl Keeper {
    /// Opens the folder, and takes up what an earlier watch left there.
    pub(crate) fn open(
        folder: &Path,
        of: &StateOf<'_>,
        settings: &Settings,
    ) -> Result<Keeper, WatchError> {
        let state = State::open(folder, of).map_err(WatchError::Source)?;
        let header = state.header().map_err(WatchError::Source)?;
        let settings = Settings { folder: Some(state.stream()), ..settings.clone() };
        let resumed = Stream::resume(&settings)?;
        let mark = resumed.as_ref().map(|resumed| &resumed.mark).filter(|mark| !mark.is_empty());
        let broken = || {
            WatchError::Source(format!(
                "{} cannot be used: how far the source was read cannot be understood",
                folder.display()
            ))
        };
        let mark = mark.map(|mark| Mark::from_bytes(mark).ok_or_else(broken)).transpose()?;
        let marked = mark.as_ref().map_or_else(|| state.early().0, |mark| mark.bad);
        let kept = Kept { mark, header };
        Ok(Keeper { state, kept, resumed, waiting: Vec::new(), marked })
    }

    /// How many lines could not be read before, and why something is missing that the stream has not been told.
    pub(crate) fn counted(&self) -> (u64, Option<String>) {
        match &self.kept.mark {
            Some(mark) => (mark.bad, None),
            None => self.state.early(),
        }
    }

    /// What goes with a batch.
    pub(crate) fn mark(
        &mut self,
        bad: u64,
        file: Option<(u64, u64)>,
        place: Option<Place>,
    ) -> Vec<u8> {
        self.marked = bad;
        // Only a file can be read again from a place on.
        Mark { bad, file, place: place.filter(|_| file.is_some()) }.to_bytes()
    }

    /// Someone waits until everything is safe that was taken by now.
    pub(crate) fn ask(&mut self, receipt: Receipt) {
        self.waiting.push(receipt);
    }

    /// Makes safe what was taken, and tells those who wait for it. What could not be read counts, too: who sent it
    /// does not send it again.
    pub(crate) fn make_safe(
        &mut self,
        stream: Option<&mut Stream>,
        now: i64,
        bad: u64,
        missing: Option<&str>,
    ) -> Result<(), WatchError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let is_new = self.marked != bad;
        match stream {
            Some(stream) => {
                if is_new {
                    let mark = self.mark(bad, None, None);
                    stream.push_marked(HistoryBuilder::new().finish(), now, &mark)?;
                }
                stream.make_safe()?;
            }
            None if is_new => {
                self.state.keep_early(bad, missing).map_err(WatchError::Source)?;
                self.marked = bad;
            }
            None => {}
        }
        self.waiting.drain(..).for_each(Receipt::confirm);
        Ok(())
    }
}
