//! What is in a tree, found without recursion.

use super::nodes::{Expression, Query, Relation, Select};
use super::statement::Statement;

/// A part of a tree.
#[derive(Clone, Copy)]
enum TreePart<'t> {
    Expression(&'t Expression),
    Query(&'t Query),
    Select(&'t Select),
}

impl Statement {
    /// All tables that it looks at, in order, each once: in FROM, wherever it stands, and what UPDATE and DELETE write.
    pub fn looks_at(&self) -> Vec<usize> {
        self.walked().0
    }

    /// Whether it has queries inside.
    pub fn is_nested(&self) -> bool {
        self.walked().1
    }

    fn walked(&self) -> (Vec<usize>, bool) {
        let mut open = Vec::new();
        let mut tables = Vec::new();
        // The query that it is itself is not inside.
        let mut queries = 0;
        match self {
            Statement::Select(query) | Statement::InsertSelect { query, .. } => {
                open.push(TreePart::Query(query));
                queries -= 1;
            }
            Statement::InsertValues { rows, .. } => {
                open.extend(rows.iter().flatten().map(TreePart::Expression));
            }
            Statement::Update { table, set, condition, .. } => {
                tables.push(*table);
                open.extend(set.iter().map(|(_, value)| TreePart::Expression(value)));
                open.extend(condition.iter().map(TreePart::Expression));
            }
            Statement::Delete { table, condition } => {
                tables.push(*table);
                open.extend(condition.iter().map(TreePart::Expression));
            }
            Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::Release(_) => {}
        }
        while let Some(part) = open.pop() {
            match part {
                TreePart::Expression(expression) => below_expression(expression, &mut open),
                TreePart::Query(query) => {
                    queries += 1;
                    open.extend(query.with.iter().map(|common| TreePart::Query(&common.query)));
                    open.push(TreePart::Select(&query.first));
                    open.extend(query.more.iter().map(|(_, select)| TreePart::Select(select)));
                }
                TreePart::Select(select) => below_select(select, &mut open, &mut tables),
            }
        }
        tables.sort_unstable();
        tables.dedup();
        (tables, queries > 0)
    }
}

fn below_select<'t>(select: &'t Select, open: &mut Vec<TreePart<'t>>, tables: &mut Vec<usize>) {
    for source in &select.from {
        match &source.relation {
            Relation::Table(table) => tables.push(*table),
            Relation::Common(_) => {}
            Relation::Derived(query) => open.push(TreePart::Query(query)),
        }
    }
    let on = select.from.iter().filter_map(|source| source.on.as_ref());
    let items = select.items.iter().map(|item| &item.expression);
    let conditions = select.condition.iter().chain(&select.having);
    open.extend(items.chain(on).chain(conditions).chain(&select.group).map(TreePart::Expression));
}

fn below_expression<'t>(expression: &'t Expression, open: &mut Vec<TreePart<'t>>) {
    let mut add = |parts: &[&'t Expression]| {
        open.extend(parts.iter().map(|part| TreePart::Expression(part)));
    };
    match expression {
        Expression::Column { .. } | Expression::Literal(_) => {}
        Expression::Arithmetic(_, left, right)
        | Expression::Concat(left, right)
        | Expression::Compare(_, left, right) => add(&[left, right]),
        Expression::Not(of)
        | Expression::IsNull(of, _)
        | Expression::IsTrue(of, _)
        | Expression::Like(of, ..) => add(&[of]),
        Expression::Between(of, ends, _) => add(&[of, &ends[0], &ends[1]]),
        Expression::And(all)
        | Expression::Or(all)
        | Expression::Call(_, all)
        | Expression::Aggregate(_, all) => open.extend(all.iter().map(TreePart::Expression)),
        Expression::InList(of, list, _) => {
            add(&[of]);
            open.extend(list.iter().map(TreePart::Expression));
        }
        Expression::Quantified(_, _, of, query) | Expression::InQuery(of, query, _) => {
            add(&[of]);
            open.push(TreePart::Query(query));
        }
        Expression::Exists(query, _) | Expression::Scalar(query) => {
            open.push(TreePart::Query(query));
        }
        Expression::Case(branches, otherwise) => {
            branches.iter().for_each(|(condition, value)| add(&[condition, value]));
            open.extend(otherwise.iter().map(|value| TreePart::Expression(value)));
        }
        Expression::Over { arguments, partition, frame, .. } => {
            let order = frame.iter().flat_map(|(order, _)| order);
            let all = arguments.iter().chain(partition).chain(order);
            open.extend(all.map(TreePart::Expression));
        }
        Expression::Rank { argument, partition, order, .. } => {
            open.extend(argument.iter().map(|value| TreePart::Expression(value)));
            open.extend(partition.iter().chain(order).map(TreePart::Expression));
        }
    }
}
