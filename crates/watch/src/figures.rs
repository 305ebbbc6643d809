//! How a watch is doing, as figures.

use std::time::Duration;

use isolde_stream::Status;

/// How a watch is doing.
#[derive(Clone, Default, Debug)]
pub struct Figures {
    /// Of the stream.
    pub status: Status,
    /// Transactions per second, lately.
    pub rate: f64,
    /// How long the last batch had waited between being read and being judged.
    pub lag: Duration,
    /// Transactions that were read and wait to be judged.
    pub backlog: u64,
    /// Lines and bodies that could not be read.
    pub bad: u64,
    /// How long the watch has been going on.
    pub elapsed: Duration,
    /// Why the first of the reads that stay unknown does.
    pub first_doubt: Option<String>,
}

/// One metric in the words of Prometheus.
struct Metric {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: f64,
}

impl Figures {
    /// As Prometheus reads it.
    pub(crate) fn to_prometheus(&self) -> String {
        use std::fmt::Write as _;
        let mut out = String::new();
        for Metric { name, help, kind, value } in self.metrics() {
            let _ = writeln!(
                out,
                "# HELP isolde_{name} {help}\n# TYPE isolde_{name} {kind}\nisolde_{name} {value}"
            );
        }
        out += "# HELP isolde_violations Violations that stand, by anomaly.\n\
                # TYPE isolde_violations gauge\n";
        for (anomaly, count) in &self.status.by_anomaly {
            let _ = writeln!(out, "isolde_violations{{anomaly=\"{anomaly}\"}} {count}");
        }
        out
    }

    fn metrics(&self) -> Vec<Metric> {
        let s = &self.status;
        let counter =
            |name, help, value: u64| Metric { name, help, kind: "counter", value: value as f64 };
        let gauge = |name, help, value: f64| Metric { name, help, kind: "gauge", value };
        let of_share = s.by_intervals.iter().flat_map(|share| {
            [
                gauge("dependencies", "Dependencies, by intervals.", share.of as f64),
                gauge("dependencies_decided", "Those that are certain.", share.decided as f64),
            ]
        });
        let all = vec![
            counter("transactions_total", "Transactions judged.", s.txns),
            counter("operations_total", "Operations of these.", s.ops),
            counter("corrections_total", "Final verdicts that changed later.", s.corrections),
            counter("late_total", "Transactions later than promised.", s.late),
            counter("too_late_total", "Transactions too late to be judged.", s.too_late),
            counter("flips_total", "Changes of verdicts before they were final.", s.flips),
            counter("bad_lines_total", "Lines that could not be read.", self.bad),
            gauge("violations_standing", "Violations that stand.", s.violations as f64),
            gauge("doubts", "Reads and conflicts that stay unknown.", s.doubts as f64),
            gauge("open", "Transactions whose verdict is not final.", s.open as f64),
            gauge("lag_seconds", "From reading to judging, last batch.", self.lag.as_secs_f64()),
            gauge("backlog", "Transactions that wait to be judged.", self.backlog as f64),
            gauge("memory_bytes", "Held in memory, counted.", s.memory as f64),
            gauge("disk_bytes", "Held on disk.", s.disk as f64),
            gauge("rate", "Transactions per second, lately.", self.rate),
            gauge(
                "complete",
                "Whether nothing is missing in the stream.",
                f64::from(u8::from(s.complete)),
            ),
        ];
        all.into_iter().chain(of_share).collect()
    }
}
