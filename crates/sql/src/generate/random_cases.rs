//! Cases at random.

use isolde_workload::Random;

use super::Generator;
use super::maker::Maker;
use super::sizes::Sizes;
use super::transactions::Draft;
use super::weights::Weights;
use crate::case::{Case, CaseStatement, CaseTable, CaseTransaction};
use crate::dialect::{Allows, Dialect};
use crate::print::Printer;
use crate::tree::Statement;

/// Makes cases of any statements. All of a case follows from the seed and its number.
#[derive(Clone, Debug)]
pub struct RandomGenerator {
    seed: u64,
    dialect: &'static Dialect,
    sizes: Sizes,
    weights: Weights,
}

impl RandomGenerator {
    /// A generator of small cases with the usual weights.
    ///
    /// ```
    /// use isolde_sql::dialect::SQLITE;
    /// use isolde_sql::generate::{Generator, RandomGenerator};
    /// let case = RandomGenerator::new(7, &SQLITE).case(3);
    /// assert_eq!(case, RandomGenerator::new(7, &SQLITE).case(3));
    /// assert!(case.schema[0].starts_with("CREATE TABLE t0 (pkey INTEGER NOT NULL PRIMARY KEY"));
    /// ```
    pub fn new(seed: u64, dialect: &'static Dialect) -> RandomGenerator {
        RandomGenerator { seed, dialect, sizes: Sizes::default(), weights: Weights::default() }
    }

    /// The same with cases of other sizes.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> RandomGenerator {
        RandomGenerator { sizes, ..self }
    }

    /// The same with other weights.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> RandomGenerator {
        RandomGenerator { weights, ..self }
    }
}

impl Generator for RandomGenerator {
    fn case(&mut self, number: u64) -> Case {
        let random = Random::stream(self.seed, number);
        let mut maker = Maker::new(random, self.dialect, &self.weights, self.sizes);
        maker.make_tables();
        maker.choose_focus();
        let scripted = maker.percent(self.weights.patterns);
        let (drafts, order) = match scripted.then(|| maker.scripted_transactions()).flatten() {
            Some(scripted) => scripted,
            None => {
                let drafts = maker.free_transactions();
                let statements: Vec<usize> =
                    drafts.iter().map(|draft| draft.statements.len()).collect();
                let order = maker.shuffled(&statements);
                (drafts, order)
            }
        };
        let begins: Vec<&str> = drafts.iter().map(|draft| maker.begin(draft)).collect();
        let printer = Printer::new(self.dialect, &maker.schema);
        let transactions = drafts.iter().zip(begins);
        Case {
            tables: tables(&maker),
            schema: printer.schema(),
            rows: printer.rows(),
            transactions: transactions
                .map(|(draft, begin)| printed(&printer, draft, begin))
                .collect(),
            order,
        }
    }
}

impl Maker<'_> {
    /// Chooses the rows that transactions shall meet at: one or two.
    fn choose_focus(&mut self) {
        for _ in 0..1 + self.below(2) {
            let tables = self.schema.tables.iter().enumerate();
            let filled: Vec<usize> =
                tables.filter(|(_, table)| !table.rows.is_empty()).map(|(at, _)| at).collect();
            let Some(table) = self.one(&filled).copied() else { return };
            let rows = self.schema.tables[table].rows.len();
            let row = (table, self.below(rows));
            self.focus.push(row);
        }
    }

    /// How a transaction begins.
    fn begin(&mut self, draft: &Draft) -> &'static str {
        let reads = draft.statements.iter().all(|statement| match statement {
            Statement::Select(query) => query.lock.is_none(),
            Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::Release(_) => true,
            _ => false,
        });
        let begins = self.dialect.begins.iter();
        let begins: Vec<(&'static str, u32)> = begins
            .filter(|begin| reads || begin.allows == Allows::All)
            .map(|begin| (begin.sql, begin.weight))
            .collect();
        self.weighted(&begins).unwrap_or("BEGIN")
    }
}

fn tables(maker: &Maker<'_>) -> Vec<CaseTable> {
    let tables = maker.schema.tables.iter().enumerate();
    let described = tables.map(|(at, table)| CaseTable {
        name: table.name.clone(),
        columns: table.column_names(),
        parents: table.parents(),
        children: maker.schema.children(at),
    });
    described.collect()
}

fn printed(printer: &Printer<'_>, draft: &Draft, begin: &str) -> CaseTransaction {
    let statements = draft.statements.iter().map(|statement| CaseStatement {
        sql: printer.statement(statement),
        does: statement.does(|condition| printer.expression(condition)),
        looks_at: statement.looks_at(),
        nested: statement.is_nested(),
        locks: statement.read_lock(),
        ordered: statement.is_ordered(),
    });
    let statements = statements.collect();
    CaseTransaction { begin: begin.to_owned(), statements, commits: !draft.rolls_back }
}
