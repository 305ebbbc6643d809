//! Points between timestamps.

use crate::timestamps::moments::Moment;

/// After all.
pub(super) const LATEST: Moment = Moment(i64::MAX);

/// How far beyond the first or the last event a point lies.
const FAR: i64 = 1 << 10;

/// One point in each gap between events.
pub(super) struct Points {
    /// Ascending.
    pub(super) all: Vec<Moment>,
    /// Whether a gap had no room for one.
    pub(super) squeezed: bool,
}

/// One point in each gap between ascending events, after a bound and up to another one.
pub(super) fn between(events: &[Moment], after: Option<Moment>, until: Moment) -> Points {
    let first = after.map_or(0, |after| events.partition_point(|e| *e <= after));
    let mut last = after;
    let mut points = Points { all: Vec::new(), squeezed: false };
    for event in events[first..].iter().copied().take_while(|e| *e <= until) {
        match last {
            None => points.all.push(Moment(event.0 - FAR)),
            Some(last) if event.0 - last.0 > 1 => {
                points.all.push(Moment(last.0 + (event.0 - last.0) / 2));
            }
            Some(_) => points.squeezed = true,
        }
        last = Some(event);
    }
    if until == LATEST {
        points.all.push(Moment(last.map_or(0, |last| last.0 + FAR)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_has_a_point() {
        let moments = |all: &[i64]| all.iter().map(|m| Moment(*m)).collect::<Vec<_>>();
        let events = moments(&[0, 100, 101, 200]);
        let points = between(&events, Some(Moment(0)), Moment(200));
        assert_eq!((points.all, points.squeezed), (moments(&[50, 150]), true));
        let points = between(&events, None, Moment(100));
        assert_eq!((points.all, points.squeezed), (moments(&[-FAR, 50]), false));
        assert_eq!(between(&events, Some(Moment(150)), LATEST).all, moments(&[175, 200 + FAR]));
        assert_eq!(between(&events, Some(Moment(150)), Moment(120)).all, []);
        assert_eq!(between(&[], None, LATEST).all, moments(&[0]));
    }
}
