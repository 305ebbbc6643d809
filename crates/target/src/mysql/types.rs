//! The types of MariaDB and its relatives, and values as they write them.

use std::borrow::Cow;

use mysql::Value;
use mysql::consts::{ColumnFlags, ColumnType};

use crate::rows::{Column, ColumnKind, Datum};

/// The character set that stands for bytes.
const BINARY: u16 = 63;

/// A column of an answer.
pub(super) fn column(column: &mysql::Column) -> Column {
    let binary = column.character_set() == BINARY;
    let (kind, name) = kind(column.column_type(), binary);
    let unsigned = column.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    let server_type = match (kind, unsigned) {
        (ColumnKind::Integer, true) => Cow::Owned(format!("{name} unsigned")),
        _ => Cow::Borrowed(name),
    };
    Column { name: column.name_str().into_owned(), kind, server_type }
}

/// What a type is, and what it is called. Texts and bytes have the same types and differ by their
/// character set.
fn kind(of: ColumnType, binary: bool) -> (ColumnKind, &'static str) {
    let text = |text: &'static str, bytes: &'static str| match binary {
        true => (ColumnKind::Bytes, bytes),
        false => (ColumnKind::Text, text),
    };
    match of {
        ColumnType::MYSQL_TYPE_TINY => (ColumnKind::Integer, "tinyint"),
        ColumnType::MYSQL_TYPE_SHORT => (ColumnKind::Integer, "smallint"),
        ColumnType::MYSQL_TYPE_INT24 => (ColumnKind::Integer, "mediumint"),
        ColumnType::MYSQL_TYPE_LONG => (ColumnKind::Integer, "int"),
        ColumnType::MYSQL_TYPE_LONGLONG => (ColumnKind::Integer, "bigint"),
        ColumnType::MYSQL_TYPE_YEAR => (ColumnKind::Integer, "year"),
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
            (ColumnKind::Decimal, "decimal")
        }
        ColumnType::MYSQL_TYPE_FLOAT => (ColumnKind::Float, "float"),
        ColumnType::MYSQL_TYPE_DOUBLE => (ColumnKind::Float, "double"),
        ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => (ColumnKind::Date, "date"),
        ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => (ColumnKind::Time, "time"),
        ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2 => {
            (ColumnKind::Timestamp, "timestamp")
        }
        ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_DATETIME2 => {
            (ColumnKind::Timestamp, "datetime")
        }
        ColumnType::MYSQL_TYPE_BIT => (ColumnKind::Bits, "bit"),
        ColumnType::MYSQL_TYPE_JSON => (ColumnKind::Json, "json"),
        ColumnType::MYSQL_TYPE_ENUM => (ColumnKind::Text, "enum"),
        ColumnType::MYSQL_TYPE_SET => (ColumnKind::Text, "set"),
        ColumnType::MYSQL_TYPE_VARCHAR | ColumnType::MYSQL_TYPE_VAR_STRING => {
            text("varchar", "varbinary")
        }
        ColumnType::MYSQL_TYPE_STRING => text("char", "binary"),
        ColumnType::MYSQL_TYPE_TINY_BLOB
        | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
        | ColumnType::MYSQL_TYPE_LONG_BLOB
        | ColumnType::MYSQL_TYPE_BLOB => text("text", "blob"),
        ColumnType::MYSQL_TYPE_GEOMETRY => (ColumnKind::Bytes, "geometry"),
        _ => (ColumnKind::Other, "another type"),
    }
}

/// A value of such a column.
pub(super) fn datum(value: Value, kind: ColumnKind) -> Datum {
    match value {
        Value::NULL => Datum::Null,
        Value::Int(number) => Datum::Integer(number.into()),
        Value::UInt(number) => Datum::Integer(number.into()),
        Value::Float(number) => Datum::Float(number.into()),
        Value::Double(number) => Datum::Float(number),
        Value::Bytes(bytes) => match kind {
            ColumnKind::Bytes => Datum::Bytes(bytes),
            ColumnKind::Bits => {
                Datum::Bits(bytes.iter().map(|byte| format!("{byte:08b}")).collect())
            }
            _ => Datum::parsed(kind, &String::from_utf8_lossy(&bytes)),
        },
        other => Datum::Other(other.as_sql(true)),
    }
}
