//! Points between timestamps.

use isolde_history::TxnId;

use crate::timestamps::ticks::Tick;

/// After all.
pub(super) const LATEST: Tick = Tick(i64::MAX);

/// How far beyond the first or the last event a point lies.
const FAR: i64 = 1 << 40;

/// A commit point that was assumed: between the two ticks, if there are such.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssumedPoint {
    pub(crate) txn: TxnId,
    pub(crate) after: Option<Tick>,
    pub(crate) until: Option<Tick>,
    /// The first reader that shows that it committed.
    pub(crate) reader: Option<TxnId>,
}

/// One point in each gap between events.
pub(super) struct Points {
    /// Ascending.
    pub(super) all: Vec<Tick>,
    /// Whether a gap had no room for one.
    pub(super) squeezed: bool,
}

/// One point in each gap between ascending events, after a bound and up to another one.
pub(super) fn between(events: &[Tick], after: Option<Tick>, until: Tick) -> Points {
    let first = after.map_or(0, |after| events.partition_point(|e| *e <= after));
    let mut last = after;
    let mut points = Points { all: Vec::new(), squeezed: false };
    for event in events[first..].iter().copied().take_while(|e| *e <= until) {
        match last {
            None => points.all.push(Tick(event.0 - FAR)),
            Some(last) if event.0 - last.0 > 1 => {
                points.all.push(Tick(last.0 + (event.0 - last.0) / 2));
            }
            Some(_) => points.squeezed = true,
        }
        last = Some(event);
    }
    if until == LATEST {
        points.all.push(Tick(last.map_or(0, |last| last.0 + FAR)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_has_a_point() {
        let ticks = |all: &[i64]| all.iter().map(|m| Tick(*m)).collect::<Vec<_>>();
        let events = ticks(&[0, 100, 101, 200]);
        let points = between(&events, Some(Tick(0)), Tick(200));
        assert_eq!((points.all, points.squeezed), (ticks(&[50, 150]), true));
        let points = between(&events, None, Tick(100));
        assert_eq!((points.all, points.squeezed), (ticks(&[-FAR, 50]), false));
        assert_eq!(between(&events, Some(Tick(150)), LATEST).all, ticks(&[175, 200 + FAR]));
        assert_eq!(between(&events, Some(Tick(150)), Tick(120)).all, []);
        assert_eq!(between(&[], None, LATEST).all, ticks(&[0]));
    }
}
