//! `isolde explain`: witnesses of a history, and the handbook.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use isolde_check::{Options, check};
use isolde_history::History;
use isolde_history::notation::parse;
use isolde_job::excerpts::{As, ShownWitness};
use isolde_job::{output, quoted};
use isolde_report::handbook::{
    AnomalyPage, Entry, LevelPage, anomaly, anomaly_to_json, anomaly_to_text, index_to_text,
    level_to_json, level_to_text,
};
use isolde_report::{
    Decided, Exhibit, Telling, exhibit_to_text, notes_to_text, number, transactions_to_text,
    witness_to_json,
};
use isolde_spec::{Anomaly, By, Level, Promise, Summary, Witness};
use isolde_stream::intervals::decide;
use isolde_target::without_password;

use crate::args::ExplainArgs;
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::{names, reading, terminal};

/// How many witnesses of a level are listed.
const MOST: usize = 200;

pub(crate) fn run(args: &ExplainArgs, interrupts: &Interrupts) -> Result<()> {
    let Some(what) = &args.what else {
        if args.history || args.json {
            bail!("nothing was named\n  hint: `isolde explain` lists the levels and anomalies");
        }
        return terminal::print(&index_to_text());
    };
    let name = isolde_job::shown(Path::new(&without_password(&what.to_string_lossy())));
    let named = args.witness.is_none();
    match names::page(&what.to_string_lossy()).filter(|_| named) {
        Some(Entry::Anomaly(page)) => return of_anomaly(args, page),
        Some(Entry::Level(page)) => return of_level(args, page),
        None => {}
    }
    if !named && !what.exists() && names::page(&what.to_string_lossy()).is_some() {
        bail!(
            "a witness is one of a history, and {name} is none\n  hint: isolde explain {}",
            quoted(&name)
        );
    }
    if args.history {
        bail!("{name} is no anomaly and no level\n  hint: {}", hint(&name));
    }
    if what.as_os_str() != "-" && !what.exists() {
        bail!("there is no file, anomaly or level '{name}'\n  hint: {}", hint(&name));
    }
    of_history(args, what, interrupts)
}

fn hint(name: &str) -> String {
    let all = || "`isolde explain` lists the levels and anomalies".to_owned();
    names::meant(name).unwrap_or_else(all)
}

// ---- the handbook ----

fn of_anomaly(args: &ExplainArgs, page: &AnomalyPage) -> Result<()> {
    if args.history {
        return terminal::print(page.history);
    }
    if args.json {
        return terminal::print(&(serde_json::to_string_pretty(&anomaly_to_json(page))? + "\n"));
    }
    let shown = shown(page.history, page.promise(), Some(page.anomaly))?;
    terminal::print(&anomaly_to_text(page, &shown))
}

fn of_level(args: &ExplainArgs, page: &LevelPage) -> Result<()> {
    let level = page.level;
    if args.history {
        return terminal::print(page.forbids);
    }
    if args.json {
        return terminal::print(&(serde_json::to_string_pretty(&level_to_json(page))? + "\n"));
    }
    // What the level allows, a stronger one forbids: its picture is the one to look at.
    let stronger = Level::ALL.into_iter().filter(|l| l.next_weaker().contains(&level));
    let allowed = stronger.map(|stronger| shown(page.allows, Promise::of(stronger), None));
    let allowed = allowed.collect::<Result<Vec<String>>>()?;
    let allowed = allowed.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    terminal::print(&level_to_text(page, &allowed, &shown(page.forbids, Promise::of(level), None)?))
}

/// The first witness of a small history that breaks a promise, in words; nothing if none does.
fn shown(text: &str, promise: Promise, wanted: Option<Anomaly>) -> Result<String> {
    let history = parse(text).context("in the handbook")?;
    let profile = wanted.and_then(|wanted| anomaly(wanted).profile());
    let verdict = match profile {
        // What only intervals show is held against the mechanisms of a server.
        Some(profile) => decide(&history, profile, &Options::default(), 0.0),
        None => check(&history, promise, &Options::default()),
    };
    let telling = Telling { style: terminal::style(), ..Telling::default() };
    let shows = |w: &&Witness| wanted.is_none_or(|wanted| w.anomaly == wanted);
    let first = verdict.witnesses().iter().find(shows);
    let exhibit = first.map(|witness| Exhibit::new(&history, promise, 1, witness));
    Ok(exhibit.map_or(String::new(), |exhibit| exhibit_to_text(&history, &exhibit, &telling)))
}

// ---- histories ----

/// Which witness is meant.
enum Wanted {
    /// Of a promise, or of the one that is violated most plainly: the number from 1.
    Number(Option<Promise>, usize),
    /// The first of its kind.
    First(Anomaly),
}

impl Wanted {
    fn named(text: &str) -> Result<Wanted> {
        if let Ok(number) = text.parse() {
            return Ok(Wanted::Number(None, number));
        }
        if let Some((level, number)) = text.rsplit_once('-')
            && let (Some(promise), Ok(number)) = (names::promise(level), number.parse())
        {
            return Ok(Wanted::Number(Some(promise), number));
        }
        Anomaly::named(text).map(Wanted::First).ok_or_else(|| {
            anyhow!(
                "'{text}' names no witness\n  hint: a witness is LEVEL-NUMBER such as si-1, a number, \
                 or an anomaly"
            )
        })
    }
}

fn of_history(args: &ExplainArgs, file: &Path, interrupts: &Interrupts) -> Result<()> {
    let wanted = args.witness.as_deref().map(Wanted::named).transpose()?;
    let kinds = args.write.iter().map(|to| kind(args, file, to)).collect::<Result<Vec<As>>>()?;
    interrupts.listen_for_checks()?;
    let loaded = reading::load_or_tell(file, &args.ask.read, args.json)?;
    let history = &loaded.history;
    let spinner = Progress::spinner(&format!("checking {}", isolde_job::shown(file)));
    let mut asking = args.ask.asking(interrupts.stop())?;
    let promise = match wanted {
        Some(Wanted::Number(promise, _)) => promise,
        _ => None,
    };
    let level = promise.map(|promise| promise.level);
    // A witness that is named says what it was judged by.
    if let (Some(promise), true) = (promise, asking.evidence.is_empty()) {
        asking.evidence = vec![promise.by];
    }
    interrupts.check_begins();
    let told = &mut |verdict: &_| interrupts.decided(verdict);
    let decided = asking.decide(history, level.as_slice(), told)?;
    interrupts.check_ends();
    spinner.clear();
    let what = file.display().to_string();
    let name = quoted(&what);
    let explain = (what != "-").then(|| format!("isolde explain{} {name}", args.ask.typed()));
    let telling = Telling { style: terminal::style(), explain, ..Telling::default() };
    let Some(wanted) = wanted else { return list(args, history, &decided, &telling) };
    let (promise, number, witness) = find(&decided, &wanted)?;
    let exhibit = Exhibit::new(history, promise, number, witness);
    if args.json {
        let json = witness_to_json(history, witness, &exhibit);
        terminal::print(&(serde_json::to_string_pretty(&json)? + "\n"))?;
    } else if args.write.is_empty() {
        let more = telling.explain.as_ref();
        let more = more.map(|explain| format!("{explain} {} --write witness.svg", exhibit.id));
        let telling = Telling { explain: None, ..telling };
        let mut text = exhibit_to_text(history, &exhibit, &telling);
        text += &transactions_to_text(history, &exhibit);
        let own = decided.iter().find(|d| d.verdict.promise == promise);
        text += &own.map_or(String::new(), |d| notes_to_text(&d.verdict));
        text.extend(more.map(|more| format!("  picture    {more}\n")));
        terminal::print(&text)?;
    }
    let (asking, force) = (&asking, args.force);
    let shown = ShownWitness { history, promise, witness, exhibit: &exhibit, asking, force };
    for (to, kind) in args.write.iter().zip(kinds) {
        shown.write(to, kind, &what)?.iter().for_each(terminal::notice);
    }
    Ok(())
}

/// What to write into a file, if it may be written.
fn kind(args: &ExplainArgs, history: &Path, to: &Path) -> Result<As> {
    if output::is_same(history, to) {
        bail!("{} is the history, and is not overwritten by a witness", isolde_job::shown(to));
    }
    output::may_write(to, args.force)?;
    match &args.to_format {
        Some(format) => As::named(format),
        None => As::of(to),
    }
}

/// One witness of what was decided.
fn find<'d>(decided: &'d [Decided], wanted: &Wanted) -> Result<(Promise, usize, &'d Witness)> {
    let Some(plainest) = plainest(decided) else {
        bail!("nothing is violated, so there is no witness\n  hint: `isolde check` says what holds")
    };
    match wanted {
        Wanted::Number(promise, wanted) => {
            let promise = promise.unwrap_or(plainest);
            let witnesses = of(decided, promise);
            let witness = wanted.checked_sub(1).and_then(|at| witnesses.get(at));
            let witness = witness.with_context(|| {
                let count = witnesses.len();
                format!("there is no witness {wanted} of {promise}: {count} were kept, from 1 on")
            })?;
            Ok((promise, *wanted, witness))
        }
        Wanted::First(anomaly) => {
            let all = decided.iter().map(|d| d.verdict.promise);
            let named = |promise: Promise| {
                let at = of(decided, promise).iter().position(|w| w.anomaly == *anomaly)?;
                Some((promise, at + 1, &of(decided, promise)[at]))
            };
            let found = [plainest].into_iter().chain(all).find_map(named);
            found.with_context(|| format!("no level is violated by {anomaly}"))
        }
    }
}

/// The promise that is broken most plainly: by timestamps if one is, else of a level by values.
fn plainest(decided: &[Decided]) -> Option<Promise> {
    let broken = |d: &&Decided| !d.verdict.witnesses().is_empty();
    let timed = |d: &&Decided| d.verdict.promise.by != By::Values;
    let timed = decided.iter().filter(broken).find(timed).map(|d| d.verdict.promise);
    let summary = || Summary::of(decided.iter().map(|d| &d.verdict)).plainest.map(Promise::of);
    timed.or_else(summary)
}

fn of(decided: &[Decided], promise: Promise) -> &[Witness] {
    let same = |p: Promise| p.level == promise.level && p.by == promise.by;
    let own = decided.iter().find(|d| same(d.verdict.promise));
    own.map_or(&[], |d| d.verdict.witnesses())
}

/// The witnesses of the level that is violated most plainly, one line each, and how to see others.
fn list(
    args: &ExplainArgs,
    history: &History,
    decided: &[Decided],
    telling: &Telling,
) -> Result<()> {
    let violated = decided.iter().filter(|d| !d.verdict.witnesses().is_empty());
    let exhibits = |d: &Decided| {
        let promise = d.verdict.promise;
        let all = d.verdict.witnesses().iter().enumerate().take(MOST);
        all.map(|(at, w)| Exhibit::new(history, promise, at + 1, w)).collect::<Vec<_>>()
    };
    if args.json {
        let id = |e: &Exhibit| serde_json::json!({"id": e.id, "anomaly": e.anomaly.name(), "story": e.story});
        let all: Vec<_> = violated.flat_map(exhibits).map(|e| id(&e)).collect();
        return terminal::print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    let Some(plainest) = plainest(decided) else {
        return terminal::print("nothing is violated, so there is no witness\n");
    };
    let mut text = String::new();
    for d in violated {
        let (promise, count) = (d.verdict.promise, d.verdict.witnesses().len());
        if (promise.level, promise.by) == (plainest.level, plainest.by) {
            text += &format!("{promise}: {} kept\n", number(count));
            exhibits(d).iter().for_each(|e| text += &isolde_report::exhibit_to_line(e));
        } else {
            let word = promise.word();
            text += &format!("{promise}: {} kept, {word}-1 and so on\n", number(count));
        }
    }
    text.extend(telling.explain.as_ref().map(|e| format!("more: {e} WITNESS\n")));
    terminal::print(&text)
}
