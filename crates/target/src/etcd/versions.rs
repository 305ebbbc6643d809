//! All versions of the keys of a table: what a watch tells that begins when the first of them was made.
//!
//! etcd numbers every change of a key since the key was made. So the newest versions say how many there are in all, and
//! the watch is read until it has told so many.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::gateway::{Gateway, encode, integer, odd, text, until};
use super::session::numbers;
use crate::failure::{After, Failure};
use crate::row_versions::ListVersions;
use crate::shown::{RowVersions, TableVersions};
use crate::target::{Contents, Table};

/// Reads all versions of a table whose keys begin with that text. No session may write it any more.
pub(super) fn read(
    gateway: &mut Gateway,
    prefix: &str,
    table: &Table,
) -> Result<TableVersions, Failure> {
    let range = json!({"key": encode(prefix), "range_end": until(prefix), "keys_only": true});
    let newest = gateway.ask("/v3/kv/range", &range)?;
    let newest = newest.get("kvs").and_then(Value::as_array).map_or(&[] as &[Value], |all| all);
    let (mut first, mut left) = (i64::MAX, 0);
    for pair in newest {
        let number = |name: &str| integer(pair.get(name)).ok_or_else(|| odd("a range"));
        first = first.min(number("create_revision")?);
        left += number("version")?;
    }
    let mut rows = Rows { prefix, registers: BTreeMap::new(), lists: BTreeMap::new() };
    if left > 0 {
        // In pieces, if one message would be too long.
        let create = json!({"key": encode(prefix), "range_end": until(prefix), "fragment": true,
                            "start_revision": first.to_string()});
        gateway.watch(&json!({"create_request": create}), &mut |told| {
            left -= rows.add(told, table.contents)?;
            Ok(left > 0)
        })?;
    }
    Ok(rows.finish(table))
}

/// What was told so far of each row.
struct Rows<'p> {
    prefix: &'p str,
    registers: BTreeMap<u32, Vec<i64>>,
    lists: BTreeMap<u32, ListVersions>,
}

impl Rows<'_> {
    /// One message of the watch; how many versions it told.
    fn add(&mut self, told: &Value, contents: Contents) -> Result<i64, Failure> {
        let told = told.get("result").ok_or_else(|| odd("a watch"))?;
        if told.get("canceled").and_then(Value::as_bool) == Some(true) {
            let what = "etcd ended the watch: old versions were compacted away";
            return Err(Failure::new(After::Lost, "watch", what));
        }
        let events = told.get("events").and_then(Value::as_array);
        let mut count = 0;
        for event in events.into_iter().flatten() {
            let pair = event.get("kv").ok_or_else(|| odd("a watch"))?;
            let key = text(pair.get("key")).ok_or_else(|| odd("a watch"))?;
            let row = key.strip_prefix(self.prefix).and_then(|row| row.parse().ok());
            let row: u32 = row.ok_or_else(|| odd("a watch"))?;
            if event.get("type").is_some_and(|kind| kind != "PUT") {
                let what = "a key was deleted while it was read";
                return Err(Failure::new(After::Lost, "watch", what));
            }
            let value = text(pair.get("value")).ok_or_else(|| odd("a watch"))?;
            self.version(row, numbers(&value), contents)?;
            count += 1;
        }
        Ok(count)
    }

    fn version(
        &mut self,
        row: u32,
        value: Option<Vec<i64>>,
        contents: Contents,
    ) -> Result<(), Failure> {
        match (contents, value.as_deref()) {
            (Contents::Lists, _) => self.lists.entry(row).or_default().add(value),
            (Contents::Registers, Some([value])) => {
                self.registers.entry(row).or_default().push(*value);
            }
            (Contents::Registers, _) => return Err(odd("a watch")),
        }
        Ok(())
    }

    fn finish(self, table: &Table) -> TableVersions {
        let filled = if table.filled { table.rows } else { 0 };
        let registers = self.registers.into_iter();
        let registers = registers
            .map(|(row, values)| RowVersions::of_register(row, values, None, row < filled));
        let lists = self.lists.into_iter().map(|(row, list)| list.finish(row));
        let rows = registers.chain(lists).filter(|row| !row.values.is_empty()).collect();
        TableVersions { rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: &str, value: &str) -> Value {
        json!({"kv": {"key": encode(key), "value": encode(value), "mod_revision": "7"}})
    }

    fn add(rows: &mut Rows<'_>, events: &[Value], contents: Contents) -> Result<i64, Failure> {
        rows.add(&json!({"result": {"events": events}}), contents)
    }

    #[test]
    fn versions_are_told_in_the_order_of_revisions() {
        let rows = || Rows { prefix: "p/0/", registers: BTreeMap::new(), lists: BTreeMap::new() };
        let table = |contents| Table { number: 0, contents, rows: 10, filled: true };
        let mut registers = rows();
        let told = [event("p/0/3", "0"), event("p/0/4", "0"), event("p/0/3", "9")];
        let contents = Contents::Registers;
        assert_eq!(add(&mut registers, &told, contents).unwrap(), 3);
        assert_eq!(add(&mut registers, &[event("p/0/3", "5")], contents).unwrap(), 1);
        let expected = RowVersions { row: 3, values: vec![9, 5], unordered: None };
        assert_eq!(registers.finish(&table(contents)).rows, [expected]);
        let mut lists = rows();
        let told = [event("p/0/1", "4"), event("p/0/1", "4 2")];
        assert_eq!(add(&mut lists, &told, Contents::Lists).unwrap(), 2);
        let expected = RowVersions { row: 1, values: vec![4, 2], unordered: None };
        assert_eq!(lists.finish(&table(Contents::Lists)).rows, [expected]);
    }

    #[test]
    fn what_is_no_version_is_an_error() {
        let mut rows = Rows { prefix: "p/0/", registers: BTreeMap::new(), lists: BTreeMap::new() };
        let deleted = json!({"type": "DELETE", "kv": {"key": encode("p/0/1")}});
        for wrong in [event("q/0/1", "1"), event("p/0/x", "1"), event("p/0/1", "1 2"), deleted] {
            assert!(add(&mut rows, &[wrong], Contents::Registers).is_err());
        }
        let canceled = json!({"result": {"canceled": true, "compact_revision": "9"}});
        let error = rows.add(&canceled, Contents::Lists).unwrap_err();
        assert!(error.to_string().contains("compacted"), "{error}");
        assert!(rows.add(&json!({"error": {}}), Contents::Lists).is_err());
    }
}
