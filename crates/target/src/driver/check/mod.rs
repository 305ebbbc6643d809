//! Whether a driver keeps to the protocol, step by step. It says nothing of isolation: that is for a test.

mod bench;
mod course;
mod found;
mod times;
mod trouble;
mod words;

use std::time::{Duration, Instant};

use super::Driver;
use super::talk::{LastWords, take};
use bench::Bench;

pub use found::{Check, CheckStep, Found};

/// What a check does; the error is what it found.
type Try = fn(&Bench) -> Result<(), Found>;

/// What the first check expects, without which there is no other.
const HELLO: (&str, &str) = ("hello", "it says its name, version, levels and kinds of access");

/// All the others, in the order in which the author of a driver gets there.
const CHECKS: &[(&str, &str, Try)] = &[
    ("create", "a table is made", course::create),
    ("open", "every level that it offers can be opened", course::open),
    ("fresh rows", "rows of a filled table hold 0, others are absent", course::fresh),
    ("own writes", "a transaction reads what it wrote", course::own_writes),
    ("commit", "another session reads what was committed", course::commit),
    ("rollback", "nothing is left of what was rolled back", course::rollback),
    ("many transactions", "one session runs a hundred transactions", course::many),
    ("only reads", "one that only reads does, declared or not; the next writes", course::read_only),
    ("tables", "rows of one table are not those of another", course::apart),
    ("write", "'write' is answered by true, and replaces the value", course::write),
    ("append", "'append' puts values at the end of a list, 'list' reads them", course::append),
    ("cas", "'cas' sets only what holds the expected value", course::cas),
    ("insert", "'insert' is done where there is no row, and only there", course::insert),
    ("timestamps", "'ts', if told, fits the order of transactions", times::timestamps),
    ("values", "values up to 2^53 come back as they were", course::values),
    ("large values", "values up to 2^63 come back as they were, or are refused", course::large),
    ("order", "two requests that come at once are answered one after the other", course::order),
    ("drop", "a table is removed, and others stay", course::drop_table),
    ("conflict", "of two that overwrite what both read, each gets an outcome", trouble::conflict),
    (
        "waiting",
        "a session that waits for another one continues when that one is done",
        trouble::waiting,
    ),
    ("unknown request", "an error, and the session goes on", trouble::unknown_request),
    ("unknown table", "an error, or no row; and no commit of what was aborted", trouble::no_table),
    ("no transaction", "'commit' without 'begin' is an error", trouble::no_transaction),
    ("unknown level", "an error", trouble::no_level),
    ("end in the middle", "nothing is left of a transaction whose session ended", trouble::cut_off),
    ("end of input", "the process ends when its input does", trouble::end_of_input),
    ("close", "the process ends when it is told to", trouble::close),
];

/// Checks a driver. Each answer may take as long as the time-out. `told` is given each check when it begins and when it is
/// done, and says whether to go on.
pub fn check_driver(
    command: &str,
    timeout: Duration,
    told: &mut dyn FnMut(CheckStep<'_>) -> bool,
) -> Vec<Check> {
    let last_words = LastWords::default();
    let mut all = Vec::new();
    let mut driver = None;
    let goes_on = step(HELLO, &last_words, told, &mut all, || {
        driver = Some(Driver::start(command, timeout, &last_words).map_err(bench::wrong)?);
        Ok(())
    });
    let Some(bench) = driver.filter(|_| goes_on).map(Bench::new) else { return all };
    for &(name, expected, run) in CHECKS {
        if !step((name, expected), &last_words, told, &mut all, || run(&bench)) {
            break;
        }
    }
    all
}

/// One check; whether to go on.
fn step(
    (name, expected): (&'static str, &'static str),
    last_words: &LastWords,
    told: &mut dyn FnMut(CheckStep<'_>) -> bool,
    all: &mut Vec<Check>,
    run: impl FnOnce() -> Result<(), Found>,
) -> bool {
    if !told(CheckStep::Begins(name)) {
        return false;
    }
    let began = Instant::now();
    let found = run().err().unwrap_or(Found::Good);
    let check =
        Check { name, expected, found: with_words(found, last_words), took: began.elapsed() };
    let goes_on = told(CheckStep::Done(&check));
    all.push(check);
    goes_on
}

/// What was found, with all that processes said on standard error before they died. The last line alone is a
/// part of the failure.
fn with_words(found: Found, last_words: &LastWords) -> Found {
    let said = take(last_words);
    let said = said.as_deref().and_then(|words| words.split_once('\n')).map(|(_, lines)| lines);
    match (found, said) {
        (Found::Wrong(what), Some(lines)) if lines.lines().nth(1).is_some() => {
            Found::Wrong(format!("{what}\nit said:\n{lines}"))
        }
        (found, _) => found,
    }
}
