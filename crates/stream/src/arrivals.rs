//! From several sources, each in its own order, to one order: for what can only be judged in the order of time.
//!
//! Each source has a buffer of batches. Its head says how far the source has come: nothing of it will be earlier. A source
//! without anything to say promises (a heartbeat), or holds up all others; one that has ended holds up nothing. The
//! low-water mark is the least of these. Batches go to a heap, by their first item; what is not later than the mark
//! comes out, a run of items of one batch at a time, so that the heap is asked once a run and not once an item.
//!
//! Fetching is bounded: when the heap holds many items, only the source that holds up the mark is fetched from. That is
//! always enough to go on, and the others wait in their own buffers, which tell their sources to wait, too.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// A source, as a number that the caller gives.
pub type SourceId = usize;

/// Items from several sources on their way into one order.
pub struct Arrivals<T, I> {
    sources: Vec<Source<T, I>>,
    /// How far each open source has come, with its number.
    marks: BTreeSet<(Option<T>, SourceId)>,
    heap: BinaryHeap<Reverse<HeapBatch<T, I>>>,
    /// How many items are in the heap, and how many may be before fetching is bounded.
    held: usize,
    most: usize,
    /// The number of the next batch: of equal times, what came first comes out first.
    next: u64,
}

struct Source<T, I> {
    buffer: VecDeque<VecDeque<(T, I)>>,
    /// Nothing earlier comes any more.
    promised: Option<T>,
    is_open: bool,
}

struct HeapBatch<T, I> {
    first: T,
    number: u64,
    items: VecDeque<(T, I)>,
}

impl<T: Ord, I> PartialEq for HeapBatch<T, I> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Ord, I> Eq for HeapBatch<T, I> {}

impl<T: Ord, I> PartialOrd for HeapBatch<T, I> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord, I> Ord for HeapBatch<T, I> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.first, self.number).cmp(&(&other.first, other.number))
    }
}

impl<T: Copy + Ord, I> Arrivals<T, I> {
    /// No sources yet. With more than so many items in the heap, only what holds up the others is fetched.
    pub fn new(most: usize) -> Arrivals<T, I> {
        let (sources, marks, heap) = (Vec::new(), BTreeSet::new(), BinaryHeap::new());
        Arrivals { sources, marks, heap, held: 0, most, next: 0 }
    }

    /// A source that nothing is known of yet: it holds up all others until it says something.
    pub fn open(&mut self) -> SourceId {
        let source = self.sources.len();
        self.sources.push(Source { buffer: VecDeque::new(), promised: None, is_open: true });
        self.marks.insert((None, source));
        source
    }

    /// A batch of a source, in the order of time. What is earlier than the source had come is handed back: it is late.
    pub fn push(
        &mut self,
        source: SourceId,
        items: impl IntoIterator<Item = (T, I)>,
    ) -> Vec<(T, I)> {
        let mut came = self.came(source);
        let (mut batch, mut late) = (VecDeque::new(), Vec::new());
        for (time, item) in items {
            match came.is_some_and(|came| time < came) {
                true => late.push((time, item)),
                false => {
                    came = Some(time);
                    batch.push_back((time, item));
                }
            }
        }
        if !batch.is_empty() {
            self.change(source, |s| {
                s.promised = came;
                s.buffer.push_back(batch);
            });
        }
        late
    }

    /// A heartbeat: nothing earlier comes from a source any more.
    pub fn promise(&mut self, source: SourceId, time: T) {
        self.change(source, |s| s.promised = s.promised.max(Some(time)));
    }

    /// A source is through.
    pub fn end(&mut self, source: SourceId) {
        self.change(source, |s| s.is_open = false);
    }

    /// Whether a source has so much to say that it should wait.
    pub fn is_full(&self, source: SourceId) -> bool {
        self.held > self.most && self.sources.get(source).is_some_and(|s| s.buffer.len() > 1)
    }

    /// Which source holds up the others, if one does: a person wants to know.
    pub fn held_up_by(&self) -> Option<SourceId> {
        let (_, source) = self.marks.first()?;
        self.sources[*source].buffer.is_empty().then_some(*source)
    }

    /// The next items in the order of time, from one batch; nothing if more could still come before them.
    pub fn pop(&mut self) -> Vec<(T, I)> {
        self.fetch();
        // Without open sources nothing can come before anything.
        let low = self.marks.first().map(|(mark, _)| *mark);
        let comes_out = |time: T| low.is_none_or(|low| low.is_some_and(|low| time <= low));
        let mut run = Vec::new();
        let Some(Reverse(mut batch)) = self.heap.pop() else { return run };
        // Up to the beginning of the next batch.
        let other = self.heap.peek().map(|Reverse(other)| (other.first, other.number));
        while let Some((time, _)) = batch.items.front()
            && comes_out(*time)
            && other.is_none_or(|(first, number)| (*time, batch.number) <= (first, number))
        {
            run.extend(batch.items.pop_front());
        }
        self.held -= run.len();
        if let Some((first, _)) = batch.items.front() {
            batch.first = *first;
            self.heap.push(Reverse(batch));
        }
        run
    }

    /// Moves batches from buffers to the heap: all, or if it is full those of the source that holds up the others.
    fn fetch(&mut self) {
        if self.held <= self.most {
            for source in 0..self.sources.len() {
                self.fetch_from(source);
            }
        }
        // Until something can come out: what holds up the others is the first to.
        while let Some((mark, source)) = self.marks.first().copied()
            && self.heap.peek().is_none_or(|Reverse(batch)| Some(batch.first) > mark)
            && self.fetch_from(source)
        {}
    }

    fn fetch_from(&mut self, source: SourceId) -> bool {
        let mut fetched = None;
        self.change(source, |s| fetched = s.buffer.pop_front());
        let Some(items) = fetched else { return false };
        self.held += items.len();
        if let Some((first, _)) = items.front() {
            self.heap.push(Reverse(HeapBatch { first: *first, number: self.next, items }));
            self.next += 1;
        }
        true
    }

    /// How far a source has come: to the head of its buffer, or as far as it promised.
    fn mark(&self, source: SourceId) -> Option<T> {
        let source = &self.sources[source];
        let head = source.buffer.front().and_then(VecDeque::front).map(|(time, _)| *time);
        head.or(source.promised)
    }

    fn came(&self, source: SourceId) -> Option<T> {
        self.sources.get(source).and_then(|source| source.promised)
    }

    /// Changes a source, and keeps its mark right.
    fn change(&mut self, source: SourceId, change: impl FnOnce(&mut Source<T, I>)) {
        if source >= self.sources.len() {
            return;
        }
        self.marks.remove(&(self.mark(source), source));
        change(&mut self.sources[source]);
        let s = &self.sources[source];
        if s.is_open || !s.buffer.is_empty() {
            self.marks.insert((self.mark(source), source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers that are the same everywhere.
    fn random(state: &mut u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn whatever_the_sources_do_items_come_out_in_order_and_none_is_lost() {
        for seed in 0..300 {
            let mut state = seed;
            let mut arrivals = Arrivals::new([0, 3, 1_000][seed as usize % 3]);
            let count = 1 + random(&mut state) as usize % 4;
            let sources: Vec<SourceId> = (0..count).map(|_| arrivals.open()).collect();
            let (mut clocks, mut pushed, mut out) = (vec![0; count], 0, Vec::new());
            for _ in 0..60 {
                let of = random(&mut state) as usize % count;
                match random(&mut state) % 5 {
                    0 => arrivals.promise(sources[of], clocks[of]),
                    1 => out.extend(arrivals.pop()),
                    _ => {
                        let batch: Vec<(u64, usize)> = (0..random(&mut state) % 4)
                            .map(|_| {
                                clocks[of] += random(&mut state) % 3;
                                (clocks[of], of)
                            })
                            .collect();
                        pushed += batch.len();
                        assert!(arrivals.push(sources[of], batch).is_empty());
                    }
                }
            }
            sources.iter().for_each(|source| arrivals.end(*source));
            loop {
                let run = arrivals.pop();
                if run.is_empty() {
                    break;
                }
                out.extend(run);
            }
            assert_eq!(out.len(), pushed, "seed {seed}");
            assert!(out.is_sorted_by_key(|(time, _)| *time), "seed {seed}: {out:?}");
        }
    }

    #[test]
    fn a_silent_source_holds_up_the_others_until_it_promises() {
        let mut arrivals = Arrivals::new(100);
        let (a, b) = (arrivals.open(), arrivals.open());
        arrivals.push(a, [(1, 'x'), (5, 'y')]);
        assert!(arrivals.pop().is_empty());
        assert_eq!(arrivals.held_up_by(), Some(b));
        arrivals.promise(b, 3);
        assert_eq!(arrivals.pop(), [(1, 'x')]);
        assert!(arrivals.pop().is_empty());
        // What breaks a promise is handed back.
        assert_eq!(arrivals.push(b, [(2, 'z')]), [(2, 'z')]);
        arrivals.end(b);
        assert_eq!(arrivals.pop(), [(5, 'y')]);
    }

    #[test]
    fn a_full_heap_is_fed_by_the_source_that_holds_it_up_only() {
        let mut arrivals = Arrivals::new(2);
        let (a, b) = (arrivals.open(), arrivals.open());
        for time in 0..100 {
            arrivals.push(a, [(time, 'a')]);
        }
        assert!(arrivals.pop().is_empty());
        assert!(arrivals.is_full(a) || arrivals.held <= 3);
        arrivals.push(b, [(50, 'b')]);
        let mut out = 0;
        while arrivals.pop().len() == 1 {
            out += 1;
            assert!(arrivals.held <= 4, "{}", arrivals.held);
        }
        assert_eq!(out, 52);
    }
}
