//! Weak levels of reads and writes, from a file to an exit code.
//!
//! The file is Plume's text of a run in which transactions took effect one after another, of whichever
//! sessions: every level holds, and without a clock in the file it cannot be told from a run
//! in which they overlapped.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use isolde_history::{History, HistoryBuilder, InitialState, Sink, TxnDraft, Value};
use isolde_spec::Level;
use isolde_workload::Random;
use serde_json::json;

use crate::command::{Command, CommandArgs};
use crate::measure;
use crate::plan::{Order, name};

#[derive(clap::Args)]
pub(crate) struct WeakArgs {
    /// How many operations, half of them reads; several numbers, here and below: each with each
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    ops: Vec<u64>,
    /// How many operations each transaction has
    #[arg(long, value_delimiter = ',', default_value = "10")]
    txn_len: Vec<u64>,
    /// How many sessions run them
    #[arg(long, value_delimiter = ',', default_value = "50")]
    sessions: Vec<u32>,
    /// On how many keys
    #[arg(long, value_delimiter = ',', default_value = "1000")]
    keys: Vec<u64>,
    /// In which order transactions come in the file
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    order: Order,
    /// The levels to decide
    #[arg(long, value_delimiter = ',', default_value = "read-committed,read-atomic,causal",
          value_parser = measure::level)]
    levels: Vec<Level>,
    /// The format of the file
    #[arg(long, default_value = "plume")]
    format: String,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Where the file goes
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
    #[command(flatten)]
    command: CommandArgs,
}

/// What a run is like.
#[derive(Clone, Copy)]
struct RunShape {
    ops: u64,
    txn_len: u64,
    sessions: u32,
    keys: u64,
    order: Order,
}

pub(crate) fn run(args: &WeakArgs) -> Result<()> {
    for &ops in &args.ops {
        for &txn_len in &args.txn_len {
            for &sessions in &args.sessions {
                for &keys in &args.keys {
                    measure(args, RunShape { ops, txn_len, sessions, keys, order: args.order })?;
                }
            }
        }
    }
    Ok(())
}

fn measure(args: &WeakArgs, shape: RunShape) -> Result<()> {
    let history = history(shape, args.seed)?;
    let command = Command::new(&args.command.isolde()?, &args.folder, &history, &args.format)?;
    let (txns, ops) = (history.txn_count(), history.op_count());
    // It takes memory that the command may want.
    drop(history);
    let read = command.read_seconds(&args.format, args.command.runs)?;
    for &level in &args.levels {
        let mut line = json!({
            "bench": "weak",
            "level": level.name(),
            "format": args.format,
            "sessions": shape.sessions,
            "keys": shape.keys,
            "txn_len": shape.txn_len,
            "order": name(&shape.order),
            "transactions": txns,
            "operations": ops,
            "bytes": command.file_bytes(),
            "read_seconds": measure::round(read),
        });
        command.check(level, args.command.runs)?.show(&mut line);
        println!("{line}");
    }
    Ok(())
}

/// One transaction after another, each of some session; every key counts what was written to it.
fn history(shape: RunShape, seed: u64) -> Result<History> {
    let RunShape { ops, txn_len, sessions, keys, order } = shape;
    ensure!(txn_len > 0 && sessions > 0 && keys > 0, "there must be something to do");
    // One for all sessions, or one for each.
    let parts = if order == Order::Session { sessions } else { 1 };
    let mut parts: Vec<HistoryBuilder> = (0..parts).map(|_| HistoryBuilder::new()).collect();
    let mut random = Random::new(seed);
    let mut written = vec![0u32; usize::try_from(keys)?];
    let mut draft = TxnDraft::default();
    for _ in 0..ops / txn_len {
        let session = random.below(u64::from(sessions)) as u32;
        let part = if order == Order::Session { session } else { 0 };
        let builder = &mut parts[part as usize];
        draft.reset(builder.pool().session(Value::from_u32(session)));
        for _ in 0..txn_len {
            let row = random.below(keys);
            let last = &mut written[row as usize];
            let key = builder.pool().int_key(row as i64);
            if random.coin() {
                *last += 1;
                draft.write(key, Value::from_u32(*last));
            } else {
                draft.read(key, Value::from_u32(*last));
            }
        }
        builder.transaction(&draft)?;
    }
    let mut whole = HistoryBuilder::new();
    whole.meta().initial = InitialState::every(Value::from_u32(0));
    for part in parts {
        whole.append(part)?;
    }
    Ok(whole.finish())
}

#[cfg(test)]
mod tests {
    use isolde_check::{Options, check};
    use isolde_history::OpKind;
    use isolde_spec::Promise;

    use super::*;

    #[test]
    fn a_run_has_the_shape_that_was_asked_for_and_keeps_every_level() {
        for order in [Order::Completion, Order::Session] {
            has_the_shape(order);
        }
    }

    fn has_the_shape(order: Order) {
        let shape = RunShape { ops: 2_000, txn_len: 10, sessions: 5, keys: 20, order };
        let history = history(shape, 7).unwrap();
        assert!(history.txns().all(|txn| txn.ops().len() == 10));
        let reads = history.ops().filter(|op| op.kind() == OpKind::Read).count();
        assert!((900..1_100).contains(&reads), "{reads}");
        assert_eq!(
            [history.op_count(), history.session_count(), history.key_count()],
            [2_000, 5, 20]
        );
        let verdict = check(&history, Promise::of(Level::ReadCommitted), &Options::default());
        assert_eq!(verdict.holds(), Some(true));
    }
}
