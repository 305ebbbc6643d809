//! A case as a history: a row is a key, and its version key the value. What isolation is broken by then is for checkers of
//! histories to say, with their names and witnesses.

use std::collections::{BTreeMap, BTreeSet};

use isolde_history::{
    Effect, History, HistoryBuilder, InitialState, Key, Outcome, Pool, Sink, SinkError, TxnDraft,
    Value,
};
use isolde_target::Said;

use crate::case::{Case, Does};
use crate::observation::{Fate, Row, Seen, versions_in};
use crate::plan::At;
use crate::settle::SettledRun;
use crate::versions::{RowKey, Versions};

/// What was observed, as a history. Each transaction is a session of its own: no order among them is claimed.
pub fn history(case: &Case, run: &SettledRun) -> Result<History, SinkError> {
    let versions = Versions::new(case, &run.plan, &run.observation);
    let mut writer = Writer {
        case,
        run,
        builder: HistoryBuilder::new(),
        draft: TxnDraft::default(),
        stray: stray_writes(case, run, &versions),
        certain_absence: certain_absence(run, &versions),
    };
    writer.meta();
    for txn in 0..case.transactions.len() {
        writer.transaction(txn)?;
    }
    writer.orders(&versions)?;
    Ok(writer.builder.finish())
}

/// Versions that were seen and whose writers were rolled back or undone: nothing else says which rows those wrote.
fn stray_writes(
    case: &Case,
    run: &SettledRun,
    versions: &Versions,
) -> BTreeMap<At, BTreeSet<RowKey>> {
    let mut stray: BTreeMap<At, BTreeSet<RowKey>> = BTreeMap::new();
    for (txn, statement) in run.plan.statements() {
        let seen = run.observation.of((txn, statement));
        for (table, rows) in all_seen(case, (txn, statement), seen) {
            for (key, version) in versions_in(rows) {
                let Some(writer) = versions.writer(table, version) else { continue };
                if writer.0 != txn && !case.transactions[writer.0].commits {
                    stray.entry(writer).or_default().insert((table, key));
                }
            }
        }
    }
    stray
}

/// Every set of rows that was seen by a statement or right before it, with the table that they are of.
pub(crate) fn all_seen<'r>(case: &Case, at: At, seen: &'r Seen) -> Vec<(usize, &'r [Row])> {
    let does = &case.transactions[at.0].statements[at.1].does;
    let mut all: Vec<(usize, &[Row])> =
        seen.version_sets.iter().map(|(table, rows)| (*table, rows.as_slice())).collect();
    if let (Some(target), Some(before)) = (does.target(), &seen.before) {
        all.push((target, before));
    }
    if let (Does::Select { plain: Some((table, _)) }, Some(Ok(Said::Rows(rows)))) =
        (does, &seen.answer)
    {
        all.push((*table, &rows.rows));
    }
    all
}

/// The rows that are absent for one reason only: they were inserted, or they were deleted, and not both.
fn certain_absence(run: &SettledRun, versions: &Versions) -> BTreeSet<RowKey> {
    let initial = run
        .initial
        .iter()
        .enumerate()
        .flat_map(|(table, rows)| versions_in(rows).map(move |(key, _)| (table, key)));
    let died = initial.filter(|item| versions.deaths.contains_key(item));
    let born = versions.births.keys().filter(|item| !versions.deaths.contains_key(item));
    died.chain(born.copied()).collect()
}

struct Writer<'w> {
    case: &'w Case,
    run: &'w SettledRun,
    builder: HistoryBuilder,
    draft: TxnDraft,
    stray: BTreeMap<At, BTreeSet<RowKey>>,
    certain_absence: BTreeSet<RowKey>,
}

impl Writer<'_> {
    /// What the rows were before.
    fn meta(&mut self) {
        let mut given = Vec::new();
        for (table, rows) in self.run.initial.iter().enumerate() {
            for (key, version) in versions_in(rows) {
                let pool = self.builder.pool();
                given.push((row_key(self.case, pool, (table, key)), pool.big(version)));
            }
        }
        self.builder.meta().initial = InitialState { default: Some(Value::ABSENT), given };
    }

    fn transaction(&mut self, txn: usize) -> Result<(), SinkError> {
        let statements = self.run.plan.statements().filter(|(of, _)| *of == txn);
        let statements: Vec<At> = statements.collect();
        if statements.is_empty() {
            return Ok(());
        }
        let pool = self.builder.pool();
        let name = pool.text(&format!("T{txn}"));
        let session = pool.session(name);
        self.draft.reset(session);
        self.draft.outcome = match self.run.observation.fates[txn] {
            Fate::Committed => Outcome::Committed,
            Fate::RolledBack => Outcome::Aborted,
            Fate::Refused(ref failure) if failure.after != isolde_target::After::Lost => {
                Outcome::Aborted
            }
            Fate::Refused(_) | Fate::Open => Outcome::Unknown,
        };
        for at in statements {
            self.statement(at)?;
        }
        self.builder.transaction(&self.draft)
    }

    fn statement(&mut self, at: At) -> Result<(), SinkError> {
        let statement = &self.case.transactions[at.0].statements[at.1];
        let seen = self.run.observation.of(at);
        if !seen.succeeded() {
            return Ok(());
        }
        if statement.does.is_control() {
            self.control(&statement.does);
            return Ok(());
        }
        self.draft.begin_statement();
        self.reads(at, seen);
        for item in self.stray.remove(&at).into_iter().flatten() {
            self.write(item, &statement.does);
        }
        if let Some(table) = statement.does.target() {
            for key in seen.written(&statement.does) {
                self.write((table, key), &statement.does);
            }
        }
        self.draft.end_statement();
        Ok(())
    }

    fn control(&mut self, does: &Does) {
        // One that is not there was refused by the server, too.
        match does {
            Does::Savepoint(name) => {
                let name = self.builder.pool().text(name);
                self.draft.savepoint(name);
            }
            Does::RollbackTo(name) => {
                let name = self.builder.pool().text(name);
                let _ = self.draft.rollback_to(name);
            }
            Does::Release(name) => {
                let name = self.builder.pool().text(name);
                let _ = self.draft.release(name);
            }
            _ => {}
        }
    }

    /// What was seen before the statement wrote, each row once.
    fn reads(&mut self, at: At, seen: &Seen) {
        let mut told: BTreeSet<(RowKey, i128)> = BTreeSet::new();
        for (table, rows) in all_seen(self.case, at, seen) {
            for (key, version) in versions_in(rows) {
                if told.insert(((table, key), version)) {
                    let pool = self.builder.pool();
                    let (row, value) = (row_key(self.case, pool, (table, key)), pool.big(version));
                    self.draft.read(row, value);
                }
            }
        }
        for (table, rows) in &seen.version_sets {
            let there: BTreeSet<i128> = versions_in(rows).map(|(key, _)| key).collect();
            let absent = self.certain_absence.range((*table, i128::MIN)..=(*table, i128::MAX));
            let absent = absent.filter(|(_, key)| !there.contains(key)).copied();
            for item in absent.collect::<Vec<_>>() {
                let row = row_key(self.case, self.builder.pool(), item);
                self.draft.read(row, Value::ABSENT);
            }
        }
    }

    fn write(&mut self, item: RowKey, does: &Does) {
        let pool = self.builder.pool();
        let row = row_key(self.case, pool, item);
        match does {
            Does::Insert { version, .. } | Does::Update { version, .. } => {
                let value = pool.int(*version);
                self.draft.write(row, value);
            }
            Does::Delete { .. } => self.draft.delete(row, Effect::Done),
            _ => {}
        }
    }

    /// The versions of each row in the order in which they overwrote each other, as the reads before writes show it.
    fn orders(&mut self, versions: &Versions) -> Result<(), SinkError> {
        if versions.torn.is_some() {
            return Ok(());
        }
        for (table, rows) in self.run.initial.iter().enumerate() {
            for (key, version) in versions_in(rows) {
                self.order(versions, (table, key), version)?;
            }
        }
        for (item, birth) in &versions.births {
            let statement = &self.case.transactions[birth.0].statements[birth.1];
            if let Does::Insert { version, .. } = statement.does {
                self.order(versions, *item, i128::from(version))?;
            }
        }
        Ok(())
    }

    /// The order of the versions of one row from the first on, if it was never deleted: what a delete leaves has no value
    /// that could stand for it.
    fn order(&mut self, versions: &Versions, item: RowKey, first: i128) -> Result<(), SinkError> {
        let mut order = vec![first];
        while let Some(last) = order.last()
            && let Some((txn, at)) = versions.overwriters.get(&(item, *last))
            && let Does::Update { version, .. } = self.case.transactions[*txn].statements[*at].does
            && !order.contains(&i128::from(version))
        {
            order.push(i128::from(version));
        }
        if order.len() < 2 || versions.deaths.contains_key(&item) {
            return Ok(());
        }
        let pool = self.builder.pool();
        let key = row_key(self.case, pool, item);
        let values: Vec<Value> = order.into_iter().map(|version| pool.big(version)).collect();
        self.builder.version_order(key, &values)
    }
}

/// The name of a row: its table and its key.
fn row_key(case: &Case, pool: &mut Pool, (table, key): RowKey) -> Key {
    let name = case.tables.get(table).map_or("", |table| table.name.as_str());
    pool.text_key(&format!("{name}/{key}"))
}
