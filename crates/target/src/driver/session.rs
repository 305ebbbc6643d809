//! A session: one process, one transaction after another.

use isolde_history::OpKind;
use serde_json::Value;

use super::about::KINDS;
use super::process::printable;
use super::stamps;
use super::talk::Talk;
use crate::failure::{After, Failure};
use crate::request::{Answer, Request};
use crate::target::{Ended, Session};
use crate::timestamps::Timestamps;

/// A session of a driver.
pub(super) struct DriverSession {
    talk: Talk,
    /// When the last transaction whose commit was asked for happened.
    timestamps: Timestamps,
}

impl DriverSession {
    /// A session that is open.
    pub(super) fn new(talk: Talk) -> DriverSession {
        DriverSession { talk, timestamps: Timestamps::default() }
    }

    fn plain(&mut self, verb: &str) -> Result<Value, Failure> {
        self.talk.ask(verb, format_args!(""))
    }
}

impl Session for DriverSession {
    fn begin(&mut self) -> Result<(), Failure> {
        self.plain("begin").map(drop)
    }

    fn begin_reading(&mut self) -> Result<bool, Failure> {
        let answer = self.talk.ask("begin", format_args!(r#","only_reads":true"#))?;
        // Drivers older than the member answer whatever they like, and declare nothing.
        match answer.get("read_only") {
            None => Ok(false),
            Some(Value::Bool(declared)) => Ok(*declared),
            Some(other) => {
                let shown = printable(&other.to_string(), 80);
                Err(self.talk.nonsense(&format!("'read_only' is true or false, not {shown}")))
            }
        }
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let Some((verb, _)) = KINDS.iter().find(|(_, kind)| *kind == request.kind) else {
            let message = format!("drivers have no way to do a {}", request.kind.title());
            return Err(Failure::new(After::Open, "unsupported", message));
        };
        let Request { table, row, value, expected, .. } = *request;
        let answer = match request.kind {
            OpKind::Read | OpKind::ListRead => {
                self.talk.ask(verb, format_args!(r#","table":{table},"row":{row}"#))
            }
            OpKind::Cas => self.talk.ask(
                verb,
                format_args!(
                    r#","table":{table},"row":{row},"expected":{expected},"value":{value}"#
                ),
            ),
            _ => {
                self.talk.ask(verb, format_args!(r#","table":{table},"row":{row},"value":{value}"#))
            }
        }?;
        read(request.kind, &answer).ok_or_else(|| {
            let shown = printable(&answer.to_string(), 80);
            self.talk.nonsense(&format!("'{verb}' of row {row} cannot be answered by {shown}"))
        })
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        let answer = self.plain("commit");
        let read = stamps::read(self.talk.ts());
        self.timestamps = read.map_err(|problem| self.talk.nonsense(&problem))?;
        let answer = answer?;
        match answer.as_str() {
            Some("committed") => Ok(Ended::Committed),
            Some("rolled-back") => Ok(Ended::RolledBack),
            _ => {
                let shown = printable(&answer.to_string(), 80);
                Err(self.talk.nonsense(&format!(
                    "'commit' is answered by 'committed' or 'rolled-back', not by {shown}"
                )))
            }
        }
    }

    fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.plain("rollback").map(drop)
    }
}

/// What an answer says, if it fits the request. A number with a fraction or of more than 64 bits is no
/// value that any transaction wrote.
fn read(kind: OpKind, answer: &Value) -> Option<Answer> {
    Some(match (kind, answer) {
        (OpKind::Read, Value::Null) => Answer::Value(None),
        (OpKind::Read, value) => Answer::Value(Some(value.as_i64()?)),
        (OpKind::ListRead, Value::Null) => Answer::List(None),
        (OpKind::ListRead, Value::Array(list)) => {
            Answer::List(Some(list.iter().map(Value::as_i64).collect::<Option<_>>()?))
        }
        (OpKind::ListRead, _) => return None,
        (_, done) => Answer::Done(done.as_bool()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_fit_their_requests() {
        assert_eq!(read(OpKind::Read, &json!(null)), Some(Answer::Value(None)));
        assert_eq!(read(OpKind::Read, &json!(i64::MIN)), Some(Answer::Value(Some(i64::MIN))));
        assert_eq!(read(OpKind::ListRead, &json!([1, 2])), Some(Answer::List(Some(vec![1, 2]))));
        assert_eq!(read(OpKind::Cas, &json!(false)), Some(Answer::Done(false)));
        for (kind, wrong) in [
            (OpKind::Read, json!("7")),
            (OpKind::Read, json!(7.0)),
            (OpKind::Read, json!(u64::MAX)),
            (OpKind::Read, json!([7])),
            (OpKind::ListRead, json!(7)),
            (OpKind::ListRead, json!([1, "2"])),
            (OpKind::Write, json!(null)),
            (OpKind::Append, json!(1)),
        ] {
            assert_eq!(read(kind, &wrong), None, "{kind:?} {wrong}");
        }
    }
}
