//! The calls on one object by brute force: every choice of uncertain calls, in every order. And many
//! random objects, on which [`chain`](super::chain) must not say anything else.

use isolde_history::{OpId, TxnId, Value};

use super::call::{Call, Did};
use super::chain::{Chain, Scratch, decide};

/// What the object holds after a call, if the call can have seen what it held before.
fn after(held: Value, did: Did) -> Option<Value> {
    let (possible, leaves) = match did {
        Did::Read(value) => (held == value, held),
        Did::Write(value) => (true, value),
        Did::Swap { from, to } => (held == from, to),
        Did::NotEqual(value) => (held != value, held),
        Did::Present => (held != Value::ABSENT, held),
        Did::Append(_) | Did::ReadList => (false, held),
    };
    possible.then_some(leaves)
}

/// Whether the calls of a set, as bits, can follow each other in some order from there on.
fn some_order(calls: &[Call], set: u32, held: Value) -> bool {
    let within = |at: &usize| set >> at & 1 == 1;
    set == 0
        || (0..calls.len()).filter(within).any(|next| {
            let is_first = (0..calls.len())
                .filter(within)
                .all(|other| other == next || calls[other].end >= calls[next].begin);
            let rest = set & !(1 << next);
            is_first && after(held, calls[next].did).is_some_and(|h| some_order(calls, rest, h))
        })
}

/// Whether some choice of the uncertain calls, with all others, has an order.
fn linearizable(calls: &[Call], initial: Value) -> bool {
    let certain = calls.iter().enumerate().filter(|(_, call)| call.certain);
    let certain = certain.fold(0u32, |set, (at, _)| set | 1 << at);
    let every = 0..1u32 << calls.len();
    every.into_iter().any(|set| set & certain == certain && some_order(calls, set, initial))
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn value(n: u64) -> Value {
    if n == 0 { Value::ABSENT } else { Value::from_u32(n as u32) }
}

/// How likely what is, in a hundred; another mixture for every hundred objects or so.
struct Weights {
    uncertain: u64,
    denials: u64,
    reads: u64,
    /// How far calls reach before and after the moment at which they take effect.
    reach: u64,
    /// Something that the object did not do.
    lies: u64,
}

impl Weights {
    fn new(random: &mut Random) -> Weights {
        let mut often = |n: u64| [0, n / 4, n][random.below(3) as usize];
        let (uncertain, denials, reads, lies) = (often(60), often(70), often(70), often(50));
        Weights { uncertain, denials, reads, reach: 1 + random.below(8), lies }
    }
}

/// Calls as an object may have answered them, with a lie now and then; and what it held at first.
/// Swaps write the numbers of their turns.
fn object(random: &mut Random, weights: &Weights) -> (Vec<Call>, Value) {
    let initial = value(random.below(2) * 100);
    let mut held = initial;
    let mut calls = Vec::new();
    for turn in 1..=[1, 3, 5, 6, 7, 7, 7][random.below(7) as usize] {
        let now = 2 * turn as i64;
        let any = |random: &mut Random| match random.below(turn + 1) {
            0 => initial,
            n => value(n),
        };
        let uncertain = random.below(100) < weights.uncertain;
        let lies = random.below(100) < weights.lies;
        let did = if random.below(100) < weights.reads && !uncertain {
            Did::Read(if lies { any(random) } else { held })
        } else if random.below(100) < weights.denials && !uncertain {
            let other = any(random);
            match other {
                Value::ABSENT if other != held || lies => Did::Present,
                _ if other != held || lies => Did::NotEqual(other),
                _ => Did::NotEqual(value(99)),
            }
        } else {
            let from = if lies || uncertain && random.one_in(3) { any(random) } else { held };
            let to = value(if random.one_in(50) { 1 + random.below(3) } else { turn });
            if from == held && !(uncertain && random.one_in(2)) {
                held = to;
            }
            Did::Swap { from, to }
        };
        let (before, behind) = (random.below(weights.reach), random.below(weights.reach));
        let late = uncertain && !random.one_in(6);
        calls.push(Call {
            op: OpId(turn as u32),
            txn: TxnId(turn as u32),
            did,
            begin: now - before as i64,
            end: if late { i64::MAX } else { now + behind as i64 },
            certain: !uncertain,
        });
    }
    // In which order the history has them says nothing.
    for at in (1..calls.len()).rev() {
        calls.swap(at, random.below(at as u64 + 1) as usize);
    }
    (calls, initial)
}

/// Whether the procedure is certainly made for these calls.
fn has_unique_values(calls: &[Call], initial: Value) -> bool {
    let mut written: Vec<Value> = vec![initial];
    for call in calls {
        if let Did::Swap { to, .. } = call.did {
            if written.contains(&to) {
                return false;
            }
            written.push(to);
        }
    }
    true
}

#[test]
fn chain_says_what_brute_force_says() {
    let rounds = std::env::var("ISOLDE_TWIN").ok().and_then(|n| n.parse().ok());
    let rounds: u64 = rounds.unwrap_or(300_000);
    let (mut random, mut scratch) = (Random(7), Scratch::default());
    let mut weights = Weights::new(&mut random);
    // Linearizable, violated, left open although values are unique, with values that are not.
    let mut counts = [0u64; 4];
    for round in 0..rounds {
        if round % 128 == 0 {
            weights = Weights::new(&mut random);
        }
        let (calls, initial) = object(&mut random, &weights);
        let answer = scratch.decide(&calls, initial);
        let holds = match answer {
            Chain::NotApplicable => {
                counts[2 + usize::from(!has_unique_values(&calls, initial))] += 1;
                continue;
            }
            answer => answer == Chain::Linearizable,
        };
        counts[usize::from(!holds)] += 1;
        assert_eq!(holds, linearizable(&calls, initial), "{round} from {initial:?}: {calls:#?}");
    }
    let [held, violated, open, repeated] = counts;
    eprintln!("{held} hold, {violated} do not, {open} are left open; {repeated} repeat values");
    assert!(held > rounds / 4 && violated > rounds / 4, "{counts:?}");
    assert!(open < rounds / 1000 && repeated < rounds / 5, "{counts:?}");
}

/// A chain of so many swaps, each followed by a read and by failed attempts, among three clients.
fn long_chain(swaps: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    for turn in 1..=swaps {
        let now = 10 * turn as i64;
        let mut call = |did, begin, end| {
            let op = OpId(calls.len() as u32);
            let txn = TxnId(op.0);
            calls.push(Call { op, txn, did, begin, end, certain: true });
        };
        call(Did::Swap { from: value(turn - 1), to: value(turn) }, now - 8, now + 8);
        call(Did::Read(value(turn)), now + 1, now + 5);
        call(Did::NotEqual(value(turn - 1)), now + 1, now + 9);
        call(Did::Present, now, now + 1);
    }
    calls
}

#[test]
fn planted_violations_are_found_in_a_long_chain() {
    let swaps = 5_000;
    let clean = long_chain(swaps);
    assert_eq!(decide(&clean, Value::ABSENT), Chain::Linearizable);
    let mut random = Random(3);
    for round in 0..200 {
        let mut calls = clean.clone();
        let turn = 100 + random.below(swaps - 200);
        let at = 4 * (turn as usize - 1);
        match round % 5 {
            // A stale read.
            0 => calls[at + 1].did = Did::Read(value(turn - 3)),
            // A read of what will be.
            1 => calls[at + 1].did = Did::Read(value(turn + 3)),
            // A lost update.
            2 => {
                calls[at].did = Did::Swap { from: value(turn - 2), to: value(turn) };
            }
            // A swap that ended before its source began.
            3 => (calls[at].begin, calls[at].end) = (10 * turn as i64 - 30, 10 * turn as i64 - 20),
            // A failed comparison with what was there all the time.
            _ => {
                calls[at + 2].did = Did::NotEqual(value(turn));
                (calls[at + 2].begin, calls[at + 2].end) =
                    (calls[at + 1].begin, calls[at + 1].begin);
                calls[at].end = calls[at + 1].begin - 1;
                calls[at + 4].begin = calls[at + 1].begin + 1;
            }
        }
        assert_eq!(decide(&calls, Value::ABSENT), Chain::Violated, "{round}: {turn}");
    }
}
