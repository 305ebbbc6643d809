//! Whether two results are the same.

use isolde_target::{Datum, Said};

use crate::observation::Row;

/// Two binary floating-point numbers are the same if they differ by no more than this part of the larger one: their sum
/// depends on the order.
const TOLERANCE: f64 = 1e-9;

/// Whether two answers to one statement are the same. Rows come in any order, unless the statement gives them one.
pub fn same_answer(one: &Said, other: &Said, ordered: bool) -> bool {
    match (one, other) {
        (Said::Rows(one), Said::Rows(other)) => same_rows(&one.rows, &other.rows, ordered),
        _ => one == other,
    }
}

/// Whether rows are the same, as a bag or in their order.
pub fn same_rows(one: &[Row], other: &[Row], ordered: bool) -> bool {
    if one.len() != other.len() {
        return false;
    }
    if ordered {
        return one.iter().zip(other).all(|(a, b)| same_row(a, b));
    }
    let (one, other) = (sorted(one), sorted(other));
    if one.iter().zip(&other).all(|(a, b)| same_row(a, b)) {
        return true;
    }
    // Numbers that differ by a rounding may have been sorted to different places.
    let mut left = other;
    one.iter().all(|row| {
        let place = left.iter().position(|other| same_row(row, other));
        place.map(|place| left.remove(place)).is_some()
    })
}

/// Rows in an order that depends on nothing but themselves.
fn sorted(rows: &[Row]) -> Vec<&Row> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_cached_key(|row| row.iter().map(|d| format!("{d:?}")).collect::<Vec<_>>());
    rows
}

fn same_row(one: &Row, other: &Row) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same_datum(a, b))
}

fn same_datum(one: &Datum, other: &Datum) -> bool {
    match (one, other) {
        (Datum::Float(a), Datum::Float(b)) => {
            one == other || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_bags_and_only_floats_are_nearly_equal() {
        let row = |a: i128, b: f64| vec![Datum::Integer(a), Datum::Float(b)];
        let (one, other) = ([row(1, 0.3), row(2, 0.5)], [row(2, 0.5), row(1, 0.1 + 0.2)]);
        assert!(same_rows(&one, &other, false));
        assert!(!same_rows(&one, &other, true));
        assert!(!same_rows(&one, &one[..1], false));
        assert!(!same_rows(&[row(1, 1.0), row(1, 1.0)], &[row(1, 1.0), row(2, 1.0)], false));
        let decimal = |text: &str| vec![Datum::Decimal(text.to_owned())];
        assert!(!same_rows(&[decimal("1.0")], &[decimal("1.00")], false));
    }
}
