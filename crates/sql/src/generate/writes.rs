//! Statements that write.

use super::maker::{Maker, RowAt, column};
use super::queries::{FromClause, items};
use super::scope::Scope;
use crate::schema::{ColumnDef, KEY, Rule};
use crate::tree::{
    Arithmetic, Comparison, Expression, Function, Join, Literal, Query, Relation, Select, Source,
    Statement, ValueType,
};

impl Maker<'_> {
    /// Inserts one to three rows; nothing if there are no more keys.
    pub(super) fn insert_values(&mut self, table: usize) -> Option<Statement> {
        let version = self.counters.version();
        let columns = self.schema.tables[table].columns.clone();
        let mut rows = Vec::new();
        for _ in 0..1 + self.below(3) {
            let mut row = vec![integer(self.counters.key()?), integer(version)];
            for column in &columns {
                row.push(self.inserted(table, column));
            }
            rows.push(row);
        }
        Some(Statement::InsertValues { table, version, rows })
    }

    /// Inserts a row that is like another one but for its keys.
    pub(super) fn insert_like(&mut self, (table, row): RowAt) -> Option<Statement> {
        let version = self.counters.version();
        let columns = self.schema.tables[table].columns.clone();
        let like = self.schema.tables[table].rows.get(row).cloned().unwrap_or_default();
        let mut values = vec![integer(self.counters.key()?), integer(version)];
        for (at, column) in columns.iter().enumerate() {
            let unique = column.rule == Some(Rule::Unique);
            values.push(match like.get(at + 2) {
                Some(value) if !unique => Expression::Literal(value.clone()),
                _ => Expression::Literal(self.cell(column)),
            });
        }
        Some(Statement::InsertValues { table, version, rows: vec![values] })
    }

    /// A value that is inserted: mostly one that rows have.
    fn inserted(&mut self, table: usize, column: &ColumnDef) -> Expression {
        let at = self.schema.tables[table].columns.iter().position(|c| c.name == column.name);
        let free = !matches!(column.rule, Some(Rule::Unique | Rule::References(_)));
        match at {
            Some(at) if free && self.percent(50) => {
                Expression::Literal(self.literal_of(Some((table, at + 2)), column.holds))
            }
            _ => Expression::Literal(self.cell(column)),
        }
    }

    /// Copies rows of a table, or of another one, with keys of their own; nothing if there are no more.
    pub(super) fn insert_select(&mut self, table: usize) -> Option<Statement> {
        self.avoid = (!self.dialect.reads_target).then_some(table);
        let from_table = self.readable_table();
        let made = from_table.and_then(|from| self.copies(table, from));
        self.avoid = None;
        made
    }

    fn copies(&mut self, table: usize, from_table: usize) -> Option<Statement> {
        let version = self.counters.version();
        let base = self.counters.keys_of_copies()?;
        let alias = self.alias('a');
        let scope = self.scope_of_table(from_table, &alias);
        let key = column(Some(&alias), KEY, ValueType::Integer);
        let mut values = vec![plus(base, key.clone()), integer(version)];
        for column in self.schema.tables[table].columns.clone() {
            values.push(self.stored(&column, &key, &scope));
        }
        let sources = vec![Source {
            join: Join::Inner,
            relation: Relation::Table(from_table),
            alias: Some(alias),
            on: None,
        }];
        let from = FromClause { sources, scope, tables: vec![from_table] };
        let condition = self.where_clause(&from);
        let first =
            Select { items: items(values), from: from.sources, condition, ..Select::default() };
        let query = Query { first, ..Query::default() };
        Some(Statement::InsertSelect { table, version, query })
    }

    /// A value for a column of a row that is written, made from a row that is read.
    fn stored(&mut self, column: &ColumnDef, key: &Expression, scope: &Scope) -> Expression {
        match column.rule {
            Some(Rule::Unique) => plus(self.counters.uniques(), key.clone()),
            Some(Rule::References(table)) => {
                Expression::Literal(self.parent(table, column.not_null))
            }
            Some(Rule::Check(_)) if self.percent(80) => Expression::Literal(self.cell(column)),
            _ => {
                let depth = self.sizes.depth;
                let value = self.value(column.holds, scope, depth);
                if !column.not_null {
                    return value;
                }
                let otherwise = Expression::Literal(self.literal(column.holds));
                Expression::Call(Function::Coalesce, vec![value, otherwise])
            }
        }
    }

    /// Updates rows of a table. The condition may not read it if the dialect does not.
    pub(super) fn update(&mut self, table: usize, condition: Option<Expression>) -> Statement {
        self.avoid = (!self.dialect.update_reads_target).then_some(table);
        let version = self.counters.version();
        let name = self.schema.tables[table].name.clone();
        let scope = self.scope_of_table(table, &name);
        let key = column(Some(&name), KEY, ValueType::Integer);
        let columns = self.schema.tables[table].columns.clone();
        let mut set: Vec<(String, Expression)> = Vec::new();
        for _ in 0..self.below(4) {
            let Some(column) = self.one(&columns) else { break };
            if set.iter().all(|(name, _)| *name != column.name) {
                let value = self.stored(column, &key, &scope);
                set.push((column.name.clone(), value));
            }
        }
        self.avoid = None;
        Statement::Update { table, version, set, condition }
    }

    /// A condition for a statement that writes a table, which it may read there or not.
    pub(super) fn written_rows(&mut self, table: usize, reads: bool) -> Option<Expression> {
        self.avoid = (!reads).then_some(table);
        let name = self.schema.tables[table].name.clone();
        let scope = self.scope_of_table(table, &name);
        let condition = self.condition_on(table, &scope);
        self.avoid = None;
        condition
    }

    /// Deletes rows of a table, mostly only those to which no row refers.
    pub(super) fn delete(&mut self, table: usize, condition: Option<Expression>) -> Statement {
        let children = self.schema.children(table);
        let mut all: Vec<Expression> = condition.into_iter().collect();
        if !children.is_empty() && !self.percent(10) {
            for child in children {
                all.extend(self.no_child(table, child));
            }
        }
        let condition = if all.len() > 1 { Some(Expression::And(all)) } else { all.pop() };
        Statement::Delete { table, condition }
    }

    /// That no row of another table refers to a row of a table.
    fn no_child(&mut self, table: usize, child: usize) -> Option<Expression> {
        let key = column(Some(&self.schema.tables[table].name), KEY, ValueType::Integer);
        let alias = self.alias('a');
        let columns = self.schema.tables[child].columns.iter();
        let refers = columns.filter(|column| column.rule == Some(Rule::References(table)));
        let equal = refers.map(|reference| {
            let reference = Box::new(column(Some(&alias), &reference.name, ValueType::Integer));
            Expression::Compare(Comparison::Equal, reference, Box::new(key.clone()))
        });
        let mut equal: Vec<Expression> = equal.collect();
        let condition = if equal.len() > 1 { Some(Expression::Or(equal)) } else { equal.pop() };
        let source = Source {
            join: Join::Inner,
            relation: Relation::Table(child),
            alias: Some(alias),
            on: None,
        };
        let first = Select {
            items: items(vec![integer(1)]),
            from: vec![source],
            condition,
            ..Select::default()
        };
        Some(Expression::Exists(Box::new(Query { first, ..Query::default() }), false))
    }
}

fn integer(number: i64) -> Expression {
    Expression::Literal(Literal::Integer(number))
}

fn plus(base: i64, key: Expression) -> Expression {
    Expression::Arithmetic(Arithmetic::Add, Box::new(integer(base)), Box::new(key))
}
