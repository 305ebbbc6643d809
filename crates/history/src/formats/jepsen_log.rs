//! Jepsen's console log of operations on one register, as Porcupine's etcd data have it.
//!
//! ```text
//! INFO  jepsen.util - 2\t:invoke\t:cas\t[3 0]
//! INFO  jepsen.util - 2\t:ok\t:cas\t[3 0]
//! INFO  jepsen.util - 0\t:invoke\t:write\t2
//! INFO  jepsen.util - 0\t:info\t:write\t:timed-out
//! ```
//!
//! Newer versions of Jepsen write the same in other words:
//!
//! ```text
//! 2023-05-01 12:00:00,123{GMT}\tINFO\t[jepsen worker 3] jepsen.util: 3\t:invoke\t:read\tnil
//! INFO [2020-01-01 10:00:00,000] jepsen worker 0 - jepsen.util 0\t:invoke\t:write\t3
//! ```
//!
//! Process, type, function and value stand between tabs or spaces; an error may follow. Everything else in the
//! log is ignored. What the events mean is the same as in Jepsen's histories (see the `jepsen`
//! module); the value of an `:info` is the error. Only a `:fail` of a compare-and-set says more here:
//! etcd answered that the value was another one, and Porcupine takes it as an operation that has to
//! fit in. So it is one that committed and had no effect, unless the line names an error.

use crate::error::{Fault, ReadError};
use crate::format::Format;
use crate::formats::jepsen::{Function, LogEvent, LogReader, Phase, Standard, explain, head};
use crate::formats::jepsen_line::{Fields, LineDialect, event, split};
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Cursor;

pub(crate) static FORMAT: Format = Format {
    name: "jepsen-log",
    title: "Jepsen's console log of one register (Porcupine's etcd data)",
    example: "INFO  jepsen.util - 0\\t:invoke\\t:cas\\t[3 0]",
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

/// What stands before the process, and what may stand between the two.
const MARK: &[u8] = b"jepsen.util";
const SEPARATORS: [&[u8]; 3] = [b" - ", b": ", b" "];

fn looks_like(source: &Source) -> bool {
    let mut lines = Cursor::new(head(source).unwrap_or_default());
    while !lines.at_end() {
        let at = lines.pos;
        if let Some(fields) = fields(at, lines.line()) {
            return fields.has_process();
        }
    }
    false
}

/// The fields of a line that is an operation.
fn fields(at: usize, line: &[u8]) -> Option<Fields<'_>> {
    let after = memchr::memmem::find(line, MARK)? + MARK.len();
    let marked = line.get(after..)?;
    let rest = SEPARATORS.iter().find_map(|separator| marked.strip_prefix(*separator))?;
    let text = rest.trim_ascii_start();
    let found = split(at + line.len() - text.len(), text)?;
    Some(Fields { refused: is_refused_cas(&found), ..found })
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let bytes = &input.bytes;
    let dialect = LineDialect { bytes, standard: Standard::new(bytes, false), split: fields };
    let mut reader = LogReader::new(input, dialect, sink);
    let mut lines = Cursor::new(bytes);
    let mut found = false;
    let mut each_line = || -> Result<(), Fault> {
        while !lines.at_end() {
            let at = lines.pos;
            if let Some(fields) = fields(at, lines.line()) {
                found = true;
                reader.event(single(event(at, &fields, bytes)?)?)?;
            }
        }
        if found {
            return reader.finish();
        }
        Err(Fault::wrong(0, "no line of the log is an operation")
            .hint("expected lines like 'INFO  jepsen.util - 0\\t:invoke\\t:read\\tnil'"))
    };
    each_line().map_err(|fault| explain(input, fault))
}

/// Refuses transactions, which are whole in another file.
fn single(event: LogEvent) -> Result<LogEvent, Fault> {
    if event.function != Function::Txn {
        return Ok(event);
    }
    let complaint = "console logs are read as operations on one register, and :txn is none";
    Err(Fault::wrong(event.f_at, complaint)
        .hint("Jepsen keeps transactions in history.edn, beside this log: read that file"))
}

/// Whether a compare-and-set was answered with "the value is another one".
fn is_refused_cas(fields: &Fields<'_>) -> bool {
    fields.phase == Phase::Fail
        && fields.function == b":cas"
        && fields.value.starts_with(b"[")
        && fields.error.is_none()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::formats::plume::check::{shown, survives_bytes};
    use crate::source::Input;

    #[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&shown(&FORMAT, text));
    }

    const SAMPLE: &str = "INFO  jepsen.core - starting\n\
        INFO  jepsen.util - 0\t:invoke\t:read\tnil\n\
        INFO  jepsen.util - 2\t:invoke\t:cas\t[3 0]\n\
        INFO  jepsen.util - :nemesis\t:info\t:start\t\"cut\"\n\
        INFO  jepsen.util - 0\t:ok\t:read\tnil\n\
        INFO  jepsen.util - 2\t:fail\t:cas\t[3 0]\r\n\
        INFO  jepsen.util - 2\t:invoke\t:write\t4\n\
        INFO  jepsen.util - 2\t:info\t:write\t:timed-out\n\
        INFO  jepsen.util - 3\t:invoke\t:read\tnil\n\
        INFO  jepsen.util - 3\t:info\t:read\tnil\tindeterminate: x\n\
        INFO  jepsen.util - 4\t:invoke\t:cas\t[4 5]\n";

    #[test]
    fn every_kind_of_line() {
        check(
            SAMPLE,
            expect![[r#"
            clock events
            event :start @[2,_] cut
            0: r(register,absent) @[0,3]
            2: cas!(register,3,0) @[1,4]
            2: w(register,4) unknown @[5,_] {error=:timed-out}
            3: r(register,_) unknown @[7,_] {error="indeterminate: x"}
            4: cas?(register,4,5) unknown @[9,_]
        "#]],
        );
    }

    #[test]
    fn lines_of_newer_versions() {
        let text = "2023-05-01 12:00:00,123{GMT}\tINFO\t[jepsen node n1] jepsen.db: Setting up\n\
            2023-05-01 12:00:00,123{GMT}\tINFO\t[jepsen worker 3] jepsen.util: 3\t:invoke\t:read\tnil\n\
            2023-05-01 12:00:00,124{GMT}\tINFO\t[jepsen nemesis] jepsen.util: :nemesis\t:info\t:start\tnil\n\
            2023-05-01 12:00:00,125{GMT}\tINFO\t[jepsen worker 3] jepsen.util: 3\t:ok\t:read\t2\n\
            INFO [2020-01-01 10:00:00,000] jepsen worker 0 - jepsen.util 0\t:invoke\t:write\t3\n\
            INFO [2020-01-01 10:00:00,001] jepsen worker 0 - jepsen.util 0\t:ok\t:write\t3\n\
            INFO [2020-01-01 10:00:00,002] jepsen worker 0 - jepsen.utility 0\t:ok\t:write\t4\n";
        check(
            text,
            expect![[r#"
            clock events
            event :start @[1,_]
            3: r(register,2) @[0,2]
            0: w(register,3) @[3,4]
        "#]],
        );
        for line in text.lines().skip(1).take(5) {
            assert!(looks_like(&Source::File(Input::new("t", line))), "{line}");
        }
    }

    #[test]
    fn spaces_separate_as_tabs_do() {
        let text = SAMPLE.replace('\t', "  ").replace("[3 0]", "[3  0]");
        assert_eq!(shown(&FORMAT, &text), shown(&FORMAT, SAMPLE));
        assert!(looks_like(&Source::File(Input::new("t", text))));
    }

    #[test]
    fn transactions_are_looked_for_elsewhere() {
        check(
            "INFO  jepsen.util - 0\t:invoke\t:txn\t[[:r 1 nil]]\n",
            expect![[r#"
                file:1:31: console logs are read as operations on one register, and :txn is none
                  hint: Jepsen keeps transactions in history.edn, beside this log: read that file
            "#]],
        );
    }

    #[test]
    fn a_compare_and_set_that_failed_with_an_error_has_seen_nothing() {
        check(
            "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n\
             INFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\t:conn-refused\n\
             INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n\
             INFO  jepsen.util - 0\t:fail\t:cas\t:conn-refused\n",
            expect![[r#"
                clock events
                0: cas!(register,1,2) abort @[0,1] {error=":conn-refused"}
                0: cas!(register,1,2) abort @[2,3]
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        check(
            "INFO  jepsen.core - nothing\n",
            expect![[r#"
                file:1:1: no line of the log is an operation
                  hint: expected lines like 'INFO  jepsen.util - 0\t:invoke\t:read\tnil'
            "#]],
        );
        check(
            "INFO  jepsen.util - 0\t:ok\t:add\t5\n",
            expect![[r#"
                file:1:27: operations of kind :add are not supported yet
                  hint: transactions of micro-operations, and read, write, cas, acquire and release are
            "#]],
        );
        check(
            "INFO  jepsen.util - 0\t:ok\t:write\t5 6\n",
            expect![[r#"
                file:1:36: expected the end, found '6'
            "#]],
        );
        check(
            "INFO  jepsen.util - 0\t:ok\t:write\t[5\n",
            expect![[r#"
                file:1:36: expected ']', found the end of the line
            "#]],
        );
        check(
            "INFO  jepsen.util - x\t:ok\t:write\t5\n",
            expect![[r#"
                file:1:21: expected a process, found 'x\t:ok\t:write\t5'
            "#]],
        );
    }

    #[test]
    fn hostile_bytes_never_panic() {
        survives_bytes(&FORMAT, SAMPLE, b"\t\n[\"\xff");
    }
}
