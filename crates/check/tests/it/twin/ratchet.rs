//! How many answers stay open, as a ratchet: tables in `tests/open` say how many did, and a checker
//! that leaves more open fails.
//!
//! A checker that gives up is never wrong, so that comparing answers alone would let it give up on
//! everything. The tables are about the default seeds. `ISOLDE_UPDATE=1` writes them anew: after
//! the checker has learned something (numbers fall), or the generator makes other histories. A diff
//! in which numbers rise needs a reason in its commit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use isolde_history::{Effect, History, OpKind, Outcome, Summary};

/// What became of the questions of one row.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Count {
    pub asked: u64,
    pub open: u64,
    /// Of the open ones, those that the twin decides.
    pub decidable: u64,
}

/// Rows by their names: what they are about, in columns between tabs.
pub type Counts = BTreeMap<String, Count>;

/// Adds one answer.
pub fn count(counts: &mut Counts, row: String, ours: Option<bool>, theirs: Option<bool>) {
    let count = counts.entry(row).or_default();
    count.asked += 1;
    count.open += u64::from(ours.is_none());
    count.decidable += u64::from(ours.is_none() && theirs.is_some());
}

/// Adds all answers of another part of the seeds.
pub fn add(counts: &mut Counts, more: Counts) {
    for (row, more) in more {
        let count = counts.entry(row).or_default();
        count.asked += more.asked;
        count.open += more.open;
        count.decidable += more.decidable;
    }
}

/// What makes a history hard, the hardest first: of several that apply, the first.
pub fn kind(history: &History) -> &'static str {
    let summary = Summary::of(history);
    let has = |kind: OpKind| summary.ops[kind as usize] > 0;
    let unsure = history.ops().any(|op| op.effect() == Effect::Unknown && op.kind().writes());
    if has(OpKind::PredicateRead) {
        "predicate reads"
    } else if summary.duplicate_values > 0 {
        "repeated values"
    } else if unsure {
        "unsure operations"
    } else if history.txns().any(|t| t.outcome() == Outcome::Unknown) {
        "unknown outcomes"
    } else if !history.meta().complete {
        "incomplete"
    } else if !history.version_orders().is_empty() {
        "given version orders"
    } else if has(OpKind::Append) || has(OpKind::ListRead) {
        "lists"
    } else if summary.every_write_reads_first() {
        "unique values, no blind write"
    } else {
        "unique values, blind writes"
    }
}

/// The last words of the first line of a table.
const NUMBERS: &str = "asked\topen\tdecidable";

fn path(table: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/open").join(table)
}

fn to_text(columns: &str, counts: &Counts) -> String {
    let mut text = format!("{columns}\t{NUMBERS}\n");
    for (row, Count { asked, open, decidable }) in counts {
        let _ = writeln!(text, "{row}\t{asked}\t{open}\t{decidable}");
    }
    text
}

fn from_text(text: &str) -> Counts {
    let row = |line: &str| {
        let mut columns = line.rsplitn(4, '\t');
        let mut number = || columns.next()?.parse::<u64>().ok();
        let (decidable, open, asked) = (number()?, number()?, number()?);
        Some((columns.next()?.to_owned(), Count { asked, open, decidable }))
    };
    let rows = text.lines().skip(1);
    rows.map(|line| row(line).unwrap_or_else(|| panic!("no row of a table: {line}"))).collect()
}

/// Holds the numbers against the table of that name. With other seeds than the default ones they are
/// only printed.
///
/// # Panics
/// If more answers are open than the table says, or it is about other histories.
pub fn compare(table: &str, columns: &str, counts: &Counts, default_seeds: bool) {
    let text = to_text(columns, counts);
    if !default_seeds {
        eprintln!("{text}(other seeds than those of {table}: nothing to compare with)");
        return;
    }
    if std::env::var_os("ISOLDE_UPDATE").is_some() {
        std::fs::write(path(table), text).unwrap_or_else(|e| panic!("{table}: {e}"));
        return;
    }
    let there = std::fs::read_to_string(path(table)).unwrap_or_default();
    let there = from_text(&there);
    let questions = |counts: &Counts| -> Vec<(String, u64)> {
        counts.iter().map(|(row, count)| (row.clone(), count.asked)).collect()
    };
    assert!(
        questions(&there) == questions(counts),
        "{table} is about other histories: ISOLDE_UPDATE=1 writes it anew"
    );
    let mut more = String::new();
    for (row, now) in counts {
        let before = there[row].open;
        let words =
            format!("{}: {} open, the table says {before}", row.replace('\t', ", "), now.open);
        match now.open.cmp(&before) {
            std::cmp::Ordering::Greater => more = format!("{more}{words}\n"),
            std::cmp::Ordering::Less => eprintln!("fewer are open: {words} (ISOLDE_UPDATE=1)"),
            std::cmp::Ordering::Equal => {}
        }
    }
    assert!(more.is_empty(), "the checker leaves more open than {table} says\n{more}");
}

/// Whether the environment asks for no other seeds.
pub fn default_seeds() -> bool {
    ["ISOLDE_TWIN", "ISOLDE_FROM"].iter().all(|name| std::env::var_os(name).is_none())
}

/// Does the same to every seed, on all cores: the seeds are dealt out like cards.
pub fn on_all_cores<T: Send>(
    seeds: std::ops::Range<u64>,
    part: impl Fn(&mut dyn Iterator<Item = u64>) -> T + Sync,
) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let start = |core: usize| {
            let (seeds, part) = (seeds.clone(), &part);
            scope.spawn(move || part(&mut seeds.skip(core).step_by(cores)))
        };
        let parts: Vec<_> = (0..cores).map(start).collect();
        let join = |part: std::thread::ScopedJoinHandle<'_, T>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        parts.into_iter().map(join).collect()
    })
}
