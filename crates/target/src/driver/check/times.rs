//! Whether timestamps fit what sessions did one after another.

use isolde_history::Timestamp;

use super::bench::Bench;
use super::found::Found;
use crate::target::{Session as _, Target as _};
use crate::timestamps::{CommitOrder, Timestamps};

/// Writes, reads in another session, writes again, and looks at the order of the timestamps.
pub(super) fn timestamps(bench: &Bench) -> Result<(), Found> {
    let table = bench.table()?;
    let (mut writer, mut reader) = (bench.session()?, bench.session()?);
    writer.begin()?;
    writer.put(table, 0, 5)?;
    writer.commit()?;
    let first = writer.session.timestamps();
    reader.begin()?;
    reader.get(table, 0)?;
    reader.commit()?;
    let second = reader.session.timestamps();
    writer.begin()?;
    writer.put(table, 0, 6)?;
    writer.commit()?;
    let third = writer.session.timestamps();
    if [first, second, third] == [Timestamps::default(); 3] {
        return silent(bench);
    }
    let (Some(one), Some(two)) = (first.commit, third.commit) else {
        return Err(found("a transaction that wrote has no commit timestamp"));
    };
    for wrote in [first, third] {
        if wrote.start.is_some() && wrote.start >= wrote.commit {
            return Err(found("a transaction that wrote commits at or before its start"));
        }
    }
    let later = |at: Option<Timestamp>| at.is_none_or(|at| at >= one);
    match later(second.start) && later(second.commit) && later(third.start) && two > one {
        true => Ok(()),
        false => Err(found("a transaction comes before one that had ended when it began")),
    }
}

/// No timestamps are told: fine, unless something was claimed of them.
fn silent(bench: &Bench) -> Result<(), Found> {
    let offer = bench.driver.offers().last();
    match offer.map_or(CommitOrder::Unsaid, |offer| bench.driver.commit_order(offer)) {
        CommitOrder::Unsaid => Ok(()),
        CommitOrder::Serial(_) => {
            Err(found("a level has 'commit_order', but 'commit' is answered without 'ts'"))
        }
    }
}

fn found(what: &str) -> Found {
    Found::Wrong(what.to_owned())
}
