//! In which order, and when, the transactions of a history are sent.

use isolde_history::{SessionId, Timestamp};
use isolde_workload::Random;

use crate::delay::Delay;

/// How many transactions a second commit by the clock of the replay, where no rate is asked for.
const USUAL_RATE: u64 = 10_000;

/// What the order depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How {
    /// Transactions a second.
    pub(super) rate: Option<u64>,
    pub(super) delay: Option<Delay>,
    pub(super) shuffle: bool,
    pub(super) seed: u64,
}

/// What the order needs to know of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) session: SessionId,
    pub(super) start: Option<Timestamp>,
    pub(super) commit: Option<Timestamp>,
}

/// A transaction to send.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sending {
    /// Its place among those that were recorded.
    pub(super) txn: usize,
    /// When, in seconds from the beginning, by the clock of the replay.
    pub(super) at: f64,
}

/// The transactions in the order in which they are sent. Those of a session keep theirs.
pub(super) fn order(txns: &[Recorded], how: How) -> Vec<Sending> {
    let mut random = Random::stream(how.seed, 0);
    let placed = if how.shuffle { shuffled(txns, &mut random) } else { by_commit(txns) };
    let rate = how.rate.unwrap_or(USUAL_RATE) as f64;
    let sessions = txns.iter().map(|txn| txn.session.index() + 1).max().unwrap_or(0);
    let mut last = vec![0.0_f64; sessions];
    let mut sent: Vec<Sending> = Vec::with_capacity(txns.len());
    for (place, txn) in placed.into_iter().enumerate() {
        let delay = how.delay.map_or(0.0, |delay| delay.pick(&mut random));
        // One that overtook its predecessor would change the session's order.
        let last = &mut last[txns[txn].session.index()];
        *last = last.max(place as f64 / rate + delay);
        sent.push(Sending { txn, at: *last });
    }
    // Stable: what is due at the same time stays as it is.
    sent.sort_by(|a, b| a.at.total_cmp(&b.at));
    sent
}

/// By commit timestamps. A transaction without one stands where its session has come to, so that a history without
/// timestamps stays as it was recorded.
fn by_commit(txns: &[Recorded]) -> Vec<usize> {
    let sessions = txns.iter().map(|txn| txn.session.index() + 1).max().unwrap_or(0);
    let mut reached: Vec<Option<Timestamp>> = vec![None; sessions];
    let place = |txn: &Recorded| {
        let reached = &mut reached[txn.session.index()];
        *reached = (*reached).max(txn.commit.or(txn.start));
        *reached
    };
    let places: Vec<Option<Timestamp>> = txns.iter().map(place).collect();
    let mut order: Vec<usize> = (0..txns.len()).collect();
    order.sort_by_key(|txn| places[*txn]);
    order
}

/// Any order: the turns of the sessions are shuffled, and each takes its next transaction when it has its turn.
fn shuffled(txns: &[Recorded], random: &mut Random) -> Vec<usize> {
    let mut turns: Vec<usize> = txns.iter().map(|txn| txn.session.index()).collect();
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); turns.iter().max().map_or(0, |s| s + 1)];
    for (txn, session) in turns.iter().enumerate().rev() {
        waiting[*session].push(txn);
    }
    for at in (1..turns.len()).rev() {
        turns.swap(at, random.below(at as u64 + 1) as usize);
    }
    turns.iter().filter_map(|session| waiting[*session].pop()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three sessions that take turns, with commits in the order of the record.
    fn recorded(count: u32) -> Vec<Recorded> {
        let txn = |at: u32| Recorded {
            session: SessionId(at % 3),
            start: None,
            commit: Some(Timestamp::plain(i64::from(at))),
        };
        (0..count).map(txn).collect()
    }

    fn txns(sent: &[Sending]) -> Vec<usize> {
        sent.iter().map(|sending| sending.txn).collect()
    }

    #[track_caller]
    fn keeps_sessions(txns: &[Recorded], sent: &[Sending]) {
        assert_eq!(sent.len(), txns.len());
        assert!(sent.is_sorted_by(|a, b| a.at <= b.at));
        let mut last = [None; 3];
        for sending in sent {
            let last = &mut last[txns[sending.txn].session.index()];
            assert!(*last < Some(sending.txn), "{last:?} before {sending:?}");
            *last = Some(sending.txn);
        }
    }

    #[test]
    fn without_delays_they_are_sent_as_they_committed() {
        let mut all = recorded(5);
        assert_eq!(txns(&order(&all, How::default())), [0, 1, 2, 3, 4]);
        all[0].commit = Some(Timestamp::plain(7));
        // The second of that session comes after it, whatever it claims.
        assert_eq!(txns(&order(&all, How::default())), [1, 2, 4, 0, 3]);
        for txn in &mut all {
            txn.commit = None;
        }
        assert_eq!(txns(&order(&all, How::default())), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_rate_is_the_clock() {
        let sent = order(&recorded(3), How { rate: Some(10), ..How::default() });
        assert_eq!(sent.iter().map(|s| s.at).collect::<Vec<_>>(), [0.0, 0.1, 0.2]);
        let late = Some("fixed:1s".parse().unwrap());
        let sent = order(&recorded(3), How { rate: Some(10), delay: late, ..How::default() });
        assert_eq!((txns(&sent), sent[0].at), (vec![0, 1, 2], 1.0));
    }

    #[test]
    fn delays_and_shuffles_keep_sessions_and_depend_on_the_seed_alone() {
        let all = recorded(1000);
        let delay = Some("normal:100ms,10ms".parse().unwrap());
        for (delay, shuffle) in [(delay, false), (None, true), (delay, true)] {
            let how = How { delay, shuffle, seed: 7, ..How::default() };
            let sent = order(&all, how);
            keeps_sessions(&all, &sent);
            assert_eq!(sent, order(&all, how));
            assert_ne!(txns(&sent), txns(&order(&all, How { seed: 8, ..how })));
            assert_ne!(txns(&sent), (0..1000).collect::<Vec<_>>());
        }
        assert!(order(&[], How { shuffle: true, ..How::default() }).is_empty());
    }
}
