//! The dependencies of statements against an engine that knows which versions each of them looked at and wrote, and the
//! serial case against every order that keeps them.

mod engine;

use std::collections::{BTreeMap, BTreeSet};

use isolde_spec::Level;
use isolde_sql::case::{Case, CaseStatement, CaseTable, CaseTransaction, Does, ReadLock};
use isolde_sql::decycle::{sorted, statement_to_cut};
use isolde_sql::dependencies::StatementGraph;
use isolde_sql::oracle::predicate::differences;
use isolde_sql::oracle::serial::compare;
use isolde_sql::plan::{At, Plan};
use isolde_sql::policy::Policy;
use isolde_sql::runner::Runner;
use isolde_sql::settle::{SettledRun, settle};
use isolde_sql::versions::Versions;
use isolde_target::Offer;
use isolde_workload::Random;

use engine::{Engine, Place, SeenVersion, Truth};

const OFFER: Offer = Offer { name: "twin", promises: Level::SnapshotIsolation, remark: "" };

/// A case of one or two tables with rows that are inserted, updated, deleted and counted.
fn random_case(random: &mut Random) -> Case {
    let tables = 1 + random.below(2) as usize;
    let mut case = Case::default();
    let (mut key, mut version) = (0, 100);
    for at in 0..tables {
        let name = format!("t{at}");
        case.schema.push(format!("CREATE TABLE {name} (pkey int, vkey int, c int)"));
        for _ in 0..1 + random.below(3) {
            key += 1;
            case.rows.push(format!("INSERT INTO {name} VALUES ({key},0,{})", random.below(4)));
        }
        let columns = ["pkey", "vkey", "c"].map(str::to_owned).to_vec();
        let (parents, children) = (Vec::new(), Vec::new());
        case.tables.push(CaseTable { name, columns, parents, children });
    }
    for txn in 0..2 + random.below(3) as usize {
        let mut statements = Vec::new();
        for at in 0..1 + random.below(4) as usize {
            statements.push(statement(random, (txn, at), tables, (&mut key, &mut version)));
        }
        let (begin, commits) = ("begin".to_owned(), random.below(8) > 0);
        case.order.extend(std::iter::repeat_n(txn, statements.len() + 2));
        case.transactions.push(CaseTransaction { begin, statements, commits });
    }
    for at in (1..case.order.len()).rev() {
        case.order.swap(at, random.below(at as u64 + 1) as usize);
    }
    case
}

fn statement(
    random: &mut Random,
    (txn, at): At,
    tables: usize,
    (key, version): (&mut u64, &mut i64),
) -> CaseStatement {
    let table = random.below(tables as u64) as usize;
    let condition = match random.below(4) {
        0 => None,
        1 => Some(format!("c >= {}", random.below(4))),
        2 => Some(format!("c < {}", random.below(4))),
        _ => Some(format!("pkey = {}", 1 + random.below(6))),
    };
    let ending = condition.as_ref().map_or(String::new(), |c| format!(" WHERE {c}"));
    *version += 1;
    let set = if random.below(2) == 0 {
        "c = c + 1".to_owned()
    } else {
        format!("c = {}", random.below(4))
    };
    let version = *version;
    let (sql, does, looks_at) = match random.below(8) {
        0 => {
            *key += 1;
            let sql = format!("INSERT INTO t{table} VALUES ({key},{version},{})", random.below(4));
            (sql, Does::Insert { table, version }, vec![])
        }
        1..=2 => {
            let sql = format!("UPDATE t{table} SET {set}, vkey = {version}{ending}");
            (sql, Does::Update { table, version, condition }, vec![table])
        }
        3 => (
            format!("DELETE FROM t{table}{ending}"),
            Does::Delete { table, condition },
            vec![table],
        ),
        4..=5 => {
            let sql = format!("SELECT count(*) FROM t{table}{ending}");
            (sql, Does::Select { plain: None }, vec![table])
        }
        _ => {
            let sql = format!("SELECT * FROM t{table}{ending}");
            (sql, Does::Select { plain: Some((table, condition)) }, vec![table])
        }
    };
    let sql = format!("{sql} /*{txn}.{at}*/");
    CaseStatement { sql, does, looks_at, nested: false, locks: ReadLock::None, ordered: false }
}

/// The edges that there are: from a statement to one that used what it wrote, overwrote it, or overwrote what it used.
fn true_edges(nodes: &[At], truths: &BTreeMap<String, Truth>) -> BTreeSet<(At, At)> {
    let tag = |at: &At| format!("{}.{}", at.0, at.1);
    let mut edges = BTreeSet::new();
    let uses = |at: &At| {
        let truth = &truths[&tag(at)];
        truth
            .looked
            .iter()
            .chain(&truth.overwrote)
            .cloned()
            .collect::<BTreeSet<(Place, SeenVersion)>>()
    };
    for one in nodes {
        for other in nodes.iter().filter(|other| *other != one) {
            let wrote = SeenVersion::By(tag(one));
            let used = uses(other).iter().any(|(_, by)| *by == wrote);
            let of_other: BTreeSet<_> = truths[&tag(other)].overwrote.iter().cloned().collect();
            // A row that was born later was unborn for all that looked at its table before, though the engine does not
            // name it then.
            let looked: BTreeSet<String> =
                truths[&tag(one)].looked.iter().map(|((table, _), _)| table.clone()).collect();
            let named: BTreeSet<Place> =
                truths[&tag(one)].looked.iter().map(|(place, _)| place.clone()).collect();
            let born = of_other.iter().any(|(place, by)| {
                *by == SeenVersion::Unborn && looked.contains(&place.0) && !named.contains(place)
            });
            if used || born || uses(one).iter().any(|use_| of_other.contains(use_)) {
                edges.insert((*one, *other));
            }
        }
    }
    edges
}

/// Settles a case and cuts it until there is no cycle; each graph on the way is compared with the truth.
fn checked(
    engine: &Engine,
    runner: &mut Runner<'_>,
    case: &Case,
    policy: &Policy,
) -> Option<(SettledRun, StatementGraph)> {
    let mut plan = Plan::of(case);
    loop {
        let run = settle(runner, case, &plan, policy, &mut Vec::new()).ok()?;
        let versions = Versions::new(case, &run.plan, &run.observation);
        assert!(versions.torn.is_none(), "{case:?}");
        assert_eq!(differences(case, &run.plan, &run.observation, policy), [], "{case:?}");
        let graph = StatementGraph::new(case, &run.plan, &run.observation, &versions);
        let name = |node: usize| graph.nodes[node];
        let found: BTreeSet<(At, At)> =
            graph.edges.keys().map(|(a, b)| (name(*a), name(*b))).collect();
        let truth = true_edges(&graph.nodes, &engine.truths());
        let missed: Vec<_> = truth.difference(&found).collect();
        assert!(
            missed.is_empty(),
            "missed {missed:?} of {case:#?}, {:?}, {:#?}",
            run.plan,
            engine.truths()
        );
        // Of a row that is born and dies in one case it may be unknown which of the two a statement did not see.
        if !versions.births.keys().any(|item| versions.deaths.contains_key(item)) {
            let more: Vec<_> = found.difference(&truth).collect();
            assert!(more.is_empty(), "too many: {more:?} of {case:#?}, {:?}", run.plan);
        }
        match statement_to_cut(case, &graph, &run.observation) {
            Some(cut) => plan = run.plan.without(&[cut]),
            None => return Some((run, graph)),
        }
    }
}

#[test]
fn dependencies_are_those_that_the_engine_knows_and_every_order_that_keeps_them_gives_the_same() {
    let cases: u64 = std::env::var("ISOLDE_TWIN").map_or(400, |n| n.parse().unwrap());
    let from: u64 = std::env::var("ISOLDE_FROM").map_or(0, |n| n.parse().unwrap());
    let (mut settled, mut orders, mut edges) = (0, 0, 0);
    for one_snapshot in [true, false] {
        let policy = Policy {
            version_set: "",
            before_write: "",
            one_snapshot,
            writes_read_newest: false,
            fails_when_busy: true,
        };
        let engine = Engine::new(one_snapshot);
        let mut runner = Runner::open(&engine, OFFER).unwrap();
        for number in from..from + cases {
            let mut random = Random::stream(number, u64::from(one_snapshot));
            let case = random_case(&mut random);
            let Some((run, graph)) = checked(&engine, &mut runner, &case, &policy) else {
                continue;
            };
            settled += 1;
            edges += graph.edges.len();
            for _ in 0..4 {
                let order = sorted(&graph, |n| random.below(n as u64) as usize).unwrap();
                let difference = compare(&mut runner, &case, &run, &order).unwrap();
                assert_eq!(difference, None, "case {number}: {case:#?}, {:?}", run.plan);
                orders += 1;
            }
        }
    }
    println!(
        "{settled} of {} cases settled, {edges} dependencies, {orders} serial cases",
        2 * cases
    );
    assert!(settled * 10 >= 2 * cases * 9, "only {settled} of {} cases settled", 2 * cases);
}
