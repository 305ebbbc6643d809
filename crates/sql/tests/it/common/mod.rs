//! What tests of cases share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeSet;

use isolde_sql::case::{Case, CaseStatement, CaseTable, CaseTransaction, Does, ReadLock};
use isolde_sql::dependencies::{Dependency, StatementGraph};
use isolde_sql::plan::Plan;
use isolde_sql::policy::{Policy, policy};
use isolde_sql::runner::Runner;
use isolde_sql::settle::settle;
use isolde_sql::versions::Versions;
use isolde_sql::work::{Effort, Worked, work};
use isolde_target::{Consoles, Offer, OpenOptions, Target, open};

/// A throwaway server; nothing if it is not installed here, which is said loudly. On CI that is a
/// failure: there, a test that did not run is no test.
pub(crate) fn server(kind: &str) -> Option<Box<dyn Target>> {
    match open(kind, &OpenOptions::default()) {
        Ok(target) => Some(target),
        Err(error) if error.to_string().contains("install") => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}

/// The offer of that name.
pub(crate) fn offer(target: &dyn Target, name: &str) -> Offer {
    *target.offers().iter().find(|offer| offer.name == name).unwrap()
}

/// Works on a case at an offer, with serial orders that take the first statement that is free.
pub(crate) fn worked(target: &dyn Target, level: &str, case: &Case) -> Worked {
    let offer = offer(target, level);
    let policy = policy(target.name(), &offer).unwrap();
    worked_through(target.sql().unwrap(), offer, &policy, case)
}

/// The same on any consoles.
pub(crate) fn worked_through(
    consoles: &dyn Consoles,
    offer: Offer,
    policy: &Policy,
    case: &Case,
) -> Worked {
    let mut runner = Runner::open(consoles, offer).unwrap();
    let worked = work(&mut runner, case, policy, &Effort::default(), &mut |_| 0);
    assert!(worked.given_up.is_none(), "{:?}: {case:#?} {:#?}", worked.given_up, worked.failures);
    worked
}

/// The dependencies of a case that was run as it stands: of which statement, on which, and why.
pub(crate) fn dependencies(
    target: &dyn Target,
    level: &str,
    case: &Case,
) -> Vec<(String, String, BTreeSet<Dependency>)> {
    let offer = offer(target, level);
    let policy = policy(target.name(), &offer).unwrap();
    let mut runner = Runner::open(target.sql().unwrap(), offer).unwrap();
    let run = settle(&mut runner, case, &Plan::of(case), &policy, &mut Vec::new()).unwrap();
    let versions = Versions::new(case, &run.plan, &run.observation);
    let graph = StatementGraph::new(case, &run.plan, &run.observation, &versions);
    let name = |node: usize| {
        let (txn, at) = graph.nodes[node];
        format!("T{txn}.S{}", at + 1)
    };
    let named = |((from, to), why): (&(usize, usize), &BTreeSet<Dependency>)| {
        (name(*to), name(*from), why.clone())
    };
    graph.edges.iter().map(named).collect()
}

/// A case of tables with integer columns, written as it is told in papers.
///
/// ```text
/// table t0(pkey, vkey) (1,20)
/// T0 begin
/// T0 update t0 version 162
/// T1 select * from t0 where pkey = 1
/// T0 commit
/// ```
///
/// `update t set ... version n where ...` sets the version key beside what `set` says; `delete t where ...`; `insert t
/// (...)`; any other statement that begins with `select` reads the tables that it names.
pub(crate) fn case(text: &str) -> Case {
    let mut case = Case::default();
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(table) = line.strip_prefix("table ") {
            add_table(&mut case, table);
            continue;
        }
        let (session, what) = line.split_once(' ').unwrap();
        if !names.contains(&session) {
            names.push(session);
            let begin = "begin".to_owned();
            case.transactions.push(CaseTransaction {
                begin,
                statements: Vec::new(),
                commits: true,
            });
        }
        let txn = names.iter().position(|name| *name == session).unwrap();
        case.order.push(txn);
        match what {
            "begin" | "commit" => {}
            "rollback" => case.transactions[txn].commits = false,
            _ => {
                let statement = statement(&case, what);
                case.transactions[txn].statements.push(statement);
            }
        }
    }
    case
}

fn add_table(case: &mut Case, text: &str) {
    let (head, rows) = text.split_once(')').unwrap();
    let (name, columns) = head.split_once('(').unwrap();
    let columns: Vec<String> = columns.split(',').map(|c| c.trim().to_owned()).collect();
    let rest: Vec<String> = columns[1..].iter().map(|c| format!("{c} int")).collect();
    let key = &columns[0];
    case.schema.push(format!("CREATE TABLE {name} ({key} int PRIMARY KEY, {})", rest.join(", ")));
    if !rows.trim().is_empty() {
        case.rows.push(format!("INSERT INTO {name} VALUES {}", rows.trim()));
    }
    let (parents, children) = (Vec::new(), Vec::new());
    case.tables.push(CaseTable { name: name.to_owned(), columns, parents, children });
}

fn statement(case: &Case, text: &str) -> CaseStatement {
    let named = |text: &str| -> Vec<usize> {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let is_named = |table: &CaseTable| words.contains(&table.name.as_str());
        (0..case.tables.len()).filter(|at| is_named(&case.tables[*at])).collect()
    };
    let table = |name: &str| case.tables.iter().position(|t| t.name == name).unwrap();
    let (verb, rest) = text.split_once(' ').unwrap();
    let (head, condition) = match rest.split_once(" where ") {
        Some((head, condition)) => (head, Some(condition.to_owned())),
        None => (rest, None),
    };
    let ending = condition.as_ref().map_or(String::new(), |c| format!(" WHERE {c}"));
    let (sql, does, looks_at) = match verb {
        "update" => {
            let (name, set) = head.split_once(' ').unwrap();
            let (set, version) = set.split_once("version ").unwrap();
            let version: i64 = version.trim().parse().unwrap();
            let key = &case.tables[table(name)].columns[1];
            let set = set.trim().strip_prefix("set ").map_or(String::new(), |s| format!("{s}, "));
            let sql = format!("UPDATE {name} SET {set}{key} = {version}{ending}");
            let looks_at = named(&sql);
            (sql, Does::Update { table: table(name), version, condition }, looks_at)
        }
        "delete" => {
            let sql = format!("DELETE FROM {head}{ending}");
            let looks_at = named(&sql);
            (sql, Does::Delete { table: table(head), condition }, looks_at)
        }
        "insert" => {
            let (name, values) = rest.split_once(' ').unwrap();
            let version = values.split(',').nth(1).unwrap();
            let version = version.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            let sql = match values.starts_with('(') {
                true => format!("INSERT INTO {name} VALUES {values}"),
                false => format!("INSERT INTO {name} {values}"),
            };
            (sql, Does::Insert { table: table(name), version }, named(values))
        }
        "savepoint" => (text.to_owned(), Does::Savepoint(rest.to_owned()), Vec::new()),
        "rollback" => {
            let name = rest.trim_start_matches("to ").to_owned();
            (format!("ROLLBACK TO SAVEPOINT {name}"), Does::RollbackTo(name), Vec::new())
        }
        _ => {
            let plain = head.strip_prefix("* from ");
            let plain = plain.filter(|name| case.tables.iter().any(|t| t.name == *name));
            let plain = plain.map(|name| (table(name), condition.clone()));
            (text.to_owned(), Does::Select { plain }, named(text))
        }
    };
    let nested = sql.to_lowercase().contains("(select");
    CaseStatement { sql, does, looks_at, nested, locks: ReadLock::None, ordered: false }
}
