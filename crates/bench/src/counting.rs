//! An allocator that counts: the only way to know the peak of one call.
#![allow(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mimalloc::MiMalloc;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static STOPPED: AtomicBool = AtomicBool::new(false);

/// The allocator of the command, with two counters.
pub(crate) struct Counting;

/// From now on nothing is counted. Threads that count at the same time wait for each other, in this process only: what runs
/// on several threads and is measured in time, not in bytes, would be slower than in the command.
pub(crate) fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
}

fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

fn shrunk(by: usize) {
    if !is_stopped() {
        NOW.fetch_sub(by, Ordering::Relaxed);
    }
}

fn grown(by: usize) {
    if is_stopped() {
        return;
    }
    let now = NOW.fetch_add(by, Ordering::Relaxed) + by;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed on to mimalloc unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        shrunk(layout.size());
        unsafe { MiMalloc.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        shrunk(layout.size());
        grown(new_size);
        unsafe { MiMalloc.realloc(ptr, layout, new_size) }
    }
}

/// Bytes allocated now.
pub(crate) fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// Starts a new peak.
pub(crate) fn reset_peak() {
    PEAK.store(now(), Ordering::Relaxed);
}

/// The most bytes allocated at once since the last reset.
pub(crate) fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}
