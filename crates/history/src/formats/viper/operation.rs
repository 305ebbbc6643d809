//! One operation, in either of its two notations, and what it means in the model.

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::Interval;
use crate::formats::unknown::push_unknown;
use crate::op::Effect;
use crate::pool::Pool;
use crate::text::Json;
use crate::text::json::JsonKind;
use crate::value::Value;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ViperAction {
    #[default]
    Read,
    Write,
    Insert,
    Delete,
    Range,
}

/// The parts of an operation that are single values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
enum OperationPart {
    Key,
    Value,
    Seen,
    Dead,
    Done,
    Low,
    High,
}

const PARTS: usize = 7;

impl OperationPart {
    /// What objects call it.
    const fn name(self) -> &'static str {
        match self {
            OperationPart::Key => "key",
            OperationPart::Value => "value",
            OperationPart::Seen => "readValue",
            OperationPart::Dead => "isDead",
            OperationPart::Done => "succ",
            OperationPart::Low => "key1",
            OperationPart::High => "key2",
        }
    }

    const ALL: [OperationPart; PARTS] = [
        OperationPart::Key,
        OperationPart::Value,
        OperationPart::Seen,
        OperationPart::Dead,
        OperationPart::Done,
        OperationPart::Low,
        OperationPart::High,
    ];

    fn from_name(name: &str) -> Option<OperationPart> {
        OperationPart::ALL.into_iter().find(|p| p.name() == name)
    }
}

impl ViperAction {
    fn from_name(name: &str) -> Option<ViperAction> {
        Some(match name {
            "r" => ViperAction::Read,
            "w" => ViperAction::Write,
            "i" => ViperAction::Insert,
            "d" => ViperAction::Delete,
            "range" => ViperAction::Range,
            _ => return None,
        })
    }

    /// The parts of the array notation, in order; the two result sets of a range follow them.
    const fn parts(self) -> &'static [OperationPart] {
        match self {
            ViperAction::Read => &[OperationPart::Key, OperationPart::Value, OperationPart::Dead],
            ViperAction::Write => &[OperationPart::Key, OperationPart::Value, OperationPart::Done],
            ViperAction::Insert | ViperAction::Delete => &[
                OperationPart::Key,
                OperationPart::Value,
                OperationPart::Seen,
                OperationPart::Dead,
                OperationPart::Done,
            ],
            ViperAction::Range => &[OperationPart::Low, OperationPart::High],
        }
    }
}

/// A row of a range query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The offset in the file.
    at: usize,
    /// The key.
    pub(super) id: Value,
    /// The key that the range compares, which is the same unless there is a secondary key.
    sort: Value,
    /// The value; absent if it is 0.
    pub(super) value: Value,
}

/// One operation as the file has it: a scratch buffer that is filled again and again.
#[derive(Default)]
pub(super) struct ViperOperation {
    at: usize,
    kind: ViperAction,
    parts: [Option<(usize, Value)>; PARTS],
    live: Option<Vec<Row>>,
    dead: Option<Vec<Row>>,
    interval: Interval,
    unknown: Vec<(Value, Value)>,
}

/// The names that operations give to their attributes.
pub(super) struct ViperNames {
    range: Value,
    pub(super) tombstone: Value,
    dead: Value,
    sort: Value,
}

impl ViperNames {
    pub(super) fn new(pool: &mut Pool) -> ViperNames {
        ViperNames {
            range: pool.text("range"),
            tombstone: pool.text("tombstone"),
            dead: pool.text("dead"),
            sort: pool.text("sk"),
        }
    }
}

const OPERATION: &str = "an operation: \"r\", \"w\", \"i\", \"d\" or \"range\"";

impl ViperOperation {
    /// Reads the next operation.
    pub(super) fn parse(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<(), Fault> {
        self.at = json.offset();
        self.parts = [None; PARTS];
        self.live = None;
        self.dead = None;
        self.interval = Interval::default();
        self.unknown.clear();
        match json.peek()? {
            JsonKind::Array => self.parse_array(json, pool),
            JsonKind::Object => self.parse_object(json, pool),
            _ => Err(Fault::expected(self.at, "an operation, an array or an object")),
        }
    }

    fn parse_array(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<(), Fault> {
        json.begin_array()?;
        need_item(json, OPERATION)?;
        self.kind = kind(json)?;
        for &part in self.kind.parts() {
            need_item(json, part_title(self.kind, part))?;
            self.parts[part as usize] = Some((json.offset(), json.value(pool)?));
        }
        if self.kind == ViperAction::Range {
            need_item(json, "the live rows of the range")?;
            self.live = Some(rows(json, pool)?);
            need_item(json, "the dead rows of the range")?;
            self.dead = Some(rows(json, pool)?);
        }
        let at = json.offset();
        if json.next_item()? { Err(Fault::expected(at, "']' after the operation")) } else { Ok(()) }
    }

    fn parse_object(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<(), Fault> {
        let mut found = None;
        json.begin_object()?;
        while let Some(member) = json.next_member()? {
            let at = json.offset();
            let mut fresh = true;
            match &*member {
                "opType" => fresh = found.replace(kind(json)?).is_none(),
                "liveKVs" => fresh = self.live.replace(rows(json, pool)?).is_none(),
                "deadKVs" => fresh = self.dead.replace(rows(json, pool)?).is_none(),
                "reqTS" => fresh = set_time(&mut self.interval.begin, json)?,
                "resTS" => fresh = set_time(&mut self.interval.end, json)?,
                name => match OperationPart::from_name(name) {
                    Some(part) => {
                        let value = Some((at, json.value(pool)?));
                        fresh = std::mem::replace(&mut self.parts[part as usize], value).is_none();
                    }
                    None => {
                        let entry = (pool.text(name), json.value(pool)?);
                        self.unknown.push(entry);
                    }
                },
            }
            if !fresh {
                return Err(Fault::wrong(at, format!("the operation has \"{member}\" twice")));
            }
        }
        let missing = || Fault::expected(self.at, "an operation with a member \"opType\"");
        self.kind = found.ok_or_else(missing)?;
        Ok(())
    }

    /// Adds the operation to a transaction. The result says whether it is an insert that was done
    /// although the key was there.
    pub(super) fn emit(
        &mut self,
        draft: &mut TxnDraft,
        pool: &mut Pool,
        names: &ViperNames,
    ) -> Result<bool, Fault> {
        let mut overwrote = false;
        match self.kind {
            ViperAction::Read => {
                let value = self.integer(OperationPart::Value, pool)?;
                self.emit_read(value, draft, pool, names)?;
            }
            ViperAction::Write => {
                let key = self.key(pool)?;
                draft.write(key, self.written(pool)?);
                draft.set_effect(self.effect()?);
            }
            ViperAction::Insert => overwrote = self.emit_insert(draft, pool, names)?,
            ViperAction::Delete => self.emit_delete(draft, pool, names)?,
            ViperAction::Range => self.emit_range(draft, pool, names)?,
        }
        self.emit_rest(draft, pool)?;
        Ok(overwrote)
    }

    /// A read that returned a value, or met the tombstone that the value names. The result is the
    /// value in the model.
    fn emit_read(
        &mut self,
        value: Value,
        draft: &mut TxnDraft,
        pool: &mut Pool,
        names: &ViperNames,
    ) -> Result<Value, Fault> {
        let key = self.key(pool)?;
        let dead = self.boolean(OperationPart::Dead)?;
        let seen = if dead { Value::ABSENT } else { value };
        draft.read(key, seen);
        if dead && value != Value::ABSENT {
            draft.op_attr(names.tombstone, value);
        }
        Ok(seen)
    }

    /// An insert looks whether the key is there, and writes if it is not: an insert-if-absent. One
    /// that was done although it saw a live value did overwrite, so it is a plain write.
    fn emit_insert(
        &mut self,
        draft: &mut TxnDraft,
        pool: &mut Pool,
        names: &ViperNames,
    ) -> Result<bool, Fault> {
        let key = self.key(pool)?;
        let seen = self.integer(OperationPart::Seen, pool)?;
        draft.begin_statement();
        let seen = self.emit_read(seen, draft, pool, names)?;
        let value = self.written(pool)?;
        let effect = self.effect()?;
        let overwrote = seen != Value::ABSENT && effect == Effect::Done;
        if overwrote {
            draft.write(key, value);
        } else {
            draft.insert_if_absent(key, value, effect);
        }
        draft.end_statement();
        Ok(overwrote)
    }

    fn emit_delete(
        &mut self,
        draft: &mut TxnDraft,
        pool: &mut Pool,
        names: &ViperNames,
    ) -> Result<(), Fault> {
        let key = self.key(pool)?;
        let seen = self.integer(OperationPart::Seen, pool)?;
        let tombstone = self.integer(OperationPart::Value, pool)?;
        draft.begin_statement();
        self.emit_read(seen, draft, pool, names)?;
        draft.delete(key, self.effect()?);
        if tombstone != Value::ABSENT {
            draft.op_attr(names.tombstone, tombstone);
        }
        draft.end_statement();
        Ok(())
    }

    fn emit_range(
        &mut self,
        draft: &mut TxnDraft,
        pool: &mut Pool,
        names: &ViperNames,
    ) -> Result<(), Fault> {
        let (low, high) = self.bounds(pool)?;
        let missing = |what: &str| Fault::expected(self.at, format!("a range with {what}"));
        let live = self.live.as_deref().ok_or_else(|| missing("\"liveKVs\""))?;
        let dead = self.dead.as_deref().ok_or_else(|| missing("\"deadKVs\""))?;
        let mut result = Vec::with_capacity(live.len());
        for row in live {
            if row.value == Value::ABSENT {
                return Err(null_value(row.at, "a live row holds"));
            }
            result.push((pool.key(row.id), row.value));
        }
        let predicate = pool.list(&[names.range, low, high]);
        draft.predicate_read(predicate, Some(&result)).map_err(|e| Fault::sink(self.at, &e))?;
        if !dead.is_empty() {
            let pairs = dead.iter().map(|row| (row.id, row.value));
            draft.op_attr(names.dead, list_of_pairs(pool, pairs));
        }
        let mut odd = live.iter().chain(dead).filter(|row| row.sort != row.id).peekable();
        if odd.peek().is_some() {
            draft.op_attr(names.sort, list_of_pairs(pool, odd.map(|row| (row.id, row.sort))));
        }
        Ok(())
    }

    /// What the operation carries beyond its meaning: times, and members of other versions.
    fn emit_rest(&mut self, draft: &mut TxnDraft, pool: &mut Pool) -> Result<(), Fault> {
        let Interval { begin, end } = self.interval;
        if let (Some(begin), Some(end)) = (begin, end)
            && end < begin
        {
            return Err(Fault::wrong(self.at, "the operation ends before it begins"));
        }
        draft.statement_interval(self.interval);
        for part in OperationPart::ALL {
            if let Some((_, value)) = self.parts[part as usize].take()
                && !self.kind.parts().contains(&part)
            {
                self.unknown.push((pool.text(part.name()), value));
            }
        }
        push_unknown(self.at, &mut self.unknown, |name, value| draft.op_attr(name, value))
    }

    /// The rows of a range without bounds, and the rows that are deleted, if it is one.
    pub(super) fn whole_range(&self, draft: &TxnDraft, pool: &Pool) -> Option<&[Row]> {
        let alone = draft.op_count() == 1 && self.kind == ViperAction::Range;
        let predicate = draft.elements.first().filter(|_| alone)?;
        let crate::Datum::List(parts) = pool.datum(*predicate) else { return None };
        let unbounded = parts.iter().skip(1).all(|bound| bound == Value::ABSENT);
        self.live.as_deref().filter(|_| unbounded)
    }

    fn part(&self, part: OperationPart) -> Result<(usize, Value), Fault> {
        let missing = || Fault::expected(self.at, format!("an operation with \"{}\"", part.name()));
        self.parts[part as usize].ok_or_else(missing)
    }

    fn key(&self, pool: &mut Pool) -> Result<crate::ids::Key, Fault> {
        let (at, name) = self.part(OperationPart::Key)?;
        check_key(at, name, pool)?;
        Ok(pool.key(name))
    }

    /// A value; 0 and null are the absence of one.
    fn integer(&self, part: OperationPart, pool: &Pool) -> Result<Value, Fault> {
        let (at, value) = self.part(part)?;
        value_or_absent(at, value, pool)
    }

    /// The value that is written, which must not be the null value.
    fn written(&self, pool: &Pool) -> Result<Value, Fault> {
        let (at, _) = self.part(OperationPart::Value)?;
        match self.integer(OperationPart::Value, pool)? {
            Value::ABSENT => Err(null_value(at, "the operation writes")),
            value => Ok(value),
        }
    }

    fn boolean(&self, part: OperationPart) -> Result<bool, Fault> {
        let (at, value) = self.part(part)?;
        let what = part_title(self.kind, part);
        value.as_bool().ok_or_else(|| Fault::expected(at, what))
    }

    fn effect(&self) -> Result<Effect, Fault> {
        Ok(if self.boolean(OperationPart::Done)? { Effect::Done } else { Effect::Failed })
    }

    /// The bounds of a range. No bound is the text `nil`; where operations are objects, it is the
    /// smallest or the largest integer.
    fn bounds(&self, pool: &Pool) -> Result<(Value, Value), Fault> {
        let bound = |part: OperationPart, extreme: i64| {
            let (at, value) = self.part(part)?;
            let none = pool.as_text(value) == Some("nil")
                || pool.as_wide_int(value) == Some(i128::from(extreme))
                || value == Value::ABSENT;
            if none {
                return Ok(Value::ABSENT);
            }
            check_key(at, value, pool).map(|()| value)
        };
        Ok((bound(OperationPart::Low, i64::MIN)?, bound(OperationPart::High, i64::MAX)?))
    }
}

/// What a part is, in words.
const fn part_title(kind: ViperAction, part: OperationPart) -> &'static str {
    match (part, kind) {
        (OperationPart::Key, _) => "a key",
        (OperationPart::Value, ViperAction::Delete) => "the tombstone's identifier",
        (OperationPart::Value, ViperAction::Read) => "the value that was read",
        (OperationPart::Value, _) => "the value to write",
        (OperationPart::Seen, _) => "the value that was there before",
        (OperationPart::Dead, _) => "true or false: whether the key was deleted",
        (OperationPart::Done, _) => "true or false: whether it was done",
        (OperationPart::Low, _) => "the lower bound of the range, a key or \"nil\"",
        (OperationPart::High, _) => "the upper bound of the range, a key or \"nil\"",
    }
}

fn need_item(json: &mut Json<'_>, what: &str) -> Result<(), Fault> {
    let at = json.offset();
    if json.next_item()? { Ok(()) } else { Err(Fault::expected(at, what)) }
}

fn kind(json: &mut Json<'_>) -> Result<ViperAction, Fault> {
    let at = json.offset();
    let name = json.string(OPERATION)?;
    ViperAction::from_name(&name).ok_or_else(|| Fault::expected(at, OPERATION))
}

/// Sets a time from milliseconds, and says whether it was the first of its name.
fn set_time(time: &mut Option<i64>, json: &mut Json<'_>) -> Result<bool, Fault> {
    let fresh = time.is_none();
    *time = nanoseconds(json)?;
    Ok(fresh)
}

fn rows(json: &mut Json<'_>, pool: &mut Pool) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        rows.push(row(json, pool)?);
    }
    Ok(rows)
}

fn row(json: &mut Json<'_>, pool: &mut Pool) -> Result<Row, Fault> {
    let at = json.offset();
    let (mut id, mut sort, mut value) = (None, None, None);
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        let here = json.offset();
        let slot = match &*member {
            "id" => &mut id,
            "sk" => &mut sort,
            "val" => &mut value,
            name => {
                let complaint = format!("a row has no member \"{name}\"");
                return Err(Fault::wrong(here, complaint).hint("it has \"id\", \"sk\" and \"val\""));
            }
        };
        if slot.replace((here, json.value(pool)?)).is_some() {
            return Err(Fault::wrong(here, format!("the row has \"{member}\" twice")));
        }
    }
    let missing = || Fault::expected(at, "a row with \"id\" and \"val\"");
    let (id_at, id) = id.ok_or_else(missing)?;
    let (value_at, value) = value.ok_or_else(missing)?;
    check_key(id_at, id, pool)?;
    let value = value_or_absent(value_at, value, pool)?;
    Ok(Row { at, id, sort: sort.map_or(id, |(_, sort)| sort), value })
}

fn check_key(at: usize, name: Value, pool: &Pool) -> Result<(), Fault> {
    let sound = name.as_int().is_some()
        || matches!(pool.datum(name), crate::Datum::Int(_) | crate::Datum::Text(_));
    if sound { Ok(()) } else { Err(Fault::expected(at, "a key, an integer or a text")) }
}

fn value_or_absent(at: usize, value: Value, pool: &Pool) -> Result<Value, Fault> {
    match value.as_int() {
        Some(0) => Ok(Value::ABSENT),
        Some(_) => Ok(value),
        None if value == Value::ABSENT || pool.as_wide_int(value).is_some() => Ok(value),
        None => Err(Fault::expected(at, "a value, an integer")),
    }
}

fn null_value(at: usize, what: &str) -> Fault {
    Fault::wrong(at, format!("{what} 0, which is Viper's null value"))
        .hint("0 says that the key does not exist; a read of 0 could not be told from that")
}

/// A list of lists of two values each.
pub(super) fn list_of_pairs(pool: &mut Pool, pairs: impl Iterator<Item = (Value, Value)>) -> Value {
    let parts: Vec<Value> = pairs.map(|(a, b)| pool.list(&[a, b])).collect();
    pool.list(&parts)
}

/// A time in milliseconds as nanoseconds. ViperBench writes 0 or -1 where it took no time.
pub(super) fn nanoseconds(json: &mut Json<'_>) -> Result<Option<i64>, Fault> {
    let at = json.offset();
    let time = json.integer("a time in milliseconds")?;
    if time == 0 || time == -1 {
        return Ok(None);
    }
    let too_far = || Fault::wrong(at, "the time does not fit in 64 bits of nanoseconds");
    time.checked_mul(1_000_000).ok_or_else(too_far).map(Some)
}
