//! Which start of the server a session belongs to. A server that crashes gives a number again whose record
//! it never wrote to disk, so the number of a transaction means something only between two starts.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::wire::{Reply, Trouble, Wire, odd};
use crate::shown::ServerTxn;

/// Who the server is, and where its numbers went on when it was started. If one of its processes crashes, all
/// below the postmaster are started again: the checkpointer tells. Its time is NULL to users who may not see
/// it. A checkpoint at a shutdown or at the end of a recovery is its own beginning; any other one has moved
/// the number on, but for one of an idle server at `wal_level=minimal`, which comes long after the first
/// session has asked this.
///
/// A standby that was promoted in the place of the server writes another timeline. Its last checkpoint was one of
/// the old server's, made long before, and says nothing of where the numbers went on.
const WHO: &str = "SELECT pg_postmaster_start_time(), a.count, a.began, c.next_xid, \
    c.checkpoint_lsn = c.redo_lsn, lpad(to_hex(c.timeline_id), 8, '0'), \
    lower(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)) FROM pg_control_checkpoint() c, \
    (SELECT count(*), max(backend_start) AS began FROM pg_stat_activity \
     WHERE backend_type = 'checkpointer') a";

/// How long a server that was just started may take to have a checkpointer.
const CHECKPOINTER: Duration = Duration::from_secs(5);

/// One start of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ServerStart {
    identity: [Option<Vec<u8>>; 2],
    /// The timeline that it writes.
    timeline: Option<Vec<u8>>,
    /// The first number that it gave, or gave again, if it is known.
    border: Option<i64>,
}

/// All starts of the server that were seen, the first one when it was opened.
#[derive(Default)]
pub(super) struct Restarts(Mutex<Vec<ServerStart>>);

/// What a restart has done to the number of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Since {
    /// It still means that transaction.
    Meant,
    /// Nothing of the transaction was written to disk. The number may mean another one.
    Gone,
    /// It is not known where numbers were given again.
    Unclear,
}

impl Restarts {
    /// The number of the start that a connection belongs to. Every connection on which something is done asks
    /// before that, one after another: so a start is seen before it has given a number to us.
    pub(super) fn number(&self, wire: &mut Wire) -> Result<u32, Trouble> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = who(wire)?;
        let cell = |at: usize| reply.column(at).map(<[u8]>::to_vec);
        let timeline = cell(6);
        let same = seen.last().is_none_or(|last| last.timeline == timeline);
        let border = border(&reply).filter(|_| same);
        let start = ServerStart { identity: [0, 2].map(cell), timeline, border };
        let known = seen.iter().position(|other| other.identity == start.identity);
        if known.is_none() {
            seen.push(start);
        }
        let number = known.unwrap_or(seen.len() - 1);
        u32::try_from(number).map_err(|_| odd("too many restarts"))
    }

    /// What has become of a number.
    pub(super) fn since(&self, txn: ServerTxn) -> Since {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What the next start kept, all later ones have kept, too.
        match seen.get(txn.restart as usize + 1).map(|next| next.border) {
            None => Since::Meant,
            Some(Some(border)) if txn.id < border => Since::Meant,
            Some(Some(_)) => Since::Gone,
            Some(None) => Since::Unclear,
        }
    }
}

/// Asks until there is a checkpointer: another identity a moment later would look like another start.
fn who(wire: &mut Wire) -> Result<Reply, Trouble> {
    let began = Instant::now();
    loop {
        let reply = wire.simple(WHO)?;
        if reply.column(1) == Some(b"1") {
            return Ok(reply);
        }
        if began.elapsed() >= CHECKPOINTER {
            return Err(odd("it has no checkpointer"));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// `epoch:xid` as one number, if it is of a checkpoint with which this start of the server began.
fn border(reply: &Reply) -> Option<i64> {
    let own = reply.column(4) == Some(b"t") && reply.column(5) == reply.column(6);
    let next = reply.column(3).filter(|_| own)?;
    let (epoch, xid) = std::str::from_utf8(next).ok()?.split_once(':')?;
    Some(epoch.parse::<i64>().ok()? << 32 | xid.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(identity: &str, border: Option<i64>) -> ServerStart {
        ServerStart { identity: [Some(identity.as_bytes().to_vec()), None], timeline: None, border }
    }

    #[test]
    fn a_number_means_what_it_meant_up_to_where_numbers_went_on() {
        let starts = [start("a", None), start("b", Some(100)), start("c", None)];
        let restarts = Restarts(Mutex::new(starts.to_vec()));
        let since = |restart, id| restarts.since(ServerTxn { restart, id });
        assert_eq!((since(0, 99), since(0, 100)), (Since::Meant, Since::Gone));
        assert_eq!((since(1, 5), since(2, 5)), (Since::Unclear, Since::Meant));
    }

    #[test]
    fn the_border_has_both_halves_of_the_number() {
        let reply = |next: &str, own: &str, writes: &str| {
            let cells = ["", "1", "", next, own, "0000000a", writes];
            let columns = cells.map(|cell| Some(cell.as_bytes().to_vec())).to_vec();
            Reply { columns, tag: String::new() }
        };
        let same = "0000000a";
        assert_eq!(border(&reply("0:735", "t", same)), Some(735));
        assert_eq!(border(&reply("2:3", "t", same)), Some((2 << 32) + 3));
        assert_eq!(border(&reply("0:735", "f", same)), None);
        assert_eq!(border(&reply("735", "t", same)), None);
        assert_eq!(border(&reply("0:735", "t", "0000000b")), None);
    }
}
