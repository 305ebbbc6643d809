//! Requests and answers: one JSON object a line, in strict turns. `docs/drivers.md` describes them.

use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isolde_history::ErrorClass;
use serde_json::Value;

use super::process::{NoLine, Process, printable};
use crate::failure::{After, Failure};

/// The version of the protocol.
pub(super) const PROTOCOL: u64 = 1;
/// How long a session that is closed may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// What drivers that died said last, for a caller that asks afterwards.
pub(super) type LastWords = Arc<Mutex<Option<String>>>;

/// Takes what was said last.
pub(super) fn take(last_words: &LastWords) -> Option<String> {
    last_words.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A process that is asked and answers.
pub(super) struct Talk {
    process: Process,
    /// How long an answer may take.
    timeout: Duration,
    /// How long it may take to end when it is asked to.
    grace: Duration,
    /// The number of the last request.
    id: u64,
    request: Vec<u8>,
    /// What the last answer said of when things happened.
    ts: Option<Value>,
    /// Whether nothing more can be asked, since it is unknown what the next answer would belong to.
    over: bool,
    last_words: LastWords,
}

impl Talk {
    /// Starts a process.
    pub(super) fn start(
        command: &str,
        timeout: Duration,
        last_words: &LastWords,
    ) -> Result<Talk, Failure> {
        let process = Process::start(command).map_err(|error| {
            Failure::new(After::Lost, "driver-start", format!("cannot run /bin/sh: {error}"))
        })?;
        let (request, last_words) = (Vec::with_capacity(256), Arc::clone(last_words));
        let (grace, id, ts, over) = (GRACE, 0, None, false);
        Ok(Talk { process, timeout, grace, id, request, ts, over, last_words })
    }

    /// Gives it more time to end.
    pub(super) fn with_grace(mut self, grace: Duration) -> Talk {
        self.grace = grace;
        self
    }

    /// Asks, and waits for the answer. `fields` are members of a JSON object, each behind a comma.
    pub(super) fn ask(&mut self, verb: &str, fields: fmt::Arguments<'_>) -> Result<Value, Failure> {
        self.post(verb, fields)?;
        self.answer()
    }

    /// Sends a request.
    pub(super) fn post(&mut self, verb: &str, fields: fmt::Arguments<'_>) -> Result<(), Failure> {
        if self.over {
            return Err(Failure::lost("driver-ended", "the driver is gone"));
        }
        self.id += 1;
        self.ts = None;
        self.request.clear();
        // Writing into memory cannot fail.
        let _ = writeln!(self.request, r#"{{"id":{},"do":"{verb}"{fields}}}"#, self.id);
        let sent = self.process.send(&self.request);
        sent.map_err(|trouble| self.lost(&trouble))
    }

    /// Waits for the answer to the last request.
    pub(super) fn answer(&mut self) -> Result<Value, Failure> {
        self.answer_to(self.id)
    }

    /// The member `ts` of the last answer, be it an error.
    pub(super) fn ts(&self) -> Option<&Value> {
        self.ts.as_ref()
    }

    /// The number of the last request.
    pub(super) fn last_id(&self) -> u64 {
        self.id
    }

    /// Waits for an answer that must be the one to this request.
    pub(super) fn answer_to(&mut self, id: u64) -> Result<Value, Failure> {
        let line = match self.process.line(self.timeout) {
            Ok(line) => line,
            Err(trouble) => return Err(self.lost(&trouble)),
        };
        let reply = match understand(line, id) {
            Ok(reply) => reply,
            Err(problem) => return Err(self.nonsense(&problem)),
        };
        self.ts = reply.ts;
        if matches!(&reply.answer, Err(failure) if failure.after == After::Lost) {
            self.kill();
        }
        reply.answer
    }

    /// The driver said what the protocol does not know. Nothing that it says can be trusted.
    pub(super) fn nonsense(&mut self, problem: &str) -> Failure {
        self.kill();
        let message = format!("the driver broke the protocol: {problem}");
        Failure::new(After::Lost, Failure::IMPOSSIBLE, message)
    }

    fn lost(&mut self, trouble: &NoLine) -> Failure {
        self.kill();
        let said = self.process.last_lines();
        if !said.is_empty() {
            let mut words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
            *words = Some(format!("{trouble}; it said:\n{said}"));
        }
        let said = said.lines().last().map_or(String::new(), |line| format!(": {}", line.trim()));
        let code = match trouble {
            NoLine::Ended(_) => "driver-ended",
            NoLine::Silent(_) => "timeout",
            NoLine::Pipe(_) => "pipe",
            NoLine::TooLong => Failure::IMPOSSIBLE,
        };
        Failure::lost(code, format!("{trouble}{said}"))
    }

    /// How it ended and what it said last, if it ended by itself while nothing was asked of it.
    pub(super) fn died(&mut self) -> Option<String> {
        if self.over || !self.process.is_over() {
            return None;
        }
        let trouble = self.process.dying();
        let said = self.process.last_lines();
        Some(match said.is_empty() {
            true => trouble.to_string(),
            false => format!("{trouble}; it said:\n{said}"),
        })
    }

    fn kill(&mut self) {
        self.over = true;
        self.process.end(Duration::ZERO);
    }

    /// Asks it to end; whether it did by itself. Told to go, if it is to be told, and not only shown the
    /// end of its input.
    pub(super) fn end(&mut self, tell: bool) -> bool {
        if self.over {
            return false;
        }
        if tell {
            let _ = self.post("close", format_args!(""));
        }
        self.over = true;
        self.process.end(self.grace)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What a line says.
#[derive(Clone, PartialEq, Debug)]
struct DriverReply {
    answer: Result<Value, Failure>,
    ts: Option<Value>,
}

/// What a line says; the error is that of a line that is no answer.
fn understand(line: &[u8], id: u64) -> Result<DriverReply, String> {
    let shown = || printable(&String::from_utf8_lossy(line), 80);
    let Ok(Value::Object(mut members)) = serde_json::from_slice(line) else {
        return Err(format!("a line of its output is no JSON object: {}", shown()));
    };
    if members.get("id").and_then(Value::as_u64) != Some(id) {
        return Err(format!("the answer to request {id} has to have that id: {}", shown()));
    }
    let answer = match (members.remove("ok"), members.remove("error")) {
        (Some(answer), None) => Ok(answer),
        (None, Some(error)) => Err(failure(&error)?),
        _ => return Err(format!("an answer has either 'ok' or 'error': {}", shown())),
    };
    Ok(DriverReply { answer, ts: members.remove("ts") })
}

fn failure(error: &Value) -> Result<Failure, String> {
    let after = match error.get("after").and_then(Value::as_str) {
        Some("aborted") => After::Aborted,
        Some("open") => After::Open,
        Some("lost") => After::Lost,
        _ => return Err("'after' of an error is 'aborted', 'open' or 'lost'".to_owned()),
    };
    let text = |name| match error.get(name) {
        Some(Value::String(text)) => Ok(text.as_str()),
        _ => Err(format!("'{name}' of an error is a text")),
    };
    let expected = match error.get("expected") {
        None => false,
        Some(Value::Bool(expected)) => *expected,
        Some(_) => return Err("'expected' of an error is true or false".to_owned()),
    };
    let class = match error.get("class").map(Value::as_str) {
        // Drivers older than the member do not say it.
        None if after == After::Lost => ErrorClass::ConnectionLost,
        None => ErrorClass::Other,
        Some(class) => class.and_then(ErrorClass::from_name).ok_or_else(|| {
            let known = ErrorClass::ALL.map(ErrorClass::name).join(", ");
            format!("'class' of an error is one of {known}")
        })?,
    };
    let ended = ended(error, after)?;
    // What we say of drivers ourselves must not be said by one.
    let code = printable(text("code")?, 40);
    let code = if code == Failure::IMPOSSIBLE { "driver".to_owned() } else { code };
    let message = printable(text("message")?, 400);
    Ok(Failure { after, code, message, expected, class, ended })
}

/// Whether the server ended the transaction at this very request. Of one that is aborted that goes without
/// saying; of one that was lost it is unknown.
fn ended(error: &Value, after: After) -> Result<bool, String> {
    match error.get("ended") {
        None => Ok(after == After::Aborted),
        Some(Value::Bool(true)) if after == After::Lost => {
            Err("'ended' of an error is not true where 'after' is 'lost'".to_owned())
        }
        Some(Value::Bool(ended)) => Ok(*ended),
        Some(_) => Err("'ended' of an error is true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let understood = |line: &[u8]| understand(line, 3).unwrap().answer;
        assert_eq!(understood(br#"{"id":3,"ok":[1]}"#), Ok(Value::from(vec![1])));
        let reply = understand(br#"{"id":3,"ok":"committed","ts":[1,2]}"#, 3).unwrap();
        assert_eq!((reply.answer, reply.ts), (Ok("committed".into()), Some(vec![1, 2].into())));
        let line =
            br#"{"id":3,"error":{"code":"c","message":"m","after":"aborted","expected":true}}"#;
        // One that is older than classes.
        let failure = Failure::conflict(After::Aborted, "c", "m").with_class(ErrorClass::Other);
        assert_eq!(understood(line), Err(failure));
        let line = br#"{"id":3,"error":{"code":"c","message":"m","after":"open","ended":true,
            "class":"deadlock","expected":true}}"#;
        let failure = Failure::conflict(After::Open, "c", "m").with_class(ErrorClass::Deadlock);
        assert_eq!(understood(line), Err(Failure { ended: true, ..failure }));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for wrong in [
            "",
            "hello",
            "[]",
            "{",
            r#"{"ok":1}"#,
            r#"{"id":"3","ok":1}"#,
            r#"{"id":2,"ok":1}"#,
            r#"{"id":3}"#,
            r#"{"id":3,"ok":1,"error":{}}"#,
            r#"{"id":3,"error":"bad"}"#,
            r#"{"id":3,"error":{"code":"c","message":"m"}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"maybe"}}"#,
            r#"{"id":3,"error":{"code":1,"message":"m","after":"open"}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"open","expected":1}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"open","class":"bad"}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"open","class":1}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"open","ended":1}}"#,
            r#"{"id":3,"error":{"code":"c","message":"m","after":"lost","ended":true}}"#,
        ] {
            assert!(understand(wrong.as_bytes(), 3).is_err(), "{wrong}");
        }
        let deep = "[".repeat(100_000);
        assert!(understand(deep.as_bytes(), 3).is_err());
    }
}
