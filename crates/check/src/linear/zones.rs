//! Registers that are only read and written, each value once: decided without any search (Gibbons and
//! Korach).
//!
//! A write and the reads of its value are a *cluster*: whatever the order, they come together. A cluster
//! has to come before another one if some call of it ended before some call of the other began, that is,
//! if its first end lies before the other's last beginning. There is an order if no read ended before
//! its write began and no two clusters have to come before each other: in a longer cycle, every
//! cluster has to come before the one with the last beginning of all, so that cluster and its
//! successor are such a pair.
//!
//! A write that may be left out is left out if its value was never read. What a register may
//! hold at first is a cluster whose write ended before everything.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use isolde_history::Value;

use super::call::Did;
use super::model::Timed;
use super::register::Register;
use super::search::SearchEnd;

/// A write and the reads of its value.
struct Cluster {
    /// The write; `None` if it was there at first.
    write: Option<usize>,
    reads: Vec<usize>,
    /// The first end and the last beginning, each with its call.
    first_end: (i64, Option<usize>),
    last_begin: (i64, Option<usize>),
}

impl Cluster {
    /// Twice the middle of the two: a cluster that has to come before another has a smaller one.
    fn middle(&self) -> i128 {
        i128::from(self.first_end.0) + i128::from(self.last_begin.0)
    }

    fn must_precede(&self, other: &Cluster) -> bool {
        self.first_end.0 < other.last_begin.0
    }
}

/// Whether calls on a register can be put in order; `None` if they are not of this kind.
pub(crate) fn order(register: &Register<'_>, calls: &[Timed<Did>]) -> Option<SearchEnd> {
    if !register.free.is_empty() {
        return None;
    }
    let clusters = match clusters(register, calls)? {
        Ok(clusters) => clusters,
        Err(stuck) => return Some(SearchEnd::None { stuck }),
    };
    let mut order: Vec<&Cluster> = clusters.iter().collect();
    order.sort_by_key(|cluster| cluster.middle());
    if let Some((one, other)) = conflict(&clusters) {
        let ends = [one.first_end.1, one.last_begin.1, other.first_end.1, other.last_begin.1];
        let last = ends.into_iter().flatten().filter(|i| calls[*i].certain);
        return last.max_by_key(|i| calls[*i].end).map(|stuck| SearchEnd::None { stuck });
    }
    let calls = order.iter().flat_map(|c| c.write.into_iter().chain(c.reads.iter().copied()));
    Some(SearchEnd::Order(calls.collect()))
}

/// The clusters, or a read that has none or ended before its write began.
fn clusters(register: &Register<'_>, calls: &[Timed<Did>]) -> Option<Result<Vec<Cluster>, usize>> {
    let mut writes: HashMap<Value, usize> = HashMap::new();
    let mut reads: HashMap<Value, Vec<usize>> = HashMap::new();
    for (i, timed) in calls.iter().enumerate() {
        match timed.call {
            // Without a beginning nothing could come before it, not even what was there at first.
            _ if timed.begin == i64::MIN && timed.certain => return None,
            Did::Write(value) => match writes.entry(value) {
                Entry::Vacant(new) => _ = new.insert(i),
                Entry::Occupied(_) => return None,
            },
            Did::Read(value) if timed.certain => reads.entry(value).or_default().push(i),
            Did::Read(_) => {}
            _ => return None,
        }
    }
    if writes.keys().any(|value| register.is_early(*value)) {
        return None;
    }
    let mut clusters = Vec::with_capacity(writes.len() + 1);
    let mut unexplained: Option<usize> = None;
    let mut wrong = |i: usize| {
        let end = |i: usize| (calls[i].end, i);
        let earlier = unexplained.is_none_or(|known| end(i) < end(known));
        unexplained = if earlier { Some(i) } else { unexplained };
    };
    for (value, reads) in &mut reads {
        reads.sort_by_key(|i| calls[*i].begin);
        let write = writes.remove(value);
        match write {
            None if !register.is_early(*value) => reads.iter().for_each(|i| wrong(*i)),
            None => {}
            Some(write) => {
                let before = |i: &&usize| calls[**i].end < calls[write].begin;
                reads.iter().filter(before).for_each(|i| wrong(*i));
            }
        }
        clusters.push(cluster(calls, write, std::mem::take(reads)));
    }
    if let Some(read) = unexplained {
        return Some(Err(read));
    }
    let unread = writes.into_values().filter(|i| calls[*i].certain);
    clusters.extend(unread.map(|write| cluster(calls, Some(write), Vec::new())));
    // The order of a map is no order: the same conflict is to be found every time.
    clusters.sort_by_key(|cluster| (cluster.write, cluster.reads.first().copied()));
    Some(Ok(clusters))
}

fn cluster(calls: &[Timed<Did>], write: Option<usize>, reads: Vec<usize>) -> Cluster {
    let all = || write.iter().chain(&reads).copied();
    let first_end = all().min_by_key(|i| calls[*i].end).map(|i| (calls[i].end, Some(i)));
    let last_begin = all().max_by_key(|i| calls[*i].begin).map(|i| (calls[i].begin, Some(i)));
    let at_first = (i64::MIN, None);
    Cluster {
        // What was there at first had been written before everything.
        first_end: first_end.filter(|_| write.is_some()).unwrap_or(at_first),
        last_begin: last_begin.unwrap_or(at_first),
        write,
        reads,
    }
}

/// Two clusters of which each has to come before the other.
fn conflict(clusters: &[Cluster]) -> Option<(&Cluster, &Cluster)> {
    // If a first end lies before the last beginning, everything between belongs to the cluster.
    let (mut long, short): (Vec<&Cluster>, Vec<&Cluster>) =
        clusters.iter().partition(|cluster| cluster.must_precede(cluster));
    long.sort_by_key(|cluster| cluster.first_end.0);
    if let Some(pair) = long.windows(2).find(|pair| pair[1].must_precede(pair[0])) {
        return Some((pair[0], pair[1]));
    }
    // They do not overlap, so only the last one that has to come before a short one can be around it.
    short.into_iter().find_map(|one| {
        let before = long.partition_point(|other| other.must_precede(one));
        let around = *long.get(before.checked_sub(1)?)?;
        one.must_precede(around).then_some((around, one))
    })
}
