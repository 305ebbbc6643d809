//! Transactions of SmallBank's shape on a database that locks the rows of a transaction when its first statement runs, and
//! lets go of them when it commits: what its clients see keeps every promise there is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use isolde_history::{
    EvidenceNames, History, HistoryBuilder, InitialState, Interval, Pool, Sink, TxnDraft, Value,
};

/// The longest time on the way to the server, and back.
const WAY: u64 = 40_000;
/// The longest time that a statement takes on the server.
const WORK: u64 = 20_000;

/// A transaction that is over.
struct Ended {
    began: i64,
    ended: i64,
    end_sent: i64,
    session: u32,
    /// What was done to each row, and when it was sent and answered.
    steps: Vec<(bool, u32, u64, i64, i64)>,
}

/// The bank, with its clients.
pub(super) struct SmallBank {
    accounts: u32,
    state: u64,
    /// When each session is free, and may begin another transaction.
    free: BinaryHeap<Reverse<(i64, u32)>>,
    /// Until when each row is locked, and what it holds.
    rows: HashMap<u32, (i64, u64)>,
    written: u64,
    /// Transactions that were made and are not in a batch yet, by their ends.
    made: BinaryHeap<Reverse<(i64, u64)>>,
    bodies: HashMap<u64, Ended>,
    next: u64,
}

/// Random numbers that are the same everywhere.
pub(super) fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below.max(1)
}

impl SmallBank {
    pub(super) fn new(accounts: u32, sessions: u32, seed: u64) -> SmallBank {
        let free = (0..sessions).map(|session| Reverse((i64::from(session) * 1_000, session)));
        SmallBank {
            accounts,
            state: seed,
            free: free.collect(),
            rows: HashMap::new(),
            written: 0,
            made: BinaryHeap::new(),
            bodies: HashMap::new(),
            next: 0,
        }
    }

    /// The next transactions in the order of their ends, and a time before which all that is still to come does not begin.
    pub(super) fn batch(&mut self, size: u32) -> (History, i64) {
        let mut batch = Vec::new();
        while batch.len() < size as usize {
            let free = self.free.peek().map_or(i64::MAX, |Reverse((free, _))| *free);
            match self.made.peek() {
                // Whatever is made from now on ends later.
                Some(Reverse((ended, _))) if *ended < free => {
                    if let Some(Reverse((_, number))) = self.made.pop() {
                        batch.extend(self.bodies.remove(&number));
                    }
                }
                _ => self.make(),
            }
        }
        let free = self.free.peek().map_or(i64::MAX, |Reverse((free, _))| *free);
        let open = self.bodies.values().map(|body| body.began).min().unwrap_or(i64::MAX);
        (history(&batch), free.min(open))
    }

    /// One more transaction, of the session that is free first.
    fn make(&mut self) {
        let Some(Reverse((began, session))) = self.free.pop() else { return };
        let steps = self.choose();
        let locked = steps.iter().filter_map(|(_, row)| self.rows.get(row)).map(|row| row.0).max();
        let mut sent = began;
        let arrives = |state: &mut u64, sent: i64| sent + 1 + random(state, WAY) as i64;
        let mut now = arrives(&mut self.state, sent).max(locked.unwrap_or(0) + 1);
        let mut done = Vec::with_capacity(steps.len());
        for (writes, row) in &steps {
            now += 1 + random(&mut self.state, WORK) as i64;
            let held = self.rows.entry(*row).or_insert((0, 0));
            if *writes {
                self.written += 1;
                held.1 = self.written;
            }
            let answered = arrives(&mut self.state, now);
            done.push((*writes, *row, held.1, sent, answered));
            sent = answered + 10;
            now = arrives(&mut self.state, sent);
        }
        for (_, row) in &steps {
            if let Some(held) = self.rows.get_mut(row) {
                held.0 = now;
            }
        }
        let ended = arrives(&mut self.state, now);
        let body = Ended { began, ended, end_sent: sent, session, steps: done };
        self.made.push(Reverse((ended, self.next)));
        self.bodies.insert(self.next, body);
        self.next += 1;
        self.free.push(Reverse((ended + 10, session)));
    }

    /// One of SmallBank's six transactions: whether each step writes, and the row.
    fn choose(&mut self) -> Vec<(bool, u32)> {
        let mut account = || random(&mut self.state, u64::from(self.accounts)) as u32 * 2;
        let (a, b) = (account(), account());
        let (savings, checking) = (|account: u32| account, |account: u32| account + 1);
        match random(&mut self.state, 6) {
            // Amalgamate.
            0 => vec![
                (false, savings(a)),
                (false, checking(a)),
                (true, savings(a)),
                (true, checking(a)),
                (true, checking(b)),
            ],
            // Balance.
            1 => vec![(false, savings(a)), (false, checking(a))],
            // DepositChecking.
            2 => vec![(false, checking(a)), (true, checking(a))],
            // SendPayment.
            3 => vec![
                (false, checking(a)),
                (false, checking(b)),
                (true, checking(a)),
                (true, checking(b)),
            ],
            // TransactSavings.
            4 => vec![(false, savings(a)), (true, savings(a))],
            // WriteCheck.
            _ => vec![(false, savings(a)), (false, checking(a)), (true, checking(a))],
        }
    }
}

fn history(batch: &[Ended]) -> History {
    let ops = batch.iter().map(|txn| txn.steps.len()).sum();
    let mut builder = HistoryBuilder::with_capacity(batch.len(), ops);
    builder.meta().initial = InitialState::every(Value::from_u32(0));
    let names = EvidenceNames::new(builder.pool());
    let mut draft = TxnDraft::default();
    for txn in batch {
        fill(&mut draft, txn, &names, builder.pool());
        // A history of so few cannot be too large.
        let _ = builder.transaction(&draft);
    }
    builder.finish()
}

fn fill(draft: &mut TxnDraft, txn: &Ended, names: &EvidenceNames, pool: &mut Pool) {
    let session = pool.session(Value::from_u32(txn.session));
    draft.reset(session);
    draft.interval = Interval::new(txn.began, txn.ended);
    names.set_end_sent(draft, pool, txn.end_sent);
    for (writes, row, value, sent, answered) in &txn.steps {
        let key = pool.key(Value::from_u32(*row));
        let value = pool.int(*value as i64);
        match writes {
            true => draft.write(key, value),
            false => draft.read(key, value),
        }
        draft.statement_interval(Interval::new(*sent, *answered));
    }
}
