//! Traces that something is wrong with, perhaps.

use isolde_history::LockMode;

use super::script::{Act, End, Held, LIST, MadeOp, MadeStmt, Script};
use crate::made::Random;

/// Changes something that a client saw, or when.
pub(crate) fn mutate(script: &mut Script, random: &mut Random) {
    if script.txns.is_empty() {
        return;
    }
    let no = random.below(script.txns.len() as u64) as usize;
    match random.below(6) {
        0 | 1 => see_another(script, no, random),
        2 => shift(script, no, random),
        3 => tighten(script, no, random),
        4 => {
            let txn = &mut script.txns[no];
            if txn.is_alone {
                return;
            }
            if txn.end == End::Committed {
                txn.end = End::Aborted;
            } else if txn.end == End::Aborted && txn.fails_at.is_none() {
                txn.end = End::Committed;
            }
        }
        _ => {
            see_another(script, no, random);
            shift(script, no, random);
        }
    }
}

/// A read returns what some other operation wrote.
fn see_another(script: &mut Script, no: usize, random: &mut Random) {
    let all: Vec<Act> = script
        .txns
        .iter()
        .flat_map(|txn| txn.stmts.iter().flat_map(|stmt| &stmt.ops))
        .map(|op| op.act.clone())
        .collect();
    let other = &all[random.below(all.len().max(1) as u64) as usize % all.len().max(1)];
    let seen: Vec<Held> = reads(script);
    let reads = script.txns[no].stmts.iter_mut().flat_map(|stmt| &mut stmt.ops);
    let mut reads: Vec<_> = reads.filter(|op| op.saw.is_some()).collect();
    if reads.is_empty() {
        return;
    }
    let at = random.below(reads.len() as u64) as usize;
    let read = &mut reads[at];
    if let (Act::Look, Some(Held::List(rows))) = (&read.act, &mut read.saw) {
        rows.pop();
        return;
    }
    let is_list = read.act == Act::Read(LIST);
    read.saw = match other {
        Act::Write(_, cells) if !is_list => {
            Some(Held::Row([cells[0].unwrap_or(0), cells[1].unwrap_or(0)]))
        }
        Act::Insert(_, cells) if !is_list => Some(Held::Row(*cells)),
        Act::Cas(_, old, _) if !is_list => Some(Held::Row([*old, 0])),
        Act::Delete(_) => Some(Held::Absent),
        _ => {
            let fits = |held: &&Held| matches!(held, Held::List(_)) == is_list;
            seen.iter().filter(fits).nth(random.below(4) as usize).cloned().or(Some(Held::Absent))
        }
    };
}

fn reads(script: &Script) -> Vec<Held> {
    let ops = script.txns.iter().flat_map(|txn| txn.stmts.iter().flat_map(|stmt| &stmt.ops));
    ops.filter_map(|op| op.saw.clone()).collect()
}

/// Two statements of a transaction that only read are passed off as one; false if there are no such statements.
pub(crate) fn join(script: &mut Script, random: &mut Random) -> bool {
    let reads = |stmt: &MadeStmt| {
        let plain = |op: &MadeOp| op.saw.is_some() && matches!(op.act, Act::Read(_) | Act::Look);
        stmt.lock == LockMode::None && stmt.ops.iter().all(plain)
    };
    let pairs = script.txns.iter().enumerate().flat_map(|(no, txn)| {
        let at = move |(at, pair): (usize, &[MadeStmt])| pair.iter().all(reads).then_some((no, at));
        txn.stmts.windows(2).enumerate().filter_map(at)
    });
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let Some((no, at)) = pairs.get(random.below(pairs.len().max(1) as u64) as usize) else {
        return false;
    };
    let stmts = &mut script.txns[*no].stmts;
    let second = stmts.remove(at + 1);
    stmts[*at].ops.extend(second.ops);
    stmts[*at].answered = second.answered;
    true
}

/// A transaction happens at another time.
fn shift(script: &mut Script, no: usize, random: &mut Random) {
    let by = random.below(30) as i64 - 15;
    let txn = &mut script.txns[no];
    // Within its session nothing else is there then: it becomes one of its own.
    txn.session += 1000 * (no + 1);
    let later = |time: i64| if time == i64::MAX { time } else { time + by };
    txn.began = later(txn.began);
    txn.begun = txn.begun.map(later);
    for stmt in &mut txn.stmts {
        (stmt.sent, stmt.answered) = (later(stmt.sent), later(stmt.answered));
    }
    (txn.end_sent, txn.ended) = (later(txn.end_sent), later(txn.ended));
}

/// Intervals are shorter than they were.
fn tighten(script: &mut Script, no: usize, random: &mut Random) {
    let txn = &mut script.txns[no];
    for stmt in &mut txn.stmts {
        let slack = (stmt.answered - stmt.sent).max(0) as u64;
        let cut = random.below(slack + 1) as i64;
        match random.chance(50) {
            true => stmt.sent += cut,
            false => stmt.answered -= cut,
        }
    }
    if txn.is_alone {
        txn.ended = txn.stmts[0].answered;
    } else if txn.end != End::Unknown {
        let slack = (txn.ended - txn.end_sent).max(0) as u64;
        txn.end_sent += random.below(slack + 1) as i64;
    }
}
