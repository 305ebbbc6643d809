//! The rows that were there before the first transaction: `init_data/table<N>.csv`.
//!
//! The first line names the columns, of which the first, `pkId`, is the primary key. A field in quotes may
//! hold commas, line ends and, doubled, quotes. `NULL` without quotes is SQL's NULL, as are `null` and `\N`.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::error::{Fault, ReadError};
use crate::formats::leopard::words::{table_word, word};
use crate::ids::Key;
use crate::pool::Pool;
use crate::source::Input;
use crate::text::cursor::{Cursor, utf8};
use crate::value::Value;

/// The column of the primary key.
pub(super) const PRIMARY_KEY: &str = "pkId";
/// What a field is that holds SQL's NULL. The first is how it is written.
pub(super) const NULLS: [&str; 3] = ["NULL", "null", "\\N"];
/// The most columns that a table may have.
const MAX_COLUMNS: usize = 4096;

/// All rows of all tables.
pub(super) fn read(
    tables: &[(&str, &Input)],
    pool: &mut Pool,
) -> Result<Vec<(Key, Value)>, ReadError> {
    let mut rows = Rows { given: Vec::new(), keys: HashSet::new() };
    for (name, input) in tables {
        let table = table_word(pool, name);
        rows.table(&input.bytes, table, pool).map_err(|fault| input.text_error(fault))?;
    }
    Ok(rows.given)
}

struct Rows {
    given: Vec<(Key, Value)>,
    keys: HashSet<Key>,
}

/// One field, where it stands, and whether it is in quotes.
struct Field<'t> {
    at: usize,
    text: Cow<'t, str>,
    quoted: bool,
}

impl Rows {
    fn table(&mut self, bytes: &[u8], table: Value, pool: &mut Pool) -> Result<(), Fault> {
        let mut cursor = Cursor::new(bytes);
        let columns = header(&mut cursor, pool)?;
        let mut row = Vec::with_capacity(columns.len());
        while !cursor.at_end() {
            let at = cursor.pos;
            let id = field(&mut cursor)?;
            let name = [table, word(pool, &id.text)];
            row.clear();
            for column in &columns {
                cursor.expect(b',', "',' and the next column")?;
                row.push((*column, cell(&field(&mut cursor)?, pool)));
            }
            end_of_line(&mut cursor)?;
            let name = pool.list(&name);
            let key = pool.key(name);
            if !self.keys.insert(key) {
                return Err(Fault::wrong(at, "the table has another row of this primary key"));
            }
            let row = pool.row(&row);
            self.given.push((key, row));
        }
        Ok(())
    }
}

/// The names of the columns behind the primary key.
fn header(cursor: &mut Cursor<'_>, pool: &mut Pool) -> Result<Vec<Value>, Fault> {
    let first = field(cursor)?;
    if first.text != PRIMARY_KEY {
        return Err(Fault::expected(first.at, "the header pkId,<column>,..."));
    }
    let mut names = HashSet::new();
    let mut columns = Vec::new();
    while cursor.eat(b',') {
        let Field { at, text, .. } = field(cursor)?;
        let name = pool.text(&text);
        if !names.insert(name) {
            return Err(Fault::wrong(at, "the header names a column twice"));
        }
        if columns.len() == MAX_COLUMNS {
            let complaint = format_args!("a table with more than {MAX_COLUMNS} columns");
            return Err(Fault::wrong(at, complaint));
        }
        columns.push(name);
    }
    end_of_line(cursor)?;
    Ok(columns)
}

fn end_of_line(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let _ = cursor.eat(b'\r');
    if cursor.at_end() { Ok(()) } else { cursor.expect(b'\n', "the end of the row") }
}

fn cell(field: &Field<'_>, pool: &mut Pool) -> Value {
    if !field.quoted && NULLS.contains(&&*field.text) {
        return Value::NULL;
    }
    word(pool, &field.text)
}

fn field<'t>(cursor: &mut Cursor<'t>) -> Result<Field<'t>, Fault> {
    let at = cursor.pos;
    if cursor.peek() == Some(b'"') {
        let text = Cow::Owned(quoted(cursor)?);
        return Ok(Field { at, text, quoted: true });
    }
    let plain = |b: u8| !matches!(b, b',' | b'\n' | b'\r' | b'"');
    let text = utf8(at, cursor.take_while(plain))?;
    Ok(Field { at, text: Cow::Borrowed(text), quoted: false })
}

fn quoted(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let start = cursor.pos;
    let mut text = String::new();
    while cursor.eat(b'"') {
        // A quote within quotes is doubled, so that it ends one part and begins the next.
        if cursor.pos > start + 1 {
            text.push('"');
        }
        let at = cursor.pos;
        text.push_str(utf8(at, cursor.take_while(|b| b != b'"'))?);
        if !cursor.eat(b'"') {
            return Err(Fault::expected(start, "a field that ends with '\"'"));
        }
    }
    Ok(text)
}
