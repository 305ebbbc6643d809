//! What servers know, and how they want it written, as data.

use crate::tree::{SetOperator, ValueType};

/// A server's SQL.
#[derive(Debug)]
pub struct Dialect {
    /// The server.
    pub name: &'static str,
    /// The types of columns: whole numbers, decimals, texts, days, booleans.
    pub types: [&'static str; 5],
    /// What stands behind the columns of a table.
    pub table_options: &'static str,
    /// Types of NULL, where one without a type would be taken for a text.
    pub null_types: Option<[&'static str; 5]>,
    /// What stands before the literal of a day.
    pub before_day: &'static str,
    /// How texts are put together: an operator, or else the function CONCAT.
    pub concat_operator: bool,
    /// What divides whole numbers.
    pub divide: &'static str,
    /// What says that two values are the same, NULL or not.
    pub same: &'static str,
    /// The functions for the greatest and the least of several values.
    pub extremes: [&'static str; 2],
    /// The type to which a sum of whole numbers is cast to be one.
    pub sum_type: Option<&'static str>,
    /// How texts of many rows are joined.
    pub joined: JoinedTexts,
    /// Whether values are compared with ANY and ALL of a query.
    pub quantifiers: bool,
    /// How queries are put together.
    pub set_operators: &'static [SetOperator],
    /// Whether INSERT ... SELECT and DELETE may read in a subquery the table that they write.
    pub reads_target: bool,
    /// Whether UPDATE may: not where a subquery sees the rows that the same statement has updated.
    pub update_reads_target: bool,
    /// Whether an index can hold some rows only.
    pub partial_indexes: bool,
    /// Whether an index can hold expressions.
    pub expression_indexes: bool,
    /// What locks rows for reading and for writing; nothing if no read does.
    pub locks: Option<[&'static str; 2]>,
    /// How transactions begin.
    pub begins: &'static [Beginning],
}

/// A function that joins texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinedTexts {
    /// `STRING_AGG(x, ',' ORDER BY y)`.
    StringAgg,
    /// `GROUP_CONCAT(x ORDER BY y SEPARATOR ',')`.
    Separator,
    /// `GROUP_CONCAT(x, ',' ORDER BY y)`.
    GroupConcat,
}

/// A way to begin a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beginning {
    /// The statement.
    pub sql: &'static str,
    /// What the transaction may do.
    pub allows: Allows,
    /// How often it is taken, beside the others.
    pub weight: u32,
}

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allows {
    /// All.
    All,
    /// It reads and locks nothing.
    Reads,
}

const fn beginning(sql: &'static str, weight: u32) -> Beginning {
    Beginning { sql, allows: Allows::All, weight }
}

const fn reading(sql: &'static str, weight: u32) -> Beginning {
    Beginning { sql, allows: Allows::Reads, weight }
}

const ALL_OPERATORS: &[SetOperator] =
    &[SetOperator::Union, SetOperator::UnionAll, SetOperator::Intersect, SetOperator::Except];

/// PostgreSQL.
pub static POSTGRESQL: Dialect = Dialect {
    name: "PostgreSQL",
    types: ["BIGINT", "NUMERIC(14,2)", "TEXT", "DATE", "BOOLEAN"],
    table_options: "",
    null_types: Some(["BIGINT", "NUMERIC", "TEXT", "DATE", "BOOLEAN"]),
    before_day: "DATE ",
    concat_operator: true,
    divide: "/",
    same: "IS NOT DISTINCT FROM",
    extremes: ["GREATEST", "LEAST"],
    sum_type: Some("BIGINT"),
    joined: JoinedTexts::StringAgg,
    quantifiers: true,
    set_operators: ALL_OPERATORS,
    reads_target: true,
    update_reads_target: true,
    partial_indexes: true,
    expression_indexes: true,
    locks: Some(["FOR SHARE", "FOR UPDATE"]),
    begins: &[
        beginning("BEGIN", 6),
        beginning("START TRANSACTION", 2),
        beginning("START TRANSACTION READ WRITE", 1),
        reading("START TRANSACTION READ ONLY", 3),
    ],
};

/// MariaDB with InnoDB.
pub static MARIADB: Dialect = INNODB;

const INNODB: Dialect = Dialect {
    name: "MariaDB",
    types: ["BIGINT", "DECIMAL(14,2)", "VARCHAR(200)", "DATE", "BOOLEAN"],
    // Other collations take different texts for the same.
    table_options: " CHARACTER SET ascii COLLATE ascii_bin",
    null_types: None,
    before_day: "DATE ",
    concat_operator: false,
    divide: "DIV",
    same: "<=>",
    extremes: ["GREATEST", "LEAST"],
    sum_type: Some("SIGNED"),
    joined: JoinedTexts::Separator,
    quantifiers: true,
    set_operators: ALL_OPERATORS,
    reads_target: false,
    update_reads_target: false,
    partial_indexes: false,
    expression_indexes: false,
    locks: Some(["LOCK IN SHARE MODE", "FOR UPDATE"]),
    begins: &[
        beginning("BEGIN", 4),
        beginning("START TRANSACTION", 2),
        beginning("START TRANSACTION READ WRITE", 1),
        beginning("START TRANSACTION WITH CONSISTENT SNAPSHOT", 2),
        reading("START TRANSACTION READ ONLY", 2),
        reading("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", 1),
    ],
};

/// MySQL 8.0 and later, with InnoDB.
pub static MYSQL: Dialect = Dialect {
    name: "MySQL",
    set_operators: &[SetOperator::Union, SetOperator::UnionAll],
    expression_indexes: true,
    locks: Some(["FOR SHARE", "FOR UPDATE"]),
    ..INNODB
};

/// SQLite.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    // Its numbers with a point are binary floats, which are exact for quarters. NUMERIC would keep 2.0 as an integer, and
    // of 2 and 2.0 as one row either could be returned.
    types: ["INTEGER", "REAL", "TEXT", "TEXT", "INTEGER"],
    table_options: "",
    null_types: None,
    before_day: "",
    concat_operator: true,
    divide: "/",
    same: "IS NOT DISTINCT FROM",
    extremes: ["MAX", "MIN"],
    sum_type: None,
    joined: JoinedTexts::GroupConcat,
    quantifiers: false,
    set_operators: ALL_OPERATORS,
    reads_target: true,
    // In `UPDATE t SET ... WHERE (SELECT COUNT(*) FROM t AS a WHERE a.b > 9) = 0` each row is judged after the one before
    // it was updated, and in SET likewise.
    update_reads_target: false,
    partial_indexes: true,
    expression_indexes: true,
    locks: None,
    begins: &[
        beginning("BEGIN", 6),
        beginning("BEGIN DEFERRED", 2),
        beginning("BEGIN IMMEDIATE", 1),
    ],
};

impl Dialect {
    /// All that are built in.
    pub const ALL: [&'static Dialect; 4] = [&POSTGRESQL, &MARIADB, &MYSQL, &SQLITE];

    /// The dialect of a server, by the name that it has in a target; `None` if it is not known.
    pub fn of(server: &str) -> Option<&'static Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name == server)
    }

    /// The type of a column.
    pub fn type_name(&self, of: ValueType) -> &'static str {
        self.types[of as usize]
    }
}
