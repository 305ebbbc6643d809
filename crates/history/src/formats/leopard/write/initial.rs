//! Initial rows as tables.

use std::io::Write;

use hashbrown::{HashMap, HashSet};

use crate::error::SinkError;
use crate::format::MakeFile;
use crate::formats::leopard::table::{NULLS, PRIMARY_KEY};
use crate::formats::leopard::words::{text_of_table, text_of_word};
use crate::formats::leopard::write::slice::{refuse, show};
use crate::history::History;
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// The most columns that a table may have: what is read back.
const MAX_COLUMNS: usize = 4096;

/// The tables of a history, in the order in which it names them.
pub(super) struct Tables {
    tables: Vec<Table>,
}

/// One table: its file, and its rows with their primary keys.
struct Table {
    file: String,
    columns: Vec<Value>,
    rows: Vec<(String, Vec<Value>)>,
}

impl Tables {
    pub(super) fn of(history: &History) -> Result<Tables, SinkError> {
        let pool = history.pool();
        let mut tables: Vec<Table> = Vec::new();
        let mut numbers: HashMap<Value, usize> = HashMap::new();
        let mut keys = HashSet::new();
        for (key, value) in &history.meta().initial.given {
            let name = pool.key_name(*key);
            let refuse = |what| refuse(format!("the initial row {}: {what}", show(pool, name)));
            let Some((table, primary_key)) = parts(pool, name) else {
                return Err(refuse("its name is not a table and a primary key"));
            };
            let Datum::Row(row) = pool.datum(*value) else {
                return Err(refuse("its value is no row of columns"));
            };
            if !keys.insert(*key) {
                return Err(refuse("it is there twice"));
            }
            let columns: Vec<Value> = row.pairs().map(|column| column.0).collect();
            let number = *numbers.entry(table).or_insert(tables.len());
            if number == tables.len() {
                let file = file_of(pool, table).ok_or_else(|| refuse("no file has such a name"))?;
                check_header(pool, &columns).map_err(refuse)?;
                tables.push(Table { file, columns: columns.clone(), rows: Vec::new() });
            }
            if tables[number].columns != columns {
                return Err(refuse("another row of the table has other columns"));
            }
            let cells: Vec<Value> = row.pairs().map(|column| column.1).collect();
            if cells.iter().any(|cell| *cell != Value::NULL && text_of_word(pool, *cell).is_none())
            {
                return Err(refuse("a column is neither text nor whole number"));
            }
            tables[number].rows.push((primary_key, cells));
        }
        Ok(Tables { tables })
    }

    pub(super) fn write(&self, pool: &Pool, make: &mut MakeFile<'_>) -> Result<(), SinkError> {
        for table in &self.tables {
            let mut file = make(&table.file)?;
            let mut line = PRIMARY_KEY.to_owned();
            for column in &table.columns {
                line.push(',');
                push_field(&mut line, pool.as_text(*column).unwrap_or_default());
            }
            writeln!(file, "{line}")?;
            for (primary_key, cells) in &table.rows {
                line.clear();
                push_field(&mut line, primary_key);
                for cell in cells {
                    line.push(',');
                    match text_of_word(pool, *cell) {
                        Some(text) => push_field(&mut line, &text),
                        None => line.push_str(NULLS[0]),
                    }
                }
                writeln!(file, "{line}")?;
            }
            file.flush()?;
        }
        Ok(())
    }
}

/// The table and the primary key of a row's name.
fn parts(pool: &Pool, name: Value) -> Option<(Value, String)> {
    let Datum::List(parts) = pool.datum(name) else { return None };
    let mut parts = parts.iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(table), Some(primary_key), None) => Some((table, text_of_word(pool, primary_key)?)),
        _ => None,
    }
}

/// The file of a table, if a file can have such a name.
fn file_of(pool: &Pool, table: Value) -> Option<String> {
    let name = text_of_table(pool, table)?;
    if pool.as_wide_int(table).is_some() {
        return Some(format!("init_data/table{name}.csv"));
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let fits = !name.is_empty() && name.len() <= 100 && name.bytes().all(plain);
    fits.then(|| format!("init_data/{name}.csv"))
}

fn check_header(pool: &Pool, columns: &[Value]) -> Result<(), &'static str> {
    if columns.len() > MAX_COLUMNS {
        return Err("it has too many columns");
    }
    // Columns of a row are sorted, so that equal ones are neighbours.
    let twice = columns.windows(2).any(|pair| pair[0] == pair[1]);
    if twice || columns.iter().any(|column| pool.as_text(*column).is_none()) {
        return Err("its columns are not different texts");
    }
    Ok(())
}

fn push_field(line: &mut String, text: &str) {
    if !NULLS.contains(&text) && !text.contains([',', '"', '\n', '\r']) {
        line.push_str(text);
        return;
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
