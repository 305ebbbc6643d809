//! What a query brought: columns with names and types, and a value in each cell.

use std::borrow::Cow;

/// The rows of a query.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResultSet {
    /// Its columns, from left to right.
    pub columns: Vec<Column>,
    /// Its rows, each with a value for each column.
    pub rows: Vec<Vec<Datum>>,
}

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name. Two columns may have the same.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// The type as the server calls it.
    pub server_type: Cow<'static, str>,
}

impl Column {
    /// A column of integers, whatever the server calls them.
    pub fn integers(name: &str) -> Column {
        let server_type = Cow::Borrowed("integer");
        Column { name: name.to_owned(), kind: ColumnKind::Integer, server_type }
    }
}

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ColumnKind {
    /// True or false.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Exact numbers with digits after the point.
    Decimal,
    /// Binary floating point.
    Float,
    /// Characters.
    Text,
    /// Bytes.
    Bytes,
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A day and a time.
    Timestamp,
    /// A span of time.
    Interval,
    /// A universally unique identifier.
    Uuid,
    /// JSON.
    Json,
    /// A string of bits.
    Bits,
    /// Anything else: arrays, ranges, enumerations, shapes.
    Other,
}

/// One value of a row.
#[derive(Clone, Debug)]
pub enum Datum {
    /// NULL, of any type.
    Null,
    /// True or false.
    Boolean(bool),
    /// An integer, signed or not.
    Integer(i128),
    /// An exact number, as the server writes it: 1.0 and 1.00 are two texts.
    Decimal(String),
    /// A floating-point number. All that are not a number are equal.
    Float(f64),
    /// Characters.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A day, as the server writes it.
    Date(String),
    /// A time of day, as the server writes it.
    Time(String),
    /// A day and a time, as the server writes it.
    Timestamp(String),
    /// A span of time, as the server writes it.
    Interval(String),
    /// A universally unique identifier.
    Uuid(String),
    /// JSON, as the server writes it.
    Json(String),
    /// Bits, as ones and zeros.
    Bits(String),
    /// Anything else, as the server writes it.
    Other(String),
}

impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Null, Datum::Null) => true,
            (Datum::Boolean(a), Datum::Boolean(b)) => a == b,
            (Datum::Integer(a), Datum::Integer(b)) => a == b,
            (Datum::Float(a), Datum::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Datum::Bytes(a), Datum::Bytes(b)) => a == b,
            _ => {
                self.kind() == other.kind() && self.kind().is_some() && self.text() == other.text()
            }
        }
    }
}

impl Datum {
    /// The value of a kind that a server wrote as text. What is not written as its kind is written is
    /// [`Datum::Other`]: nothing is lost, and nothing is guessed.
    pub fn parsed(kind: ColumnKind, text: &str) -> Datum {
        let own = || text.to_owned();
        let parsed = match kind {
            ColumnKind::Boolean => match text {
                "t" | "true" | "1" => Some(Datum::Boolean(true)),
                "f" | "false" | "0" => Some(Datum::Boolean(false)),
                _ => None,
            },
            ColumnKind::Integer => text.parse().ok().map(Datum::Integer),
            ColumnKind::Float => text.parse().ok().map(Datum::Float),
            ColumnKind::Decimal => Some(Datum::Decimal(own())),
            ColumnKind::Text => Some(Datum::Text(own())),
            ColumnKind::Bytes => Some(Datum::Bytes(text.as_bytes().to_vec())),
            ColumnKind::Date => Some(Datum::Date(own())),
            ColumnKind::Time => Some(Datum::Time(own())),
            ColumnKind::Timestamp => Some(Datum::Timestamp(own())),
            ColumnKind::Interval => Some(Datum::Interval(own())),
            ColumnKind::Uuid => Some(Datum::Uuid(own())),
            ColumnKind::Json => Some(Datum::Json(own())),
            ColumnKind::Bits => Some(Datum::Bits(own())),
            ColumnKind::Other => None,
        };
        parsed.unwrap_or_else(|| Datum::Other(own()))
    }

    /// What it is; nothing of NULL.
    pub fn kind(&self) -> Option<ColumnKind> {
        Some(match self {
            Datum::Null => return None,
            Datum::Boolean(_) => ColumnKind::Boolean,
            Datum::Integer(_) => ColumnKind::Integer,
            Datum::Decimal(_) => ColumnKind::Decimal,
            Datum::Float(_) => ColumnKind::Float,
            Datum::Text(_) => ColumnKind::Text,
            Datum::Bytes(_) => ColumnKind::Bytes,
            Datum::Date(_) => ColumnKind::Date,
            Datum::Time(_) => ColumnKind::Time,
            Datum::Timestamp(_) => ColumnKind::Timestamp,
            Datum::Interval(_) => ColumnKind::Interval,
            Datum::Uuid(_) => ColumnKind::Uuid,
            Datum::Json(_) => ColumnKind::Json,
            Datum::Bits(_) => ColumnKind::Bits,
            Datum::Other(_) => ColumnKind::Other,
        })
    }

    /// As a server writes it; bytes in hexadecimal.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Datum::Null => Cow::Borrowed("NULL"),
            Datum::Boolean(true) => Cow::Borrowed("t"),
            Datum::Boolean(false) => Cow::Borrowed("f"),
            Datum::Integer(number) => Cow::Owned(number.to_string()),
            Datum::Float(number) => Cow::Owned(number.to_string()),
            Datum::Bytes(bytes) => Cow::Owned(hexadecimal(bytes)),
            Datum::Decimal(text)
            | Datum::Text(text)
            | Datum::Date(text)
            | Datum::Time(text)
            | Datum::Timestamp(text)
            | Datum::Interval(text)
            | Datum::Uuid(text)
            | Datum::Json(text)
            | Datum::Bits(text)
            | Datum::Other(text) => Cow::Borrowed(text),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_what_they_are_or_stay_as_they_are() {
        let parsed = Datum::parsed;
        assert_eq!(parsed(ColumnKind::Integer, "-7"), Datum::Integer(-7));
        assert_eq!(
            parsed(ColumnKind::Integer, "18446744073709551615").text(),
            "18446744073709551615"
        );
        assert_eq!(parsed(ColumnKind::Boolean, "t"), Datum::Boolean(true));
        assert_eq!(parsed(ColumnKind::Boolean, "perhaps"), Datum::Other("perhaps".to_owned()));
        assert_eq!(parsed(ColumnKind::Float, "NaN"), Datum::Float(f64::NAN));
        assert_eq!(parsed(ColumnKind::Float, "-Infinity"), Datum::Float(f64::NEG_INFINITY));
        assert_ne!(parsed(ColumnKind::Decimal, "1.0"), parsed(ColumnKind::Decimal, "1.00"));
    }

    #[test]
    fn values_of_two_types_are_not_the_same() {
        assert_ne!(Datum::Text("1".to_owned()), Datum::Integer(1));
        assert_ne!(Datum::Date("x".to_owned()), Datum::Text("x".to_owned()));
        assert_eq!(Datum::Json("{}".to_owned()), Datum::Json("{}".to_owned()));
        assert_eq!(Datum::Null, Datum::Null);
        assert_ne!(Datum::Null, Datum::Text("NULL".to_owned()));
        assert_eq!(Datum::Bytes(vec![0, 255]).text(), "00ff");
    }
}
