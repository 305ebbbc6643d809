//! A run that has been checked, in words and for machines.

use std::time::Duration;

use isolde_history::History;
use isolde_report::{
    Case, Decided, REPORT_VERSION, Style, Telling, compared_to_text, faults_to_text, number,
    to_json, to_text,
};
use isolde_run::Ran;
use serde_json::{Value, json};

use crate::asking::Asking;
use crate::command_line::quoted;
use crate::folder::{Folder, HISTORY};
use crate::online::OnlineOutcome;
use crate::place::Place;
use crate::ran;
use crate::stop::EndedBy;
use crate::trial_outcome::TrialOutcome;

/// One run and what was found in it.
pub struct Trial {
    /// Its number among all runs of the job, from 0.
    pub number: u64,
    /// What its random choices follow from.
    pub seed: u64,
    /// What it did.
    pub ran: Ran,
    /// What was recorded.
    pub history: History,
    /// What was decided.
    pub decided: Vec<Decided>,
    /// How long loading and checking took.
    pub verification: Duration,
    /// What it says.
    pub outcome: TrialOutcome,
    /// Whether there is something in it that the user will want to look at.
    pub keep: bool,
    /// What was found while it went on, if that was wanted.
    pub online: Option<OnlineOutcome>,
    /// What ended the job, if something did before it was through.
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) folder: Folder,
    pub(crate) asking: Asking,
}

impl Trial {
    /// Why the verdict says little, if it does: a report must not look as if all were well.
    pub fn says_little(&self) -> Option<&'static str> {
        match self.outcome {
            _ if self.ran.hung.is_some() => {
                Some("the database hangs: what its sessions were doing is not in the record")
            }
            TrialOutcome::AtFault => Some(
                "sessions gave up, the database answered what cannot be, or it reports damaged data",
            ),
            _ if self.ran.progress.committed == 0 => {
                Some("nothing was committed, so nothing was tested")
            }
            _ => None,
        }
    }

    /// All that a report says of it.
    pub fn case(&self, place: &Place) -> Case<'_> {
        let row = |name: &str, text: String| (name.to_owned(), text);
        let mut about = vec![
            row("database", place.line()),
            row("workload", place.workload(self.seed)),
            row("run", ran::to_text(&self.ran, self.ended_by)),
        ];
        if let Some(online) = &self.online {
            about.push(row("online", online.in_a_line(self.ran.progress.elapsed)));
        }
        let file = self.folder.file(HISTORY).display().to_string();
        let again = self.again(place).map(|again| row("run it again", again));
        Case {
            history: &self.history,
            name: if self.keep { file } else { place.line() },
            format: "isolde".to_owned(),
            decided: &self.decided,
            about,
            warnings: Vec::new(),
            warning_count: 0,
            every_level: false,
            options: json!({"session_order": true}),
            explain: self.explain(),
            again: again.into_iter().collect(),
            seconds: self.verification.as_secs_f64(),
        }
    }

    /// The command that shows a witness, if the history is kept.
    fn explain(&self) -> Option<String> {
        let file = self.folder.file(HISTORY).display().to_string();
        self.keep.then(|| format!("isolde explain {}", quoted(&file)))
    }

    /// The run in a line.
    pub fn line(&self) -> String {
        format!(
            "run {}  seed {}: {}; {}",
            self.number + 1,
            self.seed,
            self.outcome.name(),
            ran::counts(&self.ran, self.ended_by)
        )
    }

    /// In words; `all` for every witness that was kept.
    pub fn to_text(&self, place: &Place, all: bool, style: Style) -> String {
        let mut text = format!(
            "database   {}\nworkload   {}\nrun        {}\n",
            place.line(),
            place.workload(self.seed),
            ran::counts(&self.ran, self.ended_by)
        );
        for trouble in &self.ran.troubles {
            let (count, code) = (number(trouble.count), &trouble.code);
            text += &format!("           {count} x {code}: {}\n", first_line(&trouble.message));
        }
        text += &faults_to_text(&self.history);
        let telling = Telling { all, style, explain: self.explain() };
        for decided in &self.decided {
            text += &to_text(&self.history, decided, &telling);
        }
        text += &compared_to_text(&self.decided);
        if let Some(online) = &self.online {
            text += &online.to_text(self.ran.progress.elapsed);
        }
        let memory = ran::peak_memory()
            .map_or(String::new(), |bytes| format!(", peak memory {} MB", bytes.div_ceil(1 << 20)));
        text += &format!(
            "times      generation {}, verification {}{memory}\n",
            ran::seconds(self.ran.progress.elapsed),
            ran::seconds(self.verification)
        );
        if self.ran.interrupted {
            let by = self.ended_by.map_or(String::new(), |by| format!(" by {}", by.name));
            text += &format!(
                "the run was ended{by} before it was through: this is the answer so far\n"
            );
        }
        if self.ran.progress.committed == 0 {
            text += "nothing was committed, so nothing was tested\n";
        }
        if self.keep {
            text += &format!("kept       {}\n", self.folder.path.display());
        }
        if self.outcome == TrialOutcome::Violated
            && let Some(again) = self.again(place)
        {
            text += &format!("again      {again}\n");
        }
        text
    }

    /// For machines.
    pub fn to_json(&self, place: &Place) -> Value {
        let mut report = place.to_json(self.seed);
        report["isolde_report"] = json!(REPORT_VERSION);
        report["run"] = ran::to_json(&self.ran, self.ended_by);
        let verdicts: Vec<Value> = self.decided.iter().map(|d| to_json(&self.history, d)).collect();
        report["verdicts"] = json!(verdicts);
        report["generation_seconds"] = json!(self.ran.progress.elapsed.as_secs_f64());
        report["verification_seconds"] = json!(self.verification.as_secs_f64());
        report["peak_memory_bytes"] = json!(ran::peak_memory());
        if let Some(online) = &self.online {
            report["online"] = online.to_json(self.ran.progress.elapsed);
        }
        let folder = self.keep.then(|| self.folder.path.display().to_string());
        report["folder"] = json!(folder);
        report["outcome"] = json!(self.outcome.name());
        report["exit_code"] = json!(self.exit_code());
        report
    }

    /// The exit code of a command that made only this run.
    fn exit_code(&self) -> u8 {
        match self.ended_by {
            Some(by) if self.outcome != TrialOutcome::Violated => by.exit_code,
            _ => self.outcome.exit_code(),
        }
    }

    /// What an event says of it.
    pub(crate) fn summary_to_json(&self) -> Value {
        let levels = self.decided.iter().map(|d| {
            let level = d.verdict.promise.level.name().to_owned();
            (level, json!(d.verdict.holds()))
        });
        let mut told = json!({
            "number": self.number,
            "seed": self.seed,
            "outcome": self.outcome.name(),
            "levels": levels.collect::<serde_json::Map<_, _>>(),
            "committed": self.ran.progress.committed,
            "generation_seconds": self.ran.progress.elapsed.as_secs_f64(),
            "verification_seconds": self.verification.as_secs_f64(),
            "folder": self.keep.then(|| self.folder.path.display().to_string()),
        });
        if let Some(online) = &self.online {
            told["online"] = online.to_json(self.ran.progress.elapsed);
        }
        told
    }

    /// The command that makes the same run again, if a command made this one.
    fn again(&self, place: &Place) -> Option<String> {
        place.command.as_ref().map(|command| command.with_seed(self.seed))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
