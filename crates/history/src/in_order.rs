//! Parallel work whose results are wanted in order, a few at a time.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many results may be waiting for their turn, for each core.
const AHEAD: usize = 4;

/// Does the work of every item on all cores and hands the results over in the order of the items,
/// on the calling thread. Few of them exist at a time, however many items there are. The first error
/// of `take` ends it.
pub(crate) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    // To ask how many there are takes longer than a small piece of work.
    let cores = match items {
        [] | [_] => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let queue = Queue {
        state: Mutex::new(QueueState { ready: BTreeMap::new(), next: 0, taken: 0, stop: false }),
        change: Condvar::new(),
        ahead: AHEAD * cores,
        count: items.len(),
    };
    let help = || {
        let _alarm = Alarm(&queue);
        while let Some(at) = queue.claim() {
            let result = work(&items[at]);
            queue.lock().ready.insert(at, result);
            queue.change.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            // A system that gives no more threads still has this one.
            let _ = std::thread::Builder::new().spawn_scoped(scope, help);
        }
        let taken = items.iter().enumerate().try_for_each(|(at, item)| {
            let result = queue.result(at, |at| work(&items[at]));
            result.map_or(Ok(()), |result| take(item, result))
        });
        queue.lock().stop = true;
        queue.change.notify_all();
        taken
    })
}

struct QueueState<R> {
    ready: BTreeMap<usize, R>,
    /// The next item that no thread works on.
    next: usize,
    /// How many results have been handed over.
    taken: usize,
    stop: bool,
}

struct Queue<R> {
    state: Mutex<QueueState<R>>,
    change: Condvar,
    ahead: usize,
    count: usize,
}

impl<R> Queue<R> {
    fn lock(&self) -> MutexGuard<'_, QueueState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item to work on, once it is not too far ahead.
    fn claim(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.stop || state.next >= self.count {
                return None;
            }
            if state.next < state.taken + self.ahead {
                state.next += 1;
                return Some(state.next - 1);
            }
            state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The result of an item, whose turn it is. While others work on it, the caller works on
    /// another one. `None` if a helper panicked, which ends everything anyway.
    fn result(&self, at: usize, work: impl Fn(usize) -> R) -> Option<R> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.ready.remove(&at) {
                state.taken = at + 1;
                self.change.notify_all();
                return Some(result);
            }
            if state.stop {
                return None;
            }
            if state.next < self.count && state.next < at + self.ahead {
                let mine = state.next;
                state.next += 1;
                drop(state);
                let result = work(mine);
                state = self.lock();
                state.ready.insert(mine, result);
                continue;
            }
            state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A helper that panics must not leave the others waiting.
struct Alarm<'q, R>(&'q Queue<R>);

impl<R> Drop for Alarm<'_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().stop = true;
            self.0.change.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_errors_end_it() {
        let items: Vec<u32> = (0..1000).collect();
        let mut seen = Vec::new();
        let done: Result<(), ()> = in_order(
            &items,
            |n| n * 2,
            |_, double| {
                seen.push(double);
                Ok(())
            },
        );
        assert!(done.is_ok());
        assert!(seen.iter().enumerate().all(|(i, double)| *double == 2 * i as u32));
        assert_eq!(seen.len(), items.len());
        let stopped = in_order(&items, |n| *n, |_, n| if n == 500 { Err(n) } else { Ok(()) });
        assert_eq!(stopped, Err(500));
        let nothing: Result<(), ()> = in_order(&[] as &[u32], |n| *n, |_, _| Ok(()));
        assert!(nothing.is_ok());
    }
}
