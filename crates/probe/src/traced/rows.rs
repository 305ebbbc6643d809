//! The rows that a statement read and wrote, as a trace has them: operations on rows by column.

use std::collections::{BTreeMap, BTreeSet};

use isolde_target::{Datum, ResultSet};
use serde_json::{Map, Value, json};

use super::understood::{Keys, Understood};

/// The tables that the setup made, with what is in them at first.
#[derive(Default, Debug)]
pub(super) struct Tables {
    tables: BTreeMap<String, KnownTable>,
}

/// A table.
#[derive(Default, Debug)]
struct KnownTable {
    /// The first one is the key.
    columns: Vec<String>,
    initial: BTreeMap<i64, Value>,
    /// All keys that were ever there.
    keys: BTreeSet<i64>,
}

/// How a result shows that a statement cannot be traced.
type Traced<T> = Result<T, String>;

impl Tables {
    /// A statement of the setup.
    pub(super) fn set_up(&mut self, statement: Understood) -> Traced<()> {
        match statement {
            Understood::Create { table, columns } => {
                let made = KnownTable { columns, ..KnownTable::default() };
                self.tables.insert(table, made);
                Ok(())
            }
            Understood::Insert { table, columns, rows } => {
                let of = self.tables.get_mut(&table).ok_or("a table that was not made")?;
                for row in rows {
                    let (key, row) = of.row(columns.as_deref(), &row)?;
                    of.initial.insert(key, row);
                    of.keys.insert(key);
                }
                Ok(())
            }
            _ => Err("a setup of more than tables and their rows".to_owned()),
        }
    }

    /// Rows that a statement will insert: whole tables are read with them in mind.
    pub(super) fn expect(&mut self, statement: &Understood) -> Traced<()> {
        if let Understood::Insert { table, columns, rows } = statement {
            let of = self.tables.get_mut(table).ok_or("a table that was not made")?;
            for row in rows {
                let (key, _) = of.row(columns.as_deref(), row)?;
                of.keys.insert(key);
            }
        }
        Ok(())
    }

    /// What is there at first, as the header of a trace says it.
    pub(super) fn initial(&self) -> Value {
        let rows = self.tables.iter().flat_map(|(name, table)| {
            table.initial.iter().map(move |(key, row)| json!([[name, key], row]))
        });
        json!({"default": null, "keys": rows.collect::<Vec<_>>()})
    }

    /// What a statement that changed so many rows did.
    pub(super) fn written(&self, statement: &Understood, changed: u64) -> Traced<Vec<Value>> {
        let (Understood::Insert { table, .. }
        | Understood::Update { table, .. }
        | Understood::Delete { table, .. }) = statement
        else {
            return Ok(Vec::new());
        };
        let of = self.tables.get(table).ok_or("a table that was not made")?;
        let ops: Vec<Value> = match statement {
            Understood::Insert { columns, rows, .. } => {
                let rows = rows.iter().map(|row| of.row(columns.as_deref(), row));
                let insert = |row: Traced<(i64, Value)>| {
                    row.map(|(key, row)| json!(["insert", [table, key], row]))
                };
                rows.map(insert).collect::<Traced<_>>()?
            }
            Understood::Update { set, .. }
                if set.iter().any(|(column, _)| Some(column) == of.columns.first()) =>
            {
                return Err("it changes a key".to_owned());
            }
            Understood::Update { set, keys, .. } => {
                let cells = set.iter().map(|(column, datum)| (column.clone(), cell(datum)));
                let row = Value::Object(cells.collect::<Map<_, _>>());
                let keys = of.chosen(keys, changed)?;
                keys.iter().map(|key| json!(["w", [table, key], row])).collect()
            }
            Understood::Delete { keys, .. } => {
                let keys = of.chosen(keys, changed)?;
                keys.iter().map(|key| json!(["delete", [table, key]])).collect()
            }
            _ => Vec::new(),
        };
        match (changed, ops.len() as u64) {
            // What it would have deleted was not there. An update may have left its rows as they are.
            (0, _) => Ok(match statement {
                Understood::Delete { keys, .. } => {
                    let keys = of.wanted(keys)?.into_iter().flatten();
                    keys.map(|key| json!(["r", [table, key], null])).collect()
                }
                _ => Vec::new(),
            }),
            (changed, known) if changed == known => Ok(ops),
            _ => Err("it changed some of its rows, and which ones is not known".to_owned()),
        }
    }

    /// What a SELECT read.
    pub(super) fn read(
        &self,
        (sql, table): (&str, &str),
        keys: &Keys,
        set: &ResultSet,
    ) -> Traced<Vec<Value>> {
        let of = self.tables.get(table).ok_or("a table that was not made")?;
        let name = of.columns.first().map(String::as_str).unwrap_or_default();
        let key_at = set.columns.iter().position(|column| column.name == name);
        let wanted = of.wanted(keys)?;
        let mut absent: BTreeSet<i64> = wanted.iter().flatten().copied().collect();
        let mut ops = Vec::new();
        for row in &set.rows {
            let key = match (key_at.and_then(|at| row.get(at)), wanted.as_deref()) {
                (Some(Datum::Integer(key)), _) => i64::try_from(*key).ok(),
                (_, Some([one])) => Some(*one),
                _ => None,
            };
            let key = key.ok_or("the key of a row that was read is not among its columns")?;
            absent.remove(&key);
            let cells = set.columns.iter().zip(row);
            let cells = cells.filter(|(column, _)| of.columns[1..].contains(&column.name));
            let cells = cells.map(|(column, datum)| (column.name.clone(), cell(datum)));
            ops.push(json!(["r", [table, key], Value::Object(cells.collect::<Map<_, _>>())]));
        }
        ops.extend(absent.iter().map(|key| json!(["r", [table, key], null])));
        // A server that says that it found nothing may not have looked.
        if ops.is_empty() {
            ops.push(json!(["pred", sql, []]));
        }
        Ok(ops)
    }
}

impl KnownTable {
    /// A row that is inserted: its key, and its other columns.
    fn row(&self, names: Option<&[String]>, row: &[Datum]) -> Traced<(i64, Value)> {
        let names = names.unwrap_or(&self.columns);
        if names.len() != row.len() {
            return Err("a row with other columns than its table".to_owned());
        }
        let mut cells: Map<String, Value> =
            self.columns.iter().map(|column| (column.clone(), cell(&Datum::Null))).collect();
        cells.extend(names.iter().zip(row).map(|(name, datum)| (name.clone(), cell(datum))));
        let key = self.columns.first().and_then(|key| cells.remove(key));
        let key = key.and_then(|key| key.as_i64()).ok_or("a key that is no whole number")?;
        Ok((key, Value::Object(cells)))
    }

    /// The rows that were looked for, if that is known.
    fn wanted(&self, keys: &Keys) -> Traced<Option<Vec<i64>>> {
        match keys {
            Keys::These(column, keys) if Some(column) == self.columns.first() => {
                Ok(Some(keys.clone()))
            }
            Keys::All => Ok(Some(self.keys.iter().copied().collect())),
            Keys::These(..) | Keys::Some => Ok(None),
        }
    }

    /// The rows that a statement changed.
    fn chosen(&self, keys: &Keys, changed: u64) -> Traced<Vec<i64>> {
        match self.wanted(keys)? {
            Some(keys) => Ok(keys),
            None if changed == 0 => Ok(Vec::new()),
            None => Err("it is not known which rows it changed".to_owned()),
        }
    }
}

/// A value as a trace has it.
fn cell(datum: &Datum) -> Value {
    match datum {
        Datum::Null => json!({"$": "null"}),
        Datum::Integer(number) => match i64::try_from(*number) {
            Ok(number) => json!(number),
            Err(_) => json!(number.to_string()),
        },
        other => json!(other.text()),
    }
}
