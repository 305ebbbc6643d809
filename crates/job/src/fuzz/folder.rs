//! Findings as folders: for people, for machines, and to be replayed.

use std::fs;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use isolde_check::{Checker, Options};
use isolde_history::JsonlWriter;
use isolde_sql::case::Case;
use isolde_sql::instrument::session;
use isolde_sql::json::{
    MOST_BYTES, VERSION, case_from_json, case_to_json, plan_from_json, plan_to_json,
    statements_from_json, statements_to_json,
};
use isolde_sql::oracle::predicate::differences;
use isolde_sql::oracle::serial::compare;
use isolde_sql::plan::{At, Plan, Step};
use isolde_sql::policy::policy;
use isolde_sql::runner::Runner;
use isolde_sql::settle::settle;
use isolde_sql::signature::signature;
use isolde_sql::story::{script, serial_script, story};
use isolde_sql::work::Suspect;
use isolde_sql::written::history;
use isolde_target::{Offer, Target};
use serde_json::{Value, json};

use super::found::{Found, What, isolation_signature, promise, told};
use super::plan::FuzzPlan;
use crate::shown::shown;

/// The files of a folder.
const SCRIPT: &str = "case.sql";
const MACHINE: &str = "case.json";
const SEEN: &str = "seen.txt";
const SCHEDULE: &str = "schedule.case";
const HISTORY: &str = "history.jsonl";
const LOG: &str = "server.log";

/// So much of a server's log is kept, from its end.
const MOST_LOG: u64 = 256 << 10;

/// Writes a folder for each finding into a folder.
pub(super) fn write_all(
    to: &Path,
    target: &dyn Target,
    offer: Offer,
    plan: &FuzzPlan,
    findings: &mut [Found],
) -> Result<()> {
    for (at, found) in findings.iter_mut().enumerate() {
        let kind = if found.documented { "documented" } else { "finding" };
        let folder = to.join(format!("{kind}-{}-case-{}", at + 1, found.number));
        write(&folder, target, offer, plan, found)
            .with_context(|| format!("cannot write {}", shown(&folder)))?;
        found.folder = Some(folder);
    }
    Ok(())
}

fn write(
    folder: &Path,
    target: &dyn Target,
    offer: Offer,
    plan: &FuzzPlan,
    found: &Found,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut sql = format!(
        "-- {} {} at {}, case {} of seed {}\n",
        target.name(),
        target.version(),
        offer.name,
        found.number,
        plan.seed
    );
    sql += &script(&found.case, &found.plan);
    let order = serial_order(found);
    if !order.is_empty() {
        sql += &serial_script(&found.case, order);
    }
    fs::write(folder.join(SCRIPT), sql)?;
    let what = match &found.what {
        What::Sql(suspect) => story(&found.case, suspect),
        What::Isolation(found) => {
            let (history, verdict) = &**found;
            let file = fs::File::create(folder.join(HISTORY))?;
            let mut writer = JsonlWriter::new(BufWriter::new(file));
            history.replay(&mut writer)?;
            writer.finish()?;
            told(history, verdict)
        }
    };
    fs::write(folder.join(SEEN), format!("{what}\n"))?;
    fs::write(folder.join(SCHEDULE), schedule(found))?;
    if is_about_server(found)
        && let Some(log) = end_of_log(target)
    {
        fs::write(folder.join(LOG), log)?;
    }
    let facts: serde_json::Map<String, Value> =
        target.facts().into_iter().map(|(name, fact)| (name, json!(fact))).collect();
    let machine = json!({
        "isolde-sql-case": VERSION,
        "server": target.name(),
        "version": target.version(),
        "facts": facts,
        "isolation": offer.name,
        "seed": plan.seed,
        "number": found.number,
        "command": plan.command,
        "signature": found.signature,
        "times": found.times,
        "documented": found.documented,
        "seen": what,
        "case": case_to_json(&found.case),
        "plan": plan_to_json(&found.plan),
        "serial_order": statements_to_json(order),
    });
    fs::write(folder.join(MACHINE), serde_json::to_string_pretty(&machine)? + "\n")?;
    Ok(())
}

fn serial_order(found: &Found) -> &[At] {
    match &found.what {
        What::Sql(Suspect::Serial(difference)) => &difference.order,
        What::Sql(_) | What::Isolation(_) => &[],
    }
}

/// Whether the server itself is what was found: then its log says more.
fn is_about_server(found: &Found) -> bool {
    matches!(found.what, What::Sql(Suspect::Words { .. } | Suspect::Hang(_)))
}

/// The end of the log of a server that was started for us.
fn end_of_log(target: &dyn Target) -> Option<Vec<u8>> {
    let mut log = fs::File::open(target.throwaway()?.folder.join("log")).ok()?;
    let length = log.metadata().ok()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(MOST_LOG))).ok()?;
    let mut end = Vec::new();
    log.take(MOST_LOG).read_to_end(&mut end).ok()?;
    Some(end)
}

/// The steps as a case for `isolde probe`: it shows what each statement is answered, and says of no anomaly.
fn schedule(found: &Found) -> String {
    let mut text = format!("case fuzz-{}: {}\n", found.number, found.signature.replace('\n', " "));
    for statement in found.case.schema.iter().chain(&found.case.rows) {
        text += &format!("  setup {statement}\n");
    }
    for turn in found.plan.turns() {
        let transaction = &found.case.transactions[turn.txn];
        let statement = match turn.step {
            Step::Begin => transaction.begin.as_str(),
            Step::Statement(at) => transaction.statements[at].sql.as_str(),
            Step::End if transaction.commits => "commit",
            Step::End => "rollback",
        };
        text += &format!("  {} {statement}\n", session(turn.txn));
    }
    let first = found.plan.turns().first().map_or(0, |turn| turn.txn);
    text + &format!("  seen when {} commits\n", session(first))
}

/// A finding that was read from its folder.
pub struct SavedFinding {
    /// The server that it was found on.
    pub server: String,
    /// The level by the server's name.
    pub isolation: String,
    /// Its signature.
    pub signature: String,
    case: Case,
    plan: Plan,
    order: Vec<At>,
}

/// What came of a replay.
pub struct Replayed {
    /// What was seen that has the same signature, as it is told.
    pub same: Option<String>,
    /// What else was seen.
    pub others: Vec<String>,
    /// Why nothing could be said, if nothing could.
    pub given_up: Option<String>,
}

impl SavedFinding {
    /// Reads a folder. A file that is missing or cannot be understood is named.
    pub fn read(folder: &Path) -> Result<SavedFinding> {
        if !folder.is_dir() {
            bail!(
                "{} is no folder\n  hint: `isolde fuzz` writes one for each finding",
                shown(folder)
            );
        }
        for file in [MACHINE, SCRIPT, SEEN] {
            if !folder.join(file).is_file() {
                bail!("{} has no file {file}", shown(folder));
            }
        }
        let path = folder.join(MACHINE);
        let name = shown(&path);
        let mut text = String::new();
        let file = fs::File::open(&path).with_context(|| format!("cannot read {name}"))?;
        file.take(MOST_BYTES as u64 + 1).read_to_string(&mut text).with_context(|| name.clone())?;
        if text.len() > MOST_BYTES {
            bail!("{name} is longer than {MOST_BYTES} bytes");
        }
        let value: Value = serde_json::from_str(&text).with_context(|| name.clone())?;
        if value.get("isolde-sql-case").and_then(Value::as_u64) != Some(VERSION) {
            bail!("{name}: expected a member \"isolde-sql-case\" with the version {VERSION}");
        }
        let member = |of: &str| {
            let text = value.get(of).and_then(Value::as_str).map(str::to_owned);
            text.with_context(|| format!("{name}: expected a text \"{of}\""))
        };
        let part = |of: &str| value.get(of).unwrap_or(&Value::Null);
        let case = case_from_json(part("case")).with_context(|| name.clone())?;
        let plan = plan_from_json(part("plan"), &case).with_context(|| name.clone())?;
        let order =
            statements_from_json(part("serial_order"), &case).with_context(|| name.clone())?;
        Ok(SavedFinding {
            server: member("server")?,
            isolation: member("isolation")?,
            signature: member("signature")?,
            case,
            plan,
            order,
        })
    }
}

/// Runs a finding once more, exactly as it was, and asks all oracles.
pub fn replay(target: &dyn Target, offer: Offer, saved: &SavedFinding) -> Result<Replayed> {
    let Some(consoles) = target.sql() else { bail!("{} understands no SQL", target.name()) };
    let policy = policy(target.name(), &offer).map_err(anyhow::Error::msg)?;
    let mut runner = Runner::open(consoles, offer)?;
    let (mut same, mut others) = (None, Vec::new());
    let run = match settle(&mut runner, &saved.case, &saved.plan, &policy, &mut Vec::new()) {
        Ok(run) => run,
        Err(given_up) => {
            return Ok(Replayed { same, others, given_up: Some(format!("{given_up:?}")) });
        }
    };
    let mut note = |of: String, text: String| match of == saved.signature && same.is_none() {
        true => same = Some(text),
        false => others.push(text),
    };
    let mut suspects: Vec<Suspect> = differences(&saved.case, &run.plan, &run.observation, &policy)
        .into_iter()
        .map(Suspect::Predicate)
        .collect();
    if !saved.order.is_empty() {
        let compared = compare(&mut runner, &saved.case, &run, &saved.order)?;
        suspects.extend(compared.map(Suspect::Serial));
    }
    for suspect in &suspects {
        note(signature(&saved.case, suspect), story(&saved.case, suspect));
    }
    let history = history(&saved.case, &run)?;
    let verdict = Checker::new(&history, Options::default()).check(promise(offer));
    if verdict.holds() == Some(false) {
        note(isolation_signature(&verdict), told(&history, &verdict));
    }
    Ok(Replayed { same, others, given_up: None })
}
