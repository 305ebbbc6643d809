//! Small random histories with timestamps, right and wrong, and orders in which they arrive.

use std::fmt::Write as _;

use crate::any_order::in_any_order;

/// Random numbers that are the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        random.below(2);
        random
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A transaction as the notation has it, with its session and times.
#[derive(Clone, Debug)]
pub(crate) struct MadeTxn {
    pub(crate) session: u64,
    pub(crate) line: String,
    pub(crate) commit: Option<i64>,
    pub(crate) start: Option<i64>,
}

/// The header lines, and the transactions in the order of sessions.
pub(crate) struct Made {
    pub(crate) header: String,
    pub(crate) txns: Vec<MadeTxn>,
}

impl Made {
    /// A history: mostly what a server would do, with a share of nonsense.
    pub(crate) fn new(seed: u64, serial: bool) -> Made {
        let mut random = Random::new(seed);
        let (sessions, keys) = (1 + random.below(4), 1 + random.below(3));
        let (count, values) = (1 + random.below(12), 2 + random.below(12));
        let wrong = random.below(60);
        let unsure = random.chance(25);
        let predicates = seed % 7 == 3;
        let mut clock = 0_i64;
        let mut txns = Vec::new();
        let mut newest: Vec<String> = vec!["0".into(); keys as usize];
        for number in 0..count {
            let session = random.below(sessions);
            clock += 1 + random.below(3) as i64;
            let start = if random.chance(wrong / 3) { any_time(&mut random) } else { clock };
            clock += 1 + random.below(3) as i64;
            let commit = if random.chance(wrong / 3) { any_time(&mut random) } else { clock };
            let aborted = random.chance(12);
            let unknown = !aborted && unsure && random.chance(20);
            let mut ops = String::new();
            for _ in 0..1 + random.below(4) {
                let key = random.below(keys) as usize;
                op(&mut ops, &mut random, key, &mut newest, (values, wrong, aborted));
            }
            if predicates && random.chance(40) {
                rows(&mut ops, &mut random, &newest, (values, wrong));
            }
            let stamp = |time: i64, given: bool| if given { time.to_string() } else { "_".into() };
            let writes = ["w(", "cas(", "delete(", "insert(", "append("];
            let reads_only = !writes.iter().any(|w| ops.contains(w));
            let no_commit =
                aborted || (reads_only && random.chance(30)) || (unknown && random.chance(60));
            let ts = format!("ts({},{})", stamp(start, true), stamp(commit, !no_commit));
            let end = match (aborted, unknown) {
                (true, _) => "abort ",
                (_, true) => "unknown ",
                _ => "",
            };
            let line = format!("s{session} t{number}: {ops}{end}{ts}");
            let commit = (!no_commit).then_some(commit);
            txns.push(MadeTxn { session, line, commit, start: Some(start) });
        }
        let mut header = "initial 0\n".to_owned();
        if serial {
            header.push_str("meta commit-order serial\n");
        }
        Made { header, txns }
    }

    /// The same with the transactions in another order that keeps sessions.
    pub(crate) fn shuffled(&self, random: &mut Random) -> Vec<MadeTxn> {
        in_any_order(&self.txns, |txn| txn.session, 8, random)
    }

    pub(crate) fn text(&self, txns: &[MadeTxn]) -> String {
        let mut text = self.header.clone();
        for txn in txns {
            let _ = writeln!(text, "{}", txn.line);
        }
        text
    }
}

/// A time that has nothing to do with what came before; now and then one far in the future.
fn any_time(random: &mut Random) -> i64 {
    let near = random.below(30) as i64;
    if random.chance(15) { 1_000_000 + near } else { near }
}

/// A read of all rows but the list.
fn rows(ops: &mut String, random: &mut Random, newest: &[String], (values, wrong): (u64, u64)) {
    ops.push_str("pred(p");
    for (name, value) in ["x", "y"].into_iter().zip(newest) {
        let any = random.below(values).to_string();
        let value = if random.chance(wrong / 2) { &any } else { value };
        if value != "absent" && !random.chance(wrong / 4) {
            let _ = write!(ops, ",{name}={value}");
        }
    }
    ops.push_str(") ");
}

/// One operation. The last key holds a list.
fn op(
    ops: &mut String,
    random: &mut Random,
    key: usize,
    newest: &mut [String],
    (values, wrong, aborted): (u64, u64, bool),
) {
    let any = random.below(values).to_string();
    let name = ["x", "y", "l"][key];
    if name == "l" {
        let list = newest[key].trim_start_matches('0').to_owned();
        let shown = match random.chance(wrong) {
            true => list.rsplit_once(',').map_or("", |(most, _)| most).to_owned(),
            false => list.clone(),
        };
        let element = values * 10 + random.below(1_000);
        let _ = match random.chance(60) {
            true => write!(ops, "list(l,[{shown}]) "),
            false => write!(ops, "append(l,{element}) "),
        };
        if ops.ends_with(&format!("append(l,{element}) ")) && !aborted {
            let comma = if list.is_empty() { "" } else { "," };
            newest[key] = format!("{list}{comma}{element}");
        }
        return;
    }
    let seen = if random.chance(wrong) { any.clone() } else { newest[key].clone() };
    let (text, left) = match random.below(14) {
        0..6 => (format!("r({name},{seen}) "), None),
        6..11 => (format!("w({name},{any}) "), Some(any)),
        11 => (format!("delete({name}) "), Some("absent".to_owned())),
        12 => (format!("cas({name},{seen},{any}) "), Some(any)),
        _ => match random.below(4) {
            0 => (format!("cas!({name},{any},5) "), None),
            1 => (format!("insert!({name},{any}) "), None),
            2 => (format!("insert({name},{any}) "), Some(any)),
            _ => (format!("savepoint(p) w({name},{any}) rollback(p) "), None),
        },
    };
    ops.push_str(&text);
    if let Some(left) = left.filter(|_| !aborted) {
        newest[key] = left;
    }
}
