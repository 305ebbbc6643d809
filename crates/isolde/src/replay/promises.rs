//! Promises that a replay can make, since it knows all that is still to come.

use isolde_history::{SessionId, Timestamp};

use super::order::{Recorded, Sending};

/// What can be promised while transactions are sent, one after another.
pub(super) struct Promises<'t> {
    txns: &'t [Recorded],
    /// Of each transaction: the least timestamp from it on in its session.
    least: Vec<Option<Timestamp>>,
    /// Of each session: its transactions that are still to come, the next one last.
    to_come: Vec<Vec<usize>>,
    /// What was promised last: of each session, and of all.
    said: Vec<Option<Timestamp>>,
    said_of_all: Option<Timestamp>,
}

impl<'t> Promises<'t> {
    pub(super) fn new(txns: &'t [Recorded], sent: &[Sending]) -> Promises<'t> {
        let sessions = txns.iter().map(|txn| txn.session.index() + 1).max().unwrap_or(0);
        let mut to_come = vec![Vec::new(); sessions];
        let mut least = vec![None; txns.len()];
        let mut so_far: Vec<Option<Timestamp>> = vec![None; sessions];
        for sending in sent.iter().rev() {
            let txn = &txns[sending.txn];
            let session = txn.session.index();
            let known = [so_far[session], txn.commit.or(txn.start)].into_iter().flatten().min();
            (so_far[session], least[sending.txn]) = (known, known);
            to_come[session].push(sending.txn);
        }
        Promises { txns, least, to_come, said: vec![None; sessions], said_of_all: None }
    }

    /// A transaction is sent. Whether its session has no other one.
    pub(super) fn sent(&mut self, txn: usize) -> bool {
        let to_come = &mut self.to_come[self.txns[txn].session.index()];
        to_come.pop();
        to_come.is_empty()
    }

    /// What can be promised now and was not before: of sessions that have more to send, and at last of all
    /// sessions at once.
    pub(super) fn now(&mut self) -> Vec<(Option<SessionId>, Timestamp)> {
        let mut new = Vec::new();
        let mut of_all: Option<Timestamp> = None;
        for (session, to_come) in self.to_come.iter().enumerate() {
            let Some(least) = to_come.last().and_then(|next| self.least[*next]) else { continue };
            of_all = Some(of_all.map_or(least, |all| all.min(least)));
            if self.said[session] < Some(least) {
                self.said[session] = Some(least);
                new.push((Some(SessionId(session as u32)), least));
            }
        }
        if let Some(least) = of_all.filter(|least| self.said_of_all < Some(*least)) {
            self.said_of_all = Some(least);
            new.push((None, least));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(session: u32, start: Option<i64>, commit: Option<i64>) -> Recorded {
        let (start, commit) = (start.map(Timestamp::plain), commit.map(Timestamp::plain));
        Recorded { session: SessionId(session), start, commit }
    }

    #[test]
    fn what_is_promised_is_what_is_still_to_come() {
        let txns = [
            recorded(0, Some(1), Some(9)),
            recorded(1, None, Some(5)),
            recorded(0, Some(6), None),
            recorded(0, None, None),
        ];
        let sent: Vec<Sending> = (0..4).map(|txn| Sending { txn, at: 0.0 }).collect();
        let mut promises = Promises::new(&txns, &sent);
        let stamp = Timestamp::plain;
        let (a, b) = (Some(SessionId(0)), Some(SessionId(1)));
        assert_eq!(promises.now(), [(a, stamp(6)), (b, stamp(5)), (None, stamp(5))]);
        assert!(!promises.sent(0));
        assert_eq!(promises.now(), []);
        assert!(promises.sent(1));
        assert_eq!(promises.now(), [(None, stamp(6))]);
        assert!(!promises.sent(2));
        // Of one without timestamps there is nothing to say.
        assert_eq!(promises.now(), []);
        assert!(promises.sent(3));
    }
}
