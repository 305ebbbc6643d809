//! What an expression is made of. Whatever has operands stands in parentheses.

use super::pieces::{Piece, list, separated};
use crate::dialect::{Dialect, JoinedTexts};
use crate::tree::{
    Aggregate, Arithmetic, Comparison, Expression, Frame, Function, Literal, Quantifier, Ranking,
    ValueType,
};

/// The pieces of an expression.
pub(super) fn parts<'t>(dialect: &Dialect, expression: &'t Expression) -> Vec<Piece<'t>> {
    match expression {
        Expression::Column { of: Some(of), name, .. } => vec![format!("{of}.{name}").into()],
        Expression::Column { of: None, name, .. } => vec![name.clone().into()],
        Expression::Literal(literal) => vec![written(dialect, literal).into()],
        Expression::Arithmetic(how, left, right) => binary(left, arithmetic(dialect, *how), right),
        Expression::Concat(left, right) if dialect.concat_operator => binary(left, "||", right),
        Expression::Concat(left, right) => {
            vec!["CONCAT(".into(), (&**left).into(), ", ".into(), (&**right).into(), ")".into()]
        }
        Expression::Compare(how, left, right) => binary(left, comparison(dialect, *how), right),
        Expression::And(all) => wrapped("(", separated(all, " AND "), ")"),
        Expression::Or(all) => wrapped("(", separated(all, " OR "), ")"),
        Expression::Not(of) => vec!["(NOT ".into(), (&**of).into(), ")".into()],
        Expression::IsNull(of, yes) => after(of, if *yes { " IS NULL" } else { " IS NOT NULL" }),
        Expression::IsTrue(of, yes) => after(of, if *yes { " IS TRUE" } else { " IS NOT TRUE" }),
        Expression::Like(of, pattern, yes) => {
            let word = if *yes { "LIKE" } else { "NOT LIKE" };
            vec!["(".into(), (&**of).into(), format!(" {word} '{pattern}')").into()]
        }
        Expression::Between(of, ends, yes) => vec![
            "(".into(),
            (&**of).into(),
            if *yes { " BETWEEN " } else { " NOT BETWEEN " }.into(),
            (&ends[0]).into(),
            " AND ".into(),
            (&ends[1]).into(),
            ")".into(),
        ],
        Expression::Quantified(..)
        | Expression::InList(..)
        | Expression::InQuery(..)
        | Expression::Exists(..)
        | Expression::Scalar(_) => of_many(dialect, expression),
        Expression::Case(branches, otherwise) => case(branches, otherwise.as_deref()),
        Expression::Call(function, arguments) => {
            let name = format!("{}(", function_name(dialect, *function));
            wrapped(name, list(arguments), ")")
        }
        Expression::Aggregate(aggregate, arguments) => {
            cast_sum(dialect, *aggregate, called(dialect, *aggregate, arguments))
        }
        Expression::Over { aggregate, arguments, partition, frame } => {
            let mut pieces = called(dialect, *aggregate, arguments);
            pieces.extend(over(partition, frame.as_ref().map_or(&[], |(order, _)| order)));
            pieces.push(match frame {
                Some((_, Frame::Preceding(rows))) => {
                    format!(" ROWS BETWEEN {rows} PRECEDING AND CURRENT ROW)").into()
                }
                Some((_, Frame::UpToHere)) | None => ")".into(),
            });
            cast_sum(dialect, *aggregate, pieces)
        }
        Expression::Rank { function, argument, partition, order } => {
            let mut pieces = vec![format!("{}(", ranking(*function)).into()];
            pieces.extend(argument.as_deref().map(Piece::from));
            pieces.push(")".into());
            pieces.extend(over(partition, order));
            pieces.push(")".into());
            pieces
        }
    }
}

/// What compares a value with many.
fn of_many<'t>(dialect: &Dialect, expression: &'t Expression) -> Vec<Piece<'t>> {
    match expression {
        Expression::Quantified(how, quantifier, of, query) => {
            let word = match quantifier {
                Quantifier::Any => "ANY",
                Quantifier::All => "ALL",
            };
            let between = format!(" {} {word} (", comparison(dialect, *how));
            vec!["(".into(), (&**of).into(), between.into(), Piece::Query(query), "))".into()]
        }
        Expression::InList(of, values, yes) => {
            let mut pieces = vec!["(".into(), (&**of).into(), is_in(*yes).into()];
            pieces.extend(list(values));
            pieces.push("))".into());
            pieces
        }
        Expression::InQuery(of, query, yes) => {
            vec!["(".into(), (&**of).into(), is_in(*yes).into(), Piece::Query(query), "))".into()]
        }
        Expression::Exists(query, yes) => vec![
            if *yes { "(EXISTS (" } else { "(NOT EXISTS (" }.into(),
            Piece::Query(query),
            "))".into(),
        ],
        Expression::Scalar(query) => vec!["(".into(), Piece::Query(query), ")".into()],
        _ => Vec::new(),
    }
}

fn is_in(yes: bool) -> &'static str {
    if yes { " IN (" } else { " NOT IN (" }
}

fn binary<'t>(left: &'t Expression, word: &'static str, right: &'t Expression) -> Vec<Piece<'t>> {
    vec!["(".into(), left.into(), format!(" {word} ").into(), right.into(), ")".into()]
}

fn after<'t>(of: &'t Expression, words: &'static str) -> Vec<Piece<'t>> {
    vec!["(".into(), of.into(), words.into(), ")".into()]
}

fn wrapped<'t>(
    before: impl Into<Piece<'t>>,
    mut pieces: Vec<Piece<'t>>,
    behind: &'static str,
) -> Vec<Piece<'t>> {
    pieces.insert(0, before.into());
    pieces.push(behind.into());
    pieces
}

fn case<'t>(
    branches: &'t [(Expression, Expression)],
    otherwise: Option<&'t Expression>,
) -> Vec<Piece<'t>> {
    let mut pieces = vec!["(CASE".into()];
    for (condition, value) in branches {
        pieces.extend([" WHEN ".into(), condition.into(), " THEN ".into(), value.into()]);
    }
    if let Some(value) = otherwise {
        pieces.extend([" ELSE ".into(), value.into()]);
    }
    pieces.push(" END)".into());
    pieces
}

/// An aggregate and its arguments.
fn called<'t>(
    dialect: &Dialect,
    aggregate: Aggregate,
    arguments: &'t [Expression],
) -> Vec<Piece<'t>> {
    let before = match aggregate {
        Aggregate::CountRows => return vec!["COUNT(*)".into()],
        Aggregate::Joined => return joined(dialect, arguments),
        Aggregate::Count => "COUNT(",
        Aggregate::CountDistinct => "COUNT(DISTINCT ",
        Aggregate::Sum(_) => "SUM(",
        Aggregate::Min => "MIN(",
        Aggregate::Max => "MAX(",
        Aggregate::Average => "AVG(",
    };
    wrapped(before, list(arguments), ")")
}

fn joined<'t>(dialect: &Dialect, arguments: &'t [Expression]) -> Vec<Piece<'t>> {
    let Some((text, order)) = arguments.split_first() else { return Vec::new() };
    let (name, between, behind) = match dialect.joined {
        JoinedTexts::StringAgg => ("STRING_AGG(", ", ',' ORDER BY ", ")"),
        JoinedTexts::Separator => ("GROUP_CONCAT(", " ORDER BY ", " SEPARATOR ',')"),
        JoinedTexts::GroupConcat => ("GROUP_CONCAT(", ", ',' ORDER BY ", ")"),
    };
    let mut pieces = vec![name.into(), text.into(), between.into()];
    pieces.extend(list(order));
    pieces.push(behind.into());
    pieces
}

/// Sums of whole numbers are whole numbers.
fn cast_sum<'t>(dialect: &Dialect, aggregate: Aggregate, pieces: Vec<Piece<'t>>) -> Vec<Piece<'t>> {
    match dialect.sum_type {
        Some(name) if aggregate == Aggregate::Sum(ValueType::Integer) => {
            let mut pieces = wrapped("CAST(", pieces, " AS ");
            pieces.extend([name.into(), ")".into()]);
            pieces
        }
        _ => pieces,
    }
}

/// What stands behind a window function, without the last parenthesis.
fn over<'t>(partition: &'t [Expression], order: &'t [Expression]) -> Vec<Piece<'t>> {
    let mut pieces = vec![" OVER (".into()];
    if !partition.is_empty() {
        pieces.push("PARTITION BY ".into());
        pieces.extend(list(partition));
    }
    if !order.is_empty() {
        pieces.push(if partition.is_empty() { "ORDER BY " } else { " ORDER BY " }.into());
        pieces.extend(list(order));
    }
    pieces
}

fn written(dialect: &Dialect, literal: &Literal) -> String {
    match literal {
        Literal::Null(of) => match dialect.null_types {
            Some(types) => format!("CAST(NULL AS {})", types[*of as usize]),
            None => "NULL".into(),
        },
        // Two signs in a row would begin a comment.
        Literal::Integer(number) if *number < 0 => format!("({number})"),
        Literal::Integer(number) => number.to_string(),
        Literal::Quarters(quarters) => {
            let (whole, rest) = (quarters.unsigned_abs() / 4, quarters.unsigned_abs() % 4 * 25);
            match *quarters < 0 {
                true => format!("(-{whole}.{rest:02})"),
                false => format!("{whole}.{rest:02}"),
            }
        }
        Literal::Text(text) => format!("'{text}'"),
        Literal::Day(day) => {
            let (month, day) = (day / 28 % 12 + 1, day % 28 + 1);
            format!("{}'2024-{month:02}-{day:02}'", dialect.before_day)
        }
        Literal::Boolean(true) => "TRUE".into(),
        Literal::Boolean(false) => "FALSE".into(),
    }
}

fn arithmetic(dialect: &Dialect, how: Arithmetic) -> &'static str {
    match how {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => dialect.divide,
        Arithmetic::Modulo => "%",
    }
}

fn comparison(dialect: &Dialect, how: Comparison) -> &'static str {
    match how {
        Comparison::Equal => "=",
        Comparison::Unequal => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Same => dialect.same,
    }
}

fn function_name(dialect: &Dialect, function: Function) -> &'static str {
    match function {
        Function::Coalesce => "COALESCE",
        Function::NullIf => "NULLIF",
        Function::Abs => "ABS",
        Function::Length => "LENGTH",
        Function::Substr => "SUBSTR",
        Function::Replace => "REPLACE",
        Function::Greatest => dialect.extremes[0],
        Function::Least => dialect.extremes[1],
    }
}

fn ranking(function: Ranking) -> &'static str {
    match function {
        Ranking::RowNumber => "ROW_NUMBER",
        Ranking::Rank => "RANK",
        Ranking::DenseRank => "DENSE_RANK",
        Ranking::Lag => "LAG",
        Ranking::Lead => "LEAD",
        Ranking::FirstValue => "FIRST_VALUE",
        Ranking::LastValue => "LAST_VALUE",
    }
}
