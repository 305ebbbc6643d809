//! How often what is generated: the one place to look at, and to change.
//!
//! Weights count beside the others of their list; shares are of a hundred.

/// What a statement is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum StatementKind {
    /// `SELECT * FROM t WHERE c`.
    Plain,
    /// Any query.
    Query,
    /// A query that locks rows.
    LockingRead,
    InsertValues,
    InsertSelect,
    Update,
    Delete,
}

/// What an expression is to be, of those whose values are not conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ValueKind {
    Column,
    Literal,
    Operator,
    Case,
    Coalesce,
    NullIf,
    Extreme,
    Scalar,
}

/// What a condition is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ConditionKind {
    Compare,
    CompareValues,
    Between,
    InList,
    Like,
    IsNull,
    IsTrue,
    Boolean,
    And,
    Or,
    Not,
    Exists,
    InQuery,
    Quantified,
    ScalarCompare,
    /// Of values alone, which an optimizer knows beforehand.
    Constant,
}

/// What a part of a query is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SelectKind {
    Rows,
    Distinct,
    Grouped,
    Windows,
}

/// How often what is generated.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Statements of transactions that write.
    pub statements: Vec<(StatementKind, u32)>,
    /// Statements of transactions that only read.
    pub reads: Vec<(StatementKind, u32)>,
    /// Share of plain SELECTs that an UPDATE or DELETE with the same condition follows in the same transaction.
    pub same_predicate: u32,
    /// Share of cases that follow a pattern.
    pub patterns: u32,
    /// Share of transactions in such a case that get another statement.
    pub beside_pattern: u32,
    /// Share of cases with one transaction.
    pub single: u32,
    /// Share of transactions that only read.
    pub only_reads: u32,
    /// Share of transactions that roll back.
    pub rollback: u32,
    /// Share of transactions with a savepoint; most of them roll back to it.
    pub savepoint: u32,
    /// Share of conditions that are true of a row that other transactions touch, too.
    pub focus: u32,
    /// Share of locking reads that do not wait.
    pub impatient: u32,
    /// Share of NULLs among values of columns that may be NULL.
    pub null: u32,
    /// Share of columns that must not be NULL, that are unique, that have a CHECK, that refer to another table.
    pub not_null: u32,
    /// See `not_null`.
    pub unique: u32,
    /// See `not_null`.
    pub check: u32,
    /// See `not_null`; of columns of whole numbers.
    pub references: u32,
    /// Share of tables with one more index, and with two more.
    pub indexes: [u32; 2],
    /// Share of queries with named queries, with set operators, and in order; of those in order, with LIMIT.
    pub with: u32,
    /// See `with`.
    pub set_operators: u32,
    /// See `with`.
    pub ordered: u32,
    /// See `with`.
    pub limit: u32,
    /// Share of sources that are queries.
    pub derived: u32,
    /// Share of queries with one more source, and with two more.
    pub joins: [u32; 2],
    /// Values.
    pub values: Vec<(ValueKind, u32)>,
    /// Conditions.
    pub conditions: Vec<(ConditionKind, u32)>,
    /// Parts of queries.
    pub selects: Vec<(SelectKind, u32)>,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            statements: vec![
                (StatementKind::Plain, 30),
                (StatementKind::Query, 18),
                (StatementKind::LockingRead, 6),
                (StatementKind::InsertValues, 12),
                (StatementKind::InsertSelect, 5),
                (StatementKind::Update, 27),
                (StatementKind::Delete, 9),
            ],
            reads: vec![(StatementKind::Plain, 45), (StatementKind::Query, 55)],
            same_predicate: 30,
            patterns: 33,
            beside_pattern: 25,
            single: 7,
            only_reads: 12,
            rollback: 12,
            savepoint: 10,
            focus: 60,
            impatient: 15,
            null: 15,
            not_null: 25,
            unique: 12,
            check: 12,
            references: 25,
            indexes: [60, 25],
            with: 12,
            set_operators: 15,
            ordered: 40,
            limit: 40,
            derived: 15,
            joins: [45, 12],
            values: value_weights(),
            conditions: condition_weights(),
            selects: vec![
                (SelectKind::Rows, 50),
                (SelectKind::Distinct, 10),
                (SelectKind::Grouped, 25),
                (SelectKind::Windows, 15),
            ],
        }
    }
}

fn value_weights() -> Vec<(ValueKind, u32)> {
    vec![
        (ValueKind::Column, 50),
        (ValueKind::Literal, 12),
        (ValueKind::Operator, 20),
        (ValueKind::Case, 6),
        (ValueKind::Coalesce, 5),
        (ValueKind::NullIf, 3),
        (ValueKind::Extreme, 4),
        (ValueKind::Scalar, 6),
    ]
}

fn condition_weights() -> Vec<(ConditionKind, u32)> {
    vec![
        (ConditionKind::Compare, 36),
        (ConditionKind::CompareValues, 8),
        (ConditionKind::Between, 8),
        (ConditionKind::InList, 8),
        (ConditionKind::Like, 4),
        (ConditionKind::IsNull, 6),
        (ConditionKind::IsTrue, 2),
        (ConditionKind::Boolean, 4),
        (ConditionKind::And, 10),
        (ConditionKind::Or, 10),
        (ConditionKind::Not, 3),
        (ConditionKind::Exists, 7),
        (ConditionKind::InQuery, 7),
        (ConditionKind::Quantified, 2),
        (ConditionKind::ScalarCompare, 5),
        (ConditionKind::Constant, 3),
    ]
}
