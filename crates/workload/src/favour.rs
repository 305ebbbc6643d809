//! What makes an anomaly likely, as data.
//!
//! To see an anomaly, the right shapes have to meet: on the same keys, at the same time, sometimes
//! with a client that rolls back. The table says so for the fourteen that mini-transactions capture.

use isolde_spec::Anomaly;

/// What makes an anomaly likely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Favour {
    pub(crate) anomaly: Anomaly,
    /// Which shapes, and how often each; the others never.
    pub(crate) shapes: &'static [(&'static str, u32)],
    /// How many sessions share a row.
    pub(crate) sessions_a_row: u32,
    /// Which share of the transactions the client rolls back, at least.
    pub(crate) rollbacks: f64,
}

const fn favour(
    anomaly: Anomaly,
    sessions_a_row: u32,
    shapes: &'static [(&'static str, u32)],
) -> Favour {
    Favour { anomaly, shapes, sessions_a_row, rollbacks: 0.0 }
}

/// Which share of the transactions goes to the few rows that all sessions share.
pub(crate) const HOT: f64 = 0.9;

/// Writers of x and y together, and readers of both.
const TORN: &[(&str, u32)] = &[("RxWxRyWy", 2), ("RxRyWxWy", 1), ("RxRyWyWx", 1), ("RxRy", 4)];

/// The fourteen.
pub(crate) static FAVOURS: [Favour; 14] = [
    favour(Anomaly::ThinAirRead, 2, &[("Rx", 2), ("RxRy", 2), ("RxWx", 3), ("RxRyWxWy", 1)]),
    Favour {
        rollbacks: 0.3,
        ..favour(Anomaly::AbortedRead, 4, &[("RxWx", 3), ("Rx", 3), ("RxWxRyWy", 1), ("RxRy", 1)])
    },
    favour(Anomaly::FutureRead, 4, &[("RxWx", 2), ("RxRxWx", 2), ("RxRyWx", 1), ("RxWxRxWx", 1)]),
    favour(Anomaly::NotMyLastWrite, 4, &[("RxWxWxRx", 3), ("RxWxRxWx", 1), ("RxWxWx", 1)]),
    favour(Anomaly::NotMyOwnWrite, 4, &[("RxWxRx", 3), ("RxWxWxRx", 1), ("RxWx", 2)]),
    favour(Anomaly::IntermediateRead, 4, &[("RxWxWx", 3), ("RxRxWxWx", 1), ("Rx", 2), ("RxRx", 1)]),
    favour(Anomaly::NonRepeatableReads, 4, &[("RxRx", 3), ("RxRxWx", 1), ("RxWx", 3)]),
    favour(Anomaly::SessionGuaranteeViolation, 2, &[("RxWx", 3), ("Rx", 3), ("RxRy", 1)]),
    favour(Anomaly::NonMonotonicRead, 4, TORN),
    favour(Anomaly::FracturedRead, 4, TORN),
    favour(Anomaly::CausalityViolation, 4, &[("RxWx", 2), ("RxRyWy", 2), ("RxRy", 4)]),
    favour(Anomaly::LongFork, 4, &[("RxWx", 1), ("RxRy", 1)]),
    favour(Anomaly::LostUpdate, 4, &[("RxWx", 4), ("RxRxWx", 1), ("Rx", 1)]),
    favour(Anomaly::WriteSkew, 4, &[("RxRyWx", 2), ("RxRyWy", 2), ("RxWxRy", 1)]),
];

/// The anomalies that a workload can favour: those that mini-transactions capture.
pub fn favoured() -> impl Iterator<Item = Anomaly> {
    FAVOURS.iter().map(|favour| favour.anomaly)
}

impl Favour {
    /// What makes that anomaly likely, or that nothing is known to.
    pub(crate) fn of(anomaly: Anomaly) -> Result<&'static Favour, String> {
        FAVOURS.iter().find(|favour| favour.anomaly == anomaly).ok_or_else(|| {
            let names: Vec<&str> = favoured().map(Anomaly::name).collect();
            format!(
                "{anomaly} is none that mini-transactions can favour\n  hint: these are {}",
                names.join(", ")
            )
        })
    }

    /// How many rows so many sessions share: an even number, so that rows come in pairs.
    pub(crate) fn hot_rows(&self, sessions: u32, keys: u32) -> u32 {
        let rows = (sessions / self.sessions_a_row).clamp(2, keys);
        rows - rows % 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::SHAPES;

    #[test]
    fn every_favour_is_made_of_shapes() {
        for favour in &FAVOURS {
            for (name, weight) in favour.shapes {
                assert!(SHAPES.iter().any(|s| s.name == *name) && *weight > 0, "{favour:?}");
            }
            assert_eq!(Favour::of(favour.anomaly).map(|f| f.anomaly), Ok(favour.anomaly));
            for (sessions, keys) in [(1, 2), (1, 3), (7, 3), (50, 1000), (1000, 2)] {
                let rows = favour.hot_rows(sessions, keys);
                assert!(rows >= 2 && rows <= keys && rows % 2 == 0, "{favour:?}");
            }
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        let error = Favour::of(Anomaly::G0).map(|f| f.anomaly).unwrap_err();
        assert!(error.starts_with("G0 is none") && error.contains("LostUpdate"), "{error}");
    }
}
