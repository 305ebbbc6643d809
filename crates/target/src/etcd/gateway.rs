//! etcd's JSON gateway: what is asked, and what errors mean.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::http::Http;
use crate::failure::{After, Failure};

/// A connection to one node.
pub(super) struct Gateway {
    http: Http,
}

/// What is under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyValue {
    /// The revision that wrote it; 0 if there is nothing.
    pub(super) revision: i64,
    /// What is there.
    pub(super) text: Option<String>,
}

/// How etcd answered a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EtcdCommit {
    /// Whether everything that was read was as it had been.
    pub(super) succeeded: bool,
    /// The revision that the transaction made; of one that put nothing, the revision at which it
    /// compared: etcd compares and answers from one view of the store, and this is its revision.
    pub(super) revision: Option<i64>,
}

impl Gateway {
    pub(super) fn connect(address: &str, timeout: Duration) -> Result<Gateway, Failure> {
        match Http::connect(address, timeout) {
            Ok(http) => Ok(Gateway { http }),
            Err(error) => {
                let message = format!("cannot connect to etcd at {address}: {error}");
                Err(Failure::lost("connect", message))
            }
        }
    }

    /// Asks. Without an answer, or with one that is none, everything may have happened.
    pub(super) fn ask(&mut self, path: &str, body: &Value) -> Result<Value, Failure> {
        let (status, body) = self
            .http
            .post(path, &body.to_string())
            .map_err(|error| Failure::lost("connection", format!("no answer of etcd: {error}")))?;
        let body = json(status, &body)?;
        if status == 200 && body.get("error").is_none() {
            return Ok(body);
        }
        Err(refused(&body))
    }

    /// Asks for a watch, and hands on each message as it comes, until enough was told.
    pub(super) fn watch(
        &mut self,
        body: &Value,
        each: &mut dyn FnMut(&Value) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut wrong = Ok(());
        let watched = self.http.lines("/v3/watch", &body.to_string(), &mut |status, line| {
            let told = json(status, line).and_then(|message| match status {
                200 => each(&message),
                _ => Err(refused(&message)),
            });
            told.unwrap_or_else(|failure| {
                wrong = Err(failure);
                false
            })
        });
        let lost = |error| Failure::lost("connection", format!("no answer of etcd: {error}"));
        watched.map_err(lost).and(wrong)
    }

    /// Reads a key: as of now, or as this node has it.
    pub(super) fn get(&mut self, key: &str, stale: bool) -> Result<KeyValue, Failure> {
        self.range(&json!({"key": encode(key), "serializable": stale}))
    }

    /// Reads a key as it was at a revision; an error if that was compacted away.
    pub(super) fn get_at(&mut self, key: &str, revision: i64) -> Result<KeyValue, Failure> {
        self.range(&json!({"key": encode(key), "revision": revision.to_string()}))
    }

    fn range(&mut self, body: &Value) -> Result<KeyValue, Failure> {
        let answer = self.ask("/v3/kv/range", body)?;
        let Some(pair) = answer.get("kvs").and_then(|kvs| kvs.get(0)) else {
            return Ok(KeyValue { revision: 0, text: None });
        };
        let revision = integer(pair.get("mod_revision")).ok_or_else(|| odd("a range"))?;
        let text = text(pair.get("value")).ok_or_else(|| odd("a range"))?;
        Ok(KeyValue { revision, text: Some(text) })
    }

    /// Puts all, if everything that was read is as it was. If there is nothing to put,
    /// one of the keys is read: a transaction that neither reads nor writes is decided by what this node
    /// has, which may be old.
    pub(super) fn commit<'t>(
        &mut self,
        read: impl Iterator<Item = (&'t String, i64)>,
        puts: impl Iterator<Item = (&'t String, &'t String)>,
    ) -> Result<EtcdCommit, Failure> {
        let compare: Vec<Value> = read
            .map(|(key, revision)| {
                json!({"key": encode(key), "target": "MOD", "result": "EQUAL",
                       "mod_revision": revision.to_string()})
            })
            .collect();
        let put = |(key, text): (&String, &String)| json!({"requestPut": {"key": encode(key), "value": encode(text)}});
        let mut success: Vec<Value> = puts.map(put).collect();
        if let (true, Some(first)) = (success.is_empty(), compare.first()) {
            success.push(json!({"requestRange": {"key": first["key"]}}));
        }
        let answer = self.ask("/v3/kv/txn", &json!({"compare": compare, "success": success}))?;
        // A comparison that failed is told by nothing but the absence of success: the answer has to be
        // one of etcd's at least.
        let Some(header) = answer.get("header") else {
            return Err(Failure::new(After::Lost, "answer", "an answer without a header"));
        };
        let succeeded = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
        Ok(EtcdCommit { succeeded, revision: integer(header.get("revision")) })
    }

    /// Removes all keys that begin with that text.
    pub(super) fn remove(&mut self, prefix: &str) -> Result<(), Failure> {
        let body = json!({"key": encode(prefix), "range_end": until(prefix)});
        self.ask("/v3/kv/deleterange", &body).map(drop)
    }

    /// The version of this node.
    pub(super) fn version(&mut self) -> Result<String, Failure> {
        let status = self.ask("/v3/maintenance/status", &json!({}))?;
        Ok(status.get("version").and_then(Value::as_str).unwrap_or("unknown").to_owned())
    }

    /// The name of this node.
    pub(super) fn name(&mut self) -> Result<String, Failure> {
        let list = self.ask("/v3/cluster/member/list", &json!({}))?;
        let own = list.get("header").and_then(|header| header.get("member_id"));
        let members = list.get("members").and_then(Value::as_array);
        let me = members.into_iter().flatten().find(|m| own.is_some() && m.get("ID") == own);
        let name = me.and_then(|m| m.get("name")).and_then(Value::as_str);
        Ok(name.unwrap_or_default().to_owned())
    }
}

/// What etcd answered, as JSON.
fn json(status: u16, body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|_| {
        let message = format!("etcd answered {status} without JSON");
        Failure::new(After::Lost, "answer", message)
    })
}

/// The error that an answer is.
fn refused(body: &Value) -> Failure {
    let message = body.get("error").and_then(Value::as_str).unwrap_or("no message");
    let code = body.get("code").and_then(Value::as_u64).unwrap_or(0);
    // Only what was refused before it was proposed is certain (3: an invalid argument). A leader
    // that changed and a time-out leave a proposal on its way.
    let after = if code == 3 { After::Aborted } else { After::Lost };
    let shown: String = message.chars().filter(|c| !c.is_control()).take(300).collect();
    Failure::new(after, format!("etcd-{code}"), shown)
}

/// An answer of another shape than it should have.
pub(super) fn odd(what: &str) -> Failure {
    let message = format!("etcd answered {what} with something else");
    Failure::new(After::Lost, "answer", message)
}

/// An integer of 64 bits, which JSON of protocol buffers has as a text.
pub(super) fn integer(value: Option<&Value>) -> Option<i64> {
    value?.as_str()?.parse().ok()
}

/// A text, which JSON of protocol buffers has in base 64, and leaves out if it is empty.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let coded = value.and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Where the keys end that begin with that text.
pub(super) fn until(prefix: &str) -> String {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        // Our prefixes end in ASCII.
        *last += 1;
    }
    STANDARD.encode(end)
}

pub(super) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}
