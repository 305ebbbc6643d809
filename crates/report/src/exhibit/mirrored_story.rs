//! What client intervals show of a violation, in one or two sentences: what the server did, and what its mechanisms could
//! have made of when statements were sent and answered.

use isolde_history::{History, Key, OpId, OpKind, Outcome, TxnId, Value};
use isolde_spec::{Anomaly, Mechanism, Mirrored, Seen, Stretch, StretchOf, Witness};

use super::moments::Moments;
use super::phrase::Phrases;
use super::sources::Sources;
use super::story;
use crate::names;
use crate::wrap::{all_of, number};

/// How many versions, or reads, are named in a sentence.
const MOST: usize = 4;

/// The story of a witness by intervals; nothing for those by anything else.
pub(super) fn tell(
    history: &History,
    witness: &Witness,
    sources: &Sources<'_>,
    moments: &Moments,
) -> Option<String> {
    let mirrored = witness.mirrored.as_ref()?;
    let teller =
        MirroredTeller { p: Phrases { history, sources }, w: witness, m: mirrored, moments };
    let told = match (mirrored.mechanism, witness.anomaly) {
        // A cycle of dependencies is told as it is by values.
        _ if !witness.steps.is_empty() => None,
        (Mechanism::ConsistentRead, Anomaly::TornSnapshot) => teller.torn(),
        (Mechanism::ConsistentRead, Anomaly::NotMyOwnWrite) => teller.own(),
        (Mechanism::ConsistentRead, _) => teller.read(),
        (Mechanism::MutualExclusion, _) => teller.locks(),
        (Mechanism::FirstUpdaterWins, _) => teller.both_wrote(),
        (Mechanism::Certifier, Anomaly::DangerousStructure) => teller.dangerous(),
        (Mechanism::Certifier, _) => teller.refused(),
    };
    Some(told.unwrap_or_else(|| story::tell_whole(history, witness, sources)))
}

/// A version as a read may have seen it: "x = 2", "no x", and of a list that appends made "l ending in 5".
pub(super) fn version(p: &Phrases<'_>, row: Option<Key>, op: OpId, seen: &Seen) -> String {
    if let Some(row) = row {
        return p.is(&names::spoken_key(p.history, row), seen.value);
    }
    let append = |write: &OpId| p.history.op(*write).kind() == OpKind::Append;
    match seen.write.filter(append) {
        Some(write) if seen.list.is_none() => {
            format!("{} ending in {}", p.key(write), p.value(seen.value))
        }
        _ => p.version(op, seen),
    }
}

/// What is locked by two locks: a row, or where each is there for another one, the whole database.
pub(super) fn locked(p: &Phrases<'_>, stretches: &[Stretch]) -> String {
    let of_rows = || stretches.iter().filter(|stretch| stretch.what != StretchOf::Range);
    let mut rows = of_rows().map(|stretch| stretch.op.map(|op| p.history.op(op).key()));
    let first = rows.next().flatten();
    match of_rows().next().and_then(|stretch| stretch.op) {
        Some(op) if rows.all(|row| row == first) => p.key(op),
        _ => "the database".to_owned(),
    }
}

struct MirroredTeller<'a> {
    p: Phrases<'a>,
    w: &'a Witness,
    m: &'a Mirrored,
    moments: &'a Moments,
}

impl MirroredTeller<'_> {
    fn stretch(&self, txn: TxnId, what: StretchOf) -> Option<&Stretch> {
        self.m.stretches.iter().find(|stretch| stretch.txn == txn && stretch.what == what)
    }

    // ---- reads ----

    /// "T12 read x = 1 of T3; its snapshot was taken between 20 and 21, and by then T7 had committed x = 2 (COMMIT answered
    /// at 11). It can only have seen x = 2."
    fn read(&self) -> Option<String> {
        let op = *self.w.ops.first()?;
        let read = format!("{} {}{}", self.p.name(self.m.txn), self.p.read(op), self.source());
        let saw = match self.stretch(self.m.txn, StretchOf::Snapshot) {
            Some(snapshot) => {
                let when = self.moments.within(snapshot);
                let by_then = self.by_then(snapshot).unwrap_or_default();
                format!("its snapshot was taken {when}{by_then}")
            }
            None => "it saw what was newest, under a lock".to_owned(),
        };
        Some(format!("{read}; {saw}.{}", self.can_have_seen(op)))
    }

    /// " of T9, which was rolled back": what is wrong with the version that was read.
    fn source(&self) -> String {
        let Some(seen) = &self.m.read else { return String::new() };
        if let Some(row) = self.m.row.filter(|_| seen.value == Value::ABSENT) {
            return format!(", but no {}", names::spoken_key(self.p.history, row));
        }
        let Some(write) = seen.write else {
            return match self.w.anomaly {
                Anomaly::ThinAirRead => ", which no transaction wrote".to_owned(),
                _ if seen.initial && seen.list.is_none() && seen.value != Value::ABSENT => {
                    ", the initial value".to_owned()
                }
                _ => String::new(),
            };
        };
        let writer = self.p.history.txn_of(write);
        let of = format!(" of {}", self.p.name(writer));
        match self.w.anomaly {
            Anomaly::ThinAirRead => {
                let later = self.p.name(writer);
                format!(", which no transaction had written by then; {later} did so later")
            }
            Anomaly::AbortedRead if self.p.history.txn(writer).outcome() == Outcome::Committed => {
                format!("{of}, which took it back (to a savepoint)")
            }
            Anomaly::AbortedRead => format!("{of}, which was rolled back"),
            Anomaly::IntermediateRead => format!("{of}, which overwrote it before it committed"),
            Anomaly::UncommittedVersionRead => {
                let commit = self.stretch(writer, StretchOf::Commit);
                match commit.and_then(|commit| commit.from) {
                    Some(from) => {
                        format!(
                            "{of}, which cannot have committed before {}",
                            self.moments.at(from)
                        )
                    }
                    None => format!("{of}, which had not committed"),
                }
            }
            _ => of,
        }
    }

    /// ", and by then T7 had committed x = 2 (COMMIT answered at 11)": the newest version that was certainly there.
    fn by_then(&self, snapshot: &Stretch) -> Option<String> {
        if self.w.anomaly != Anomaly::StaleRead {
            return None;
        }
        let taken = snapshot.from?;
        let there = self.m.possible.iter().filter_map(|seen| {
            let writer = self.p.history.txn_of(seen.write?);
            let answered = self.stretch(writer, StretchOf::Commit)?.until?;
            (answered < taken).then_some((answered, writer, seen))
        });
        let (answered, writer, seen) = there.max_by_key(|(answered, ..)| *answered)?;
        Some(format!(
            ", and by then {} had committed {} (COMMIT answered at {})",
            self.p.name(writer),
            version(&self.p, self.m.row, *self.w.ops.first()?, seen),
            self.moments.at(answered),
        ))
    }

    /// " It can only have seen x = 2 or x = 3."
    fn can_have_seen(&self, op: OpId) -> String {
        let mut versions: Vec<String> = Vec::new();
        for seen in &self.m.possible {
            let told = version(&self.p, self.m.row, op, seen);
            if !versions.contains(&told) {
                versions.push(told);
            }
        }
        let left = versions.len().saturating_sub(MOST);
        versions.truncate(MOST);
        if left > 0 {
            versions.push(format!("one of {} others", number(left)));
        }
        match versions.is_empty() {
            true => String::new(),
            false => format!(" It can only have seen {}.", versions.join(" or ")),
        }
    }

    /// "T3 wrote x = 5 and then read x = 4: a transaction sees what it wrote itself."
    fn own(&self) -> Option<String> {
        let [read, write] = self.w.ops[..] else { return None };
        let (who, wrote, read) = (self.p.name(self.m.txn), self.p.wrote(write), self.p.read(read));
        Some(format!("{who} {wrote} and then {read}: a transaction sees what it wrote itself."))
    }

    /// "T4 read x = 1 of T1 and read y = 2 of T2; each may be right, but no one snapshot that was taken between 5 and 20
    /// shows all of that."
    fn torn(&self) -> Option<String> {
        let snapshot = self.stretch(self.m.txn, StretchOf::Snapshot)?;
        let read = |op: &OpId| {
            let of = self.p.sources.of(*op).map(|write| format!(" of {}", self.p.whose(write)));
            format!("{}{}", self.p.read(*op), of.unwrap_or_default())
        };
        let left = self.w.ops.len().saturating_sub(MOST);
        // The last one is the one that does not fit the others.
        let mut reads: Vec<String> = self.w.ops.iter().skip(left).map(read).collect();
        if left > 0 {
            reads.insert(0, format!("read {} other rows", number(left)));
        }
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        Some(format!(
            "{} {}; each may be right, but no one snapshot that was taken {} shows all of that.",
            self.p.name(self.m.txn),
            all_of(&reads),
            self.moments.within(snapshot),
        ))
    }

    // ---- locks and writes ----

    /// "T3 had x locked from 3 (answer to its write) to 10 (COMMIT sent), and T5 from 5 (...) to 8 (...): these locks exclude
    /// each other."
    fn locks(&self) -> Option<String> {
        let [one, two] = &self.m.stretches[..] else { return None };
        let (one, two) = if one.what == StretchOf::Range { (two, one) } else { (one, two) };
        if two.what == StretchOf::Range {
            let row = locked(&self.p, &self.m.stretches);
            return Some(format!(
                "{} had inserted {row} and had it locked {}, and {} had a range of keys locked that {row} is in {}: \
                 nothing is inserted into a range while it is locked.",
                self.p.name(one.txn),
                self.held(one),
                self.p.name(two.txn),
                self.held(two),
            ));
        }
        Some(format!(
            "{} had {} locked {}, and {} {}: these locks exclude each other.",
            self.p.name(one.txn),
            locked(&self.p, &self.m.stretches),
            self.held(one),
            self.p.name(two.txn),
            self.held(two),
        ))
    }

    /// "from 3 (answer to its write) to 10 (COMMIT sent)".
    fn held(&self, stretch: &Stretch) -> String {
        let told = |time: Option<i64>| {
            time.map_or("an unknown time".to_owned(), |time| self.moments.at(time))
        };
        let did = match stretch.op.map(|op| self.p.history.op(op).kind()) {
            Some(OpKind::Delete) => "delete",
            Some(kind) if kind.writes() => "write",
            Some(_) => "read",
            None => "first statement",
        };
        let (from, until) = (told(stretch.from), told(stretch.until));
        format!("from {from} (answer to its {did}) to {until}{}", self.until(stretch))
    }

    /// " (COMMIT sent)": what was done at the end of a lock, if that is known.
    fn until(&self, stretch: &Stretch) -> &'static str {
        let txn = self.p.history.txn(stretch.txn);
        let ending = txn.ending().begin.is_some_and(|sent| stretch.until == Some(sent));
        match (ending, txn.outcome()) {
            (true, Outcome::Aborted) => " (ROLLBACK sent)",
            (true, _) => " (COMMIT sent)",
            (false, _) => " at least",
        }
    }

    /// "T3 wrote x = 1 and T5 wrote x = 2, and both committed. T3 took its snapshot by 3 and committed at 10 or later, and T5
    /// ...: each before the other committed, so one of them should have been refused. T3 had read x = 0: what T5 wrote is lost."
    fn both_wrote(&self) -> Option<String> {
        let [one, two] = &self.m.stretches[..] else { return None };
        let wrote = |stretch: &Stretch| {
            let wrote = stretch.op.map(|op| self.p.wrote(op));
            format!("{} {}", self.p.name(stretch.txn), wrote.unwrap_or("wrote".to_owned()))
        };
        Some(format!(
            "{} and {}, and both committed. {} took its snapshot {}, and {} {}: each before the other committed, so one of \
             them should have been refused.{}",
            wrote(one),
            wrote(two),
            self.p.name(one.txn),
            self.open(one),
            self.p.name(two.txn),
            self.open(two),
            self.lost(one, two).or_else(|| self.lost(two, one)).unwrap_or_default(),
        ))
    }

    /// " T3 had read x = 0 before: what T5 wrote is lost.", if one transaction certainly wrote over what the other one had
    /// left, and had read something else before.
    fn lost(&self, over: &Stretch, under: &Stretch) -> Option<String> {
        let history = self.p.history;
        let (writer, lost) = (history.txn(over.txn), history.txn(under.txn));
        if lost.interval().end? >= writer.ending().begin? {
            return None;
        }
        let (over, left) = (history.op(over.op?), history.op(under.op?));
        let before = writer.ops().take_while(|op| op.id() != over.id());
        let mut reads = before.filter(|op| op.key() == over.key() && op.kind() == OpKind::Read);
        let read = reads.next().filter(|read| read.value() != left.value())?;
        let (writer, lost) = (self.p.name(writer.id()), self.p.name(lost.id()));
        Some(format!(" {writer} had {} before: what {lost} wrote is lost.", self.p.read(read.id())))
    }

    /// "by 3 and committed at 10 or later".
    fn open(&self, stretch: &Stretch) -> String {
        let told = |time: Option<i64>| {
            time.map_or("an unknown time".to_owned(), |time| self.moments.at(time))
        };
        format!("by {} and committed at {} or later", told(stretch.from), told(stretch.until))
    }

    // ---- certifiers ----

    /// "T1 read x = 0, which T2 overwrote with 1; T2 read y = 0, which T3 overwrote with 2. All of them committed, T3 first
    /// (between 5 and 6): serializable snapshot isolation refuses one of them."
    fn dangerous(&self) -> Option<String> {
        let [a, b, c, d] = self.w.ops[..] else { return None };
        let last = self.p.history.txn_of(d);
        let first = self.stretch(last, StretchOf::Commit).map(|commit| self.moments.within(commit));
        Some(format!(
            "{}; {}. {} committed, {} first ({}): serializable snapshot isolation refuses one of them.",
            self.dependency(a, b),
            self.dependency(c, d),
            if self.w.txns.len() == 2 { "Both" } else { "All of them" },
            self.p.name(last),
            first?,
        ))
    }

    /// "T1 read x = 0, which T2 overwrote with 1, and both committed: the certifier has to refuse one of them."
    fn refused(&self) -> Option<String> {
        let [from, to] = self.w.ops[..] else { return None };
        let commits = [from, to].map(|op| {
            let txn = self.p.history.txn_of(op);
            let when =
                self.stretch(txn, StretchOf::Commit).map(|commit| self.moments.within(commit));
            Some(format!("{} {}", self.p.name(txn), when?))
        });
        let [Some(one), Some(two)] = commits else { return None };
        Some(format!(
            "{}, and both committed: {one}, {two}. The server's certifier has to refuse one of them.",
            self.dependency(from, to),
        ))
    }

    /// What one transaction did, and what another one made of it.
    fn dependency(&self, from: OpId, to: OpId) -> String {
        let p = &self.p;
        let writes = |op: OpId| p.history.op(op).kind().writes();
        match (writes(from), writes(to)) {
            (true, true) => format!(
                "{} {}, and after it {} {}",
                p.whose(from),
                p.wrote(from),
                p.whose(to),
                p.wrote(to)
            ),
            (true, false) => {
                format!("{} {}, and {} {}", p.whose(from), p.wrote(from), p.whose(to), p.read(to))
            }
            (false, _) => format!("{} {}, {}", p.whose(from), p.read(from), p.replaces(from, to)),
        }
    }
}
