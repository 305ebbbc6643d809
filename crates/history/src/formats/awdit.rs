//! The text of AWDIT's own tests: operations, with rules drawn between transactions and sessions.
//!
//! ```text
//! w 0 0
//! =====            a run of '=': the next session
//! w 0 1
//! -----            a run of '-': the next transaction of the session
//! r 0 1
//! ```
//!
//! Sessions are numbered from 0 in the order of the file. There is no initial state: whatever is
//! read must have been written, 0 included. The file need not end with the end of a line.
//!
//! Between two rules there may be nothing. Such an empty transaction says nothing about the
//! database, so it is left out, and the user is told; the sessions after an empty one keep the
//! numbers that their position gives them.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::format::Format;
use crate::meta::InitialState;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Cursor;

pub(crate) static FORMAT: Format = Format {
    name: "awdit-test",
    title: "text of AWDIT's tests",
    example: "w <key> <value>, transactions between ----- and sessions between =====",
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

/// What a line says.
enum AwditLine {
    Operation { write: bool, key: u64, value: u64 },
    NextTransaction,
    NextSession,
    Blank,
}

/// How much of a file recognition looks at.
const BEGINNING: usize = 64 * 1024;

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let beginning = input.bytes.get(..BEGINNING).unwrap_or(&input.bytes);
    let mut cursor = Cursor::new(beginning);
    while !cursor.at_end() {
        match line(&mut cursor) {
            Ok(AwditLine::Operation { .. }) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::default();
    let mut reader =
        AwditReader { sink, txn: TxnDraft::default(), session: 0, start: 0, empty: None };
    reader.read(input).map_err(|fault| input.text_error(fault))?;
    if let Some((first, count)) = reader.empty {
        let message = match count {
            1 => "an empty transaction is left out".to_owned(),
            _ => format!("{count} empty transactions are left out, this is the first"),
        };
        sink.warn(input.text_warning(first, message));
    }
    Ok(())
}

struct AwditReader<'s> {
    sink: &'s mut dyn Sink,
    txn: TxnDraft,
    session: u64,
    /// Where the transaction begins.
    start: usize,
    /// Where the first empty transaction is, and how many there are.
    empty: Option<(usize, u64)>,
}

impl AwditReader<'_> {
    fn read(&mut self, input: &Input) -> Result<(), Fault> {
        let mut cursor = Cursor::new(&input.bytes);
        if cursor.rest().trim_ascii().is_empty() {
            return Ok(());
        }
        while !cursor.at_end() {
            match line(&mut cursor)? {
                AwditLine::Operation { write, key, value } => self.operation(write, key, value),
                AwditLine::NextTransaction => self.end_transaction(cursor.pos)?,
                AwditLine::NextSession => {
                    self.end_transaction(cursor.pos)?;
                    self.session += 1;
                }
                AwditLine::Blank => {}
            }
        }
        self.end_transaction(cursor.pos)
    }

    fn operation(&mut self, write: bool, key: u64, value: u64) {
        let pool = self.sink.pool();
        let name = pool.uint(key);
        let (key, value) = (pool.key(name), pool.uint(value));
        if write {
            self.txn.write(key, value);
        } else {
            self.txn.read(key, value);
        }
    }

    fn end_transaction(&mut self, next: usize) -> Result<(), Fault> {
        let start = std::mem::replace(&mut self.start, next);
        if self.txn.op_count() == 0 {
            let (_, count) = self.empty.get_or_insert((start, 0));
            *count += 1;
            return Ok(());
        }
        let name = self.sink.pool().uint(self.session);
        self.txn.session = self.sink.pool().session(name);
        self.sink.transaction(&self.txn).map_err(|error| Fault::sink(start, &error))?;
        self.txn.clear_ops();
        Ok(())
    }
}

fn line(cursor: &mut Cursor<'_>) -> Result<AwditLine, Fault> {
    cursor.skip_blanks();
    let line = match cursor.peek() {
        Some(b'=') => {
            cursor.take_while(|b| b == b'=');
            AwditLine::NextSession
        }
        Some(b'-') => {
            cursor.take_while(|b| b == b'-');
            AwditLine::NextTransaction
        }
        Some(b'r' | b'w') => operation(cursor)?,
        None | Some(b'\r' | b'\n') => AwditLine::Blank,
        Some(_) => {
            return Err(cursor.expected("'r <key> <value>', 'w <key> <value>', ----- or ====="));
        }
    };
    cursor.skip_blanks();
    cursor.eat(b'\r');
    if !cursor.at_end() {
        cursor.expect(b'\n', "the end of the line")?;
    }
    Ok(line)
}

fn operation(cursor: &mut Cursor<'_>) -> Result<AwditLine, Fault> {
    let write = cursor.eat(b'w') || !cursor.eat(b'r');
    gap(cursor, "a space and a key")?;
    let key = field(cursor, "a key, a number")?;
    gap(cursor, "a space and a value")?;
    let value = field(cursor, "a value, a number")?;
    Ok(AwditLine::Operation { write, key, value })
}

fn gap(cursor: &mut Cursor<'_>, what: &str) -> Result<(), Fault> {
    let before = cursor.pos;
    cursor.skip_blanks();
    if cursor.pos > before { Ok(()) } else { Err(cut_off(cursor, cursor.expected(what))) }
}

fn field(cursor: &mut Cursor<'_>, what: &str) -> Result<u64, Fault> {
    let result = cursor.unsigned(what);
    result.map_err(|fault| cut_off(cursor, fault))
}

fn cut_off(cursor: &Cursor<'_>, fault: Fault) -> Fault {
    if cursor.at_end() {
        fault.hint("the file ends in the middle of a line: it was probably cut off")
    } else {
        fault
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::formats::plume::check::{recognises, shown, survives_damage};

    fn check(text: &str, expected: &Expect) {
        expected.assert_eq(&shown(&FORMAT, text));
    }

    #[test]
    fn rules_divide_sessions_and_transactions() {
        check(
            "w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0",
            &expect![[r#"
            initial none
            0: w(0,0) w(1,0)
            1: w(0,1)
            1: r(0,1) r(1,0)
        "#]],
        );
    }

    #[test]
    fn white_space_and_line_ends_do_not_matter() {
        check(
            "  w\t0   0 \r\n\r\n=\r\n  r 0 0\r\n - \r\nw 0 18446744073709551615\r\n",
            &expect![[r#"
                initial none
                0: w(0,0)
                1: r(0,0)
                1: w(0,18446744073709551615)
            "#]],
        );
    }

    #[test]
    fn empty_transactions_are_left_out_with_a_warning() {
        check(
            "w 0 0\n-----\n=====\n=====\nr 0 0\n-----\n",
            &expect![[r#"
            initial none
            0: w(0,0)
            2: r(0,0)
            warning: file:3:1: 3 empty transactions are left out, this is the first
        "#]],
        );
        check(
            "w 0 0\n=====\n",
            &expect![[r#"
            initial none
            0: w(0,0)
            warning: file:3:1: an empty transaction is left out
        "#]],
        );
        check(
            "",
            &expect![[r#"
            initial none
        "#]],
        );
    }

    #[test]
    fn what_is_no_line_is_an_error() {
        check(
            "w 0 0\nx 0 0\n",
            &expect![[r#"
            file:2:1: expected 'r <key> <value>', 'w <key> <value>', ----- or =====, found 'x 0 0'
        "#]],
        );
        check(
            "w 0 0 0\n",
            &expect![[r#"
            file:1:7: expected the end of the line, found '0'
        "#]],
        );
        check(
            "w 0 -1\n",
            &expect![[r#"
            file:1:5: expected a value, a number, found '-1'
        "#]],
        );
        check(
            "w(0 1)\n",
            &expect![[r#"
            file:1:2: expected a space and a key, found '(0 1)'
        "#]],
        );
        check(
            "w 0 0\n--=\n",
            &expect![[r#"
            file:2:3: expected the end of the line, found '='
        "#]],
        );
        check(
            "w 0 18446744073709551616\n",
            &expect![[r#"
            file:1:5: expected a value, a number of at most 64 bits, found '18446744073709551616'
        "#]],
        );
        check(
            "w 0\nr 0 0\n",
            &expect![[r#"
            file:1:4: expected a space and a value, found the end of the line
        "#]],
        );
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_an_error() {
        check(
            "w 0 0\nr",
            &expect![[r#"
            file:2:2: expected a space and a key, found the end of the file
              hint: the file ends in the middle of a line: it was probably cut off
        "#]],
        );
        check(
            "w 0 0\nr 0",
            &expect![[r#"
            file:2:4: expected a space and a value, found the end of the file
              hint: the file ends in the middle of a line: it was probably cut off
        "#]],
        );
        check(
            "w 0 0\nr 0 ",
            &expect![[r#"
            file:2:5: expected a value, a number, found the end of the file
              hint: the file ends in the middle of a line: it was probably cut off
        "#]],
        );
    }

    #[test]
    fn damage_never_panics() {
        survives_damage(&FORMAT, "w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0");
    }

    #[test]
    fn only_its_own_files_are_recognised() {
        recognises(&FORMAT, &["w 0 1\n", "=====\n---\n\nr 1 2"]);
    }
}
