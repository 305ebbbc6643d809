//! Jepsen's `history.txt`, and the same as Knossos writes it: one operation a line, and nothing else.
//!
//! ```text
//! 0\t:invoke\t:txn\t[[:append 5 1] [:r 5 nil]]
//! 0\t:ok\t:txn\t[[:append 5 1] [:r 5 [1]]]
//! [70 :invoke :read nil]
//! [70 :ok :read 3]
//! ```
//!
//! What the operations mean is the same as in Jepsen's histories (see the `jepsen` module).

use crate::error::{Fault, ReadError};
use crate::format::Format;
use crate::formats::jepsen::{LogReader, Standard, edn_holds_lists, explain, head};
use crate::formats::jepsen_line::{Fields, LineDialect, event, split};
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Cursor;

pub(crate) static FORMAT: Format = Format {
    name: "jepsen-txt",
    title: "Jepsen's history.txt, and Knossos' vectors: an operation a line",
    example: "0\\t:invoke\\t:txn\\t[[:append 5 1] [:r 5 nil]]",
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

fn looks_like(source: &Source) -> bool {
    let mut lines = Cursor::new(head(source).unwrap_or_default());
    while !lines.at_end() {
        let at = lines.pos;
        let line = lines.line();
        if !is_blank(line) {
            return fields(at, line).is_some();
        }
    }
    false
}

fn is_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b";")
}

/// The fields of a line, which may be a vector.
fn fields(at: usize, line: &[u8]) -> Option<Fields<'_>> {
    let text = line.trim_ascii_start();
    let indent = line.len() - text.len();
    let found = match text.strip_prefix(b"[") {
        Some(inner) => {
            let inner = inner.trim_ascii_end().strip_suffix(b"]")?;
            split(at + indent + 1, inner)?
        }
        None => split(at + indent, text)?,
    };
    found.has_process().then_some(found)
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    read_lines(input, sink).map_err(|fault| explain(input, fault))
}

fn read_lines(input: &Input, sink: &mut dyn Sink) -> Result<(), Fault> {
    let bytes = &input.bytes;
    let standard = Standard::new(bytes, edn_holds_lists(bytes));
    let mut reader = LogReader::new(input, LineDialect { bytes, standard, split: fields }, sink);
    let mut lines = Cursor::new(bytes);
    while !lines.at_end() {
        let at = lines.pos;
        let line = lines.line();
        if is_blank(line) {
            continue;
        }
        let fields = fields(at, line).ok_or_else(|| {
            Fault::expected(at, "a process, its :type, its :f and a value")
                .hint("lines are like '0\\t:invoke\\t:read\\tnil' or '[0 :invoke :read nil]'")
        })?;
        reader.event(event(at, &fields, bytes)?)?;
    }
    reader.finish()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::formats::plume::check::{recognises, shown, survives_bytes};

    #[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&shown(&FORMAT, text));
    }

    const LISTS: &str = "0\t:invoke\t:txn\t[[:append 5 1] [:r 5 nil]]\n\
        :nemesis\t:info\t:start\tnil\n\
        1\t:invoke\t:txn\t[[:r 5 nil]]\n\
        0\t:ok\t:txn\t[[:append 5 1] [:r 5 [1]]]\n\
        1\t:info\t:txn\t[[:r 5 nil]]\t:timed-out\n";
    const VECTORS: &str = "[70 :invoke :read nil]\n[70 :ok :read 3]\n\n\
        [71 :invoke :cas [3 4]]\n [71 :fail :cas [3 4]] \n[72 :invoke :write 5]\n\
        [72 :info :write 5 :timed-out]\n";

    #[test]
    fn history_txt_of_jepsen_is_read() {
        check(
            LISTS,
            expect![[r#"
                clock events
                event :start @[1,_]
                0: append(5,1) list(5,[1]) @[0,3]
                1: list(5,_) unknown @[2,_] {error=":timed-out"}
            "#]],
        );
        assert_eq!(shown(&FORMAT, &LISTS.replace('\t', "  ")), shown(&FORMAT, LISTS));
    }

    #[test]
    fn vectors_of_knossos_are_read_and_a_failed_compare_and_set_did_nothing() {
        check(
            VECTORS,
            expect![[r#"
                clock events
                70: r(register,3) @[0,1]
                71: cas!(register,3,4) abort @[2,3]
                72: w(register,5) unknown @[4,_] {error=":timed-out"}
            "#]],
        );
    }

    #[test]
    fn it_is_recognised_and_what_is_wrong_has_a_place() {
        recognises(&FORMAT, &[LISTS, VECTORS]);
        check(
            "0\t:ok\t:write\t5\n0\t:ok\t:write\n",
            expect![[r#"
                file:2:1: expected a process, its :type, its :f and a value, found '0\t:ok\t:write'
                  hint: lines are like '0\t:invoke\t:read\tnil' or '[0 :invoke :read nil]'
            "#]],
        );
        survives_bytes(&FORMAT, LISTS, b"\t\n[\"\xff");
        survives_bytes(&FORMAT, VECTORS, b" \n[]\"\xff");
    }
}
