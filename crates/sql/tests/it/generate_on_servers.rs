//! What is generated is understood by real servers: cases run one transaction after another, and few statements fail.

use std::collections::BTreeMap;
use std::fmt::Write;

use isolde_sql::case::{Case, CaseStatement, Does};
use isolde_sql::dialect::{Dialect, MARIADB, POSTGRESQL, SQLITE};
use isolde_sql::generate::{Generator, RandomGenerator, Sizes};
use isolde_target::{Datum, Said, Target};

use crate::common::server;

/// Rows as text, or how many were changed.
#[derive(Clone, PartialEq, Debug)]
enum Brought {
    Rows(Vec<String>),
    Changed(u64),
}

/// What runs statements: the code and the text of an error.
type Run<'r> = &'r mut dyn FnMut(&str) -> Result<Brought, (String, String)>;

/// What makes a server find the same rows by another way, and back.
struct Detour {
    there: &'static [&'static str],
    back: &'static [&'static str],
    /// Statements with all of these words are known to bring other rows there, by a mistake of the server.
    wrong: &'static [&'static str],
}

/// How many statements of a kind ran, and how many failed.
#[derive(Default)]
struct Tally {
    kinds: BTreeMap<String, (u32, u32)>,
    errors: BTreeMap<String, (u32, String)>,
    /// Statements that met a row, of those that could.
    met: BTreeMap<String, (u32, u32)>,
    /// Queries that bring other rows by another way.
    open: Vec<String>,
}

fn kind(statement: &CaseStatement) -> String {
    match &statement.does {
        Does::Select { plain: Some(_) } => format!("plain SELECT {:?}", statement.locks),
        Does::Select { plain: None } => format!("SELECT {:?}", statement.locks),
        Does::Insert { .. } if statement.sql.contains(" VALUES ") => "INSERT VALUES".into(),
        Does::Insert { .. } => "INSERT SELECT".into(),
        Does::Update { .. } => "UPDATE".into(),
        Does::Delete { .. } => "DELETE".into(),
        Does::Savepoint(_) | Does::RollbackTo(_) | Does::Release(_) => "savepoints".into(),
    }
}

impl Tally {
    /// Runs a case, one transaction after another. A transaction with a statement that failed is begun anew.
    fn run(&mut self, case: &Case, detour: &Detour, run: Run<'_>) {
        for statement in case.schema.iter().chain(&case.rows) {
            run(statement).unwrap_or_else(|error| panic!("{error:?}: {statement}"));
        }
        for transaction in &case.transactions {
            let begin = &transaction.begin;
            run(begin).unwrap_or_else(|error| panic!("{error:?}: {begin}"));
            // Settings cannot be changed everywhere in a transaction that only reads.
            for statement in &transaction.statements {
                self.kinds.entry(kind(statement)).or_default().0 += 1;
                let brought = run(&statement.sql);
                if let Ok(brought) = &brought {
                    if !statement.does.is_control() {
                        self.count(&kind(statement), brought);
                    }
                    self.by_another_way(statement, brought, detour, run);
                }
                if let Err((code, text)) = brought {
                    self.kinds.entry(kind(statement)).or_default().1 += 1;
                    let text = text.lines().next().unwrap_or_default();
                    let words: String =
                        text.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
                    let entry = self.errors.entry(format!("{code} {words}")).or_default();
                    entry.0 += 1;
                    entry.1 = statement.sql.clone();
                    // Its savepoints are gone, too.
                    run("ROLLBACK").unwrap();
                    if transaction.statements.iter().any(|s| s.does.is_control()) {
                        break;
                    }
                    run(begin).unwrap();
                }
            }
            // A savepoint that failed has ended it.
            let _ = run(if transaction.commits { "COMMIT" } else { "ROLLBACK" });
        }
    }

    fn count(&mut self, kind: &str, brought: &Brought) {
        let met = match brought {
            Brought::Rows(rows) => !rows.is_empty(),
            Brought::Changed(rows) => *rows > 0,
        };
        let entry = self.met.entry(kind.to_owned()).or_default();
        entry.0 += 1;
        entry.1 += u32::from(met);
    }

    /// Whether a query brings the same by another way: else the data alone does not determine it.
    fn by_another_way(
        &mut self,
        statement: &CaseStatement,
        brought: &Brought,
        detour: &Detour,
        run: Run<'_>,
    ) {
        let known = !detour.wrong.is_empty();
        let known = known && detour.wrong.iter().all(|word| statement.sql.contains(word));
        if known || !matches!(statement.does, Does::Select { .. }) {
            return;
        }
        detour.there.iter().for_each(|setting| drop(run(setting).unwrap()));
        let again = run(&statement.sql);
        detour.back.iter().for_each(|setting| drop(run(setting).unwrap()));
        let sorted = |brought: &Brought| match brought {
            Brought::Rows(rows) => {
                let mut rows = rows.clone();
                if !statement.ordered {
                    rows.sort();
                }
                rows
            }
            Brought::Changed(_) => Vec::new(),
        };
        let again = again.map(|again| sorted(&again));
        if again.as_ref() != Ok(&sorted(brought)) {
            self.open.push(format!("{}\n    {brought:?}\n    {again:?}", statement.sql));
        }
    }

    fn told(&self) -> (String, f64) {
        let mut told = String::new();
        let (mut all, mut bad) = (0, 0);
        for (kind, (ran, failed)) in &self.kinds {
            let share = 100.0 * f64::from(ran - failed) / f64::from(*ran);
            let (could, met) = self.met.get(kind).copied().unwrap_or_default();
            let met = if could == 0 { 100.0 } else { 100.0 * f64::from(met) / f64::from(could) };
            writeln!(told, "  {kind:26} {ran:6} {share:6.1}% without error, {met:5.1}% meet a row")
                .unwrap();
            (all, bad) = (all + ran, bad + failed);
        }
        let mut errors: Vec<_> = self.errors.iter().collect();
        errors.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
        for (text, (times, sql)) in errors {
            writeln!(told, "  {times:5} {text}\n        {sql}").unwrap();
        }
        (told, f64::from(all - bad) / f64::from(all))
    }

    /// Errors that say nothing of the data are errors of the generator.
    fn judged(&self, name: &str, lawful: &[&str]) {
        let (told, share) = self.told();
        eprintln!("{name}: {:.2}% of statements without error\n{told}", 100.0 * share);
        eprintln!("{name}: {} open\n{}", self.open.len(), self.open.join("\n"));
        let ours = self.errors.keys().filter(|text| !lawful.iter().any(|l| text.starts_with(l)));
        assert_eq!(ours.collect::<Vec<_>>(), Vec::<&String>::new(), "{name}");
        assert!(self.open.is_empty(), "{name}: other rows by another way");
        assert!(share >= 0.9, "{name}: {share}");
    }
}

/// How many cases: more on demand.
fn cases() -> u64 {
    std::env::var("ISOLDE_SQL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

fn generators(dialect: &'static Dialect) -> impl Iterator<Item = Case> {
    let mut small = RandomGenerator::new(1, dialect);
    let mut large = RandomGenerator::new(2, dialect).with_sizes(Sizes::large());
    (0..cases())
        .map(move |number| if number % 20 == 19 { large.case(number) } else { small.case(number) })
}

fn on_server(target: &dyn Target, dialect: &'static Dialect, lawful: &[&str], detour: &Detour) {
    assert_eq!(Dialect::of(target.name()).map(|of| of.name), Some(dialect.name));
    let consoles = target.consoles().unwrap();
    let offer = target.offers().iter().find(|offer| offer.name == "read-committed").unwrap();
    let room = consoles.make_room().unwrap();
    let mut tally = Tally::default();
    for case in generators(dialect) {
        consoles.empty_room(&room).unwrap();
        let mut console = consoles.console(offer, &room).unwrap();
        tally.run(&case, detour, &mut |statement| {
            Ok(match console.run(statement).map_err(|f| (f.code, f.message))? {
                Said::Rows(set) => {
                    let text =
                        |row: &Vec<Datum>| row.iter().map(|d| format!("{} ", d.text())).collect();
                    Brought::Rows(set.rows.iter().map(text).collect())
                }
                Said::Changed(rows) => Brought::Changed(rows),
                Said::Done | Said::RolledBack => Brought::Changed(0),
            })
        });
    }
    consoles.remove_room(&room).unwrap();
    tally.judged(dialect.name, lawful);
}

#[test]
fn postgresql_understands_what_is_generated() {
    let Some(target) = server("postgres") else { return };
    // Foreign keys, CHECK; numbers and texts that get too large.
    let there = &[
        "SET enable_indexscan = off",
        "SET enable_indexonlyscan = off",
        "SET enable_bitmapscan = off",
        "SET enable_hashjoin = off",
        "SET enable_hashagg = off",
    ];
    let back = &[
        "RESET enable_indexscan",
        "RESET enable_indexonlyscan",
        "RESET enable_bitmapscan",
        "RESET enable_hashjoin",
        "RESET enable_hashagg",
    ];
    on_server(&*target, &POSTGRESQL, &["23503", "23514"], &Detour { there, back, wrong: &[] });
}

#[test]
fn mariadb_understands_what_is_generated() {
    let Some(target) = server("mariadb") else { return };
    let there = &[
        "SET join_cache_level = 0",
        "SET optimizer_switch = 'derived_merge=off,subquery_cache=off'",
    ];
    let back = &["SET join_cache_level = DEFAULT", "SET optimizer_switch = DEFAULT"];
    // With materialization=off, MariaDB 10.11.19 finds no row for `a IN (SELECT MIN(b) OVER () FROM u)`.
    let wrong = &[" IN (SELECT ", " OVER ("];
    on_server(&*target, &MARIADB, &["1451", "1452", "4025"], &Detour { there, back, wrong });
}

#[test]
fn sqlite_understands_what_is_generated() {
    let there = &["PRAGMA reverse_unordered_selects = ON", "PRAGMA automatic_index = OFF"];
    let back = &["PRAGMA reverse_unordered_selects = OFF", "PRAGMA automatic_index = ON"];
    let detour = Detour { there, back, wrong: &[] };
    let mut tally = Tally::default();
    for case in generators(&SQLITE) {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", "ON").unwrap();
        tally.run(&case, &detour, &mut |statement| {
            let all = || -> rusqlite::Result<Brought> {
                let mut prepared = connection.prepare(statement)?;
                let columns = prepared.column_count();
                let mut rows = prepared.query([])?;
                let mut texts = Vec::new();
                while let Some(row) = rows.next()? {
                    texts.push(
                        (0..columns).map(|at| format!("{:?} ", row.get_ref(at).unwrap())).collect(),
                    );
                }
                let changed = connection.changes();
                Ok(if columns == 0 { Brought::Changed(changed) } else { Brought::Rows(texts) })
            };
            all().map_err(|error| {
                let code = error.sqlite_error().map_or(0, |e| e.extended_code);
                (code.to_string(), error.to_string())
            })
        });
    }
    tally.judged("SQLite", &["787", "275"]);
}
