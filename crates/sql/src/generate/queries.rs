//! Queries of any kind. What they return is determined by the data: the order of rows only where it is total, LIMIT only
//! behind such an order.

use super::maker::{Maker, column};
use super::scope::{Named, Scope, Visible};
use crate::tree::{
    Aggregate, CommonTable, Comparison, Expression, Item, Join, Lock, Patience, Query, Relation,
    Select, Source, ValueType,
};

/// So many rows a query in FROM of a query in FROM has, for all we know.
const SOME: u64 = 30;

/// Where rows come from, and what can be named there.
pub(super) struct FromClause {
    pub(super) sources: Vec<Source>,
    pub(super) scope: Scope,
    /// The tables among the sources.
    pub(super) tables: Vec<usize>,
}

impl Maker<'_> {
    /// A query whose rows a client gets.
    pub(super) fn top_query(&mut self) -> Option<Query> {
        let columns = 1 + self.below(4);
        let types: Vec<ValueType> = (0..columns).map(|_| self.type_of_schema()).collect();
        let outer = Scope { subqueries: self.sizes.subqueries, times: 1, ..Scope::default() };
        let mut query = self.query(&types, &outer, true)?;
        if self.percent(self.weights.ordered) {
            self.put_in_order(&mut query);
        }
        Some(query)
    }

    /// A query inside of another one.
    pub(super) fn query_of_types(&mut self, types: &[ValueType], outer: &Scope) -> Option<Query> {
        self.query(types, outer, false)
    }

    fn query(&mut self, types: &[ValueType], outer: &Scope, top: bool) -> Option<Query> {
        let mut query = Query::default();
        let mut named = Vec::new();
        if outer.subqueries > 0 && self.percent(self.weights.with) {
            let (common, name) = self.common_table(outer)?;
            query.with.push(common);
            named.push(name);
        }
        query.first = self.select(types, outer, &named, top)?;
        let operators = self.dialect.set_operators;
        if self.percent(self.weights.set_operators)
            && let Some(operator) = self.one(operators).copied()
            && let Some(select) = self.select(types, outer, &named, false)
            && !has_top_aggregates(&query.first)
        {
            query.more.push((operator, select));
        }
        Some(query)
    }

    fn put_in_order(&mut self, query: &mut Query) {
        query.ordered = true;
        if self.percent(self.weights.limit) {
            let rows = 1 + u32::try_from(self.random.below(4)).unwrap_or(0);
            let after = if self.percent(25) { 1 } else { 0 };
            query.limit = Some((rows, after));
        }
    }

    fn common_table(&mut self, outer: &Scope) -> Option<(CommonTable, Named)> {
        let (query, types, rows) = self.derived(outer)?;
        let name = self.alias('w');
        Some((CommonTable { name: name.clone(), query }, Named { name, types, rows }))
    }

    /// A query that stands in FROM, with the types of its columns and how many rows it has at most: it knows nothing of the
    /// queries around.
    fn derived(&mut self, outer: &Scope) -> Option<(Query, Vec<ValueType>, u64)> {
        let columns = 1 + self.below(3);
        let types: Vec<ValueType> = (0..columns).map(|_| self.type_of_schema()).collect();
        let subqueries = outer.subqueries.saturating_sub(1);
        // A server may make its rows anew for each row of the queries around.
        let alone = Scope { subqueries, times: outer.times, ..Scope::default() };
        let mut query = self.query(&types, &alone, false)?;
        if self.percent(15) {
            self.put_in_order(&mut query);
        }
        let rows = self.most_rows(&query);
        Some((query, types, rows))
    }

    /// How many rows a query returns if no condition leaves out any, roughly.
    fn most_rows(&self, query: &Query) -> u64 {
        if let Some((rows, _)) = query.limit {
            return rows.into();
        }
        let parts = [&query.first].into_iter().chain(query.more.iter().map(|(_, select)| select));
        let rows = parts.map(|select| {
            let grouped = select
                .items
                .iter()
                .any(|item| matches!(item.expression, Expression::Aggregate(..)));
            let sources = select.from.iter().map(|source| match &source.relation {
                Relation::Table(table) => self.many_rows(*table),
                Relation::Common(_) | Relation::Derived(_) => SOME,
            });
            if grouped && select.group.is_empty() { 1 } else { sources.product() }
        });
        rows.sum()
    }

    /// A type that some column has.
    fn type_of_schema(&mut self) -> ValueType {
        let columns = self.schema.tables.iter().flat_map(|table| &table.columns);
        let types: Vec<ValueType> =
            columns.map(|column| column.holds).chain([ValueType::Integer; 2]).collect();
        self.one(&types).copied().unwrap_or(ValueType::Integer)
    }

    /// A query of one value: an aggregate, the row of a primary key, or the first of all rows.
    pub(super) fn scalar_query(&mut self, of: ValueType, outer: &Scope) -> Option<Query> {
        let inside = outer.inside();
        let mut query = Query::default();
        match self.below(3) {
            0 if of != ValueType::Boolean => {
                let from = self.from(&inside, &[])?;
                let function = self.aggregate_of(of, &from.scope);
                query.first = self.rows_of(from, vec![function]);
            }
            1 => {
                let table = self.readable_table()?;
                let alias = self.alias('a');
                let scope = self.scope_of_table(table, &alias);
                let value = self.leaf(of, &scope);
                let key = self.literal_of(Some((table, 0)), ValueType::Integer);
                let by_key = Expression::Compare(
                    Comparison::Equal,
                    Box::new(column(Some(&alias), crate::schema::KEY, ValueType::Integer)),
                    Box::new(Expression::Literal(key)),
                );
                query.first = Select {
                    items: items(vec![value]),
                    from: vec![Source {
                        join: Join::Inner,
                        relation: Relation::Table(table),
                        alias: Some(alias),
                        on: None,
                    }],
                    condition: Some(by_key),
                    ..Select::default()
                };
            }
            _ => {
                let from = self.from(&inside, &[])?;
                let value = self.value(of, &from.scope.local(), 1);
                query.first = self.rows_of(from, vec![value]);
                query.ordered = true;
                query.limit = Some((1, 0));
            }
        }
        Some(query)
    }

    /// A query that locks the rows that it reads.
    pub(super) fn locking_query(&mut self) -> Option<Query> {
        let impatient = self.percent(self.weights.impatient);
        let patience = match impatient {
            true => [Patience::Skip, Patience::Fail][self.below(2)],
            false => Patience::Wait,
        };
        let lock = [Lock::Share, Lock::Update][usize::from(!self.percent(35))];
        let mut query = if self.percent(50) {
            let table = self.readable_table()?;
            self.plain(table)
        } else {
            let mut from = self.tables_only()?;
            let types: Vec<ValueType> =
                (0..1 + self.below(3)).map(|_| self.type_of_schema()).collect();
            let depth = self.sizes.depth;
            let values = types.iter().map(|of| self.value(*of, &from.scope, depth)).collect();
            from.scope.subqueries = self.sizes.subqueries;
            Query { first: self.rows_of(from, values), ..Query::default() }
        };
        query.lock = Some((lock, patience));
        Some(query)
    }

    /// One table or two.
    fn tables_only(&mut self) -> Option<FromClause> {
        let scope = Scope { times: 1, ..Scope::default() };
        let mut from = FromClause { sources: Vec::new(), scope, tables: Vec::new() };
        let many = 1 + usize::from(self.percent(30));
        for _ in 0..many {
            let table = self.readable_table()?;
            from.scope.times *= self.many_rows(table);
            self.add_table(&mut from, table, Join::Inner);
        }
        from.scope.subqueries = self.sizes.subqueries;
        Some(from)
    }

    /// `SELECT * FROM t WHERE c`.
    pub(super) fn plain(&mut self, table: usize) -> Query {
        // The same condition may stand in a statement that writes the table.
        self.avoid = (!self.dialect.update_reads_target).then_some(table);
        let name = self.schema.tables[table].name.clone();
        let scope = self.scope_of_table(table, &name);
        let condition = self.condition_on(table, &scope);
        self.avoid = None;
        plain_query(table, condition)
    }

    /// What stands behind FROM, with the columns of the queries around.
    pub(super) fn from(&mut self, outer: &Scope, named: &[Named]) -> Option<FromClause> {
        let mut from = FromClause { sources: Vec::new(), scope: outer.clone(), tables: Vec::new() };
        let [one_more, two_more] = self.weights.joins;
        let many = 1 + usize::from(self.percent(one_more)) + usize::from(self.percent(two_more));
        for at in 0..many {
            let join = match self.below(10) {
                0..5 => Join::Inner,
                5..9 => Join::Left,
                _ => Join::Cross,
            };
            let derived = outer.subqueries > 0 && self.percent(self.weights.derived);
            let (relation, types, rows) =
                match named.first().filter(|_| at == 0 || self.percent(20)) {
                    Some(named) => {
                        (Relation::Common(named.name.clone()), named.types.clone(), named.rows)
                    }
                    None if derived => {
                        let (query, types, rows) = self.derived(outer)?;
                        (Relation::Derived(Box::new(query)), types, rows)
                    }
                    None => {
                        let table = self.readable_table()?;
                        (Relation::Table(table), Vec::new(), self.many_rows(table))
                    }
                };
            let times = from.scope.times.saturating_mul(rows);
            if at > 0 && times > self.sizes.combinations {
                break;
            }
            from.scope.times = times;
            match relation {
                Relation::Table(table) => self.add_table(&mut from, table, join),
                other => self.add_source(&mut from, other, &types, join),
            }
        }
        if from.scope.times > self.sizes.combinations {
            from.scope.subqueries = 0;
        }
        Some(from)
    }

    fn add_table(&mut self, from: &mut FromClause, table: usize, join: Join) {
        let alias = self.alias('a');
        let columns = self.visible(table, Some(&alias));
        let key = columns.first().map(|key| key.column.clone());
        from.tables.push(table);
        self.add(from, (Relation::Table(table), alias), columns, join);
        from.scope.identity.extend(key);
    }

    fn add_source(
        &mut self,
        from: &mut FromClause,
        relation: Relation,
        types: &[ValueType],
        join: Join,
    ) {
        let alias = self.alias('a');
        let columns: Vec<Visible> = types
            .iter()
            .enumerate()
            .map(|(at, holds)| Visible {
                column: column(Some(&alias), &format!("x{at}"), *holds),
                origin: None,
                outer: false,
            })
            .collect();
        let identity: Vec<Expression> = columns.iter().map(|own| own.column.clone()).collect();
        self.add(from, (relation, alias), columns, join);
        from.scope.identity.extend(identity);
    }

    fn add(
        &mut self,
        from: &mut FromClause,
        (relation, alias): (Relation, String),
        columns: Vec<Visible>,
        join: Join,
    ) {
        let first = from.sources.is_empty();
        let on =
            (!first && join != Join::Cross).then(|| self.join_condition(&from.scope, &columns));
        from.scope.columns.extend(columns);
        from.sources.push(Source { join, relation, alias: Some(alias), on });
    }

    /// Which rows belong together: those with one value in columns of one type, mostly.
    fn join_condition(&mut self, before: &Scope, columns: &[Visible]) -> Expression {
        let local = before.local();
        let new = self.one(columns).cloned();
        let old = new.as_ref().and_then(|new| {
            let same = local.of_type(new.holds());
            self.one(&same).map(|old| (*old).clone())
        });
        let both =
            Scope { columns: [local.columns, columns.to_vec()].concat(), ..Scope::default() };
        match (new, old) {
            (Some(new), Some(old)) => {
                let how = if self.percent(80) { Comparison::Equal } else { Comparison::Unequal };
                let equal = Expression::Compare(how, Box::new(old.column), Box::new(new.column));
                match self.percent(20) {
                    true => Expression::And(vec![equal, self.condition(&both, 1)]),
                    false => equal,
                }
            }
            _ => self.condition(&both, 1),
        }
    }

    /// Rows of FROM, with a value for each column that is returned.
    pub(super) fn rows_of(&mut self, from: FromClause, values: Vec<Expression>) -> Select {
        let condition = self.where_clause(&from);
        Select { items: items(values), from: from.sources, condition, ..Select::default() }
    }

    /// Which rows: mostly one that other transactions touch is among them; in a query inside, mostly those that go with a
    /// row of the query around.
    pub(super) fn where_clause(&mut self, from: &FromClause) -> Option<Expression> {
        let depth = self.sizes.depth.min(1 + from.scope.subqueries);
        let mut all = Vec::new();
        if let Some(correlated) = self.correlated(&from.scope) {
            all.push(correlated);
        }
        let met = self.focus.iter().filter(|(table, _)| from.tables.contains(table)).copied();
        let met: Vec<_> = met.collect();
        match self.one(&met).copied() {
            Some(row) if self.percent(self.weights.focus / 2) => {
                all.push(self.condition_of(row, &from.scope));
            }
            _ if self.percent(75) => all.push(self.condition(&from.scope, depth)),
            _ => {}
        }
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Expression::And(all)),
        }
    }

    fn correlated(&mut self, scope: &Scope) -> Option<Expression> {
        let outer: Vec<&Visible> = scope.columns.iter().filter(|column| column.outer).collect();
        if !self.percent(50) {
            return None;
        }
        let outer = (*self.one(&outer)?).clone();
        let same = scope.of_type(outer.holds());
        let same: Vec<&Visible> = same.into_iter().filter(|column| !column.outer).collect();
        let own = self.one(&same)?.column.clone();
        let how = if self.percent(80) { Comparison::Equal } else { Comparison::Unequal };
        Some(Expression::Compare(how, Box::new(own), Box::new(outer.column)))
    }
}

/// Values as columns.
pub(super) fn items(values: Vec<Expression>) -> Vec<Item> {
    let named = values.into_iter().enumerate();
    named.map(|(at, expression)| Item { expression, name: format!("x{at}") }).collect()
}

/// `SELECT * FROM t WHERE c`.
pub(super) fn plain_query(table: usize, condition: Option<Expression>) -> Query {
    let relation = Relation::Table(table);
    let source = Source { join: Join::Inner, relation, alias: None, on: None };
    let first = Select { from: vec![source], condition, ..Select::default() };
    Query { first, ..Query::default() }
}

fn has_top_aggregates(select: &Select) -> bool {
    select.items.iter().any(|item| {
        matches!(item.expression, Expression::Aggregate(Aggregate::Average | Aggregate::Joined, _))
    })
}
