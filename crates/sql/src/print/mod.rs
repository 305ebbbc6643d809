//! Trees as text, in a dialect.

mod expressions;
mod pieces;
mod queries;
mod tables;

use crate::dialect::Dialect;
use crate::schema::{KEY, Schema, VERSION};
use crate::tree::{Expression, Statement};
use pieces::{Piece, list};

/// Writes statements about the tables of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Printer<'s> {
    dialect: &'s Dialect,
    schema: &'s Schema,
}

impl<'s> Printer<'s> {
    /// A printer for a server.
    pub fn new(dialect: &'s Dialect, schema: &'s Schema) -> Printer<'s> {
        Printer { dialect, schema }
    }

    /// An expression.
    pub fn expression(&self, expression: &Expression) -> String {
        self.written(vec![Piece::Expression(expression)])
    }

    /// A statement.
    pub fn statement(&self, statement: &Statement) -> String {
        let pieces = match statement {
            Statement::Select(query) => vec![Piece::Query(query)],
            Statement::InsertValues { table, rows, .. } => {
                let mut pieces = vec![self.insert(*table), " VALUES ".into()];
                for (at, row) in rows.iter().enumerate() {
                    pieces.push(if at == 0 { "(" } else { ", (" }.into());
                    pieces.extend(list(row));
                    pieces.push(")".into());
                }
                pieces
            }
            Statement::InsertSelect { table, query, .. } => {
                vec![self.insert(*table), " ".into(), Piece::Query(query)]
            }
            Statement::Update { table, version, set, condition } => {
                let table = &self.schema.tables[*table].name;
                let mut pieces = vec![format!("UPDATE {table} SET {VERSION} = {version}").into()];
                for (column, value) in set {
                    pieces.extend([format!(", {column} = ").into(), Piece::Expression(value)]);
                }
                pieces.extend(behind_where(condition.as_ref()));
                pieces
            }
            Statement::Delete { table, condition } => {
                let mut pieces =
                    vec![format!("DELETE FROM {}", self.schema.tables[*table].name).into()];
                pieces.extend(behind_where(condition.as_ref()));
                pieces
            }
            Statement::Savepoint(name) => vec![format!("SAVEPOINT {name}").into()],
            Statement::RollbackTo(name) => vec![format!("ROLLBACK TO SAVEPOINT {name}").into()],
            Statement::Release(name) => vec![format!("RELEASE SAVEPOINT {name}").into()],
        };
        self.written(pieces)
    }

    fn insert<'t>(&self, table: usize) -> Piece<'t> {
        let table = &self.schema.tables[table];
        let columns = table.columns.iter().map(|column| format!(", {}", column.name));
        format!("INSERT INTO {} ({KEY}, {VERSION}{})", table.name, columns.collect::<String>())
            .into()
    }

    /// What pieces amount to. Each is replaced by what it is made of until only texts are left.
    fn written(&self, mut pieces: Vec<Piece<'_>>) -> String {
        pieces.reverse();
        let mut text = String::new();
        while let Some(piece) = pieces.pop() {
            let mut parts = match piece {
                Piece::Text(piece) => {
                    text.push_str(&piece);
                    continue;
                }
                Piece::Expression(expression) => expressions::parts(self.dialect, expression),
                Piece::Query(query) => queries::parts(self.dialect, query),
                Piece::Select(select) => queries::select_parts(self.schema, select),
            };
            parts.reverse();
            pieces.append(&mut parts);
        }
        text
    }
}

fn behind_where(condition: Option<&Expression>) -> Vec<Piece<'_>> {
    let Some(condition) = condition else { return Vec::new() };
    vec![" WHERE ".into(), Piece::Expression(condition)]
}
