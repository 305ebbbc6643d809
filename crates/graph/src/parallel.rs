//! The same work on many pieces of data, on all cores, with the results in the order of the pieces.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How many threads can work at once. The system is asked once, since its answer takes as long as a
/// small piece of work.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// How much there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Done in less time than a thread takes to start.
    Small,
    /// Worth all cores.
    Large,
}

impl Work {
    /// The work on so many items, such as edges.
    pub fn of(count: usize) -> Work {
        if count < 20_000 { Work::Small } else { Work::Large }
    }
}

/// Does the work of every piece. What comes back does not depend on the number of cores.
pub fn map<T: Sync, R: Send>(size: Work, pieces: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = cores().min(pieces.len());
    if threads <= 1 || size == Work::Small {
        return pieces.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(pieces.len()));
    let help = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { break };
            let result = work(piece);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // A system that gives no more threads still has this thread.
            let _ = std::thread::Builder::new().spawn_scoped(scope, help);
        }
        help();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Does the work of every job, each of which may own what it changes.
pub fn each<T: Send>(size: Work, jobs: Vec<T>, work: impl Fn(T) + Sync) {
    let jobs: Vec<Mutex<Option<T>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    map(size, &jobs, |job| {
        let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
        job.map(&work)
    });
}

/// Cuts `0..count` into about so many pieces of about equal weight, where `weight` says how much
/// lies before an index.
pub fn cut(
    count: usize,
    pieces: usize,
    weight: impl Fn(usize) -> usize,
) -> Vec<std::ops::Range<usize>> {
    let total = weight(count);
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = 0;
    for piece in 1..=pieces {
        let goal = (total as u128 * piece as u128 / pieces as u128) as usize;
        let end = if piece == pieces { count } else { first(start, count, |i| weight(i) >= goal) };
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges
}

/// The first index for which a condition holds that holds for all after it.
fn first(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let mid = usize::midpoint(low, high);
        if holds(mid) { high = mid } else { low = mid + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let pieces: Vec<usize> = (0..1000).collect();
        let doubled = map(Work::Large, &pieces, |n| 2 * n);
        assert!(doubled.iter().enumerate().all(|(i, d)| *d == 2 * i));
    }

    #[test]
    fn pieces_cover_everything_once() {
        let weights = [5usize, 0, 0, 100, 1, 1, 1, 0];
        let before = |i: usize| weights[..i].iter().sum();
        for pieces in 1..12 {
            let ranges = cut(weights.len(), pieces, before);
            let all: Vec<usize> = ranges.into_iter().flatten().collect();
            assert_eq!(all, (0..weights.len()).collect::<Vec<_>>(), "{pieces}");
        }
    }
}
