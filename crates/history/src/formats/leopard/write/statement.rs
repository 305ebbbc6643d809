//! One statement: what it was, its rows, and what else is said of it.

use crate::attributes::names;
use crate::evidence::LockMode;
use crate::formats::leopard::words::{
    LOCKS, READ_MODES, SNAPSHOT_COLUMN, TUPLE_MEMBERS, TraceKind, attributes, text_of_table,
};
use crate::formats::leopard::write::members;
use crate::formats::leopard::write::slice::show;
use crate::history::{History, Stmt};
use crate::op::{Effect, Op, OpKind};
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// What is known of a statement before it is written.
pub(super) struct StatementWriter<'h> {
    history: &'h History,
    reads: Vec<Op<'h>>,
    writes: Vec<Op<'h>>,
    pub(super) kind: TraceKind,
    pub(super) failed: bool,
    pub(super) savepoint: Option<Value>,
    /// The attributes that have no member of another name.
    attrs: Vec<(Value, Value)>,
    lock: Option<&'static str>,
    read_mode: Option<&'static str>,
    locked_tables: Option<Value>,
    snapshot: Option<Value>,
    snapshot_of: Option<Value>,
}

impl<'h> StatementWriter<'h> {
    pub(super) fn of(history: &'h History, stmt: Stmt<'h>) -> Result<StatementWriter<'h>, String> {
        let mut writer = StatementWriter {
            history,
            reads: Vec::new(),
            writes: Vec::new(),
            kind: TraceKind::Select,
            failed: stmt.attr(names::ERROR).is_some(),
            savepoint: None,
            attrs: Vec::new(),
            lock: None,
            read_mode: None,
            locked_tables: None,
            snapshot: None,
            snapshot_of: None,
        };
        for op in stmt.ops() {
            writer.add(op)?;
        }
        writer.find_kind(stmt)?;
        for (name, value) in stmt.attrs() {
            writer.attribute(name, value)?;
        }
        Ok(writer)
    }

    fn pool(&self) -> &'h Pool {
        self.history.pool()
    }

    /// Takes an operation, of which a statement has reads and then writes of one kind.
    fn add(&mut self, op: Op<'h>) -> Result<(), String> {
        let title = op.kind().title();
        let kind = match op.kind() {
            OpKind::Read => TraceKind::Select,
            OpKind::Write => TraceKind::Update,
            OpKind::InsertIfAbsent => TraceKind::Insert,
            OpKind::Delete => TraceKind::Delete,
            OpKind::Savepoint => TraceKind::Start,
            OpKind::RollbackTo => TraceKind::Rollback,
            OpKind::Release => TraceKind::Commit,
            _ => return Err(format!("its {title}")),
        };
        let alone = self.reads.is_empty() && self.writes.is_empty() && self.savepoint.is_none();
        if !kind.has_rows() {
            if !alone || self.failed || op.effect() != Effect::Done {
                return Err(format!("its {title} that is not a statement of its own"));
            }
            if op.value() == Value::ABSENT {
                return Err(format!("its {title} without a name"));
            }
            (self.kind, self.savepoint) = (kind, Some(op.value()));
            return Ok(());
        }
        let first_write = self.writes.first().map(Op::kind);
        if self.savepoint.is_some() || first_write.is_some_and(|first| first != op.kind()) {
            return Err(format!("its {title} after something else in one statement"));
        }
        let fails = self.failed && kind != TraceKind::Select;
        if op.effect() != (if fails { Effect::Failed } else { Effect::Done }) {
            return Err(format!(
                "its {title} that did nothing, or perhaps nothing, but only with an error do all \
                 writes of a statement fail"
            ));
        }
        if kind == TraceKind::Select {
            self.reads.push(op);
        } else {
            self.writes.push(op);
            self.kind = kind;
        }
        Ok(())
    }

    /// What the statement was, by the attribute that says it or by its operations.
    fn find_kind(&mut self, stmt: Stmt<'_>) -> Result<(), String> {
        let shown = self.kind;
        if self.savepoint.is_none() && stmt.ops().len() == 0 {
            let times = stmt.attr(names::SNAPSHOT_INTERVAL);
            let times = times.filter(|times| snapshot_text(self.pool(), *times).is_some());
            if times.is_some() && stmt.attr(attributes::KIND).is_none() {
                self.kind = TraceKind::SetSnapshot;
                self.snapshot = times;
                return Ok(());
            }
        }
        let Some(said) = stmt.attr(attributes::KIND) else { return Ok(()) };
        let kind = self.pool().as_text(said).and_then(TraceKind::from_name);
        let without_writes = self.writes.is_empty() && self.savepoint.is_none();
        let fits = kind.filter(|kind| *kind != shown && without_writes).filter(|kind| match kind {
            TraceKind::Update | TraceKind::Insert | TraceKind::Delete => true,
            // A beginning or an end that did nothing.
            TraceKind::Start | TraceKind::Commit | TraceKind::Rollback => {
                self.reads.is_empty() && self.failed
            }
            _ => false,
        });
        let shown = || format!("a statement of kind {}", show(self.pool(), said));
        self.kind = fits.ok_or_else(shown)?;
        if !self.kind.has_rows() {
            self.savepoint = stmt.attr(attributes::SAVEPOINT);
            let names_one = self.savepoint.is_some() || self.kind == TraceKind::Commit;
            if !names_one {
                return Err(format!(
                    "a statement of kind {} without a savepoint",
                    self.kind.name()
                ));
            }
        }
        Ok(())
    }

    fn attribute(&mut self, name: Value, value: Value) -> Result<(), String> {
        let pool = self.pool();
        match pool.as_text(name) {
            Some(attributes::KIND) => {}
            Some(attributes::SAVEPOINT)
                if self.kind.has_rows() || self.kind == TraceKind::SetSnapshot =>
            {
                self.savepoint = Some(value);
            }
            Some(attributes::SAVEPOINT) if self.savepoint == Some(value) && self.failed => {}
            Some(attributes::SAVEPOINT) => return Err("a savepoint of a statement".to_owned()),
            Some(names::LOCK) => {
                let mode = pool.as_text(value).and_then(LockMode::from_name);
                self.lock = LOCKS.iter().find(|lock| Some(lock.1) == mode).map(|lock| lock.0);
                if self.lock.is_none() {
                    // Locks of other strengths have no word, but are kept.
                    self.attrs.push((name, value));
                }
            }
            Some(names::READ_MODE) => {
                let mode = pool.as_text(value);
                let known = READ_MODES.iter().find(|known| Some(known.1) == mode);
                self.read_mode = known.map(|known| known.0);
                if known.is_none() {
                    self.attrs.push((name, value));
                }
            }
            Some(names::SNAPSHOT_INTERVAL) if self.kind == TraceKind::SetSnapshot => {}
            Some(attributes::SNAPSHOT_OF) if self.kind == TraceKind::SetSnapshot => {
                self.snapshot_of = Some(value);
            }
            Some(attributes::LOCKED_TABLES) if self.kind.has_rows() => {
                self.locked_tables = Some(value);
            }
            _ => self.attrs.push((name, value)),
        }
        Ok(())
    }

    /// The members behind the names and times of the operation.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        if let Some(lock) = self.lock {
            members::text(out, "traceLockMode", lock);
        }
        if let Some(mode) = self.read_mode {
            members::text(out, "readMode", mode);
        }
        if let Some(savepoint) = self.savepoint {
            members::value(out, self.pool(), "savepoint", savepoint)?;
        }
        let renamed = self.attrs.iter().map(|&(name, value)| (self.renamed(name), name, value));
        let (named, others): (Vec<_>, Vec<_>) = renamed.partition(|attr| attr.0.is_some());
        for (member, _, value) in named {
            if self.pool().as_text(value) == Some("") {
                return Err("an attribute that is an empty text".to_owned());
            }
            members::value(out, self.pool(), member.unwrap_or_default(), value)?;
        }
        let others: Vec<(Value, Value)> = others.iter().map(|attr| (attr.1, attr.2)).collect();
        let taken = members::taken(&[attributes::KIND, attributes::SNAPSHOT_OF]);
        let may = ["operationID", "isolationLevel"];
        members::attributes(out, self.pool(), &others, &may, &taken)?;
        self.tuples(out)
    }

    /// The member that an attribute of another name is.
    fn renamed(&self, name: Value) -> Option<&'static str> {
        match self.pool().as_text(name)? {
            names::PREDICATE => Some("predicateLock"),
            names::ERROR => Some("exception"),
            names::SQL => Some("sql"),
            _ => None,
        }
    }

    pub(super) fn has_attr(&self, name: &str) -> bool {
        self.attrs.iter().any(|attr| self.pool().as_text(attr.0) == Some(name))
    }

    fn tuples(&self, out: &mut Vec<u8>) -> Result<(), String> {
        if let Some(times) = self.snapshot {
            return self.snapshot_tuple(out, times);
        }
        let mut any = false;
        if let Some(tables) = self.locked_tables {
            self.tables(out, tables)?;
            any = true;
        }
        for op in &self.reads {
            open_tuple(out, "readTupleList", std::mem::replace(&mut any, true));
            self.row(out, *op)?;
        }
        if any {
            out.push(b']');
        }
        for (at, op) in self.writes.iter().enumerate() {
            open_tuple(out, "writeTupleList", at > 0);
            self.row(out, *op)?;
        }
        if !self.writes.is_empty() {
            out.push(b']');
        }
        Ok(())
    }

    /// Tables that were locked as a whole, of which no primary key is told.
    fn tables(&self, out: &mut Vec<u8>, tables: Value) -> Result<(), String> {
        let no_tables = || format!("the locked tables {}", show(self.pool(), tables));
        let Datum::List(list) = self.pool().datum(tables) else { return Err(no_tables()) };
        if list.is_empty() {
            return Err(no_tables());
        }
        for (at, table) in list.iter().enumerate() {
            open_tuple(out, "readTupleList", at > 0);
            let table = text_of_table(self.pool(), table).ok_or_else(no_tables)?;
            members::text(out, "table", &table);
            out.push(b'}');
        }
        Ok(())
    }

    /// One operation on one row, up to the end of its object.
    fn row(&self, out: &mut Vec<u8>, op: Op<'_>) -> Result<(), String> {
        let pool = self.pool();
        let name = pool.key_name(op.key());
        let no_row =
            || format!("the key {}, which is not a table and a primary key", show(pool, name));
        let Datum::List(parts) = pool.datum(name) else { return Err(no_row()) };
        let mut parts = parts.iter();
        let (Some(table), Some(primary_key), None) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(no_row());
        };
        members::text(out, "table", &text_of_table(pool, table).ok_or_else(no_row)?);
        members::text(out, "primaryKey", &members::name(pool, primary_key, "the primary key")?);
        match (op.kind(), op.value()) {
            (OpKind::Delete, _) | (OpKind::Read, Value::UNOBSERVED) => {}
            (OpKind::Read, Value::ABSENT) => {
                members::member(out, "valueMap");
                out.extend_from_slice(b"null");
            }
            (_, row) => {
                members::member(out, "valueMap");
                members::columns(out, pool, row)?;
            }
        }
        self.row_attributes(out, op)?;
        out.push(b'}');
        Ok(())
    }

    fn row_attributes(&self, out: &mut Vec<u8>, op: Op<'_>) -> Result<(), String> {
        let pool = self.pool();
        let mut others = Vec::new();
        for (name, value) in self.history.op_attrs(op.id()) {
            match pool.as_text(name) {
                Some(attributes::REAL_VALUES) => {
                    members::member(out, "realValueMap");
                    members::columns(out, pool, value)?;
                }
                Some(attributes::VALUES) if op.kind() == OpKind::Delete => {
                    members::member(out, "valueMap");
                    members::columns(out, pool, value)?;
                }
                _ => others.push((name, value)),
            }
        }
        members::attributes(out, pool, &others, &[], &TUPLE_MEMBERS)
    }

    fn snapshot_tuple(&self, out: &mut Vec<u8>, times: Value) -> Result<(), String> {
        let pool = self.pool();
        open_tuple(out, "readTupleList", false);
        if let Some(row) = self.snapshot_of {
            let no_row = || format!("the snapshot of {}", show(pool, row));
            let Datum::List(parts) = pool.datum(row) else { return Err(no_row()) };
            let mut parts = parts.iter();
            let (Some(table), Some(primary_key), None) = (parts.next(), parts.next(), parts.next())
            else {
                return Err(no_row());
            };
            if table == Value::ABSENT && primary_key == Value::ABSENT {
                return Err(no_row());
            }
            if table != Value::ABSENT {
                members::text(out, "table", &text_of_table(pool, table).ok_or_else(no_row)?);
            }
            if primary_key != Value::ABSENT {
                members::text(out, "primaryKey", &members::name(pool, primary_key, "the row")?);
            }
        }
        members::member(out, "valueMap");
        out.push(b'{');
        let text = snapshot_text(pool, times).unwrap_or_default();
        members::text(out, SNAPSHOT_COLUMN, &text);
        out.extend_from_slice(b"}}]");
        Ok(())
    }
}

/// Begins an object in a list that is the value of a member, behind others if there are some.
fn open_tuple(out: &mut Vec<u8>, list: &str, any: bool) {
    if any {
        out.push(b',');
    } else {
        members::member(out, list);
        out.push(b'[');
    }
    out.push(b'{');
}

/// Two times as a `SET_SNAPSHOT` has them.
fn snapshot_text(pool: &Pool, times: Value) -> Option<String> {
    let Datum::List(times) = pool.datum(times) else { return None };
    let times: Option<Vec<i64>> =
        times.iter().map(|time| i64::try_from(pool.as_wide_int(time)?).ok()).collect();
    match times?[..] {
        [begin, end] => Some(format!("{begin},{end}")),
        _ => None,
    }
}
