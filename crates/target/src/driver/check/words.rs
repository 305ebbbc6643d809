//! Answers as the protocol writes them: a driver's author knows `"committed"`, not our types.

use serde_json::Value;

use crate::request::Answer;
use crate::target::Ended;

/// Something that a driver can answer.
pub(super) trait InWords {
    /// The answer as JSON.
    fn words(&self) -> String;
}

impl InWords for Value {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl InWords for Vec<i64> {
    fn words(&self) -> String {
        Value::from(self.as_slice()).to_string()
    }
}

impl InWords for Ended {
    fn words(&self) -> String {
        let text = match self {
            Ended::Committed => "committed",
            Ended::RolledBack => "rolled-back",
        };
        Value::from(text).to_string()
    }
}

impl InWords for Answer {
    fn words(&self) -> String {
        match self {
            Answer::Value(value) => Value::from(*value).to_string(),
            Answer::List(list) => Value::from(list.clone()).to_string(),
            Answer::Done(done) => done.to_string(),
        }
    }
}
