//! Tables and their rows.

use super::counters::LITERALS;
use super::maker::{Maker, column};
use crate::schema::{ColumnDef, IndexDef, KEY, Rule, TableDef, VERSION};
use crate::tree::{Comparison, Expression, Literal, ValueType};

/// Types of columns.
const TYPES: [(ValueType, u32); 5] = [
    (ValueType::Integer, 45),
    (ValueType::Text, 20),
    (ValueType::Decimal, 15),
    (ValueType::Date, 10),
    (ValueType::Boolean, 10),
];

impl Maker<'_> {
    /// Makes the tables and their rows.
    pub(super) fn make_tables(&mut self) {
        let tables = self.within(self.sizes.tables);
        // Most keys are left for rows that transactions insert.
        let most = u32::try_from(LITERALS / 2).unwrap_or(0) / tables.max(1);
        for number in 0..tables.max(1) {
            let mut table = self.table_def(number);
            let version = self.counters.version();
            let rows = self.within(self.sizes.rows).min(most);
            for _ in 0..rows {
                let row = self.row(&table, version);
                table.rows.extend(row);
            }
            self.schema.tables.push(table);
        }
    }

    fn table_def(&mut self, number: u32) -> TableDef {
        let columns = self.within(self.sizes.columns).max(1);
        let mut table = TableDef {
            name: format!("t{number}"),
            columns: (0..columns).map(|number| self.column_def(number)).collect(),
            indexes: Vec::new(),
            rows: Vec::new(),
        };
        for share in self.weights.indexes {
            if self.percent(share) {
                let index = self.index_def(&table);
                table.indexes.push(index);
            }
        }
        table
    }

    fn column_def(&mut self, number: u32) -> ColumnDef {
        let name = format!("c{number}");
        let holds = self.weighted(&TYPES).unwrap_or(ValueType::Integer);
        let tables = self.schema.tables.iter().enumerate();
        let parents: Vec<usize> =
            tables.filter(|(_, table)| !table.rows.is_empty()).map(|(at, _)| at).collect();
        let parent = self.one(&parents).copied();
        let rule = match (holds, parent) {
            (ValueType::Integer, Some(parent)) if self.percent(self.weights.references) => {
                Some(Rule::References(parent))
            }
            (ValueType::Integer, _) if self.percent(self.weights.unique) => Some(Rule::Unique),
            _ if self.percent(self.weights.check) => self.check(&name, holds),
            _ => None,
        };
        let not_null = self.percent(self.weights.not_null);
        ColumnDef { name, holds, not_null, rule }
    }

    /// A condition that nearly all values of a column keep to.
    fn check(&mut self, name: &str, holds: ValueType) -> Option<Rule> {
        let (how, bound) = match holds {
            ValueType::Integer if self.random.coin() => (Comparison::Less, Literal::Integer(60)),
            ValueType::Integer => (Comparison::Greater, Literal::Integer(-60)),
            ValueType::Decimal => (Comparison::LessOrEqual, Literal::Quarters(400)),
            ValueType::Text => (Comparison::Unequal, Literal::Text("cabcab".into())),
            ValueType::Date => (Comparison::GreaterOrEqual, Literal::Day(0)),
            ValueType::Boolean => return None,
        };
        let column = Box::new(column(None, name, holds));
        Some(Rule::Check(Expression::Compare(how, column, Box::new(Expression::Literal(bound)))))
    }

    fn index_def(&mut self, table: &TableDef) -> IndexDef {
        let name = format!("{}_i{}", table.name, table.indexes.len());
        let columns: Vec<Expression> =
            table.columns.iter().map(|c| column(None, &c.name, c.holds)).collect();
        let first = self.one(&columns).cloned();
        let mut on: Vec<Expression> = first.into_iter().collect();
        if self.dialect.expression_indexes && self.percent(20) {
            on = on.into_iter().map(|of| self.indexed_expression(of)).collect();
        } else if self.percent(40) {
            let second = self.one(&columns).cloned();
            on.extend(second.filter(|second| !on.contains(second)));
        }
        let condition = (self.dialect.partial_indexes && self.percent(20))
            .then(|| self.one(&columns).cloned())
            .flatten()
            .map(|of| self.indexed_rows(of));
        let is_unique = |name: &str| {
            let column = table.columns.iter().find(|column| column.name == name);
            name == KEY || column.is_some_and(|column| column.rule == Some(Rule::Unique))
        };
        // With a column in it that is unique, the whole is.
        let unique =
            on.iter().any(|on| matches!(on, Expression::Column { name, .. } if is_unique(name)));
        let unique = unique && self.percent(50);
        IndexDef { name, unique, on, condition }
    }

    /// An expression of a column.
    fn indexed_expression(&mut self, of: Expression) -> Expression {
        use crate::tree::{Arithmetic, Function};
        let holds = of.value_type();
        match holds {
            ValueType::Integer => {
                let three = Box::new(Expression::Literal(Literal::Integer(3)));
                Expression::Arithmetic(Arithmetic::Modulo, Box::new(of), three)
            }
            ValueType::Decimal => Expression::Call(Function::Abs, vec![of]),
            ValueType::Text => Expression::Call(Function::Length, vec![of]),
            ValueType::Date | ValueType::Boolean => Expression::IsNull(Box::new(of), true),
        }
    }

    /// A condition for a partial index.
    fn indexed_rows(&mut self, of: Expression) -> Expression {
        let holds = of.value_type();
        if holds == ValueType::Boolean || self.percent(40) {
            return Expression::IsNull(Box::new(of), false);
        }
        let bound = Box::new(Expression::Literal(self.literal(holds)));
        Expression::Compare(Comparison::Greater, Box::new(of), bound)
    }

    /// A row for a table; nothing if there are no more keys.
    fn row(&mut self, table: &TableDef, version: i64) -> Option<Vec<Literal>> {
        let key = self.counters.key()?;
        let mut row = vec![Literal::Integer(key), Literal::Integer(version)];
        for column in &table.columns {
            row.push(self.cell(column));
        }
        debug_assert_eq!(row.len(), table.columns.len() + [KEY, VERSION].len());
        Some(row)
    }

    /// A value for a column of a new row.
    pub(super) fn cell(&mut self, column: &ColumnDef) -> Literal {
        if !column.not_null && self.percent(self.weights.null) {
            return Literal::Null(column.holds);
        }
        match column.rule {
            Some(Rule::Unique) => Literal::Integer(self.counters.unique()),
            Some(Rule::References(table)) => self.parent(table, column.not_null),
            _ => self.literal(column.holds),
        }
    }

    /// The primary key of a row of a table; NULL if there is none.
    pub(super) fn parent(&mut self, table: usize, not_null: bool) -> Literal {
        let null = !not_null && self.percent(10);
        let rows = self.schema.tables[table].rows.len();
        let row = self.below(rows);
        let found = self.schema.tables[table].rows.get(row).and_then(|row| row.first());
        found.filter(|_| !null).cloned().unwrap_or(Literal::Null(ValueType::Integer))
    }
}
