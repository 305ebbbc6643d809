//! The types of PostgreSQL, and values as it writes them.

use std::borrow::Cow;

use crate::rows::{ColumnKind, Datum};

/// The built-in types: their numbers never change.
const TYPES: [(u32, &str, ColumnKind); 28] = [
    (16, "boolean", ColumnKind::Boolean),
    (17, "bytea", ColumnKind::Bytes),
    (18, "\"char\"", ColumnKind::Text),
    (19, "name", ColumnKind::Text),
    (20, "bigint", ColumnKind::Integer),
    (21, "smallint", ColumnKind::Integer),
    (23, "integer", ColumnKind::Integer),
    (25, "text", ColumnKind::Text),
    (26, "oid", ColumnKind::Integer),
    (114, "json", ColumnKind::Json),
    (142, "xml", ColumnKind::Text),
    (700, "real", ColumnKind::Float),
    (701, "double precision", ColumnKind::Float),
    (705, "unknown", ColumnKind::Text),
    (790, "money", ColumnKind::Other),
    (1042, "character", ColumnKind::Text),
    (1043, "character varying", ColumnKind::Text),
    (1082, "date", ColumnKind::Date),
    (1083, "time", ColumnKind::Time),
    (1114, "timestamp", ColumnKind::Timestamp),
    (1184, "timestamp with time zone", ColumnKind::Timestamp),
    (1186, "interval", ColumnKind::Interval),
    (1266, "time with time zone", ColumnKind::Time),
    (1560, "bit", ColumnKind::Bits),
    (1562, "bit varying", ColumnKind::Bits),
    (1700, "numeric", ColumnKind::Decimal),
    (2950, "uuid", ColumnKind::Uuid),
    (3802, "jsonb", ColumnKind::Json),
];

/// What a type is, and what it is called. Types that users make have numbers that say nothing.
pub(super) fn kind(oid: u32) -> (ColumnKind, Cow<'static, str>) {
    match TYPES.iter().find(|(own, _, _)| *own == oid) {
        Some((_, name, kind)) => (*kind, Cow::Borrowed(name)),
        None => (ColumnKind::Other, Cow::Owned(format!("oid {oid}"))),
    }
}

/// A value as it is written.
pub(super) fn datum(kind: ColumnKind, written: &[u8]) -> Datum {
    let text = String::from_utf8_lossy(written);
    let bytes = (kind == ColumnKind::Bytes).then(|| text.strip_prefix("\\x").and_then(unhex));
    match bytes.flatten() {
        Some(bytes) => Datum::Bytes(bytes),
        None => Datum::parsed(kind, &text),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(pairs.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_hexadecimal() {
        assert_eq!(datum(ColumnKind::Bytes, b"\\x00ff"), Datum::Bytes(vec![0, 255]));
        assert_eq!(datum(ColumnKind::Bytes, b"\\x"), Datum::Bytes(Vec::new()));
        // As an old server writes them.
        assert_eq!(datum(ColumnKind::Bytes, b"\\xf"), Datum::Bytes(b"\\xf".to_vec()));
    }

    #[test]
    fn a_type_of_a_user_is_named_by_its_number() {
        assert_eq!(kind(16999), (ColumnKind::Other, Cow::Borrowed("oid 16999")));
        assert_eq!(kind(1700).0, ColumnKind::Decimal);
    }
}
