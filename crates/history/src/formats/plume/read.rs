//! From operations to transactions.

use hashbrown::HashMap;

use super::scan::{ABORTED, LineRun, PlumePart, Split, scan};
use crate::builder::HistoryBuilder;
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError, SinkError};
use crate::evidence::Outcome;
use crate::group::grouped;
use crate::ids::SessionId;
use crate::meta::{InitialState, info};
use crate::op::OpKind;
use crate::pool::Pool;
use crate::remap::Remap;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::value::Value;

/// Reads into any sink.
pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    read_split(source.file()?, Split::for_this_machine(), sink)
}

/// Reads a whole history.
pub(super) fn load(source: &Source) -> Result<HistoryBuilder, ReadError> {
    load_split(source.file()?, Split::for_this_machine())
}

pub(super) fn read_split(
    input: &Input,
    split: Split,
    sink: &mut dyn Sink,
) -> Result<(), ReadError> {
    let text = Text::read(input, split, sink)?;
    text.deliver(sink).map_err(|fault| input.text_error(fault))
}

pub(super) fn load_split(input: &Input, split: Split) -> Result<HistoryBuilder, ReadError> {
    let mut builder = HistoryBuilder::new();
    let text = Text::read(input, split, &mut builder)?;
    // A full pool is for the sink to complain about.
    if text.plan.in_order && !builder.pool.is_full() {
        text.fill(&mut builder);
    } else {
        text.deliver(&mut builder).map_err(|fault| input.text_error(fault))?;
    }
    Ok(builder)
}

/// A scanned file, and which run of lines belongs to which transaction.
struct Text {
    parts: Vec<PlumePart>,
    /// How the identifiers of each part read in the sink's pool.
    maps: Vec<Remap>,
    plan: Plan,
}

/// The transactions, in the order of their first lines.
#[derive(Default)]
struct Plan {
    sessions: Vec<SessionId>,
    /// The transaction of each run of lines.
    txns: Vec<u32>,
    /// Whether the lines of every transaction are next to each other.
    in_order: bool,
    /// Where a transaction first comes back after a later one of its session, and what to say.
    comeback: Option<(usize, String)>,
}

impl Text {
    fn read(input: &Input, split: Split, sink: &mut dyn Sink) -> Result<Text, ReadError> {
        sink.meta().initial = InitialState::every(Value::from_u32(0));
        let parts = scan(&input.bytes, split).map_err(|fault| input.text_error(fault))?;
        check_room(&parts).map_err(|error| input.text_error(Fault::sink(0, &error)))?;
        let maps: Vec<Remap> = parts.iter().map(|part| sink.pool().adopt(&part.pool)).collect();
        let plan = Planner::new(&parts, sink.pool()).plan(&parts, &maps);
        let plan = plan.map_err(|fault| input.text_error(fault))?;
        if let Some(offset) = parts.iter().find_map(|part| part.zero_write) {
            let message = "an explicit write of 0 is the initial write, \
                           because every key starts with 0";
            sink.warn(input.text_warning(offset, message));
            let name = sink.pool().text(info::EXPLICIT_INITIAL);
            sink.meta().set(name, Value::TRUE);
        }
        if let Some((offset, message)) = &plan.comeback {
            sink.warn(input.text_warning(*offset, message.as_str()));
        }
        Ok(Text { parts, maps, plan })
    }

    /// Hands over one transaction after the other.
    fn deliver(&self, sink: &mut dyn Sink) -> Result<(), Fault> {
        let (order, ends) = self.plan.runs_by_txn();
        let first_runs: Vec<usize> = running_sum(self.parts.iter().map(|p| p.runs.len()));
        let mut draft = TxnDraft::default();
        let mut begin = 0;
        for (&session, &end) in self.plan.sessions.iter().zip(&ends) {
            draft.reset(session);
            let mut offset = 0;
            for &run in order.get(begin..end as usize).unwrap_or_default() {
                let part = first_runs.partition_point(|&first| first <= run as usize) - 1;
                let at = run as usize - first_runs[part];
                self.draft_run(part, at, &mut draft, sink.pool());
                offset = self.parts[part].start + self.parts[part].runs[at].line as usize;
            }
            sink.transaction(&draft).map_err(|error| Fault::sink(offset, &error))?;
            begin = end as usize;
        }
        Ok(())
    }

    fn draft_run(&self, part: usize, at: usize, draft: &mut TxnDraft, pool: &mut Pool) {
        let (part, map) = (&self.parts[part], &self.maps[part]);
        let run = part.runs[at];
        let begin = if at == 0 { 0 } else { part.runs[at - 1].end };
        (draft.outcome, draft.label) = outcome_and_label(&run, pool);
        for op in begin as usize..run.end as usize {
            let key = map.key(part.keys[op]);
            let value = map.value(Value::from_trusted_bits(part.payloads[op]));
            if part.codes[op].kind() == OpKind::Write {
                draft.write(key, value);
            } else {
                draft.read(key, value);
            }
        }
    }

    /// What [`Text::deliver`] does, for a builder, when the lines are in order already: the columns
    /// of the parts, one after the other.
    fn fill(self, builder: &mut HistoryBuilder) {
        let columns = &mut builder.columns;
        let ops = self.parts.iter().map(|part| part.codes.len()).sum();
        columns.codes.reserve_exact(ops);
        columns.keys.reserve_exact(ops);
        columns.payloads.reserve_exact(ops);
        let txns = self.plan.sessions.len();
        columns.txn_ends.reserve_exact(txns);
        columns.outcomes.reserve_exact(txns);
        let mut run_txns = self.plan.txns.iter();
        for (part, map) in self.parts.into_iter().zip(&self.maps) {
            let base = columns.codes.len() as u32;
            columns.codes.extend_from_slice(&part.codes);
            if map.keys.is_empty() {
                columns.keys.extend_from_slice(&part.keys);
            } else {
                columns.keys.extend(part.keys.iter().map(|&k| map.key(k)));
            }
            if map.values.is_empty() {
                columns.payloads.extend_from_slice(&part.payloads);
            } else {
                let value = |&word: &u64| map.value(Value::from_trusted_bits(word)).to_bits();
                columns.payloads.extend(part.payloads.iter().map(value));
            }
            for (run, &txn) in part.runs.iter().zip(&mut run_txns) {
                match columns.txn_ends.get_mut(txn as usize) {
                    Some(end) => *end = base + run.end,
                    None => {
                        let (outcome, label) = outcome_and_label(run, &mut builder.pool);
                        columns.txn_ends.push(base + run.end);
                        columns.outcomes.push(outcome);
                        columns.labels.push_at(txn as usize, label);
                    }
                }
            }
        }
        columns.sessions = self.plan.sessions;
    }
}

/// Transactions and operations are numbered with 32 bits, here as in the history.
fn check_room(parts: &[PlumePart]) -> Result<(), SinkError> {
    const MOST: usize = u32::MAX as usize - 1;
    let ops: usize = parts.iter().map(|part| part.codes.len()).sum();
    if ops > MOST { Err(SinkError::limit("operations", MOST as u64)) } else { Ok(()) }
}

fn outcome_and_label(run: &LineRun, pool: &mut Pool) -> (Outcome, Option<Value>) {
    if run.txn == ABORTED {
        (Outcome::Aborted, None)
    } else {
        (Outcome::Committed, Some(pool.int(run.txn)))
    }
}

fn running_sum(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    lens.scan(0, |sum, len| {
        let before = *sum;
        *sum += len;
        Some(before)
    })
    .collect()
}

impl Plan {
    /// The runs of each transaction in file order, and where they end.
    fn runs_by_txn(&self) -> (Vec<u32>, Vec<u32>) {
        grouped(self.sessions.len(), 0, || {
            self.txns.iter().enumerate().map(|(run, &txn)| (txn as usize, run as u32))
        })
    }
}

/// Which transaction has a number.
enum Numbers {
    /// Most files count their transactions: the number is the index. The entry is one more than
    /// the transaction.
    Dense(Vec<u32>),
    Sparse(HashMap<i64, u32>),
}

impl Numbers {
    /// Tables that grow with the file, not with a number that it names.
    fn new(parts: &[PlumePart]) -> Numbers {
        let runs: usize = parts.iter().map(|part| part.runs.len()).sum();
        let largest = parts.iter().flat_map(|part| &part.runs).map(|run| run.txn).max();
        match usize::try_from(largest.unwrap_or(0)) {
            Ok(largest) if largest <= 4 * runs => Numbers::Dense(vec![0; largest + 1]),
            _ => Numbers::Sparse(HashMap::new()),
        }
    }

    /// The transaction that has this number already; otherwise the new one gets it.
    #[inline]
    fn claim(&mut self, number: i64, new: u32) -> Option<u32> {
        match self {
            Numbers::Dense(table) => {
                let slot = table.get_mut(number as usize)?;
                if *slot == 0 {
                    *slot = new + 1;
                    return None;
                }
                Some(*slot - 1)
            }
            Numbers::Sparse(table) => match table.entry(number) {
                hashbrown::hash_map::Entry::Occupied(entry) => Some(*entry.get()),
                hashbrown::hash_map::Entry::Vacant(entry) => {
                    entry.insert(new);
                    None
                }
            },
        }
    }
}

/// The transaction that a session is in.
#[derive(Clone, Copy)]
struct Current {
    number: i64,
    txn: u32,
}

/// No transaction yet. (The number cannot occur: the least is -1.)
const NOT_STARTED: Current = Current { number: i64::MIN, txn: u32::MAX };

struct Planner<'p> {
    pool: &'p Pool,
    numbers: Numbers,
    current: Vec<Current>,
    plan: Plan,
}

impl<'p> Planner<'p> {
    fn new(parts: &[PlumePart], pool: &'p Pool) -> Planner<'p> {
        let current = vec![NOT_STARTED; pool.session_names().len()];
        let mut plan = Plan { in_order: true, ..Plan::default() };
        plan.txns.reserve_exact(parts.iter().map(|part| part.runs.len()).sum());
        Planner { pool, numbers: Numbers::new(parts), current, plan }
    }

    fn plan(mut self, parts: &[PlumePart], maps: &[Remap]) -> Result<Plan, Fault> {
        for (part, map) in parts.iter().zip(maps) {
            for run in &part.runs {
                let session = map.sessions.get(run.session.index()).copied();
                let session = session.unwrap_or(run.session);
                let txn = match self.txn_of(session, run.txn) {
                    Some(txn) => txn,
                    None => self.taken(session, run.txn, part.start + run.line as usize)?,
                };
                self.plan.txns.push(txn);
            }
        }
        Ok(self.plan)
    }

    /// The transaction that lines of a session belong to; `None` if its number is taken.
    #[inline]
    fn txn_of(&mut self, session: SessionId, number: i64) -> Option<u32> {
        let current = self.current.get_mut(session.index())?;
        if current.number == number {
            self.plan.in_order &= self.plan.txns.last() == Some(&current.txn);
            return Some(current.txn);
        }
        let txn = self.plan.sessions.len() as u32;
        if number != ABORTED && self.numbers.claim(number, txn).is_some() {
            return None;
        }
        *current = Current { number, txn };
        self.plan.sessions.push(session);
        Some(txn)
    }

    /// The transaction whose number comes up again: it goes on if it is the session's own.
    #[cold]
    fn taken(&mut self, session: SessionId, number: i64, offset: usize) -> Result<u32, Fault> {
        let txn = self.numbers.claim(number, 0).unwrap_or(0);
        let owner = self.plan.sessions.get(txn as usize).copied().unwrap_or(session);
        if owner != session {
            return Err(self.contradiction([owner, session], number, offset));
        }
        self.plan.in_order = false;
        if let Some(current) = self.current.get_mut(session.index()) {
            let later = std::mem::replace(current, Current { number, txn }).number;
            self.plan.comeback.get_or_insert_with(|| (offset, comeback(number, later)));
        }
        Ok(txn)
    }

    fn contradiction(&self, sessions: [SessionId; 2], number: i64, offset: usize) -> Fault {
        let [owner, other] = sessions.map(|session| {
            let name = self.pool.session_name(session);
            self.pool.as_wide_int(name).unwrap_or_default()
        });
        let complaint = "the number of this transaction is taken by another session";
        Fault::wrong(offset, complaint)
            .hint(format_args!("transaction {number} appears in sessions {owner} and {other}"))
    }
}

fn comeback(number: i64, later: i64) -> String {
    let later = match later {
        ABORTED => "an aborted one".to_owned(),
        later => format!("transaction {later}"),
    };
    format!("transaction {number} comes back after {later}: its lines are taken as one transaction")
}
