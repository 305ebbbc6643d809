//! How large reports are, and how long it takes to make them.

use std::time::Instant;

use anyhow::Result;
use isolde_check::{Options, check};
use isolde_report::{Case, Decided, HtmlReport, Junit, Telling, case_to_json, to_text};
use isolde_spec::{Level, Promise};
use serde_json::json;

use crate::measure::{self, round};
use crate::plan::Plan;

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    plan: Plan,
    /// How many violations there are; as many witnesses of each kind are kept
    #[arg(long, value_delimiter = ',', default_value = "1,100,10000")]
    violations: Vec<u64>,
    /// The level to decide
    #[arg(long, default_value = "ser", value_parser = measure::level)]
    level: Level,
}

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    for &violations in &args.violations {
        let made = measure::make(&Plan { planted: violations, ..args.plan.clone() })?;
        let witnesses = usize::try_from(violations)?.max(1);
        let options = Options { witnesses, ..Options::default() };
        let began = Instant::now();
        let verdict = check(&made.history, Promise::of(args.level), &options);
        let seconds = began.elapsed().as_secs_f64();
        let decided = [Decided { verdict, holds_without_session_order: false, seconds }];
        let case = Case {
            history: &made.history,
            name: "history.isolde".to_owned(),
            format: "isolde".to_owned(),
            decided: &decided,
            about: Vec::new(),
            warnings: Vec::new(),
            warning_count: 0,
            every_level: false,
            options: json!({"session_order": true}),
            explain: Some("isolde explain history.isolde".to_owned()),
            again: Vec::new(),
            seconds,
        };
        let kept = decided[0].verdict.witnesses().len();
        for (kind, make) in KINDS {
            let began = Instant::now();
            let bytes = make(&case).len();
            let line = json!({
                "bench": "report",
                "kind": kind,
                "level": args.level.name(),
                "transactions": made.history.txn_count(),
                "planted": violations,
                "witnesses": kept,
                "check_seconds": round(seconds),
                "seconds": round(began.elapsed().as_secs_f64()),
                "bytes": bytes,
                "bytes_per_witness": bytes / kept.max(1),
            });
            println!("{line}");
        }
    }
    Ok(())
}

type Make = fn(&Case<'_>) -> String;

const KINDS: [(&str, Make); 4] = [("html", html), ("json", json), ("junit", junit), ("text", text)];

fn html(case: &Case<'_>) -> String {
    let mut report = HtmlReport::new("");
    report.add(case);
    report.finish()
}

fn json(case: &Case<'_>) -> String {
    case_to_json(case).to_string()
}

fn junit(case: &Case<'_>) -> String {
    let mut report = Junit::default();
    report.add(case);
    report.finish()
}

fn text(case: &Case<'_>) -> String {
    let telling = Telling { all: true, ..Telling::default() };
    case.decided.iter().map(|d| to_text(case.history, d, &telling)).collect()
}
