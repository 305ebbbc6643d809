//! Values of SQLite, typed. SQLite gives a type to each value, and columns only say which one they would like; so a value
//! is what SQLite says, unless its column was declared as something for which SQLite has no type:
//!
//! | declared | value | becomes |
//! |---|---|---|
//! | `BOOL...` | 0, 1 | a boolean |
//! | `DEC...`, `NUMERIC...` | an integer that a binary float holds exactly | a float |
//! | `DATE` | a text | a day |
//! | `TIME` | a text | a time |
//! | `DATETIME...`, `TIMESTAMP...` | a text | a day and a time |
//! | `JSON`, `UUID` | a text | JSON, a unique identifier |
//!
//! There are no exact decimals: such a column holds binary floats, of which whole ones are stored as integers. Two sums that
//! differ by a rounding would else be of two types.

use std::borrow::Cow;

use rusqlite::types::ValueRef;

use crate::rows::{Column, ColumnKind, Datum};

/// Beginnings of declared types, in lower case; the first that fits counts.
const KINDS: [(&str, ColumnKind); 19] = [
    ("bool", ColumnKind::Boolean),
    ("dec", ColumnKind::Float),
    ("numeric", ColumnKind::Float),
    ("datetime", ColumnKind::Timestamp),
    ("date", ColumnKind::Date),
    ("timestamp", ColumnKind::Timestamp),
    ("time", ColumnKind::Time),
    ("json", ColumnKind::Json),
    ("uuid", ColumnKind::Uuid),
    ("blob", ColumnKind::Bytes),
    ("real", ColumnKind::Float),
    ("float", ColumnKind::Float),
    ("double", ColumnKind::Float),
    ("text", ColumnKind::Text),
    ("char", ColumnKind::Text),
    ("varchar", ColumnKind::Text),
    ("clob", ColumnKind::Text),
    ("int", ColumnKind::Integer),
    ("bigint", ColumnKind::Integer),
];

/// Integers up to here are binary floats, too.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// What values of a declared type are.
pub(super) fn kind(declared: Option<&str>) -> ColumnKind {
    let declared = declared.unwrap_or_default().trim_start().to_ascii_lowercase();
    let found = KINDS.iter().find(|(beginning, _)| declared.starts_with(beginning));
    found.map_or(ColumnKind::Other, |(_, kind)| *kind)
}

/// A column of a result. What was not declared, a computed one, is what its first value is.
pub(super) fn column<'v>(
    name: &str,
    declared: Option<&str>,
    mut values: impl Iterator<Item = &'v Datum>,
) -> Column {
    let kind = match declared {
        Some(_) => kind(declared),
        None => values.find_map(Datum::kind).unwrap_or(ColumnKind::Other),
    };
    let server_type = declared.unwrap_or_default().to_ascii_lowercase();
    Column { name: name.to_owned(), kind, server_type: Cow::Owned(server_type) }
}

/// A value in a column that was declared so.
pub(super) fn datum(kind: ColumnKind, value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(number) => integer(kind, number),
        ValueRef::Real(number) => Datum::Float(number),
        ValueRef::Text(text) => {
            let text = String::from_utf8_lossy(text).into_owned();
            match kind {
                ColumnKind::Date => Datum::Date(text),
                ColumnKind::Time => Datum::Time(text),
                ColumnKind::Timestamp => Datum::Timestamp(text),
                ColumnKind::Json => Datum::Json(text),
                ColumnKind::Uuid => Datum::Uuid(text),
                _ => Datum::Text(text),
            }
        }
        ValueRef::Blob(bytes) => Datum::Bytes(bytes.to_vec()),
    }
}

fn integer(kind: ColumnKind, number: i64) -> Datum {
    match kind {
        ColumnKind::Boolean if number == 0 || number == 1 => Datum::Boolean(number == 1),
        #[allow(clippy::cast_precision_loss, reason = "there is none up to here")]
        ColumnKind::Float if number.unsigned_abs() <= EXACT => Datum::Float(number as f64),
        _ => Datum::Integer(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_count_by_their_beginnings() {
        for (declared, expected) in [
            ("BOOLEAN", ColumnKind::Boolean),
            ("decimal(8, 2)", ColumnKind::Float),
            ("DATE", ColumnKind::Date),
            ("DATETIME", ColumnKind::Timestamp),
            ("timestamp", ColumnKind::Timestamp),
            ("TIME", ColumnKind::Time),
            ("varchar(9)", ColumnKind::Text),
            ("integer", ColumnKind::Integer),
            ("shape", ColumnKind::Other),
        ] {
            assert_eq!(kind(Some(declared)), expected, "{declared}");
        }
        assert_eq!(kind(None), ColumnKind::Other);
    }

    #[test]
    fn what_is_not_as_it_was_declared_stays_what_it_is() {
        let of = |kind, value: i64| datum(kind, ValueRef::Integer(value));
        assert_eq!(of(ColumnKind::Boolean, 1), Datum::Boolean(true));
        assert_eq!(of(ColumnKind::Boolean, 2), Datum::Integer(2));
        assert_eq!(of(ColumnKind::Date, 20_260_228), Datum::Integer(20_260_228));
        assert_eq!(of(ColumnKind::Float, 1), Datum::Float(1.0));
        assert_eq!(of(ColumnKind::Float, i64::MAX), Datum::Integer(i64::MAX.into()));
        let text = datum(ColumnKind::Integer, ValueRef::Text(b"x"));
        assert_eq!(text, Datum::Text("x".to_owned()));
    }
}
