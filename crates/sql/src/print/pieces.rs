//! What a text is made of on its way.

use std::borrow::Cow;

use crate::tree::{Expression, Query, Select};

/// A piece of a text.
pub(super) enum Piece<'t> {
    Text(Cow<'static, str>),
    Expression(&'t Expression),
    Query(&'t Query),
    Select(&'t Select),
}

impl From<&'static str> for Piece<'_> {
    fn from(text: &'static str) -> Self {
        Piece::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Piece<'_> {
    fn from(text: String) -> Self {
        Piece::Text(Cow::Owned(text))
    }
}

impl<'t> From<&'t Expression> for Piece<'t> {
    fn from(expression: &'t Expression) -> Self {
        Piece::Expression(expression)
    }
}

/// Expressions with a separator between two.
pub(super) fn separated<'t>(all: &'t [Expression], separator: &'static str) -> Vec<Piece<'t>> {
    let mut pieces = Vec::with_capacity(2 * all.len());
    for (at, expression) in all.iter().enumerate() {
        if at > 0 {
            pieces.push(separator.into());
        }
        pieces.push(expression.into());
    }
    pieces
}

/// Expressions with commas.
pub(super) fn list(all: &[Expression]) -> Vec<Piece<'_>> {
    separated(all, ", ")
}
