//! What a driver says of itself, and what is believed of it.

use std::sync::{Mutex, PoisonError};

use isolde_history::OpKind;
use isolde_spec::Level;
use serde_json::Value;

use super::process::printable;
use super::stamps;
use super::talk::PROTOCOL;
use crate::offer::Offer;
use crate::timestamps::CommitOrder;

/// How many levels a driver may offer.
const MAX_LEVELS: usize = 16;
/// How long the name of a level may be. It becomes a part of the name of a folder.
const MAX_NAME: usize = 40;
/// How long what it says of a level may be.
const MAX_REMARK: usize = 300;
/// How long what it wants its sessions to know may be.
const MAX_CONTEXT: usize = 4096;

/// The kinds of access, by the names that they have as requests.
pub(super) const KINDS: [(&str, OpKind); 6] = [
    ("read", OpKind::Read),
    ("write", OpKind::Write),
    ("append", OpKind::Append),
    ("list", OpKind::ListRead),
    ("cas", OpKind::Cas),
    ("insert", OpKind::InsertIfAbsent),
];

/// What a driver says of itself.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DriverAbout {
    /// The database system.
    pub(super) name: String,
    /// Its version.
    pub(super) version: String,
    /// The levels, the weakest first.
    pub(super) offers: &'static [Offer],
    /// What each of them says of the order of its commit timestamps.
    pub(super) orders: Vec<CommitOrder>,
    /// What it can do.
    pub(super) kinds: Vec<OpKind>,
    /// What each of its sessions has to be told.
    pub(super) context: String,
}

impl DriverAbout {
    /// Reads the answer to `hello`; the error says what is wrong with it.
    pub(super) fn read(answer: &Value) -> Result<DriverAbout, String> {
        if answer.get("protocol").and_then(Value::as_u64) != Some(PROTOCOL) {
            return Err(format!("'protocol' has to be {PROTOCOL}"));
        }
        let context = match answer.get("context") {
            None | Some(Value::Null) => String::new(),
            Some(context) => text(context, "context")?.to_owned(),
        };
        if context.len() > MAX_CONTEXT {
            return Err(format!("'context' is longer than {MAX_CONTEXT} bytes"));
        }
        let named = |name: &str| match answer.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(printable(text, 60)),
            _ => Err(format!("'{name}' has to be a text")),
        };
        Ok(DriverAbout {
            name: named("name")?,
            version: named("version")?,
            offers: offers(answer.get("levels"))?,
            orders: orders(answer.get("levels"))?,
            kinds: kinds(answer.get("kinds"))?,
            context,
        })
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("'{name}' has to be a text"))
}

fn kinds(list: Option<&Value>) -> Result<Vec<OpKind>, String> {
    let wanted = || KINDS.map(|(name, _)| name).join(", ");
    let Some(Value::Array(list)) = list else {
        return Err(format!("'kinds' has to be a list of {}", wanted()));
    };
    let kind = |value: &Value| {
        let named = KINDS.iter().find(|(name, _)| value.as_str() == Some(name));
        let unknown = || format!("'kinds' knows {}, and not {value}", wanted());
        named.map(|(_, kind)| *kind).ok_or_else(unknown)
    };
    let kinds: Vec<OpKind> = list.iter().map(kind).collect::<Result<_, _>>()?;
    if kinds.is_empty() { Err("'kinds' is empty".to_owned()) } else { Ok(kinds) }
}

fn offers(list: Option<&Value>) -> Result<&'static [Offer], String> {
    let Some(Value::Array(list)) = list else {
        return Err("'levels' has to be a list of levels".to_owned());
    };
    if list.is_empty() || list.len() > MAX_LEVELS {
        return Err(format!("there have to be 1 to {MAX_LEVELS} levels"));
    }
    let levels: Vec<(&str, Level, String)> = list.iter().map(level).collect::<Result<_, _>>()?;
    for (at, (name, ..)) in levels.iter().enumerate() {
        if levels.iter().skip(at + 1).any(|(other, ..)| other == name) {
            return Err(format!("the level '{name}' is there twice"));
        }
    }
    Ok(keep(&levels))
}

fn orders(list: Option<&Value>) -> Result<Vec<CommitOrder>, String> {
    list.and_then(Value::as_array).into_iter().flatten().map(stamps::commit_order).collect()
}

fn level(value: &Value) -> Result<(&str, Level, String), String> {
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(format!(
            "the 'name' of a level has to be up to {MAX_NAME} lower-case letters, digits and \
             dashes: {}",
            printable(&value.to_string(), 80)
        ));
    }
    let promises = value.get("promises").and_then(Value::as_str).unwrap_or_default();
    let Some(promises) = Level::named(promises) else {
        let known = Level::ALL.map(Level::name).join(", ");
        return Err(format!("what the level '{name}' 'promises' has to be one of {known}"));
    };
    let remark = match value.get("remark") {
        None | Some(Value::Null) => String::new(),
        Some(remark) => printable(text(remark, "remark")?, MAX_REMARK),
    };
    Ok((name, promises, remark))
}

/// Offers that live for ever, as those of other targets do, which are constants. A few hundred bytes of
/// each driver are never given back; a driver that is opened again gets the same ones.
fn keep(levels: &[(&str, Level, String)]) -> &'static [Offer] {
    static KEPT: Mutex<Vec<&'static [Offer]>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |offers: &[Offer]| {
        offers.len() == levels.len()
            && offers.iter().zip(levels).all(|(offer, (name, promises, remark))| {
                offer.name == *name && offer.promises == *promises && offer.remark == remark
            })
    };
    if let Some(offers) = kept.iter().find(|offers| is_same(offers)) {
        return offers;
    }
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let offers = levels.iter().map(|(name, promises, remark)| Offer {
        name: leak(name),
        promises: *promises,
        remark: leak(remark),
    });
    let offers: &'static [Offer] = Box::leak(offers.collect::<Vec<_>>().into_boxed_slice());
    kept.push(offers);
    offers
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hello() -> Value {
        json!({
            "protocol": 1, "name": "Some", "version": "2", "kinds": ["read", "write"],
            "levels": [{"name": "a-1", "promises": "ser", "remark": "why"}],
        })
    }

    #[test]
    fn what_a_driver_says_is_read() {
        let about = DriverAbout::read(&hello()).unwrap();
        assert_eq!((about.name.as_str(), about.version.as_str()), ("Some", "2"));
        assert_eq!(about.kinds, [OpKind::Read, OpKind::Write]);
        let offer = Offer { name: "a-1", promises: Level::Serializable, remark: "why" };
        assert_eq!(about.offers, [offer]);
        // Nothing is kept twice.
        assert!(std::ptr::eq(about.offers, DriverAbout::read(&hello()).unwrap().offers));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let level = |name: &str| json!([{"name": name, "promises": "si"}]);
        let many: Vec<Value> =
            (0..17).map(|n| json!({"name": format!("l{n}"), "promises": "si"})).collect();
        for (member, value, complaint) in [
            ("protocol", json!(2), "'protocol' has to be 1"),
            ("name", json!(7), "'name' has to be a text"),
            ("version", json!(" "), "'version' has to be a text"),
            ("context", json!(["x"]), "'context' has to be a text"),
            ("context", json!("x".repeat(5000)), "longer than 4096"),
            ("kinds", json!("read"), "'kinds' has to be a list"),
            ("kinds", json!([]), "'kinds' is empty"),
            ("kinds", json!(["scan"]), "and not \"scan\""),
            ("levels", json!(null), "'levels' has to be a list"),
            ("levels", json!([]), "1 to 16 levels"),
            ("levels", json!(many), "1 to 16 levels"),
            ("levels", level("../../x"), "lower-case letters"),
            ("levels", level(""), "lower-case letters"),
            ("levels", json!([{"name": "x", "promises": "acid"}]), "has to be one of"),
            ("levels", json!([{"name": "x", "promises": "si", "remark": 1}]), "'remark'"),
            ("levels", json!([{"name": "x", "promises": "si", "commit_order": 1}]), "is 'serial'"),
        ] {
            let mut hello = hello();
            hello[member] = value;
            let error = DriverAbout::read(&hello).unwrap_err();
            assert!(error.contains(complaint), "{member}: {error}");
        }
    }
}
