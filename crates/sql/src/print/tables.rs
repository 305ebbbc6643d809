//! What makes and fills tables.

use super::Printer;
use crate::schema::{ColumnDef, IndexDef, KEY, Rule, TableDef, VERSION};
use crate::tree::{Expression, ValueType};

/// So many rows are inserted by one statement.
const ROWS_AT_ONCE: usize = 500;

impl Printer<'_> {
    /// What makes the tables and indexes, one statement each.
    pub fn schema(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for table in &self.schema.tables {
            statements.push(self.create(table));
            statements.extend(table.indexes.iter().map(|index| self.index(table, index)));
        }
        statements
    }

    /// What fills the tables.
    pub fn rows(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for table in &self.schema.tables {
            for rows in table.rows.chunks(ROWS_AT_ONCE) {
                let values = rows.iter().map(|row| {
                    let values =
                        row.iter().map(|v| self.expression(&Expression::Literal(v.clone())));
                    format!("({})", values.collect::<Vec<_>>().join(", "))
                });
                let values = values.collect::<Vec<_>>().join(", ");
                let columns = table.column_names().join(", ");
                statements.push(format!("INSERT INTO {} ({columns}) VALUES {values}", table.name));
            }
        }
        statements
    }

    fn create(&self, table: &TableDef) -> String {
        let integer = self.dialect.type_name(ValueType::Integer);
        let mut parts = vec![
            format!("{KEY} {integer} NOT NULL PRIMARY KEY"),
            format!("{VERSION} {integer} NOT NULL"),
        ];
        parts.extend(table.columns.iter().map(|column| self.column(column)));
        parts.extend(table.columns.iter().filter_map(|column| self.constraint(column)));
        format!("CREATE TABLE {} ({}){}", table.name, parts.join(", "), self.dialect.table_options)
    }

    fn column(&self, column: &ColumnDef) -> String {
        let not_null = if column.not_null { " NOT NULL" } else { "" };
        format!("{} {}{not_null}", column.name, self.dialect.type_name(column.holds))
    }

    fn constraint(&self, column: &ColumnDef) -> Option<String> {
        Some(match column.rule.as_ref()? {
            Rule::Unique => format!("UNIQUE ({})", column.name),
            Rule::Check(condition) => format!("CHECK ({})", self.expression(condition)),
            Rule::References(table) => {
                let table = &self.schema.tables[*table].name;
                format!("FOREIGN KEY ({}) REFERENCES {table} ({KEY})", column.name)
            }
        })
    }

    fn index(&self, table: &TableDef, index: &IndexDef) -> String {
        let on = index.on.iter().map(|on| match on {
            Expression::Column { name, .. } => name.clone(),
            // In parentheses of its own everywhere: where they are not needed they do no harm.
            other => format!("({})", self.expression(other)),
        });
        let on = on.collect::<Vec<_>>().join(", ");
        let unique = if index.unique { "UNIQUE " } else { "" };
        let condition = index.condition.as_ref().map(|c| format!(" WHERE {}", self.expression(c)));
        let condition = condition.unwrap_or_default();
        format!("CREATE {unique}INDEX {} ON {} ({on}){condition}", index.name, table.name)
    }
}
