//! The handbook: its histories show what they are said to show, and its commands name what exists.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::expect;
use isolde_history::notation::parse;
use isolde_report::handbook::{self, ByDesign, Recipe, next_stronger};
use isolde_spec::{Anomaly, By, CATALOGUE, Level, Promise, Verdict};
use isolde_workload::simulate::{Planted, plantable};
use isolde_workload::{Kind, favoured};

use crate::shown::{ask_page, ask_promise};

fn asked(history: &str, promise: Promise) -> Verdict {
    let history = parse(history).unwrap_or_else(|e| panic!("{e}\n{history}"));
    ask_promise(&history, promise).verdict
}

fn verdict(history: &str, level: Level) -> Verdict {
    asked(history, Promise::of(level))
}

fn is_by(page: &handbook::AnomalyPage, by: By) -> bool {
    page.promise().by == by
}

fn holds(history: &str, level: Level) -> bool {
    verdict(history, level).holds() == Some(true)
}

fn violated(history: &str, level: Level) -> bool {
    verdict(history, level).holds() == Some(false)
}

/// The first name that a promise has for what is wrong.
fn first(history: &str, promise: Promise) -> Option<Anomaly> {
    asked(history, promise).witnesses().first().map(|witness| witness.anomaly)
}

/// The same of what a page is about.
fn first_of(history: &str, page: &handbook::AnomalyPage) -> Option<Anomaly> {
    let history = parse(history).unwrap_or_else(|e| panic!("{e}\n{history}"));
    ask_page(&history, page).verdict.witnesses().first().map(|witness| witness.anomaly)
}

/// Where transactions are single operations these pairs mean the same, so that no history tells
/// them apart; and of longer transactions the stronger one is not asked.
fn the_same(stronger: Level, weaker: Level) -> bool {
    matches!(
        (stronger, weaker),
        (Level::Linearizable, Level::StrictSerializable) | (Level::Sequential, Level::Serializable)
    )
}

fn all_anomalies() -> impl Iterator<Item = &'static handbook::AnomalyPage> {
    CATALOGUE.iter().map(|entry| handbook::anomaly(entry.anomaly))
}

fn all_levels() -> impl Iterator<Item = &'static handbook::LevelPage> {
    Level::ALL.into_iter().map(handbook::level)
}

#[test]
fn every_anomaly_and_every_level_has_a_page() {
    for entry in CATALOGUE {
        assert_eq!(handbook::anomaly(entry.anomaly).anomaly, entry.anomaly);
    }
    for level in Level::ALL {
        assert_eq!(handbook::level(level).level, level);
    }
}

#[test]
fn every_anomaly_is_shown_by_its_history() {
    for page in all_anomalies().filter(|page| is_by(page, By::Values)) {
        let entry = page.anomaly.entry();
        for from in [Some(entry.forbidden_from), entry.also_from].into_iter().flatten() {
            let witnesses = verdict(page.history, from);
            let witness = witnesses.witnesses().first();
            let witness = witness.unwrap_or_else(|| panic!("{}: nothing at {from}", entry.name));
            assert_eq!(witness.anomaly, page.anomaly, "at {from}");
            assert_eq!(witness.forbidden_from(), entry.forbidden_from, "{}", entry.name);
            for weaker in from.next_weaker().iter().filter(|l| !page.anomaly.forbidden_at(**l)) {
                let same = the_same(from, *weaker);
                assert!(same || holds(page.history, *weaker), "{} at {weaker}", entry.name);
            }
        }
    }
}

#[test]
fn nothing_else_is_wrong_with_it() {
    // Other levels have other names for these two, and forbid them under those.
    let renamed = [Anomaly::PrefixViolation, Anomaly::NotLinearizable];
    let valued = all_anomalies().filter(|page| is_by(page, By::Values));
    for page in valued.filter(|page| !renamed.contains(&page.anomaly)) {
        for level in Level::ALL.into_iter().filter(|level| !level.of_operations()) {
            // Without intervals of the whole history nothing holds at the levels of real time.
            let forbidden = page.anomaly.forbidden_at(level);
            assert_eq!(violated(page.history, level), forbidden, "{} at {level}", page.anomaly);
            assert_eq!(holds(page.history, level), !forbidden, "{} at {level}", page.anomaly);
        }
    }
}

#[test]
fn timestamps_show_what_values_do_not() {
    let timed: Vec<_> = all_anomalies().filter(|page| is_by(page, By::Timestamps)).collect();
    assert_eq!(timed.len(), 5);
    for page in timed {
        let name = page.anomaly;
        // Two that commit at one time overlap.
        let beside = (name == Anomaly::TimestampTie).then_some(Anomaly::ConcurrentWrites);
        let found = asked(page.history, page.promise());
        assert!(found.witnesses().iter().any(|w| w.anomaly == name), "{name}");
        assert!(handbook::forbidding(name).is_empty());
        let serial = format!("meta commit-order serial\n{}", page.history);
        let forbidden = handbook::forbidding_by_timestamps(name);
        for level in [Level::SnapshotIsolation, Level::Serializable] {
            let verdict = asked(&serial, Promise::by_timestamps(level));
            let expected = match name {
                _ if forbidden.contains(&level) => Some(false),
                Anomaly::TimestampTie => None,
                _ => Some(true),
            };
            assert_eq!(verdict.holds(), expected, "{name} at {level} by timestamps");
            let known = |a: Anomaly| a == name || Some(a) == beside;
            assert!(verdict.witnesses().iter().all(|w| known(w.anomaly)), "{name} at {level}");
        }
        for level in Level::ALL.into_iter().filter(|l| !l.needs_real_time() && !l.of_operations()) {
            assert!(holds(page.history, level), "{name} at {level} by values");
        }
    }
}

#[test]
fn snapshots_show_what_values_do_not() {
    let shown: Vec<_> = all_anomalies().filter(|page| is_by(page, By::Snapshots)).collect();
    assert_eq!(shown.len(), 2);
    for page in shown {
        let name = page.anomaly;
        assert_eq!(first(page.history, page.promise()), Some(name));
        assert!(handbook::forbidding(name).is_empty());
        assert!(handbook::forbidding_by_snapshots(name).contains(&Level::SnapshotIsolation));
        for level in Level::ALL.into_iter().filter(|l| !l.needs_real_time() && !l.of_operations()) {
            assert!(holds(page.history, level), "{name} at {level} by values");
        }
    }
}

#[test]
fn intervals_show_what_values_do_not() {
    let shown: Vec<_> = all_anomalies().filter(|page| is_by(page, By::Intervals)).collect();
    assert_eq!(shown.len(), 4);
    for page in shown {
        let name = page.anomaly;
        let verdict = ask_page(&parse(page.history).unwrap(), page).verdict;
        assert_eq!(verdict.witnesses().len(), 1, "{name}: {:?}", verdict.witnesses());
        assert_eq!(first_of(page.history, page), Some(name));
        assert!(handbook::forbidding(name).is_empty());
        let profile = page.profile().unwrap();
        assert!(handbook::forbidding_by_intervals(name).contains(&profile.promises), "{name}");
        for level in Level::ALL.into_iter().filter(|l| !l.needs_real_time() && !l.of_operations()) {
            assert!(holds(page.history, level), "{name} at {level} by values");
        }
    }
}

#[test]
fn no_transaction_can_be_left_out_of_it() {
    for page in all_anomalies() {
        let lines: Vec<&str> = page.history.lines().collect();
        let is_txn = |line: &str| line.contains(": ") && !line.starts_with(['#', 'o']);
        for left_out in (0..lines.len()).filter(|at| is_txn(lines[*at])) {
            let rest = |orders: bool| -> String {
                let kept = lines.iter().enumerate().filter(|(at, line)| {
                    *at != left_out && (orders || !line.starts_with("order "))
                });
                kept.map(|(_, line)| format!("{line}\n")).collect()
            };
            // An order of versions may name what is no longer written.
            let history = if parse(&rest(true)).is_ok() { rest(true) } else { rest(false) };
            assert_ne!(first_of(&history, page), Some(page.anomaly), "{}\n{history}", page.anomaly);
        }
    }
}

#[test]
fn every_level_allows_what_it_is_said_to_allow() {
    for page in all_levels() {
        assert!(holds(page.allows, page.level), "{}", page.level);
        let mut stronger = next_stronger(page.level);
        stronger.retain(|stronger| !the_same(*stronger, page.level));
        for stronger in stronger {
            assert!(violated(page.allows, stronger), "{} at {stronger}", page.level);
        }
    }
}

#[test]
fn every_level_forbids_what_it_is_said_to_forbid() {
    for page in all_levels() {
        assert!(violated(page.forbids, page.level), "{}", page.level);
        for weaker in page.level.next_weaker() {
            let same = the_same(page.level, *weaker);
            assert!(same || holds(page.forbids, *weaker), "{} at {weaker}", page.level);
        }
    }
}

/// The word after an option of a command.
fn option<'a>(command: &'a str, names: [&str; 2]) -> Option<&'a str> {
    let mut words = command.split(' ');
    words.find(|word| names.contains(word))?;
    words.next()
}

fn check_names(command: &str) {
    let kind = option(command, ["--workload", "-w"]).map_or("mini", |kind| kind);
    let kind = Kind::named(kind).unwrap_or_else(|| panic!("{command}"));
    if let Some(planted) = option(command, ["--plant", "--plant"]) {
        let anomaly = planted.parse::<Planted>().unwrap().anomaly.unwrap();
        assert!(plantable(kind).any(|other| other == anomaly), "{command}");
    }
    if let Some(anomaly) = option(command, ["--favour", "--favour"]) {
        let anomaly = Anomaly::named(anomaly).unwrap_or_else(|| panic!("{command}"));
        assert!(kind == Kind::Mini && favoured().any(|other| other == anomaly), "{command}");
    }
    if let Some(levels) = option(command, ["--level", "-l"]) {
        assert!(levels.split(',').all(|level| Level::named(level).is_some()), "{command}");
    }
    if let Some(name) = option(command, ["explain", "explain"]) {
        assert!(Anomaly::named(name).is_some(), "{command}");
    }
}

fn check_commands(recipes: &[Recipe]) {
    assert!(!recipes.is_empty());
    let mut made: Vec<&str> = Vec::new();
    for recipe in recipes {
        let command = recipe.command;
        assert!(command.starts_with("isolde ") && command.len() <= 94, "{command}");
        check_names(command);
        let words: Vec<&str> = command.split(' ').collect();
        match words[1] {
            "generate" => made.push(words[2]),
            "explain" => made.push(words[words.len() - 1]),
            "check" => assert!(made.contains(words.last().unwrap()), "{command}"),
            _ => assert_eq!(words[1], "test"),
        }
    }
}

#[test]
fn commands_name_what_exists() {
    all_anomalies().for_each(|page| check_commands(page.reproduce));
    all_levels().for_each(|page| check_commands(page.reproduce));
}

fn is_clause(text: &str) {
    assert!(text.starts_with(|c: char| c.is_lowercase()) && !text.ends_with('.'), "{text}");
    is_plain(text);
}

fn is_text(text: &str) {
    assert!(text.starts_with(|c: char| c.is_uppercase()) && text.ends_with('.'), "{text}");
    is_plain(text);
}

fn is_plain(text: &str) {
    assert!(text.is_ascii() && !text.contains("  ") && !text.contains(['\n', '|']), "{text}");
}

fn are_plain(databases: &[ByDesign]) {
    for by in databases {
        assert!(
            !by.why.ends_with('.') && !by.database.is_empty() && !by.level.is_empty(),
            "{by:?}"
        );
        [by.database, by.level, by.why].into_iter().for_each(is_plain);
    }
}

#[test]
fn pages_are_written_as_they_are_used() {
    for page in all_anomalies() {
        is_clause(page.breach);
        // It stands after "because".
        assert!(!page.breach.starts_with("of "), "{}", page.breach);
        [page.definition, page.harm, page.remedy].into_iter().for_each(is_text);
        assert!(page.differs.is_empty() || page.differs.ends_with('.'), "{}", page.differs);
        assert!(page.history.starts_with("# ") && page.history.is_ascii(), "{}", page.anomaly);
        are_plain(page.shown_by);
    }
    for page in all_levels() {
        is_clause(page.promise);
        is_text(page.definition);
        assert!(page.allows.starts_with("# ") && page.forbids.starts_with("# "), "{}", page.level);
        are_plain(page.offered_by);
    }
}

#[test]
fn texts_fit_a_terminal() {
    let mut texts = vec![handbook::index_to_text()];
    texts.extend(all_anomalies().map(|page| handbook::anomaly_to_text(page, "")));
    texts.extend(all_levels().map(|page| handbook::level_to_text(page, "", "")));
    for text in texts {
        assert!(text.is_ascii(), "{text}");
        let wide = text.lines().find(|line| line.len() > 100);
        assert!(wide.is_none(), "{wide:?}");
        assert!(!text.lines().any(|line| line.ends_with(' ')), "{text}");
    }
}

#[test]
fn the_index_names_everything() {
    let index = handbook::index_to_text();
    for name in CATALOGUE.iter().map(|e| e.name).chain(Level::ALL.iter().map(|l| l.name())) {
        assert!(index.contains(&format!("  {name} ")), "{name}");
    }
}

#[test]
fn an_anomaly_on_a_terminal() {
    let page = handbook::anomaly(Anomaly::CyclicCausality);
    expect![[r#"
        CyclicCausality: transactions read from each other in a cycle
        also called       causality cycle
        class             G1c

        What it is
          A cycle of reads, and of the order of sessions: each transaction read what the one before it
          wrote, or follows it in its session, and so on in a circle. Each was there before the other.
          If some of the steps are overwrites, it is a G1c.
          Session order may be a step of the cycle where a level counts it: the output then says 'needs
          session order'.

        What it does
          Two services confirm a booking because each has seen the other's confirmation. Nobody ever checked
          anything.

        What helps
          Any level above READ UNCOMMITTED: no transaction reads uncommitted data, so no cycle can close.

        Levels
          forbidden from  read-committed; of Adya's levels, pl-2
          forbidden by    pl-2, read-committed, cursor-stability, read-atomic, causal, prefix,
                          repeatable-read, snapshot-isolation, strong-snapshot-isolation, serializable,
                          strict-serializable, sequential and linearizable
          allowed by      read-uncommitted

        The smallest history
            # Hotel and airline each confirm because the other one has.
            given hotel asked
            given airline asked
            hotel    1: w(hotel,confirmed) r(airline,confirmed) @[10,40]
            airline  2: w(airline,confirmed) r(hotel,confirmed) @[20,50]

          (its picture)

        Databases that show it by design
          MySQL, MariaDB (InnoDB): READ UNCOMMITTED
            plain reads return the newest row, committed or not
          SQL Server: READ UNCOMMITTED, the hint NOLOCK
            reads take no locks and ignore those of writers
          Db2: UNCOMMITTED READ (UR)
            reads see changes that were not committed

        How to see it
          plant three of them in a history
            isolde generate cyclic.isolde --plant CyclicCausality:3 --seed 7
          and find them
            isolde check cyclic.isolde
    "#]].assert_eq(&handbook::anomaly_to_text(page, "  (its picture)\n"));
}

#[test]
fn a_level_on_a_terminal() {
    let page = handbook::level(Level::StrongSnapshotIsolation);
    expect![[r#"
        strong-snapshot-isolation (strong-si): every transaction reads from a snapshot that shows all that
        had been confirmed before it began, and of two concurrent transactions that write the same key only
        one commits
        also called       strong SI; conventional snapshot isolation

        What it is
          Snapshot isolation in real time: a transaction that began after another one had ended sees it, and
          the commit order respects real time. Real time is the clients' clock (--clock-skew says how far
          clocks may differ); without intervals the answer is unknown.

        Between its neighbours (stronger ones above)
               strict-serializable
                        |
            strong-snapshot-isolation
                        |
               snapshot-isolation

        Anomalies
          beyond snapshot-isolation: nothing by name, but every cycle that needs real time
          still allowed: WriteSkew and G2-item

        It allows this
            # Two doctors are on call. Each sees that there is another one, and goes home.
            given alice on
            given bob on
            alice  1: r(alice,on) r(bob,on) w(alice,off) @[10,30]
            bob    2: r(alice,on) r(bob,on) w(bob,off) @[20,40]

        It forbids this
            # A sale was confirmed. The report that is asked for afterwards does not have it.
            given stock 5
            shop    1: r(stock,5) w(stock,4) @[10,20]
            report  2: r(stock,5) @[30,40]

          (its picture)

        Databases that offer it
          PostgreSQL: REPEATABLE READ on one server
            in fact, though its documentation does not say so: a commit is visible before it is confirmed.
            Not with reads on standbys

        How to try it
          on PostgreSQL, at REPEATABLE READ
            isolde test postgres --isolation repeatable-read --level strong-si
          on Isolde's own engine
            isolde test faulty --level strong-si
    "#]].assert_eq(&handbook::level_to_text(page, "", "  (its picture)\n"));
}
