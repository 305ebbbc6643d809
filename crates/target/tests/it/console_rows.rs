//! What a query brings on real servers: names and types of columns, and a value of every type.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_target::{ColumnKind, Datum, ResultSet, Said, Target};

use crate::common::{offer, server};

/// What the statements bring on a server, the last of them a query.
fn rows(target: &dyn Target, statements: &[&str]) -> ResultSet {
    let consoles = target.consoles().unwrap();
    let room = consoles.make_room().unwrap();
    let mut console = consoles.console(&offer(target, "read-committed"), &room).unwrap();
    let (query, before) = statements.split_last().unwrap();
    before.iter().for_each(|statement| drop(console.run(statement).unwrap()));
    let said = console.run(query).unwrap();
    consoles.remove_room(&room).unwrap();
    let Said::Rows(set) = said else { panic!("{said:?}") };
    assert!(set.rows.iter().all(|row| row.len() == set.columns.len()));
    set
}

/// Compares the one row of a result, column by column.
fn brings(set: &ResultSet, expected: &[(&str, ColumnKind, &str, Datum)]) {
    assert_eq!((set.columns.len(), set.rows.len()), (expected.len(), 1), "{set:#?}");
    let cells = set.columns.iter().zip(&set.rows[0]);
    for ((column, datum), (name, kind, server_type, value)) in cells.zip(expected) {
        let found = (column.name.as_str(), column.kind, &*column.server_type, datum);
        assert_eq!(found, (*name, *kind, *server_type, value));
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn postgres_brings_names_types_and_values_of_every_type() {
    let Some(target) = server("postgres") else { return };
    let query = "SELECT true AS yes, 7::smallint AS small, -9223372036854775808 AS big, 1.50 AS exact, \
                 'NaN'::float8 AS float, 0.25::real AS real, 'it''s'::text AS text, 'ab'::char(3) AS padded, \
                 '\\x00ff'::bytea AS bytes, date '2026-02-28' AS day, time '12:34:56.5' AS time, \
                 timestamp '2026-02-28 12:00:00' AS stamp, interval '1 day 2 hours' AS span, \
                 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS uuid, '{\"a\": 1}'::jsonb AS json, \
                 B'101' AS bits, ARRAY[1,2] AS list, NULL::int AS nothing, 1 AS nothing";
    use ColumnKind as K;
    brings(
        &rows(&*target, &[query]),
        &[
            ("yes", K::Boolean, "boolean", Datum::Boolean(true)),
            ("small", K::Integer, "smallint", Datum::Integer(7)),
            ("big", K::Integer, "bigint", Datum::Integer(i64::MIN.into())),
            ("exact", K::Decimal, "numeric", Datum::Decimal(text("1.50"))),
            ("float", K::Float, "double precision", Datum::Float(f64::NAN)),
            ("real", K::Float, "real", Datum::Float(0.25)),
            ("text", K::Text, "text", Datum::Text(text("it's"))),
            ("padded", K::Text, "character", Datum::Text(text("ab "))),
            ("bytes", K::Bytes, "bytea", Datum::Bytes(vec![0, 255])),
            ("day", K::Date, "date", Datum::Date(text("2026-02-28"))),
            ("time", K::Time, "time", Datum::Time(text("12:34:56.5"))),
            ("stamp", K::Timestamp, "timestamp", Datum::Timestamp(text("2026-02-28 12:00:00"))),
            ("span", K::Interval, "interval", Datum::Interval(text("1 day 02:00:00"))),
            ("uuid", K::Uuid, "uuid", Datum::Uuid(text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"))),
            ("json", K::Json, "jsonb", Datum::Json(text("{\"a\": 1}"))),
            ("bits", K::Bits, "bit", Datum::Bits(text("101"))),
            ("list", K::Other, "oid 1007", Datum::Other(text("{1,2}"))),
            ("nothing", K::Integer, "integer", Datum::Null),
            ("nothing", K::Integer, "integer", Datum::Integer(1)),
        ],
    );
    // No row is not no result.
    let none = rows(&*target, &["SELECT 1 AS one WHERE false"]);
    assert_eq!((none.columns[0].name.as_str(), none.rows.len()), ("one", 0));
}

#[test]
fn mariadb_brings_names_types_and_values_of_every_type() {
    let Some(target) = server("mariadb") else { return };
    let table = "CREATE TABLE t (small TINYINT, big BIGINT UNSIGNED, exact DECIMAL(5,2), real_ FLOAT, \
                 float_ DOUBLE, words VARCHAR(9), fixed CHAR(3), bytes VARBINARY(9), large BLOB, long_ TEXT, \
                 day DATE, time_ TIME, stamp DATETIME, bits BIT(3), choice ENUM('a','b'), year_ YEAR, \
                 nothing INT)";
    let row = "INSERT INTO t VALUES (-7, 18446744073709551615, 1.5, 0.25, 1e300, 'it''s', 'ab', \
               x'00ff', x'01', 'long', '2026-02-28', '12:34:56', '2026-02-28 12:00:00', b'101', 'b', \
               2026, NULL)";
    use ColumnKind as K;
    brings(
        &rows(&*target, &[table, row, "SELECT * FROM t"]),
        &[
            ("small", K::Integer, "tinyint", Datum::Integer(-7)),
            ("big", K::Integer, "bigint unsigned", Datum::Integer(u64::MAX.into())),
            ("exact", K::Decimal, "decimal", Datum::Decimal(text("1.50"))),
            ("real_", K::Float, "float", Datum::Float(0.25)),
            ("float_", K::Float, "double", Datum::Float(1e300)),
            ("words", K::Text, "varchar", Datum::Text(text("it's"))),
            ("fixed", K::Text, "char", Datum::Text(text("ab"))),
            ("bytes", K::Bytes, "varbinary", Datum::Bytes(vec![0, 255])),
            ("large", K::Bytes, "blob", Datum::Bytes(vec![1])),
            ("long_", K::Text, "text", Datum::Text(text("long"))),
            ("day", K::Date, "date", Datum::Date(text("2026-02-28"))),
            ("time_", K::Time, "time", Datum::Time(text("12:34:56"))),
            ("stamp", K::Timestamp, "datetime", Datum::Timestamp(text("2026-02-28 12:00:00"))),
            ("bits", K::Bits, "bit", Datum::Bits(text("00000101"))),
            ("choice", K::Text, "char", Datum::Text(text("b"))),
            ("year_", K::Integer, "year unsigned", Datum::Integer(2026)),
            ("nothing", K::Integer, "int", Datum::Null),
        ],
    );
}
