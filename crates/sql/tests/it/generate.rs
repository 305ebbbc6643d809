//! What is generated, without a server.

use std::collections::{BTreeMap, BTreeSet};

use isolde_sql::case::{Case, CaseStatement, Does, ReadLock};
use isolde_sql::dialect::{Dialect, MARIADB, MYSQL, SQLITE};
use isolde_sql::generate::{Generator, PATTERNS, RandomGenerator, Sizes, Weights};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

/// Small cases, and a large one now and then, of every dialect.
fn cases(many: u64) -> impl Iterator<Item = (&'static Dialect, Case)> {
    Dialect::ALL.into_iter().flat_map(move |dialect| {
        let mut small = RandomGenerator::new(11, dialect);
        let mut large = RandomGenerator::new(12, dialect).with_sizes(Sizes::large());
        (0..many).map(move |number| {
            let is_large = number % 20 == 19;
            (dialect, if is_large { large.case(number) } else { small.case(number) })
        })
    })
}

fn statements(case: &Case) -> impl Iterator<Item = &CaseStatement> {
    case.transactions.iter().flat_map(|transaction| &transaction.statements)
}

/// The words of a statement, without what is quoted.
fn words(sql: &str) -> Vec<&str> {
    let unquoted = sql.split('\'').step_by(2);
    let apart = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    unquoted.flat_map(|text| text.split(apart)).filter(|word| !word.is_empty()).collect()
}

/// The numbers of a statement.
fn numbers(sql: &str) -> impl Iterator<Item = i64> {
    words(sql).into_iter().filter_map(|word| word.parse().ok())
}

#[test]
fn the_same_seed_and_number_give_the_same_case() {
    let mut first = RandomGenerator::new(5, &SQLITE);
    let forward: Vec<_> = (0..50).map(|number| first.case(number)).collect();
    let mut second = RandomGenerator::new(5, &SQLITE);
    let mut backward: Vec<_> = (0..50).rev().map(|number| second.case(number)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_ne!(forward[3], RandomGenerator::new(6, &SQLITE).case(3));
}

/// A transaction of n statements has n + 2 steps.
#[test]
fn every_step_of_every_transaction_is_in_the_order() {
    for (_, case) in cases(300) {
        let mut steps = vec![0; case.transactions.len()];
        case.order.iter().for_each(|of| steps[*of] += 1);
        let expected = case.transactions.iter().map(|of| of.statements.len() + 2);
        assert_eq!(steps, expected.collect::<Vec<_>>(), "{case:#?}");
        assert!(statements(&case).count() > 0);
    }
}

/// Looked at is what the text names behind FROM and JOIN, and what UPDATE writes: no other word of a statement is the name of
/// a table and stands there.
#[test]
fn the_tables_that_a_statement_looks_at_are_those_that_its_text_names() {
    let mut several = 0;
    for (_, case) in cases(400) {
        for statement in statements(&case) {
            let words = words(&statement.sql);
            let tables =
                words.windows(2).filter(|pair| ["FROM", "JOIN", "UPDATE"].contains(&pair[0]));
            let named: BTreeSet<usize> = tables
                .filter_map(|pair| case.tables.iter().position(|table| table.name == pair[1]))
                .collect();
            let looks_at: Vec<usize> = named.into_iter().collect();
            assert_eq!(statement.looks_at, looks_at, "{}", statement.sql);
            several += u32::from(looks_at.len() > 1);
        }
    }
    assert!(several > 500, "{several}");
}

#[test]
fn every_writing_statement_has_a_version_of_its_own() {
    for (_, case) in cases(300) {
        let mut versions = BTreeMap::new();
        for statement in statements(&case) {
            let (Does::Insert { version, .. } | Does::Update { version, .. }) = statement.does
            else {
                continue;
            };
            let before = versions.insert(version, statement.sql.clone());
            assert_eq!(before, None, "{version}: {}", statement.sql);
            assert!(numbers(&statement.sql).any(|number| number == version), "{}", statement.sql);
        }
        // The rows that are there at first have versions, too: each table's rows one.
        for rows in &case.rows {
            let (_, values) = rows.split_once(" VALUES (").unwrap();
            let version = values.split([',', ')']).nth(1).unwrap().trim().parse().unwrap();
            let before = versions.insert(version, rows.clone());
            assert_eq!(before, None, "{rows}");
        }
    }
}

/// Runs on SQLite whatever inserts, in a random order, and never deletes: no key and no unique value may come twice.
fn inserts_never_meet(seed: u64, number: u64, shuffle: &[prop::sample::Index], large: bool) {
    let weights =
        Weights { patterns: 50, references: 0, check: 0, unique: 60, ..Weights::default() };
    let sizes = if large { Sizes::large() } else { Sizes::default() };
    let generator = RandomGenerator::new(seed, &SQLITE).with_sizes(sizes);
    let case = generator.with_weights(weights).case(number);
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    for statement in case.schema.iter().chain(&case.rows) {
        connection.execute(statement, []).unwrap();
    }
    let mut writes: Vec<&CaseStatement> = statements(&case)
        .filter(|statement| matches!(statement.does, Does::Insert { .. } | Does::Update { .. }))
        .collect();
    for index in shuffle {
        if writes.is_empty() {
            return;
        }
        let statement = writes.remove(index.index(writes.len()));
        let done = connection.execute(&statement.sql, []);
        assert!(done.is_ok(), "{done:?}: {}", statement.sql);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn keys_and_unique_values_are_never_used_twice(
        seed in any::<u64>(),
        number in any::<u64>(),
        shuffle in prop::collection::vec(any::<prop::sample::Index>(), 40),
        large in prop::bool::weighted(0.1),
    ) {
        inserts_never_meet(seed, number, &shuffle, large);
    }
}

/// `SELECT * FROM t WHERE c` is known as such, and often the same condition stands in an UPDATE or DELETE of the transaction.
#[test]
fn a_third_of_the_statements_are_plain_and_some_meet_their_condition_again() {
    let (mut all, mut plain, mut again) = (0, 0, 0);
    for (_, case) in cases(500) {
        for transaction in &case.transactions {
            for (at, statement) in transaction.statements.iter().enumerate() {
                all += 1;
                let Does::Select { plain: Some((table, condition)) } = &statement.does else {
                    continue;
                };
                plain += 1;
                let name = &case.tables[*table].name;
                let expected = condition.as_ref().map_or(format!("SELECT * FROM {name}"), |c| {
                    format!("SELECT * FROM {name} WHERE {c}")
                });
                let lock = statement.sql.strip_prefix(&expected).unwrap();
                assert_eq!(lock.is_empty(), statement.locks == ReadLock::None, "{}", statement.sql);
                let written = transaction.statements[at..].iter().any(|later| match &later.does {
                    Does::Update { table: of, condition: c, .. }
                    | Does::Delete { table: of, condition: c } => (of, c) == (table, condition),
                    _ => false,
                });
                again += u32::from(written);
            }
        }
    }
    assert!(plain * 10 > all * 3 && again * 5 > plain, "{all} {plain} {again}");
}

/// MySQL's rule, and MariaDB's: what is written is read nowhere else in the statement.
#[test]
fn mysql_never_reads_what_it_writes_in_a_subquery() {
    for (_, case) in cases(400).filter(|(d, _)| [MARIADB.name, MYSQL.name].contains(&d.name)) {
        for statement in statements(&case) {
            let Some(target) = statement.does.target() else { continue };
            let name = &*case.tables[target].name;
            let words = words(&statement.sql);
            let reads = |pair: &[&str]| ["FROM", "JOIN"].contains(&pair[0]) && pair[1] == name;
            let read = words.windows(2).filter(|pair| reads(pair)).count();
            let own = usize::from(matches!(statement.does, Does::Delete { .. }));
            assert_eq!(read, own, "{}", statement.sql);
        }
    }
}

#[test]
fn transactions_that_only_read_write_and_lock_nothing() {
    let mut seen = 0;
    for (_, case) in cases(300) {
        for transaction in case.transactions.iter().filter(|t| t.begin.contains("READ ONLY")) {
            let reads = transaction.statements.iter().all(|statement| {
                statement.does.target().is_none() && statement.locks == ReadLock::None
            });
            assert!(reads, "{transaction:#?}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// Whatever is cut off or left out of rows is cut off or left out of rows in order.
#[test]
fn limits_stand_behind_an_order_and_nothing_depends_on_more_than_the_data() {
    let banned = ["NOW", "RANDOM", "RAND", "CURRENT_TIMESTAMP", "USER", "UUID", "AUTO_INCREMENT"];
    for (_, case) in cases(300) {
        for statement in statements(&case) {
            let limits = statement.sql.matches(" LIMIT ").count();
            let ordered = statement.sql.matches(" ORDER BY 1").count();
            assert!(limits <= ordered, "{}", statement.sql);
            assert!(!words(&statement.sql).iter().any(|word| banned.contains(word)));
            // The order of rows that were locked is not kept at read committed.
            assert!(!statement.ordered || statement.locks == ReadLock::None);
        }
    }
}

/// A case follows a pattern only if its transactions meet in a table; and all patterns come up.
#[test]
fn patterns_come_up_and_their_transactions_meet() {
    let weights = Weights { patterns: 100, beside_pattern: 0, ..Weights::default() };
    let mut generator = RandomGenerator::new(3, &SQLITE).with_weights(weights);
    let mut orders = BTreeSet::new();
    for number in 0..600 {
        let case = generator.case(number);
        let tables = |at: usize| -> BTreeSet<usize> {
            let statements = &case.transactions[at].statements;
            let own =
                statements.iter().flat_map(|s| s.looks_at.iter().copied().chain(s.does.target()));
            own.collect()
        };
        let meets = (1..case.transactions.len()).any(|at| !tables(0).is_disjoint(&tables(at)));
        assert!(meets, "{number}: {:?}", case.transactions);
        orders.insert(case.order.clone());
    }
    // Some patterns differ in what is done, and not in the order.
    let expected: BTreeSet<Vec<usize>> = PATTERNS.iter().map(|p| order_of(p.steps)).collect();
    assert_eq!(orders, expected);
}

/// The transactions of the words of a pattern, the first of each twice, if it is not `b`.
fn order_of(steps: &str) -> Vec<usize> {
    let mut order = Vec::new();
    for word in steps.split(' ') {
        let transaction = usize::from(word.as_bytes()[1] - b'1');
        let begins = !order.contains(&transaction);
        if begins && !word.starts_with('b') {
            order.push(transaction);
        }
        order.push(transaction);
    }
    order
}

#[test]
fn all_kinds_of_queries_come_up() {
    let words = [
        "INNER JOIN",
        "LEFT JOIN",
        "CROSS JOIN",
        "(EXISTS (",
        "(NOT EXISTS (",
        " IN (SELECT",
        "GROUP BY",
        "HAVING",
        " OVER (",
        "PARTITION BY",
        "ROWS BETWEEN",
        " UNION ",
        " UNION ALL ",
        " INTERSECT ",
        "WITH w",
        "ORDER BY 1",
        " LIMIT ",
        "CASE WHEN",
        "COALESCE(",
        "NULLIF(",
        " BETWEEN ",
        " LIKE ",
        " IS NULL",
        "DISTINCT ",
        " FOR UPDATE",
        " FOR SHARE",
        "LOCK IN SHARE MODE",
        "SKIP LOCKED",
        "NOWAIT",
        "SAVEPOINT",
        "ROLLBACK TO",
        "RELEASE",
        "FIRST_VALUE",
        "LAG(",
        "STRING_AGG",
        "GROUP_CONCAT",
        "= ANY (",
        "CONSISTENT SNAPSHOT",
        "BEGIN IMMEDIATE",
        "UNIQUE INDEX",
        "FOREIGN KEY",
        "CHECK (",
        "NOT NULL,",
        "REFERENCES",
    ];
    let mut all = String::new();
    for (_, case) in cases(600) {
        all.extend(case.schema.iter().map(|sql| format!("{sql}\n")));
        all.extend(case.transactions.iter().map(|t| format!("{}\n", t.begin)));
        all.extend(statements(&case).map(|s| format!("{}\n", s.sql)));
    }
    let missing: Vec<_> = words.iter().filter(|word| !all.contains(**word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
