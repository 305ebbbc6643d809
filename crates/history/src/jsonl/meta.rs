//! The header and the trailer: what is known of the run as a whole.

use hashbrown::{HashMap, HashSet};

use crate::error::Fault;
use crate::ids::Key;
use crate::jsonl::attrs::attributes;
use crate::jsonl::member::{member, named_twice, once, pair};
use crate::jsonl::odd::{Object, OddNames};
use crate::jsonl::reserved::VERSION;
use crate::meta::{Clock, InitialState, Meta};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::text::Json;
use crate::value::Value;

/// Names that an object has had, where there may be any number of them.
type FactNames = HashSet<Value>;

/// What a header or trailer says; what it does not say stays as it was.
#[derive(Default)]
struct Facts {
    info: Vec<(Value, Value)>,
    initial: Option<InitialState>,
    clock: Option<Clock>,
    complete: Option<bool>,
}

/// What holds for a file without a header: every key is absent at first.
pub(super) fn assume<S: Sink + ?Sized>(sink: &mut S) {
    sink.meta().initial = InitialState::every(Value::ABSENT);
}

/// `{"isolde":1,"server":"postgres",...}`, from behind its brace.
pub(super) fn read_header<S: Sink + ?Sized>(
    json: &mut Json<'_>,
    sink: &mut S,
    odd: &mut OddNames,
) -> Result<(), Fault> {
    let facts = facts(json, sink.pool(), true, odd)?;
    json.finish()?;
    facts.apply(sink.meta());
    Ok(())
}

/// `{"meta":{"complete":false,...}}`, from behind its first brace.
pub(super) fn read_trailer<S: Sink + ?Sized>(
    json: &mut Json<'_>,
    sink: &mut S,
    odd: &mut OddNames,
) -> Result<(), Fault> {
    let mut found = None;
    while let Some((at, name)) = member(json)? {
        if name != "meta" {
            return Err(Fault::expected(at, "nothing beside \"meta\"")
                .hint("an attribute named \"meta\" belongs into \"attrs\""));
        }
        if found.is_some() {
            return Err(named_twice(at, &name));
        }
        json.begin_object()?;
        found = Some(facts(json, sink.pool(), false, odd)?);
    }
    json.finish()?;
    found.unwrap_or_default().apply(sink.meta());
    Ok(())
}

/// The members of a header or trailer, up to its closing brace.
fn facts(
    json: &mut Json<'_>,
    pool: &mut Pool,
    header: bool,
    odd: &mut OddNames,
) -> Result<Facts, Fault> {
    let mut facts = Facts::default();
    let mut names = FactNames::new();
    let mut seen = 0;
    while let Some((at, name)) = member(json)? {
        let ours = ["isolde", "clock", "complete", "initial", "info"];
        let ours = ours.iter().position(|n| *n == name).filter(|&i| header || i != 0);
        if let Some(bit) = ours {
            once(&mut seen, bit as u32, at, &name)?;
        }
        match ours {
            Some(0) => version(json)?,
            Some(1) => facts.clock = Some(clock(json)?),
            Some(2) => facts.complete = Some(json.boolean("true or false")?),
            Some(3) => facts.initial = Some(initial(json, pool)?),
            Some(_) => {
                attributes(json, pool, |at, name, value| facts.add(&mut names, at, name, value))?;
            }
            None if !header && name == "isolde" => {
                return Err(Fault::wrong(at, "the version of the format belongs into the header"));
            }
            None => {
                let value = json.value(pool)?;
                let name = pool.text(&name);
                facts.add(&mut names, at, name, value)?;
                odd.check(Object::Header, at, name, pool);
            }
        }
    }
    Ok(facts)
}

fn version(json: &mut Json<'_>) -> Result<(), Fault> {
    let at = json.offset();
    let version = json.integer("the version of the format, a number")?;
    if version > VERSION {
        return Err(Fault::wrong(at, format!("the file has version {version} of the format"))
            .hint(format!("this program reads version {VERSION}: use a newer one")));
    }
    if version < VERSION {
        return Err(Fault::expected(at, format!("version {VERSION} of the format")));
    }
    Ok(())
}

fn clock(json: &mut Json<'_>) -> Result<Clock, Fault> {
    let what = "\"nanoseconds\" or \"events\"";
    let at = json.offset();
    Clock::from_name(&json.string(what)?).ok_or_else(|| Fault::expected(at, what))
}

/// `{"default":0,"keys":[["x",1]]}`
fn initial(json: &mut Json<'_>, pool: &mut Pool) -> Result<InitialState, Fault> {
    let mut initial = InitialState::default();
    let mut seen = 0;
    json.begin_object()?;
    while let Some((at, name)) = member(json)? {
        match &*name {
            "default" => {
                once(&mut seen, 0, at, &name)?;
                initial.default = Some(json.value(pool)?);
            }
            "keys" => {
                once(&mut seen, 1, at, &name)?;
                initial.given = initial_keys(json, pool)?;
            }
            _ => return Err(Fault::expected(at, "\"default\" or \"keys\"")),
        }
    }
    Ok(initial)
}

fn initial_keys(json: &mut Json<'_>, pool: &mut Pool) -> Result<Vec<(Key, Value)>, Fault> {
    let mut given = Vec::new();
    let mut keys: HashSet<Key> = HashSet::new();
    json.begin_array()?;
    while json.next_item()? {
        let at = json.offset();
        let (key, value) = pair(json, pool, "a pair of key and value")?;
        let key = pool.key(Fault::check_name(at, "a key", key)?);
        if !keys.insert(key) {
            return Err(Fault::wrong(at, "the key has an initial value already"));
        }
        given.push((key, value));
    }
    Ok(given)
}

impl Facts {
    fn add(
        &mut self,
        names: &mut FactNames,
        at: usize,
        name: Value,
        value: Value,
    ) -> Result<(), Fault> {
        if !names.insert(name) {
            return Err(Fault::wrong(at, "the fact is given twice"));
        }
        self.info.push((name, value));
        Ok(())
    }

    fn apply(self, meta: &mut Meta) {
        if let Some(initial) = self.initial {
            meta.initial = initial;
        }
        meta.clock = self.clock.unwrap_or(meta.clock);
        meta.complete = self.complete.unwrap_or(meta.complete);
        // What `Meta::set` does, but not quadratic in the number of facts.
        let known: HashMap<Value, usize> =
            meta.info.iter().enumerate().map(|(i, (n, _))| (*n, i)).collect();
        for (name, value) in self.info {
            match known.get(&name) {
                Some(&i) => meta.info[i].1 = value,
                None => meta.info.push((name, value)),
            }
        }
    }
}
