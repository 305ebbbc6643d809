//! Streams by client intervals: how they are fed and asked. What is decided, and when, is [`IntervalChecker`]'s.

use isolde_history::{History, StreamPromise};
use isolde_spec::By;

use super::Stream;
use crate::bodies::BEFORE_ALL;
use crate::content::{NameId, name_id};
use crate::error::StreamError;
use crate::intervals::{IntervalChecker, SaidOfSession};
use crate::status::{DecidedShare, Status};

impl Stream {
    pub(super) fn is_by_intervals(&self) -> bool {
        self.settings.promise.by == By::Intervals
    }

    /// Takes a batch.
    pub(super) fn push_by_intervals(&mut self, batch: History) -> Result<(), StreamError> {
        // What is decided by now is decided without what comes now, whether or not a tick has said so before.
        self.settle();
        self.begin_by_intervals(&batch);
        let said = SaidOfSession::all(&batch);
        let named = |promise: StreamPromise| {
            (promise.session.map(|name| name_id(batch.pool(), name)), promise)
        };
        let promises: Vec<(Option<NameId>, StreamPromise)> = batch.promises().map(named).collect();
        let batch = self.without_repeated(batch);
        if batch.txn_count() > 0 {
            self.count(&batch);
            self.timed |= batch.txns().any(|txn| txn.interval().begin.is_some());
            let (number, batch) = self.bodies.add(batch, self.now, BEFORE_ALL);
            if let Some(checker) = &mut self.intervals {
                checker.arrive(&batch, number, self.now, &mut self.bodies);
            }
        }
        if let Some(checker) = &mut self.intervals {
            said.iter().for_each(|said| checker.hear(said));
            for (session, promise) in &promises {
                checker.promised(*session, promise);
            }
        }
        for session in said.iter().filter_map(SaidOfSession::ended) {
            self.numbers.end(session);
        }
        self.settle();
        self.pass_on();
        self.keep_bodies_within_memory()
    }

    fn begin_by_intervals(&mut self, batch: &History) {
        if let (None, Some(profile)) = (&self.intervals, &self.settings.profile) {
            let mut checker = IntervalChecker::new(&self.settings, profile, batch);
            if let Some(why) = &self.missing {
                checker.incomplete(why, &mut self.bodies);
            }
            self.intervals = Some(checker);
        }
    }

    /// Decides what can be decided.
    pub(super) fn settle_by_intervals(&mut self) {
        let Some(checker) = &mut self.intervals else { return };
        match self.finished {
            true => checker.finish(&mut self.bodies),
            false => checker.settle(self.now, self.settings.timeout, &mut self.bodies),
        }
    }

    /// Batches are asked for when their turn comes, and when something is found: until then they may be on the disk.
    fn keep_bodies_within_memory(&mut self) -> Result<(), StreamError> {
        let memory = self.settings.memory;
        if self.bodies.has_disk() && self.held() > memory / 8 * 5 {
            let others = self.held().saturating_sub(self.bodies.bytes());
            self.bodies.write_half(self.bodies.first_in_memory(), false)?;
            self.bodies.let_go((memory / 2).saturating_sub(others).max(memory / 16));
        }
        self.bodies.take_error()
    }

    /// What is counted by client intervals.
    pub(super) fn add_intervals_to(&self, status: &mut Status) {
        if !self.is_by_intervals() {
            return;
        }
        let timed = self.timed;
        let mut by_intervals = DecidedShare { timed, ..DecidedShare::default() };
        if let Some(checker) = &self.intervals {
            let figures = &checker.figures;
            status.by_anomaly = figures.standing();
            status.violations = status.by_anomaly.iter().map(|(_, count)| count).sum();
            (status.corrections, status.too_late) = (figures.corrections, figures.too_late);
            (status.doubts, status.longest_change) = (figures.doubts, figures.longest_change);
            (status.late, status.keys) = (checker.late, checker.rows());
            status.open = if self.finished { 0 } else { checker.open() };
            let (decided, of) = checker.decided();
            let enough = of > 0 && decided as f64 >= self.settings.share * of as f64;
            by_intervals = DecidedShare { decided, of, enough, timed };
        }
        status.by_intervals = Some(by_intervals);
    }
}
