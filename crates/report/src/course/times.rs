//! Moments of a run: where between its first and its last they are, and how they are told.

use isolde_history::History;

/// The time of a run, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    first: i64,
    last: i64,
}

impl Scale {
    /// From the first to the last time that a client noted, and a little further where events are; `None`
    /// if no client noted any.
    pub(crate) fn of(history: &History) -> Option<Scale> {
        let times = history.txns().flat_map(|txn| {
            let interval = txn.interval();
            [interval.begin, interval.end]
        });
        let span = |known: Option<Scale>, time: i64| match known {
            Some(Scale { first, last }) => {
                Some(Scale { first: first.min(time), last: last.max(time) })
            }
            None => Some(Scale { first: time, last: time }),
        };
        let scale = times.flatten().fold(None, span)?;
        // A server may come back when the sessions have ended. But times that have nothing to do with
        // the run would leave no room for it.
        let most = i64::try_from(scale.span()).unwrap_or(i64::MAX);
        let (from, to) = (scale.first.saturating_sub(most), scale.last.saturating_add(most));
        let events = history.faults().flat_map(|event| [event.begin, event.end]);
        let near = events.flatten().filter(|time| (from..=to).contains(time));
        near.fold(Some(scale), span)
    }

    /// How long it is, at least a nanosecond.
    pub(crate) fn span(&self) -> u64 {
        self.last.abs_diff(self.first).max(1)
    }

    /// Whether a time span has a part in it.
    pub(crate) fn overlaps(&self, begin: i64, end: i64) -> bool {
        begin <= self.last && end >= self.first
    }

    /// Where a moment is, from 0 to 1.
    pub(crate) fn place(&self, time: i64) -> f64 {
        let since = time.clamp(self.first, self.last).abs_diff(self.first);
        since as f64 / self.span() as f64
    }

    /// In which of so many equal parts a moment is.
    pub(super) fn bin(&self, time: i64, bins: usize) -> usize {
        let since = u128::from(time.clamp(self.first, self.last).abs_diff(self.first));
        let at = since * bins as u128 / u128::from(self.span());
        usize::try_from(at).unwrap_or(0).min(bins.saturating_sub(1))
    }

    /// The unit that fits the whole run: how many nanoseconds it has, and its name.
    pub(crate) fn unit(&self) -> (f64, &'static str) {
        match self.span() {
            ..1_000 => (1.0, "ns"),
            1_000..1_000_000 => (1e3, "µs"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        }
    }

    /// A moment since the run began, in words.
    pub(crate) fn told(&self, time: i64) -> String {
        let (unit, name) = self.unit();
        let since = (i128::from(time) - i128::from(self.first)) as f64 / unit;
        let digits = usize::from(unit > 1.0);
        format!("{since:.digits$} {name}")
    }

    /// A time span in words.
    pub(crate) fn span_told(&self, begin: i64, end: i64) -> String {
        if begin == end {
            return self.told(begin);
        }
        format!("{} to {}", self.told(begin), self.told(end))
    }
}
