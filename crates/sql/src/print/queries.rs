//! What a query is made of.

use super::pieces::{Piece, list};
use crate::dialect::Dialect;
use crate::schema::Schema;
use crate::tree::{Join, Lock, Patience, Query, Relation, Select, SetOperator, Source};

/// The pieces of a query.
pub(super) fn parts<'t>(dialect: &Dialect, query: &'t Query) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    for (at, common) in query.with.iter().enumerate() {
        let before = if at == 0 { "WITH " } else { ", " };
        pieces.push(format!("{before}{} AS (", common.name).into());
        pieces.push(Piece::Query(&common.query));
        pieces.push(")".into());
    }
    if !query.with.is_empty() {
        pieces.push(" ".into());
    }
    pieces.push(Piece::Select(&query.first));
    for (operator, select) in &query.more {
        pieces.push(set_operator(*operator).into());
        pieces.push(Piece::Select(select));
    }
    if query.ordered {
        let places: Vec<String> = (1..=query.first.items.len()).map(|n| n.to_string()).collect();
        pieces.push(format!(" ORDER BY {}", places.join(", ")).into());
    }
    match query.limit {
        Some((rows, 0)) => pieces.push(format!(" LIMIT {rows}").into()),
        Some((rows, after)) => pieces.push(format!(" LIMIT {rows} OFFSET {after}").into()),
        None => {}
    }
    if let (Some((lock, patience)), Some([share, update])) = (query.lock, dialect.locks) {
        let lock = match lock {
            Lock::Share => share,
            Lock::Update => update,
        };
        let patience = match patience {
            Patience::Wait => "",
            Patience::Skip => " SKIP LOCKED",
            Patience::Fail => " NOWAIT",
        };
        pieces.push(format!(" {lock}{patience}").into());
    }
    pieces
}

/// The pieces of a query without parts.
pub(super) fn select_parts<'t>(schema: &Schema, select: &'t Select) -> Vec<Piece<'t>> {
    let mut pieces = vec![if select.distinct { "SELECT DISTINCT " } else { "SELECT " }.into()];
    if select.items.is_empty() {
        pieces.push("*".into());
    }
    for (at, item) in select.items.iter().enumerate() {
        if at > 0 {
            pieces.push(", ".into());
        }
        pieces.extend([(&item.expression).into(), format!(" AS {}", item.name).into()]);
    }
    for (at, source) in select.from.iter().enumerate() {
        pieces.extend(source_parts(schema, source, at == 0));
    }
    if let Some(condition) = &select.condition {
        pieces.extend([" WHERE ".into(), condition.into()]);
    }
    if !select.group.is_empty() {
        pieces.push(" GROUP BY ".into());
        pieces.extend(list(&select.group));
    }
    if let Some(condition) = &select.having {
        pieces.extend([" HAVING ".into(), condition.into()]);
    }
    pieces
}

fn source_parts<'t>(schema: &Schema, source: &'t Source, first: bool) -> Vec<Piece<'t>> {
    let before = match source.join {
        _ if first => " FROM ",
        Join::Inner => " INNER JOIN ",
        Join::Left => " LEFT JOIN ",
        Join::Cross => " CROSS JOIN ",
    };
    let mut pieces = vec![before.into()];
    match &source.relation {
        Relation::Table(table) => pieces.push(schema.tables[*table].name.clone().into()),
        Relation::Common(name) => pieces.push(name.clone().into()),
        Relation::Derived(query) => {
            pieces.extend(["(".into(), Piece::Query(query), ")".into()]);
        }
    }
    if let Some(alias) = &source.alias {
        pieces.push(format!(" AS {alias}").into());
    }
    if let Some(on) = &source.on {
        pieces.extend([" ON ".into(), on.into()]);
    }
    pieces
}

fn set_operator(operator: SetOperator) -> &'static str {
    match operator {
        SetOperator::Union => " UNION ",
        SetOperator::UnionAll => " UNION ALL ",
        SetOperator::Intersect => " INTERSECT ",
        SetOperator::Except => " EXCEPT ",
    }
}
