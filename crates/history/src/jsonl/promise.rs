//! A line that promises something of what is still to come.

use crate::error::Fault;
use crate::jsonl::member::{LineKind, member, once};
use crate::jsonl::txn;
use crate::sink::Sink;
use crate::stream_promise::StreamPromise;
use crate::text::Json;

const MEMBERS: [&str; 3] = ["watermark", "session", "end"];
/// The members that only a transaction has.
const OF_TRANSACTION: &[&str] = &["txn", "outcome", "interval", "ts", "ops", "stmts", "attrs"];

/// Whether a line is a promise, from behind its opening brace: it names a watermark or an end, and nothing that
/// makes it something else. A transaction may have attributes of these names: it has operations, too.
pub(super) fn looks_like(mut json: Json<'_>) -> bool {
    let mut promises = false;
    while let Ok(Some(name)) = json.next_member() {
        let other = LineKind::of_member(&name) != LineKind::Transaction;
        if other || OF_TRANSACTION.contains(&&*name) {
            return false;
        }
        promises |= matches!(&*name, "watermark" | "end");
        if json.skip_value().is_err() {
            break;
        }
    }
    promises
}

/// `{"watermark":70,"session":3,"end":true}`
pub(super) fn read<S: Sink + ?Sized>(json: &mut Json<'_>, sink: &mut S) -> Result<(), Fault> {
    let mut promise = StreamPromise { session: None, watermark: None, end: false };
    let mut seen = 0;
    while let Some((at, name)) = member(json)? {
        let bit = MEMBERS.iter().position(|member| *member == name);
        once(&mut seen, bit.map_or(31, |bit| bit as u32), at, &name)?;
        match bit {
            Some(0) => promise.watermark = Some(watermark(json)?),
            Some(1) => {
                let at = json.offset();
                let name = json.value(sink.pool())?;
                promise.session = Some(Fault::check_name(at, "a session", name)?);
            }
            Some(_) => promise.end = json.boolean("true")?,
            None => {
                return Err(Fault::expected(at, "\"watermark\", \"session\" or \"end\"").hint(
                    "a line with \"watermark\" or \"end\" and without operations is a promise; \
                     a transaction has \"ops\" or \"stmts\"",
                ));
            }
        }
    }
    json.finish()?;
    if promise.watermark.is_none() && !promise.end {
        return Err(Fault::wrong(0, "the line promises nothing")
            .hint("\"watermark\" says what comes no more, \"end\":true that nothing does"));
    }
    let event = promise.to_event(sink.pool());
    sink.event(event).map_err(|e| Fault::sink(0, &e))
}

fn watermark(json: &mut Json<'_>) -> Result<crate::Timestamp, Fault> {
    let at = json.offset();
    txn::timestamp(json)?.ok_or_else(|| {
        Fault::expected(at, "a timestamp or [physical,logical]")
            .hint("a promise without a timestamp has no member \"watermark\"")
    })
}

#[cfg(test)]
mod tests {
    use crate::jsonl::read_lines;
    use crate::notation::to_text;
    use crate::{Format, History, HistoryBuilder, Input, Source, Value};

    fn read(text: &str) -> Result<History, String> {
        let mut builder = HistoryBuilder::new();
        read_lines(text.as_bytes(), "f", &mut builder).map_err(|e| e.to_string())?;
        Ok(builder.finish())
    }

    #[test]
    fn the_members_may_stand_in_any_order() {
        let same = [
            r#"{"watermark":70,"session":"s","end":true}"#,
            r#"{"end":true,"session":"s","watermark":70}"#,
            r#" { "session" : "s" , "watermark" : 70 , "end" : true } "#,
            r#"{"session":"s","end":true,"watermark":70}"#,
        ];
        for line in same {
            let history = read(line).unwrap();
            assert_eq!(to_text(&history), "event watermark {end:true,session:s,watermark:70}\n");
            assert_eq!(history.session_count(), 0, "{line}");
        }
        let hybrid = read(r#"{"watermark":[70,2]}"#).unwrap();
        assert_eq!(to_text(&hybrid), "event watermark {watermark:[70,2]}\n");
        assert_eq!(hybrid.promises().next().unwrap().session, None);
        let plain = read(r#"{"watermark":[70,0],"end":false}"#).unwrap();
        assert_eq!(to_text(&plain), "event watermark {watermark:70}\n");
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        let lines = "{\"watermark\":70,\"session\":\"s\"}\n{\"watermark\":[70,2],\"session\":1,\"end\":true}\n\
                     {\"end\":true,\"session\":2}\n{\"watermark\":9}\n{\"end\":true}\n";
        let mut written = Vec::new();
        let format = Format::named("jsonl").unwrap();
        format.write.unwrap()(&read(lines).unwrap(), &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written.split_once('\n').unwrap().1, lines);
        // A stream may begin with one.
        for line in lines.lines() {
            let source = Source::File(Input::new("f", line.as_bytes().to_vec()));
            assert!((format.looks_like)(&source), "{line}");
        }
    }

    #[test]
    fn a_transaction_keeps_its_attributes() {
        for line in [
            r#"{"session":1,"watermark":70,"end":true,"ops":[]}"#,
            r#"{"watermark":70,"end":true,"ops":[],"session":1}"#,
            r#"{"end":true,"watermark":70,"session":1,"stmts":[]}"#,
        ] {
            let history = read(line).unwrap();
            let attrs = ["end", "watermark"].map(|name| history.txns().next()?.attr(name));
            assert_eq!(attrs, [Some(Value::TRUE), Some(Value::from_u32(70))], "{line}");
        }
        let event = read(r#"{"end":9,"begin":5,"event":"kill"}"#).unwrap();
        assert_eq!((event.faults().count(), event.txn_count()), (1, 0));
    }

    #[test]
    fn complaints() {
        let complains = |line: &str, expected: &str| {
            assert_eq!(read(line).err().unwrap().lines().next().unwrap(), expected);
        };
        complains(
            r#"{"watermark":70,"sesion":1}"#,
            "f:1:17: expected \"watermark\", \"session\" or \"end\", found '\"sesion\":1}'",
        );
        complains(r#"{"end":false,"session":1}"#, "f:1:1: the line promises nothing");
        complains(
            r#"{"watermark":70,"watermark":71}"#,
            "f:1:17: the object names \"watermark\" twice",
        );
        complains(
            r#"{"watermark":null}"#,
            "f:1:14: expected a timestamp or [physical,logical], found 'null}'",
        );
        complains(r#"{"end":1}"#, "f:1:8: expected true, found '1}'");
        // A transaction is still told that it has no operations.
        complains(
            r#"{"session":1,"txn":3,"end":true}"#,
            "f:1:1: the transaction has neither \"ops\" nor \"stmts\"",
        );
    }
}
