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
//! Process, type, function and value stand between tabs; an error may follow. Everything else in the
//! log is ignored. What the events mean is the same as in Jepsen's histories (see the `jepsen`
//! module); the value of an `:info` is the error. Only a `:fail` of a compare-and-set says more here:
//! etcd answered that the value was another one, and Porcupine takes it as an operation that has to
//! fit in. So it is one that committed and had no effect, unless the line names an error.

use crate::attributes::names;
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::Outcome;
use crate::format::Format;
use crate::formats::jepsen::{
    Dialect, Function, LogEvent, LogReader, Phase, Process, Standard, explain, head,
};
use crate::op::Effect;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::{Cursor, Edn};
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "jepsen-log",
    title: "Jepsen's console log of one register (Porcupine's etcd data)",
    example: "INFO  jepsen.util - 0\\t:invoke\\t:cas\\t[3 0]",
    looks_like,
    read,
    load: None,
    write: None,
};

/// What stands before the process, and what may stand between the two.
const MARK: &[u8] = b"jepsen.util";
const SEPARATORS: [&[u8]; 3] = [b" - ", b": ", b" "];

fn looks_like(source: &Source) -> bool {
    let mut lines = Cursor::new(head(source).unwrap_or_default());
    while !lines.at_end() {
        let at = lines.pos;
        if let Some(fields) = fields(at, lines.line()) {
            return fields.process.is_some();
        }
    }
    false
}

/// The fields of a line that is an operation, each with its offset.
struct Fields<'a> {
    process: Option<&'a [u8]>,
    process_at: usize,
    phase: Phase,
    function_at: usize,
    value_at: usize,
    value: &'a [u8],
    error: Option<usize>,
}

fn fields(at: usize, line: &[u8]) -> Option<Fields<'_>> {
    let after = memchr::memmem::find(line, MARK)? + MARK.len();
    let marked = line.get(after..)?;
    let rest = SEPARATORS.iter().find_map(|separator| marked.strip_prefix(*separator))?;
    let mut offset = at + line.len() - rest.len();
    let mut parts = rest.split(|&b| b == b'\t').map(|part| {
        let start = offset;
        offset += part.len() + 1;
        (start, part)
    });
    let (process_at, process) = parts.next()?;
    let (_, phase) = parts.next()?;
    let phase = Phase::from_name(phase.strip_prefix(b":")?)?;
    let (function_at, function) = parts.next()?;
    if !function.starts_with(b":") {
        return None;
    }
    let (value_at, value) = parts.next()?;
    let error = parts.next().map(|(at, _)| at);
    let is_process = process.first().is_some_and(|b| b.is_ascii_digit() || *b == b':');
    let process = is_process.then_some(process);
    Some(Fields { process, process_at, phase, function_at, value_at, value, error })
}

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let dialect = LogDialect { bytes: &input.bytes, standard: Standard::new(&input.bytes, false) };
    let mut reader = LogReader::new(input, dialect, sink);
    let mut lines = Cursor::new(&input.bytes);
    let mut found = false;
    let mut each_line = || -> Result<(), Fault> {
        while !lines.at_end() {
            let at = lines.pos;
            if let Some(fields) = fields(at, lines.line()) {
                found = true;
                reader.event(event(at, &fields, &input.bytes)?)?;
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

fn event(at: usize, fields: &Fields<'_>, bytes: &[u8]) -> Result<LogEvent, Fault> {
    let mut event = LogEvent::new(at);
    event.phase = fields.phase;
    event.f_at = fields.function_at;
    event.function = Function::from_name(Edn::at(bytes, event.f_at).word("a function")?);
    if event.function == Function::Txn {
        return Err(Fault::wrong(
            event.f_at,
            "console logs are read as operations on one register, and :txn is none",
        )
        .hint("Jepsen keeps transactions in history.edn, beside this log: read that file"));
    }
    event.process = match fields.process {
        Some([b':', ..]) => Process::Other,
        _ => Process::Client(Edn::at(bytes, fields.process_at).integer("a process")?),
    };
    let end = fields.value_at + fields.value.trim_ascii_end().len();
    let line = bytes.get(..end).unwrap_or(bytes);
    let mut value = Edn::at(line, fields.value_at);
    value.skip_value()?;
    value.finish()?;
    if is_refused_cas(fields, event.function) {
        // It took place, and found another value.
        event.phase = Phase::Ok;
    }
    event.value_at = Some(fields.value_at);
    event.extras = fields.error.is_some() || event.phase == Phase::Info;
    Ok(event)
}

/// Whether a compare-and-set was answered with "the value is another one".
fn is_refused_cas(fields: &Fields<'_>, function: Function) -> bool {
    fields.phase == Phase::Fail
        && function == Function::Cas
        && fields.value.starts_with(b"[")
        && fields.error.is_none()
}

/// The dialect of the log: one register, whose operations stand on a line each.
struct LogDialect<'a> {
    bytes: &'a [u8],
    standard: Standard<'a, Edn<'a>>,
}

impl<'a> Dialect<'a> for LogDialect<'a> {
    type Notation = Edn<'a>;

    fn observe(&mut self, event: &LogEvent) -> Result<(), Fault> {
        self.standard.observe(event)
    }

    fn operations(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        self.standard.operations(event, pool, draft)?;
        if event.function == Function::Cas && draft.outcome == Outcome::Committed {
            let line = Cursor { bytes: self.bytes, pos: event.at }.line();
            if fields(event.at, line).is_some_and(|fields| fields.phase == Phase::Fail) {
                draft.set_effect(Effect::Failed);
            }
        }
        Ok(())
    }

    fn implies_function(&self, event: &LogEvent) -> bool {
        self.standard.implies_function(event)
    }

    fn extras(&self, event: &LogEvent, pool: &mut Pool) -> Result<Vec<(Value, Value)>, Fault> {
        let line = Cursor { bytes: self.bytes, pos: event.at }.line();
        let Some(fields) = fields(event.at, line) else { return Ok(Vec::new()) };
        let value = match (fields.error, event.process) {
            (Some(at), _) => {
                let text = self.bytes.get(at..event.at + line.len()).unwrap_or_default();
                pool.text(&String::from_utf8_lossy(text))
            }
            (None, Process::Client(_)) if event.phase == Phase::Info => {
                Edn::at(self.bytes, fields.value_at).value(pool)?
            }
            _ => Value::ABSENT,
        };
        if value == Value::ABSENT {
            return Ok(Vec::new());
        }
        Ok(vec![(pool.text(names::ERROR), value)])
    }
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
