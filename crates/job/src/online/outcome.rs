//! What a stream said of a run, whether the check of the record says the same, and what it cost.

use std::time::Duration;

use isolde_report::number;
use isolde_spec::{Anomaly, Answer, By, Promise, Verdict};
use isolde_stream::{Status, StreamAnswer};
use serde_json::{Map, Value, json};

use super::checking::Checked;
use super::delays::Delays;
use super::tape::HandedOver;

/// What was found while a run went on.
#[derive(Clone, Debug)]
pub struct OnlineOutcome {
    /// What the run was held to.
    pub promise: Promise,
    /// The figures of the stream; every verdict is final.
    pub status: Status,
    /// Whether the first violation ended the run.
    pub stopped: bool,
    /// Why the stream could not go on, if it could not.
    pub failed: Option<String>,
    /// Whether the record says the same.
    pub agreement: Agreement,
    delays: Delays,
    checking: Option<Duration>,
    recording: Option<Duration>,
    held_back: Duration,
    first_doubt: Option<String>,
}

/// Whether the check of the whole record says what the stream said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// It says the same.
    Agrees,
    /// It does not: a fault of Isolde. In what they differ.
    Differs(String),
    /// They cannot be compared, and why.
    NotCompared(String),
    /// The stream left open what the record decides: what, and why.
    Open(String),
}

impl OnlineOutcome {
    pub(super) fn new(
        promise: Promise,
        checked: Checked,
        fed: &HandedOver,
        stopped: bool,
    ) -> OnlineOutcome {
        let Checked { status, delays, time, failed, first_doubt } = checked;
        OnlineOutcome {
            promise,
            status,
            stopped,
            failed,
            agreement: Agreement::NotCompared("the record has not been checked".to_owned()),
            delays,
            checking: time,
            recording: fed.recording,
            held_back: fed.held_back,
            first_doubt,
        }
    }

    /// Compares it with the verdict on the whole record. `limited` says that the check of the record may have ended early.
    pub(crate) fn compare(&mut self, offline: &Verdict, committed: u64, limited: bool) {
        let unknown = matches!(offline.answer, Answer::Unknown(_));
        self.agreement = match &self.failed {
            Some(why) => Agreement::NotCompared(format!("the stream could not go on: {why}")),
            None if committed == 0 => Agreement::NotCompared("nothing was committed".to_owned()),
            None if unknown && limited => {
                Agreement::NotCompared("the check of the record did not end".to_owned())
            }
            // What the stream found stands, though the record as a whole is not decided.
            None if self.status.holds() == Some(false)
                && let Answer::Unknown(why) = &offline.answer =>
            {
                Agreement::NotCompared(format!("the check of the record is unknown: {why}"))
            }
            None => agreement(&self.status, self.first_doubt.as_deref(), offline),
        };
    }

    /// In words, a line each.
    fn lines(&self, elapsed: Duration) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.promised(), self.said())];
        if self.delays.count() > 0 {
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            lines.push(format!(
                "final verdicts after {:.0} ms (median), {:.0} ms (99%), {:.0} ms (longest)",
                ms(self.delays.within(0.5)),
                ms(self.delays.within(0.99)),
                ms(self.delays.longest())
            ));
        }
        lines.push(self.cost(elapsed));
        if self.stopped {
            lines.push("the first violation ended the run (--stop)".to_owned());
        }
        lines.push(match &self.agreement {
            Agreement::Agrees => "the check of the record agrees".to_owned(),
            Agreement::Differs(how) => {
                format!("THE CHECK OF THE RECORD DISAGREES, which is a fault of Isolde: {how}")
            }
            Agreement::NotCompared(why) => format!("not compared with the record: {why}"),
            Agreement::Open(what) => format!("the answer is that of the record: {what}"),
        });
        lines
    }

    /// In words, below each other.
    pub(crate) fn to_text(&self, elapsed: Duration) -> String {
        let lines = self.lines(elapsed);
        format!("online     {}\n", lines.join("\n           "))
    }

    /// In words, in one line.
    pub(crate) fn in_a_line(&self, elapsed: Duration) -> String {
        self.lines(elapsed).join("; ")
    }

    /// The promise by its name: the mechanisms of a server know of no sessions.
    fn promised(&self) -> String {
        let of_sessions = self.promise.by == By::Intervals || self.promise.session_order;
        Promise { session_order: of_sessions, ..self.promise }.to_string()
    }

    /// The verdict in a few words.
    fn said(&self) -> String {
        let status = &self.status;
        match (status.answer(), &self.first_doubt) {
            (StreamAnswer::Holds, _) => "nothing was found".to_owned(),
            (StreamAnswer::NoViolation { enough: true }, _) => no_violation(status),
            (StreamAnswer::NoViolation { enough: false }, _) => {
                no_violation(status) + ", which is a smaller share than was asked for"
            }
            (StreamAnswer::Violated, _) => format!("violated ({})", counted(&status.by_anomaly)),
            (StreamAnswer::Unknown, Some(why)) => format!("unknown ({why})"),
            (StreamAnswer::Unknown, None) => "unknown".to_owned(),
        }
    }

    /// What it cost, beside the throughput.
    fn cost(&self, elapsed: Duration) -> String {
        let mut words = format!("{} transactions/s", number(self.per_second(elapsed) as u64));
        let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        if let Some(time) = self.checking {
            words += &format!("; the check took {:.1}% of a core", share(time));
        }
        if let Some(time) = self.recording {
            words += &format!(", recording {:.1}%", share(time));
        }
        words
    }

    fn per_second(&self, elapsed: Duration) -> f64 {
        self.status.txns as f64 / elapsed.as_secs_f64().max(1e-9)
    }

    /// For machines.
    pub(crate) fn to_json(&self, elapsed: Duration) -> Value {
        let status = &self.status;
        let counts = status.by_anomaly.iter().map(|(name, n)| ((*name).to_owned(), json!(n)));
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (agrees, why) = match &self.agreement {
            Agreement::Agrees => (Some(true), None),
            Agreement::Differs(how) => (Some(false), Some(how)),
            Agreement::NotCompared(why) | Agreement::Open(why) => (None, Some(why)),
        };
        let share = |time: Option<Duration>| {
            time.map(|time| time.as_secs_f64() / elapsed.as_secs_f64().max(1e-9))
        };
        let mut told = json!({
            "promise": self.promised(),
            "answer": match status.answer() {
                StreamAnswer::Holds => "holds",
                StreamAnswer::NoViolation { .. } => "no-violation",
                StreamAnswer::Violated => "violated",
                StreamAnswer::Unknown => "unknown",
            },
            "holds": status.holds(),
            "transactions": status.txns,
            "violations": status.violations,
            "by_anomaly": counts.collect::<Map<_, _>>(),
            "corrections": status.corrections,
            "late": status.late,
            "doubts": status.doubts,
            "unstamped": status.unstamped,
            "stopped": self.stopped,
            "failed": self.failed,
            "agrees": agrees,
            "why_not": why,
            "delay_ms": {
                "count": self.delays.count(),
                "median": ms(self.delays.within(0.5)),
                "p99": ms(self.delays.within(0.99)),
                "max": ms(self.delays.longest()),
            },
            "transactions_per_second": self.per_second(elapsed),
            "check_cpu_seconds": self.checking.map(|time| time.as_secs_f64()),
            "check_share_of_a_core": share(self.checking),
            "recording_cpu_seconds": self.recording.map(|time| time.as_secs_f64()),
            "recording_share_of_a_core": share(self.recording),
            "held_back_seconds": self.held_back.as_secs_f64(),
        });
        if let Some(share) = status.by_intervals {
            told["decided"] = json!(share.decided);
            told["of"] = json!(share.of);
            told["enough"] = json!(share.enough);
        }
        told
    }
}

/// Holds what the stream said against the check of the whole record. Where the stream says itself that it does not know, the
/// record may know more, but nothing that the stream found may be missing in it.
fn agreement(online: &Status, why: Option<&str>, offline: &Verdict) -> Agreement {
    // What the server has lost is asked when the run is over, and is no matter of timestamps.
    let lost = |anomaly: Anomaly| anomaly == Anomaly::LostCommit;
    let counts = offline.counts.iter().filter(|c| !lost(c.anomaly));
    let mut counts: Vec<_> = counts.map(|c| (c.anomaly.name(), c.count)).collect();
    counts.sort_unstable();
    let count_of = |name: &str| counts.iter().find(|(other, _)| *other == name).map(|(_, n)| *n);
    let is_there = |(name, n): &(&str, u64)| count_of(name).is_some_and(|count| count >= *n);
    let is_known = !matches!(offline.answer, Answer::Unknown(_));
    let differs = counts != online.by_anomaly || answered(online) != answer_of(offline);
    if is_known
        && differs
        && online.by_anomaly.iter().all(is_there)
        && let Some(open) = left_open(online, why)
    {
        return Agreement::Open(open);
    }
    if counts != online.by_anomaly {
        let (online, offline) = (counted(&online.by_anomaly), counted(&counts));
        return Agreement::Differs(format!("online {online}, of the record {offline}"));
    }
    let only_lost = counts.is_empty() && offline.holds() == Some(false);
    let (online, offline) = (answered(online), answer_of(offline));
    if online != offline && !only_lost {
        return Agreement::Differs(format!("online {online}, of the record {offline}"));
    }
    Agreement::Agrees
}

/// The answer of a stream, in the words in which it is compared: with how much was decided.
fn answered(online: &Status) -> String {
    match online.answer() {
        StreamAnswer::Holds => "it holds".to_owned(),
        StreamAnswer::Violated => "it is violated".to_owned(),
        StreamAnswer::Unknown => "it is unknown".to_owned(),
        StreamAnswer::NoViolation { .. } => no_violation(online),
    }
}

/// The same of a record.
fn answer_of(offline: &Verdict) -> String {
    match offline.answer {
        Answer::Holds => "it holds".to_owned(),
        Answer::Violated(_) => "it is violated".to_owned(),
        Answer::Unknown(_) => "it is unknown".to_owned(),
        Answer::NoViolation { decided, of, .. } => no_violation_among(decided, of),
    }
}

fn no_violation(online: &Status) -> String {
    let share = online.by_intervals.unwrap_or_default();
    no_violation_among(share.decided, share.of)
}

fn no_violation_among(decided: u64, of: u64) -> String {
    format!("no violation among {} of {} decided", number(decided), number(of))
}

/// What a stream left open, and why; nothing if it decided all.
fn left_open(online: &Status, why: Option<&str>) -> Option<String> {
    let reads = online.doubts + online.too_late;
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    // By client intervals, what came late was not judged by all that it has to do with.
    let late = if online.by_intervals.is_some() { online.late } else { 0 };
    match (reads, online.unstamped + online.open + late) {
        (0, 0) => None,
        (0, 1) => Some("on the stream 1 transaction stayed open".to_owned()),
        (0, txns) => Some(format!("on the stream {} transactions stayed open", number(txns))),
        (1, _) => Some(format!("on the stream 1 read or conflict stayed unknown{why}")),
        _ => {
            Some(format!("on the stream {} reads and conflicts stayed unknown{why}", number(reads)))
        }
    }
}

/// Anomalies with their counts.
fn counted(counts: &[(&str, u64)]) -> String {
    if counts.is_empty() {
        return "nothing".to_owned();
    }
    let words = counts.iter().map(|(name, count)| format!("{} x {name}", number(*count)));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use isolde_spec::{Counted, Level, Procedure};
    use isolde_stream::DecidedShare;

    use super::*;

    fn online(by_anomaly: &[(&'static str, u64)], doubts: u64) -> Status {
        let violations = by_anomaly.iter().map(|(_, count)| count).sum();
        Status {
            txns: 9,
            committed: 9,
            by_anomaly: by_anomaly.to_vec(),
            violations,
            doubts,
            ..Status::default()
        }
    }

    fn offline(answer: Answer, counts: &[(Anomaly, u64)]) -> Verdict {
        let counted = |&(anomaly, count): &(Anomaly, u64)| Counted {
            anomaly,
            count,
            at_least: false,
            positions: Vec::new(),
        };
        Verdict {
            promise: Promise::by_timestamps(Level::Serializable),
            answer,
            counts: counts.iter().map(counted).collect(),
            notes: Vec::new(),
            procedure: Procedure::default(),
        }
    }

    #[test]
    fn counts_and_answers_have_to_be_the_same() {
        let violated = || Answer::Violated(Vec::new());
        let unknown = || Answer::Unknown(String::new());
        let stale = [("StaleRead", 2)];
        let same = |status: &Status, verdict: &Verdict| {
            assert_eq!(agreement(status, None, verdict), Agreement::Agrees);
        };
        same(&online(&[], 0), &offline(Answer::Holds, &[]));
        same(&online(&[], 1), &offline(unknown(), &[]));
        same(&online(&stale, 0), &offline(violated(), &[(Anomaly::StaleRead, 2)]));
        // What the server lost is found when the run is over.
        same(&online(&[], 0), &offline(violated(), &[(Anomaly::LostCommit, 1)]));
        let differs = |status: &Status, verdict: &Verdict, how: &str| {
            assert_eq!(agreement(status, None, verdict), Agreement::Differs(how.to_owned()));
        };
        let verdict = offline(violated(), &[(Anomaly::StaleRead, 1)]);
        differs(&online(&stale, 0), &verdict, "online 2 x StaleRead, of the record 1 x StaleRead");
        differs(&online(&[], 0), &verdict, "online nothing, of the record 1 x StaleRead");
        let verdict = offline(unknown(), &[]);
        differs(&online(&[], 0), &verdict, "online it holds, of the record it is unknown");
    }

    #[test]
    fn by_intervals_as_much_has_to_be_decided() {
        let online = |decided| {
            let share = DecidedShare { decided, of: 1_000, enough: true, timed: true };
            Status { by_intervals: Some(share), ..online(&[], 0) }
        };
        let answer = |decided| Answer::NoViolation { decided, of: 1_000, enough: true };
        let offline = |decided| offline(answer(decided), &[]);
        assert_eq!(agreement(&online(950), None, &offline(950)), Agreement::Agrees);
        let how = "online no violation among 950 of 1,000 decided, of the record no violation among 951 of 1,000 decided";
        let agreed = agreement(&online(950), None, &offline(951));
        assert_eq!(agreed, Agreement::Differs(how.to_owned()));
        // What came late explains why the one has decided less.
        let late = Status { late: 1, ..online(950) };
        let open = "on the stream 1 transaction stayed open".to_owned();
        assert_eq!(agreement(&late, None, &offline(951)), Agreement::Open(open));
    }

    #[test]
    fn what_the_stream_left_open_the_record_may_decide() {
        let violated = || Answer::Violated(Vec::new());
        let why = Some("nobody knows");
        let open = "on the stream 1 read or conflict stayed unknown: nobody knows";
        for verdict in
            [offline(Answer::Holds, &[]), offline(violated(), &[(Anomaly::ThinAirRead, 1)])]
        {
            let agreed = agreement(&online(&[], 1), why, &verdict);
            assert_eq!(agreed, Agreement::Open(open.to_owned()));
        }
        // What it found has to be there all the same.
        let agreed = agreement(&online(&[("StaleRead", 2)], 1), why, &offline(Answer::Holds, &[]));
        assert!(matches!(agreed, Agreement::Differs(_)), "{agreed:?}");
    }
}
